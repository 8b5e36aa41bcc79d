//! What the scheduler is told of each tenant's queue: which job is next, whether it is ready, and when it will be.

use core::num::NonZeroU64;

use super::Gate;
use super::capacity::Capacity;
use super::jobs::{Record, State};
use super::order::Head;
use super::tenants::{Kind, Tenant};
use crate::num;
use crate::observe::Observer;
use crate::slots::{NIL, Storage};
use crate::time::Timestamp;

/// Bits after the point of a tenant's progress.
const PROGRESS_BITS: u32 = 16;

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// The job of a tenant that is next, as its discipline has it: the oldest, or the newest if the oldest has waited too
    /// long. `NIL` if none waits.
    #[inline]
    pub(super) fn next_job(&self, index: u32) -> u32 {
        let Some(tenant) = self.tenants.get(index) else { return NIL };
        if let Some(after) = self.settings.newest_first_after
            && self.oldest_wait(tenant, self.now).is_some_and(|waited| waited >= after)
        {
            return tenant.queue.tail();
        }
        tenant.queue.head()
    }

    /// When a tenant will have a next job that is ready, if the one it has now is not, until `ready_at`: earlier, if the
    /// oldest will have waited too long before that, and the newest is ready then.
    pub(super) fn turns_ready(&self, tenant: &Tenant, ready_at: Timestamp) -> Timestamp {
        let (Some(after), Some(oldest)) =
            (self.settings.newest_first_after, self.jobs.at(tenant.queue.head()))
        else {
            return ready_at;
        };
        let turns_round = oldest.submitted.saturating_add(after);
        match self.jobs.at(tenant.queue.tail()).map(|newest| &newest.state) {
            Some(&State::Waiting { ready_at: newest, .. }) if turns_round > self.now => {
                if ready_at < turns_round { ready_at } else { newest.max(turns_round) }
            }
            _ => ready_at,
        }
    }

    /// A job of a tenant was looked at and cannot start now: the next poll is due no later than when it is ready, or
    /// another takes its place because the queue turns round.
    pub(super) fn await_change(&mut self, now: Timestamp, index: u32, job: u32) {
        let (Some(tenant), Some(record)) = (self.tenants.get(index), self.jobs.at(job)) else { return };
        let ready_at = match record.state {
            State::Waiting { ready_at, .. } => Some(ready_at),
            State::Started { .. } => None,
        };
        let oldest = self.jobs.at(tenant.queue.head()).filter(|_| tenant.queue.len() > 1);
        let turns_round = self
            .settings
            .newest_first_after
            .and_then(|after| oldest.map(|oldest| oldest.submitted.saturating_add(after)));
        let changes = [ready_at, turns_round].into_iter().flatten().filter(|&at| at > now);
        self.stirs = changes.fold(self.stirs, Timestamp::min);
    }

    /// What the scheduler is to know of a tenant, and if that is "not ready": when it will be.
    #[inline]
    pub(super) fn look(&self, index: u32) -> (Head, Option<Timestamp>) {
        let Some(tenant) = self.tenants.get(index).filter(|tenant| tenant.kind != Kind::Removed) else {
            return (Head::Empty, None);
        };
        match self.jobs.at(self.next_job(index)) {
            Some(&Record { cost, state: State::Waiting { ready_at, .. }, .. }) => {
                if ready_at <= self.now {
                    (Head::Ready(cost), None)
                } else {
                    (Head::NotReady, Some(self.turns_ready(tenant, ready_at)))
                }
            }
            // An attempt in flight may come back.
            _ if tenant.places > 0 => (Head::NotReady, None),
            _ => (Head::Empty, None),
        }
    }

    /// Keeps the heap of tenants whose next job is not ready, once the scheduler knows.
    #[inline]
    pub(super) fn watch(&mut self, index: u32, ready_at: Option<Timestamp>) {
        let Some(tenant) = self.tenants.get(index) else { return };
        if tenant.is_unready() {
            self.unready.remove(self.tenants.readiness(), index);
        }
        if let Some(ready_at) = ready_at
            && let Some(tenant) = self.tenants.get_mut(index)
        {
            tenant.ready_at = ready_at;
            self.unready.push(self.tenants.readiness(), index);
        }
    }

    /// What serving a job of this cost adds to the progress of its tenant.
    #[inline]
    pub(super) fn step(&self, index: u32, cost: u64) -> u128 {
        let weight = num::from_u32(self.order.weight(index));
        let weight = NonZeroU64::new(weight).unwrap_or(NonZeroU64::MIN);
        num::div_ceil(u128::from(self.order.units(cost)) << PROGRESS_BITS, weight)
    }

    /// Tells the scheduler what is next of a tenant.
    #[inline]
    pub(super) fn refresh(&mut self, index: u32) {
        let (head, ready_at) = self.look(index);
        self.order.set_head(index, head);
        self.watch(index, ready_at);
    }
}
