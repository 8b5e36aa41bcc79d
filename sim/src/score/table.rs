//! The score for a person: a table of plans, a table of totals, and what was out of place.

use comfy_table::{CellAlignment, Table, presets};

use super::{GOOD, PlanScore, QUICK, Row, Score};
use crate::num;

const HEADER: [&str; 9] = [
    "plan",
    "estimator",
    "goodput\nratio",
    "worst\nseed",
    "p99\nratio",
    "wrongful\nrefusals",
    "recovery\nms",
    "Jain",
    "mean\nlimit",
];

const TOTALS: [&str; 7] =
    ["estimator", "mean\ngoodput", "plans", "goodput\n≥ 0.95", "p99\n≤ 1.5", "both", "both,\nnot tuned"];

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
    let failures = score.failures.iter().map(|failure| format!("FAILED {failure}\n"));
    format!("{}\n{}", totals(score), failures.collect::<String>())
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

fn cells(plan: &str, row: &Row) -> [String; 9] {
    let or_none = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    [
        plan.to_owned(),
        row.estimator.clone(),
        format!("{:.3}", row.mean.goodput_ratio),
        format!("{:.3}", row.worst),
        format!("{:.2}", row.mean.p99_ratio),
        or_none(row.mean.wrongful_refusals, 3),
        or_none(row.mean.recovery_ms, 0),
        or_none(row.mean.jain, 3),
        format!("{:.1}", row.mean.mean_limit),
    ]
}

/// The totals of each estimator over all plans.
#[must_use]
pub fn totals(score: &Score) -> String {
    let mut table = table(&TOTALS);
    let names = score.plans.first().map_or(&[][..], |plan| &plan.rows);
    for (index, name) in names.iter().map(|row| &row.estimator).enumerate() {
        let rows: Vec<(&PlanScore, &Row)> =
            score.plans.iter().filter_map(|plan| Some((plan, plan.rows.get(index)?))).collect();
        let total: f64 = rows.iter().map(|(_, row)| row.mean.goodput_ratio).sum();
        let count = |holds: &dyn Fn(&PlanScore, &Row) -> bool| {
            rows.iter().filter(|(plan, row)| holds(plan, row)).count()
        };
        let untuned = count(&|plan, _| !plan.tuned);
        table.add_row([
            name.clone(),
            format!("{:.3}", total / num::real(num::count(rows.len()))),
            rows.len().to_string(),
            count(&|_, row| row.mean.goodput_ratio >= GOOD).to_string(),
            count(&|_, row| row.mean.p99_ratio <= QUICK).to_string(),
            count(&|_, row| row.meets()).to_string(),
            format!("{}/{untuned}", count(&|plan, row| !plan.tuned && row.meets())),
        ]);
    }
    aligned(table, 1)
}
