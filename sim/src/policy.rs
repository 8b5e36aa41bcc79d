//! The policies that are compared, built from the core's own machines.
//!
//! Every policy is a `Gate`: permits ([`AtomicPermits`], the real ones) and whatever decides their number. `none`
//! holds as many permits as there can be, so even there the core counts what is in flight. [`Kind`] names a policy
//! for a person and for the command line; [`Kind::simulate`] is the one place where a name becomes a type, so each
//! policy runs in an event loop compiled for it.

use core::time::Duration;
use std::rc::Rc;

use serde::Serialize;
use tollgate::ConfigError;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient2, Gradient2Settings, Sample, Vegas, VegasSettings,
};
use tollgate::permit::{AtomicPermits, Permit};

use crate::engine;
use crate::error::SimError;
use crate::measure::Run;
use crate::scenario::Scenario;

/// AIMD takes a latency above this part of the client's deadline for overload. With the whole deadline it would learn
/// of overload only from clients it has already failed. Everything else is the core's default preset.
const AIMD_TIMEOUT_DIVISOR: u64 = 2;

/// A permit that a request in flight holds.
pub(crate) type Ticket = Permit<Rc<AtomicPermits>>;

/// A policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Everybody is let in.
    None,
    /// A limit chosen once.
    Fixed(u32),
    /// Additive increase, multiplicative decrease, on timeouts and refusals.
    Aimd,
    /// Vegas: a queue between two thresholds, estimated from the delay.
    Vegas,
    /// Gradient2: the ratio of a long and a short latency.
    Gradient2,
}

impl Kind {
    /// As reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fixed(_) => "fixed",
            Self::Aimd => "aimd",
            Self::Vegas => "vegas",
            Self::Gradient2 => "gradient2",
        }
    }

    /// As one row of a report calls it.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Fixed(limit) => format!("fixed {limit}"),
            other => other.name().to_owned(),
        }
    }

    /// Runs `scenario` behind this policy.
    ///
    /// # Errors
    /// [`SimError::Policy`] if the core refuses the policy's numbers.
    pub fn simulate(self, scenario: &Scenario) -> Result<Run, SimError> {
        let policy = self.name();
        let refused = |source: ConfigError| SimError::Policy { policy, source: Box::new(source) };
        match self {
            Self::None => Ok(engine::run(scenario, Gate::unlimited().map_err(refused)?)),
            Self::Fixed(limit) => Ok(engine::run(scenario, Gate::fixed(limit).map_err(refused)?)),
            Self::Aimd => {
                let timeout = Duration::from_nanos(scenario.deadline_ns / AIMD_TIMEOUT_DIVISOR);
                let aimd = Aimd::new(AimdSettings { timeout, ..AimdSettings::default() });
                Ok(engine::run(scenario, aimd.and_then(Gate::adaptive).map_err(refused)?))
            }
            Self::Vegas => {
                let vegas = Vegas::new(VegasSettings::default());
                Ok(engine::run(scenario, vegas.and_then(Gate::adaptive).map_err(refused)?))
            }
            Self::Gradient2 => {
                let gradient2 = Gradient2::new(Gradient2Settings::default());
                Ok(engine::run(scenario, gradient2.and_then(Gate::adaptive).map_err(refused)?))
            }
        }
    }
}

/// Never changes its mind: the estimator of `none` and `fixed`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant(u32);

impl Estimator for Constant {
    #[inline]
    fn on_sample(&mut self, _sample: &Sample) -> u32 {
        self.0
    }

    #[inline]
    fn limit(&self) -> u32 {
        self.0
    }
}

/// Permits, and who decides how many.
#[derive(Debug)]
pub(crate) struct Gate<E> {
    permits: Rc<AtomicPermits>,
    estimator: E,
    bounded: bool,
}

impl Gate<Constant> {
    fn unlimited() -> Result<Self, ConfigError> {
        let gate = Self::fixed(AtomicPermits::MAX_LIMIT)?;
        Ok(Self { bounded: false, ..gate })
    }

    fn fixed(limit: u32) -> Result<Self, ConfigError> {
        Self::adaptive(Constant(limit))
    }
}

impl<E: Estimator> Gate<E> {
    pub(crate) fn adaptive(estimator: E) -> Result<Self, ConfigError> {
        let permits = Rc::new(AtomicPermits::new(estimator.limit())?);
        Ok(Self { permits, estimator, bounded: true })
    }

    /// A request asks to be let in.
    #[inline]
    pub(crate) fn try_admit(&self) -> Option<Ticket> {
        AtomicPermits::try_acquire_owned(Rc::clone(&self.permits), 1).ok()
    }

    /// A request is over for its client: its permit comes back, and the estimator learns how it went.
    #[inline]
    pub(crate) fn end(&mut self, ticket: Ticket, sample: &Sample) {
        drop(ticket);
        let limit = self.estimator.on_sample(sample);
        if limit != self.permits.limit() {
            // An estimator that asks for more than there can be gets all there can be.
            let most = limit.min(AtomicPermits::MAX_LIMIT);
            let set = self.permits.set_limit(most);
            debug_assert!(set.is_ok(), "a limit up to MAX_LIMIT is always accepted");
        }
    }

    /// Requests let in and not over.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.permits.in_use()
    }

    /// The limit in force; `None` where there is none.
    #[inline]
    pub(crate) fn limit(&self) -> Option<u32> {
        self.bounded.then(|| self.permits.limit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::Timestamp;
    use tollgate::adapt::Outcome;

    struct Falling(u32);

    impl Estimator for Falling {
        fn on_sample(&mut self, _sample: &Sample) -> u32 {
            self.0 -= 1;
            self.0
        }

        fn limit(&self) -> u32 {
            self.0
        }
    }

    fn sample() -> Sample {
        let rtt = Duration::from_millis(1);
        Sample { started: Timestamp::ZERO, rtt, in_flight: 1, outcome: Outcome::Success }
    }

    #[test]
    fn a_gate_lets_in_as_many_as_its_limit_and_no_more() {
        let mut gate = Gate::fixed(2).unwrap();
        let first = gate.try_admit().unwrap();
        let second = gate.try_admit().unwrap();
        assert!(gate.try_admit().is_none());
        assert_eq!((gate.in_flight(), gate.limit()), (2, Some(2)));
        gate.end(first, &sample());
        assert_eq!(gate.in_flight(), 1);
        let third = gate.try_admit().unwrap();
        drop((second, third));
        assert_eq!(gate.in_flight(), 0);
    }

    #[test]
    fn what_the_estimator_says_is_in_force_from_then_on() {
        let mut gate = Gate::adaptive(Falling(2)).unwrap();
        let first = gate.try_admit().unwrap();
        let _second = gate.try_admit().unwrap();
        gate.end(first, &sample());
        assert_eq!((gate.limit(), gate.in_flight()), (Some(1), 1));
        assert!(gate.try_admit().is_none());
    }

    #[test]
    fn without_a_limit_everybody_is_let_in_and_counted() {
        let gate = Gate::unlimited().unwrap();
        let tickets: Vec<_> = (0..1000).map_while(|_| gate.try_admit()).collect();
        assert_eq!((tickets.len(), gate.in_flight(), gate.limit()), (1000, 1000, None));
    }
}
