//! The table in the terminal.

use comfy_table::{CellAlignment, Table, presets};

use crate::compare::{Comparison, Recovery, Row};
use crate::measure::Latency;
use crate::policy::Kind;

const HEADER: [&str; 13] = [
    "policy",
    "mean limit",
    "offered",
    "admitted",
    "refused",
    "timed out",
    "on time/s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "peak in flight",
    "recovery s",
    "of oracle",
];

/// The comparison as an aligned table, a line about the oracle below it.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(HEADER);
    for row in comparison.rows.iter().chain([&comparison.oracle]) {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let limit = match comparison.oracle.kind {
        Kind::Fixed(limit) => limit,
        _ => 0,
    };
    format!(
        "{table}\n\
         The oracle is the smallest fixed limit within 0.5 % of the best goodput: {limit}, found by trying {}.\n\
         Latency is from admission to completion or deadline; refused counts gate and server.",
        comparison.oracle_tried
    )
}

fn cells(row: &Row) -> [String; 13] {
    let counts = &row.counts;
    let quantile = |of: fn(&Latency) -> f64| row.latency.as_ref().map_or("-".to_owned(), |l| short(of(l)));
    [
        row.policy.clone(),
        row.mean_limit.map_or("-".to_owned(), |limit| format!("{limit:.1}")),
        counts.offered.to_string(),
        counts.admitted.to_string(),
        (counts.refused + counts.refused_by_server).to_string(),
        counts.timed_out.to_string(),
        format!("{:.2}", row.goodput_per_s),
        quantile(|latency| latency.p50_ms),
        quantile(|latency| latency.p95_ms),
        quantile(|latency| latency.p99_ms),
        row.peak_in_flight.to_string(),
        match row.recovery {
            Recovery::NotDisturbed => "-".to_owned(),
            Recovery::Seconds(seconds) => format!("{seconds:.1}"),
            Recovery::Never => "never".to_owned(),
        },
        row.of_oracle.map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
    ]
}

/// Three digits that say something.
fn short(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2}")
    } else if ms < 100.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}
