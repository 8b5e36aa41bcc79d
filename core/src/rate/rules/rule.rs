//! [`Rule`]: one limit, as people write it down.

use core::time::Duration;

use super::Dimension;
use crate::num;
use crate::rate::{Overshoot, Policy, Quota};
use crate::time::Timestamp;

/// A rule's number, the caller's: a database key, say.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RuleId(pub u64);

/// A tier's number, the caller's.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TierId(pub u32);

/// The number of a group of requests that have limits of their own (an endpoint), the caller's.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GroupId(pub u32);

/// Whom a rule is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Target<K> {
    /// One owner. Wins over its tier and the defaults.
    Owner(K),
    /// Everybody of a tier. Wins over the defaults.
    Tier(TierId),
    /// Everybody else.
    Default,
}

impl<K> Target<K> {
    /// The same without owning the key.
    pub const fn as_ref(&self) -> Target<&K> {
        match self {
            Self::Owner(owner) => Target::Owner(owner),
            Self::Tier(tier) => Target::Tier(*tier),
            Self::Default => Target::Default,
        }
    }
}

/// How a rule counts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// A token bucket: the limit accrues evenly over the window. See [`TokenBucket`](crate::rate::TokenBucket).
    Bucket {
        /// What may be used at once; the limit, if none is given.
        burst: Option<u64>,
    },
    /// All comes back at the edge of a window aligned to [`Timestamp::ZERO`]. See [`FixedWindow`](crate::rate::FixedWindow).
    Fixed,
    /// Never more than the limit in *any* window. See [`SlidingWindow`](crate::rate::SlidingWindow).
    Sliding {
        /// Parts in which the window is counted, 1 to 15.
        slices: u32,
    },
    /// A quota that nothing refills: only an operator [resets](crate::rate::Limits::reset) it. The window is a name.
    Allowance,
}

/// What happens to a request that fits the limit but not what is left of it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum RuleOvershoot {
    /// It is refused: right where the amount is known beforehand.
    #[default]
    Deny,
    /// It passes if nothing is owed and the excess stays within the allowed debt, and everything is refused until it is
    /// repaid: right where the amount is known only afterwards.
    Lock {
        /// The largest debt, in millionths of the limit, rounded down.
        max_debt_ppm: u32,
    },
}

/// One limit; see the [module](super).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule<K> {
    /// Its number.
    pub id: RuleId,
    /// For whom.
    pub target: Target<K>,
    /// On which requests.
    pub group: GroupId,
    /// On what.
    pub dimension: Dimension,
    /// How much, in the unit of the dimension.
    pub limit: u64,
    /// Over how long.
    pub window: Duration,
    /// Counted how.
    pub strategy: Strategy,
    /// What happens at the limit.
    pub overshoot: RuleOvershoot,
    /// From when; always, if not given.
    pub starts: Option<Timestamp>,
    /// Until when, not included; for ever, if not given.
    pub expires: Option<Timestamp>,
}

impl<K> Rule<K> {
    /// A bucket of that limit that denies, always in force.
    #[must_use]
    pub const fn new(
        id: RuleId,
        target: Target<K>,
        group: GroupId,
        dimension: Dimension,
        limit: u64,
        window: Duration,
    ) -> Self {
        let (strategy, overshoot) = (Strategy::Bucket { burst: None }, RuleOvershoot::Deny);
        Self { id, target, group, dimension, limit, window, strategy, overshoot, starts: None, expires: None }
    }

    /// Whether it holds at an instant.
    #[must_use]
    pub fn in_force(&self, at: Timestamp) -> bool {
        self.starts.is_none_or(|starts| starts <= at) && self.expires.is_none_or(|expires| at < expires)
    }

    pub(crate) const fn terms(&self) -> Terms {
        Terms { limit: self.limit, strategy: self.strategy, overshoot: self.overshoot }
    }
}

/// What of a rule a meter has to know, besides the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Terms {
    pub(crate) limit: u64,
    pub(crate) strategy: Strategy,
    pub(crate) overshoot: RuleOvershoot,
}

impl Terms {
    pub(crate) fn overshoot(&self) -> Overshoot {
        match self.overshoot {
            RuleOvershoot::Deny => Overshoot::Deny,
            RuleOvershoot::Lock { .. } => Overshoot::Lock { max_debt: num::narrow(self.max_debt()) },
        }
    }

    pub(crate) fn max_debt(&self) -> u128 {
        const MILLION: core::num::NonZeroU128 = core::num::NonZeroU128::new(1_000_000).unwrap();
        match self.overshoot {
            RuleOvershoot::Deny => 0,
            RuleOvershoot::Lock { max_debt_ppm } => {
                num::product(self.limit, num::from_u32(max_debt_ppm)) / MILLION
            }
        }
    }

    /// The burst of a bucket, the limit of anything else.
    pub(crate) const fn capacity(&self) -> u64 {
        match self.strategy {
            Strategy::Bucket { burst: Some(burst) } => burst,
            _ => self.limit,
        }
    }

    /// Whether one machine can go on under both.
    pub(crate) fn counts_like(&self, other: Self) -> bool {
        match (self.strategy, other.strategy) {
            (Strategy::Sliding { slices }, Strategy::Sliding { slices: others }) => slices == others,
            (one, other) => core::mem::discriminant(&one) == core::mem::discriminant(&other),
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy { overshoot: self.overshoot(), ..Policy::default() }
    }

    pub(crate) const fn quota(&self, window: Duration) -> Quota {
        Quota::new(self.limit, window).burst(self.capacity())
    }
}
