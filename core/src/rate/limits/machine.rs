//! [`Machine`]: the rate limit a rule's strategy names, one interface for all of them.

use core::time::Duration;

use super::allowance::Allowance;
use crate::error::{ConfigError, Refused};
use crate::num;
use crate::rate::bucket::Receipt;
use crate::rate::rules::{MOST_SLICES, Strategy, Terms};
use crate::rate::{FixedWindow, Inherit, RateLimit, SlidingWindow, TokenBucket};
use crate::slots::Inline;
use crate::time::Timestamp;

const RING: usize = MOST_SLICES + 1;

#[derive(Debug)]
pub(in crate::rate) enum Machine {
    Bucket(TokenBucket),
    Fixed(FixedWindow),
    Sliding(SlidingWindow<Inline<RING>>),
    Allowance(Allowance),
}

impl Machine {
    /// An unused one.
    pub(in crate::rate) fn new(terms: Terms, window: Duration) -> Result<Self, ConfigError> {
        let Terms { limit, strategy, .. } = terms;
        let overshoot = terms.overshoot();
        Ok(match strategy {
            Strategy::Bucket { .. } => {
                Self::Bucket(TokenBucket::with_policy(terms.quota(window), terms.policy())?)
            }
            Strategy::Fixed => {
                Self::Fixed(FixedWindow::with_overshoot(limit, window, Timestamp::ZERO, overshoot)?)
            }
            Strategy::Sliding { slices } => {
                Self::Sliding(SlidingWindow::with_overshoot(limit, window, slices, overshoot)?)
            }
            Strategy::Allowance => Self::Allowance(Allowance::new(terms)),
        })
    }

    /// Other terms from `at` on, of the same strategy; what is consumed stays consumed.
    pub(in crate::rate) fn adjust(
        &mut self,
        at: Timestamp,
        terms: Terms,
        window: Duration,
    ) -> Result<(), ConfigError> {
        match self {
            Self::Bucket(bucket) => {
                bucket.reconfigure(at, terms.quota(window), terms.policy(), Inherit::AsIs)
            }
            Self::Fixed(fixed) => fixed.set_limit(at, terms.limit, terms.overshoot()),
            Self::Sliding(sliding) => sliding.set_limit(terms.limit, terms.overshoot()),
            Self::Allowance(allowance) => {
                allowance.set_terms(terms);
                Ok(())
            }
        }
    }

    pub(in crate::rate) fn peek(&self, now: Timestamp, cost: u64) -> Result<(), Refused> {
        match self {
            Self::Bucket(bucket) => bucket.peek(now, cost),
            Self::Fixed(fixed) => fixed.peek(now, cost),
            Self::Sliding(sliding) => sliding.peek(now, cost),
            Self::Allowance(allowance) => allowance.peek(cost),
        }
    }

    /// Whether it would pass.
    #[inline]
    pub(in crate::rate) fn passes(&self, now: Timestamp, cost: u64) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.passes(now, cost),
            other => other.peek(now, cost).is_ok(),
        }
    }

    /// Takes what was found to pass, or what was used already. Returns the position for a [`Receipt`] of it.
    #[inline]
    pub(in crate::rate) fn take(&mut self, now: Timestamp, cost: u64) -> u128 {
        match self {
            Self::Bucket(bucket) => return bucket.charge_on_account(now, cost),
            Self::Fixed(fixed) => fixed.charge(now, cost),
            Self::Sliding(sliding) => sliding.charge(now, cost),
            Self::Allowance(allowance) => allowance.charge(cost),
        }
        0
    }

    /// Gives back part of what a receipt is for, as far as it still counts.
    pub(in crate::rate) fn give_back(&mut self, now: Timestamp, receipt: &mut Receipt, cost: u64) {
        let cost = cost.min(receipt.cost);
        match self {
            Self::Bucket(bucket) => return bucket.return_part(now, receipt, cost),
            Self::Fixed(fixed) => fixed.refund(now, cost, receipt.granted_at),
            Self::Sliding(sliding) => sliding.refund(now, cost, receipt.granted_at),
            Self::Allowance(allowance) => allowance.refund(cost),
        }
        receipt.cost = receipt.cost.saturating_sub(cost);
    }

    /// What counts as consumed, rounded up.
    pub(in crate::rate) fn consumed(&self, now: Timestamp) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.state(now).consumed,
            Self::Fixed(fixed) => num::narrow(fixed.used_at(now)),
            Self::Sliding(sliding) => num::narrow(sliding.used_at(now)),
            Self::Allowance(allowance) => num::narrow(allowance.used()),
        }
    }

    /// What is left without overshooting.
    pub(in crate::rate) fn remaining(&self, now: Timestamp) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.available(now),
            Self::Fixed(fixed) => fixed.available(now),
            Self::Sliding(sliding) => sliding.available(now),
            Self::Allowance(allowance) => allowance.remaining(),
        }
    }

    /// The most that would pass.
    pub(in crate::rate) fn grantable(&self, now: Timestamp) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.grantable(now),
            Self::Fixed(fixed) => fixed.grantable(now),
            Self::Sliding(sliding) => sliding.grantable(now),
            Self::Allowance(allowance) => allowance.grantable(),
        }
    }

    /// When nothing is consumed any more if nothing more is taken; `None`: never, or past the end of time.
    pub(in crate::rate) fn recovers_at(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Bucket(bucket) => bucket.state(now).full_at,
            Self::Fixed(fixed) => fixed.unused_at(now),
            Self::Sliding(sliding) => sliding.unused_at(now),
            Self::Allowance(allowance) => (allowance.used() == 0).then_some(now),
        }
    }

    /// Whether forgetting it forgives nothing.
    pub(in crate::rate) fn has_recovered(&self, now: Timestamp) -> bool {
        self.consumed(now) == 0
    }
}
