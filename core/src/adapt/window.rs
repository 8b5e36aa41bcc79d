//! [`Window`]: feeds an estimator one sample per stretch of time in place of one per request.
//!
//! **Problem.** An estimator that reacts to each sample reacts to noise. A window hands it the mean, or a percentile,
//! of what ended within a stretch of time. Estimators that learn in [rounds](super::Learning::Rounds) already do the
//! like, by count; a window is for those that learn from each sample, or to hold a percentile down.
//!
//! **Derivation.** Successes are collected. At the first one that ends after the deadline, with at least `size`
//! collected, one sample goes to the estimator: the tracked round-trip time, the most in flight, and the earliest
//! start of them, so that what must have been admitted after some instant was. The next deadline is twice the least
//! round-trip time of the window later, within `min_window` and `max_window`. A drop cannot be averaged and will not
//! wait: it goes to the estimator at once, which knows about epochs.
//!
//! **Source.** `WindowedLimit` of Netflix concurrency-limits; [`WindowSettings::netflix`] hands on the same samples
//! bit for bit. Deviations of our default, each an option: a window with fewer than `size` samples is carried on,
//! not thrown away; drops as above in place of marking the window; no sample is lost past the capacity of a
//! percentile, where every second one is dropped from the *stored* ones and henceforth from the coming ones; a low
//! percentile is the least value in place of an error. A window that will not close because the clock went back
//! closes.
//!
//! **Constants.** 1 s, 10 samples are the reference's, and so is its threshold of 100 µs; by default there is none.
//!
//! **Invariants.** **I1** by default each success is in exactly one window and each drop is handed on; **I2** a
//! handed-on round-trip time lies between the least and the greatest of its window; **I3** what is stored never
//! exceeds the capacity.
//!
//! Work: O(1) per sample, and O(capacity) when a percentile window closes or overflows. Memory: a dozen words, and 8
//! bytes per stored sample.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Aimd, AimdSettings, Estimator, Outcome, Sample, Tracked, Window, WindowSettings};
//! use tollgate::slots::Inline;
//!
//! let settings = WindowSettings {
//!     size: 3,
//!     tracked: Tracked::Percentile { rank: 0.9, capacity: 64 },
//!     ..WindowSettings::default()
//! };
//! let aimd = Aimd::new(AimdSettings { initial: 1, ..AimdSettings::default() })?;
//! let mut window: Window<_, Inline<64>> = Window::new(settings, aimd)?;
//! for i in 0..3 {
//!     assert_eq!(window.limit(), 1);
//!     let (started, rtt) = (Timestamp::from_nanos(i), Duration::from_millis(5));
//!     window.on_sample(&Sample { started, rtt, in_flight: 1, outcome: Outcome::Success });
//! }
//! assert_eq!(window.limit(), 2, "three successes were one sample");
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

mod collected;

use core::time::Duration;

use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::{ConfigError, Rules};
use crate::slots::{Inline, Storage};
use crate::time::Timestamp;

use collected::Collected;

/// What stands for the round-trip times of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Tracked {
    /// Their mean, truncated to whole ns.
    Average,
    /// The value at a rank among them.
    Percentile {
        /// The rank, in (0, 1).
        rank: f64,
        /// Samples kept, 1 or more; what the storage of the [`Window`] can hold.
        capacity: u32,
    },
}

/// Settings of a [`Window`]; each `bool` is a fault of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSettings {
    /// Least time from one window to the next; above 0.
    pub min_window: Duration,
    /// Greatest time from one window to the next; `min_window` or more.
    pub max_window: Duration,
    /// Samples a window must have; 1 or more.
    pub size: u32,
    /// Successes faster than this are no measurement and are passed over.
    pub rtt_threshold: Duration,
    /// What stands for the round-trip times of a window.
    pub tracked: Tracked,
    /// A window with too few samples is thrown away.
    pub loses_small_windows: bool,
    /// A drop is collected as a success is: below the threshold it is lost, else it makes the whole window a drop.
    pub collects_drops: bool,
    /// Past the capacity of a percentile samples are lost, drops among them.
    pub loses_past_capacity: bool,
    /// A percentile whose rank rounds to none loses the window: the reference throws.
    pub loses_low_rank: bool,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Self {
            min_window: Duration::from_secs(1),
            max_window: Duration::from_secs(1),
            size: 10,
            rtt_threshold: Duration::ZERO,
            tracked: Tracked::Average,
            loses_small_windows: false,
            collects_drops: false,
            loses_past_capacity: false,
            loses_low_rank: false,
        }
    }
}

impl WindowSettings {
    /// `WindowedLimit` as Netflix ships it.
    #[must_use]
    pub fn netflix() -> Self {
        Self {
            rtt_threshold: Duration::from_micros(100),
            loses_small_windows: true,
            collects_drops: true,
            loses_past_capacity: true,
            loses_low_rank: true,
            ..Self::default()
        }
    }
}

/// An estimator behind a window; see the [module](self). `S` holds the samples of a percentile; an average needs none.
pub struct Window<E, S: Storage = Inline<0>> {
    settings: WindowSettings,
    inner: E,
    collected: Collected<S>,
    opened_at: Timestamp,
    closes_at: Timestamp,
}

impl<E: Estimator, S: Storage> Window<E, S> {
    /// A window in front of `inner`; the first closes as soon as it has its samples.
    ///
    /// # Errors
    /// As [`starting_at`](Self::starting_at).
    pub fn new(settings: WindowSettings, inner: E) -> Result<Self, ConfigError> {
        Self::starting_at(settings, inner, Timestamp::ZERO)
    }

    /// A window in front of `inner`; the first closes after `deadline`, not before.
    ///
    /// # Errors
    /// A `min_window` of 0 or above `max_window`, a `size` of 0, a rank outside (0, 1), a capacity of 0 or more than
    /// the storage can hold.
    pub fn starting_at(settings: WindowSettings, inner: E, deadline: Timestamp) -> Result<Self, ConfigError> {
        let WindowSettings { min_window, max_window, size, tracked, .. } = settings;
        let mut rules = Rules::new();
        let sound = !min_window.is_zero() && min_window <= max_window;
        rules.require(sound, "min_window", min_window.as_nanos(), "above 0 and at most max_window, in ns");
        rules.require(size >= 1, "size", size, "at least 1 sample");
        let stored = match tracked {
            Tracked::Average => 0,
            Tracked::Percentile { rank, capacity } => {
                rules.require(rank > 0.0 && rank < 1.0, "tracked.rank", rank, "above 0 and below 1");
                rules.require(capacity >= 1, "tracked.capacity", capacity, "at least 1 sample");
                capacity
            }
        };
        rules.verdict()?;
        let collected = Collected::new(stored)?;
        Ok(Self { settings, inner, collected, opened_at: Timestamp::ZERO, closes_at: deadline })
    }

    /// The window closes at the first sample that ends after this instant, if it has its samples.
    #[must_use]
    pub const fn closes_at(&self) -> Timestamp {
        self.closes_at
    }

    /// Samples in the open window.
    #[must_use]
    pub const fn pending(&self) -> u32 {
        self.collected.count()
    }

    /// The estimator behind the window.
    #[must_use]
    pub const fn inner(&self) -> &E {
        &self.inner
    }

    /// Asserts I3. O(1).
    pub fn check_invariants(&self) {
        self.collected.check_invariants();
    }

    fn is_due(&self, ended: Timestamp) -> bool {
        if self.settings.loses_small_windows {
            return ended > self.closes_at;
        }
        let enough = self.collected.count() >= self.settings.size;
        enough && (ended > self.closes_at || ended < self.opened_at)
    }

    fn close(&mut self, ended: Timestamp) {
        let WindowSettings { min_window, max_window, size, tracked, loses_low_rank, .. } = self.settings;
        let twice = self.collected.least_rtt().saturating_mul(2);
        self.opened_at = ended;
        self.closes_at = ended.saturating_add(twice.max(min_window).min(max_window));
        let summary = match tracked {
            _ if self.collected.count() < size => None,
            Tracked::Average => self.collected.average(),
            Tracked::Percentile { rank, .. } => self.collected.percentile(rank, loses_low_rank),
        };
        self.collected.clear();
        if let Some(summary) = summary {
            self.inner.on_sample(&summary);
        }
    }
}

impl<E: Estimator, S: Storage> Estimator for Window<E, S> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        match sample.outcome {
            Outcome::Ignored => return self.inner.limit(),
            Outcome::Dropped if !self.settings.collects_drops => return self.inner.on_sample(sample),
            Outcome::Success | Outcome::Dropped => {}
        }
        if sample.rtt >= self.settings.rtt_threshold {
            self.collected.add(sample, self.settings.loses_past_capacity);
            if self.is_due(sample.ended()) {
                self.close(sample.ended());
            }
        }
        #[cfg(debug_assertions)]
        self.check_invariants();
        self.inner.limit()
    }

    fn limit(&self) -> u32 {
        self.inner.limit()
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        self.inner.no_load_rtt()
    }

    fn on_reject(&mut self, now: Timestamp) -> u32 {
        self.inner.on_reject(now)
    }

    fn on_tick(&mut self, now: Timestamp) -> u32 {
        self.inner.on_tick(now)
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.inner.poll_timeout()
    }
}

impl<E: core::fmt::Debug, S: Storage> core::fmt::Debug for Window<E, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Window")
            .field("settings", &self.settings)
            .field("inner", &self.inner)
            .field("pending", &self.collected.count())
            .field("closes_at", &self.closes_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
