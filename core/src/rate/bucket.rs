//! [`TokenBucket`]: an exact token bucket that keeps what was consumed.
//!
//! **Problem.** Allow `n` tokens per period and up to `burst` at once, for ever, without losing or inventing a
//! fraction of a token, whatever the quota, the clock and the pattern of calls; let callers reserve ahead, give
//! back, pay late and change the quota while it runs.
//!
//! **Derivation.** Let the quota in lowest terms be n tokens per p nanoseconds. In a nanosecond n/p tokens accrue, so
//! counted in units of 1/p token everything is whole: a cost c is c·p units, an elapsed time of t is t·n units. The
//! state is the *level*, the units consumed and not yet accrued again:
//!
//! ```text
//! level(t + dt) = max(0, level(t) − dt·n)        level += c·p on a grant
//! ```
//!
//! A product of two `u64` fits a `u128`: nothing overflows, nothing is divided on the way, so nothing is rounded and
//! grants depend on absolute time only, never on how often anybody asked. A request of cost c passes iff the level is
//! at most a threshold θ(c), in units:
//!
//! | request | θ(c) |
//! | --- | --- |
//! | c ≤ burst, [`Overshoot::Deny`] | (burst − c)·p |
//! | c ≤ burst + `max_debt`, [`Overshoot::Lock`] | min(burst, burst + `max_debt` − c)·p: not in debt, and the debt stays allowed |
//! | larger, [`Oversize::WhenFull`] | 0: only a full bucket |
//! | larger, [`Oversize::Refuse`] | none: it can never pass |
//!
//! and if it does not pass now it passes after ⌈(level − θ)/n⌉ ns and not a nanosecond earlier: that is `retry_at`.
//!
//! **Giving back.** A refund must not make room that time has made already, or the bucket would let work through
//! twice. Of a reservation of cost c, what is still outstanding is, first in first out, whatever of the level is not
//! due to later grants, and at least c minus what accrued since. The bucket counts the cost it ever granted, a
//! [`Reservation`] remembers where in that count it stands, and [`cancel`](TokenBucket::cancel) gives back the larger
//! of the two bounds. That is *exact* (the state is as if the reservation had never been) when nothing accrued
//! since, in any order of cancelling, and while the reservation is still waiting to become due and nothing granted
//! after it was cancelled before it; otherwise it errs towards giving back less. What was granted before a change of
//! quota that scaled or reset the level is not in it as it was, and nothing of it is given back.
//!
//! **Source.** The leaky bucket as a meter; order of steps (advance, repay, lower, refuse in debt, grant, overshoot)
//! after the multi-dimension limiter this product was asked to cover; `WhenFull` after rabbitmq-stream-s3#208.
//! Deviation: debt is not a second number. It is the part of the level above the burst, so raising or lowering the
//! burst re-reads it.
//!
//! **Invariants.** **I1** the level only falls by time and by giving back; **I2** `last` never falls; **I3** a refusal
//! changes nothing but `last` and the level's fall up to it; **I4** under `Deny`/`Refuse` a grant leaves the level
//! at most burst·p; **I5** at most (burst + `max_debt`)·p under `Lock`.
//!
//! **Law.** In any interval of length T, granted ≤ burst + rate·T, plus `max_debt` under `Lock` (an oversize grant
//! counts as one burst of its own cost). Reservations count when they become due, which is told in whole nanoseconds,
//! and keep the instant they were told: after a cancel or a refund those that still wait count from when they *could*
//! have gone, so an interval after it may see them together with those that were granted in the room they left.
//!
//! **Work** O(1), no division on the granting path. **Memory** 128 bytes, no allocation.

mod back;
mod policy;

use core::num::NonZeroU64;
use core::time::Duration;

#[cfg(feature = "alloc")]
pub(crate) use back::Receipt;
pub use back::Reservation;
pub use policy::{BucketState, Inherit, Overshoot, Oversize, Policy};

use super::RateLimit;
use super::quota::{Quota, Terms};
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::time::Timestamp;

/// The level of a bucket that was charged more than 2¹²⁸ units. How much more is not known, so none of it is ever
/// repaid: everything is refused until the quota is changed with [`Inherit::Reset`].
const BEYOND_COUNT: u128 = u128::MAX;

/// An exact token bucket for one owner; see the [module](self).
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::rate::{Quota, TokenBucket};
///
/// let mut bucket = TokenBucket::new(Quota::per_second(10).burst(2))?;
/// let now = Timestamp::ZERO;
/// bucket.try_acquire(now, 2)?;
///
/// let refused = bucket.try_acquire(now, 1).unwrap_err();
/// let retry_at = refused.retry_at.unwrap();
/// assert_eq!(retry_at.saturating_since(now), Duration::from_millis(100));
/// assert!(bucket.try_acquire(retry_at, 1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TokenBucket {
    terms: Terms,
    policy: Policy,
    /// Units of 1/`period_ns` token consumed and not accrued again by `last`.
    level: u128,
    /// The latest `now` seen by a call that may change the bucket.
    last: Timestamp,
    /// Cost ever granted, less the reservations cancelled in reverse order.
    granted: u128,
    /// What was granted before this may have been granted under another quota.
    quota_since: Timestamp,
    /// `granted` when the quota last changed.
    changed: u128,
    /// `granted` when the level was last scaled or reset: what was granted by then is not in it as it was.
    rebased: u128,
}

impl TokenBucket {
    /// A full bucket that denies what does not fit.
    ///
    /// # Errors
    /// Every rule of the quota that is broken: at least 1 token, a period of 1 ns to 584 years, a burst of at least 1.
    pub fn new(quota: Quota) -> Result<Self, ConfigError> {
        Self::with_policy(quota, Policy::default())
    }

    /// A full bucket with its own way of treating what does not fit.
    ///
    /// # Errors
    /// As [`new`](Self::new); also burst + `max_debt` beyond `u64::MAX` tokens.
    pub fn with_policy(quota: Quota, policy: Policy) -> Result<Self, ConfigError> {
        let terms = check(quota, policy)?;
        let (last, quota_since) = (Timestamp::ZERO, Timestamp::ZERO);
        Ok(Self { terms, policy, level: 0, last, granted: 0, quota_since, changed: 0, rebased: 0 })
    }

    /// Consumes `cost` tokens, all of them or none. O(1).
    ///
    /// # Errors
    /// `RateExceeded` or `InDebt`, with the exact `retry_at`; `ExceedsCapacity` if it can never pass.
    #[inline]
    pub fn try_acquire(&mut self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        self.advance(now);
        self.decide(self.level, self.last, cost)?;
        self.take(cost);
        Ok(())
    }

    /// Consumes as much as is available, at most `max` tokens, and returns how much that was. O(1).
    pub fn acquire_up_to(&mut self, now: Timestamp, max: u64) -> u64 {
        self.advance(now);
        let cost = max.min(self.available(now));
        self.take(cost);
        cost
    }

    /// Whether [`try_acquire`](Self::try_acquire) would grant `cost` at `now`. Changes nothing. O(1).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        let (level, now) = self.level_at(now);
        self.decide(level, now, cost)
    }

    /// Whether `cost` would be granted, for those who ask first and want to know why not only then.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn passes(&self, now: Timestamp, cost: u64) -> bool {
        let (level, _) = self.level_at(now);
        self.threshold(cost).is_some_and(|threshold| level <= threshold)
    }

    /// Consumes `cost` tokens now if they can be had within `max_wait`, ahead of their accrual, in the order of the
    /// calls: a big request is not overtaken while it waits. O(1).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire); `retry_at` is when the same call would be granted.
    pub fn reserve(&mut self, now: Timestamp, cost: u64, max_wait: Duration) -> Result<Reservation, Refused> {
        self.advance(now);
        let ready_at = match self.decide(self.level, self.last, cost) {
            Ok(()) => self.last,
            Err(Refused { retry_at: Some(at), .. }) if at.saturating_since(self.last) <= max_wait => at,
            Err(Refused { reason, retry_at }) => {
                return Err(Refused::until(reason, retry_at.map(|at| at.saturating_sub(max_wait))));
            }
        };
        if self.level.checked_add(self.units(cost)).is_none() {
            return Err(Refused::because(Reason::RateExceeded));
        }
        self.take(cost);
        Ok(Reservation { receipt: self.receipt(cost), ready_at })
    }

    /// Consumes `cost` tokens whatever is left: work that already happened. What exceeds the burst is debt. O(1).
    ///
    /// Debt past 2¹²⁸ units (tokens times the period in nanoseconds) cannot be counted: it locks the bucket until the
    /// quota is changed with [`Inherit::Reset`].
    pub fn charge(&mut self, now: Timestamp, cost: u64) {
        self.advance(now);
        self.take(cost);
    }

    /// Changes the quota at `now`: what accrued until then did so at the old rate. O(1).
    ///
    /// # Errors
    /// As [`with_policy`](Self::with_policy); nothing is changed.
    pub fn set_quota(&mut self, now: Timestamp, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        self.reconfigure(now, quota, self.policy, inherit)
    }

    /// Changes quota and policy at once.
    ///
    /// # Errors
    /// As [`with_policy`](Self::with_policy); nothing is changed.
    pub fn reconfigure(
        &mut self,
        now: Timestamp,
        quota: Quota,
        policy: Policy,
        inherit: Inherit,
    ) -> Result<(), ConfigError> {
        let terms = check(quota, policy)?;
        self.advance(now);
        self.policy = policy;
        let old = self.terms;
        let level = match inherit {
            Inherit::AsIs | Inherit::Proportional if self.level == BEYOND_COUNT => BEYOND_COUNT,
            Inherit::AsIs => self.level,
            Inherit::Proportional => match NonZeroU64::new(old.burst) {
                Some(burst) => num::mul_div_ceil(self.level, terms.burst, burst),
                None => self.level,
            },
            Inherit::Reset => 0,
        };
        self.level = match level {
            BEYOND_COUNT => BEYOND_COUNT,
            level => num::mul_div_ceil(level, terms.period_ns.get(), old.period_ns),
        };
        self.terms = terms;
        self.changed = self.granted;
        if inherit == Inherit::AsIs {
            self.quota_since = self.quota_since.max(self.last);
        } else {
            self.rebased = self.granted;
            // A grant at this very instant may have been before the change.
            self.quota_since = self.last.saturating_add(Duration::from_nanos(1));
        }
        Ok(())
    }

    /// What would be granted at `now` without overshoot, in whole tokens. O(1).
    #[must_use]
    pub fn available(&self, now: Timestamp) -> u64 {
        let (level, _) = self.level_at(now);
        let left = self.units(self.terms.burst).saturating_sub(level);
        num::narrow(left / core::num::NonZeroU128::from(self.terms.period_ns))
    }

    /// The largest cost that would be granted at `now`, overshoot included, in whole tokens; an [oversize
    /// one](Oversize::WhenFull) is not counted. O(1).
    #[must_use]
    pub fn grantable(&self, now: Timestamp) -> u64 {
        let (level, _) = self.level_at(now);
        let most = match self.policy.overshoot {
            Overshoot::Lock { max_debt } if level <= self.units(self.terms.burst) => {
                self.terms.burst.saturating_add(max_debt)
            }
            _ => self.terms.burst,
        };
        let left = self.units(most).saturating_sub(level);
        num::narrow(left / core::num::NonZeroU128::from(self.terms.period_ns))
    }

    /// The bucket as it stands at `now`. Changes nothing. O(1).
    #[must_use]
    pub fn state(&self, now: Timestamp) -> BucketState {
        let (level, now) = self.level_at(now);
        let tokens = |units| num::narrow(num::div_ceil(units, self.terms.period_ns));
        BucketState {
            capacity: self.terms.burst,
            available: self.available(now),
            consumed: tokens(level),
            debt: tokens(level.saturating_sub(self.units(self.terms.burst))),
            full_at: self.falls_to(0, level, now),
        }
    }

    /// Time passes; what accrued lowers the level (I1, I2).
    #[inline]
    fn advance(&mut self, now: Timestamp) {
        (self.level, self.last) = self.level_at(now);
    }

    /// The level at `now` or at `last`, whichever is later, and which that is.
    #[inline]
    fn level_at(&self, now: Timestamp) -> (u128, Timestamp) {
        let last = self.last.max(now);
        if self.level == BEYOND_COUNT {
            return (self.level, last);
        }
        let elapsed = now.as_nanos().saturating_sub(self.last.as_nanos());
        (self.level.saturating_sub(num::product(elapsed, self.terms.tokens.get())), last)
    }

    #[inline]
    fn take(&mut self, cost: u64) {
        self.level = self.level.saturating_add(self.units(cost));
        self.granted = self.granted.saturating_add(num::widen(cost));
    }

    #[inline]
    fn decide(&self, level: u128, now: Timestamp, cost: u64) -> Result<(), Refused> {
        match self.threshold(cost) {
            Some(threshold) if level <= threshold => Ok(()),
            Some(threshold) => Err(self.refuse(level, now, threshold)),
            None => Err(Refused::because(Reason::ExceedsCapacity)),
        }
    }

    /// θ(c): the highest level at which `cost` passes.
    #[inline]
    fn threshold(&self, cost: u64) -> Option<u128> {
        let burst = self.terms.burst;
        let fits = match self.policy.overshoot {
            Overshoot::Deny => burst.checked_sub(cost),
            Overshoot::Lock { max_debt } => {
                burst.saturating_add(max_debt).checked_sub(cost).map(|left| left.min(burst))
            }
        };
        match (fits, self.policy.oversize) {
            (Some(left), _) => Some(self.units(left)),
            (None, Oversize::WhenFull) => Some(0),
            (None, Oversize::Refuse) => None,
        }
    }

    #[cold]
    fn refuse(&self, level: u128, now: Timestamp, threshold: u128) -> Refused {
        let in_debt = level > self.units(self.terms.burst);
        let reason = if in_debt { Reason::InDebt } else { Reason::RateExceeded };
        Refused::until(reason, self.falls_to(threshold, level, now))
    }

    /// When the level, now `level`, will have fallen to `target`.
    fn falls_to(&self, target: u128, level: u128, now: Timestamp) -> Option<Timestamp> {
        if level == BEYOND_COUNT {
            return None;
        }
        let wait_ns = num::div_ceil(level.saturating_sub(target), self.terms.tokens);
        now.checked_add_nanos(wait_ns)
    }

    #[inline]
    fn units(&self, tokens: u64) -> u128 {
        num::product(tokens, self.terms.period_ns.get())
    }
}

fn check(quota: Quota, policy: Policy) -> Result<Terms, ConfigError> {
    let mut rules = Rules::new();
    let terms = quota.terms(&mut rules);
    if let Overshoot::Lock { max_debt } = policy.overshoot {
        rules.require(
            quota.capacity().checked_add(max_debt).is_some(),
            "policy.max_debt",
            max_debt,
            "at most 18446744073709551615 tokens together with the burst",
        );
    }
    rules.accept(terms)
}

impl RateLimit for TokenBucket {
    fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        self.peek(now, cost)
    }

    fn try_acquire(&mut self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        self.try_acquire(now, cost)
    }

    fn charge(&mut self, now: Timestamp, cost: u64) {
        self.charge(now, cost);
    }

    fn refund(&mut self, now: Timestamp, cost: u64, granted_at: Timestamp) {
        self.refund(now, cost, granted_at);
    }

    fn available(&self, now: Timestamp) -> u64 {
        self.available(now)
    }
}

#[cfg(test)]
mod tests;
