//! Counters over windows of time: [`FixedWindow`] and [`SlidingWindow`].
//!
//! **Problem.** Some limits are said as "N in a minute" and meant so: a token bucket of burst N lets nearly 2·N
//! through in a minute that begins after a pause.
//!
//! | | counts | granted in any window of the length | comes back |
//! | --- | --- | --- | --- |
//! | [`FixedWindow`] | per window aligned to an origin | ≤ 2·limit (limit on each side of an edge) | all at the edge |
//! | [`SlidingWindow`] | per slice, `slices` to a window | ≤ limit, strictly | between one window and one window + slice after the grant |
//!
//! A sliding window that knew each grant's instant would need memory for each; slices bound it. The slice a grant
//! fell into is counted until no instant of it is within the window any more, so the limit is never exceeded, and the
//! price is that a token comes back up to one slice late.
//!
//! **Invariants.** **I1** counts only change by grants, charges, refunds and time; **I2** a window's total is the sum of
//! its slices; **I3** a refusal changes nothing but time.
//!
//! **Work** `FixedWindow` O(1), `SlidingWindow` O(slices). **Memory** a few words, and one `u64` a slice.

use core::num::NonZeroU64;
use core::time::Duration;

use super::RateLimit;
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::slots::{Buffer, Storage};
use crate::time::Timestamp;

/// At most `limit` in each window aligned to an origin; see the [module](self).
///
/// What is charged beyond the limit stays owed to the windows that follow.
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::rate::{FixedWindow, RateLimit};
///
/// let mut window = FixedWindow::new(2, Duration::from_secs(60), Timestamp::ZERO)?;
/// let now = Timestamp::ZERO.saturating_add(Duration::from_secs(59));
/// window.try_acquire(now, 2)?;
/// let refused = window.try_acquire(now, 1).unwrap_err();
/// assert_eq!(refused.retry_at.unwrap().saturating_since(now), Duration::from_secs(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FixedWindow {
    limit: NonZeroU64,
    clock: Slices,
    used: u128,
}

impl FixedWindow {
    /// Windows of `length`, one of which starts at `origin`.
    ///
    /// # Errors
    /// `limit` 0; `length` 0 or above 584 years.
    pub fn new(limit: u64, length: Duration, origin: Timestamp) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        let checked = check(&mut rules, limit, length, NonZeroU64::MIN);
        let (limit, length) = rules.accept(checked)?;
        Ok(Self { limit, clock: Slices { length, origin, current: 0 }, used: 0 })
    }

    /// What stays used when `slice` is the current one: whole limits are repaid, one a window.
    fn used_in(&self, slice: u64) -> u128 {
        let passed = slice.saturating_sub(self.clock.current);
        self.used.saturating_sub(num::product(passed, self.limit.get()))
    }

    fn decide(&self, used: u128, slice: u64, cost: u64) -> Result<(), Refused> {
        if cost > self.limit.get() {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let excess = used.saturating_add(num::widen(cost)).saturating_sub(num::widen(self.limit.get()));
        if excess == 0 {
            return Ok(());
        }
        let windows = num::div_ceil(excess, self.limit);
        let owed = used > num::widen(self.limit.get());
        let reason = if owed { Reason::InDebt } else { Reason::RateExceeded };
        Err(Refused::until(reason, self.clock.start_of(num::widen(slice).saturating_add(windows))))
    }

    fn advance(&mut self, now: Timestamp) {
        let slice = self.clock.slice_at(now);
        self.used = self.used_in(slice);
        self.clock.current = slice;
    }
}

impl RateLimit for FixedWindow {
    fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        let slice = self.clock.slice_at(now);
        self.decide(self.used_in(slice), slice, cost)
    }

    fn try_acquire(&mut self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        self.advance(now);
        self.decide(self.used, self.clock.current, cost)?;
        self.used = self.used.saturating_add(num::widen(cost));
        Ok(())
    }

    fn charge(&mut self, now: Timestamp, cost: u64) {
        self.advance(now);
        self.used = self.used.saturating_add(num::widen(cost));
    }

    /// Gives back only in the window of the grant: later ones never counted it.
    fn refund(&mut self, now: Timestamp, cost: u64, granted_at: Timestamp) {
        self.advance(now);
        if self.clock.raw_slice(granted_at) == self.clock.current {
            self.used = self.used.saturating_sub(num::widen(cost));
        }
    }

    fn available(&self, now: Timestamp) -> u64 {
        let used = self.used_in(self.clock.slice_at(now));
        num::narrow(num::widen(self.limit.get()).saturating_sub(used))
    }
}

/// At most `limit` in *any* window of a length; see the [module](self).
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
    limit: NonZeroU64,
    clock: Slices,
    /// `slices + 1` counts; slice number s lives at s modulo that.
    counts: S::Buffer<u64>,
    ring: NonZeroU64,
    total: u128,
}

impl<S: Storage> SlidingWindow<S> {
    /// A window of `length` counted in `slices` parts, each rounded up to a whole nanosecond. Needs storage for
    /// `slices + 1` counts.
    ///
    /// # Errors
    /// `limit` 0; `length` 0, shorter than `slices` nanoseconds or above 584 years; `slices` 0 or more than the storage
    /// holds.
    pub fn new(limit: u64, length: Duration, slices: u32) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        rules.require(slices > 0, "slices", slices, "1 slice or more");
        let divisor = NonZeroU64::new(num::from_u32(slices)).unwrap_or(NonZeroU64::MIN);
        let checked = check(&mut rules, limit, length, divisor);
        let (limit, length) = rules.accept(checked)?;
        let room = slices.saturating_add(1);
        let mut counts = S::buffer(room)?;
        for _ in 0..room {
            // The buffer was made for as many.
            let _full = counts.push(0_u64);
        }
        let ring = NonZeroU64::new(num::from_u32(room)).unwrap_or(NonZeroU64::MIN);
        let clock = Slices { length, origin: Timestamp::ZERO, current: 0 };
        Ok(Self { limit, clock, counts, ring, total: 0 })
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

    fn decide(&self, current: u64, cost: u64) -> Result<(), Refused> {
        let limit = num::widen(self.limit.get());
        if cost > self.limit.get() {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let total = self.total_at(current);
        let mut excess = total.saturating_add(num::widen(cost)).saturating_sub(limit);
        if excess == 0 {
            return Ok(());
        }
        // The oldest slices go first: the one whose going makes room says when.
        let mut retry_at = None;
        for slice in self.held().filter(|&slice| self.counts_at(slice, current)) {
            excess = excess.saturating_sub(num::widen(self.count(slice)));
            if excess == 0 {
                retry_at = self.clock.start_of(num::widen(slice).saturating_add(num::widen(self.ring.get())));
                break;
            }
        }
        let reason = if total > limit { Reason::InDebt } else { Reason::RateExceeded };
        Err(Refused::until(reason, retry_at))
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
        let total = self.total_at(self.clock.slice_at(now));
        num::narrow(num::widen(self.limit.get()).saturating_sub(total))
    }
}

impl<S: Storage> core::fmt::Debug for SlidingWindow<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SlidingWindow")
            .field("limit", &self.limit)
            .field("clock", &self.clock)
            .field("counts", &self.counts.as_ref())
            .finish()
    }
}

/// Time cut into slices of equal length.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Slices {
    length: NonZeroU64,
    origin: Timestamp,
    /// The newest slice seen; time never goes back.
    current: u64,
}

impl Slices {
    /// The slice `at` falls into. Instants before the origin fall into the first.
    fn raw_slice(&self, at: Timestamp) -> u64 {
        at.as_nanos().saturating_sub(self.origin.as_nanos()) / self.length
    }

    fn slice_at(&self, now: Timestamp) -> u64 {
        self.raw_slice(now).max(self.current)
    }

    fn start_of(&self, slice: u128) -> Option<Timestamp> {
        let offset = slice.checked_mul(num::widen(self.length.get()))?;
        self.origin.checked_add_nanos(offset)
    }
}

/// The limit, and the length of one of `slices` parts of a window, in nanoseconds.
fn check(
    rules: &mut Rules,
    limit: u64,
    length: Duration,
    slices: NonZeroU64,
) -> Option<(NonZeroU64, NonZeroU64)> {
    let nanos = length.as_nanos();
    rules.require(limit > 0, "limit", limit, "1 or more");
    rules.require(
        nanos >= num::widen(slices.get()) && nanos <= num::widen(u64::MAX),
        "length",
        nanos,
        "1 ns for each slice to 18446744073709551615 ns (584 years)",
    );
    let slice = num::narrow(num::div_ceil(num::widen(num::nanos(length)), slices));
    Some((NonZeroU64::new(limit)?, NonZeroU64::new(slice)?))
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
