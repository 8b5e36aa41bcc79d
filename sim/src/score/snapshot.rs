//! What `knee` did on a plan under its first seed, in a few lines beside the plan.
//!
//! Ranges say what is good enough; a snapshot shows every change, and what it changed. It is counts of one run and needs
//! no oracle, so that to compare the short plans takes seconds. A plan without a snapshot is compared with nothing.

use core::fmt;
use std::fs;
use std::path::PathBuf;

use crate::lab::plan::Plan;
use crate::lab::tally::Tally;
use crate::lab::{LabError, Requests};
use crate::num;

/// The estimator whose runs are kept.
pub const OF: &str = "knee";

/// The first line that is not as in the snapshot.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// From 1.
    pub line: usize,
    /// What the run says there.
    pub found: String,
    /// What the snapshot says.
    pub snapshot: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, found, snapshot } = self;
        write!(f, "snapshot line {line} is {snapshot:?}, the run says {found:?}; --accept takes it")
    }
}

/// The file of a plan's snapshot.
#[must_use]
pub fn path(plan: &Plan) -> PathBuf {
    plan.path.with_extension("snapshot")
}

/// Whether this run is the one that is kept.
pub(super) fn is_of(plan: &Plan, estimator: &str, seed: u64) -> bool {
    estimator == OF && plan.seeds.first() == Some(&seed)
}

/// What `tally` shows, for a snapshot.
#[must_use]
pub fn text(plan: &Plan, seed: u64, tally: &Tally) -> String {
    let mut text = format!("{}, {OF}, seed {seed}\n", plan.name);
    for (index, phase) in tally.phases.iter().enumerate() {
        let (offered, refused, on_time) = (phase.offered, phase.refused, phase.on_time);
        text += &format!("phase {}: {offered} offered, {refused} refused, {on_time} in time\n", index + 1);
    }
    if tally.by_limiter.len() > 1 {
        let shares: Vec<String> = tally.by_limiter.iter().map(u64::to_string).collect();
        text += &format!("in time by limiter: {}\n", shares.join(", "));
    }
    if tally.important.0 > 0 {
        text += &format!("of those that matter: {} offered, {} kept\n", tally.important.0, tally.important.1);
    }
    let books = tally.books;
    text += &format!("in all: {} failed, {} timed out\n", books.failed, books.timed_out);
    let p99_ms = num::real(tally.p99_ns()) / 1e6;
    text + &format!("p99 {p99_ms:.2} ms, mean limit {:.2}\n", tally.mean_limit())
}

/// Where `text` is not as the snapshot of `plan`; `None` if it is, or if there is none.
pub(super) fn differs(plan: &Plan, text: &str) -> Option<Difference> {
    let old = fs::read_to_string(path(plan)).ok()?;
    if text == old {
        return None;
    }
    let same = text.lines().zip(old.lines()).take_while(|(found, old)| found == old).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("the end").to_owned();
    Some(Difference { line: same + 1, found: line(text), snapshot: line(&old) })
}

/// Runs what is kept of `plan` and compares it, without an oracle.
///
/// # Errors
/// Settings that the core refuses.
pub fn check(plan: &Plan) -> Result<Option<Difference>, LabError> {
    let seed = plan.seeds.first().copied().unwrap_or(0);
    let outcomes = super::run(plan, seed, &Requests::draw(plan, seed), OF, None)?;
    Ok(differs(plan, &text(plan, seed, &outcomes.tally)))
}
