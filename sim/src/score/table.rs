//! The score for a person: a table of plans, a table of totals, and what was out of place.

use comfy_table::{CellAlignment, Table, presets};

use super::{Figures, GOOD, PlanScore, QUICK, Row, Score, bars};
use crate::num;

const HEADER: [&str; 10] = [
    "plan",
    "estimator",
    "goodput\nratio",
    "worst\nseed",
    "p99\nratio",
    "wrongful\nrefusals",
    "recovery\nms",
    "Jain",
    "kept",
    "mean\nlimit",
];

const TOTALS: [&str; 11] = [
    "estimator",
    "mean\ngoodput",
    "mean\np99",
    "wrongful\nrefusals",
    "median\nrecovery ms",
    "mean\nJain",
    "plans",
    "goodput\n≥ 0.95",
    "p99\n≤ 1.5",
    "both",
    "both,\nnot tuned",
];

/// Everything.
#[must_use]
pub fn render(score: &Score) -> String {
    let mut text = String::new();
    for plan in &score.plans {
        text.push_str(&one(plan));
        text.push('\n');
    }
    text + &brief(score)
}

/// The totals, and what was out of place.
#[must_use]
pub fn brief(score: &Score) -> String {
    let bars = bars::missed(score).into_iter().map(|bar| format!("below the bar: {bar}\n"));
    let failures = score.failures.iter().map(|failure| format!("FAILED {failure}\n"));
    format!("{}\n{}", totals(score), bars.chain(failures).collect::<String>())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(header.to_vec());
    table
}

fn aligned(mut table: Table, from: usize) -> String {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// The table of one plan.
#[must_use]
pub fn one(plan: &PlanScore) -> String {
    let limits = plan.oracle.as_ref().map_or_else(Vec::new, |oracle| oracle.limits.clone());
    let limits: Vec<String> = limits.iter().map(u32::to_string).collect();
    let mut table = table(&HEADER);
    for row in &plan.rows {
        table.add_row(cells(&plan.plan, row));
    }
    let tuned = if plan.tuned { ", tuned" } else { "" };
    format!("{} (oracle {}, {} seeds{tuned})\n{}", plan.plan, limits.join("/"), plan.seeds, aligned(table, 2))
}

fn cells(plan: &str, row: &Row) -> [String; 10] {
    [
        plan.to_owned(),
        row.estimator.clone(),
        format!("{:.3}", row.mean.goodput_ratio),
        format!("{:.3}", row.worst),
        format!("{:.2}", row.mean.p99_ratio),
        or_none(row.mean.wrongful_refusals, 3),
        or_none(row.mean.recovery_ms, 0),
        or_none(row.mean.jain, 3),
        or_none(row.mean.kept, 4),
        format!("{:.1}", row.mean.mean_limit),
    ]
}

fn or_none(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// The totals of each estimator over all plans.
#[must_use]
pub fn totals(score: &Score) -> String {
    let mut table = table(&TOTALS);
    let names = score.plans.first().map_or(&[][..], |plan| &plan.rows);
    for (index, name) in names.iter().map(|row| &row.estimator).enumerate() {
        let rows: Vec<(&PlanScore, &Row)> =
            score.plans.iter().filter_map(|plan| Some((plan, plan.rows.get(index)?))).collect();
        let all = |of: &dyn Fn(&Figures) -> Option<f64>| -> Vec<f64> {
            rows.iter().filter_map(|(_, row)| of(&row.mean)).collect()
        };
        let mean = |values: Vec<f64>| {
            let count = num::real(num::count(values.len()));
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)
        };
        let mut recoveries = all(&|mean| mean.recovery_ms);
        recoveries.sort_by(f64::total_cmp);
        let count = |holds: &dyn Fn(&PlanScore, &Row) -> bool| {
            rows.iter().filter(|(plan, row)| holds(plan, row)).count()
        };
        let untuned = count(&|plan, _| !plan.tuned);
        table.add_row([
            name.clone(),
            or_none(mean(all(&|mean| Some(mean.goodput_ratio))), 3),
            or_none(mean(all(&|mean| Some(mean.p99_ratio))), 2),
            or_none(mean(all(&|mean| mean.wrongful_refusals)), 3),
            or_none(recoveries.get(recoveries.len() / 2).copied(), 0),
            or_none(mean(all(&|mean| mean.jain)), 3),
            rows.len().to_string(),
            count(&|_, row| row.mean.goodput_ratio >= GOOD).to_string(),
            count(&|_, row| row.mean.p99_ratio <= QUICK).to_string(),
            count(&|_, row| row.meets()).to_string(),
            format!("{}/{untuned}", count(&|plan, row| !plan.tuned && row.meets())),
        ]);
    }
    aligned(table, 1)
}
