//! What is submitted to a gate, what it is called afterwards, and how it ends.

use core::fmt;
use core::time::Duration;

use crate::adapt::Outcome;
use crate::error::Reason;
use crate::num;
use crate::slots::SlotId;
use crate::time::Timestamp;

/// Who a job belongs to: any number that stands for one customer, user or team. Two tenants with the same key are one
/// tenant. Keys that clients may choose should be hashed with a secret (the standard library's `RandomState`) first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TenantKey(pub u64);

impl From<u64> for TenantKey {
    fn from(key: u64) -> Self {
        Self(key)
    }
}

impl fmt::Display for TenantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenant {}", self.0)
    }
}

/// A kind of job whose cost the gate learns: 0 up to the `classes` of the [`Settings`](super::Settings).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ClassId(pub u32);

/// What a job is expected to cost, in the unit in which the tenants share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cost {
    /// The caller says.
    Units(u64),
    /// The gate says, from what earlier jobs of this class have cost.
    Learnt(ClassId),
}

/// A job as it is submitted. `W` is what the gate's [`Capacity`](super::Capacity) counts.
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::gate::{Cost, Job};
///
/// let now = Timestamp::from_nanos(5);
/// let report = Job {
///     cost: Cost::Units(40),
///     weight: 4,
///     bytes: 2_000,
///     deadline: Some(now.saturating_add(Duration::from_secs(2))),
///     ..Job::new(7)
/// };
/// assert_eq!(report.ready_at, None);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job<W = u64> {
    /// Who it belongs to.
    pub tenant: TenantKey,
    /// Its share of the service, which decides when it is this tenant's turn again.
    pub cost: Cost,
    /// What it takes up while it runs.
    pub weight: W,
    /// Memory it takes up while it waits.
    pub bytes: u64,
    /// It never starts at or after this instant. The gate's `max_wait` may make that earlier.
    pub deadline: Option<Timestamp>,
    /// It does not start before this instant: when a rate limiter said that it would let it through.
    pub ready_at: Option<Timestamp>,
    /// Its start is an *attempt* that may fail and go [back](super::Gate::retry): it keeps its place in the queue until
    /// it is [confirmed](super::Gate::confirm) or over.
    pub attempt: bool,
}

impl Job {
    /// A job of cost 1 and weight 1, of no size and with no deadline.
    #[must_use]
    pub const fn new(tenant: u64) -> Self {
        Self::with_weight(tenant, 1)
    }
}

impl<W> Job<W> {
    /// A job of cost 1, of no size and with no deadline.
    #[must_use]
    pub const fn with_weight(tenant: u64, weight: W) -> Self {
        Self {
            tenant: TenantKey(tenant),
            cost: Cost::Units(1),
            weight,
            bytes: 0,
            deadline: None,
            ready_at: None,
            attempt: false,
        }
    }
}

/// Names one job from its submission to its end; stale after that, for good.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct JobId(pub(super) SlotId);

impl JobId {
    /// A number below `max_queued + max_active` that no other job of the gate has as long as this one lives: where a
    /// caller keeps what belongs to the job in a table of its own.
    #[must_use]
    pub const fn index(self) -> usize {
        num::index(SlotId::index(self.0))
    }
}

/// A job that was accepted into the queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Queued {
    /// The job.
    pub job: JobId,
    /// Jobs expected to start before it.
    pub position: u64,
    /// How long it is expected to wait; `None` while nothing is known about service times.
    pub estimated_wait: Option<Duration>,
    /// An older job of the same tenant that had to go for it, under newest-first; its id is stale now.
    pub displaced: Option<JobId>,
}

/// A job that was not accepted. Nothing of it is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Rejected {
    /// Why.
    pub reason: Reason,
    /// Jobs that would have started before it.
    pub position: u64,
    /// How long it would have had to wait; `None` while nothing is known about service times.
    pub estimated_wait: Option<Duration>,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}; {} jobs are ahead", self.reason, self.position)?;
        match self.estimated_wait {
            Some(wait) => write!(f, ", estimated wait {wait:?}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Rejected {}

/// What [`Gate::poll`](super::Gate::poll) found: a job has left the queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "a job that was started and is not completed takes up its capacity for good"]
pub enum GateEvent {
    /// It runs from now on: start it, and tell the gate when it has really ended.
    Start {
        /// The job.
        job: JobId,
        /// Who it belongs to.
        tenant: TenantKey,
        /// How long it waited, earlier attempts included.
        waited: Duration,
    },
    /// It will never start; its id is stale now.
    Refuse {
        /// The job.
        job: JobId,
        /// Who it belongs to.
        tenant: TenantKey,
        /// How long it waited.
        waited: Duration,
        /// Why.
        reason: Reason,
    },
}

/// How a started job ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Completion {
    /// It ran.
    Ran {
        /// What its end says about the load, for a capacity that learns.
        outcome: Outcome,
        /// What it really cost, if that was measured.
        cost: Option<u64>,
    },
    /// It definitely never started: its tenant is not charged for it.
    NotStarted,
}

impl Completion {
    /// It ran well and cost what was expected.
    pub const DONE: Self = Self::Ran { outcome: Outcome::Success, cost: None };

    /// It ran well and cost this much.
    #[must_use]
    pub const fn costing(cost: u64) -> Self {
        Self::Ran { outcome: Outcome::Success, cost: Some(cost) }
    }
}

/// What became of a job that was [cancelled](super::Gate::cancel).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cancelled {
    /// It waited, and is gone.
    Queued,
    /// It runs, and keeps its capacity until it has really ended: nobody waits for it, but
    /// [complete](super::Gate::complete) it then.
    Running,
}

/// What became of an attempt that went [back](super::Gate::retry).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "a refused job has to be told"]
pub enum Retried {
    /// It waits again, at the head of its tenant's queue.
    Queued,
    /// It is over.
    Refused(Reason),
}

/// How a gate is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CloseMode {
    /// Nobody new; those who wait are served.
    Drain,
    /// Nobody new; those who wait are refused.
    Immediate,
}
