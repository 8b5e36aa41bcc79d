//! What a [`TokenBucket`](super::TokenBucket) is told about what does not fit, and what it tells of itself.

use crate::time::Timestamp;

/// What happens to a request that fits the capacity but not what is left.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Overshoot {
    /// Refused until it fits.
    #[default]
    Deny,
    /// Granted if the bucket is not in debt and the excess stays within `max_debt`; the excess becomes debt, and
    /// everything is refused until time has repaid it.
    Lock {
        /// The largest debt, in tokens.
        max_debt: u64,
    },
}

/// What happens to a request that can never fit.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Oversize {
    /// Refused with [`Reason::ExceedsCapacity`](crate::Reason::ExceedsCapacity): waiting will not help.
    #[default]
    Refuse,
    /// Granted when the bucket is full, going into debt for the rest.
    WhenFull,
}

/// How a bucket treats what does not fit.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Policy {
    /// Requests that fit the capacity but not what is left.
    pub overshoot: Overshoot,
    /// Requests that can never fit.
    pub oversize: Oversize,
}

/// What happens to the level when the quota changes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Inherit {
    /// Tokens consumed stay consumed, tokens owed stay owed.
    AsIs,
    /// The share of the burst that is consumed stays the same, rounded up by less than a token.
    Proportional,
    /// The bucket is full, all debt forgiven.
    Reset,
}

/// A bucket's state at an instant, in whole tokens; what is left is rounded down, what is owed up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BucketState {
    /// The burst: what a full bucket holds.
    pub capacity: u64,
    /// What [`try_acquire`](super::TokenBucket::try_acquire) would grant without overshooting.
    pub available: u64,
    /// Consumed and not yet accrued again, debt included.
    pub consumed: u64,
    /// What is consumed beyond the burst.
    pub debt: u64,
    /// When the bucket is full again if nothing more is taken; `None` past [`Timestamp::MAX`].
    pub full_at: Option<Timestamp>,
}
