//! [`Gradient2`]: scales the limit by how much slower requests are than they should be.
//!
//! **Problem.** As [`Vegas`](super::Vegas), but relative: twice the latency asks for half the concurrency, whatever
//! the limit is, and a tolerance says how much slower is still fine.
//!
//! **Derivation.** With the time without a queue `b`, the mean of a round `r` and a tolerance `t`, the gradient is
//!
//! > `g = clamp(t·b/r, ½, 1)`, and the next estimate `e·g + Q` for `g < 1`, `e + Q` for `g = 1`,
//!
//! with an allowance of `Q` permits for a queue. The allowance makes room to grow while `g = 1`; while `g < 1` the
//! next estimate is never above `e`, or the allowance would lift the limit under a steady overload.
//! With less than half of the limit in flight the limit does not rise, and falls only if the requests in flight
//! themselves make a queue above the allowance, `N·(1 − g) > Q`.
//!
//! By default `r` is the mean of a [round](RoundSettings) and `b` is measured in dips to a share `d` of the limit.
//! Where time is proportional to concurrency (one slot), `g = t·d`, and the limit rests at `Q/(1 − t·d)` at most: 10.
//! So `t·d` must be below 1.
//!
//! **Source.** `Gradient2Limit` of Netflix concurrency-limits; [`Gradient2Settings::netflix`] equals it bit for bit,
//! `NaN` included. Deviations of our default: rounds in place of single samples; dips in place of a long average
//! that adopts every lasting overload as normal; drops cut, once per epoch; the allowance does not lift an overloaded
//! limit; round-trip times of 0 make no `NaN`; `max` is 1000 and `min` 1; bounds are checked.
//!
//! **Constants.** `t` 1.5 is the reference's. `Q` is the root of the limit, at least the reference's 4: the noise of a
//! round, and growth from 20 to 400 in some thirty rounds. `smoothing` 1: a round is smooth already.
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
//! use tollgate::adapt::{Estimator, Gradient2, Gradient2Settings, Outcome, Sample};
//!
//! let mut gradient = Gradient2::new(Gradient2Settings { initial: 10, ..Gradient2Settings::default() })?;
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
use crate::adapt::jitter::{Jitter, Steps};
use crate::adapt::mode::{EachSample, Mode};
use crate::adapt::round::{Learning, Round, RoundSettings};
use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::adapt::scale::Scale;
use crate::error::{ConfigError, Rules};
use crate::num;

/// Settings of a [`Gradient2`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient2Settings {
    /// Limit before the first sample, permits.
    pub initial: u32,
    /// Least limit, permits; 1 or more.
    pub min: u32,
    /// Greatest limit, permits.
    pub max: u32,
    /// Weight of a new target against the estimate, in (0, 1].
    pub smoothing: f64,
    /// How many times slower than the baseline is still fine; 1 or more.
    pub rtt_tolerance: f64,
    /// Permits allowed for a queue: what the limit grows by.
    pub queue: Scale,
    /// Per round, or per sample as the reference.
    pub learning: Learning<Gradient2Reference>,
}

/// What only the reference has; each `bool` is one of its faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient2Reference {
    /// Samples the long average remembers; 1 or more.
    pub long_window: u32,
    /// Samples over which the long average is a plain mean.
    pub warmup: u32,
    /// Share of the limit left after a drop, in (0, 1\]; `None` as the reference, which ignores drops and takes their
    /// round-trip times for measurements.
    pub backoff_ratio: Option<f64>,
    /// During the warm-up, a cut of the long average is lost at the next sample.
    pub loses_warmup_cut: bool,
    /// The queue allowance lifts the limit although requests are too slow.
    pub allowance_lifts_overload: bool,
    /// A round-trip time of 0 may make the estimate `NaN`, for ever, and the limit 0.
    pub zero_rtt_poisons: bool,
    /// `initial` may lie outside `min..=max`, and `min` above `max`; the first update clamps, and `min` wins.
    pub loose_bounds: bool,
}

impl Default for Gradient2Settings {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 1000,
            smoothing: 1.0,
            rtt_tolerance: 1.5,
            queue: Scale::Sqrt { times: 1, at_least: 4 },
            learning: Learning::Rounds(RoundSettings::default()),
        }
    }
}

impl Gradient2Settings {
    /// `Gradient2Limit` as Netflix ships it.
    #[must_use]
    pub const fn netflix() -> Self {
        Self {
            initial: 20,
            min: 20,
            max: 200,
            smoothing: 0.2,
            rtt_tolerance: 1.5,
            queue: Scale::Fixed(4),
            learning: Learning::EachSample(Gradient2Reference::netflix()),
        }
    }
}

impl Gradient2Reference {
    /// All faults on.
    #[must_use]
    pub const fn netflix() -> Self {
        Self {
            long_window: 600,
            warmup: 10,
            backoff_ratio: None,
            loses_warmup_cut: true,
            allowance_lifts_overload: true,
            zero_rtt_poisons: true,
            loose_bounds: true,
        }
    }
}

impl Gradient2Settings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { initial, min, max, smoothing, rtt_tolerance, learning, .. } = *self;
        let loose = matches!(learning, Learning::EachSample(Gradient2Reference { loose_bounds: true, .. }));
        let mut rules = Rules::new();
        bounds::state_rules(&mut rules, initial, min, max, loose);
        bounds::state_smoothing(&mut rules, smoothing);
        state_tolerance(&mut rules, rtt_tolerance);
        match learning {
            Learning::Rounds(rounds) => rounds.state_rules(&mut rules, rtt_tolerance),
            Learning::EachSample(Gradient2Reference { long_window, backoff_ratio, .. }) => {
                rules.require(long_window >= 1, "learning.long_window", long_window, "at least 1 sample");
                let ratio = backoff_ratio.unwrap_or(1.0);
                let sound = ratio > 0.0 && ratio <= 1.0;
                rules.require(sound, "learning.backoff_ratio", ratio, "above 0 and at most 1");
            }
        }
        rules.verdict()
    }
}

/// Scales the limit by the gradient of the delay; see the [module](self).
#[derive(Clone, Debug)]
pub struct Gradient2<J = Steps> {
    settings: Gradient2Settings,
    estimate: f64,
    limit: u32,
    mode: Mode<J, Each<J>>,
}

#[derive(Clone, Debug)]
struct Each<J> {
    rule: Gradient2Reference,
    /// For the rounds that other settings may ask for.
    jitter: J,
    long_ns: f64,
    sum_ns: f64,
    count: u32,
}

impl Gradient2 {
    /// An estimator at its initial limit, with the default jitter.
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter).
    pub fn new(settings: Gradient2Settings) -> Result<Self, ConfigError> {
        Self::with_jitter(settings, Steps::default())
    }
}

impl<J: Jitter> Gradient2<J> {
    /// An estimator at its initial limit; `jitter` spaces its dips.
    ///
    /// # Errors
    /// Bounds out of order, `smoothing` outside (0, 1], `rtt_tolerance` below 1, a number in `learning` outside its
    /// range.
    pub fn with_jitter(settings: Gradient2Settings, jitter: J) -> Result<Self, ConfigError> {
        settings.check()?;
        let Gradient2Settings { initial, min, learning, .. } = settings;
        let mode = Mode::new(learning, min, initial, jitter);
        Ok(Self { settings, estimate: f64::from(initial), limit: initial, mode })
    }
}

impl<J: Jitter + Clone> Gradient2<J> {
    /// Changes the settings; what was learnt is kept, the estimate within its new bounds. Between rounds and samples only the
    /// estimate is. O(1).
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter); nothing is changed.
    pub fn reconfigure(&mut self, settings: Gradient2Settings) -> Result<(), ConfigError> {
        settings.check()?;
        self.mode.reconfigure(settings.learning, settings.min, settings.initial);
        self.estimate = bounds::within(self.estimate, settings.initial, settings.min, settings.max);
        self.settings = settings;
        self.limit = self.mode.publish(self.estimate);
        Ok(())
    }
}

impl<J> Gradient2<J> {
    /// The limit before truncation to whole permits, and whatever a dip publishes.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.estimate
    }

    /// What requests are compared with, ns: the time without a queue, with [`Learning::EachSample`] the long average.
    /// 0 before the first.
    #[must_use]
    pub fn long_rtt_ns(&self) -> f64 {
        match &self.mode {
            Mode::Rounds(rounds) => rounds.no_load_ns().unwrap_or(0.0),
            Mode::EachSample(each) => each.long_ns,
        }
    }

    /// The round-trip time without a queue, as far as known; the long average is none.
    #[must_use]
    pub fn no_load_rtt(&self) -> Option<Duration> {
        match &self.mode {
            Mode::Rounds(rounds) => rounds.no_load_ns().map(num::trunc_u64).map(Duration::from_nanos),
            Mode::EachSample(_) => None,
        }
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
}

impl<J: Jitter> Estimator for Gradient2<J> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome == Outcome::Ignored {
            return self.limit;
        }
        let (settings, estimate) = (&self.settings, self.estimate);
        match &mut self.mode {
            Mode::Rounds(rounds) => {
                let judge = |round: &Round| {
                    let target = judge(round, estimate, settings.rtt_tolerance, settings.queue);
                    settings.smoothed(estimate, target)
                };
                if let Some((estimate, limit)) = rounds.learn(sample, estimate, judge) {
                    (self.estimate, self.limit) = (estimate, limit);
                }
            }
            Mode::EachSample(each) => {
                self.estimate = settings.smoothed(estimate, each.learn(settings, sample, estimate));
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

impl Gradient2Settings {
    /// The next estimate on the way to a target; `None` to stay.
    fn smoothed(&self, estimate: f64, target: Option<f64>) -> f64 {
        let Some(target) = target else { return estimate };
        bounds::clamp(estimate * (1.0 - self.smoothing) + target * self.smoothing, self.min, self.max)
    }
}

/// States that a tolerance is finite and at least 1.
pub(super) fn state_tolerance(rules: &mut Rules, tolerance: f64) {
    rules.require(tolerance >= 1.0 && tolerance.is_finite(), "rtt_tolerance", tolerance, "at least 1");
}

/// The gradient, within ½ and 1.
pub(super) fn gradient(tolerated_ns: f64, rtt_ns: f64) -> f64 {
    bounds::max(0.5, bounds::min(1.0, tolerated_ns / rtt_ns))
}

/// Where a round takes the estimate, `None` to stay.
pub(super) fn judge(round: &Round, estimate: f64, tolerance: f64, queue: Scale) -> Option<f64> {
    let gradient = gradient(tolerance * round.no_load_ns, round.mean_ns);
    let allowance = f64::from(queue.at(num::trunc_i32(estimate)));
    if gradient < 1.0 {
        // What is in flight, not what the limit would allow, makes the queue. It is at most the estimate, so a queue
        // above the allowance puts the target below the estimate.
        let queued = round.in_flight * (1.0 - gradient) > allowance;
        queued.then_some(estimate * gradient + allowance)
    } else {
        round.may_raise.then_some(estimate + allowance)
    }
}

impl<J: Jitter> EachSample for Each<J> {
    type Jitter = J;
    type Rule = Gradient2Reference;

    fn new(rule: Gradient2Reference, jitter: J) -> Self {
        Self { rule, jitter, long_ns: 0.0, sum_ns: 0.0, count: 0 }
    }

    fn set_rule(&mut self, rule: Gradient2Reference) {
        self.rule = rule;
    }

    fn jitter(&self) -> &J {
        &self.jitter
    }
}

impl<J> Each<J> {
    fn learn(&mut self, settings: &Gradient2Settings, sample: &Sample, estimate: f64) -> Option<f64> {
        let rule = self.rule;
        if let (Some(ratio), Outcome::Dropped) = (rule.backoff_ratio, sample.outcome) {
            return Some(estimate * ratio);
        }
        let rtt_ns = num::to_f64(num::nanos(sample.rtt));
        let short_ns = if rule.zero_rtt_poisons { rtt_ns } else { rtt_ns.max(1.0) };
        let long_ns = self.add(short_ns);
        if long_ns / short_ns > 2.0 {
            self.long_ns *= 0.95;
            if !rule.loses_warmup_cut {
                self.sum_ns *= 0.95;
            }
        }
        if f64::from(num::as_i32(sample.in_flight)) < estimate / 2.0 {
            return None;
        }
        let gradient = gradient(settings.rtt_tolerance * long_ns, short_ns);
        let target = estimate * gradient + f64::from(settings.queue.at(num::trunc_i32(estimate)));
        let lifts = gradient < 1.0 && !rule.allowance_lifts_overload;
        Some(if lifts { bounds::min(estimate, target) } else { target })
    }

    /// The long average with this sample in it.
    fn add(&mut self, rtt_ns: f64) -> f64 {
        if self.count < self.rule.warmup {
            self.count = self.count.saturating_add(1);
            self.sum_ns += rtt_ns;
            self.long_ns = self.sum_ns / f64::from(self.count);
        } else {
            let weight = 2.0 / (f64::from(self.rule.long_window) + 1.0);
            self.long_ns = self.long_ns * (1.0 - weight) + rtt_ns * weight;
        }
        self.long_ns
    }
}

#[cfg(test)]
mod tests;
