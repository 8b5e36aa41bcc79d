//! One JSON object a line: `{"timestamp": ms, "input_length": tokens, "output_length": tokens, …}`.
//!
//! Fields not named here (the prefix hashes) are passed over. Times are whole or fractional milliseconds.

use serde::Deserialize;

use super::line::{Fault, Line};
use super::{MAX_WHOLE, Options, Record};

#[derive(Deserialize)]
struct Row {
    timestamp: f64,
    input_length: u64,
    output_length: u64,
}

pub(super) fn record(line: &Line<'_>, options: Options) -> Result<Record, Fault> {
    let row: Row = serde_json::from_str(line.text()).map_err(|error| refused(line, &error))?;
    let ms = milliseconds_as_ns(row.timestamp).ok_or_else(|| {
        value_fault(line, "timestamp", row.timestamp, &format!("milliseconds from 0 to {MAX_WHOLE}"))
    })?;
    for (name, tokens) in [("input_length", row.input_length), ("output_length", row.output_length)] {
        if tokens > MAX_WHOLE {
            return Err(value_fault(line, name, tokens, &format!("a whole number from 0 to {MAX_WHOLE}")));
        }
    }
    Ok(Record { at_ns: ms, cost: options.cost(row.input_length, row.output_length), bytes: 0, tenant: 0 })
}

/// Nearest nanosecond; whole milliseconds up to the allowed 10^9 are exact.
#[allow(clippy::as_conversions, reason = "the range is checked first")]
fn milliseconds_as_ns(ms: f64) -> Option<u64> {
    let most = 1e9;
    (0.0..=most).contains(&ms).then_some((ms * 1e6).round() as u64)
}

/// A value that parsed but is out of range, at the column where its name stands.
fn value_fault(line: &Line<'_>, name: &str, found: impl core::fmt::Display, allowed: &str) -> Fault {
    let column = line.text().find(name).unwrap_or(0) + 1;
    Fault { column, reason: format!("{name} is {found}, allowed is {allowed}") }
}

fn refused(line: &Line<'_>, error: &serde_json::Error) -> Fault {
    const ALLOWED: &str =
        "an object with numbers timestamp (ms), input_length and output_length (tokens, whole)";
    if line.text().is_empty() {
        return line.fault(ALLOWED);
    }
    // The place is reported as ours: the parser saw one line and calls it line 1.
    let whole = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = whole.strip_suffix(&place).unwrap_or(&whole);
    Fault { column: error.column().max(1), reason: format!("{what}, allowed is {ALLOWED}") }
}
