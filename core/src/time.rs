//! [`Timestamp`]: the one notion of time in the core.
//!
//! A machine that read a clock could not be replayed, tested to the nanosecond or run on a chip without one. So
//! every machine is told the time: nanoseconds since any instant the caller chose, as one `u64` (584 years). A
//! monotonic clock counted from the start of the program is the usual choice; an adapter holds it, the core never
//! does.
//!
//! **The contract of `now`.** A `now` earlier than the latest one a machine has seen counts as equal to the latest:
//! it never panics, never mints credit and never refuses what the latest `now` would have granted. (The lock-free
//! [`AtomicBucket`](crate::rate::AtomicBucket) cannot remember a `now` it did not grant at; it states its own rule.)
//!
//! All arithmetic here saturates: `Timestamp::MAX` plus anything is `Timestamp::MAX`.

use core::fmt;
use core::time::Duration;

use crate::num;

/// An instant: nanoseconds since an epoch of the caller's choice.
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
///
/// let start = Timestamp::ZERO;
/// let later = start.saturating_add(Duration::from_millis(5));
/// assert_eq!(later.as_nanos(), 5_000_000);
/// assert_eq!(later.saturating_since(start), Duration::from_millis(5));
/// assert_eq!(start.saturating_since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be named, 584 years after the epoch.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the epoch.
    #[inline]
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `instant` counted from `epoch`, both read by the caller; [`Timestamp::ZERO`] before the epoch.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use tollgate::Timestamp;
    ///
    /// let epoch = Instant::now(); // once, when the program starts
    /// let later = epoch + Duration::from_millis(3);
    /// assert_eq!(Timestamp::from_instant(later, epoch).as_nanos(), 3_000_000);
    /// ```
    #[cfg(feature = "std")]
    #[inline]
    #[must_use]
    pub fn from_instant(instant: std::time::Instant, epoch: std::time::Instant) -> Self {
        Self(num::nanos(instant.saturating_duration_since(epoch)))
    }

    /// Nanoseconds since the epoch.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// `self + duration`, or [`Timestamp::MAX`] where that lies beyond it.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(num::nanos(duration)))
    }

    /// `self + duration`, or `None` where that lies beyond [`Timestamp::MAX`].
    #[inline]
    #[must_use]
    pub const fn checked_add(self, duration: Duration) -> Option<Self> {
        self.checked_add_nanos(duration.as_nanos())
    }

    /// `self` plus a number of nanoseconds that may be any size, or `None` past [`Timestamp::MAX`].
    #[inline]
    pub(crate) const fn checked_add_nanos(self, nanos: u128) -> Option<Self> {
        match num::widen(self.0).checked_add(nanos) {
            Some(sum) if sum <= num::widen(u64::MAX) => Some(Self(num::narrow(sum))),
            _ => None,
        }
    }

    /// `self - duration`, or [`Timestamp::ZERO`] where that lies before the epoch.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(num::nanos(duration)))
    }

    /// Time from `earlier` to `self`, or zero if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "std")]
    fn an_instant_counts_from_its_epoch_and_as_zero_before_it() {
        let epoch = std::time::Instant::now();
        let later = epoch + Duration::from_nanos(7);
        assert_eq!(Timestamp::from_instant(later, epoch), Timestamp::from_nanos(7));
        assert_eq!(Timestamp::from_instant(epoch, later), Timestamp::ZERO);
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Timestamp::MAX.saturating_add(Duration::from_nanos(1)), Timestamp::MAX);
        assert_eq!(Timestamp::ZERO.saturating_add(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::ZERO.saturating_sub(Duration::MAX), Timestamp::ZERO);
        assert_eq!(Timestamp::ZERO.saturating_since(Timestamp::MAX), Duration::ZERO);
    }

    #[test]
    fn checked_add_tells_the_last_instant_from_one_beyond_it() {
        let last = Duration::from_nanos(u64::MAX);
        assert_eq!(Timestamp::ZERO.checked_add(last), Some(Timestamp::MAX));
        assert_eq!(Timestamp::from_nanos(1).checked_add(last), None);
        assert_eq!(Timestamp::ZERO.checked_add(Duration::MAX), None);
    }
}
