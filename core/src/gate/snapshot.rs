//! What a gate looks like at an instant, for metrics and for people.

use core::time::Duration;

use super::job::TenantKey;
use crate::error::Reason;
use crate::num;

/// What has happened since the gate was made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Jobs that joined a queue.
    pub queued: u64,
    /// Jobs started, attempts each time.
    pub started: u64,
    /// Of these, jobs that passed one whose turn it was and that did not fit.
    pub passed: u64,
    /// Started jobs that ran and ended.
    pub completed: u64,
    /// Started jobs that never ran.
    pub not_started: u64,
    /// Attempts that went back.
    pub retried: u64,
    /// Jobs cancelled while they waited.
    pub cancelled: u64,
    /// Completions and other calls for jobs that were over or in another state; nothing was changed.
    pub stale: u64,
    longest_wait_ns: u64,
    total_wait_ns: u128,
    pub(super) refused: [u64; Reason::ALL.len()],
}

impl Counts {
    /// Jobs refused for this reason, at submission or while they waited.
    #[must_use]
    pub fn refused(&self, reason: Reason) -> u64 {
        self.refused.get(reason.index()).copied().unwrap_or(0)
    }

    /// Jobs refused.
    #[must_use]
    pub fn total_refused(&self) -> u64 {
        self.refused.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Longest wait of a job that was started.
    #[must_use]
    pub const fn longest_wait(&self) -> Duration {
        Duration::from_nanos(self.longest_wait_ns)
    }

    /// Mean wait of the jobs that were started; zero before the first.
    #[must_use]
    pub fn mean_wait(&self) -> Duration {
        let mean = self.total_wait_ns.checked_div(u128::from(self.started));
        Duration::from_nanos(num::narrow(mean.unwrap_or(0)))
    }

    #[inline]
    pub(super) fn start(&mut self, passed: bool, waited_ns: u64) {
        self.started = self.started.saturating_add(1);
        self.passed = self.passed.saturating_add(u64::from(passed));
        self.longest_wait_ns = self.longest_wait_ns.max(waited_ns);
        self.total_wait_ns = self.total_wait_ns.saturating_add(u128::from(waited_ns));
    }

    pub(super) fn refuse(&mut self, reason: Reason) {
        if let Some(count) = self.refused.get_mut(reason.index()) {
            *count = count.saturating_add(1);
        }
    }
}

/// A gate at an instant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Places of the queue taken up: waiting jobs and attempts in flight.
    pub queued: u32,
    /// Bytes of these.
    pub queued_bytes: u64,
    /// Jobs that wait.
    pub waiting: u32,
    /// Jobs started and not ended, attempts included.
    pub active: u32,
    /// Attempts in flight.
    pub attempts: u32,
    /// Tenants that have a job or are configured.
    pub tenants: u32,
    /// How long the oldest waiting job has waited; `None` if none waits.
    pub oldest_wait: Option<Duration>,
    /// Mean time from start to end of a job; `None` before the first.
    pub mean_service: Option<Duration>,
    /// What has happened so far.
    pub counts: Counts,
}

/// One tenant at an instant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TenantSnapshot {
    /// Its key.
    pub key: TenantKey,
    /// Its weight.
    pub weight: u32,
    /// Places of the queue it takes up: waiting jobs and attempts in flight.
    pub queued: u32,
    /// Bytes of these.
    pub bytes: u64,
    /// Jobs that wait.
    pub waiting: u32,
    /// Jobs started and not ended.
    pub active: u32,
    /// Jobs started since it is known.
    pub started: u64,
    /// Cost of these, as it is known by now.
    pub served_cost: u128,
    /// Cost it owes for jobs that cost more than they were charged, or were served out of turn.
    pub debt: u128,
    /// How long its oldest waiting job has waited.
    pub oldest_wait: Option<Duration>,
}
