//! The figures of one run, and their means.

use crate::lab::oracle::Oracle;
use crate::lab::plan::{Figure, Plan};
use crate::lab::tally::{BINS, Tally};
use crate::num;

/// Share of a phase that has to run well, in parts of it: 5 %.
const WINDOW: usize = BINS / 20;
/// What is well.
const RECOVERED: f64 = 0.9;

/// Measured against the oracle. `None` where a plan has nothing to measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Goodput ÷ the oracle's.
    pub goodput_ratio: f64,
    /// p99 ÷ the oracle's.
    pub p99_ratio: f64,
    /// Refused ÷ attempts made while less was offered than the server could do.
    pub wrongful_refusals: Option<f64>,
    /// After each change of phase, the first moment from which on 5 % of the phase runs at 0.9 of the oracle's mean rate
    /// in the phase's second half; the whole phase if that never comes. The worst of all changes.
    pub recovery_ms: Option<f64>,
    /// Jain's index over the limiters.
    pub jain: Option<f64>,
    /// Completed within the deadline ÷ offered, of what has no low priority; where something has.
    pub kept: Option<f64>,
    /// Mean limit, all limiters together.
    pub mean_limit: f64,
}

impl Figures {
    pub(super) fn of(plan: &Plan, tally: &Tally, oracle: &Oracle) -> Self {
        let (below, wrongful) = tally.below;
        let (important, kept) = tally.important;
        Self {
            goodput_ratio: ratio(tally.on_time(), oracle.on_time),
            p99_ratio: ratio(tally.p99_ns(), oracle.p99_ns),
            wrongful_refusals: (below > 0).then(|| num::real(wrongful) / num::real(below)),
            recovery_ms: recovery_ms(plan, tally, oracle),
            jain: (plan.limiters() > 1).then(|| jain(&tally.by_limiter)),
            kept: (important > 0).then(|| num::real(kept) / num::real(important)),
            mean_limit: tally.mean_limit(),
        }
    }

    /// Means; of what may be missing, over those that have it.
    pub(super) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> Option<f64>| {
            let values: Vec<f64> = all.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / num::real(num::count(values.len())))
        };
        Self {
            goodput_ratio: mean(|run| Some(run.goodput_ratio)).unwrap_or(0.0),
            p99_ratio: mean(|run| Some(run.p99_ratio)).unwrap_or(0.0),
            wrongful_refusals: mean(|run| run.wrongful_refusals),
            recovery_ms: mean(|run| run.recovery_ms),
            jain: mean(|run| run.jain),
            kept: mean(|run| run.kept),
            mean_limit: mean(|run| Some(run.mean_limit)).unwrap_or(0.0),
        }
    }

    /// By name.
    #[must_use]
    pub const fn get(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::GoodputRatio => Some(self.goodput_ratio),
            Figure::P99Ratio => Some(self.p99_ratio),
            Figure::WrongfulRefusals => self.wrongful_refusals,
            Figure::Jain => self.jain,
            Figure::RecoveryMs => self.recovery_ms,
            Figure::Kept => self.kept,
        }
    }
}

/// Nothing of nothing is all of it.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { if part == 0 { 1.0 } else { f64::INFINITY } } else { num::real(part) / num::real(whole) }
}

/// (Σx)² ÷ (n Σx²); 1 if there is nothing to share.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| num::real(share)).sum();
    let squares: f64 = shares.iter().map(|&share| num::real(share) * num::real(share)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (num::real(num::count(shares.len())) * squares) }
}

fn recovery_ms(plan: &Plan, tally: &Tally, oracle: &Oracle) -> Option<f64> {
    let lengths = plan.changes();
    let times = lengths.filter_map(|(phase, length_ns)| {
        let half = oracle.second_halves.get(phase).copied().filter(|&half| half > 0)?;
        let enough =
            RECOVERED * num::real(half) * num::real(num::count(WINDOW)) / num::real(num::count(BINS / 2));
        let bins = tally.bins.get(phase)?;
        let good = |window: &[u32]| num::real(window.iter().map(|&count| u64::from(count)).sum()) >= enough;
        let parts = bins.windows(WINDOW).position(good).unwrap_or(BINS);
        Some(num::real(length_ns) / 1e6 * num::real(num::count(parts)) / num::real(num::count(BINS)))
    });
    times.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_where_all_have_the_same_and_a_part_where_one_has_it_all() {
        assert!((jain(&[5, 5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((jain(&[8, 0, 0, 0]) - 0.25).abs() < 1e-12);
        assert!((jain(&[0, 0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn means_of_what_may_be_missing_are_over_those_that_have_it() {
        let one = Figures { goodput_ratio: 1.0, jain: Some(0.8), ..Figures::default() };
        let other = Figures { goodput_ratio: 0.5, ..Figures::default() };
        let mean = Figures::mean(&[one, other]);
        assert_eq!((mean.goodput_ratio, mean.jain, mean.recovery_ms), (0.75, Some(0.8), None));
    }

    #[test]
    fn recovery_is_the_first_moment_from_which_a_twentieth_of_the_phase_runs_well_or_else_the_whole_phase() {
        let text = "about = \"\"\nsource = \"\"\ndeadline = \"1s\"\n[server]\nslots = 1\nbase = \"1ms\"\nlaw = \"constant\"\n\
                    [[phase]]\nlength = \"1s\"\nload = 1\n[[phase]]\nlength = \"2s\"\nload = 1\n";
        let plan = Plan::parse("two.toml".as_ref(), text).unwrap();
        let oracle = Oracle { limits: vec![1], on_time: 1, p99_ns: 1, second_halves: vec![10_000, 10 * 500] };
        let mut tally = Tally::new(&plan);
        assert_eq!(recovery_ms(&plan, &tally, &oracle), Some(2000.0), "the first phase is no change");
        // Nine a part is just well; here from part 300 of 1000 on, that is after 600 ms.
        tally.bins[1][300..].fill(9);
        assert_eq!(recovery_ms(&plan, &tally, &oracle), Some(600.0));
        tally.bins[1].fill(8);
        assert_eq!(recovery_ms(&plan, &tally, &oracle), Some(2000.0));
    }

    #[test]
    fn a_ratio_to_nothing_is_no_number_unless_there_was_nothing_to_do() {
        assert_eq!((ratio(0, 0), ratio(1, 0), ratio(1, 2)), (1.0, f64::INFINITY, 0.5));
    }
}
