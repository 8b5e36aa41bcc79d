//! The score for programs.

use serde::Serialize;

use super::Score;

#[derive(Serialize)]
struct Line<'a> {
    plan: &'a str,
    estimator: &'a str,
    goodput_ratio: f64,
    p99_ratio: f64,
    wrongful_refusals: Option<f64>,
    recovery_ms: Option<f64>,
}

/// An array with one object for each plan and estimator: means over the seeds.
///
/// # Errors
/// Of the writer.
pub fn json(score: &Score, out: impl std::io::Write) -> Result<(), serde_json::Error> {
    let rows = score.plans.iter().flat_map(|plan| plan.rows.iter().map(move |row| (plan, row)));
    let lines: Vec<Line<'_>> = rows
        .map(|(plan, row)| Line {
            plan: &plan.plan,
            estimator: &row.estimator,
            goodput_ratio: row.mean.goodput_ratio,
            p99_ratio: row.mean.p99_ratio,
            wrongful_refusals: row.mean.wrongful_refusals,
            recovery_ms: row.mean.recovery_ms,
        })
        .collect();
    serde_json::to_writer_pretty(out, &lines)
}
