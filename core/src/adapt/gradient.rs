//! [`Gradient`]: the older gradient limit, against the least latency seen, with a cut for drops.
//!
//! **Problem.** As [`Gradient2`](super::Gradient2). The reference's second version gave up the minimum as a baseline
//! and, with it, the reaction to drops; this one has both.
//!
//! **Derivation.** `g = clamp(t·b/r, ½, 1)`; the target is `e·g + Q`, and after a drop `e·backoff_ratio`. Only the way
//! down is smoothed, so that one slow request does not cost a quarter of the limit and growth loses nothing.
//!
//! By default `r` is the mean of a [round](RoundSettings), `b` is measured in dips and the rule for a round is
//! [`Gradient2`](super::Gradient2)'s: the two then differ in `t` and in smoothing.
//!
//! **Source.** `GradientLimit` of Netflix concurrency-limits; [`GradientSettings::netflix`] equals it bit for bit,
//! `NaN` included. Deviations of our default: rounds and dips in place of samples and a minimum that is forgotten
//! every 1000 to 2000 samples together with the limit; the limit keeps to `min` and `max`, where the reference clamps
//! to the queue allowance in place of `min`; the allowance does not lift an overloaded limit; one cut per epoch, and
//! a drop touches no baseline; round-trip times of 0 make no `NaN`; bounds are checked.
//!
//! **Constants.** `t` 2, `initial` 50 and the root of the limit as allowance, at least 4, are the reference's;
//! `initial` 20 as in [`Gradient2`](super::Gradient2); `smoothing` ½, as a round needs less of it than a sample.
//!
//! **Invariants.** **I1** `min ≤ limit ≤ max`; **I2** the estimate is finite; **I3** a drop never raises and touches
//! no baseline; **I4** a request with less than half in flight never raises the estimate; **I5** from every state a
//! run of good, busy requests raises the limit; **I6** a round with `g < 1` never raises.
//!
//! Work O(1); memory: about forty words.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Estimator, Gradient, GradientSettings, Outcome, Sample};
//!
//! let mut gradient = Gradient::new(GradientSettings { initial: 10, ..GradientSettings::default() })?;
//! for i in 0..32 {
//!     let started = Timestamp::from_nanos(i * 1_000_000);
//!     let rtt = Duration::from_millis(5);
//!     gradient.on_sample(&Sample { started, rtt, in_flight: 10, outcome: Outcome::Success });
//! }
//! assert_eq!(gradient.limit(), 14, "a round without a queue: an allowance of 4");
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::bounds;
use crate::adapt::gradient2::{gradient, judge, state_tolerance};
use crate::adapt::jitter::{Jitter, Steps, draw};
use crate::adapt::mode::{EachSample, Mode};
use crate::adapt::round::{Learning, Round, RoundSettings};
use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::adapt::scale::Scale;
use crate::error::{ConfigError, Rules};
use crate::num;

/// Settings of a [`Gradient`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientSettings {
    /// Limit before the first sample, permits.
    pub initial: u32,
    /// Least limit, permits; 1 or more.
    pub min: u32,
    /// Greatest limit, permits.
    pub max: u32,
    /// Weight of a new, lower target against the estimate, in (0, 1].
    pub smoothing: f64,
    /// How many times slower than the baseline is still fine; 1 or more.
    pub rtt_tolerance: f64,
    /// Permits allowed for a queue: what the limit grows by.
    pub queue: Scale,
    /// Per round, or per sample as the reference.
    pub learning: Learning<GradientReference>,
}

/// What only the reference has; each `bool` is one of its faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientReference {
    /// After this many samples and up to twice as many, the baseline is forgotten, and the limit with it; that sample
    /// teaches nothing. At least 1; `None` is never.
    pub probe_interval: Option<u32>,
    /// Share of the limit left after a drop, before smoothing, in [0.5, 1).
    pub backoff_ratio: f64,
    /// A drop's round-trip time may become the baseline.
    pub drops_set_baseline: bool,
    /// The least limit is the queue allowance where it should be `min`.
    pub allowance_is_floor: bool,
    /// The queue allowance lifts the limit although requests are too slow.
    pub allowance_lifts_overload: bool,
    /// A round-trip time of 0 may make the estimate `NaN` and the limit 0, until the next probe.
    pub zero_rtt_poisons: bool,
    /// `initial` may lie outside `min..=max`, and `min` above `max`; the first update clamps.
    pub loose_bounds: bool,
}

impl Default for GradientSettings {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 1000,
            smoothing: 0.5,
            rtt_tolerance: 2.0,
            queue: Scale::Sqrt { times: 1, at_least: 4 },
            learning: Learning::Rounds(RoundSettings::default()),
        }
    }
}

impl GradientSettings {
    /// `GradientLimit` as Netflix ships it.
    #[must_use]
    pub const fn netflix() -> Self {
        Self {
            initial: 50,
            min: 1,
            max: 1000,
            smoothing: 0.2,
            rtt_tolerance: 2.0,
            queue: Scale::Sqrt { times: 1, at_least: 4 },
            learning: Learning::EachSample(GradientReference::netflix()),
        }
    }
}

impl GradientReference {
    /// All faults on.
    #[must_use]
    pub const fn netflix() -> Self {
        Self {
            probe_interval: Some(1000),
            backoff_ratio: 0.9,
            drops_set_baseline: true,
            allowance_is_floor: true,
            allowance_lifts_overload: true,
            zero_rtt_poisons: true,
            loose_bounds: true,
        }
    }
}

impl GradientSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { initial, min, max, smoothing, rtt_tolerance, learning, .. } = *self;
        let loose = matches!(learning, Learning::EachSample(GradientReference { loose_bounds: true, .. }));
        let mut rules = Rules::new();
        bounds::state_rules(&mut rules, initial, min, max, loose);
        bounds::state_smoothing(&mut rules, smoothing);
        state_tolerance(&mut rules, rtt_tolerance);
        match learning {
            Learning::Rounds(rounds) => rounds.state_rules(&mut rules, rtt_tolerance),
            Learning::EachSample(GradientReference { probe_interval, backoff_ratio, .. }) => {
                let interval = probe_interval.unwrap_or(1);
                rules.require(interval >= 1, "learning.probe_interval", interval, "at least 1 sample");
                let sound = (0.5..1.0).contains(&backoff_ratio);
                rules.require(sound, "learning.backoff_ratio", backoff_ratio, "at least 0.5 and below 1");
            }
        }
        rules.verdict()
    }
}

/// Scales the limit by the gradient of the delay; see the [module](self).
#[derive(Clone, Debug)]
pub struct Gradient<J = Steps> {
    settings: GradientSettings,
    estimate: f64,
    limit: u32,
    mode: Mode<J, Each<J>>,
}

#[derive(Clone, Debug)]
struct Each<J> {
    rule: GradientReference,
    jitter: J,
    /// Samples until the next probe.
    left: u64,
    /// 0 is none, as in the reference.
    no_load_ns: f64,
}

impl Gradient {
    /// An estimator at its initial limit, with the default jitter.
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter).
    pub fn new(settings: GradientSettings) -> Result<Self, ConfigError> {
        Self::with_jitter(settings, Steps::default())
    }
}

impl<J: Jitter> Gradient<J> {
    /// An estimator at its initial limit; `jitter` spaces its dips or probes.
    ///
    /// # Errors
    /// Bounds out of order, `smoothing` outside (0, 1], `rtt_tolerance` below 1, a number in `learning` outside its
    /// range.
    pub fn with_jitter(settings: GradientSettings, jitter: J) -> Result<Self, ConfigError> {
        settings.check()?;
        let GradientSettings { initial, min, learning, .. } = settings;
        let mode = Mode::new(learning, min, initial, jitter);
        Ok(Self { settings, estimate: f64::from(initial), limit: initial, mode })
    }
}

impl<J: Jitter + Clone> Gradient<J> {
    /// Changes the settings; what was learnt is kept, the estimate within its new bounds. Between rounds and samples only the
    /// estimate is. O(1).
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter); nothing is changed.
    pub fn reconfigure(&mut self, settings: GradientSettings) -> Result<(), ConfigError> {
        settings.check()?;
        self.mode.reconfigure(settings.learning, settings.min, settings.initial);
        self.estimate = bounds::within(self.estimate, settings.initial, settings.min, settings.max);
        self.settings = settings;
        self.limit = self.mode.publish(self.estimate);
        Ok(())
    }
}

impl<J> Gradient<J> {
    /// The limit before truncation to whole permits, and whatever a dip publishes.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.estimate
    }

    /// The round-trip time without a queue, as far as known.
    #[must_use]
    pub fn no_load_rtt(&self) -> Option<Duration> {
        let ns = match &self.mode {
            Mode::Rounds(rounds) => rounds.no_load_ns(),
            Mode::EachSample(each) => (each.no_load_ns > 0.0).then_some(each.no_load_ns),
        };
        ns.map(num::trunc_u64).map(Duration::from_nanos)
    }

    /// Asserts I1 and I2, which hold with [`Learning::Rounds`]. Debug builds call it after each sample. O(1).
    pub fn check_invariants(&self) {
        self.mode.check_invariants(self.estimate, self.limit, self.settings.min, self.settings.max);
    }

    /// Whether a share of the estimate is published for a while, to measure the time without a queue.
    #[must_use]
    pub fn is_dipping(&self) -> bool {
        self.mode.is_dipping()
    }

    /// Samples until the next probe; `None` where there is none, as with [`Learning::Rounds`].
    #[must_use]
    pub fn samples_to_probe(&self) -> Option<u64> {
        match &self.mode {
            Mode::EachSample(each) => each.rule.probe_interval.map(|_| each.left),
            Mode::Rounds(_) => None,
        }
    }
}

impl<J: Jitter> Estimator for Gradient<J> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome == Outcome::Ignored {
            return self.limit;
        }
        let (settings, estimate) = (&self.settings, self.estimate);
        match &mut self.mode {
            Mode::Rounds(rounds) => {
                let judge = |round: &Round| {
                    let target = judge(round, estimate, settings.rtt_tolerance, settings.queue);
                    let next = settings.smooth_down(estimate, target.unwrap_or(estimate));
                    bounds::clamp(next, settings.min, settings.max)
                };
                if let Some((estimate, limit)) = rounds.learn(sample, estimate, judge) {
                    (self.estimate, self.limit) = (estimate, limit);
                }
            }
            Mode::EachSample(each) => {
                self.estimate = each.learn(settings, sample, estimate);
                self.limit = num::trunc_i32(self.estimate);
            }
        }
        #[cfg(debug_assertions)]
        self.check_invariants();
        self.limit
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        Self::no_load_rtt(self)
    }
}

impl GradientSettings {
    fn smooth_down(&self, estimate: f64, target: f64) -> f64 {
        if target < estimate { estimate * (1.0 - self.smoothing) + target * self.smoothing } else { target }
    }
}

impl GradientReference {
    /// A fresh countdown: the interval and up to as much again, evenly.
    fn countdown(&self, jitter: &mut impl Jitter) -> u64 {
        let Some(interval) = self.probe_interval else { return 0 };
        let unit = 2.0 * draw(jitter) - 1.0;
        u64::from(interval).saturating_add(num::trunc_u64(f64::from(interval) * unit))
    }
}

impl<J: Jitter> EachSample for Each<J> {
    type Jitter = J;
    type Rule = GradientReference;

    fn new(rule: GradientReference, mut jitter: J) -> Self {
        let left = rule.countdown(&mut jitter);
        Self { rule, jitter, left, no_load_ns: 0.0 }
    }

    fn set_rule(&mut self, rule: GradientReference) {
        self.rule = rule;
    }

    fn jitter(&self) -> &J {
        &self.jitter
    }
}

impl<J: Jitter> Each<J> {
    /// The next estimate.
    fn learn(&mut self, settings: &GradientSettings, sample: &Sample, estimate: f64) -> f64 {
        let rule = self.rule;
        let allowance = settings.queue.at(num::trunc_i32(estimate));
        if rule.probe_interval.is_some() {
            if self.left == 0 {
                self.left = rule.countdown(&mut self.jitter);
                self.no_load_ns = 0.0;
                let fresh = f64::from(settings.min.max(allowance));
                let most = f64::from(settings.max);
                return if rule.allowance_is_floor { fresh } else { bounds::min(most, fresh) };
            }
            self.left = self.left.saturating_sub(1);
        }
        let rtt_ns = num::to_f64(num::nanos(sample.rtt));
        let rtt_ns = if rule.zero_rtt_poisons { rtt_ns } else { rtt_ns.max(1.0) };
        let dropped = sample.outcome == Outcome::Dropped;
        let teaches = !dropped || rule.drops_set_baseline;
        if teaches && (self.no_load_ns == 0.0 || rtt_ns < self.no_load_ns) {
            self.no_load_ns = rtt_ns;
        }
        let allowance = f64::from(allowance);
        let target = if dropped {
            estimate * rule.backoff_ratio
        } else if f64::from(num::as_i32(sample.in_flight)) < estimate / 2.0 {
            return estimate;
        } else {
            let gradient = gradient(settings.rtt_tolerance * self.no_load_ns, rtt_ns);
            let target = estimate * gradient + allowance;
            let lifts = gradient < 1.0 && !rule.allowance_lifts_overload;
            if lifts { bounds::min(estimate, target) } else { target }
        };
        let target = if target < estimate {
            bounds::max(f64::from(settings.min), settings.smooth_down(estimate, target))
        } else {
            target
        };
        let floor = if rule.allowance_is_floor { allowance } else { f64::from(settings.min) };
        bounds::max(floor, bounds::min(f64::from(settings.max), target))
    }
}

#[cfg(test)]
mod tests;
