//! [`AtomicBucket`]: a token bucket that is decided in one atomic word.
//!
//! **Problem.** Threads that share a rate limit need a decision for about the price of one compare-exchange, exact
//! however long it runs, and safe against the one thing that broke its predecessors: a thread that read the clock,
//! slept, and acts on a stale `now`.
//!
//! **Derivation.** Let the quota in lowest terms be n tokens per p nanoseconds. Time is counted in *units* so chosen
//! that a token is a whole number of them and one passes every 1 to 2 ns:
//!
//! * up to 10⁹ tokens/s (n ≤ p): q = ⌊p/n⌋ units to a token, q·n/p units to a nanosecond;
//! * above (n > p): a unit is g = ⌈n/p⌉ tokens, n/(g·p) units to a nanosecond; costs are rounded up to whole units,
//!   the burst down.
//!
//! U(t) = ⌊t · units per ns⌋ is one multiplication by a reciprocal of 64 bits (none where a unit is a nanosecond), so
//! 64 bits of units last as long as 64 bits of nanoseconds: 584 years. The word holds w, the unit in which everything
//! granted will have accrued again; tokens left at t are (U(t) + B − max(w, U(t)))/q, with B = burst·q. A grant of
//! cost c moves w forward:
//!
//! ```text
//! idle, w ≤ U:   grant iff c·q ≤ B              w ← ⌈t in units⌉ + c·q
//! busy, w > U:   grant iff w + c·q ≤ U + B      w ← w + c·q
//! ```
//!
//! The one rounding is where an idle bucket becomes busy: the start is rounded *up*, so an interval is never granted
//! more than burst + rate·T. While the bucket is busy nothing is rounded: the long-run rate is the quota, short of it
//! by a relative 2⁻⁶³ for the reciprocal (above 10⁹/s by the rounding of costs too).
//!
//! Rounding up the start would keep back the last unit of a burst that is taken in several grants at one instant. So
//! the unit in which the bucket last became busy is noted in a second word, and within that unit the ceiling is
//! U + 1 + B, which is B above the rounded start. The note is written after the grant it speaks of and read only on
//! the way to a refusal. A note that is late or old grants nothing wrong: busy periods follow each other in time, so
//! whatever is in the word began at or after the noted unit, and all of it together is at most B.
//!
//! **Stale clocks.** w only grows, and a `now` that is behind makes U smaller: it can only refuse, never grant. What
//! it costs is that a thread whose clock is behind may be refused what the newest clock would have been granted; a
//! word that remembered every `now` would have to be written by refusals too.
//!
//! **Source.** The generic cell rate algorithm, told as a bucket. Deviations: units of a fraction of a token instead
//! of whole nanoseconds (a rate of 6·10⁸/s is not 10⁹/s here); any cost above the burst answers `ExceedsCapacity`
//! before anything is multiplied.
//!
//! **Invariants.** **I1** w never decreases; **I2** every grant of a cost above 0 increases it; **I3** a refusal
//! writes nothing; **I4** w ≤ U + B + 1 just after a grant.
//!
//! **Work** O(1); the compare-exchange repeats only when another thread was granted meanwhile (lock-free).
//! **Memory** 64 bytes, one cache line, of which 16 change.
//!
//! **Shown by** `core/tests/loom_bucket.rs` with the clock as a racing atomic, and property tests against the exact
//! [`TokenBucket`](super::TokenBucket).

use core::fmt;

use super::bucket::Inherit;
use super::quota::Quota;
use super::units::Units;
use crate::error::{ConfigError, Reason, Refused};
use crate::sync::{AtomicU64, Ordering};
use crate::time::Timestamp;

/// A token bucket shared by threads without a lock; see the [module](self).
///
/// ```
/// use tollgate::Timestamp;
/// use tollgate::rate::{AtomicBucket, Quota};
///
/// let bucket = AtomicBucket::new(Quota::per_second(1_000).burst(10))?;
/// let now = Timestamp::from_nanos(5_000_000);
/// assert!(bucket.try_acquire(now, 10).is_ok());
/// let refused = bucket.try_acquire(now, 1).unwrap_err();
/// assert_eq!(refused.retry_at, Some(Timestamp::from_nanos(6_000_000)));
/// # Ok::<(), tollgate::ConfigError>(())
/// ```
#[repr(align(64))] // one cache line, to itself
pub struct AtomicBucket {
    /// w: the unit in which all that was granted will have accrued again.
    word: AtomicU64,
    /// The unit in which the bucket last became busy; unused where a unit is a nanosecond.
    started: AtomicU64,
    units: Units,
}

impl AtomicBucket {
    /// A full bucket.
    ///
    /// # Errors
    /// Every broken rule: those of [`TokenBucket`](super::TokenBucket::new), and the burst must take at most 292
    /// years to accrue and hold at least what accrues in a nanosecond.
    pub fn new(quota: Quota) -> Result<Self, ConfigError> {
        Ok(Self { word: AtomicU64::new(0), started: AtomicU64::new(0), units: Units::of(quota)? })
    }

    /// Consumes `cost` tokens, all of them or none. A cost of 0 is granted whenever the bucket is not overdrawn, and
    /// writes nothing.
    ///
    /// # Errors
    /// `RateExceeded` with the exact `retry_at`; `ExceedsCapacity` for a cost above the [`capacity`](Self::capacity).
    #[inline]
    pub fn try_acquire(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        // The common case of a busy bucket: one addition stands between reading the word and writing it, and nothing
        // is kept across the exchange. All else, also a lost race, is decided out of line, from the start.
        let units = self.units.at(now);
        let seen = self.word.load(Ordering::Relaxed);
        if cost <= self.units.capacity()
            && seen > units
            && let Some(next) = self.units.step(seen, units, self.units.ceiling(units), self.units.cost(cost))
            && next != seen
            && self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            return Ok(());
        }
        self.decide(units, cost)
    }

    /// [`try_acquire`](Self::try_acquire), every case.
    #[inline(never)]
    fn decide(&self, units: u64, cost: u64) -> Result<(), Refused> {
        if cost > self.units.capacity() {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let cost = self.units.cost(cost);
        // ORDERING: Relaxed throughout. The words guard no other data. All that is counted is in the one order in which
        // `word` changes; a note in `started` can only be read once the grant it speaks of is in that order.
        let mut ceiling = self.units.ceiling(units);
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let Some(next) = self.units.step(seen, units, ceiling, cost) else {
                if ceiling == self.ceiling_at_start(units) {
                    return Err(self.refuse(seen, cost));
                }
                ceiling = self.ceiling_at_start(units);
                seen = self.word.load(Ordering::Relaxed);
                continue;
            };
            if next == seen {
                return Ok(());
            }
            match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    if seen <= units && self.units.rounding() != 0 {
                        self.started.store(units, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Whether [`try_acquire`](Self::try_acquire) would grant `cost` at `now`. Changes nothing.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        if cost > self.units.capacity() {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let (units, cost) = (self.units.at(now), self.units.cost(cost));
        let ceiling = self.ceiling_at_start(units);
        let seen = self.word.load(Ordering::Relaxed);
        match self.units.step(seen, units, ceiling, cost) {
            Some(_) => Ok(()),
            None => Err(self.refuse(seen, cost)),
        }
    }

    /// The largest cost that would be granted at `now`, in whole tokens.
    #[must_use]
    pub fn available(&self, now: Timestamp) -> u64 {
        let units = self.units.at(now);
        let ceiling = self.ceiling_at_start(units);
        self.units.left(self.word.load(Ordering::Relaxed), units, ceiling)
    }

    /// The burst, in tokens; above a token a nanosecond, rounded down to what accrues in a whole number of units.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.units.capacity()
    }

    /// Changes the quota at `now`, with the bucket to itself: what accrued until then did so at the old rate. What is
    /// consumed is carried over as `inherit` says, rounded up by less than a unit.
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed.
    pub fn set_quota(&mut self, now: Timestamp, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        let new = Units::of(quota)?;
        let word = new.carry(&self.units, now, self.word.load(Ordering::Relaxed), inherit);
        self.units = new;
        self.word = AtomicU64::new(word);
        self.started = AtomicU64::new(0);
        Ok(())
    }

    /// U + B, and one more in the unit in which the bucket became busy.
    fn ceiling_at_start(&self, units: u64) -> u64 {
        let here = self.units.rounding() != 0 && self.started.load(Ordering::Relaxed) == units;
        self.units.ceiling(units).wrapping_add(u64::from(here))
    }

    /// A clock that is behind the noted start of the busy period meets its last unit there, one early.
    fn noted(&self, needed: u64) -> u64 {
        let started = self.started.load(Ordering::Relaxed);
        let early = self.units.rounding() != 0 && started.checked_add(1) == Some(needed);
        if early { started } else { needed }
    }

    #[cold]
    fn refuse(&self, word: u64, cost: u64) -> Refused {
        let needed = self.noted(self.units.needed(word, cost));
        self.units.refuse(Reason::RateExceeded, needed)
    }
}

impl fmt::Debug for AtomicBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBucket")
            .field("word", &self.word.load(Ordering::Relaxed))
            .field("units", &self.units)
            .finish()
    }
}

#[cfg(test)]
#[cfg(not(tollgate_loom))]
mod tests;
