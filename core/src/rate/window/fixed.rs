//! [`FixedWindow`]: a count per window aligned to an origin.

use core::num::NonZeroU64;
use core::time::Duration;

use super::slices::{Ceiling, Slices, checked_slice};
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::rate::{Overshoot, RateLimit};
use crate::time::Timestamp;

/// At most `limit` in each window aligned to an origin; see the [module](super).
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
    ceiling: Ceiling,
    clock: Slices,
    used: u128,
}

impl FixedWindow {
    /// Windows of `length`, one of which starts at `origin`, that deny what does not fit.
    ///
    /// # Errors
    /// `limit` 0; `length` 0 or above 584 years.
    pub fn new(limit: u64, length: Duration, origin: Timestamp) -> Result<Self, ConfigError> {
        Self::with_overshoot(limit, length, origin, Overshoot::Deny)
    }

    /// The same with its own way of treating what does not fit.
    ///
    /// # Errors
    /// As [`new`](Self::new); also `limit` + `max_debt` beyond `u64::MAX`.
    pub fn with_overshoot(
        limit: u64,
        length: Duration,
        origin: Timestamp,
        overshoot: Overshoot,
    ) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        let ceiling = Ceiling::checked(&mut rules, limit, overshoot);
        let length = checked_slice(&mut rules, length, NonZeroU64::MIN);
        let (ceiling, length) = rules.accept(ceiling.zip(length))?;
        Ok(Self { ceiling, clock: Slices { length, origin, current: 0 }, used: 0 })
    }

    /// Changes the limit at `now`: what is used stays used, and what is owed was repaid at the old limit until then.
    ///
    /// # Errors
    /// As [`with_overshoot`](Self::with_overshoot); nothing is changed.
    pub fn set_limit(&mut self, now: Timestamp, limit: u64, overshoot: Overshoot) -> Result<(), ConfigError> {
        let mut rules = Rules::new();
        let ceiling = Ceiling::checked(&mut rules, limit, overshoot);
        let ceiling = rules.accept(ceiling)?;
        self.advance(now);
        self.ceiling = ceiling;
        Ok(())
    }

    /// The largest cost that would pass at `now`, overshoot included.
    #[must_use]
    pub fn grantable(&self, now: Timestamp) -> u64 {
        self.ceiling.grantable(self.used_at(now))
    }

    /// What is used of the window `now` falls into, with what is owed to those before it.
    #[must_use]
    pub fn used_at(&self, now: Timestamp) -> u128 {
        self.used_in(self.clock.slice_at(now))
    }

    /// When nothing is used any more if nothing more is taken; `None` past [`Timestamp::MAX`].
    #[must_use]
    pub fn unused_at(&self, now: Timestamp) -> Option<Timestamp> {
        let slice = self.clock.slice_at(now);
        match num::div_ceil(self.used_in(slice), self.ceiling.limit) {
            0 => Some(now),
            windows => self.clock.start_of(num::widen(slice).saturating_add(windows)),
        }
    }

    /// What stays used when `slice` is the current one: whole limits are repaid, one a window.
    fn used_in(&self, slice: u64) -> u128 {
        let passed = slice.saturating_sub(self.clock.current);
        self.used.saturating_sub(num::product(passed, self.ceiling.limit.get()))
    }

    fn decide(&self, used: u128, slice: u64, cost: u64) -> Result<(), Refused> {
        let Some(threshold) = self.ceiling.threshold(cost) else {
            return Err(Refused::because(Reason::ExceedsCapacity));
        };
        let excess = used.saturating_sub(threshold);
        if excess == 0 {
            return Ok(());
        }
        let windows = num::div_ceil(excess, self.ceiling.limit);
        let retry_at = self.clock.start_of(num::widen(slice).saturating_add(windows));
        Err(Refused::until(self.ceiling.reason(used), retry_at))
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
        self.ceiling.left(self.used_at(now))
    }
}
