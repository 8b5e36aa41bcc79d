//! [`SlidingWindow`]: a count per slice of a window.

use core::num::NonZeroU64;
use core::time::Duration;

use super::slices::{Ceiling, Slices, checked_slice};
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::rate::{Overshoot, RateLimit};
use crate::slots::{Buffer, Storage};
use crate::time::Timestamp;

/// At most `limit` in *any* window of a length; see the [module](super).
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::rate::{RateLimit, SlidingWindow};
/// use tollgate::slots::Inline;
///
/// // 100 in any minute, known to the second.
/// let mut window = SlidingWindow::<Inline<61>>::new(100, Duration::from_secs(60), 60)?;
/// window.try_acquire(Timestamp::ZERO, 100)?;
/// let refused = window.try_acquire(Timestamp::ZERO, 1).unwrap_err();
/// assert_eq!(refused.retry_at, Some(Timestamp::ZERO.saturating_add(Duration::from_secs(61))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlidingWindow<S: Storage> {
    ceiling: Ceiling,
    clock: Slices,
    /// `slices + 1` counts; slice number s lives at s modulo that.
    counts: S::Buffer<u64>,
    ring: NonZeroU64,
    total: u128,
}

impl<S: Storage> SlidingWindow<S> {
    /// A window of `length` counted in `slices` parts, each rounded up to a whole nanosecond, that denies what does not
    /// fit. Needs storage for `slices + 1` counts.
    ///
    /// # Errors
    /// `limit` 0; `length` 0, shorter than `slices` nanoseconds or above 584 years; `slices` 0 or more than the storage
    /// holds.
    pub fn new(limit: u64, length: Duration, slices: u32) -> Result<Self, ConfigError> {
        Self::with_overshoot(limit, length, slices, Overshoot::Deny)
    }

    /// The same with its own way of treating what does not fit.
    ///
    /// # Errors
    /// As [`new`](Self::new); also `limit` + `max_debt` beyond `u64::MAX`.
    pub fn with_overshoot(
        limit: u64,
        length: Duration,
        slices: u32,
        overshoot: Overshoot,
    ) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        rules.require(slices > 0, "slices", slices, "1 slice or more");
        let divisor = NonZeroU64::new(num::from_u32(slices)).unwrap_or(NonZeroU64::MIN);
        let ceiling = Ceiling::checked(&mut rules, limit, overshoot);
        let length = checked_slice(&mut rules, length, divisor);
        let (ceiling, length) = rules.accept(ceiling.zip(length))?;
        let room = slices.saturating_add(1);
        let mut counts = S::buffer(room)?;
        for _ in 0..room {
            // The buffer was made for as many.
            let _full = counts.push(0_u64);
        }
        let ring = NonZeroU64::new(num::from_u32(room)).unwrap_or(NonZeroU64::MIN);
        let clock = Slices { length, origin: Timestamp::ZERO, current: 0 };
        Ok(Self { ceiling, clock, counts, ring, total: 0 })
    }

    /// Changes the limit: what is used stays used. O(1).
    ///
    /// # Errors
    /// As [`with_overshoot`](Self::with_overshoot); nothing is changed.
    pub fn set_limit(&mut self, limit: u64, overshoot: Overshoot) -> Result<(), ConfigError> {
        let mut rules = Rules::new();
        let ceiling = Ceiling::checked(&mut rules, limit, overshoot);
        self.ceiling = rules.accept(ceiling)?;
        Ok(())
    }

    /// The largest cost that would pass at `now`, overshoot included. O(slices).
    #[must_use]
    pub fn grantable(&self, now: Timestamp) -> u64 {
        self.ceiling.grantable(self.used_at(now))
    }

    /// What counts at `now`. O(slices).
    #[must_use]
    pub fn used_at(&self, now: Timestamp) -> u128 {
        self.total_at(self.clock.slice_at(now))
    }

    /// When nothing counts any more if nothing more is taken; `None` past [`Timestamp::MAX`]. O(slices).
    #[must_use]
    pub fn unused_at(&self, now: Timestamp) -> Option<Timestamp> {
        let current = self.clock.slice_at(now);
        let last = self.held().rev().find(|&slice| self.counts_at(slice, current) && self.count(slice) > 0);
        match last {
            None => Some(now),
            Some(slice) => self.gone_at(slice),
        }
    }

    /// Whether slice number `slice` counts when `current` is the newest.
    const fn counts_at(&self, slice: u64, current: u64) -> bool {
        slice <= current && current.saturating_sub(slice) < self.ring.get()
    }

    fn count(&self, slice: u64) -> u64 {
        self.counts.as_ref().get(num::remainder(slice, self.ring)).copied().unwrap_or(0)
    }

    /// The total when `current` is the newest slice. O(slices).
    fn total_at(&self, current: u64) -> u128 {
        let mut total = self.total;
        if current == self.clock.current {
            return total;
        }
        for slice in self.held() {
            if !self.counts_at(slice, current) {
                total = total.saturating_sub(num::widen(self.count(slice)));
            }
        }
        total
    }

    /// The slices that have a count, oldest first.
    fn held(&self) -> core::ops::RangeInclusive<u64> {
        let newest = self.clock.current;
        newest.saturating_sub(self.ring.get().saturating_sub(1))..=newest
    }

    /// When a slice no longer counts.
    fn gone_at(&self, slice: u64) -> Option<Timestamp> {
        self.clock.start_of(num::widen(slice).saturating_add(num::widen(self.ring.get())))
    }

    fn decide(&self, current: u64, cost: u64) -> Result<(), Refused> {
        let Some(threshold) = self.ceiling.threshold(cost) else {
            return Err(Refused::because(Reason::ExceedsCapacity));
        };
        let total = self.total_at(current);
        let mut excess = total.saturating_sub(threshold);
        if excess == 0 {
            return Ok(());
        }
        // The oldest slices go first: the one whose going makes room says when.
        let mut retry_at = None;
        for slice in self.held().filter(|&slice| self.counts_at(slice, current)) {
            excess = excess.saturating_sub(num::widen(self.count(slice)));
            if excess == 0 {
                retry_at = self.gone_at(slice);
                break;
            }
        }
        Err(Refused::until(self.ceiling.reason(total), retry_at))
    }

    fn advance(&mut self, now: Timestamp) {
        let current = self.clock.slice_at(now);
        if current == self.clock.current {
            return;
        }
        self.total = self.total_at(current);
        for slice in self.held() {
            if !self.counts_at(slice, current)
                && let Some(count) = self.counts.as_mut().get_mut(num::remainder(slice, self.ring))
            {
                *count = 0;
            }
        }
        self.clock.current = current;
    }

    /// Adds to the newest slice as much as a count can hold; the rest is beyond any limit anyway.
    fn take(&mut self, cost: u64) {
        let index = num::remainder(self.clock.current, self.ring);
        if let Some(count) = self.counts.as_mut().get_mut(index) {
            let taken = cost.min(u64::MAX.saturating_sub(*count));
            *count = count.saturating_add(taken);
            self.total = self.total.saturating_add(num::widen(taken));
        }
    }

    /// Asserts I2. O(slices); for tests and debugging.
    pub fn check_invariants(&self) {
        let sum: u128 = self.counts.as_ref().iter().copied().map(num::widen).sum();
        assert_eq!(self.total, sum, "I2: total");
    }
}

impl<S: Storage> RateLimit for SlidingWindow<S> {
    fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        self.decide(self.clock.slice_at(now), cost)
    }

    fn try_acquire(&mut self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        self.advance(now);
        self.decide(self.clock.current, cost)?;
        self.take(cost);
        Ok(())
    }

    fn charge(&mut self, now: Timestamp, cost: u64) {
        self.advance(now);
        self.take(cost);
    }

    /// Gives back in the slice of the grant, as long as it counts.
    fn refund(&mut self, now: Timestamp, cost: u64, granted_at: Timestamp) {
        self.advance(now);
        let slice = self.clock.raw_slice(granted_at);
        if !self.counts_at(slice, self.clock.current) {
            return;
        }
        if let Some(count) = self.counts.as_mut().get_mut(num::remainder(slice, self.ring)) {
            // A count at its end may stand for more than it can say: nothing of that comes back.
            let back = if *count == u64::MAX { 0 } else { cost.min(*count) };
            *count = count.saturating_sub(back);
            self.total = self.total.saturating_sub(num::widen(back));
        }
    }

    fn available(&self, now: Timestamp) -> u64 {
        self.ceiling.left(self.used_at(now))
    }
}

impl<S: Storage> core::fmt::Debug for SlidingWindow<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SlidingWindow")
            .field("ceiling", &self.ceiling)
            .field("clock", &self.clock)
            .field("counts", &self.counts.as_ref())
            .finish()
    }
}
