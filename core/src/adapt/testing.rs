//! Samples for unit tests.
#![allow(clippy::arithmetic_side_effects)]

use core::time::Duration;

use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::time::Timestamp;

pub(super) const MS: Duration = Duration::from_millis(1);

/// A clock and the requests of a client that always has more to send.
#[derive(Default)]
pub(super) struct Client {
    now: Timestamp,
}

impl Client {
    /// One request that starts now, with the whole limit in flight.
    pub(super) fn one(&mut self, estimator: &mut impl Estimator, rtt: Duration, outcome: Outcome) -> u32 {
        let in_flight = estimator.limit();
        self.with(estimator, rtt, in_flight, outcome)
    }

    pub(super) fn with(
        &mut self,
        estimator: &mut impl Estimator,
        rtt: Duration,
        in_flight: u32,
        outcome: Outcome,
    ) -> u32 {
        let sample = Sample { started: self.now, rtt, in_flight, outcome };
        self.now = self.now.saturating_add(rtt / estimator.limit().max(1) + Duration::from_nanos(1));
        estimator.on_sample(&sample)
    }

    /// `count` successes.
    pub(super) fn successes(&mut self, estimator: &mut impl Estimator, rtt: Duration, count: u32) -> u32 {
        for _ in 0..count {
            self.one(estimator, rtt, Outcome::Success);
        }
        estimator.limit()
    }

    /// Lets time pass.
    pub(super) fn wait(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
    }
}

/// The fields an error names.
pub(super) fn fields<T>(result: Result<T, crate::ConfigError>) -> std::vec::Vec<&'static str> {
    let error = result.err().expect("the settings break rules");
    error.violations().iter().map(|violation| violation.field).collect()
}
