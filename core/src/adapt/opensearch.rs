//! [`OpenSearchVegas`]: Vegas as OpenSearch 3.9 has it, with barriers and a guarded baseline.
//!
//! **Problem.** A Vegas that acts on every sample swings with every sample, and its baseline probe, which believes whatever
//! comes next, poisons the baseline under overload. OpenSearch's own Vegas answers both: a direction has to be confirmed
//! by a number of samples in a row (a *barrier*), and a probe is believed only if little is in flight.
//!
//! **Derivation.** As [`Vegas`](crate::adapt::Vegas) with [`Learning::EachSample`](crate::adapt::Learning): with estimate
//! e, baseline b and round-trip time r, the queue is q = ⌈e·(1 − b/r)⌉ requests. With L = ⌈log₁₀ e⌉ and the updrift f:
//!
//! * a drop: e − L, at once; both streaks end;
//! * `in_flight`·(f + 1) < e: nothing is learnt; both streaks end;
//! * q ≤ f·L or q < 3·f·L: one more for the rising streak; at its barrier e + 6·f·L or e + L;
//! * q > 6·f·L: one more for the falling streak; at its barrier e − L;
//! * between: both streaks end.
//!
//! After `jitter · probe_multiplier · e` samples the next becomes the baseline, if at most
//! `baseline_reset_load_threshold` of the limit is in flight. A new minimum becomes the baseline at once.
//!
//! **Source.** OpenSearch's module `concurrency-limit` (3.9), bit for bit with [`OpenSearchVegasSettings::opensearch`]. The
//! documentation of that product says other things in two places: that an updrift of 1 is the standard Vegas, whose
//! logarithm is rounded down and at least 1, and that the limit is never below the initial one.
//! [`OpenSearchVegasSettings::documented`] is that. Deviation: a request of 0 ns is ignored.
//!
//! **Known faults**, of the source: with the logarithm rounded up a limit of 1 never moves again; a drop that is a new
//! minimum, or falls on a probe, does not cut and becomes the baseline; a service that always uses more than the
//! threshold of its limit never learns a slower baseline.
//!
//! **Invariants.** **I1** `min ≤ limit ≤ max` after the first change; **I2** the estimate is a whole number.
//!
//! Work O(1); memory: about fifteen words.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Estimator, OpenSearchVegas, OpenSearchVegasSettings, Outcome, Sample};
//!
//! let mut vegas = OpenSearchVegas::new(OpenSearchVegasSettings { increase_barrier: 2, ..Default::default() })?;
//! let (started, rtt, outcome) = (Timestamp::ZERO, Duration::from_millis(10), Outcome::Success);
//! let limits = [(); 4].map(|()| vegas.on_sample(&Sample { started, rtt, in_flight: 20, outcome }));
//! assert_eq!(limits, [20, 20, 32, 32], "the baseline, one in a row, two in a row: a big step, one in a row");
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::bounds;
use crate::adapt::jitter::{Jitter, Steps, draw};
use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::{ConfigError, Rules};
use crate::num;

/// How the logarithm of the limit is made whole.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Logarithm {
    /// Up: 0 at a limit of 1. As OpenSearch's code has it.
    Ceil,
    /// Down, and at least 1. As the standard Vegas has it.
    FloorAtLeastOne,
}

impl Logarithm {
    /// The whole logarithm to base 10 of a limit.
    ///
    /// ```
    /// use tollgate::adapt::Logarithm;
    ///
    /// assert_eq!([1, 2, 10, 11, 100, 101].map(|limit| Logarithm::Ceil.of(limit)), [0, 1, 1, 2, 2, 3]);
    /// assert_eq!([1, 10, 99, 100].map(|limit| Logarithm::FloorAtLeastOne.of(limit)), [1, 1, 1, 2]);
    /// ```
    #[must_use]
    pub const fn of(self, limit: u32) -> u32 {
        match self {
            // ⌈log n⌉ is one more than ⌊log (n − 1)⌋.
            Self::Ceil => match limit.saturating_sub(1).checked_ilog10() {
                Some(log) => log.saturating_add(1),
                None => 0,
            },
            Self::FloorAtLeastOne => match limit.checked_ilog10() {
                Some(log) if log > 1 => log,
                _ => 1,
            },
        }
    }
}

/// Settings of an [`OpenSearchVegas`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenSearchVegasSettings {
    /// Limit before the first sample, permits; 1 or more.
    pub initial: u32,
    /// Least limit, permits; 1 or more.
    pub min: u32,
    /// Greatest limit, permits; `initial` or more.
    pub max: u32,
    /// Scales the big step and all three thresholds; 1 to 2³¹ − 1.
    pub updrift_factor: u32,
    /// Samples in a row that raise the limit; 1 or more.
    pub increase_barrier: u32,
    /// Samples in a row that lower it; 1 or more. A drop does at once.
    pub decrease_barrier: u32,
    /// A probe is believed with at most this share of the limit in flight, in \[0, 1\].
    pub baseline_reset_load_threshold: f64,
    /// After `jitter · probe_multiplier · limit` samples there is a probe; above 0.
    pub probe_multiplier: f64,
    /// How the logarithm is rounded.
    pub logarithm: Logarithm,
}

impl Default for OpenSearchVegasSettings {
    /// As [`opensearch`](Self::opensearch).
    fn default() -> Self {
        Self::opensearch()
    }
}

impl OpenSearchVegasSettings {
    /// As OpenSearch 3.9 has it in its code.
    #[must_use]
    pub const fn opensearch() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 200,
            updrift_factor: 1,
            increase_barrier: 1,
            decrease_barrier: 1,
            baseline_reset_load_threshold: 0.5,
            probe_multiplier: 30.0,
            logarithm: Logarithm::Ceil,
        }
    }

    /// As OpenSearch 3.9 has it in its documentation: the standard logarithm, and never below the initial limit.
    #[must_use]
    pub const fn documented() -> Self {
        let code = Self::opensearch();
        Self { min: code.initial, logarithm: Logarithm::FloorAtLeastOne, ..code }
    }
}

/// OpenSearch's Vegas; see the [module](self).
#[derive(Clone, Debug)]
pub struct OpenSearchVegas<J = Steps> {
    settings: OpenSearchVegasSettings,
    jitter: J,
    factor: f64,
    limit: u32,
    count: u64,
    /// 0 for none.
    no_load_ns: u64,
    rising: u32,
    falling: u32,
}

impl OpenSearchVegas {
    /// An estimator at its initial limit, with the default jitter.
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter).
    pub fn new(settings: OpenSearchVegasSettings) -> Result<Self, ConfigError> {
        Self::with_jitter(settings, Steps::default())
    }
}

impl<J: Jitter> OpenSearchVegas<J> {
    /// An estimator at its initial limit; `jitter` spaces its probes.
    ///
    /// # Errors
    /// Every field outside its range.
    pub fn with_jitter(settings: OpenSearchVegasSettings, mut jitter: J) -> Result<Self, ConfigError> {
        settings.check()?;
        let factor = draw(&mut jitter);
        let limit = settings.initial;
        Ok(Self { settings, jitter, factor, limit, count: 0, no_load_ns: 0, rising: 0, falling: 0 })
    }
}

impl OpenSearchVegasSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { updrift_factor: updrift, increase_barrier, decrease_barrier, .. } = *self;
        let mut rules = Rules::new();
        bounds::state_rules(&mut rules, self.initial, self.min, self.max, false);
        let most = i32::MAX.unsigned_abs();
        rules.require((1..=most).contains(&updrift), "updrift_factor", updrift, "1 to 2147483647");
        rules.require(increase_barrier >= 1, "increase_barrier", increase_barrier, "1 sample or more");
        rules.require(decrease_barrier >= 1, "decrease_barrier", decrease_barrier, "1 sample or more");
        let threshold = self.baseline_reset_load_threshold;
        rules.require((0.0..=1.0).contains(&threshold), "baseline_reset_load_threshold", threshold, "0 to 1");
        let probe = self.probe_multiplier;
        rules.require(probe > 0.0 && probe.is_finite(), "probe_multiplier", probe, "above 0");
        rules.verdict()
    }
}

impl<J> OpenSearchVegas<J> {
    /// Changes the settings; the baseline, the streaks and, within the new bounds, the limit are kept. O(1).
    ///
    /// # Errors
    /// As [`new`](OpenSearchVegas::new); nothing is changed.
    pub fn reconfigure(&mut self, settings: OpenSearchVegasSettings) -> Result<(), ConfigError> {
        settings.check()?;
        self.settings = settings;
        self.limit = self.limit.max(settings.min).min(settings.max);
        Ok(())
    }

    /// The limit, which is a whole number before it is published, too.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        f64::from(self.limit)
    }

    /// The round-trip time without a queue, as far as known.
    #[must_use]
    pub const fn no_load_rtt(&self) -> Option<Duration> {
        if self.no_load_ns == 0 { None } else { Some(Duration::from_nanos(self.no_load_ns)) }
    }

    /// Samples in a row that wanted to raise, and to lower, the limit.
    #[must_use]
    pub const fn streaks(&self) -> (u32, u32) {
        (self.rising, self.falling)
    }

    /// Where a queue of this many requests, not yet rounded up, takes the limit.
    fn judge(&mut self, queue: f64) -> u32 {
        let OpenSearchVegasSettings { updrift_factor, increase_barrier, decrease_barrier, logarithm, .. } =
            self.settings;
        // More than can be published is as good as all of it.
        let log = logarithm.of(self.limit);
        let theta = log.saturating_mul(updrift_factor);
        let (alpha, beta) = (theta.saturating_mul(3), theta.saturating_mul(6));
        // ⌈q⌉ ≤ n is q ≤ n, and ⌈q⌉ < n is q ≤ n − 1.
        let none = queue <= f64::from(theta);
        let rises = none || queue <= f64::from(alpha) - 1.0;
        let falls = !rises && queue > f64::from(beta);
        let step = if none { beta } else { log };
        let risen = confirmed(&mut self.rising, rises, increase_barrier);
        let fallen = confirmed(&mut self.falling, falls, decrease_barrier);
        let up = if risen { step } else { 0 };
        let down = if fallen { log } else { 0 };
        self.limit.saturating_add(up).saturating_sub(down)
    }

    const fn end_streaks(&mut self) {
        (self.rising, self.falling) = (0, 0);
    }
}

impl<J: Jitter> OpenSearchVegas<J> {
    /// The new target.
    fn learn(&mut self, sample: &Sample) -> u32 {
        let rtt_ns = num::nanos(sample.rtt);
        if rtt_ns == 0 {
            return self.limit;
        }
        let (limit, in_flight) = (f64::from(self.limit), f64::from(num::as_i32(sample.in_flight)));
        self.count = self.count.saturating_add(1);
        if self.factor * self.settings.probe_multiplier * limit <= num::to_f64(self.count) {
            self.factor = draw(&mut self.jitter);
            self.count = 0;
            if in_flight <= limit * self.settings.baseline_reset_load_threshold {
                self.no_load_ns = rtt_ns;
            }
            return self.limit;
        }
        if self.no_load_ns == 0 || rtt_ns < self.no_load_ns {
            self.no_load_ns = rtt_ns;
            return self.limit;
        }
        if sample.outcome == Outcome::Dropped {
            self.end_streaks();
            return self.limit.saturating_sub(self.settings.logarithm.of(self.limit));
        }
        if in_flight * (f64::from(self.settings.updrift_factor) + 1.0) < limit {
            self.end_streaks();
            return self.limit;
        }
        let ratio = num::to_f64(self.no_load_ns) / num::to_f64(rtt_ns);
        self.judge(limit * (1.0 - ratio))
    }
}

/// One more in a row, or the end of the row: whether it is long enough, which starts a new one.
const fn confirmed(streak: &mut u32, goes_on: bool, barrier: u32) -> bool {
    let length = if goes_on { streak.saturating_add(1) } else { 0 };
    let enough = length >= barrier;
    *streak = if enough { 0 } else { length };
    enough
}

impl<J: Jitter> Estimator for OpenSearchVegas<J> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome != Outcome::Ignored {
            self.limit = self.learn(sample).min(self.settings.max).max(self.settings.min);
        }
        self.limit()
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        Self::no_load_rtt(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    fn sample(ms: u64, in_flight: u32, outcome: Outcome) -> Sample {
        Sample { started: Timestamp::ZERO, rtt: Duration::from_millis(ms), in_flight, outcome }
    }

    /// Limits after a baseline of 10 ms and these round-trip times, always busy.
    fn limits(settings: OpenSearchVegasSettings, rtts_ms: &[u64]) -> std::vec::Vec<u32> {
        let mut vegas = OpenSearchVegas::new(settings).unwrap();
        vegas.on_sample(&sample(10, 200, Outcome::Success));
        rtts_ms.iter().map(|&ms| vegas.on_sample(&sample(ms, 200, Outcome::Success))).collect()
    }

    #[test]
    fn at_twenty_the_thresholds_are_twice_those_of_the_standard() {
        let code = OpenSearchVegasSettings::opensearch();
        assert_eq!(limits(code, &[11, 13, 20, 25, 26]), [32, 32, 30, 28, 26], "queues of 2, 8, 16, 18, 18");
        let standard = OpenSearchVegasSettings { logarithm: Logarithm::FloorAtLeastOne, ..code };
        assert_eq!(limits(standard, &[10, 12, 15]), [26, 26, 25]);
    }

    #[test]
    fn a_limit_of_one_is_for_good_in_the_code_and_not_in_the_documentation() {
        let one = OpenSearchVegasSettings { initial: 1, ..OpenSearchVegasSettings::opensearch() };
        assert_eq!(limits(one, &[10; 50])[49], 1);
        let documented =
            OpenSearchVegasSettings { initial: 1, min: 1, ..OpenSearchVegasSettings::documented() };
        assert!(limits(documented, &[10; 50])[49] > 100);
    }

    #[test]
    fn a_drop_bypasses_the_barrier_and_ends_both_streaks() {
        let settings = OpenSearchVegasSettings {
            increase_barrier: 3,
            decrease_barrier: 3,
            ..OpenSearchVegasSettings::opensearch()
        };
        let mut vegas = OpenSearchVegas::new(settings).unwrap();
        for ms in [10, 10, 10] {
            vegas.on_sample(&sample(ms, 20, Outcome::Success));
        }
        assert_eq!(vegas.streaks(), (2, 0));
        assert_eq!(vegas.on_sample(&sample(50, 20, Outcome::Dropped)), 18);
        assert_eq!(vegas.streaks(), (0, 0));
        assert_eq!(vegas.on_sample(&sample(10, 20, Outcome::Ignored)), 18);
    }

    #[test]
    fn a_probe_under_load_is_not_believed() {
        for (threshold, believed) in [(0.5, false), (1.0, true)] {
            let settings = OpenSearchVegasSettings {
                baseline_reset_load_threshold: threshold,
                probe_multiplier: 0.1,
                ..OpenSearchVegasSettings::opensearch()
            };
            let mut vegas = OpenSearchVegas::new(settings).unwrap();
            for ms in [10, 100, 100, 100] {
                vegas.on_sample(&sample(ms, 15, Outcome::Success));
            }
            assert_eq!(vegas.no_load_rtt() == Some(Duration::from_millis(100)), believed);
        }
    }

    #[test]
    fn logarithms_are_whole_and_rounded_as_they_say() {
        let limits = [0, 1, 2, 9, 10, 11, 99, 100, 101, u32::MAX];
        assert_eq!(limits.map(|limit| Logarithm::Ceil.of(limit)), [0, 0, 1, 1, 1, 2, 2, 2, 3, 10]);
        assert_eq!(limits.map(|limit| Logarithm::FloorAtLeastOne.of(limit)), [1, 1, 1, 1, 1, 1, 1, 2, 2, 9]);
    }

    #[test]
    fn a_multiple_of_the_limit_that_never_or_always_comes_is_refused() {
        for probe_multiplier in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let settings =
                OpenSearchVegasSettings { probe_multiplier, ..OpenSearchVegasSettings::opensearch() };
            assert!(OpenSearchVegas::new(settings).is_err(), "{probe_multiplier}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let broken = OpenSearchVegasSettings {
            initial: 0,
            max: 0,
            min: 2,
            updrift_factor: 0,
            increase_barrier: 0,
            decrease_barrier: 0,
            baseline_reset_load_threshold: 1.1,
            probe_multiplier: f64::NAN,
            logarithm: Logarithm::Ceil,
        };
        let error = OpenSearchVegas::new(broken).unwrap_err();
        assert_eq!(error.violations().len(), 7);
    }
}
