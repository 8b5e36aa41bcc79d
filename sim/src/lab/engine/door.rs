//! Who asks, and the limiter that is asked.
//!
//! What enforces a limit is the core's own: [`AtomicPermits`] where all requests are alike, and where a part of the limit
//! is reserved for those that matter, [`Partitions`] with one partition, theirs; what has low priority belongs to none.

use std::rc::Rc;

use tollgate::adapt::{Guarantee, PartitionId, Partitions, Share, partition};
use tollgate::permit::{AtomicPermits, Permit};
use tollgate::slots::Inline;

use core::time::Duration;

use super::super::limiter::{Limiter, Seat};
use super::super::watch::Watch;
use crate::num;

/// What matters.
const IMPORTANT: PartitionId = PartitionId(0);

/// An attempt in flight, or one that the server works on for nobody.
pub(super) struct Attempt {
    pub(super) serial: u64,
    /// Its place among those in flight, while its client waits.
    pub(super) held: Option<Held>,
    pub(super) admitted_ns: u64,
    pub(super) first_ns: u64,
    pub(super) in_flight: u32,
    pub(super) limiter: u32,
    pub(super) tries: u32,
    /// It met a free slot.
    pub(super) at_once: bool,
    /// It matters, and was measured when it came.
    pub(super) counts: bool,
}

/// A place among those in flight.
pub(super) enum Held {
    Alike(Permit<Rc<AtomicPermits>>),
    Of(partition::Held),
}

enum Permits {
    Alike(Rc<AtomicPermits>),
    Shared(Partitions<Inline<1>>),
}

pub(super) struct Door {
    permits: Permits,
    pub(super) limiter: Box<dyn Limiter>,
    pub(super) watch: Watch,
    pub(super) opens_ns: u64,
}

impl Door {
    /// With `reserved_ppm` so many millionths of the limit are kept free for what matters.
    pub(super) fn new(seat: Seat, opens_ns: u64, reserved_ppm: Option<u32>) -> Self {
        let limit = seat.limiter.limit();
        let watch = Watch::new(seat.bounds, seat.has_to_move, limit);
        let limit = allowed(limit);
        let shared = reserved_ppm.and_then(|share_ppm| {
            let share = Share { partition: IMPORTANT, share_ppm, pause: Duration::ZERO };
            Partitions::new(limit, Guarantee::Reserved, &[share], 1, 1).ok()
        });
        let permits = shared.map_or_else(
            || {
                let permits = AtomicPermits::new(limit);
                Permits::Alike(Rc::new(permits.unwrap_or_else(|_| AtomicPermits::with_limit::<1>())))
            },
            Permits::Shared,
        );
        Self { permits, limiter: seat.limiter, watch, opens_ns }
    }

    /// A place for a request, if there is one.
    #[inline]
    pub(super) fn enter(&mut self, low: bool) -> Option<Held> {
        match &mut self.permits {
            Permits::Alike(permits) => {
                AtomicPermits::try_acquire_owned(Rc::clone(permits), 1).ok().map(Held::Alike)
            }
            Permits::Shared(partitions) => {
                partitions.try_acquire((!low).then_some(IMPORTANT), 1).ok().map(Held::Of)
            }
        }
    }

    /// The place is free again.
    #[inline]
    pub(super) fn leave(&mut self, held: Held) {
        match (&mut self.permits, held) {
            (Permits::Shared(partitions), Held::Of(held)) => {
                let released = partitions.release(held);
                debug_assert!(released.is_ok(), "what was let in comes back once");
            }
            (_, Held::Alike(permit)) => drop(permit),
            (Permits::Alike(_), Held::Of(_)) => debug_assert!(false, "it was let in by another door"),
        }
    }

    /// Permits that are kept free for others than a request of this priority.
    #[inline]
    pub(super) fn kept_from(&self, low: bool) -> u32 {
        match &self.permits {
            Permits::Shared(partitions) if low => {
                let busy = num::clamp_u32(partitions.busy_of(Some(IMPORTANT)));
                partitions.quota_of(Some(IMPORTANT)).saturating_sub(busy)
            }
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn limit(&self) -> u32 {
        match &self.permits {
            Permits::Alike(permits) => permits.limit(),
            Permits::Shared(partitions) => partitions.limit(),
        }
    }

    #[inline]
    pub(super) fn in_use(&self) -> u32 {
        match &self.permits {
            Permits::Alike(permits) => permits.in_use(),
            Permits::Shared(partitions) => num::clamp_u32(partitions.in_flight()),
        }
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        let limit = allowed(limit);
        match &mut self.permits {
            Permits::Alike(permits) => {
                let set = permits.set_limit(limit);
                debug_assert!(set.is_ok(), "it is within the bounds of permits");
            }
            Permits::Shared(partitions) => partitions.set_limit(limit),
        }
    }
}

/// A limit that permits can have.
fn allowed(limit: u32) -> u32 {
    limit.clamp(1, AtomicPermits::MAX_LIMIT)
}
