//! By [rounds](super::round), or by single samples as a reference: what estimators that can do both have in common.

use crate::adapt::bounds;
use crate::adapt::jitter::Jitter;
use crate::adapt::round::{Learning, Rounds};
use crate::num;

/// What learns from single samples.
pub(super) trait EachSample {
    /// How the reference does it.
    type Rule;
    /// What spaces its probes, or would space dips.
    type Jitter: Jitter;

    fn new(rule: Self::Rule, jitter: Self::Jitter) -> Self;
    /// Goes on by another rule.
    fn set_rule(&mut self, rule: Self::Rule);
    fn jitter(&self) -> &Self::Jitter;
}

#[derive(Clone, Debug)]
pub(super) enum Mode<J, E> {
    Rounds(Rounds<J>),
    EachSample(E),
}

impl<J: Jitter, E: EachSample<Jitter = J>> Mode<J, E> {
    /// Nothing is learnt yet.
    pub(super) fn new(learning: Learning<E::Rule>, min: u32, initial: u32, jitter: J) -> Self {
        match learning {
            Learning::Rounds(rounds) => Self::Rounds(Rounds::new(rounds, min, initial, jitter)),
            Learning::EachSample(rule) => Self::EachSample(E::new(rule, jitter)),
        }
    }
}

impl<J: Jitter + Clone, E: EachSample<Jitter = J>> Mode<J, E> {
    /// Goes on by other settings; between rounds and samples it begins anew.
    pub(super) fn reconfigure(&mut self, learning: Learning<E::Rule>, min: u32, initial: u32) {
        let (jitter, learning) = match (&mut *self, learning) {
            (Self::Rounds(rounds), Learning::Rounds(settings)) => return rounds.reconfigure(settings, min),
            (Self::EachSample(each), Learning::EachSample(rule)) => return each.set_rule(rule),
            (Self::Rounds(rounds), learning) => (rounds.jitter().clone(), learning),
            (Self::EachSample(each), learning) => (each.jitter().clone(), learning),
        };
        *self = Self::new(learning, min, initial, jitter);
    }
}

impl<J, E> Mode<J, E> {
    /// The limit to publish.
    pub(super) fn publish(&self, estimate: f64) -> u32 {
        match self {
            Self::Rounds(rounds) => rounds.publish(estimate),
            Self::EachSample(_) => num::trunc_i32(estimate),
        }
    }

    /// Whether a share of the estimate is published for a while, to measure the time without a queue.
    pub(super) const fn is_dipping(&self) -> bool {
        matches!(self, Self::Rounds(rounds) if rounds.is_dipping())
    }

    /// Asserts what all estimators promise that learn in rounds.
    pub(super) fn check_invariants(&self, estimate: f64, limit: u32, min: u32, max: u32) {
        if let Self::Rounds(rounds) = self {
            bounds::check(estimate, limit, min, max);
            rounds.check_invariants();
        }
    }
}
