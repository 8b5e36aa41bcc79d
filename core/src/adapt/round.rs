//! Rounds: decide on the mean of a limit's worth of requests, never on one.
//!
//! **Problem.** Service times vary. With exponential ones a fifth of all requests takes more than 1.5 times the mean,
//! so an estimator that reacts to each sample reacts to noise: Vegas ends at its floor, Gradient2 near its initial
//! limit, whatever the server can do.
//!
//! **Derivation.** The mean `r` of `n` requests scatters by `cv/√n`. With `n = max(samples, e)` successes the queue
//! computed from it, `N·(1 − b/r)` by Little's law with `N` the mean number in flight, scatters by about `√e`, and
//! thresholds of one and two roots of `e` stand clear of it. A round is also about one round-trip time under full
//! load, so decisions come as often as their effect can be seen.
//!
//! Drops are not latency samples and do not enter the mean; they cut by [`epoch`](super::epoch). If more than half of
//! what finished in a round was dropped, the round does not raise: what is left tells of the lucky ones.
//!
//! The round-trip time without a queue, `b`, comes from [dips](super::dip). Four rounds in a row with `r ≥ 2b` ask
//! for a dip at once: either there is a queue, then it costs nothing, or the service has become slower, then `b` must
//! follow before the estimator takes the limit down for it.
//!
//! Invariants: **I1** a verdict's numbers are finite; **I2** `mean_ns, no_load_ns ≥ 1`; **I3** a drop changes
//! neither of them.
//!
//! Work O(1); memory: about two dozen words.

use crate::adapt::bounds;
use crate::adapt::dip::Dip;
use crate::adapt::epoch::Epoch;
use crate::adapt::jitter::Jitter;
use crate::adapt::sample::{Outcome, Sample};
use crate::error::Rules;
use crate::num;

/// How an estimator learns.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Learning<R> {
    /// Per round of requests, against a baseline from dips. Our own rule.
    Rounds(RoundSettings),
    /// Per request, as the reference does, with the reference's faults as options.
    EachSample(R),
}

/// How rounds and dips are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundSettings {
    /// Successes in a round, at least; the limit if that is more. 1 or more; default 32.
    pub samples: u32,
    /// Longest distance between dips, in limits' worth of successes. 1 or more. Default 60: a
    /// dip costs about a limit's worth at half the throughput, so one or two percent of it.
    pub dip_every: u32,
    /// Successes averaged in a dip, at least; the dipped limit if that is more. 1 or more; default 16.
    pub dip_samples: u32,
    /// Share of the estimate published in a dip, in (0, 1). Default 0.4.
    pub dip_to: f64,
    /// Share of the limit that is left after a whole cut for drops, in (0, 1). Default 0.9.
    pub drop_ratio: f64,
}

impl Default for RoundSettings {
    fn default() -> Self {
        Self { samples: 32, dip_every: 60, dip_samples: 16, dip_to: 0.4, drop_ratio: 0.9 }
    }
}

impl RoundSettings {
    /// States the rules. A queue in proportion to concurrency makes requests `1/dip_to` times slower than a dip finds
    /// them; more must not be tolerated, or it is never seen.
    pub(super) fn state_rules(&self, rules: &mut Rules, tolerance: f64) {
        let sound = self.samples >= 1 && self.dip_every >= 1 && self.dip_samples >= 1;
        let least = self.samples.min(self.dip_every).min(self.dip_samples);
        rules.require(sound, "learning.samples, dip_every, dip_samples", least, "at least 1 each");
        let share = self.dip_to;
        let sound = share > 0.0 && share * tolerance.max(1.0) < 1.0;
        rules.require(sound, "learning.dip_to", share, "above 0 and below 1 / rtt_tolerance");
        let ratio = self.drop_ratio;
        rules.require(ratio > 0.0 && ratio < 1.0, "learning.drop_ratio", ratio, "above 0 and below 1");
    }
}

/// What a sample means for the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// Nothing yet: what is published stays.
    Wait,
    /// A dip began or ended: the estimate stays, what is published does not.
    Publish,
    /// Take this share of the limit.
    Cut(f64),
    /// A round is complete.
    Round(Round),
}

/// One complete round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Round {
    /// Mean round-trip time of its successes, ns, ≥ 1.
    pub(super) mean_ns: f64,
    /// Round-trip time without a queue, ns, ≥ 1.
    pub(super) no_load_ns: f64,
    /// Mean in flight at admission, at most the estimate.
    pub(super) in_flight: f64,
    /// Whether it may raise the limit: at its last success at least half was in use, and not more was dropped than done.
    pub(super) may_raise: bool,
}

/// Rounds in a row at twice the baseline before an early dip.
const SLOW_ROUNDS: u32 = 4;

#[derive(Clone, Debug)]
pub(super) struct Rounds<J> {
    settings: RoundSettings,
    /// Least limit.
    min: u32,
    epoch: Epoch,
    dip: Dip<J>,
    successes: u32,
    drops: u32,
    sum_ns: f64,
    sum_in_flight: u64,
    slow: u32,
}

impl<J: Jitter> Rounds<J> {
    pub(super) fn new(settings: RoundSettings, min: u32, initial: u32, jitter: J) -> Self {
        let RoundSettings { dip_every, dip_samples, dip_to, .. } = settings;
        let dip = Dip::new(dip_every, dip_samples, dip_to, min, initial, jitter);
        let epoch = Epoch::default();
        Self { settings, min, epoch, dip, successes: 0, drops: 0, sum_ns: 0.0, sum_in_flight: 0, slow: 0 }
    }

    /// Changes the settings and the least limit; what was learnt is kept.
    pub(super) fn reconfigure(&mut self, settings: RoundSettings, min: u32) {
        let RoundSettings { dip_every, dip_samples, dip_to, .. } = settings;
        self.dip.reconfigure(dip_every, dip_samples, dip_to, min);
        (self.settings, self.min) = (settings, min);
    }

    /// Learns from one sample, given the estimate in force (finite, ≥ 1): the next estimate and the limit to publish, if
    /// either may be another. `judge` says where a complete round takes the estimate. O(1).
    #[inline]
    pub(super) fn learn(
        &mut self,
        sample: &Sample,
        estimate: f64,
        judge: impl FnOnce(&Round) -> f64,
    ) -> Option<(f64, u32)> {
        let next = match self.observe(sample, estimate) {
            Verdict::Wait => return None,
            Verdict::Publish => estimate,
            Verdict::Cut(share) => bounds::max(f64::from(self.min), estimate * share),
            Verdict::Round(round) => judge(&round),
        };
        Some((next, self.publish(next)))
    }

    #[inline]
    fn observe(&mut self, sample: &Sample, estimate: f64) -> Verdict {
        match sample.outcome {
            Outcome::Ignored => Verdict::Wait,
            Outcome::Dropped => self.drop(sample, estimate),
            Outcome::Success => self.success(sample, estimate),
        }
    }

    #[inline]
    fn success(&mut self, sample: &Sample, estimate: f64) -> Verdict {
        self.epoch.success(sample.rtt);
        let dipping = self.is_dipping();
        let apart = self.dip.success(sample, estimate);
        let nothing = if dipping == self.is_dipping() { Verdict::Wait } else { Verdict::Publish };
        if apart {
            return nothing;
        }
        self.successes = self.successes.saturating_add(1);
        self.sum_ns += num::to_f64(num::nanos(sample.rtt));
        self.sum_in_flight = self.sum_in_flight.saturating_add(sample.in_flight.into());
        // Below `samples`, or the whole part of the estimate, which need not be taken for that.
        if self.successes < self.settings.samples || f64::from(self.successes) + 1.0 <= estimate {
            nothing
        } else {
            Verdict::Round(self.close(estimate, sample.in_flight))
        }
    }

    #[inline(never)]
    fn drop(&mut self, sample: &Sample, estimate: f64) -> Verdict {
        self.drops = self.drops.saturating_add(1);
        match self.epoch.drop(sample, num::trunc_i32(estimate), self.settings.samples) {
            Some(depth) => Verdict::Cut(1.0 - (1.0 - self.settings.drop_ratio) * depth),
            None => Verdict::Wait,
        }
    }

    #[inline(never)]
    fn close(&mut self, estimate: f64, in_flight: u32) -> Round {
        let count = f64::from(self.successes.max(1));
        let mean_ns = self.sum_ns / count;
        self.dip.learn_first(mean_ns);
        let no_load_ns = self.dip.no_load_ns().unwrap_or(mean_ns).max(1.0);
        let round = Round {
            mean_ns: mean_ns.max(1.0),
            no_load_ns,
            in_flight: (num::to_f64(self.sum_in_flight) / count).min(estimate),
            may_raise: f64::from(in_flight) * 2.0 >= estimate && self.drops <= self.successes,
        };
        self.slow = if round.mean_ns >= 2.0 * no_load_ns { self.slow.saturating_add(1) } else { 0 };
        if self.slow >= SLOW_ROUNDS {
            self.slow = 0;
            self.dip.request();
        }
        (self.successes, self.drops) = (0, 0);
        (self.sum_ns, self.sum_in_flight) = (0.0, 0);
        round
    }
}

impl<J> Rounds<J> {
    /// The limit to publish: the estimate, or the level of a dip under way if that is less.
    pub(super) fn publish(&self, estimate: f64) -> u32 {
        let standing = num::trunc_i32(estimate);
        self.dip.level().map_or(standing, |level| level.min(standing))
    }

    /// Asserts the invariants of the dip, and that the sum is finite.
    pub(super) fn check_invariants(&self) {
        self.dip.check_invariants();
        assert!(self.sum_ns.is_finite(), "round I1: {} ns", self.sum_ns);
    }

    /// Round-trip time without a queue, ns.
    pub(super) const fn no_load_ns(&self) -> Option<f64> {
        self.dip.no_load_ns()
    }

    pub(super) const fn jitter(&self) -> &J {
        self.dip.jitter()
    }

    /// Whether a dip is under way.
    #[inline]
    pub(super) const fn is_dipping(&self) -> bool {
        self.dip.is_under_way()
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::adapt::Steps;
    use crate::time::Timestamp;

    fn sample(outcome: Outcome, rtt: u64, in_flight: u32) -> Sample {
        Sample { started: Timestamp::from_nanos(1), rtt: Duration::from_nanos(rtt), in_flight, outcome }
    }

    fn rounds() -> Rounds<Steps> {
        let settings = RoundSettings { samples: 4, ..RoundSettings::default() };
        Rounds::new(settings, 1, 4, Steps::default())
    }

    #[test]
    fn a_round_is_the_mean_of_its_successes_and_drops_do_not_enter_it() {
        let mut rounds = rounds();
        for rtt in [10, 20, 0] {
            assert_eq!(rounds.observe(&sample(Outcome::Success, rtt, 3), 4.0), Verdict::Wait);
        }
        assert_eq!(rounds.observe(&sample(Outcome::Dropped, 9999, 3), 4.0), Verdict::Cut(0.9));
        let verdict = rounds.observe(&sample(Outcome::Success, 10, 7), 4.0);
        let round = Round { mean_ns: 10.0, no_load_ns: 10.0, in_flight: 4.0, may_raise: true };
        assert_eq!(verdict, Verdict::Round(round));
    }

    #[test]
    fn a_round_with_more_drops_than_successes_does_not_raise() {
        let mut rounds = rounds();
        for _ in 0..5 {
            rounds.observe(&sample(Outcome::Dropped, 1, 4), 4.0);
        }
        for _ in 0..3 {
            rounds.observe(&sample(Outcome::Success, 10, 4), 4.0);
        }
        let verdict = rounds.observe(&sample(Outcome::Success, 10, 4), 4.0);
        assert!(matches!(verdict, Verdict::Round(Round { may_raise: false, .. })), "{verdict:?}");
    }

    #[test]
    fn zero_rtts_are_means_of_one_nanosecond_where_a_ratio_needs_them() {
        let mut rounds = rounds();
        for _ in 0..3 {
            rounds.observe(&sample(Outcome::Success, 0, 2), 4.0);
        }
        let verdict = rounds.observe(&sample(Outcome::Success, 0, 2), 4.0);
        let round = Round { mean_ns: 1.0, no_load_ns: 1.0, in_flight: 2.0, may_raise: true };
        assert_eq!(verdict, Verdict::Round(round));
    }

    #[test]
    fn a_dip_to_nothing_and_a_drop_that_cuts_nothing_or_all_are_refused() {
        let broken = |settings: RoundSettings| {
            let mut rules = Rules::new();
            settings.state_rules(&mut rules, 1.0);
            rules.verdict().is_err()
        };
        let sound = RoundSettings::default();
        assert!(!broken(sound));
        for (share, refused) in [(0.0, true), (0.001, false), (0.999, false), (1.0, true), (f64::NAN, true)] {
            assert_eq!(broken(RoundSettings { dip_to: share, ..sound }), refused, "{share}");
            assert_eq!(broken(RoundSettings { drop_ratio: share, ..sound }), refused, "{share}");
        }
    }

    #[test]
    fn other_settings_hold_from_the_next_sample_on() {
        let mut rounds = rounds();
        rounds.reconfigure(RoundSettings { samples: 2, drop_ratio: 0.5, ..RoundSettings::default() }, 1);
        assert_eq!(rounds.observe(&sample(Outcome::Success, 10, 1), 1.0), Verdict::Wait);
        let second = rounds.observe(&sample(Outcome::Success, 10, 1), 1.0);
        assert!(matches!(second, Verdict::Round(_)), "{second:?}");
        assert_eq!(rounds.observe(&sample(Outcome::Dropped, 10, 1), 1.0), Verdict::Cut(0.5));
    }

    #[test]
    fn four_rounds_at_twice_the_baseline_ask_for_a_dip() {
        let mut rounds = rounds();
        let mut count = 0;
        for _ in 0..4 {
            rounds.observe(&sample(Outcome::Success, 10, 4), 4.0);
        }
        while !rounds.is_dipping() {
            rounds.observe(&sample(Outcome::Success, 20, 4), 4.0);
            count += 1;
        }
        assert_eq!(count, 17, "four rounds of four, and the success that begins the dip");
    }
}
