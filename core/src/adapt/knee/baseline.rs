//! The baseline `s0`: the mean round-trip time without a queue.
//!
//! It is never the least of what passed by (one lucky request, or 20 to 30 percent low as the least of noisy means),
//! nor a slow average (which learns every lasting overload as normal). It is the average of *measurements*: rounds
//! that were published a smaller limit to make the queue go away. Two things override the average. Two ordinary
//! rounds in a row significantly below it: nothing that queues can be faster than what does not. And an experiment
//! that found the service itself slower ([`Phase::Verify`](super::phase::Phase)).
//!
//! Upwards the average goes no further than 1.5 times the least baseline since the last of these events, so that a
//! queue that dips do not empty, such as that of somebody else, cannot lift it for ever.

/// Least weight of a measurement in the average. Small, for it is the early ones, made with few in flight, that hold the
/// least contention.
const GAIN: f64 = 0.1;
/// How far measurements may lift the baseline, as a multiple of the least one.
const REACH: f64 = 1.5;
/// Measurements during which the least baseline follows the average both ways.
const YOUNG: u32 = 5;
/// Measurements in a row above the reach that ask for a verification.
const HELD: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Baseline {
    /// s0, ns; `None` before the first round.
    mean_ns: Option<f64>,
    /// smin, ns.
    least_ns: f64,
    /// k: measurements averaged.
    count: u32,
    /// The last ordinary round was significantly below.
    below: bool,
    /// Measurements in a row that wanted it higher than it may go.
    held: u32,
}

impl Baseline {
    /// s0, ns; 0 before the first round.
    #[inline]
    pub(super) fn ns(&self) -> f64 {
        self.mean_ns.unwrap_or(0.0)
    }

    pub(super) const fn known(&self) -> Option<f64> {
        self.mean_ns
    }

    /// Forgets everything else: the time without a queue is this.
    pub(super) fn reset(&mut self, mean_ns: f64) {
        *self = Self { mean_ns: Some(mean_ns), least_ns: mean_ns, count: 1, below: false, held: 0 };
    }

    /// An ordinary round, `below` the baseline beyond doubt or not. True if it is the second in a row and was taken
    /// for the baseline.
    pub(super) fn passed(&mut self, mean_ns: f64, below: bool) -> bool {
        let twice = below && self.below;
        self.below = below;
        if twice {
            self.reset(mean_ns);
        }
        twice
    }

    /// A measurement to average.
    pub(super) fn average(&mut self, mean_ns: f64) {
        let next = self.next(mean_ns);
        let most = self.ns().max(REACH * self.least_ns);
        self.held = if next > most { self.held.saturating_add(1) } else { 0 };
        self.take(next.min(most));
    }

    /// A measurement at the least limit there is. No queue that a lower limit would empty can be in it, so it has no
    /// reach.
    pub(super) fn average_at_floor(&mut self, mean_ns: f64) {
        let next = self.next(mean_ns);
        self.take(next);
        self.least_ns = next;
    }

    fn next(&mut self, mean_ns: f64) -> f64 {
        self.count = self.count.saturating_add(1);
        let old = self.ns();
        old + GAIN.max(1.0 / f64::from(self.count)) * (mean_ns - old)
    }

    fn take(&mut self, next: f64) {
        self.mean_ns = Some(next);
        if self.count <= YOUNG || next < self.least_ns {
            self.least_ns = next;
        }
    }

    /// A measurement beyond doubt below: it replaces the average, but what is known of the least stays.
    pub(super) fn lower(&mut self, mean_ns: f64) {
        self.mean_ns = Some(mean_ns);
        self.least_ns = self.least_ns.min(mean_ns);
        self.held = 0;
    }

    /// Whether so many measurements in a row would have gone above the reach that an experiment must tell. Asks once.
    pub(super) fn take_held(&mut self) -> bool {
        let held = self.held >= HELD;
        if held {
            self.held = 0;
        }
        held
    }

    /// Asserts that it is a time.
    pub(super) fn check_invariants(&self) {
        let sound = |ns: f64| ns >= 0.0 && ns.is_finite();
        assert!(sound(self.ns()) && sound(self.least_ns), "I2: baseline {} ns", self.ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(ns: f64) -> Baseline {
        let mut baseline = Baseline::default();
        baseline.reset(ns);
        baseline
    }

    #[test]
    fn the_weights_of_measurements_fall_to_a_tenth() {
        let mut baseline = baseline(100.0);
        let mut steps = std::vec::Vec::new();
        for _ in 0..11 {
            let before = baseline.ns();
            baseline.average(before - 10.0);
            steps.push(before - baseline.ns());
        }
        let expected = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 10.0, 10.0].map(|count| 10.0 / count);
        assert!(
            steps.iter().zip(expected).all(|(step, expected)| (step - expected).abs() < 1e-9),
            "{steps:?}"
        );
    }

    #[test]
    fn once_it_is_no_longer_young_it_reaches_one_and_a_half_times_the_least() {
        let mut baseline = baseline(100.0);
        for _ in 0..5 {
            baseline.average(100.0);
        }
        for count in 1..40 {
            baseline.average(1000.0);
            assert!(baseline.ns() <= 150.0);
            assert_eq!(baseline.take_held(), count % 3 == 0, "each third asks once");
        }
        assert_eq!(baseline.ns(), 150.0);
        baseline.average(150.0);
        baseline.average(1000.0);
        baseline.average(1000.0);
        assert!(!baseline.take_held(), "only in a row");
    }

    #[test]
    fn while_it_is_young_the_least_follows_it_up() {
        let mut baseline = baseline(100.0);
        for _ in 0..4 {
            baseline.average(1e9);
        }
        assert_eq!(baseline.ns(), 100.0 * 1.5_f64.powi(4));
        baseline.average(1e9);
        baseline.average(1e9);
        assert_eq!(baseline.ns(), 100.0 * 1.5_f64.powi(5));
    }

    #[test]
    fn the_least_follows_it_down_always() {
        let mut baseline = baseline(100.0);
        for _ in 0..9 {
            baseline.average(100.0);
        }
        baseline.lower(60.0);
        for _ in 0..40 {
            baseline.average(1000.0);
        }
        assert_eq!(baseline.ns(), 90.0);
    }

    #[test]
    fn at_the_floor_it_has_no_reach() {
        let mut baseline = baseline(0.0);
        for _ in 0..100 {
            baseline.average_at_floor(100.0);
        }
        assert!(baseline.ns() > 99.0);
    }

    #[test]
    #[should_panic(expected = "I2")]
    fn an_infinite_one_is_none() {
        baseline(f64::INFINITY).check_invariants();
    }

    #[test]
    #[should_panic(expected = "I2")]
    fn a_negative_one_is_none() {
        baseline(-1.0).check_invariants();
    }

    #[test]
    fn it_takes_two_ordinary_rounds_below_it() {
        let mut baseline = baseline(100.0);
        assert!(!baseline.passed(50.0, true));
        assert!(!baseline.passed(50.0, false));
        assert!(!baseline.passed(50.0, true));
        assert!(baseline.passed(50.0, true));
        assert_eq!(baseline.ns(), 50.0);
    }
}
