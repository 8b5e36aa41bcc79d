//! What a gate looks like: snapshots of it and of its tenants.

use core::fmt;
use core::time::Duration;

use super::Gate;
use super::capacity::Capacity;
use super::snapshot::{Snapshot, TenantSnapshot};
use super::tenants::{Kind, Tenant};
use crate::observe::Observer;
use crate::slots::Storage;
use crate::time::Timestamp;

impl<S: Storage, C: Capacity, O: Observer> Gate<S, C, O> {
    /// What it looks like at `now`. O(tenants).
    #[must_use]
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let now = now.max(self.now);
        let waits = self.tenants.all().iter().filter_map(|tenant| self.oldest_wait(tenant, now));
        Snapshot {
            queued: self.places(),
            queued_bytes: self.bytes,
            waiting: self.waiting(),
            active: self.service.running(),
            attempts: self.attempts,
            tenants: self.tenants.counts().0,
            oldest_wait: waits.max(),
            mean_service: self.service.mean(),
            counts: self.counts,
        }
    }

    /// The tenants that are known, at `now`.
    pub fn tenants(&self, now: Timestamp) -> impl Iterator<Item = TenantSnapshot> {
        let now = now.max(self.now);
        (0_u32..).zip(self.tenants.all()).filter(|(_, tenant)| tenant.kind != Kind::Free).map(
            move |(index, tenant)| TenantSnapshot {
                key: tenant.key,
                weight: self.order.weight(index),
                queued: tenant.places,
                bytes: tenant.bytes,
                waiting: tenant.queue.len(),
                active: tenant.active,
                started: tenant.started,
                served_cost: tenant.served,
                debt: self.order.debt(index),
                oldest_wait: self.oldest_wait(tenant, now),
            },
        )
    }

    /// How long the job at the head of a tenant's queue has waited.
    pub(super) fn oldest_wait(&self, tenant: &Tenant, now: Timestamp) -> Option<Duration> {
        let oldest = self.jobs.at(tenant.queue.head())?;
        Some(now.saturating_since(oldest.submitted))
    }
}

impl<S: Storage, C: Capacity, O: Observer> fmt::Debug for Gate<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("waiting", &self.waiting())
            .field("active", &self.service.running())
            .field("attempts", &self.attempts)
            .field("queued_bytes", &self.bytes)
            .field("tenants", &self.tenants.counts().0)
            .field("closed", &self.closed)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
