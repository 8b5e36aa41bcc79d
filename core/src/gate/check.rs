//! The invariants of a [`Gate`], asserted.

use super::Gate;
use super::capacity::Capacity;
use super::jobs::{Due, State};
use super::tenants::Kind;
use crate::observe::Observer;
use crate::slots::{NIL, Storage};
use crate::time::Timestamp;

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// What is cheap to see after every call.
    pub(super) fn debug_check(&self) {
        debug_assert!(self.service.running() <= self.settings.max_active, "I3: max_active");
        debug_assert!(self.attempts <= self.settings.max_attempts, "I3: max_attempts");
        debug_assert!(self.places() <= self.settings.max_queued, "I2: max_queued");
        debug_assert!(self.bytes <= self.settings.max_queued_bytes, "I2: max_queued_bytes");
        debug_assert!(!self.alone || self.service.running() == 1, "I3: alone");
    }

    /// Asserts I1 to I7. O(jobs + tenants); for tests and debugging.
    pub fn check_invariants(&self) {
        self.debug_check();
        self.jobs.check();
        self.tenants.check();
        self.order.check();
        let (mut waiting, mut attempts, mut running, mut bytes, mut due) =
            (0_u32, 0_u32, 0_u32, 0_u64, 0_usize);
        for record in self.jobs.all() {
            match &record.state {
                State::Waiting { due: place, .. } => {
                    waiting = waiting.saturating_add(1);
                    let timed = record.deadline != Timestamp::MAX;
                    assert_eq!(*place != Due::Nowhere, timed, "I4: a deadline iff among the deadlines");
                    due = due.saturating_add(usize::from(timed));
                    bytes = bytes.saturating_add(record.bytes);
                }
                State::Started { .. } => {
                    running = running.saturating_add(1);
                    attempts = attempts.saturating_add(u32::from(record.attempt));
                    bytes = bytes.saturating_add(if record.attempt { record.bytes } else { 0 });
                }
            }
        }
        assert_eq!(due, self.deadlines.len(), "I4: deadlines");
        assert_eq!(running, self.service.running(), "I1: running jobs");
        assert_eq!(waiting, self.waiting(), "I1: waiting jobs");
        assert_eq!((attempts, bytes), (self.attempts, self.bytes), "I2: attempts and bytes");
        self.check_tenants(waiting, bytes);
        let live = (0_u32..).zip(self.tenants.all()).filter(|(_, tenant)| tenant.kind != Kind::Free);
        self.backlog.check(live.map(|(index, _)| self.load(index)));
    }

    fn check_tenants(&self, waiting: u32, bytes: u64) {
        let (mut queued, mut places, mut held, mut unready) = (0_u32, 0_u32, 0_u64, 0_usize);
        for (index, tenant) in (0_u32..).zip(self.tenants.all()) {
            if tenant.kind == Kind::Free {
                assert!(tenant.is_idle() && tenant.queue.is_empty(), "I6: free tenant {index} has jobs");
                continue;
            }
            queued = queued.saturating_add(tenant.queue.len());
            places = places.saturating_add(tenant.places);
            held = held.saturating_add(tenant.bytes);
            unready = unready.saturating_add(usize::from(tenant.is_unready()));
            assert!(tenant.places <= self.settings.max_queued_per_tenant, "I2: places of {}", tenant.key);
            assert!(tenant.bytes <= self.settings.max_bytes_per_tenant, "I2: bytes of {}", tenant.key);
            let next = self.next_job(index);
            let ready = next != NIL && !tenant.is_unready() && tenant.kind != Kind::Removed;
            if self.settings.newest_first_after.is_none() {
                assert_eq!(self.order.is_active(index), ready, "I5: {} and the scheduler", tenant.key);
            }
        }
        assert_eq!((queued, held), (waiting, bytes), "I2: sums over tenants");
        assert_eq!(places, self.places(), "I2: places");
        assert_eq!(unready, self.unready.len(), "I5: tenants that are not ready");
    }
}
