//! Giving back what a [`TokenBucket`] granted: never more than time has not given back already.

use super::{BEYOND_COUNT, TokenBucket};
use crate::num;
use crate::time::Timestamp;

/// A cost taken ahead of its time. Act at [`ready_at`](Self::ready_at), or hand it to [`TokenBucket::cancel`] or
/// [`TokenBucket::settle`]; dropping it keeps the cost consumed.
#[derive(Debug, Eq, PartialEq)]
#[must_use = "act at `ready_at`, or cancel it"]
pub struct Reservation {
    pub(super) receipt: Receipt,
    pub(super) ready_at: Timestamp,
}

impl Reservation {
    /// When it may act: not before what accrued covers it.
    #[must_use]
    pub const fn ready_at(&self) -> Timestamp {
        self.ready_at
    }

    /// What it took, in tokens.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.receipt.cost
    }
}

/// What a grant took, and where it stands among the grants of its limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Receipt {
    /// What is left of it to give back.
    pub(crate) cost: u64,
    pub(crate) granted_at: Timestamp,
    /// The bucket's count of granted cost just after this grant; windows need none.
    pub(crate) position: u128,
}

impl TokenBucket {
    /// Gives a reservation back, as far as time has not; the [module](super) says when that is exact. O(1).
    pub fn cancel(&mut self, now: Timestamp, reservation: Reservation) {
        self.settle(now, reservation, 0);
    }

    /// Corrects a reservation to what it really cost, in tokens: gives the difference back as [`cancel`](Self::cancel)
    /// does, or [charges](Self::charge) it. O(1).
    pub fn settle(&mut self, now: Timestamp, reservation: Reservation, actual: u64) {
        let Reservation { mut receipt, .. } = reservation;
        match receipt.cost.checked_sub(actual) {
            Some(excess) => self.return_part(now, &mut receipt, excess),
            None => self.charge(now, actual.saturating_sub(receipt.cost)),
        }
    }

    /// Gives back `cost` tokens granted at `granted_at`, for callers without a [`Reservation`]: never more than what
    /// time has not given back already, and nothing if the quota changed in between. O(1).
    pub fn refund(&mut self, now: Timestamp, cost: u64, granted_at: Timestamp) {
        self.advance(now);
        // At the end of time, `quota_since` cannot tell grants before a change from those after.
        if granted_at >= self.quota_since && granted_at < Timestamp::MAX {
            self.give_back(self.outstanding(cost, granted_at));
        }
    }

    /// [Charges](Self::charge) `cost` and says at which position of a [`Receipt`] it stands. O(1).
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn charge_on_account(&mut self, now: Timestamp, cost: u64) -> u128 {
        self.advance(now);
        self.take(cost);
        self.granted
    }

    /// Gives back `excess` tokens of what a receipt is for, as far as time has not; the receipt is for the rest. O(1).
    pub(crate) fn return_part(&mut self, now: Timestamp, receipt: &mut Receipt, excess: u64) {
        self.advance(now);
        let Receipt { cost, granted_at, position } = *receipt;
        let excess = excess.min(cost);
        receipt.cost = cost.saturating_sub(excess);
        if position <= self.rebased {
            return;
        }
        let later =
            self.granted.saturating_sub(position).saturating_mul(num::widen(self.terms.period_ns.get()));
        let behind = self.level.saturating_sub(later).min(self.units(cost));
        let unpaid = if position <= self.changed { 0 } else { self.outstanding(cost, granted_at) };
        let outstanding = behind.max(unpaid);
        let back = self.units(excess).min(outstanding);
        self.give_back(back);
        if later == 0 && back == self.units(excess) {
            self.granted = self.granted.saturating_sub(num::widen(excess));
            // Whatever is granted next is granted under the present quota.
            self.changed = self.changed.min(self.granted);
            receipt.position = position.min(self.granted);
        }
    }

    pub(super) fn receipt(&self, cost: u64) -> Receipt {
        Receipt { cost, granted_at: self.last, position: self.granted }
    }

    fn give_back(&mut self, units: u128) {
        if self.level != BEYOND_COUNT {
            self.level = self.level.saturating_sub(units);
        }
    }

    /// At least this much of `cost` granted at `granted_at` has not been given back by time, in units.
    fn outstanding(&self, cost: u64, granted_at: Timestamp) -> u128 {
        let elapsed = self.last.as_nanos().saturating_sub(granted_at.as_nanos());
        self.units(cost).saturating_sub(num::product(elapsed, self.terms.tokens.get()))
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::rate::Quota;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn what_is_returned_in_parts_is_returned_once() {
        let mut bucket = TokenBucket::new(Quota::per_second(10).burst(20)).unwrap();
        let before = bucket.clone();
        let position = bucket.charge_on_account(at(0), 15);
        let mut receipt = Receipt { cost: 15, granted_at: at(0), position };
        bucket.return_part(at(0), &mut receipt, 5);
        assert_eq!((bucket.available(at(0)), receipt.cost), (10, 10));
        bucket.return_part(at(0), &mut receipt, 99);
        assert_eq!((&bucket, receipt.cost), (&before, 0));
        bucket.return_part(at(0), &mut receipt, 99);
        assert_eq!(bucket, before);
    }

    #[test]
    fn what_was_granted_later_stays_behind_what_is_left_of_a_returned_part() {
        let mut bucket = TokenBucket::new(Quota::new(1, Duration::from_nanos(1)).burst(20)).unwrap();
        let position = bucket.charge_on_account(at(0), 5);
        let mut receipt = Receipt { cost: 5, granted_at: at(0), position };
        bucket.charge(at(0), 3);
        bucket.return_part(at(0), &mut receipt, 2);
        assert_eq!(bucket.state(at(0)).consumed, 6);
        bucket.return_part(at(2), &mut receipt, 3);
        assert_eq!(
            bucket.state(at(2)).consumed,
            3,
            "two of its last three had accrued, one was left to return"
        );
    }

    #[test]
    fn what_is_left_of_a_returned_part_stands_before_what_was_granted_later() {
        let mut bucket = TokenBucket::new(Quota::new(1, Duration::from_nanos(1)).burst(20)).unwrap();
        let position = bucket.charge_on_account(at(0), 5);
        let mut receipt = Receipt { cost: 5, granted_at: at(0), position };
        bucket.return_part(at(0), &mut receipt, 3);
        bucket.charge(at(0), 4);
        assert_eq!(bucket.state(at(3)).consumed, 3);
        bucket.return_part(at(3), &mut receipt, 2);
        assert_eq!(bucket.state(at(3)).consumed, 3, "the first two of the three that accrued were its own");
    }
}
