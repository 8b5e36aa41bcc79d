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
use core::num::{NonZeroU64, NonZeroU128};

use super::bucket::Inherit;
use super::quota::{Quota, Terms};
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::sync::{AtomicU64, Ordering};
use crate::time::Timestamp;

/// How time and cost are counted in units; see the [module](self).
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// ⌊2⁶⁴ · units per nanosecond⌋, `None` where a unit is exactly a nanosecond.
    reciprocal: Option<NonZeroU64>,
    /// q: units to a token, 1 if a unit is more than a token.
    units_per_token: NonZeroU64,
    /// g: tokens to a unit, 1 if a token is more than a unit.
    tokens_per_unit: NonZeroU64,
}

impl Scale {
    fn of(terms: &Terms) -> Option<Self> {
        let (tokens, period) = (terms.tokens, terms.period_ns);
        let units_per_token = NonZeroU64::new(period.get() / tokens).unwrap_or(NonZeroU64::MIN);
        let tokens_per_unit = NonZeroU64::new(num::narrow(num::div_ceil(num::widen(tokens.get()), period)))?;
        // Units per nanosecond = (tokens · units_per_token) / (period · tokens_per_unit), at most 1.
        let units = num::product(tokens.get(), units_per_token.get());
        let nanos = NonZeroU128::new(num::product(period.get(), tokens_per_unit.get()))?;
        let reciprocal =
            if units == nanos.get() { None } else { NonZeroU64::new(num::reciprocal(units, nanos)) };
        Some(Self { reciprocal, units_per_token, tokens_per_unit })
    }

    /// U(t).
    #[inline]
    fn units_at(&self, now: Timestamp) -> u64 {
        match self.reciprocal {
            None => now.as_nanos(),
            Some(reciprocal) => num::product_high(now.as_nanos(), reciprocal.get()),
        }
    }

    /// The first instant at which U(t) has come to `units`.
    fn instant_of(&self, units: u64) -> Option<Timestamp> {
        match self.reciprocal {
            None => Some(Timestamp::from_nanos(units)),
            Some(reciprocal) => {
                let nanos = num::div_ceil(num::widen(units) << 64, reciprocal);
                Timestamp::ZERO.checked_add_nanos(nanos)
            }
        }
    }

    /// What an idle bucket's start is rounded up by.
    #[inline]
    const fn rounding(&self) -> u64 {
        match self.reciprocal {
            None => 0,
            Some(_) => 1,
        }
    }

    /// A cost in units, rounded up. The caller has checked that it fits.
    #[inline]
    fn cost(&self, tokens: u64) -> u64 {
        if self.tokens_per_unit == NonZeroU64::MIN {
            tokens.wrapping_mul(self.units_per_token.get())
        } else {
            num::narrow(num::div_ceil(num::widen(tokens), self.tokens_per_unit))
        }
    }

    /// Whole tokens in so many units.
    fn tokens(&self, units: u64) -> u64 {
        (units / self.units_per_token).saturating_mul(self.tokens_per_unit.get())
    }
}

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
    scale: Scale,
    /// Largest cost, in tokens.
    burst: u64,
    /// B: the burst in units.
    burst_units: u64,
    /// The last U that leaves room to count a full burst.
    last_unit: u64,
}

/// The last U that leaves room to count a burst of so many units.
const fn last_unit(burst_units: u64) -> u64 {
    (u64::MAX - 1).saturating_sub(burst_units)
}

impl AtomicBucket {
    /// A full bucket.
    ///
    /// # Errors
    /// Every broken rule: those of [`TokenBucket`](super::TokenBucket::new), and the burst must take at most 292
    /// years to accrue and hold at least what accrues in a nanosecond.
    pub fn new(quota: Quota) -> Result<Self, ConfigError> {
        let (scale, burst_units) = check(quota)?;
        let (word, started) = (AtomicU64::new(0), AtomicU64::new(0));
        let (burst, last_unit) = (scale.tokens(burst_units), last_unit(burst_units));
        Ok(Self { word, started, scale, burst, burst_units, last_unit })
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
        let units = self.units_at(now);
        let seen = self.word.load(Ordering::Relaxed);
        if cost <= self.burst
            && seen > units
            && let Some(next) = self.step(seen, units, self.ceiling(units), self.scale.cost(cost))
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
        if cost > self.burst {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let cost = self.scale.cost(cost);
        // ORDERING: Relaxed throughout. The words guard no other data. All that is counted is in the one order in which
        // `word` changes; a note in `started` can only be read once the grant it speaks of is in that order.
        let mut ceiling = self.ceiling(units);
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let Some(next) = self.step(seen, units, ceiling, cost) else {
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
                    if seen <= units && self.scale.rounding() != 0 {
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
        if cost > self.burst {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let (units, cost) = (self.units_at(now), self.scale.cost(cost));
        let ceiling = self.ceiling_at_start(units);
        let seen = self.word.load(Ordering::Relaxed);
        match self.step(seen, units, ceiling, cost) {
            Some(_) => Ok(()),
            None => Err(self.refuse(seen, cost)),
        }
    }

    /// The largest cost that would be granted at `now`, in whole tokens.
    #[must_use]
    pub fn available(&self, now: Timestamp) -> u64 {
        let units = self.units_at(now);
        let ceiling = self.ceiling_at_start(units);
        let start = self.word.load(Ordering::Relaxed).max(units);
        self.scale.tokens(ceiling.saturating_sub(start)).min(self.burst)
    }

    /// The burst, in tokens; above a token a nanosecond, rounded down to what accrues in a whole number of units.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.burst
    }

    /// Changes the quota at `now`, with the bucket to itself: what accrued until then did so at the old rate. What is
    /// consumed is carried over as `inherit` says, rounded up by less than a unit.
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed.
    pub fn set_quota(&mut self, now: Timestamp, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        let (scale, burst_units) = check(quota)?;
        let old = &self.scale;
        let consumed = num::widen(self.word.load(Ordering::Relaxed).saturating_sub(self.units_at(now)));
        let consumed = match (inherit, NonZeroU64::new(self.burst_units)) {
            (Inherit::Proportional, Some(old_units)) => num::mul_div_ceil(consumed, burst_units, old_units),
            (Inherit::Reset, _) | (_, None) => 0,
            (Inherit::AsIs, _) => {
                let tokens = num::mul_div_ceil(consumed, old.tokens_per_unit.get(), scale.tokens_per_unit);
                num::mul_div_ceil(tokens, scale.units_per_token.get(), old.units_per_token)
            }
        };
        (self.scale, self.burst) = (scale, scale.tokens(burst_units));
        (self.burst_units, self.last_unit) = (burst_units, last_unit(burst_units));
        let busy_from = self.units_at(now).saturating_add(self.scale.rounding());
        let word = if consumed == 0 { 0 } else { busy_from.saturating_add(num::narrow(consumed)) };
        self.word = AtomicU64::new(word);
        self.started = AtomicU64::new(0);
        Ok(())
    }

    /// The word after a grant of `cost` units under `ceiling`, `None` if it is refused. All decisions are made here.
    #[inline]
    fn step(&self, word: u64, units: u64, ceiling: u64, cost: u64) -> Option<u64> {
        if word > units {
            return word.checked_add(cost).filter(|&next| next <= ceiling);
        }
        if cost > ceiling.wrapping_sub(units) {
            return None;
        }
        if cost == 0 {
            return Some(word);
        }
        // Cannot overflow: at most `units_at` + B + 1, and `units_at` leaves room for that.
        Some(units.wrapping_add(self.scale.rounding()).wrapping_add(cost))
    }

    /// U(now), at most so late that a full burst can still be counted: the clock stands still in the last
    /// burst/rate of its 584 years.
    #[inline]
    fn units_at(&self, now: Timestamp) -> u64 {
        self.scale.units_at(now).min(self.last_unit)
    }

    /// U + B.
    #[inline]
    const fn ceiling(&self, units: u64) -> u64 {
        units.wrapping_add(self.burst_units)
    }

    /// U + B, and one more in the unit in which the bucket became busy.
    fn ceiling_at_start(&self, units: u64) -> u64 {
        let here = self.scale.rounding() != 0 && self.started.load(Ordering::Relaxed) == units;
        self.ceiling(units).wrapping_add(u64::from(here))
    }

    /// A clock that is behind the noted start of the busy period meets its last unit there, one early.
    fn noted(&self, needed: u64) -> u64 {
        let started = self.started.load(Ordering::Relaxed);
        let early = self.scale.rounding() != 0 && started.checked_add(1) == Some(needed);
        if early { started } else { needed }
    }

    #[cold]
    fn refuse(&self, word: u64, cost: u64) -> Refused {
        // It passes as soon as w + cost ≤ U + B; being idle by then is no other condition, since cost ≤ B.
        let needed =
            num::widen(word).saturating_add(num::widen(cost)).saturating_sub(num::widen(self.burst_units));
        let needed = self.noted(num::narrow(needed));
        let retry_at = if needed > self.last_unit { None } else { self.scale.instant_of(needed) };
        Refused::until(Reason::RateExceeded, retry_at)
    }
}

/// The longest time a burst may take to accrue, in units of 1 to 2 ns.
const MAX_CAPACITY: u64 = u64::MAX / 2;

fn check(quota: Quota) -> Result<(Scale, u64), ConfigError> {
    let mut rules = Rules::new();
    let scale = quota.terms(&mut rules).and_then(|terms| Scale::of(&terms));
    let burst = quota.capacity();
    let parsed = scale.map(|scale| {
        rules.require(
            burst >= scale.tokens_per_unit.get(),
            "quota.burst",
            burst,
            "at least what accrues in a nanosecond, for this bucket",
        );
        let capacity = num::product(burst / scale.tokens_per_unit, scale.units_per_token.get());
        rules.require(
            capacity <= num::widen(MAX_CAPACITY),
            "quota.burst",
            burst,
            "at most what accrues in 292 years, for this bucket",
        );
        (scale, num::narrow(capacity))
    });
    rules.accept(parsed)
}

impl fmt::Debug for AtomicBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBucket")
            .field("burst", &self.burst)
            .field("word", &self.word.load(Ordering::Relaxed))
            .field("scale", &self.scale)
            .finish()
    }
}

#[cfg(test)]
#[cfg(not(tollgate_loom))]
mod tests;
