//! How jobs end, or go back: completion, confirmation, retry, cancellation.

use super::Gate;
use super::capacity::Capacity;
use super::job::{Cancelled, CloseMode, Completion, JobId, Retried};
use super::jobs::{Due, Record, State};
use super::tenants::Kind;
use crate::adapt::Outcome;
use crate::error::{Reason, Stale};
use crate::observe::{Event, Observer};
use crate::slots::Storage;
use crate::time::Timestamp;

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// A started job has really ended: its capacity comes back, and the difference between what it was charged and what it
    /// cost is settled with its tenant. Then [`poll`](Self::poll). O(1), or O(log n) to settle.
    ///
    /// # Errors
    /// [`Stale`] if it is over already or was not started; nothing is changed.
    pub fn complete(&mut self, now: Timestamp, job: JobId, completion: Completion) -> Result<(), Stale> {
        let now = self.advance(now);
        if !self.is_started(job) {
            return self.stale();
        }
        let Some(record) = self.jobs.remove(job) else { return self.stale() };
        let Record { tenant: index, class, cost, attempt, bytes, state, .. } = record;
        let State::Started { grant, at } = state else { return self.stale() };
        if attempt {
            self.end_attempt(index, bytes);
        }
        let ran = now.saturating_since(at);
        let (outcome, actual) = match completion {
            Completion::Ran { outcome, cost: measured } => {
                self.service.ended(ran);
                if let Some(measured) = measured {
                    self.classes.learn(class, measured);
                }
                self.counts.completed = self.counts.completed.saturating_add(1);
                let actual = measured.unwrap_or(cost);
                self.order.settle(index, cost, actual);
                (outcome, actual)
            }
            Completion::NotStarted => {
                self.service.withdrawn();
                self.counts.not_started = self.counts.not_started.saturating_add(1);
                self.give_turn_back(index, cost);
                (Outcome::Ignored, 0)
            }
        };
        let tenant = self.give_back(now, index, grant, outcome, cost, actual);
        if attempt {
            self.settle_head(index);
        }
        self.settle_tenant(index, now);
        if let Some(tenant) = tenant {
            self.observer.on_event(Event::JobEnded { tenant, estimated: cost, actual, ran });
        }
        self.debug_check();
        Ok(())
    }

    /// An attempt has passed: the job runs from now on, and its place in the queue is free. O(1).
    ///
    /// # Errors
    /// [`Stale`] if it is no attempt in flight; nothing is changed.
    pub fn confirm(&mut self, now: Timestamp, job: JobId) -> Result<(), Stale> {
        self.advance(now);
        let Some((index, bytes)) = self.attempt(job) else { return self.stale() };
        if let Some(record) = self.jobs.get_mut(job) {
            record.attempt = false;
        }
        self.end_attempt(index, bytes);
        self.settle_head(index);
        self.debug_check();
        Ok(())
    }

    /// An attempt was told "not yet": the job goes back to the head of its tenant's queue, with what is left of the time it
    /// can wait, and does not start before `ready_at`. Its turn is given back and it is not charged, unless it may try again
    /// at once: then it has had its turn. If it cannot wait that long, or may not wait any more, it is over. Then [`poll`](Self::poll). O(log n);
    /// [`Order::Smooth`](super::Order::Smooth): O(tenants with work).
    ///
    /// # Errors
    /// [`Stale`] if it is no attempt in flight; nothing is changed.
    pub fn retry(&mut self, now: Timestamp, job: JobId, ready_at: Timestamp) -> Result<Retried, Stale> {
        let now = self.advance(now);
        let Some((index, bytes)) = self.attempt(job) else { return self.stale() };
        let Some(record) = self.jobs.get_mut(job) else { return self.stale() };
        let (cost, deadline, submitted) = (record.cost, record.deadline, record.submitted);
        let waiting = State::Waiting { ready_at, due: Due::Nowhere };
        let State::Started { grant, .. } = core::mem::replace(&mut record.state, waiting) else {
            return self.stale();
        };
        self.service.withdrawn();
        self.attempts = self.attempts.saturating_sub(1);
        if ready_at > now {
            self.give_turn_back(index, cost);
        }
        let tenant = self.give_back(now, index, grant, Outcome::Ignored, cost, 0);
        let refused = match self.tenants.get(index).map(|tenant| tenant.kind) {
            _ if self.closed == Some(CloseMode::Immediate) => Some(Reason::Closed),
            Some(Kind::Removed) => Some(Reason::TenantRemoved),
            _ if deadline <= now => Some(Reason::DeadlineExceeded),
            _ if deadline != Timestamp::MAX && ready_at >= deadline => Some(Reason::WaitExceedsBudget),
            _ => None,
        };
        let answer = if let Some(reason) = refused {
            // Its id is stale from now on, as after any end.
            let _record = self.jobs.remove(job);
            self.free_place(index, bytes);
            self.settle_head(index);
            self.settle_tenant(index, now);
            self.counts.refuse(reason);
            if let Some(tenant) = tenant {
                let waited = now.saturating_since(submitted);
                self.observer.on_event(Event::JobRefused { tenant, reason, waited });
            }
            Retried::Refused(reason)
        } else {
            self.join_queue(index, job, true);
            self.counts.retried = self.counts.retried.saturating_add(1);
            if let Some(tenant) = tenant {
                self.observer.on_event(Event::JobReturned { tenant, ready_at });
            }
            Retried::Queued
        };
        self.debug_check();
        Ok(answer)
    }

    /// Nobody wants the result any more. A waiting job is gone at once, with its place and bytes; a started one keeps its
    /// capacity until it is [completed](Self::complete). Then [`poll`](Self::poll). O(1), or O(log n).
    ///
    /// # Errors
    /// [`Stale`] if it is over already; nothing is changed.
    pub fn cancel(&mut self, now: Timestamp, job: JobId) -> Result<Cancelled, Stale> {
        let now = self.advance(now);
        match self.jobs.get(job).map(|record| &record.state) {
            None => self.stale(),
            Some(State::Started { .. }) => Ok(Cancelled::Running),
            Some(State::Waiting { .. }) => {
                let Some((tenant, waited)) = self.drop_waiting(now, job) else { return self.stale() };
                self.counts.cancelled = self.counts.cancelled.saturating_add(1);
                self.observer.on_event(Event::JobCancelled { tenant, waited });
                self.debug_check();
                Ok(Cancelled::Queued)
            }
        }
    }

    fn is_started(&self, job: JobId) -> bool {
        self.jobs.get(job).is_some_and(|record| matches!(record.state, State::Started { .. }))
    }

    /// Tenant and bytes of an attempt in flight.
    fn attempt(&self, job: JobId) -> Option<(u32, u64)> {
        let record = self.jobs.get(job).filter(|record| record.attempt)?;
        matches!(record.state, State::Started { .. }).then_some((record.tenant, record.bytes))
    }

    /// Capacity comes back, and a tenant that was served `estimated` was served `actual`. Whose job it was.
    fn give_back(
        &mut self,
        now: Timestamp,
        index: u32,
        grant: C::Grant,
        outcome: Outcome,
        estimated: u64,
        actual: u64,
    ) -> Option<super::TenantKey> {
        self.capacity.give_back(now, grant, outcome);
        self.alone = false;
        let tenant = self.tenants.get_mut(index)?;
        tenant.active = tenant.active.saturating_sub(1);
        tenant.served =
            tenant.served.saturating_add(u128::from(actual)).saturating_sub(u128::from(estimated));
        Some(tenant.key)
    }

    /// An attempt is over, or no attempt any more: its place is free.
    fn end_attempt(&mut self, index: u32, bytes: u64) {
        self.attempts = self.attempts.saturating_sub(1);
        self.free_place(index, bytes);
    }

    /// What a tenant was served for came to nothing.
    fn give_turn_back(&mut self, index: u32, cost: u64) {
        let step = self.step(index, cost);
        self.order.give_turn_back(index, cost);
        // While it is on the heap of the unready, its place there must not change unseen.
        let ready_at =
            self.tenants.get(index).filter(|tenant| tenant.is_unready()).map(|tenant| tenant.ready_at);
        self.watch(index, None);
        if let Some(tenant) = self.tenants.get_mut(index) {
            tenant.progress = tenant.progress.saturating_sub(step);
        }
        self.watch(index, ready_at);
    }

    /// An attempt is over: a tenant of which nothing waits has nothing more that may come back.
    fn settle_head(&mut self, index: u32) {
        if self.tenants.get(index).is_some_and(|tenant| tenant.queue.is_empty()) {
            self.refresh(index);
        }
    }

    /// A job takes up no place in the queue any more.
    #[inline]
    pub(super) fn free_place(&mut self, index: u32, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(tenant) = self.tenants.get_mut(index) {
            tenant.places = tenant.places.saturating_sub(1);
            tenant.bytes = tenant.bytes.saturating_sub(bytes);
        }
    }

    /// A job of a tenant is over: if it was the last, the tenant is idle.
    #[inline]
    pub(super) fn settle_tenant(&mut self, index: u32, now: Timestamp) {
        if self.tenants.get(index).is_some_and(super::tenants::Tenant::is_idle)
            && self.tenants.settle(index, now)
        {
            self.order.forget(index);
        }
    }
}
