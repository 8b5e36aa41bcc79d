//! What an estimator is told, and what it answers.

use core::time::Duration;

use crate::time::Timestamp;

/// How one attempt ended. One attempt, one outcome: a retry is a new attempt with its own round-trip time.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// It did its work; its round-trip time is a measurement.
    Success,
    /// It was lost to overload: a timeout, a refusal by the server. Its time measures nothing.
    Dropped,
    /// It says nothing about load: cancelled, or failed for its own reasons. It is neither sample nor signal.
    Ignored,
}

/// One finished attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sample {
    /// When it was admitted.
    pub started: Timestamp,
    /// From admission to end. Zero is allowed: clocks are coarse.
    pub rtt: Duration,
    /// Attempts in flight when this one was admitted, itself included.
    pub in_flight: u32,
    /// How it ended.
    pub outcome: Outcome,
}

impl Sample {
    /// When it ended: `started + rtt`.
    #[must_use]
    pub const fn ended(&self) -> Timestamp {
        self.started.saturating_add(self.rtt)
    }
}

/// Learns a concurrency limit from finished attempts.
///
/// An estimator is told of each attempt as it ends, in the order in which they end, and answers with the limit to
/// enforce from then on. Who enforces it may tell of refusals and of time that passes, too; nobody has to. It reads no clock and draws no random number: time is in the sample, jitter is a parameter
/// of the estimators that want it.
pub trait Estimator {
    /// Learns from one finished attempt and returns the limit from now on. [`Outcome::Ignored`] changes nothing.
    /// O(1) unless the estimator says otherwise.
    fn on_sample(&mut self, sample: &Sample) -> u32;

    /// The limit in force: what the last of the other calls returned, before that the initial one.
    fn limit(&self) -> u32;

    /// The round-trip time without a queue, as far as it is known; `None` also where an estimator does not ask.
    fn no_load_rtt(&self) -> Option<Duration> {
        None
    }

    /// A request was refused, so the limit was met. Returns the limit from now on. O(1); most learn nothing from it.
    fn on_reject(&mut self, now: Timestamp) -> u32 {
        let _ = now;
        self.limit()
    }

    /// Time has passed without a sample. Returns the limit from now on. O(1); most learn nothing from it.
    fn on_tick(&mut self, now: Timestamp) -> u32 {
        let _ = now;
        self.limit()
    }

    /// When [`on_tick`](Self::on_tick) has something to do, if no sample comes before. Any other call may change it.
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Constant;

    impl Estimator for Constant {
        fn on_sample(&mut self, _sample: &Sample) -> u32 {
            self.limit()
        }

        fn limit(&self) -> u32 {
            7
        }
    }

    #[test]
    fn an_estimator_that_does_not_ask_learns_nothing_from_refusals_and_time() {
        let mut constant = Constant;
        let now = Timestamp::from_nanos(3);
        assert_eq!((constant.on_reject(now), constant.on_tick(now)), (7, 7));
        assert_eq!((constant.poll_timeout(), constant.no_load_rtt()), (None, None));
    }
}
