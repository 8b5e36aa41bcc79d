//! From the oracle's plain numbers to the settings and reasons of a gate.

use core::time::Duration;
use std::sync::Arc;

use tollgate::Reason;
use tollgate::gate::{Budget, Capacity, CoDel, Order, Overweight, Permits, Settings};
use tollgate::permit::{AtomicPermits, HeadOfLine};
use tollgate_model::gate::{self as model, Rules, Why};

/// A capacity as the oracle knows it: one limit.
pub(crate) trait Limited: Capacity {
    fn of(limit: u64) -> Self;
    fn set(&mut self, limit: u64);
    fn taken(&self) -> u64;
    fn weight(weight: u64) -> Self::Weight;
}

impl Limited for Budget {
    fn of(limit: u64) -> Self {
        Self::new(limit)
    }

    fn set(&mut self, limit: u64) {
        self.set_limit(limit);
    }

    fn taken(&self) -> u64 {
        self.in_use()
    }

    fn weight(weight: u64) -> u64 {
        weight
    }
}

impl Limited for Permits<Arc<AtomicPermits>> {
    fn of(limit: u64) -> Self {
        Self(Arc::new(AtomicPermits::new(u32::try_from(limit).unwrap()).unwrap()))
    }

    fn set(&mut self, limit: u64) {
        let _before = self.0.set_limit(u32::try_from(limit.min(1 << 30)).unwrap()).unwrap();
    }

    fn taken(&self) -> u64 {
        u64::from(self.0.in_use())
    }

    fn weight(weight: u64) -> u32 {
        u32::try_from(weight).unwrap()
    }
}

pub(crate) fn settings(rules: &Rules) -> Settings {
    let nanos = Duration::from_nanos;
    Settings {
        max_queued: rules.max_queued,
        max_queued_bytes: rules.max_queued_bytes,
        max_queued_per_tenant: rules.max_queued_per_tenant,
        max_bytes_per_tenant: rules.max_bytes_per_tenant,
        max_tenants: rules.max_tenants,
        max_active: rules.max_active,
        max_attempts: rules.max_attempts,
        max_wait: rules.max_wait.map(nanos),
        order: match rules.order {
            model::Order::Deficit(quantum) => Order::Deficit { quantum },
            model::Order::Smooth => Order::Smooth,
        },
        default_weight: rules.default_weight,
        head_of_line: rules
            .max_passes
            .map_or(HeadOfLine::Strict, |max_passes| HeadOfLine::Backfill { max_passes }),
        reserve_after: rules.reserve_after.map(nanos),
        overweight: if rules.run_alone { Overweight::RunAlone } else { Overweight::Refuse },
        refuse_early: rules.refuse_early,
        expected_service: rules.expected_service.map(nanos),
        newest_first_after: rules.newest_first_after.map(nanos),
        codel: rules
            .codel
            .map(|(target, interval)| CoDel { target: nanos(target), interval: nanos(interval) }),
        forgive_after: nanos(rules.forgive_after),
        classes: rules.classes,
        cost_smoothing_ppm: rules.cost_smoothing_ppm,
    }
}

pub(crate) fn reason(why: Why) -> Reason {
    match why {
        Why::Closed => Reason::Closed,
        Why::UnknownClass => Reason::UnknownClass,
        Why::DeadlineExceeded => Reason::DeadlineExceeded,
        Why::ExceedsLimit => Reason::ExceedsLimit,
        Why::ExceedsCapacity => Reason::ExceedsCapacity,
        Why::WaitExceedsBudget => Reason::WaitExceedsBudget,
        Why::QueueFull => Reason::QueueFull,
        Why::BytesFull => Reason::BytesFull,
        Why::TenantQueueFull => Reason::TenantQueueFull,
        Why::TenantBytesFull => Reason::TenantBytesFull,
        Why::TenantTableFull => Reason::TenantTableFull,
        Why::NoPermits => Reason::NoPermits,
        Why::QueueDelay => Reason::QueueDelay,
        Why::Displaced => Reason::Displaced,
        Why::TenantRemoved => Reason::TenantRemoved,
    }
}

pub(crate) fn why(reason: Reason) -> Why {
    let all = [
        Why::Closed,
        Why::DeadlineExceeded,
        Why::ExceedsLimit,
        Why::QueueDelay,
        Why::TenantRemoved,
        Why::NoPermits,
    ];
    all.into_iter()
        .find(|&why| self::reason(why) == reason)
        .unwrap_or_else(|| panic!("{reason:?} from a poll"))
}

/// To the end of what the oracle's clock can count.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
