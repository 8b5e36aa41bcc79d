//! What each fuzz target does with its bytes.
//!
//! A target is a function of bytes that returns, or panics where a law is broken. The machines read the bytes as
//! operations and are driven beside their oracles by the very code of the law tests, which is included from
//! `core/tests`; the parsers read them as text. `fuzz/` hands these functions to libFuzzer, and this crate's own test
//! replays the seeds in `fuzz/corpus` without it.
//!
//! | target | bytes are | held against |
//! | --- | --- | --- |
//! | `bucket` | quota, policy, operations | the whole history, in big integers; the rate over every interval |
//! | `keyed` | quota, table, operations | a table that forgets nobody; exact buckets |
//! | `semaphore` | limit, line, operations | two lists; the bound on passing |
//! | `drr` | quantum, weights, operations | the textbook loop; the definition of fairness; no overflow |
//! | `gate` | rules, limit, operations | lists of jobs and tenants |
//! | `limiter` | rules, shares, operations | lists of requests |
//! | `settings` | JSON or TOML | what was read survives being written; what is refused changes nothing |
//! | `plan` | TOML | no panic, an error that says where |
//! | `trace` | any recording | arrivals in order from 0; what was read survives being written |
#![forbid(unsafe_code)]

mod bucket;
mod bytes;
#[path = "../../../core/tests/common/mod.rs"]
mod common;
mod drr;
mod gate;
mod keyed;
mod limiter;
mod plan;
mod semaphore;
mod settings;
mod steps;
mod trace;

use proptest::test_runner::TestCaseResult;

/// A target by the name of its corpus, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 9] = [
    ("bucket", bucket::run),
    ("drr", drr::run),
    ("gate", gate::run),
    ("keyed", keyed::run),
    ("limiter", limiter::run),
    ("plan", plan::run),
    ("semaphore", semaphore::run),
    ("settings", settings::run),
    ("trace", trace::run),
];

/// Runs the target of that name.
///
/// # Panics
/// Where a law is broken, or there is no such target.
pub fn run(target: &str, data: &[u8]) {
    let known = TARGETS.iter().find(|(name, _)| *name == target);
    let (_, run) = known.unwrap_or_else(|| panic!("there is no target {target}"));
    run(data);
}

/// A law that is broken, as a panic.
fn lawful(result: TestCaseResult) {
    if let Err(broken) = result {
        panic!("{broken}");
    }
}
