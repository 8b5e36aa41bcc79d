//! The bars that `knee` is held to, which of them do not hold, and the ranges that follow.
//!
//! Each plan has its own, see [`Plan`]. Over all plans: a mean goodput ratio of [`MEAN`], and where the load is never below
//! the capacity no reference has a goodput ratio that is better by more than [`BEATEN`].
//!
//! **Ranges.** Where a bar holds, the range is the bar. Where it does not, or there is none, it is what was measured with
//! a little room, and a comment says so.

use crate::lab::plan::{Figure, Plan};
use crate::num;

use super::snapshot::OF;
use super::{PlanScore, Row, Score};

/// Mean goodput ratio.
pub const MEAN: f64 = 0.985;
/// Goodput ratio by which a reference may be better.
pub const BEATEN: f64 = 0.03;

/// The bars that do not hold, a line each; none if `knee` was not scored.
#[must_use]
pub fn missed(score: &Score) -> Vec<String> {
    let rows: Vec<(&PlanScore, &Row)> =
        score.plans.iter().filter_map(|plan| Some((plan, of(plan)?))).collect();
    let mut missed = Vec::new();
    for &(plan, row) in &rows {
        for &(figure, bar) in &plan.bars {
            if let Some(found) = row.mean.get(figure).filter(|&found| !holds(figure, found, bar)) {
                missed.push(format!("{}: {} is {found:.3}, the bar is {bar}", plan.plan, figure.name()));
            }
        }
        let loaded = row.mean.wrongful_refusals.is_none();
        for other in plan.rows.iter().filter(|other| loaded && is_reference(&other.estimator)) {
            let (found, theirs) = (row.mean.goodput_ratio, other.mean.goodput_ratio);
            if theirs > found + BEATEN {
                let name = &other.estimator;
                missed.push(format!("{}: goodput_ratio is {found:.3}, of {name} {theirs:.3}", plan.plan));
            }
        }
    }
    let mean =
        rows.iter().map(|(_, row)| row.mean.goodput_ratio).sum::<f64>() / num::real(num::count(rows.len()));
    if mean < MEAN {
        missed.push(format!("mean goodput_ratio is {mean:.4}, the bar is {MEAN}"));
    }
    missed
}

fn of(plan: &PlanScore) -> Option<&Row> {
    plan.rows.iter().find(|row| row.estimator == OF)
}

fn is_reference(estimator: &str) -> bool {
    estimator.ends_with("-netflix") || estimator.starts_with("windowed-")
}

fn holds(figure: Figure, found: f64, bar: f64) -> bool {
    if figure.is_good() { found >= bar } else { found <= bar }
}

/// The ranges of `knee` as a plan has them; empty if it was not scored.
#[must_use]
pub fn ranges(score: &PlanScore) -> String {
    let Some(row) = of(score) else { return String::new() };
    let mut text = format!("[expect.{OF}]\n");
    for figure in Figure::ALL {
        let Some(found) = row.mean.get(figure).filter(|found| found.is_finite()) else { continue };
        let bar = score.bars.iter().find(|&&(of, _)| of == figure).map(|&(_, bar)| bar);
        let name = figure.name();
        let end = if figure.is_good() { "min" } else { "max" };
        text += &match bar {
            Some(bar) if holds(figure, found, bar) => format!("{name} = {{ {end} = {bar} }}\n"),
            bar => {
                let bar = bar.map_or_else(String::new, |bar| format!(", the bar is {bar}"));
                let found = written(figure, found);
                format!("# Measured {found}{bar}.\n{name} = {{ {} }}\n", around(figure, row.mean.get(figure)))
            }
        };
    }
    text
}

fn written(figure: Figure, found: f64) -> String {
    if figure == Figure::RecoveryMs { format!("{found:.0}") } else { format!("{found:.3}") }
}

/// What was measured, with room.
fn around(figure: Figure, found: Option<f64>) -> String {
    let found = found.unwrap_or_default();
    match figure {
        Figure::GoodputRatio | Figure::Jain => format!("min = {}", ((found * 100.0).floor() - 1.0) / 100.0),
        Figure::P99Ratio => format!("max = {}", (found * 105.0).ceil() / 100.0),
        Figure::WrongfulRefusals => format!("max = {}", (found * 1200.0 + 2.0).ceil() / 1000.0),
        Figure::RecoveryMs => format!("max = {}", ((found * 1.3 + 50.0) / 10.0).ceil() * 10.0),
        Figure::Kept => format!("min = {:.2}, max = {:.2}", found - 0.03, (found + 0.03).min(1.0)),
    }
}

/// `content` of a plan with these ranges of `knee` in the place of those it has.
#[must_use]
pub fn with_ranges(content: &str, ranges: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in content.lines() {
        if line.starts_with('[') {
            inside = line == format!("[expect.{OF}]");
        }
        if !inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if ranges.is_empty() { kept } else { format!("{}\n\n{ranges}", kept.trim_end()) }
}

/// Writes the ranges of `knee` and the snapshot of each plan.
///
/// # Errors
/// Of the files.
pub fn accept(plans: &[Plan], score: &Score) -> std::io::Result<()> {
    for (plan, scored) in plans.iter().zip(&score.plans) {
        let content = std::fs::read_to_string(&plan.path)?;
        std::fs::write(&plan.path, with_ranges(&content, &ranges(scored)))?;
        if let Some(text) = &scored.snapshot {
            std::fs::write(super::snapshot::path(plan), text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Figures;

    fn scored(rows: &[(&str, Figures)], bars: &[(Figure, f64)]) -> PlanScore {
        let row = |(name, mean): &(&str, Figures)| Row {
            estimator: (*name).to_owned(),
            mean: mean.clone(),
            worst: 0.0,
        };
        let rows = rows.iter().map(row).collect();
        let bars = bars.to_vec();
        PlanScore { plan: "p".to_owned(), tuned: false, seeds: 9, bars, snapshot: None, oracle: None, rows }
    }

    fn figures(goodput_ratio: f64, p99_ratio: f64) -> Figures {
        Figures { goodput_ratio, p99_ratio, ..Figures::default() }
    }

    #[test]
    fn a_bar_that_holds_is_the_range_and_another_is_what_was_measured_and_says_so() {
        let mean = Figures { jain: Some(0.931), recovery_ms: Some(140.0), ..figures(0.96, 1.7) };
        let bars = [(Figure::GoodputRatio, 0.95), (Figure::P99Ratio, 1.5)];
        let text = ranges(&scored(&[("knee", mean)], &bars));
        assert_eq!(
            text,
            "[expect.knee]\ngoodput_ratio = { min = 0.95 }\n\
             # Measured 1.700, the bar is 1.5.\np99_ratio = { max = 1.79 }\n\
             # Measured 0.931.\njain = { min = 0.92 }\n\
             # Measured 140.\nrecovery_ms = { max = 240 }\n"
        );
    }

    #[test]
    fn ranges_of_before_give_way_and_all_else_stays() {
        let old = "about = \"\"\n\n[expect.aimd]\njain = {}\n\n[expect.knee]\n# Old.\njain = {}\n\n[[phase]]\nload = 1\n";
        let new = with_ranges(old, "[expect.knee]\nkept = {}\n");
        assert_eq!(
            new,
            "about = \"\"\n\n[expect.aimd]\njain = {}\n\n[[phase]]\nload = 1\n\n[expect.knee]\nkept = {}\n"
        );
        assert_eq!(with_ranges(&new, "[expect.knee]\nkept = {}\n"), new);
    }

    #[test]
    fn missed_bars_are_named_and_so_are_references_that_are_better_and_the_mean() {
        let bars = [(Figure::GoodputRatio, 0.9), (Figure::P99Ratio, 1.5)];
        let rows = [
            ("knee", figures(0.91, 1.6)),
            ("vegas-netflix", figures(0.95, 1.0)),
            ("vegas", figures(1.0, 1.0)),
        ];
        let plans = vec![scored(&rows, &bars)];
        let missed = missed(&Score { plans, failures: Vec::new(), events: 0 });
        assert_eq!(
            missed,
            [
                "p: p99_ratio is 1.600, the bar is 1.5",
                "p: goodput_ratio is 0.910, of vegas-netflix 0.950",
                "mean goodput_ratio is 0.9100, the bar is 0.985",
            ]
        );
    }
}
