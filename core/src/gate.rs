//! [`Gate`]: bounded queues of many tenants in front of a capacity that they share.
//!
//! **Problem.** A database does four things at once, well. Sixty requests a second arrive where forty can be served.
//! Letting all in makes everything slow; a longer queue serves no more of them, later; and one customer's flood is
//! served before everybody else. So a server has to say, of each job: it runs now, it waits (where, for how long, in
//! what order), or it is refused at once (and why).
//!
//! **Two layers.** *Who is next* is decided by a fair scheduler over the tenants' queues, in cost. *Whether there is
//! room* is decided by a [`Capacity`], in weight. Credit never makes room, and room never makes credit.
//!
//! ```text
//! submit ──▶ bounds, deadline, estimate ──▶ tenant's queue ──▶ scheduler ──▶ capacity ──▶ Start ──▶ complete
//!    └─ Rejected                               │ expired, cancelled, removed, closed            ▲      │
//!                                              └─▶ Refuse                    retry ────────────┴──────┘
//! ```
//!
//! **Bounds.** Jobs waiting, their bytes, both again per tenant, tenants, jobs running, attempts, the time to wait: each
//! is separate, each has its own [`Reason`](crate::Reason). See [`Settings`], with the defaults.
//!
//! **Pulled.** Every change is one call that returns at once. What the gate wants done is pulled: after any call (and at
//! [`poll_timeout`](Gate::poll_timeout)) call [`poll`](Gate::poll) until it answers `None`. A job is registered as
//! running *before* `poll` says so: completing it inside whatever starts it is safe.
//!
//! **Order.** Tenants are served by [deficit round robin](crate::fair::drr) in cost or by
//! [smooth weighted round robin](crate::fair::swrr) in turns, over those whose next job is ready; one whose next job is
//! not stands still, and so does one whose last job is an attempt in flight. Of tenants that become ready at one instant,
//! as those do that one limiter sends back, whoever has been served least by its weight goes first. A tenant that runs
//! out of work keeps no credit; the debt of a job that cost more than it was charged is repaid out of its next turns, and
//! the tenant stays known until then or until [`forgive_after`](Settings::forgive_after). Within a tenant: first come,
//! first served; newest first while it is overloaded, if so chosen.
//!
//! **Head of line.** The job whose turn it is may not fit. Under [`Strict`](crate::permit::HeadOfLine::Strict) nobody
//! passes it. Under `Backfill { max_passes }` a job that fits may: of the same tenant, or of the 64 tenants whose turns
//! come next. It is served on account of its own tenant, whose next turns pay for it; a tenant that owes `max_passes`
//! turns may not. A job is passed at most `max_passes` times, and no more once it has waited
//! [`reserve_after`](Settings::reserve_after); then whatever comes free is kept for it. (In one dimension that is the
//! best there is: it does not fit, so whatever else ran would keep it from fitting for longer.)
//!
//! *Bounds on starvation.* The job whose turn it is waits for those that run and for `max_passes` others, no more.
//! Small jobs wait behind a big one for as long as what runs takes to make room for it.
//!
//! **Deadlines** are about starting. A job never starts at or after its deadline, and leaves by timer even if nothing
//! ever comes free. A started job keeps its capacity until it is completed, whatever its client does meanwhile.
//!
//! **Estimates.** Each job is told how many are expected to start before it and how long that will take; with
//! [`refuse_early`](Settings::refuse_early), one that cannot make it is refused at once. How it is reckoned, and when it
//! is exact: [`estimate`].
//!
//! **Attempts.** A job may have to ask somebody else once its turn has come, a rate limiter say, and be told "not yet".
//! Such a job is an [`attempt`](Job::attempt): it keeps its place in the queue while it asks, at most
//! [`max_attempts`](Settings::max_attempts) ask at once, and it is either [confirmed](Gate::confirm) or goes
//! [back](Gate::retry) to the head of its tenant's queue until `ready_at`, uncharged, its turn given back.
//!
//! **Exactly once.** A [`JobId`] names one job for good. Completing twice, completing what was cancelled, confirming
//! what never started: refused as [`Stale`], counted, and nothing is changed.
//!
//! **Source.** The systems of a request router's fair queue and of a database's execution and queue limits; priority and
//! fairness of the Kubernetes API server for run-alone and its scenarios; Shreedhar & Varghese 1995. Deviations: ids in
//! place of move-only tickets, because completions of real executors do come twice and must be recognised.
//!
//! **Invariants.** **I1** a job is waiting, in its tenant's queue, or started, with one grant; **I2** places and bytes
//! are the sums over tenants and over jobs that wait or attempt; **I3** nothing starts beyond capacity, `max_active`,
//! `max_attempts`, beside a job that runs alone, at or after its deadline, or before it is ready; **I4** exactly the
//! waiting jobs with a deadline are among the deadlines; **I5** the scheduler knows of work of a tenant iff its next job
//! is ready, as of the latest `now`; **I6** every key is mapped to one tenant, and a tenant without jobs is on the idle
//! list, configured or free; **I7** the levels of the estimate are the sums over the tenants.
//!
//! **Work** of a call: O(1) while deadlines come in order, jobs cost at most a quantum and every job is ready; else
//! O(log jobs) + O(log tenants). [`Order::Smooth`] adds O(tenants with work) to a start. **Memory** fixed at
//! construction: 108 bytes a job with a plain budget, 228 bytes a tenant.

pub mod capacity;
mod check;
mod codel;
mod cost;
mod deadline;
mod dispatch;
mod end;
pub mod estimate;
mod job;
mod jobs;
mod order;
mod settings;
mod snapshot;
mod submit;
mod tenants;
mod turns;
mod view;

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use capacity::Permits;
pub use capacity::{Budget, Capacity, Room};
pub use cost::CostClass;
pub use job::{
    Cancelled, ClassId, CloseMode, Completion, Cost, GateEvent, Job, JobId, Queued, Rejected, Retried,
    TenantKey,
};
pub use settings::{CoDel, Order, Overweight, Settings};
pub use snapshot::{Counts, Snapshot, TenantSnapshot};

use crate::error::{ConfigError, Rules, Stale};
use crate::heap::IndexedHeap;
use crate::num;
use crate::observe::{Event, NoObserver, Observer};
use crate::slots::Storage;
use crate::time::Timestamp;
use cost::Classes;
use deadline::Deadlines;
use estimate::{Backlog, Load, Service};
use jobs::Jobs;
use tenants::Tenants;

/// Bounded queues of many tenants in front of a shared capacity; see the [module](self).
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::gate::{Budget, Completion, Gate, GateEvent, Job, Settings};
/// use tollgate::slots::Inline;
///
/// let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
/// // Four at once, up to sixteen waiting.
/// let settings = Settings {
///     max_queued: 8,
///     max_queued_per_tenant: 8,
///     max_active: 8,
///     max_tenants: 8,
///     ..Settings::default()
/// };
/// let mut gate = Gate::<Inline<16>>::new(settings, Budget::new(1))?;
///
/// let first = gate.submit(at(0), Job::new(7))?.job;
/// let second = gate.submit(at(0), Job { deadline: Some(at(250)), ..Job::new(7) })?.job;
/// assert!(matches!(gate.poll(at(0)), Some(GateEvent::Start { job, .. }) if job == first));
/// assert_eq!(gate.poll(at(0)), None, "there is room for one");
///
/// // … the first runs, and runs, and the second cannot wait any longer:
/// assert_eq!(gate.poll_timeout(), Some(at(250)));
/// assert!(matches!(gate.poll(at(250)), Some(GateEvent::Refuse { job, .. }) if job == second));
///
/// gate.complete(at(300), first, Completion::DONE)?;
/// assert!(gate.complete(at(300), first, Completion::DONE).is_err(), "once is enough");
/// assert_eq!(gate.capacity().in_use(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Gate<S: Storage, C: Capacity = Budget, O: Observer = NoObserver> {
    settings: Settings,
    capacity: C,
    jobs: Jobs<C, S>,
    tenants: Tenants<S>,
    order: order::Order<S>,
    /// Tenants whose next job is not ready, by when it will be.
    unready: IndexedHeap<S>,
    deadlines: Deadlines<S>,
    /// Somebody has its turn and does not fit: when those that the last poll looked at change by time alone.
    stirs: Timestamp,
    backlog: Backlog,
    service: Service<S>,
    classes: Classes<S>,
    /// Progress of the tenant that was served last, before it was; never less than before.
    progress: u128,
    /// Attempts in flight.
    attempts: u32,
    /// Bytes of the places taken up.
    bytes: u64,
    /// Whether what runs is to run alone.
    alone: bool,
    closed: Option<CloseMode>,
    /// Closed immediately: tenants up to this one have no waiting jobs.
    swept: u32,
    now: Timestamp,
    counts: Counts,
    observer: O,
}

impl<S: Storage, C: Capacity> Gate<S, C> {
    /// An open gate without jobs. O(`max_tenants` + `max_active`).
    ///
    /// # Errors
    /// Every broken rule of the [`Settings`]; more than the storage can hold.
    pub fn new(settings: Settings, capacity: C) -> Result<Self, ConfigError> {
        Self::with_observer(settings, capacity, NoObserver)
    }
}

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// As [`new`](Gate::new), telling `observer` what happens.
    ///
    /// # Errors
    /// As [`new`](Gate::new).
    pub fn with_observer(settings: Settings, capacity: C, observer: O) -> Result<Self, ConfigError> {
        settings.check()?;
        let tenants = settings.max_tenants;
        let order = order::Order::new(tenants, settings.order)?;
        Ok(Self {
            jobs: Jobs::new(settings.max_jobs())?,
            tenants: Tenants::new(tenants)?,
            unready: IndexedHeap::new(S::buffer(tenants)?),
            deadlines: Deadlines::new(settings.max_jobs())?,
            stirs: Timestamp::MAX,
            backlog: Backlog::new(order.quantum()),
            order,
            service: Service::new(settings.max_active, settings.expected_service)?,
            classes: Classes::new(settings.classes, settings.cost_smoothing_ppm)?,
            progress: 0,
            attempts: 0,
            bytes: 0,
            alone: false,
            closed: None,
            swept: 0,
            now: Timestamp::ZERO,
            counts: Counts::default(),
            settings,
            capacity,
            observer,
        })
    }

    /// Changes a tenant's weight, from its next turn on, and keeps the tenant known until it is
    /// [removed](Self::remove_tenant). O(log n).
    ///
    /// # Errors
    /// A weight of 0; no room for another tenant. Nothing is changed.
    pub fn set_weight(&mut self, tenant: TenantKey, weight: u32) -> Result<(), ConfigError> {
        let mut rules = Rules::new();
        rules.require(weight > 0, "weight", weight, "1 to 4294967295");
        rules.verdict()?;
        let index = self.tenants.find(tenant).or_else(|| self.make_known(tenant));
        let mut rules = Rules::new();
        let known = self.tenants.counts().1;
        rules.require(index.is_some(), "tenants", known, "fewer than max_tenants, for one more");
        rules.verdict()?;
        if let Some(index) = index {
            let before = self.load(index);
            self.tenants.configure(index);
            self.order.set_weight(index, weight);
            self.backlog.change(&before, &self.load(index));
        }
        self.debug_check();
        Ok(())
    }

    /// Removes a tenant: weight and debt are forgotten, its waiting jobs are refused by the next [polls](Self::poll),
    /// what runs goes on. Its key is free at once: a later job with it belongs to a new tenant. Answers whether there
    /// was one. O(log n).
    pub fn remove_tenant(&mut self, tenant: TenantKey) -> bool {
        let Some(index) = self.tenants.find(tenant) else { return false };
        let is_free = self.tenants.remove(index);
        self.refresh(index);
        if is_free {
            self.order.forget(index);
        }
        self.debug_check();
        true
    }

    /// Says what is known about a class of jobs beforehand, and starts to learn its cost anew. O(1).
    ///
    /// # Errors
    /// No such class; a floor above the ceiling.
    pub fn configure_class(&mut self, class: ClassId, known: CostClass) -> Result<(), ConfigError> {
        self.classes.configure(class, known)
    }

    /// What the next job of a class will be charged; `None` if there is no such class.
    #[must_use]
    pub fn estimated_cost(&self, class: ClassId) -> Option<u64> {
        self.classes.estimate(class)
    }

    /// Closes for good: nobody new. Under [`Drain`](CloseMode::Drain) those who wait are served; under
    /// [`Immediate`](CloseMode::Immediate), also after a drain has begun, they are refused by the next
    /// [polls](Self::poll). What runs goes on. O(1).
    pub const fn close(&mut self, mode: CloseMode) {
        self.closed = match (self.closed, mode) {
            (Some(CloseMode::Immediate), _) => Some(CloseMode::Immediate),
            (_, mode) => Some(mode),
        };
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether it is closed and no job is left, waiting or running.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.closed.is_some() && self.jobs.len() == 0
    }

    /// The settings it was made with.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What its jobs take up.
    #[must_use]
    pub const fn capacity(&self) -> &C {
        &self.capacity
    }

    /// What its jobs take up, to change the limit. [Poll](Self::poll) afterwards.
    #[must_use]
    pub const fn capacity_mut(&mut self) -> &mut C {
        &mut self.capacity
    }

    /// What it tells.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Jobs that wait.
    const fn waiting(&self) -> u32 {
        self.jobs.len().saturating_sub(self.service.running())
    }

    /// Places of the queue taken up.
    const fn places(&self) -> u32 {
        self.waiting().saturating_add(self.attempts)
    }

    /// The latest instant seen.
    fn advance(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.max(now);
        self.now
    }

    /// What a tenant has waiting.
    #[inline]
    fn load(&self, index: u32) -> Load {
        let weight = num::from_u32(self.order.weight(index));
        match self.tenants.get(index) {
            Some(tenant) => Load { jobs: num::from_u32(tenant.queue.len()), work: tenant.work, weight },
            None => Load { weight, ..Load::default() },
        }
    }

    /// A call for a job that is over, or in another state.
    fn stale<T>(&mut self) -> Result<T, Stale> {
        self.counts.stale = self.counts.stale.saturating_add(1);
        self.observer.on_event(Event::StaleRefused);
        Err(Stale)
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
