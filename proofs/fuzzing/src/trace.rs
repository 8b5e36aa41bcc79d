//! Recordings as text.

use core::fmt::Write as _;

use tollgate_sim::trace::{Options, Trace, TraceError};

/// The most of one column that a reader takes.
const MOST: u64 = 1_000_000_000;
/// The most of the column of seconds; dates may be further apart.
const LATEST_NS: u64 = MOST * 1_000_000_000;

/// Arrivals are in order from 0, tenants are those it names, and what was read reads the same once it is written.
pub(crate) fn run(data: &[u8]) {
    let trace = match Trace::read(data, "fuzzed", Options::default()) {
        Ok(trace) => trace,
        Err(TraceError::Line { line, column, reason, .. }) => {
            assert!(line > 0 && column > 0 && !reason.is_empty());
            return;
        }
        Err(_) => return,
    };
    assert_eq!(trace.records.first().map(|first| first.at_ns), Some(0));
    assert!(trace.records.is_sorted_by_key(|record| record.at_ns), "out of order");
    assert_eq!(trace.tenant_names.len(), trace.tenants as usize);
    assert!(trace.records.iter().all(|record| record.tenant < trace.tenants.max(1)));
    if trace.span_ns() > LATEST_NS || trace.records.iter().any(|record| record.cost.max(record.bytes) > MOST)
    {
        return;
    }
    let mut written = String::from("arrival_s,tenant,cost,bytes\n");
    for record in &trace.records {
        let (whole, part) = (record.at_ns / 1_000_000_000, record.at_ns % 1_000_000_000);
        let (tenant, cost, bytes) = (record.tenant, record.cost, record.bytes);
        writeln!(written, "{whole}.{part:09},t{tenant},{cost},{bytes}").unwrap();
    }
    let again = Trace::read(written.as_bytes(), "written", Options::default());
    let again = again.unwrap_or_else(|error| panic!("{error} in {written}"));
    assert_eq!(again.out_of_order, 0);
    let numbers = |trace: &Trace| -> Vec<_> {
        trace.records.iter().map(|record| (record.at_ns, record.cost, record.bytes)).collect()
    };
    assert_eq!(numbers(&again), numbers(&trace));
}
