//! The dip: how a delay-based estimator learns the round-trip time without a queue, and unlearns a wrong one.
//!
//! **Problem.** "Is there a queue?" means "is the round-trip time `r` above what it is without one, `b`?" All
//! references take `b` from what passes by, and each way goes wrong. A minimum over all samples is one lucky request,
//! or a refusal that took no time. A long average learns the overload as normal. Replacing the minimum by whatever
//! sample comes next (Vegas' probe) learns the overload at once. Passing by, nobody sees `b` while there is a queue.
//!
//! **Derivation.** So make the queue go away for a moment and look. Every so many requests publish a share `d` of the
//! estimate `e`; admissions then stop until no more are in flight. The dip has *settled* once `d·e` requests have ended
//! that were started after it began, with no more than `d·e` in flight at their admission: the old queue is gone, and
//! the requests in flight have turned over once. The mean of the successes that end from then on is `b`.
//!
//! To average only requests started after the dip began would be wrong: those that end soon after are the short ones
//! (exponential times, seen for 2.5 times their mean, average to 0.78 of it). Once in steady state, what *ends* is an
//! unbiased sample; a straggler from before makes `b` too high by its old wait, and there are few. For the same reason
//! a limit's worth of successes after the dip belong to no [round](super::round): concurrency is growing then, and
//! the short ones end first.
//!
//! If `d·e` is no more than the server can do at once, `b` is right. If it is more, `b` is too high, but at most as
//! high as a queue proportional to concurrency makes it, `d·r`: the estimator still sees `r ≥ b/d`, comes down, and
//! the next dip measures a smaller queue. Both errors heal: a `b` too low and a `b` too high are replaced by a
//! measurement that depends on neither.
//!
//! A measurement that differs from `b` by more than half of the smaller one cannot be noise and replaces `b`; a
//! nearer one is averaged with it. The mean of 16 exponential times scatters by a quarter, so ×1.5 is two sigma.
//!
//! **When.** Every `every · max(e, 32) · jitter` successes; `every` starts at 4 and doubles at each dip up to the
//! configured one: the first `b` is learnt at an arbitrary load and deserves an early check. A measurement that
//! replaced `b` starts the sequence anew. A caller may also ask for a dip at once ([`Dip::request`]).
//!
//! **How long.** At most until `4 · (e + samples)` successes have ended since its start. If the limit is not enforced
//! (a shadow mode) the dip never settles, ends then and teaches nothing; it cannot hold the limit down.
//!
//! Rounding: rtts of 0 (a coarse clock) enter the mean as they are; a mean is harmless, clamping each would bias it.
//!
//! Invariants: **I1** the level is at least `min` and 1; **I2** `b` is finite and ≥ 0; **I3** a drop touches nothing here.
//!
//! Work O(1); memory: about a dozen words.

use crate::adapt::jitter::{Jitter, draw};
use crate::adapt::sample::Sample;
use crate::num;
use crate::time::Timestamp;

/// First distance between dips, in limits' worth of successes.
const FIRST: u32 = 4;
/// Limits below this count as this when a distance is computed: at a limit of 1 a dip costs as many samples as at 16.
const LEAST: f64 = 32.0;
/// Measurements apart by more than this factor are not averaged.
const NOT_NOISE: f64 = 1.5;

#[derive(Clone, Copy, Debug)]
struct Dipping {
    began: Timestamp,
    level: u32,
    /// Successes admitted under the dip that have yet to end before it is settled.
    unsettled: u32,
    /// Successes measured, and those wanted.
    count: u32,
    wanted: u32,
    sum_ns: f64,
    /// Successes that may still end before the dip is given up.
    left: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Dip<J> {
    jitter: J,
    /// Longest distance between dips, in limits' worth of successes.
    most: u32,
    samples: u32,
    share: f64,
    min: u32,
    every: u32,
    /// Successes until the next dip.
    left: u64,
    /// Successes yet to end before concurrency has risen again after a dip.
    rising: u32,
    now: Option<Dipping>,
    no_load_ns: Option<f64>,
}

impl<J: Jitter> Dip<J> {
    /// Dips to `share` of the estimate, not below `min`, to measure `samples` successes, each `most` limits' worth of
    /// successes at the latest.
    pub(super) fn new(most: u32, samples: u32, share: f64, min: u32, initial: u32, mut jitter: J) -> Self {
        let every = FIRST.min(most);
        let left = distance(every, f64::from(initial), &mut jitter);
        Self { jitter, most, samples, share, min, every, left, rising: 0, now: None, no_load_ns: None }
    }

    /// Changes what [`new`](Self::new) was told; what was measured and a dip under way are kept.
    pub(super) fn reconfigure(&mut self, most: u32, samples: u32, share: f64, min: u32) {
        (self.most, self.samples, self.share, self.min) = (most, samples, share, min);
        self.every = self.every.min(most);
        if let Some(dip) = &mut self.now {
            dip.level = dip.level.max(min);
        }
    }

    /// A success ended. True if it belonged to a dip or to the rise after it (and so says nothing about the queue).
    #[inline]
    pub(super) fn success(&mut self, sample: &Sample, estimate: f64) -> bool {
        // Most are neither in a dip nor near one.
        if self.now.is_none() && self.rising == 0 && self.left > 1 {
            self.left = self.left.saturating_sub(1);
            return false;
        }
        self.around_a_dip(sample, estimate)
    }

    #[inline(never)]
    fn around_a_dip(&mut self, sample: &Sample, estimate: f64) -> bool {
        let Some(dip) = &mut self.now else {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 && self.no_load_ns.is_some() {
                self.begin(sample.ended(), estimate);
            }
            let rising = self.rising > 0;
            self.rising = self.rising.saturating_sub(1);
            return rising;
        };
        dip.left = dip.left.saturating_sub(1);
        // A sample that ended before the dip began but is told of after it shows that the clock went back.
        let after = sample.started > dip.began || sample.ended() < dip.began;
        if dip.unsettled == 0 {
            dip.count = dip.count.saturating_add(1);
            dip.sum_ns += num::to_f64(num::nanos(sample.rtt));
        } else if after && sample.in_flight <= dip.level {
            dip.unsettled = dip.unsettled.saturating_sub(1);
        }
        let (count, wanted, sum_ns, left) = (dip.count, dip.wanted, dip.sum_ns, dip.left);
        if count >= wanted {
            self.measured(sum_ns / f64::from(count));
        }
        if count >= wanted || left == 0 {
            self.now = None;
            self.rising = num::trunc_i32(estimate);
            self.left = distance(self.every, estimate, &mut self.jitter);
        }
        true
    }

    fn begin(&mut self, now: Timestamp, estimate: f64) {
        let level = num::trunc_i32(estimate * self.share).max(self.min).max(1);
        let wanted = self.samples.max(level);
        let left = num::trunc_u64(estimate).saturating_add(wanted.into()).saturating_mul(4);
        self.now = Some(Dipping { began: now, level, unsettled: level, count: 0, wanted, sum_ns: 0.0, left });
    }

    fn measured(&mut self, mean_ns: f64) {
        let (mean, known) = (mean_ns.max(1.0), self.no_load_ns.unwrap_or(mean_ns).max(1.0));
        if mean > known * NOT_NOISE || known > mean * NOT_NOISE {
            self.no_load_ns = Some(mean_ns);
            self.every = FIRST.min(self.most);
        } else {
            self.no_load_ns = Some((mean + known) / 2.0);
            self.every = self.every.saturating_mul(2).min(self.most);
        }
    }

    /// Dip at the next success, unless one is under way.
    pub(super) fn request(&mut self) {
        self.left = 1;
    }

    /// Takes `mean_ns` for `b` if nothing is known yet.
    pub(super) fn learn_first(&mut self, mean_ns: f64) {
        self.no_load_ns.get_or_insert(mean_ns);
    }
}

impl<J> Dip<J> {
    pub(super) const fn jitter(&self) -> &J {
        &self.jitter
    }

    /// Whether a dip is under way.
    #[inline]
    pub(super) const fn is_under_way(&self) -> bool {
        self.now.is_some()
    }

    /// The limit to publish while a dip is under way.
    pub(super) fn level(&self) -> Option<u32> {
        self.now.as_ref().map(|dip| dip.level)
    }

    /// Asserts I1 and I2.
    pub(super) fn check_invariants(&self) {
        let level = self.level().unwrap_or(self.min);
        assert!(level >= self.min && level >= 1, "dip I1: level {level} below {}", self.min);
        let no_load_ns = self.no_load_ns.unwrap_or(0.0);
        assert!(no_load_ns >= 0.0 && no_load_ns.is_finite(), "dip I2: no-load time {no_load_ns} ns");
    }

    /// `b`, ns; `None` before the first.
    pub(super) const fn no_load_ns(&self) -> Option<f64> {
        self.no_load_ns
    }
}

fn distance(every: u32, estimate: f64, jitter: &mut impl Jitter) -> u64 {
    num::trunc_u64(f64::from(every) * estimate.max(LEAST) * draw(jitter)).max(1)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::adapt::{Outcome, Steps};

    fn success(started: u64, rtt: u64, in_flight: u32) -> Sample {
        let rtt = Duration::from_nanos(rtt);
        Sample { started: Timestamp::from_nanos(started), rtt, in_flight, outcome: Outcome::Success }
    }

    fn dipping() -> Dip<Steps> {
        let mut dip = Dip::new(30, 4, 0.5, 1, 8, Steps::default());
        dip.learn_first(100.0);
        dip.request();
        assert!(!dip.success(&success(900, 100, 8), 8.0));
        assert_eq!(dip.level(), Some(4));
        dip
    }

    /// Rtts of the settling are not measured.
    fn settle(dip: &mut Dip<Steps>) {
        for i in 0..4 {
            assert!(dip.success(&success(1001 + i, 7, 4), 8.0));
        }
    }

    #[test]
    fn only_requests_started_after_the_dip_began_at_the_dipped_concurrency_settle_it() {
        let mut dip = dipping();
        let before = [success(1000, 9000, 1), success(500, 9000, 4), success(900, 100, 4)];
        for sample in before.into_iter().chain([success(1001, 9000, 5)]) {
            assert!(dip.success(&sample, 8.0));
        }
        settle(&mut dip);
        for i in 0..4 {
            assert!(dip.level().is_some());
            dip.success(&success(1001 + i, 40, 4), 8.0);
        }
        assert_eq!(dip.level(), None);
        assert_eq!(dip.no_load_ns(), Some(40.0));
    }

    #[test]
    fn a_limits_worth_of_successes_after_a_dip_belongs_to_no_round() {
        let mut dip = dipping();
        while dip.level().is_some() {
            dip.success(&success(1001, 100, 4), 8.0);
        }
        for _ in 0..8 {
            assert!(dip.success(&success(1001, 100, 8), 8.0));
        }
        assert!(!dip.success(&success(1001, 100, 8), 8.0));
    }

    #[test]
    fn after_the_clock_went_back_requests_settle_a_dip_all_the_same() {
        let mut dip = dipping();
        for i in 0..4 {
            dip.success(&success(i, 7, 4), 8.0);
        }
        for i in 0..4 {
            dip.success(&success(100 + i, 40, 4), 8.0);
        }
        assert_eq!((dip.level(), dip.no_load_ns()), (None, Some(40.0)));
    }

    #[test]
    fn a_dip_that_was_due_before_anything_was_known_begins_as_soon_as_something_is() {
        let mut dip = Dip::new(30, 4, 0.5, 1, 8, Steps::default());
        for i in 0..1_000 {
            dip.success(&success(i, 100, 8), 8.0);
        }
        assert_eq!(dip.level(), None);
        dip.learn_first(100.0);
        dip.success(&success(2_000, 100, 8), 8.0);
        assert_eq!(dip.level(), Some(4));
    }

    #[test]
    fn other_settings_hold_for_the_next_dip_and_the_least_limit_for_the_present_one() {
        let mut dip = dipping();
        dip.reconfigure(2, 7, 0.25, 6);
        assert_eq!(dip.level(), Some(6));
        while dip.level().is_some() {
            dip.success(&success(1001, 100, 4), 8.0);
        }
        dip.request();
        while dip.level().is_none() {
            dip.success(&success(3000, 100, 80), 80.0);
        }
        assert_eq!(dip.level(), Some(20), "a quarter");
        assert_eq!(dip.every, 2);
    }

    #[test]
    fn a_measurement_half_again_as_much_is_still_near() {
        for (known, measured) in [(100.0, 150), (150.0, 100)] {
            let mut dip = Dip::new(30, 4, 0.5, 1, 8, Steps::default());
            dip.learn_first(known);
            dip.request();
            dip.success(&success(900, 100, 8), 8.0);
            settle(&mut dip);
            for i in 0..4 {
                dip.success(&success(1001 + i, measured, 4), 8.0);
            }
            assert_eq!(dip.no_load_ns(), Some(125.0));
        }
    }

    #[test]
    fn a_near_measurement_is_averaged_and_a_far_one_believed() {
        for (measured, expected) in [(120, 110.0), (151, 151.0), (90, 95.0), (60, 60.0)] {
            let mut dip = dipping();
            settle(&mut dip);
            for i in 0..4 {
                dip.success(&success(1001 + i, measured, 4), 8.0);
            }
            assert_eq!(dip.no_load_ns(), Some(expected));
        }
    }

    #[test]
    fn a_dip_nobody_obeys_ends_by_itself_and_teaches_nothing() {
        let mut dip = dipping();
        for _ in 0..48 {
            assert!(dip.level().is_some());
            dip.success(&success(2000, 9000, 8), 8.0);
        }
        assert_eq!(dip.level(), None);
        assert_eq!(dip.no_load_ns(), Some(100.0));
    }

    #[test]
    fn the_distance_between_dips_doubles_up_to_the_configured_one() {
        let mut dip = dipping();
        let mut seen = [0; 5];
        for every in &mut seen {
            while dip.level().is_some() {
                dip.success(&success(5000, 100, 4), 8.0);
            }
            *every = dip.every;
            while dip.level().is_none() {
                dip.success(&success(100, 100, 8), 8.0);
            }
        }
        assert_eq!(seen, [8, 16, 30, 30, 30]);
    }
}
