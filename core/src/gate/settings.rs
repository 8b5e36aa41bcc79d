//! The bounds and rules of a gate.

use core::time::Duration;

use crate::error::{ConfigError, Rules};
use crate::num;
use crate::permit::HeadOfLine;
use crate::slots::NIL;

/// In what order tenants are served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Order {
    /// Deficit round robin: equal *cost* for equal weights, whatever single jobs cost. See [`Drr`](crate::fair::Drr).
    Deficit {
        /// Cost units that a weight of 1 is granted a round; 1 or more. The largest cost makes every pick O(1), less
        /// shares in finer turns.
        quantum: u64,
    },
    /// Smooth weighted round robin: equal *turns* for equal weights. See [`Swrr`](crate::fair::Swrr). O(tenants with
    /// work) a pick.
    Smooth,
}

/// What happens to a job that weighs more than the limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Overweight {
    /// It is refused, at submission; if the limit fell since, when its turn comes.
    Refuse,
    /// When its turn comes it waits until nothing runs, then runs alone.
    RunAlone,
}

/// A bound on waiting that tells a standing queue from a burst, after Nichols & Jacobson (2012) in the form that
/// request servers use (Maurer, *Fail at scale*, 2015): if within an `interval` no job of a tenant was started that had
/// waited less than `target`, its queue is a standing one; while it is, jobs that have waited more than twice the
/// `target` are refused when their turn comes, except a tenant's last.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CoDel {
    /// Waiting time that a queue should fall below now and then; above zero.
    pub target: Duration,
    /// How long it may stay above; above zero.
    pub interval: Duration,
}

/// The bounds and rules of a [`Gate`](super::Gate). All is counted in whole numbers; every bound is separate and has a
/// refusal of its own.
///
/// The defaults suit a server in front of one database; with [`Inline<N>`](crate::slots::Inline) storage, bounds on
/// numbers of things are at most `N`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Jobs waiting, attempts in flight included. Default 1024.
    pub max_queued: u32,
    /// Bytes of these. Default 64 MiB.
    pub max_queued_bytes: u64,
    /// Jobs waiting of one tenant, its attempts in flight included. Default 128.
    pub max_queued_per_tenant: u32,
    /// Bytes of these. Default 16 MiB.
    pub max_bytes_per_tenant: u64,
    /// Tenants with work, configured or in debt; 1 or more. Default 1024.
    pub max_tenants: u32,
    /// Jobs started and not ended, whatever their weight; 1 or more. Default 1024.
    pub max_active: u32,
    /// Attempts at once; 1 or more. Default 8.
    pub max_attempts: u32,
    /// Longest wait, from submission. Default 30 s; `None` for no bound of the gate's own.
    pub max_wait: Option<Duration>,
    /// Order of service. Default [`Order::Deficit`] with a quantum of 1.
    pub order: Order,
    /// Weight of tenants that were given none; 1 or more. Default 1.
    pub default_weight: u32,
    /// What happens while the job whose turn it is does not fit. Default [`HeadOfLine::Strict`].
    pub head_of_line: HeadOfLine,
    /// Under [`HeadOfLine::Backfill`]: a job that has been blocked this long is passed no more. Default `None`.
    pub reserve_after: Option<Duration>,
    /// What happens to a job that weighs more than the limit. Default [`Overweight::Refuse`].
    pub overweight: Overweight,
    /// Whether a job whose estimated wait exceeds what it has left is refused at submission. Default true.
    pub refuse_early: bool,
    /// Service time to reckon with until the first job has ended. Default `None`: no estimate, no early refusal.
    pub expected_service: Option<Duration>,
    /// A tenant whose first waiting job has waited this long is served newest first, and a newcomer displaces its oldest where
    /// its own bounds are reached. Default `None`: always first come, first served.
    pub newest_first_after: Option<Duration>,
    /// A bound on waiting that tells a standing queue from a burst. Default `None`.
    pub codel: Option<CoDel>,
    /// A tenant in debt is forgotten, and its debt forgiven, when it has had no job for longer than this and its place is
    /// needed. Default 60 s.
    pub forgive_after: Duration,
    /// Number of cost classes. Default 0.
    pub classes: u32,
    /// Weight of the newest cost in the mean of a class, in millionths; 1 to 1 000 000. Default 250 000.
    pub cost_smoothing_ppm: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_queued: 1024,
            max_queued_bytes: 64 << 20,
            max_queued_per_tenant: 128,
            max_bytes_per_tenant: 16 << 20,
            max_tenants: 1024,
            max_active: 1024,
            max_attempts: 8,
            max_wait: Some(Duration::from_secs(30)),
            order: Order::Deficit { quantum: 1 },
            default_weight: 1,
            head_of_line: HeadOfLine::Strict,
            reserve_after: None,
            overweight: Overweight::Refuse,
            refuse_early: true,
            expected_service: None,
            newest_first_after: None,
            codel: None,
            forgive_after: Duration::from_secs(60),
            classes: 0,
            cost_smoothing_ppm: 250_000,
        }
    }
}

impl Settings {
    /// States every rule.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let mut rules = Rules::new();
        let jobs = num::from_u32(self.max_queued).saturating_add(num::from_u32(self.max_active));
        rules.require(jobs < num::from_u32(NIL), "max_queued + max_active", jobs, "at most 4294967294 jobs");
        for (field, given, allowed) in [
            ("max_tenants", self.max_tenants, "1 tenant or more"),
            ("max_active", self.max_active, "1 job or more"),
            ("max_attempts", self.max_attempts, "1 attempt or more"),
            ("default_weight", self.default_weight, "1 to 4294967295"),
        ] {
            rules.require(given > 0, field, given, allowed);
        }
        if let Order::Deficit { quantum } = self.order {
            rules.require(quantum > 0, "order.quantum", quantum, "1 cost unit or more");
        }
        if let Some(CoDel { target, interval }) = self.codel {
            rules.require(target > Duration::ZERO, "codel.target", target.as_nanos(), "1 ns or more");
            rules.require(interval > Duration::ZERO, "codel.interval", interval.as_nanos(), "1 ns or more");
        }
        let smoothing = self.cost_smoothing_ppm;
        let allowed = "1 to 1000000 millionths";
        rules.require((1..=1_000_000).contains(&smoothing), "cost_smoothing_ppm", smoothing, allowed);
        rules.verdict()
    }

    /// Jobs there can be at once, waiting or running.
    pub(super) const fn max_jobs(&self) -> u32 {
        self.max_queued.saturating_add(self.max_active)
    }
}
