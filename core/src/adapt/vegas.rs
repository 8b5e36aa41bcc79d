//! [`Vegas`]: keeps the server's queue between two thresholds, estimated from the delay.
//!
//! **Problem.** A server with too little work in flight idles; one with too much queues, and queueing adds latency
//! but no throughput. The right limit is where a short queue just begins.
//!
//! **Derivation.** With `N` requests in flight, a mean round-trip time `r` and a time `b` without a queue, Little's
//! law gives the throughput `N/r`, the requests being worked on `b·N/r`, and so the waiting ones
//!
//! > `q = N·(1 − b/r)`, in requests.
//!
//! Above `beta` the limit goes down; below `alpha` it goes up, by `beta` at once while `q ≤ theta` (no queue at all);
//! between them it stays. Drops cut in proportion. With little in flight (`2·in_flight < limit`) the limit does not
//! rise, for nothing is learnt about what it would allow; it may fall.
//!
//! By default all this is done per [round](RoundSettings): `r` is the mean of a limit's worth of successes and `b` is
//! measured in dips, when a share of the limit is published for a short while. `q` is never above `N`, so delay alone takes
//! no limit below `beta` (4): a server that bears less says so by drops. Below `alpha` (2) every busy round raises.
//!
//! **Source.** `VegasLimit` of Netflix concurrency-limits; [`VegasSettings::netflix`] equals it bit for bit, except
//! that a request of 0 ns, where the reference throws and loses the permit, is ignored. Deviations of our default:
//! rounds and dips as above in place of single samples, an all-time minimum and a probe that believes whatever comes
//! next; roots in place of logarithms; drops touch no baseline and are never swallowed, and cut to 0.9 once per epoch
//! in place of `−log10`; idle does not hide a delay; `2·in_flight` does not wrap; bounds are checked.
//!
//! **Constants.** `alpha`, `beta` are one and two roots of the limit: the noise of a round's `q` is about one root,
//! and square-root staffing says that a queue of that order is what keeps all slots busy. `decrease` halves the
//! excess, so that a limit ten times too high needs a few rounds, and noise just above `beta` costs one permit.
//!
//! **Invariants.** **I1** `min ≤ limit ≤ max`; **I2** the estimate is finite; **I3** a drop never raises and touches
//! no baseline; **I4** a request with less than half in flight never raises the estimate; **I5** from every state a
//! run of good, busy requests raises the limit.
//!
//! Work O(1); memory: about forty words.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Estimator, Outcome, Sample, Vegas, VegasSettings};
//!
//! let mut vegas = Vegas::new(VegasSettings { initial: 10, ..VegasSettings::default() })?;
//! for i in 0..32 {
//!     let started = Timestamp::from_nanos(i * 1_000_000);
//!     let rtt = Duration::from_millis(5);
//!     vegas.on_sample(&Sample { started, rtt, in_flight: 10, outcome: Outcome::Success });
//! }
//! assert_eq!(vegas.limit(), 16, "a round without a queue: one big step");
//! assert_eq!(vegas.no_load_rtt(), Some(Duration::from_millis(5)));
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::bounds;
use crate::adapt::jitter::{Jitter, Steps, draw};
use crate::adapt::mode::{EachSample, Mode};
use crate::adapt::round::{Learning, Round, RoundSettings};
use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::adapt::scale::{Decrease, Scale};
use crate::error::{ConfigError, Rules};
use crate::num;

/// Settings of a [`Vegas`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasSettings {
    /// Limit before the first sample, permits.
    pub initial: u32,
    /// Least limit, permits; 1 or more.
    pub min: u32,
    /// Greatest limit, permits.
    pub max: u32,
    /// A queue below this raises the limit.
    pub alpha: Scale,
    /// A queue above this lowers the limit; also the big step.
    pub beta: Scale,
    /// A queue up to this takes the big step.
    pub theta: Scale,
    /// The ordinary step up.
    pub increase: Scale,
    /// The step down for delay; with [`Learning::EachSample`] for drops too.
    pub decrease: Decrease,
    /// Weight of a new target against the estimate, in (0, 1].
    pub smoothing: f64,
    /// Per round, or per sample as the reference.
    pub learning: Learning<VegasReference>,
}

/// What only the reference has; each `bool` is one of its faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasReference {
    /// After `jitter · probe_multiplier · limit` samples the next one becomes the baseline. Above 0.
    pub probe_multiplier: f64,
    /// A probe believes any sample; otherwise only a success with at most half the limit in flight.
    pub probe_under_load: bool,
    /// A drop that is a new minimum, or falls on a probe, becomes the baseline and does not cut.
    pub drops_set_baseline: bool,
    /// With less than half the limit in flight, no delay lowers it.
    pub idle_hides_delay: bool,
    /// `2·in_flight` wraps at 2^31.
    pub wrapping_in_flight: bool,
    /// `initial` may lie outside `min..=max`; the first update clamps.
    pub loose_bounds: bool,
}

impl Default for VegasSettings {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 1000,
            alpha: Scale::Sqrt { times: 1, at_least: 2 },
            beta: Scale::Sqrt { times: 2, at_least: 4 },
            theta: Scale::Fixed(0),
            increase: Scale::Sqrt { times: 1, at_least: 1 },
            decrease: Decrease::Excess(0.5),
            smoothing: 1.0,
            learning: Learning::Rounds(RoundSettings::default()),
        }
    }
}

impl VegasSettings {
    /// `VegasLimit` as Netflix ships it.
    #[must_use]
    pub fn netflix() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 1000,
            alpha: Scale::Log10 { times: 3 },
            beta: Scale::Log10 { times: 6 },
            theta: Scale::Log10 { times: 1 },
            increase: Scale::Log10 { times: 1 },
            decrease: Decrease::By(Scale::Log10 { times: 1 }),
            smoothing: 1.0,
            learning: Learning::EachSample(VegasReference::netflix()),
        }
    }
}

impl VegasReference {
    /// All faults on.
    #[must_use]
    pub const fn netflix() -> Self {
        Self {
            probe_multiplier: 30.0,
            probe_under_load: true,
            drops_set_baseline: true,
            idle_hides_delay: true,
            wrapping_in_flight: true,
            loose_bounds: true,
        }
    }
}

impl VegasSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { initial, min, max, decrease, smoothing, learning, .. } = *self;
        let loose = matches!(learning, Learning::EachSample(VegasReference { loose_bounds: true, .. }));
        let mut rules = Rules::new();
        bounds::state_rules(&mut rules, initial, min, max, loose);
        rules.require(decrease.is_sound(), "decrease", decrease.given(), "above 0 and below 1");
        bounds::state_smoothing(&mut rules, smoothing);
        match learning {
            Learning::Rounds(rounds) => rounds.state_rules(&mut rules, 1.0),
            Learning::EachSample(VegasReference { probe_multiplier: multiplier, .. }) => {
                let sound = multiplier > 0.0 && multiplier.is_finite();
                rules.require(sound, "learning.probe_multiplier", multiplier, "above 0");
            }
        }
        rules.verdict()
    }
}

/// Keeps the queue between two thresholds; see the [module](self).
#[derive(Clone, Debug)]
pub struct Vegas<J = Steps> {
    settings: VegasSettings,
    estimate: f64,
    limit: u32,
    mode: Mode<J, Each<J>>,
}

#[derive(Clone, Debug)]
struct Each<J> {
    rule: VegasReference,
    jitter: J,
    factor: f64,
    count: u64,
    no_load_ns: Option<u64>,
}

impl Vegas {
    /// An estimator at its initial limit, with the default jitter.
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter).
    pub fn new(settings: VegasSettings) -> Result<Self, ConfigError> {
        Self::with_jitter(settings, Steps::default())
    }
}

impl<J: Jitter> Vegas<J> {
    /// An estimator at its initial limit; `jitter` spaces its dips or probes.
    ///
    /// # Errors
    /// Bounds out of order, `smoothing` outside (0, 1], a number in `decrease` or `learning` outside its range.
    pub fn with_jitter(settings: VegasSettings, jitter: J) -> Result<Self, ConfigError> {
        settings.check()?;
        let VegasSettings { initial, min, learning, .. } = settings;
        let mode = Mode::new(learning, min, initial, jitter);
        Ok(Self { settings, estimate: f64::from(initial), limit: initial, mode })
    }
}

impl<J: Jitter + Clone> Vegas<J> {
    /// Changes the settings; what was learnt is kept, the estimate within its new bounds. Between rounds and samples only the
    /// estimate is. O(1).
    ///
    /// # Errors
    /// As [`with_jitter`](Self::with_jitter); nothing is changed.
    pub fn reconfigure(&mut self, settings: VegasSettings) -> Result<(), ConfigError> {
        settings.check()?;
        self.mode.reconfigure(settings.learning, settings.min, settings.initial);
        self.estimate = bounds::within(self.estimate, settings.initial, settings.min, settings.max);
        self.settings = settings;
        self.limit = self.mode.publish(self.estimate);
        Ok(())
    }
}

impl<J> Vegas<J> {
    /// The limit before truncation to whole permits, and whatever a dip publishes.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.estimate
    }

    /// The round-trip time without a queue, as far as known.
    #[must_use]
    pub fn no_load_rtt(&self) -> Option<Duration> {
        let ns = match &self.mode {
            Mode::Rounds(rounds) => rounds.no_load_ns().map(num::trunc_u64),
            Mode::EachSample(each) => each.no_load_ns,
        };
        ns.map(Duration::from_nanos)
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

impl<J: Jitter> Estimator for Vegas<J> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome == Outcome::Ignored {
            return self.limit;
        }
        let (settings, estimate) = (&self.settings, self.estimate);
        match &mut self.mode {
            Mode::Rounds(rounds) => {
                let judge = |round: &Round| settings.smoothed(estimate, settings.judge(round, estimate));
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

impl VegasSettings {
    /// The next estimate on the way to a target; `None` to stay.
    fn smoothed(&self, estimate: f64, target: Option<f64>) -> f64 {
        let Some(target) = target else { return estimate };
        (1.0 - self.smoothing) * estimate + self.smoothing * bounds::clamp(target, self.min, self.max)
    }

    /// The new target after a round, `None` to stay.
    fn judge(&self, round: &Round, estimate: f64) -> Option<f64> {
        let queue = num::ceil_i32(round.in_flight * (1.0 - round.no_load_ns / round.mean_ns));
        self.step(queue, estimate, round.may_raise)
    }

    /// The rule itself: where a queue of this many requests takes the estimate.
    fn step(&self, queue: i32, estimate: f64, may_raise: bool) -> Option<f64> {
        let (queue, at) = (i64::from(queue), num::trunc_i32(estimate));
        let beta = i64::from(self.beta.at(at));
        if may_raise && queue <= i64::from(self.theta.at(at)) {
            Some(estimate + f64::from(self.beta.at(at)))
        } else if may_raise && queue < i64::from(self.alpha.at(at)) {
            Some(estimate + f64::from(self.increase.at(at)))
        } else if queue > beta {
            Some(self.decrease.apply(estimate, self.excess(queue, at)))
        } else {
            None
        }
    }

    /// How much of the queue is above `beta`; negative if none is.
    fn excess(&self, queue: i64, at: u32) -> f64 {
        let excess = queue.saturating_sub(i64::from(self.beta.at(at)));
        f64::from(i32::try_from(excess).unwrap_or(0))
    }
}

impl<J: Jitter> EachSample for Each<J> {
    type Jitter = J;
    type Rule = VegasReference;

    fn new(rule: VegasReference, mut jitter: J) -> Self {
        let factor = draw(&mut jitter);
        Self { rule, jitter, factor, count: 0, no_load_ns: None }
    }

    fn set_rule(&mut self, rule: VegasReference) {
        self.rule = rule;
    }

    fn jitter(&self) -> &J {
        &self.jitter
    }
}

impl<J: Jitter> Each<J> {
    fn learn(&mut self, settings: &VegasSettings, sample: &Sample, estimate: f64) -> Option<f64> {
        let rule = self.rule;
        let rtt_ns = num::nanos(sample.rtt);
        let dropped = sample.outcome == Outcome::Dropped;
        let teaches = !dropped || rule.drops_set_baseline;
        if rtt_ns == 0 && teaches {
            return None;
        }
        let idle = if rule.wrapping_in_flight {
            f64::from(num::as_i32(sample.in_flight).wrapping_mul(2)) < estimate
        } else {
            f64::from(sample.in_flight) * 2.0 < estimate
        };
        self.count = self.count.saturating_add(1);
        if self.factor * rule.probe_multiplier * estimate <= num::to_f64(self.count) && teaches {
            self.factor = draw(&mut self.jitter);
            self.count = 0;
            if rule.probe_under_load || idle {
                self.no_load_ns = Some(rtt_ns);
                return None;
            }
        }
        if teaches && self.no_load_ns.is_none_or(|no_load_ns| rtt_ns < no_load_ns) {
            self.no_load_ns = Some(rtt_ns);
            return None;
        }
        let no_load = num::to_f64(self.no_load_ns.unwrap_or(rtt_ns));
        let queue = num::ceil_i32(estimate * (1.0 - no_load / num::to_f64(rtt_ns.max(1))));
        if dropped {
            let excess = settings.excess(queue.into(), num::trunc_i32(estimate));
            return Some(settings.decrease.apply(estimate, excess));
        }
        if idle && rule.idle_hides_delay {
            return None;
        }
        settings.step(queue, estimate, !idle)
    }
}

#[cfg(test)]
mod tests;
