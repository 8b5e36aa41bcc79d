//! Who asks, and the limiter that is asked.

use std::rc::Rc;

use tollgate::permit::{AtomicPermits, Permit};

use super::super::limiter::{Limiter, Seat};
use super::super::watch::Watch;

/// An attempt in flight, or one that the server works on for nobody.
pub(super) struct Attempt {
    pub(super) serial: u64,
    /// Its place among those in flight, while its client waits.
    pub(super) permit: Option<Permit<Rc<AtomicPermits>>>,
    pub(super) admitted_ns: u64,
    pub(super) first_ns: u64,
    pub(super) in_flight: u32,
    pub(super) limiter: u32,
    pub(super) tries: u32,
    /// It met a free slot.
    pub(super) at_once: bool,
}

pub(super) struct Door {
    pub(super) permits: Rc<AtomicPermits>,
    pub(super) limiter: Box<dyn Limiter>,
    pub(super) watch: Watch,
    pub(super) opens_ns: u64,
}

impl Door {
    pub(super) fn new(seat: Seat, opens_ns: u64) -> Self {
        let limit = seat.limiter.limit();
        let watch = Watch::new(seat.bounds, seat.has_to_move, limit);
        let permits = AtomicPermits::new(limit.clamp(1, AtomicPermits::MAX_LIMIT));
        let permits = permits.unwrap_or_else(|_| AtomicPermits::with_limit::<1>());
        Self { permits: Rc::new(permits), limiter: seat.limiter, watch, opens_ns }
    }
}
