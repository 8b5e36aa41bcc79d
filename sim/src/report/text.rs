//! CSV, one line a policy, and JSON, everything.

use serde::Serialize;

use crate::compare::{Comparison, Recovery, Row};
use crate::report::Summary;

/// One line of the CSV. Empty fields are numbers there are none of.
#[derive(Serialize)]
struct Line<'a> {
    policy: &'a str,
    mean_limit: Option<f64>,
    offered: u64,
    admitted: u64,
    refused: u64,
    refused_by_server: u64,
    on_time: u64,
    timed_out: u64,
    goodput_per_s: f64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    peak_in_flight: u32,
    peak_in_server: u32,
    recovery_s: Option<f64>,
    never_recovered: bool,
    of_oracle: Option<f64>,
}

impl<'a> From<&'a Row> for Line<'a> {
    fn from(row: &'a Row) -> Self {
        let counts = &row.counts;
        Self {
            policy: &row.policy,
            mean_limit: row.mean_limit,
            offered: counts.offered,
            admitted: counts.admitted,
            refused: counts.refused,
            refused_by_server: counts.refused_by_server,
            on_time: counts.on_time,
            timed_out: counts.timed_out,
            goodput_per_s: row.goodput_per_s,
            p50_ms: row.latency.map(|latency| latency.p50_ms),
            p95_ms: row.latency.map(|latency| latency.p95_ms),
            p99_ms: row.latency.map(|latency| latency.p99_ms),
            peak_in_flight: row.peak_in_flight,
            peak_in_server: row.peak_in_server,
            recovery_s: if let Recovery::Seconds(seconds) = row.recovery { Some(seconds) } else { None },
            never_recovered: row.recovery == Recovery::Never,
            of_oracle: row.of_oracle,
        }
    }
}

/// A header and one line for each policy, the oracle last.
///
/// # Errors
/// Of the writer.
pub fn csv(comparison: &Comparison, out: impl std::io::Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    for row in comparison.rows.iter().chain([&comparison.oracle]) {
        writer.serialize(Line::from(row))?;
    }
    writer.flush()?;
    Ok(())
}

/// The scenario, every row with its points over time, and the oracle.
///
/// # Errors
/// Of the writer.
pub fn json(
    summary: &Summary,
    comparison: &Comparison,
    out: impl std::io::Write,
) -> Result<(), serde_json::Error> {
    #[derive(Serialize)]
    struct Report<'a> {
        scenario: &'a Summary,
        comparison: &'a Comparison,
    }
    serde_json::to_writer_pretty(out, &Report { scenario: summary, comparison })
}
