//! What both windows have in common: time in slices, and how much is too much.

use core::num::NonZeroU64;
use core::time::Duration;

use crate::error::{Reason, Rules};
use crate::num;
use crate::rate::Overshoot;
use crate::time::Timestamp;

/// Time cut into slices of equal length.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Slices {
    pub(super) length: NonZeroU64,
    pub(super) origin: Timestamp,
    /// The newest slice seen; time never goes back.
    pub(super) current: u64,
}

impl Slices {
    /// The slice `at` falls into. Instants before the origin fall into the first.
    pub(super) fn raw_slice(&self, at: Timestamp) -> u64 {
        at.as_nanos().saturating_sub(self.origin.as_nanos()) / self.length
    }

    pub(super) fn slice_at(&self, now: Timestamp) -> u64 {
        self.raw_slice(now).max(self.current)
    }

    pub(super) fn start_of(&self, slice: u128) -> Option<Timestamp> {
        let offset = slice.checked_mul(num::widen(self.length.get()))?;
        self.origin.checked_add_nanos(offset)
    }
}

/// The limit of a window, and what may be used beyond it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ceiling {
    pub(super) limit: NonZeroU64,
    pub(super) overshoot: Overshoot,
}

impl Ceiling {
    /// Nothing above `u64::MAX` can be used up by grants.
    pub(super) fn checked(rules: &mut Rules, limit: u64, overshoot: Overshoot) -> Option<Self> {
        rules.require(limit > 0, "limit", limit, "1 or more");
        if let Overshoot::Lock { max_debt } = overshoot {
            rules.require(
                limit.checked_add(max_debt).is_some(),
                "overshoot.max_debt",
                max_debt,
                "at most 18446744073709551615 together with the limit",
            );
        }
        Some(Self { limit: NonZeroU64::new(limit)?, overshoot })
    }

    /// The most that may be used already where `cost` passes; `None` where it never does.
    pub(super) fn threshold(&self, cost: u64) -> Option<u128> {
        let limit = self.limit.get();
        let left = match self.overshoot {
            Overshoot::Deny => limit.checked_sub(cost),
            Overshoot::Lock { max_debt } => {
                limit.saturating_add(max_debt).checked_sub(cost).map(|left| left.min(limit))
            }
        };
        left.map(num::widen)
    }

    /// The largest cost that passes when so much is used.
    pub(super) fn grantable(&self, used: u128) -> u64 {
        match self.overshoot {
            Overshoot::Lock { max_debt } if used <= num::widen(self.limit.get()) => {
                num::narrow(num::widen(self.limit.get().saturating_add(max_debt)).saturating_sub(used))
            }
            _ => self.left(used),
        }
    }

    /// What is left of the limit when so much is used.
    pub(super) fn left(&self, used: u128) -> u64 {
        num::narrow(num::widen(self.limit.get()).saturating_sub(used))
    }

    pub(super) fn reason(&self, used: u128) -> Reason {
        if used > num::widen(self.limit.get()) { Reason::InDebt } else { Reason::RateExceeded }
    }
}

/// The length of one of `slices` parts of a window, in nanoseconds.
pub(super) fn checked_slice(rules: &mut Rules, length: Duration, slices: NonZeroU64) -> Option<NonZeroU64> {
    let nanos = length.as_nanos();
    rules.require(
        nanos >= num::widen(slices.get()) && nanos <= num::widen(u64::MAX),
        "length",
        nanos,
        "1 ns for each slice to 18446744073709551615 ns (584 years)",
    );
    NonZeroU64::new(num::narrow(num::div_ceil(num::widen(num::nanos(length)), slices)))
}
