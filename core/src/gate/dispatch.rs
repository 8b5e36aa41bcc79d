//! Letting jobs out of the queue: expired, refused, or started in the order of the scheduler.

use core::time::Duration;

use super::Gate;
use super::capacity::Capacity;
use super::job::{CloseMode, GateEvent, JobId};
use super::jobs::{Record, State};
use super::order::LOOK_AHEAD;
use super::settings::Overweight;
use super::tenants::Kind;
use crate::adapt::Outcome;
use crate::error::Reason;
use crate::num;
use crate::observe::{Event, Observer};
use crate::permit::HeadOfLine;
use crate::slots::{NIL, Storage};
use crate::time::Timestamp;

/// Capacity that was taken for a job.
#[derive(Debug)]
pub(super) struct Taken<G> {
    grant: G,
    /// The job weighs more than the limit and has to run alone.
    alone: bool,
}

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// The next job to leave the queue at `now`, started or refused; `None` when there is nothing to say. Call it until it
    /// answers `None`, after every other call and at [`poll_timeout`](Self::poll_timeout). O(1), or O(log n) where a
    /// deadline, a readiness or a large cost is involved; [`Order::Smooth`](super::Order::Smooth): O(tenants with work).
    #[must_use = "a job that was started and is not completed takes up its capacity for good"]
    pub fn poll(&mut self, now: Timestamp) -> Option<GateEvent> {
        let now = self.advance(now);
        self.stirs = Timestamp::MAX;
        let event = self.refuse_next(now).or_else(|| {
            self.wake_ready(now);
            self.start_next(now)
        });
        self.debug_check();
        event
    }

    /// When to [`poll`](Self::poll) again though nothing happens but that time passes, once it has answered `None`: until
    /// then it has nothing to say, and then it may have. A deadline, a job that becomes ready, a queue that turns to
    /// newest first. `None`: never. Any call may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let expires = self.deadlines.next(&self.jobs).map(|(_, deadline)| deadline);
        let ready =
            self.unready.top().and_then(|index| self.tenants.get(index)).map(|tenant| tenant.ready_at);
        let stirs = (self.stirs < Timestamp::MAX).then_some(self.stirs);
        [expires, ready, stirs].into_iter().flatten().min()
    }

    /// A job that can wait no longer.
    fn refuse_next(&mut self, now: Timestamp) -> Option<GateEvent> {
        if let Some((job, deadline)) = self.deadlines.next(&self.jobs)
            && deadline <= now
        {
            return self.refuse_at(now, job, Reason::DeadlineExceeded);
        }
        if let Some(removed) = self.tenants.get(self.tenants.first_removed()) {
            return self.refuse_at(now, removed.queue.head(), Reason::TenantRemoved);
        }
        if self.closed == Some(CloseMode::Immediate) {
            while let Some(tenant) = self.tenants.get(self.swept) {
                if !tenant.queue.is_empty() {
                    return self.refuse_at(now, tenant.queue.head(), Reason::Closed);
                }
                self.swept = self.swept.saturating_add(1);
            }
        }
        None
    }

    /// Tells the scheduler of tenants whose next job has become ready.
    pub(super) fn wake_ready(&mut self, now: Timestamp) {
        while let Some(index) = self.unready.top() {
            if self.tenants.get(index).is_none_or(|tenant| tenant.ready_at > now) {
                return;
            }
            self.refresh(index);
        }
    }

    /// Starts the job whose turn it is, or one that may pass it.
    fn start_next(&mut self, now: Timestamp) -> Option<GateEvent> {
        loop {
            let tenant = self.order.pick()?;
            if self.settings.newest_first_after.is_some() {
                // The queue may have been turned round since the scheduler was told of its head.
                self.refresh(tenant);
                if self.order.pick() != Some(tenant) {
                    continue;
                }
            }
            let job = self.next_job(tenant);
            let (id, record) = (self.jobs.id_at(job)?, self.jobs.at(job)?);
            let (weight, attempt, submitted) = (record.weight, record.attempt, record.submitted);
            match self.try_take(now, weight, attempt) {
                Ok(taken) if self.stands(now, tenant, submitted) => {
                    self.untake(now, taken);
                    return self.refuse_waiting(now, id, Reason::QueueDelay);
                }
                Ok(taken) => {
                    self.dequeue(id);
                    let started = self.begin(now, id, taken, false);
                    let (next, ready_at) = self.look(tenant);
                    self.order.serve(tenant, next);
                    self.watch(tenant, ready_at);
                    return started;
                }
                Err(Reason::NoPermits) => {
                    self.await_change(now, tenant, job);
                    return self.pass(now, tenant, id);
                }
                Err(reason) => return self.refuse_waiting(now, id, reason),
            }
        }
    }

    /// Whether a job whose turn has come waited in a queue that does not drain.
    fn stands(&mut self, now: Timestamp, tenant: u32, submitted: Timestamp) -> bool {
        let Some(codel) = &self.settings.codel else { return false };
        let Some(tenant) = self.tenants.get_mut(tenant) else { return false };
        let waited_ns = num::nanos(now.saturating_since(submitted));
        tenant.standing.refuses(codel, now, waited_ns) && tenant.queue.len() > 1
    }

    /// The job `head` has its turn and does not fit: starts another that may pass it and does.
    fn pass(&mut self, now: Timestamp, turn: u32, head: JobId) -> Option<GateEvent> {
        let HeadOfLine::Backfill { max_passes } = self.settings.head_of_line else { return None };
        let blocked = self.jobs.get(head)?;
        let waited = now.saturating_since(blocked.submitted);
        let reserved = self.settings.reserve_after.is_some_and(|after| waited >= after);
        if blocked.passes >= max_passes || reserved || self.alone {
            return None;
        }
        let mut own = self.jobs.behind(head.0.index());
        for _ in 0..LOOK_AHEAD {
            if own == NIL {
                break;
            }
            if let Some(event) = self.start_out_of_turn(now, turn, own, head, max_passes) {
                return Some(event);
            }
            own = self.jobs.behind(own);
        }
        let mut upcoming = [0; LOOK_AHEAD];
        let count = self.order.upcoming(&mut upcoming);
        upcoming.iter().take(count).find_map(|&tenant| {
            let job = self.next_job(tenant);
            self.start_out_of_turn(now, tenant, job, head, max_passes)
        })
    }

    /// Starts a job that passes `head`, if it fits now and its tenant does not owe too many turns.
    fn start_out_of_turn(
        &mut self,
        now: Timestamp,
        tenant: u32,
        job: u32,
        head: JobId,
        max_passes: u32,
    ) -> Option<GateEvent> {
        let (id, record) = (self.jobs.id_at(job)?, self.jobs.at(job)?);
        let (weight, attempt, cost) = (record.weight, record.attempt, record.cost);
        let ready = matches!(record.state, State::Waiting { ready_at, .. } if ready_at <= now);
        if !self.order.may_borrow(tenant, max_passes) {
            return None;
        }
        self.await_change(now, tenant, job);
        // One that has to run alone cannot: somebody runs, or `head` would.
        if !ready || self.capacity.check(weight).is_err() {
            return None;
        }
        let taken = self.try_take(now, weight, attempt).ok()?;
        if let Some(blocked) = self.jobs.get_mut(head) {
            blocked.passes = blocked.passes.saturating_add(1);
        }
        self.dequeue(id);
        let started = self.begin(now, id, taken, true);
        let (next, ready_at) = self.look(tenant);
        self.order.serve_out_of_turn(tenant, cost, next);
        self.watch(tenant, ready_at);
        started
    }

    /// Takes what a job needs to run, by every bound on what runs (I3).
    #[inline]
    pub(super) fn try_take(
        &mut self,
        now: Timestamp,
        weight: C::Weight,
        attempt: bool,
    ) -> Result<Taken<C::Grant>, Reason> {
        let running = self.service.running();
        let attempts_full = attempt && self.attempts >= self.settings.max_attempts;
        if running >= self.settings.max_active || self.alone || attempts_full {
            return Err(Reason::NoPermits);
        }
        match self.capacity.try_take(now, weight) {
            Ok(grant) => Ok(Taken { grant, alone: false }),
            Err(Reason::ExceedsLimit) if self.settings.overweight == Overweight::RunAlone => {
                let all = if running == 0 { self.capacity.try_take_all(now) } else { None };
                all.map(|grant| Taken { grant, alone: true }).ok_or(Reason::NoPermits)
            }
            Err(reason) => Err(reason),
        }
    }

    /// Gives back what was taken for a job that is not started after all.
    pub(super) fn untake(&mut self, now: Timestamp, taken: Taken<C::Grant>) {
        self.capacity.give_back(now, taken.grant, Outcome::Ignored);
    }

    /// A job that waits in no queue runs from now on.
    #[inline]
    pub(super) fn begin(
        &mut self,
        now: Timestamp,
        id: JobId,
        taken: Taken<C::Grant>,
        passed: bool,
    ) -> Option<GateEvent> {
        let record = self.jobs.get_mut(id)?;
        record.state = State::Started { grant: taken.grant, at: now };
        let &mut Record { tenant: index, cost, submitted, attempt, .. } = record;
        self.alone = taken.alone;
        self.service.started(now);
        let step = self.step(index, cost);
        let tenant = self.tenants.get_mut(index)?;
        self.progress = self.progress.max(tenant.progress);
        tenant.progress = tenant.progress.saturating_add(step);
        tenant.active = tenant.active.saturating_add(1);
        tenant.started = tenant.started.saturating_add(1);
        tenant.served = tenant.served.saturating_add(u128::from(cost));
        if attempt {
            self.attempts = self.attempts.saturating_add(1);
        }
        let key = tenant.key;
        let waited = now.saturating_since(submitted);
        self.counts.start(passed, num::nanos(waited));
        self.observer.on_event(Event::JobStarted { tenant: key, cost, waited, passed });
        Some(GateEvent::Start { job: id, tenant: key, waited })
    }

    /// A waiting job is about to start: its place is free, unless it may come back.
    #[inline]
    fn dequeue(&mut self, id: JobId) {
        if let Some((tenant, bytes, false)) = self.leave_queue(id) {
            self.free_place(tenant, bytes);
        }
    }

    /// A waiting job stands in its tenant's queue no more: whose it is, its bytes, and whether it is an attempt. The
    /// scheduler is to be told by the caller.
    #[inline]
    fn leave_queue(&mut self, id: JobId) -> Option<(u32, u64, bool)> {
        let job = id.0.index();
        let &Record { tenant: index, cost, bytes, attempt, .. } = self.jobs.at(job)?;
        let before = self.load(index);
        let after = before.minus(&self.backlog.load(self.order.units(cost)));
        self.deadlines.remove(&mut self.jobs, job);
        let tenant = self.tenants.get_mut(index)?;
        tenant.queue.remove(self.jobs.queue(), job);
        tenant.work = after.work;
        self.backlog.change(&before, &after);
        Some((index, bytes, attempt))
    }

    fn refuse_at(&mut self, now: Timestamp, job: u32, reason: Reason) -> Option<GateEvent> {
        let id = self.jobs.id_at(job)?;
        self.refuse_waiting(now, id, reason)
    }

    /// A waiting job will never start.
    pub(super) fn refuse_waiting(&mut self, now: Timestamp, id: JobId, reason: Reason) -> Option<GateEvent> {
        let (tenant, waited) = self.drop_waiting(now, id)?;
        self.counts.refuse(reason);
        self.observer.on_event(Event::JobRefused { tenant, reason, waited });
        Some(GateEvent::Refuse { job: id, tenant, waited, reason })
    }

    /// Takes a waiting job out of everything: whose it was, and how long it waited.
    pub(super) fn drop_waiting(&mut self, now: Timestamp, id: JobId) -> Option<(super::TenantKey, Duration)> {
        self.leave_queue(id);
        let record = self.jobs.remove(id)?;
        let index = record.tenant;
        self.free_place(index, record.bytes);
        self.refresh(index);
        let tenant = self.tenants.get(index)?;
        let (key, emptied) = (tenant.key, tenant.kind == Kind::Removed && tenant.queue.is_empty());
        if emptied {
            self.tenants.emptied(index);
        }
        self.settle_tenant(index, now);
        Some((key, now.saturating_since(record.submitted)))
    }
}
