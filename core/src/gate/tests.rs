//! One test a rule, on a clock in milliseconds.

mod budgets;
mod deadlines;
mod endings;
mod estimates;
mod heads;
mod tenants;

use core::time::Duration;
use std::vec::Vec;

use super::*;
use crate::error::Reason;
use crate::slots::Heap;

pub(super) type Small = Gate<Heap, Budget>;

pub(super) fn ms(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

pub(super) const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// No bound of the gate's own on waiting, so that a test sees the one it is about.
pub(super) fn settings() -> Settings {
    Settings { max_queued: 64, max_tenants: 8, max_active: 16, max_wait: None, ..Settings::default() }
}

pub(super) fn gate(limit: u64, settings: Settings) -> Small {
    Gate::new(settings, Budget::new(limit)).unwrap()
}

/// Submits and checks.
pub(super) fn submit(gate: &mut Small, at: u64, job: Job) -> JobId {
    let queued = gate.submit(ms(at), job).unwrap();
    gate.check_invariants();
    queued.job
}

/// Polls until there is nothing to say: those started, and those refused with the reason.
pub(super) fn drain(gate: &mut Small, at: u64) -> (Vec<JobId>, Vec<(JobId, Reason)>) {
    let (mut started, mut refused) = (Vec::new(), Vec::new());
    while let Some(event) = gate.poll(ms(at)) {
        gate.check_invariants();
        match event {
            GateEvent::Start { job, .. } => started.push(job),
            GateEvent::Refuse { job, reason, .. } => refused.push((job, reason)),
        }
    }
    (started, refused)
}

/// The jobs that start.
pub(super) fn starts(gate: &mut Small, at: u64) -> Vec<JobId> {
    let (started, refused) = drain(gate, at);
    assert_eq!(refused, []);
    started
}

pub(super) fn done(gate: &mut Small, at: u64, job: JobId) {
    gate.complete(ms(at), job, Completion::DONE).unwrap();
    gate.check_invariants();
}

pub(super) fn reason(refused: Result<Queued, Rejected>) -> Reason {
    refused.unwrap_err().reason
}
