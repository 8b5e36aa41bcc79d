//! How fast? Limits on cost per time.
//!
//! | machine | shared by | holds | granted in any interval of length T |
//! | --- | --- | --- | --- |
//! | [`TokenBucket`] | one owner, `&mut self` | exact; debt, reservations, refunds, quota changes | ≤ burst + rate·T (+ `max_debt`) |
//! | [`AtomicBucket`] | threads, `&self`, lock-free | grants and refusals | ≤ burst + rate·T |
//! | [`Keyed`] | one owner, `&mut self` | a token bucket for each of many keys, in bounded memory | ≤ burst + rate·T for each key |
//! | [`ShardedKeyed`] | threads, `&self`, a lock for each shard | the same | the same |
//! | [`FixedWindow`] | one owner, `&mut self` | a count per aligned window | ≤ limit in each window, so ≤ 2·limit across an edge |
//! | [`SlidingWindow`] | one owner, `&mut self` | a count per slice of a window | ≤ limit in *any* window |
//! | [`Limits`] | one owner, `&mut self` | rules in several dimensions for many owners, by sessions | what each rule's strategy says |
//!
//! All of them store what is *consumed*; the quota is policy applied when comparing. [`RateLimit`] is what they have
//! in common. Costs are `u64` in any unit: requests, bytes, tokens of a language model.

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub mod atomic;
pub mod bucket;
#[cfg(feature = "alloc")]
pub mod keyed;
#[cfg(feature = "alloc")]
pub mod limits;
pub mod quota;
#[cfg(feature = "alloc")]
pub mod rules;
#[cfg(feature = "alloc")]
pub mod session;
#[cfg(any(feature = "alloc", target_has_atomic = "64", feature = "portable-atomic"))]
mod units;
pub mod window;

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use atomic::AtomicBucket;
pub use bucket::{BucketState, Inherit, Overshoot, Oversize, Policy, Reservation, TokenBucket};
#[cfg(feature = "std")]
pub use keyed::ShardedKeyed;
#[cfg(feature = "alloc")]
pub use keyed::{Keyed, KeyedReservation, KeyedSnapshot, WhenFull};
#[cfg(feature = "alloc")]
pub use limits::{AccountId, Denied, Limits, LimitsSettings, LimitsSnapshot, WindowState};
pub use quota::Quota;
#[cfg(feature = "alloc")]
pub use session::{Blame, Session};
pub use window::{FixedWindow, SlidingWindow};

use crate::error::Refused;
use crate::time::Timestamp;

/// What every rate limit of one owner can do, so that a rule may name its strategy.
pub trait RateLimit {
    /// Whether `cost` would be granted at `now`. Consumes nothing, changes nothing.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused>;

    /// Consumes `cost`, all of it or nothing.
    ///
    /// # Errors
    /// A [`Refused`] with the exact instant at which the same request passes if nobody else comes.
    fn try_acquire(&mut self, now: Timestamp, cost: u64) -> Result<(), Refused>;

    /// Consumes `cost` whatever is left: work that already happened. What exceeds the quota is repaid first.
    fn charge(&mut self, now: Timestamp, cost: u64);

    /// Gives back `cost` granted at `granted_at`, as far as time has not given it back already: a refund never makes
    /// room that the passage of time made before, so the law of the limit also holds for the work that really ran.
    fn refund(&mut self, now: Timestamp, cost: u64, granted_at: Timestamp);

    /// The largest cost that would be granted at `now` without any overshoot.
    fn available(&self, now: Timestamp) -> u64;
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_behind_the_trait_is_the_same_bucket() {
        let at = Timestamp::from_nanos;
        let mut itself = TokenBucket::new(Quota::per_second(1).burst(5)).unwrap();
        let mut behind: TokenBucket = itself.clone();
        let limit: &mut dyn RateLimit = &mut behind;
        itself.charge(at(1), 7);
        limit.charge(at(1), 7);
        assert_eq!((limit.available(at(1)), limit.peek(at(1), 1)), (0, itself.peek(at(1), 1)));
        itself.refund(at(1), 6, at(1));
        limit.refund(at(1), 6, at(1));
        assert_eq!((limit.available(at(1)), itself.available(at(1))), (4, 4));
        assert_eq!(limit.try_acquire(at(1), 5), itself.try_acquire(at(1), 5));
        assert_eq!(limit.try_acquire(at(1), 3), itself.try_acquire(at(1), 3));
        let later = at(1).saturating_add(Duration::from_secs(2));
        assert_eq!((limit.available(later), itself.available(later)), (3, 3));
    }

    #[test]
    fn at_the_end_of_time_nothing_is_given_back_since_the_quota_may_have_changed() {
        let mut bucket = TokenBucket::new(Quota::per_second(1).burst(5)).unwrap();
        bucket.try_acquire(Timestamp::MAX, 5).unwrap();
        bucket.set_quota(Timestamp::MAX, Quota::per_second(1).burst(5), Inherit::Reset).unwrap();
        bucket.try_acquire(Timestamp::MAX, 2).unwrap();
        bucket.refund(Timestamp::MAX, 5, Timestamp::MAX);
        assert_eq!(bucket.available(Timestamp::MAX), 3);
    }
}
