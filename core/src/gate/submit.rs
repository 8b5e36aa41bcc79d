//! Letting jobs in: the bounds, the estimate, and a place in the queue.

use core::time::Duration;

use super::capacity::{Capacity, Room};
use super::estimate::Load;
use super::job::{Cost, Job, JobId, Queued, Rejected, TenantKey};
use super::jobs::{Due, Record, State};
use super::order::{Head, LOOK_AHEAD};
use super::settings::Overweight;
use super::{CloseMode, Gate};
use crate::error::Reason;
use crate::num;
use crate::observe::{Event, Observer};
use crate::slots::{NIL, Storage};
use crate::time::Timestamp;

/// What a newcomer would find.
#[derive(Clone, Copy, Debug)]
struct Outlook {
    position: u64,
    wait_ns: Option<u64>,
}

impl Outlook {
    fn wait(&self) -> Option<Duration> {
        self.wait_ns.map(Duration::from_nanos)
    }
}

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// Puts a job in its tenant's queue, from which [`poll`](Self::poll) will start or refuse it. O(1), or O(log jobs) if
    /// its deadline is before that of others who came earlier.
    ///
    /// # Errors
    /// In this order: `Closed`; `UnknownClass`; `DeadlineExceeded`; `ExceedsLimit` or what else the capacity says can
    /// never be; `ExceedsCapacity`, more bytes than can ever wait; `WaitExceedsBudget`; `QueueFull`, `BytesFull`,
    /// `TenantQueueFull`, `TenantBytesFull`; `TenantTableFull`. Nothing is changed.
    pub fn submit(&mut self, now: Timestamp, job: Job<C::Weight>) -> Result<Queued, Rejected> {
        let now = self.advance(now);
        let known = self.tenants.find(job.tenant);
        let deadline = self.deadline(now, &job);
        let cost = self.cost(job.cost);
        let own = self.load_of(known);
        let outlook = self.outlook(now, &job, &own, cost.unwrap_or(0));
        let admitted = self.check_open().and_then(|()| {
            let cost = cost.ok_or(Reason::UnknownClass)?;
            self.check_possible(now, &job, deadline)?;
            self.check_wait(now, &job, deadline, &outlook)?;
            let victim = self.check_places(known, job.bytes)?;
            let tenant = known.or_else(|| self.make_known(job.tenant)).ok_or(Reason::TenantTableFull)?;
            Ok((cost, victim, tenant))
        });
        let (cost, victim, tenant) = match admitted {
            Ok(admitted) => admitted,
            Err(reason) => return Err(self.reject(job.tenant, reason, outlook)),
        };
        let displaced =
            victim.filter(|&victim| self.refuse_waiting(now, victim, Reason::Displaced).is_some());
        let ready_at = job.ready_at.unwrap_or(Timestamp::ZERO);
        let state = State::Waiting { ready_at, due: Due::Nowhere };
        let record = self.record(now, &job, tenant, cost, deadline, state);
        let Some(id) = self.jobs.insert(record) else {
            debug_assert!(false, "places and active jobs are bounded by the table");
            return Err(self.reject(job.tenant, Reason::QueueFull, outlook));
        };
        self.tenants.wake(tenant, self.progress);
        self.take_place(tenant, job.bytes);
        let id = JobId(id);
        self.join_queue(tenant, id, false);
        self.counts.queued = self.counts.queued.saturating_add(1);
        let (tenant, position) = (job.tenant, outlook.position);
        self.observer.on_event(Event::JobQueued { tenant, cost, bytes: job.bytes, position });
        self.debug_check();
        Ok(Queued { job: id, position, estimated_wait: outlook.wait(), displaced })
    }

    /// Starts a job now, past the queue's bounds, if there is room and nobody who is ready waits; else refuses it. A
    /// gate in front of which nobody may wait is this call alone. O(1), or O(log n) where others have become ready.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and `NoPermits` if it cannot start now. Nothing is changed.
    pub fn try_start(&mut self, now: Timestamp, job: Job<C::Weight>) -> Result<JobId, Rejected> {
        let now = self.advance(now);
        let known = self.tenants.find(job.tenant);
        let deadline = self.deadline(now, &job);
        let cost = self.cost(job.cost);
        let started = self.check_open().and_then(|()| {
            let cost = cost.ok_or(Reason::UnknownClass)?;
            self.check_possible(now, &job, deadline)?;
            self.wake_ready(now);
            let queue =
                known.and_then(|index| self.tenants.get(index)).map_or(0, |tenant| tenant.queue.len());
            if !self.order.is_empty() || queue > 0 || job.ready_at.is_some_and(|at| at > now) {
                return Err(Reason::NoPermits);
            }
            if job.attempt && self.check_places(known, job.bytes)?.is_some() {
                return Err(Reason::TenantQueueFull);
            }
            let taken = self.try_take(now, job.weight, job.attempt)?;
            match known.or_else(|| self.make_known(job.tenant)) {
                Some(tenant) => Ok((cost, tenant, taken)),
                None => {
                    self.untake(now, taken);
                    Err(Reason::TenantTableFull)
                }
            }
        });
        match started {
            Ok((cost, tenant, taken)) => {
                let waiting = State::Waiting { ready_at: Timestamp::ZERO, due: Due::Nowhere };
                let record = self.record(now, &job, tenant, cost, deadline, waiting);
                let Some(id) = self.jobs.insert(record) else {
                    self.untake(now, taken);
                    return Err(self.reject_start(now, &job, known, cost, Reason::QueueFull));
                };
                self.tenants.wake(tenant, self.progress);
                if job.attempt {
                    self.take_place(tenant, job.bytes);
                }
                let id = JobId(id);
                self.take_turn(tenant, cost);
                self.begin(now, id, taken, false);
                self.debug_check();
                Ok(id)
            }
            Err(reason) => Err(self.reject_start(now, &job, known, cost.unwrap_or(0), reason)),
        }
    }

    /// A job is started that never waited: its tenant, the only one with work, has and uses its turn.
    fn take_turn(&mut self, index: u32, cost: u64) {
        self.order.set_head(index, Head::Ready(cost));
        let turn = self.order.pick();
        debug_assert_eq!(turn, Some(index), "nobody else has work that is ready");
        let (next, ready_at) = self.look(index);
        self.order.serve(index, next);
        self.watch(index, ready_at);
    }

    /// The index of a tenant with a key that is unknown: a free place, or that of an idle tenant that nobody loses
    /// anything by forgetting.
    pub(super) fn make_known(&mut self, key: TenantKey) -> Option<u32> {
        let index = self.tenants.insert(key).or_else(|| {
            let forgiven = self.now.saturating_sub(self.settings.forgive_after);
            let (oldest, _) = self
                .tenants
                .idle()
                .take(LOOK_AHEAD)
                .find(|(index, tenant)| tenant.idle_since < forgiven || self.order.is_settled(*index))?;
            self.tenants.forget(oldest);
            self.order.forget(oldest);
            self.tenants.insert(key)
        })?;
        self.order.set_weight(index, self.settings.default_weight);
        // Nobody's until it has a job.
        self.tenants.settle(index, self.now);
        Some(index)
    }

    /// The last instant at which a job may start, and one more.
    fn deadline(&self, now: Timestamp, job: &Job<C::Weight>) -> Timestamp {
        let own = job.deadline.unwrap_or(Timestamp::MAX);
        self.settings.max_wait.map_or(own, |wait| own.min(now.saturating_add(wait)))
    }

    fn cost(&self, cost: Cost) -> Option<u64> {
        match cost {
            Cost::Units(units) => Some(units),
            Cost::Learnt(class) => self.classes.estimate(class),
        }
    }

    fn load_of(&self, known: Option<u32>) -> Load {
        match known {
            Some(index) => self.load(index),
            None => Load { weight: num::from_u32(self.settings.default_weight), ..Load::default() },
        }
    }

    #[inline]
    fn outlook(&self, now: Timestamp, job: &Job<C::Weight>, own: &Load, cost: u64) -> Outlook {
        let position = self.backlog.ahead(own, self.order.units(cost));
        let not_ready_ns = job.ready_at.map_or(0, |at| at.as_nanos().saturating_sub(now.as_nanos()));
        let wait_ns = self.service.wait_ns(now, self.room(job), position);
        Outlook { position, wait_ns: wait_ns.map(|wait_ns| wait_ns.max(not_ready_ns)) }
    }

    /// How many jobs like this one fit, by every bound on what runs.
    #[inline]
    fn room(&self, job: &Job<C::Weight>) -> Room {
        let running = self.service.running();
        let mut room = self.capacity.room(job.weight);
        if room.total == 0 && self.settings.overweight == Overweight::RunAlone {
            room = Room { free: u64::from(running == 0), total: 1 };
        }
        let mut bound = |most: u32, taken: u32| {
            room.free = room.free.min(num::from_u32(most.saturating_sub(taken)));
            room.total = room.total.min(num::from_u32(most));
        };
        bound(self.settings.max_active, running);
        if job.attempt {
            bound(self.settings.max_attempts, self.attempts);
        }
        room
    }

    const fn check_open(&self) -> Result<(), Reason> {
        match self.closed {
            None => Ok(()),
            Some(CloseMode::Drain | CloseMode::Immediate) => Err(Reason::Closed),
        }
    }

    /// What no waiting would mend.
    #[inline]
    fn check_possible(
        &self,
        now: Timestamp,
        job: &Job<C::Weight>,
        deadline: Timestamp,
    ) -> Result<(), Reason> {
        if deadline <= now {
            return Err(Reason::DeadlineExceeded);
        }
        match self.capacity.check(job.weight) {
            Err(Reason::ExceedsLimit) if self.settings.overweight == Overweight::RunAlone => {}
            checked => checked?,
        }
        if job.bytes > self.settings.max_queued_bytes.min(self.settings.max_bytes_per_tenant) {
            return Err(Reason::ExceedsCapacity);
        }
        Ok(())
    }

    /// Whether it can start before its deadline, as far as can be known.
    #[inline]
    fn check_wait(
        &self,
        now: Timestamp,
        job: &Job<C::Weight>,
        deadline: Timestamp,
        outlook: &Outlook,
    ) -> Result<(), Reason> {
        let too_late = |at: Timestamp| deadline != Timestamp::MAX && at >= deadline;
        let starts = |wait_ns: u64| Timestamp::from_nanos(now.as_nanos().saturating_add(wait_ns));
        let estimated = outlook.wait_ns.filter(|_| self.settings.refuse_early).map(starts);
        if job.ready_at.is_some_and(too_late) || estimated.is_some_and(too_late) {
            return Err(Reason::WaitExceedsBudget);
        }
        Ok(())
    }

    /// Whether there is a place: for free, or that of an older job of the same tenant, which has to go for it.
    #[inline]
    fn check_places(&self, known: Option<u32>, bytes: u64) -> Result<Option<JobId>, Reason> {
        let tenant = known.and_then(|index| self.tenants.get(index));
        let (places, own_bytes) = tenant.map_or((0, 0), |tenant| (tenant.places, tenant.bytes));
        let settings = &self.settings;
        let full = |freed: u32, freed_bytes: u64| {
            let fits =
                |most: u64, taken: u64| bytes <= most.saturating_sub(taken.saturating_sub(freed_bytes));
            if self.places().saturating_sub(freed) >= settings.max_queued {
                Err(Reason::QueueFull)
            } else if !fits(settings.max_queued_bytes, self.bytes) {
                Err(Reason::BytesFull)
            } else if places.saturating_sub(freed) >= settings.max_queued_per_tenant {
                Err(Reason::TenantQueueFull)
            } else if !fits(settings.max_bytes_per_tenant, own_bytes) {
                Err(Reason::TenantBytesFull)
            } else {
                Ok(())
            }
        };
        let Err(reason) = full(0, 0) else { return Ok(None) };
        let oldest = known.and_then(|index| self.displaceable(index));
        let freed_bytes = oldest.and_then(|id| self.jobs.get(id)).map_or(0, |record| record.bytes);
        match oldest {
            Some(victim) if full(1, freed_bytes).is_ok() => Ok(Some(victim)),
            _ => Err(reason),
        }
    }

    /// The oldest waiting job of a tenant that is served newest first at the moment.
    fn displaceable(&self, index: u32) -> Option<JobId> {
        let after = self.settings.newest_first_after?;
        let tenant = self.tenants.get(index)?;
        let overloaded = self.oldest_wait(tenant, self.now)? >= after;
        if overloaded { self.jobs.id_at(tenant.queue.head()) } else { None }
    }

    fn record(
        &self,
        now: Timestamp,
        job: &Job<C::Weight>,
        tenant: u32,
        cost: u64,
        deadline: Timestamp,
        state: State<C::Grant>,
    ) -> Record<C> {
        let class = match job.cost {
            Cost::Units(_) => NIL,
            Cost::Learnt(class) => class.0,
        };
        let &Job { weight, bytes, attempt, .. } = job;
        Record { tenant, class, passes: 0, cost, weight, bytes, submitted: now, deadline, attempt, state }
    }

    fn reject(&mut self, tenant: TenantKey, reason: Reason, outlook: Outlook) -> Rejected {
        self.counts.refuse(reason);
        self.observer.on_event(Event::JobRefused { tenant, reason, waited: Duration::ZERO });
        self.debug_check();
        Rejected { reason, position: outlook.position, estimated_wait: outlook.wait() }
    }

    fn reject_start(
        &mut self,
        now: Timestamp,
        job: &Job<C::Weight>,
        known: Option<u32>,
        cost: u64,
        reason: Reason,
    ) -> Rejected {
        let own = self.load_of(known);
        let outlook = self.outlook(now, job, &own, cost);
        self.reject(job.tenant, reason, outlook)
    }

    /// A job takes up a place in the queue of a tenant.
    #[inline]
    fn take_place(&mut self, tenant: u32, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.places = tenant.places.saturating_add(1);
            tenant.bytes = tenant.bytes.saturating_add(bytes);
        }
    }

    /// A waiting job stands in its tenant's queue from now on, at its end or at its head.
    #[inline]
    pub(super) fn join_queue(&mut self, index: u32, id: JobId, at_head: bool) {
        let job = id.0.index();
        let Some(cost) = self.jobs.at(job).map(|record| record.cost) else { return };
        let before = self.load(index);
        let after = before.plus(&self.backlog.load(self.order.units(cost)));
        let Some(tenant) = self.tenants.get_mut(index) else { return };
        if at_head {
            tenant.queue.push_front(self.jobs.queue(), job);
        } else {
            tenant.queue.push_back(self.jobs.queue(), job);
        }
        tenant.work = after.work;
        let news = at_head || tenant.queue.head() == job || self.settings.newest_first_after.is_some();
        self.backlog.change(&before, &after);
        self.deadlines.insert(&mut self.jobs, job);
        if news {
            self.refresh(index);
        }
    }
}
