//! The gate, as the simulator drives it: the one place that calls it.

use core::time::Duration;

use tollgate::adapt::Outcome;
use tollgate::gate::{
    Budget, Cancelled, Completion, Cost, Gate, GateEvent, Job, JobId, Queued, Retried, Settings, Snapshot,
    TenantKey, TenantSnapshot,
};
use tollgate::slots::Heap;
use tollgate::{ConfigError, Timestamp};

use super::source::Work;
use crate::plan::{Ends, Tenant};

/// What became of a job that was submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Submitted {
    /// It waits, or will be started by the next poll; an older job may have had to go for it.
    Queued { job: JobId, displaced: Option<JobId> },
    /// It runs.
    Started(JobId),
    /// It was refused, for this reason.
    Refused(&'static str),
}

/// What the gate has decided.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decision {
    /// Start it.
    Start(JobId),
    /// It will never start.
    Refuse(JobId, &'static str),
}

/// What the gate says of a call that does not fit its own books.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct OffTheBooks;

/// A gate with a budget, told virtual time.
#[derive(Debug)]
pub(crate) struct Machine {
    gate: Gate<Heap, Budget>,
    /// Starts are attempts that a limiter may send back.
    attempts: bool,
}

const fn at(now_ns: u64) -> Timestamp {
    Timestamp::from_nanos(now_ns)
}

impl Machine {
    /// # Errors
    /// The gate's, if it refuses the settings.
    pub(crate) fn new(
        settings: Settings,
        limit: u64,
        tenants: &[Tenant],
        attempts: bool,
    ) -> Result<Self, ConfigError> {
        let mut gate = Gate::new(settings, Budget::new(limit))?;
        for (key, tenant) in (0_u64..).zip(tenants) {
            // Those of the default weight stay unknown until they come, as in life.
            if tenant.weight != settings.default_weight {
                gate.set_weight(TenantKey(key), tenant.weight)?;
            }
        }
        Ok(Self { gate, attempts })
    }

    fn job(&self, now_ns: u64, tenant: u32, work: &Work) -> Job {
        Job {
            cost: Cost::Units(work.cost),
            weight: work.weight,
            bytes: work.bytes,
            deadline: work.deadline_ns.map(|after| at(now_ns.saturating_add(after))),
            ready_at: work.ready_ns.map(|after| at(now_ns.saturating_add(after))),
            attempt: self.attempts,
            ..Job::new(u64::from(tenant))
        }
    }

    #[inline]
    pub(crate) fn submit(&mut self, now_ns: u64, tenant: u32, work: &Work) -> Submitted {
        let job = self.job(now_ns, tenant, work);
        match self.gate.submit(at(now_ns), job) {
            Ok(Queued { job, displaced, .. }) => Submitted::Queued { job, displaced },
            Err(rejected) => Submitted::Refused(rejected.reason.name()),
        }
    }

    #[inline]
    pub(crate) fn try_start(&mut self, now_ns: u64, tenant: u32, work: &Work) -> Submitted {
        let job = self.job(now_ns, tenant, work);
        match self.gate.try_start(at(now_ns), job) {
            Ok(job) => Submitted::Started(job),
            Err(rejected) => Submitted::Refused(rejected.reason.name()),
        }
    }

    #[inline]
    pub(crate) fn poll(&mut self, now_ns: u64) -> Option<Decision> {
        Some(match self.gate.poll(at(now_ns))? {
            GateEvent::Start { job, .. } => Decision::Start(job),
            GateEvent::Refuse { job, reason, .. } => Decision::Refuse(job, reason.name()),
        })
    }

    /// When time alone will make [`poll`](Self::poll) say something.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.gate.poll_timeout().map(Timestamp::as_nanos)
    }

    #[inline]
    pub(crate) fn complete(&mut self, now_ns: u64, job: JobId, ends: Ends) -> Result<(), OffTheBooks> {
        let completion = match ends {
            Ends::Done => Completion::DONE,
            Ends::Dropped => Completion::Ran { outcome: Outcome::Dropped, cost: None },
            Ends::NotStarted => Completion::NotStarted,
        };
        self.gate.complete(at(now_ns), job, completion).map_err(|_| OffTheBooks)
    }

    pub(crate) fn confirm(&mut self, now_ns: u64, job: JobId) -> Result<(), OffTheBooks> {
        self.gate.confirm(at(now_ns), job).map_err(|_| OffTheBooks)
    }

    /// An attempt failed; answers why, if it is over.
    pub(crate) fn retry(
        &mut self,
        now_ns: u64,
        job: JobId,
        ready_at: Timestamp,
    ) -> Result<Option<&'static str>, OffTheBooks> {
        match self.gate.retry(at(now_ns), job, ready_at) {
            Ok(Retried::Queued) => Ok(None),
            Ok(Retried::Refused(reason)) => Ok(Some(reason.name())),
            Err(_) => Err(OffTheBooks),
        }
    }

    /// Whoever waits for the job goes away; answers whether it was still waiting.
    pub(crate) fn cancel(&mut self, now_ns: u64, job: JobId) -> Result<bool, OffTheBooks> {
        match self.gate.cancel(at(now_ns), job) {
            Ok(cancelled) => Ok(cancelled == Cancelled::Queued),
            Err(_) => Err(OffTheBooks),
        }
    }

    pub(crate) const fn set_limit(&mut self, limit: u64) {
        self.gate.capacity_mut().set_limit(limit);
    }

    #[inline]
    pub(crate) const fn limit(&self) -> u64 {
        self.gate.capacity().limit()
    }

    #[inline]
    pub(crate) const fn in_use(&self) -> u64 {
        self.gate.capacity().in_use()
    }

    pub(crate) fn snapshot(&self, now_ns: u64) -> Snapshot {
        self.gate.snapshot(at(now_ns))
    }

    pub(crate) fn tenants(&self, now_ns: u64) -> impl Iterator<Item = TenantSnapshot> + use<'_> {
        self.gate.tenants(at(now_ns))
    }

    /// The longest that a job may wait, by the gate's settings.
    pub(crate) fn latest_start(settings: &Settings, now_ns: u64, deadline_ns: Option<u64>) -> u64 {
        let own = settings.max_wait.map_or(u64::MAX, |wait| nanos(wait).saturating_add(now_ns));
        deadline_ns.map_or(own, |after| own.min(now_ns.saturating_add(after)))
    }

    #[cfg(debug_assertions)]
    pub(crate) fn check_invariants(&self) {
        self.gate.check_invariants();
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
