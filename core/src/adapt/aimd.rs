//! [`Aimd`]: additive increase, multiplicative decrease; knows nothing but drops.
//!
//! **Problem.** Where overload shows as refusals or timeouts, and latency says little, go up slowly while all is
//! well and down at once when it is not, as TCP does.
//!
//! **Derivation.** While requests succeed and at least half of the limit is in use, a limit's worth of successes adds
//! [`increase`](AimdSettings::increase) permits. A drop, or a success slower than `timeout`, takes the limit to
//! `backoff_ratio` of itself, once per congestion epoch. With a share `p` of drops the limit settles near
//! `√(increase / (p·(1 − backoff_ratio)))` permits, whatever their cause: AIMD is for drops that mean overload.
//!
//! Slow start: at first every success that was admitted to a full house adds `increase`, which doubles the limit in a
//! round trip, for a large limit is far from a small one in steps of one. It ends with the first success slower than
//! half of `timeout`, and a drop that comes before that halves the limit: a doubling that overshot is not undone by 0.9.
//!
//! **Source.** `AIMDLimit` of Netflix concurrency-limits; [`AimdSettings::netflix`] equals it bit for bit.
//! Deviations of our default, each an option but the first: slow start; growth is per limit's worth of requests, not per request (the reference
//! adds 100 permits in one round trip at a limit of 100); one cut per epoch (k requests that fail together are one
//! piece of news); `2·in_flight` does not wrap; the floor is 1, not 20; bounds are checked.
//!
//! **Constants.** `backoff_ratio` 0.9 and `timeout` 5 s are the reference's. `max` is 1000 as Vegas' is.
//!
//! **Invariants.** **I1** `min ≤ limit ≤ max`; **I2** a drop never raises; **I3** from every state a run of busy
//! successes reaches `max`.
//!
//! Work O(1); memory: about a dozen words.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Aimd, AimdSettings, Estimator, Outcome, Sample};
//!
//! let mut aimd = Aimd::new(AimdSettings { initial: 10, ..AimdSettings::default() })?;
//! let busy = |in_flight, started| {
//!     let rtt = Duration::from_millis(5);
//!     Sample { started, rtt, in_flight, outcome: Outcome::Success }
//! };
//! for _ in 0..10 {
//!     aimd.on_sample(&busy(aimd.limit(), Timestamp::ZERO));
//! }
//! assert_eq!(aimd.limit(), 20, "slow start: a limit's worth of successes doubles it");
//!
//! let dropped = Sample { outcome: Outcome::Dropped, ..busy(20, Timestamp::ZERO) };
//! assert_eq!(aimd.on_sample(&dropped), 10, "the doubling overshot");
//! assert_eq!(aimd.on_sample(&dropped), 10, "admitted before the cut: the same piece of news");
//! for _ in 0..10 {
//!     aimd.on_sample(&busy(10, dropped.ended()));
//! }
//! assert_eq!(aimd.limit(), 11, "from now on a limit's worth adds one");
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::bounds;
use crate::adapt::epoch::Epoch;
use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::{ConfigError, Rules};
use crate::num;

/// Settings of an [`Aimd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdSettings {
    /// Limit before the first sample, permits.
    pub initial: u32,
    /// Least limit, permits; 1 or more.
    pub min: u32,
    /// Greatest limit, permits.
    pub max: u32,
    /// Permits added per limit's worth of busy successes (per busy success with `grow_each_sample`); 1 or more.
    pub increase: u32,
    /// Share of the limit left after a cut, in \[0.5, 1).
    pub backoff_ratio: f64,
    /// A success slower than this counts as a drop.
    pub timeout: Duration,
    /// Double in each round trip until the first success slower than half of `timeout`; halve if a drop comes first.
    pub slow_start: bool,
    /// Fault of the reference: grow at each busy success instead of once per limit's worth.
    pub grow_each_sample: bool,
    /// Fault of the reference: cut at each drop, truncated to whole permits, instead of once per epoch.
    pub cut_each_drop: bool,
    /// Fault of the reference: `2·in_flight` wraps at 2^31, and a request among 2^30 others counts as alone.
    pub wrapping_in_flight: bool,
    /// Fault of the reference: `initial` may lie outside `min..=max`, and `min` above `max`; the first sample clamps.
    pub loose_bounds: bool,
}

impl Default for AimdSettings {
    fn default() -> Self {
        Self {
            initial: 20,
            min: 1,
            max: 1000,
            increase: 1,
            backoff_ratio: 0.9,
            timeout: Duration::from_secs(5),
            slow_start: true,
            grow_each_sample: false,
            cut_each_drop: false,
            wrapping_in_flight: false,
            loose_bounds: false,
        }
    }
}

impl AimdSettings {
    /// `AIMDLimit` as Netflix ships it.
    #[must_use]
    pub fn netflix() -> Self {
        Self {
            min: 20,
            max: 200,
            slow_start: false,
            grow_each_sample: true,
            cut_each_drop: true,
            wrapping_in_flight: true,
            loose_bounds: true,
            ..Self::default()
        }
    }
}

impl AimdSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { initial, min, max, increase, backoff_ratio, loose_bounds, .. } = *self;
        let mut rules = Rules::new();
        bounds::state_rules(&mut rules, initial, min, max, loose_bounds);
        rules.require(increase >= 1, "increase", increase, "at least 1 permit");
        let sound = (0.5..1.0).contains(&backoff_ratio);
        rules.require(sound, "backoff_ratio", backoff_ratio, "at least 0.5 and below 1");
        rules.verdict()
    }
}

/// Additive increase, multiplicative decrease; see the [module](self).
#[derive(Clone, Debug)]
pub struct Aimd {
    settings: AimdSettings,
    estimate: f64,
    limit: u32,
    /// Busy successes since the last increase.
    earned: u32,
    /// In slow start.
    starting: bool,
    epoch: Epoch,
}

impl Aimd {
    /// An estimator at its initial limit.
    ///
    /// # Errors
    /// Bounds out of order, `increase` 0, `backoff_ratio` outside \[0.5, 1).
    pub fn new(settings: AimdSettings) -> Result<Self, ConfigError> {
        settings.check()?;
        let epoch = Epoch::default();
        Ok(Self {
            settings,
            estimate: f64::from(settings.initial),
            limit: settings.initial,
            earned: 0,
            starting: settings.slow_start,
            epoch,
        })
    }

    /// Changes the settings; the estimate is kept, within the new bounds. O(1).
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed.
    pub fn reconfigure(&mut self, settings: AimdSettings) -> Result<(), ConfigError> {
        settings.check()?;
        self.settings = settings;
        self.starting &= settings.slow_start;
        self.publish();
        Ok(())
    }

    /// The limit before truncation to whole permits.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Asserts I1. Debug builds call it after each sample, unless `loose_bounds` lets the bounds cross. O(1).
    pub fn check_invariants(&self) {
        bounds::check(self.estimate, self.limit, self.settings.min, self.settings.max);
    }

    fn publish(&mut self) {
        // Never `NaN`. The references of the others clamp the other way round: where bounds cross, here the upper one wins.
        self.estimate = self.estimate.max(f64::from(self.settings.min)).min(f64::from(self.settings.max));
        self.limit = num::trunc_i32(self.estimate);
    }

    #[inline(never)]
    fn cut(&mut self, sample: &Sample) {
        let ratio = self.settings.backoff_ratio;
        if self.settings.cut_each_drop {
            self.estimate = f64::from(num::trunc_i32(self.estimate * ratio));
        } else if let Some(depth) = self.epoch.drop(sample, self.limit, 1) {
            let left = if self.starting { 0.5 } else { 1.0 - (1.0 - ratio) * depth };
            self.estimate *= left;
            self.earned = 0;
            self.starting = false;
        }
        self.publish();
    }

    #[inline]
    fn grow(&mut self, sample: &Sample) {
        self.epoch.success(sample.rtt);
        let busy = if self.settings.wrapping_in_flight {
            f64::from(num::as_i32(sample.in_flight).wrapping_mul(2)) >= self.estimate
        } else {
            f64::from(sample.in_flight) * 2.0 >= self.estimate
        };
        if !busy {
            return;
        }
        if self.starting {
            self.starting = sample.rtt.saturating_add(sample.rtt) <= self.settings.timeout;
            if sample.in_flight < self.limit {
                return;
            }
        }
        self.earned = self.earned.saturating_add(1);
        if self.settings.grow_each_sample || self.starting || self.earned >= self.limit {
            self.estimate += f64::from(self.settings.increase);
            self.earned = 0;
            self.publish();
        }
    }
}

impl Estimator for Aimd {
    #[inline]
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        match sample.outcome {
            Outcome::Ignored => return self.limit,
            Outcome::Success if sample.rtt <= self.settings.timeout => self.grow(sample),
            Outcome::Success | Outcome::Dropped => self.cut(sample),
        }
        if self.settings.loose_bounds {
            // It may have begun outside them.
            self.publish();
        }
        #[cfg(debug_assertions)]
        if !self.settings.loose_bounds {
            self.check_invariants();
        }
        self.limit
    }

    fn limit(&self) -> u32 {
        self.limit
    }
}

#[cfg(test)]
mod tests;
