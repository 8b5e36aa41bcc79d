//! The report of a plan in the terminal, which is its snapshot too.

use comfy_table::{CellAlignment, Table, presets};

use crate::findings::{Findings, Row};
use crate::plan::Number;

const HEADER: [&str; 10] = [
    "tenant",
    "weight",
    "submitted",
    "started",
    "refused",
    "cost\nserved",
    "share",
    "average\nseats",
    "longest\nwait ms",
    "p95\nwait ms",
];

/// A number with the digits that say something.
#[must_use]
pub fn figure(value: f64) -> String {
    Number(value).to_string()
}

/// Tenants, totals, rules and ranges.
#[must_use]
pub fn render(findings: &Findings) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(HEADER);
    for row in &findings.tenants {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{}: {}\nsource: {}\n", findings.plan, findings.about, findings.source);
    if let Some(reason) = &findings.reason {
        text += &format!("reason: {reason}\n");
    }
    text += &format!("\n{table}\n{}\n", totals(findings));
    for broken in &findings.violations {
        text += &format!("FAIL rule {} at {} ns: {}\n", broken.rule, broken.at_ns, broken.detail);
    }
    if findings.violation_count == 0 {
        let pairs = if findings.pairs_judged {
            "every rule held at every event, `fair` among them"
        } else {
            "every rule held at every event; `fair` is not promised by this order"
        };
        text += &format!("PASS {pairs}\n");
    }
    for check in &findings.checks {
        let verdict = if check.pass { "PASS" } else { "FAIL" };
        text += &format!("{verdict} {}: {}, allowed is {}\n", check.what, figure(check.found), check.allowed);
        if let Some(reason) = &check.reason {
            text += &format!("     because {reason}\n");
        }
    }
    text
}

fn totals(findings: &Findings) -> String {
    let summary = &findings.summary;
    let limit = findings.limit.map_or_else(|| "no limit".to_owned(), |limit| format!("limit {limit}"));
    let refused: Vec<String> =
        summary.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let refused = if refused.is_empty() { "nothing".to_owned() } else { refused.join(", ") };
    format!(
        "In {} s: goodput {} per s, Jain's index {} by cost ÷ weight, {} by cost ÷ max-min share.\n\
         Peaks: {} running, {} in use ({limit}), {} waiting, {} bytes waiting (of {}).\n\
         Longest wait {} ms. Refused in all: {refused}. Drained at {} s.\n",
        figure(findings.duration_s),
        short(summary.goodput_per_s),
        short(summary.jain),
        short(summary.jain_max_min),
        figure(summary.peak_active),
        figure(summary.peak_in_use),
        figure(summary.peak_queued),
        figure(summary.peak_queued_bytes),
        findings.max_queued_bytes,
        figure(summary.longest_wait_ms),
        figure(summary.drained_s),
    )
}

fn cells(row: &Row) -> [String; 10] {
    [
        row.name.clone(),
        row.weight.to_string(),
        figure(row.submitted),
        figure(row.started),
        figure(row.refused),
        figure(row.cost),
        short(row.cost_share),
        short(row.seats),
        short(row.longest_wait_ms),
        short(row.p95_wait_ms),
    ]
}

/// Three digits after the point; `-` where there is no such figure.
#[must_use]
pub fn short(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.3}") }
}
