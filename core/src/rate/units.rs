//! [`Units`]: time and cost in one unit, and the one decision of the token buckets that are a single word.
//!
//! What a unit is, why one passes every 1 to 2 ns and what is rounded which way is told where it is used first, in
//! [`AtomicBucket`](super::AtomicBucket); the keyed tables decide by the same code. A *word* w is the unit in which all
//! that was granted will have accrued again; with U the unit of now, B the burst in units and c a cost in units:
//!
//! ```text
//! idle, w ≤ U:   grant iff c ≤ B              w ← ⌈t in units⌉ + c
//! busy, w > U:   grant iff w + c ≤ ceiling    w ← w + c
//! ```
//!
//! The ceiling is U + B, and one more in the unit in which the bucket became busy: its start was rounded up there.

use core::num::{NonZeroU64, NonZeroU128};

use super::bucket::Inherit;
use super::quota::{Quota, Terms};
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::time::Timestamp;

/// How time and cost are counted in units; see [`AtomicBucket`](super::AtomicBucket).
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

/// A quota in units; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    scale: Scale,
    /// Largest cost, in tokens.
    burst: u64,
    /// B: the burst in units.
    burst_units: u64,
    /// The last U that leaves room to count a full burst.
    last_unit: u64,
}

impl Units {
    /// # Errors
    /// Every broken rule: those of a quota, and the burst must take at most 292 years to accrue and hold at least what
    /// accrues in a nanosecond.
    pub(super) fn of(quota: Quota) -> Result<Self, ConfigError> {
        let (scale, burst_units) = check(quota)?;
        let last_unit = (u64::MAX - 1).saturating_sub(burst_units);
        Ok(Self { scale, burst: scale.tokens(burst_units), burst_units, last_unit })
    }

    /// The burst, in tokens; above a token a nanosecond, rounded down to what accrues in a whole number of units.
    #[inline]
    pub(super) const fn capacity(&self) -> u64 {
        self.burst
    }

    /// U(now), at most so late that a full burst can still be counted: the clock stands still in the last
    /// burst/rate of its 584 years.
    #[inline]
    pub(super) fn at(&self, now: Timestamp) -> u64 {
        self.scale.units_at(now).min(self.last_unit)
    }

    /// A cost in units, rounded up. At most the capacity.
    #[inline]
    pub(super) fn cost(&self, tokens: u64) -> u64 {
        self.scale.cost(tokens)
    }

    /// A cost in units, rounded up, as far as it can be counted.
    #[cfg(feature = "alloc")]
    pub(super) fn charge(&self, tokens: u64) -> u64 {
        let units = num::mul_div_ceil(
            num::widen(tokens),
            self.scale.units_per_token.get(),
            self.scale.tokens_per_unit,
        );
        num::narrow(units)
    }

    /// U + B.
    #[inline]
    pub(super) const fn ceiling(&self, units: u64) -> u64 {
        units.wrapping_add(self.burst_units)
    }

    /// What an idle bucket's start is rounded up by: 0 or 1.
    #[inline]
    pub(super) const fn rounding(&self) -> u64 {
        self.scale.rounding()
    }

    /// The word after a grant of `cost` units under `ceiling`, `None` if it is refused. All decisions are made here.
    #[inline]
    pub(super) fn step(&self, word: u64, units: u64, ceiling: u64, cost: u64) -> Option<u64> {
        if word > units {
            return word.checked_add(cost).filter(|&next| next <= ceiling);
        }
        if cost > ceiling.wrapping_sub(units) {
            return None;
        }
        if cost == 0 {
            return Some(word);
        }
        // Cannot overflow: at most `at` + B + 1, and `at` leaves room for that.
        Some(units.wrapping_add(self.rounding()).wrapping_add(cost))
    }

    /// The largest cost that passes under `ceiling`, in whole tokens.
    pub(super) fn left(&self, word: u64, units: u64, ceiling: u64) -> u64 {
        self.scale.tokens(ceiling.saturating_sub(word.max(units))).min(self.burst)
    }

    /// The unit from which on a refused `cost` of units passes.
    pub(super) fn needed(&self, word: u64, cost: u64) -> u64 {
        // It passes as soon as w + cost ≤ U + B; being idle by then is no other condition, since cost ≤ B.
        let needed =
            num::widen(word).saturating_add(num::widen(cost)).saturating_sub(num::widen(self.burst_units));
        num::narrow(needed)
    }

    /// The refusal of a cost above a ceiling.
    #[cfg(feature = "alloc")]
    #[cold]
    pub(super) fn no(&self, word: u64, ceiling: u64, cost: u64) -> Refused {
        let reason = if word > ceiling { Reason::InDebt } else { Reason::RateExceeded };
        self.refuse(reason, self.needed(word, cost))
    }

    /// The refusal of a cost that passes from the unit `needed` on.
    pub(super) fn refuse(&self, reason: Reason, needed: u64) -> Refused {
        let retry_at = if needed > self.last_unit { None } else { self.scale.instant_of(needed) };
        Refused::until(reason, retry_at)
    }

    /// The word under this quota of a bucket that was at `word` under `old` at `now`: what is consumed is carried over
    /// as `inherit` says, rounded up by less than a unit.
    pub(super) fn carry(&self, old: &Self, now: Timestamp, word: u64, inherit: Inherit) -> u64 {
        let consumed = num::widen(word.saturating_sub(old.at(now)));
        let consumed = match (inherit, NonZeroU64::new(old.burst_units)) {
            (Inherit::Proportional, Some(old_units)) => {
                num::mul_div_ceil(consumed, self.burst_units, old_units)
            }
            (Inherit::Reset, _) | (_, None) => 0,
            (Inherit::AsIs, _) => {
                let (from, to) = (&old.scale, &self.scale);
                let tokens = num::mul_div_ceil(consumed, from.tokens_per_unit.get(), to.tokens_per_unit);
                num::mul_div_ceil(tokens, to.units_per_token.get(), from.units_per_token)
            }
        };
        let busy_from = self.at(now).saturating_add(self.rounding());
        if consumed == 0 { 0 } else { busy_from.saturating_add(num::narrow(consumed)) }
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
