//! What the engine tells an estimator, and what it answers.
//!
//! A [`Limiter`] hears of what an [`Estimator`] does, of finished attempts, of refusals and of time that passes, and
//! also of the phases of the plan. [`Plain`] makes a limiter of any estimator.

use tollgate::Timestamp;
use tollgate::adapt::{Estimator, Sample};
use tollgate::permit::AtomicPermits;

/// Decides a limit.
pub trait Limiter {
    /// An attempt ended; the limit from now on.
    fn on_sample(&mut self, sample: &Sample) -> u32;

    /// An attempt was refused because the limit was reached; the limit from now on.
    fn on_reject(&mut self, now: Timestamp) -> u32 {
        let _ = now;
        self.limit()
    }

    /// Time has passed, whether anything ended or not; the limit from now on.
    fn on_tick(&mut self, now: Timestamp) -> u32 {
        let _ = now;
        self.limit()
    }

    /// A phase of the plan begins; the limit from now on. Nothing that is measured may listen: only the oracle knows
    /// beforehand.
    fn on_phase(&mut self, phase: usize) -> u32 {
        let _ = phase;
        self.limit()
    }

    /// The limit in force.
    fn limit(&self) -> u32;
}

/// An estimator, which hears of everything but phases.
#[derive(Debug)]
pub struct Plain<E>(pub E);

impl<E: Estimator> Limiter for Plain<E> {
    #[inline]
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        self.0.on_sample(sample)
    }

    #[inline]
    fn on_reject(&mut self, now: Timestamp) -> u32 {
        self.0.on_reject(now)
    }

    #[inline]
    fn on_tick(&mut self, now: Timestamp) -> u32 {
        self.0.on_tick(now)
    }

    #[inline]
    fn limit(&self) -> u32 {
        self.0.limit()
    }
}

/// A limit for each phase, known beforehand; the last one stays.
#[derive(Debug)]
pub struct Foretold {
    limits: Vec<u32>,
    limit: u32,
}

impl Foretold {
    /// These limits; the first one at the start. Without any there is no limit.
    #[must_use]
    pub fn new(limits: Vec<u32>) -> Self {
        let limit = limits.first().copied().unwrap_or(AtomicPermits::MAX_LIMIT);
        Self { limits, limit }
    }
}

impl Limiter for Foretold {
    #[inline]
    fn on_sample(&mut self, _sample: &Sample) -> u32 {
        self.limit
    }

    fn on_phase(&mut self, phase: usize) -> u32 {
        self.limit = self.limits.get(phase).copied().unwrap_or(self.limit);
        self.limit
    }

    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }
}

/// A limiter at the door, with what must hold of it.
pub struct Seat {
    /// The limiter.
    pub limiter: Box<dyn Limiter>,
    /// Least and greatest limit it may answer.
    pub bounds: (u32, u32),
    /// No limit below the greatest may hold it for ever while all is well.
    pub has_to_move: bool,
}

impl core::fmt::Debug for Seat {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Seat").field("limit", &self.limiter.limit()).field("bounds", &self.bounds).finish()
    }
}

impl Seat {
    /// One limit for each phase.
    #[must_use]
    pub fn foretold(limits: Vec<u32>) -> Self {
        let limiter = Box::new(Foretold::new(limits));
        Self { limiter, bounds: (1, AtomicPermits::MAX_LIMIT), has_to_move: false }
    }
}
