//! [`Request`]: what one request costs and needs; [`Rejection`]: which limit said no.

use core::fmt;
use core::time::Duration;

use super::Bypass;
use crate::error::{Reason, Refused};
use crate::permit::{self, InFlightRefused};
use crate::rate::Denied;
use crate::rate::rules::{self, GroupId, TierId};

/// What one request costs and needs, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a, Q: ?Sized> {
    /// Whose it is.
    pub owner: &'a Q,
    /// The tier its owner has now.
    pub tier: Option<TierId>,
    /// The group of requests it belongs to.
    pub group: GroupId,
    /// What it consumes, in the order in which it is looked at: the request count first.
    pub costs: &'a [(rules::Dimension, u64)],
    /// Whom it counts for while it is in flight, in the order in which they are asked.
    pub slots: &'a [(permit::Dimension, &'a Q)],
    /// What it is exempt from.
    pub bypass: Bypass,
}

impl<'a, Q: ?Sized> Request<'a, Q> {
    /// A request of an owner, without tier, costs, slots or exemption.
    #[must_use]
    pub const fn of(owner: &'a Q, group: GroupId) -> Self {
        Self { owner, tier: None, group, costs: &[], slots: &[], bypass: Bypass::None }
    }

    /// In this tier.
    #[must_use]
    pub const fn tier(mut self, tier: TierId) -> Self {
        self.tier = Some(tier);
        self
    }

    /// With these costs, the request count first.
    #[must_use]
    pub const fn costs(mut self, costs: &'a [(rules::Dimension, u64)]) -> Self {
        self.costs = costs;
        self
    }

    /// Counting for these while it is in flight.
    #[must_use]
    pub const fn slots(mut self, slots: &'a [(permit::Dimension, &'a Q)]) -> Self {
        self.slots = slots;
        self
    }

    /// Exempt from this.
    #[must_use]
    pub const fn bypass(mut self, bypass: Bypass) -> Self {
        self.bypass = bypass;
        self
    }
}

/// The limit that refused a request. Nothing was consumed, nothing is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Rejection {
    /// A rate or a budget.
    Limit(Denied),
    /// A cap on what is in flight.
    InFlight(InFlightRefused),
    /// No limit: there is no room for its owner's account.
    NoRoom(Refused),
}

impl Rejection {
    /// Why.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Limit(denied) => denied.reason,
            Self::InFlight(refused) => refused.reason,
            Self::NoRoom(refused) => refused.reason,
        }
    }

    /// Whether the same request may pass later with nothing but time or other people's releases: 429 or 503, and not 422.
    #[must_use]
    pub const fn waiting_helps(&self) -> bool {
        self.reason().waiting_helps()
    }

    /// How long to wait, where that is known: exactly for a rate, a hint for a cap.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limit(denied) => denied.clears_in,
            Self::InFlight(refused) => refused.retry_after,
            Self::NoRoom(_) => None,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(denied) => denied.fmt(f),
            Self::InFlight(refused) => refused.fmt(f),
            Self::NoRoom(refused) => refused.fmt(f),
        }
    }
}

impl core::error::Error for Rejection {}

impl From<Denied> for Rejection {
    fn from(denied: Denied) -> Self {
        Self::Limit(denied)
    }
}

impl From<InFlightRefused> for Rejection {
    fn from(refused: InFlightRefused) -> Self {
        Self::InFlight(refused)
    }
}

impl From<Refused> for Rejection {
    fn from(refused: Refused) -> Self {
        Self::NoRoom(refused)
    }
}
