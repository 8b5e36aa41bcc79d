//! What [`Limiter::try_admit`](super::Limiter::try_admit) answers: a [`Ticket`], or a [`Refusal`].

use core::time::Duration;

use crate::adapt::partition::Held;
use crate::error::Reason;
use crate::time::Timestamp;

/// A request that was let in. Give it to [`Limiter::complete`](super::Limiter::complete) when it has ended, which takes
/// it away: no request ends twice.
///
/// ```compile_fail,E0382
/// # use tollgate::Timestamp;
/// # use tollgate::adapt::{Estimator, Limiter, Outcome, Ticket};
/// # use tollgate::slots::Inline;
/// fn twice<E: Estimator>(now: Timestamp, limiter: &mut Limiter<E, Inline<1>>, ticket: Ticket) {
///     let first = limiter.complete(now, ticket, Outcome::Success);
///     let second = limiter.complete(now, ticket, Outcome::Success);
/// }
/// ```
#[derive(Debug)]
#[must_use = "a ticket that is not completed counts as in flight for good"]
pub struct Ticket {
    pub(super) started: Timestamp,
    pub(super) weight: u32,
    /// In flight when it came in, itself included.
    pub(super) in_flight: u32,
    pub(super) kind: Kind,
}

#[derive(Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The limiter was disabled.
    Free,
    /// Let in past the limit.
    Untracked,
    /// Within the limit, held by a partition or the unknown.
    Tracked(Held),
}

impl Ticket {
    /// How many permits it stands for.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        self.weight
    }

    /// Whether it takes up a share of the limit.
    #[must_use]
    pub const fn is_tracked(&self) -> bool {
        matches!(self.kind, Kind::Tracked(_))
    }
}

/// A request that was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// [`Reason::NoPermits`], or [`Reason::ExceedsLimit`] for a weight above the limit; those that are built on this one
    /// have reasons of their own.
    pub reason: Reason,
    /// How long to hold the client back before it is told; `None` to tell it at once.
    pub pause: Option<Duration>,
    /// When coming back may be worth it; `None` while nothing is known.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal that asks nobody to wait and promises nothing, for limiters built on this one.
    ///
    /// ```
    /// use tollgate::Reason;
    /// use tollgate::adapt::Refusal;
    ///
    /// assert_eq!(Refusal::because(Reason::QueueFull).retry_after, None);
    /// ```
    #[must_use]
    pub const fn because(reason: Reason) -> Self {
        Self { reason, pause: None, retry_after: None }
    }
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.retry_after {
            Some(after) => write!(f, "refused: {}; try again in about {after:?}", self.reason),
            None => write!(f, "refused: {}", self.reason),
        }
    }
}

impl core::error::Error for Refusal {}
