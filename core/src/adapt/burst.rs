//! [`Burst`]: room on top of a learnt limit, as long as it is not needed all the time.
//!
//! **Problem.** A limit that fits the steady load refuses a burst that the server would have got over in a moment. Room
//! for bursts that is always open is just a higher limit.
//!
//! **Rule.** The window is open or closed; the limit in force is the learnt one, plus `capacity` while it is open. After
//! `close_after` samples in a row with at least the learnt limit in flight it closes; after `open_after` in a row with
//! less it opens. The estimator behind sees at most its own limit in flight: what came in through the window is not
//! evidence that the limit is too low. Without room there is no window, and samples pass as they are.
//!
//! **Source.** The decorator of OpenSearch 3.9, bit for bit.
//!
//! **Invariants.** **I1** the limit is the learnt one or `capacity` more; **I2** a streak is below the number that would
//! end it; where that was lowered to it or less, the next sample of the kind ends it.
//!
//! Work O(1).
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Aimd, AimdSettings, Burst, BurstSettings, Estimator, Outcome, Sample};
//!
//! let aimd = Aimd::new(AimdSettings { initial: 20, max: 20, ..AimdSettings::default() })?;
//! let mut burst = Burst::new(aimd, BurstSettings { capacity: 5, close_after: 2, open_after: 1 })?;
//! let (started, rtt, outcome) = (Timestamp::ZERO, Duration::from_millis(1), Outcome::Success);
//! let limits = [19, 20, 22, 25, 3].map(|in_flight| burst.on_sample(&Sample { started, rtt, in_flight, outcome }));
//! assert_eq!(limits, [25, 25, 20, 20, 25]);
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::{ConfigError, Rules};
use crate::time::Timestamp;

/// The greatest limit, as everywhere.
const MOST: u32 = 2_147_483_647;

/// Settings of a [`Burst`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BurstSettings {
    /// Permits on top of the learnt limit while the window is open. Default 0: no window.
    pub capacity: u32,
    /// Samples in a row at or above the learnt limit that close it; 1 or more. Default 5.
    pub close_after: u32,
    /// Samples in a row below it that open it again; 1 or more. Default 5.
    pub open_after: u32,
}

impl Default for BurstSettings {
    fn default() -> Self {
        Self { capacity: 0, close_after: 5, open_after: 5 }
    }
}

impl BurstSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let &Self { capacity, close_after, open_after } = self;
        let mut rules = Rules::new();
        rules.require(capacity <= MOST, "burst.capacity", capacity, "0 to 2147483647 permits");
        rules.require(close_after >= 1, "burst.close_after", close_after, "1 sample or more");
        rules.require(open_after >= 1, "burst.open_after", open_after, "1 sample or more");
        rules.verdict()
    }
}

/// Room for bursts on top of an estimator's limit; see the [module](self).
#[derive(Clone, Debug)]
pub struct Burst<E> {
    base: E,
    settings: BurstSettings,
    open: bool,
    /// Samples in a row that count towards the next change.
    streak: u32,
}

impl<E: Estimator> Burst<E> {
    /// An open window on top of `base`.
    ///
    /// # Errors
    /// `capacity` above 2³¹ − 1; `close_after` or `open_after` 0.
    pub fn new(base: E, settings: BurstSettings) -> Result<Self, ConfigError> {
        settings.check()?;
        Ok(Self { base, settings, open: true, streak: 0 })
    }

    /// Changes the window's settings; whether it is open stays. O(1).
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed.
    pub fn set_settings(&mut self, settings: BurstSettings) -> Result<(), ConfigError> {
        settings.check()?;
        self.settings = settings;
        Ok(())
    }

    /// The estimator behind it.
    #[must_use]
    pub const fn base(&self) -> &E {
        &self.base
    }

    /// The estimator behind it, to change it.
    #[must_use]
    pub const fn base_mut(&mut self) -> &mut E {
        &mut self.base
    }

    /// Whether the window is open.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.open
    }

    /// Samples in a row at or above the learnt limit while open, and below it while closed; one of them is 0.
    #[must_use]
    pub const fn streaks(&self) -> (u32, u32) {
        if self.open { (self.streak, 0) } else { (0, self.streak) }
    }

    /// Opens or closes the window by what was in flight against the learnt limit.
    fn watch(&mut self, in_flight: u32, limit: u32) {
        let (towards, enough) = if self.open {
            (in_flight >= limit, self.settings.close_after)
        } else {
            (in_flight < limit, self.settings.open_after)
        };
        self.streak = if towards { self.streak.saturating_add(1) } else { 0 };
        if self.streak >= enough {
            self.open = !self.open;
            self.streak = 0;
        }
    }
}

impl<E: Estimator> Estimator for Burst<E> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome == Outcome::Ignored {
            return self.limit();
        }
        if self.settings.capacity == 0 {
            self.base.on_sample(sample);
            return self.limit();
        }
        let in_flight = sample.in_flight.min(self.base.limit());
        let limit = self.base.on_sample(&Sample { in_flight, ..*sample });
        self.watch(sample.in_flight, limit);
        self.limit()
    }

    fn limit(&self) -> u32 {
        let room = if self.open { self.settings.capacity } else { 0 };
        self.base.limit().saturating_add(room).min(MOST)
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        self.base.no_load_rtt()
    }

    fn on_reject(&mut self, now: Timestamp) -> u32 {
        self.base.on_reject(now);
        self.limit()
    }

    fn on_tick(&mut self, now: Timestamp) -> u32 {
        self.base.on_tick(now);
        self.limit()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.base.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Always 20, and remembers what it saw in flight.
    #[derive(Debug, Default)]
    struct Twenty(std::vec::Vec<u32>);

    impl Estimator for Twenty {
        fn on_sample(&mut self, sample: &Sample) -> u32 {
            self.0.push(sample.in_flight);
            20
        }

        fn limit(&self) -> u32 {
            20
        }
    }

    fn sample(in_flight: u32, outcome: Outcome) -> Sample {
        Sample { started: Timestamp::ZERO, rtt: Duration::from_millis(1), in_flight, outcome }
    }

    #[test]
    fn streaks_are_of_samples_in_a_row_and_the_estimator_never_sees_the_window() {
        let settings = BurstSettings { capacity: 10, close_after: 3, open_after: 2 };
        let mut burst = Burst::new(Twenty::default(), settings).unwrap();
        let in_flight = [25, 20, 19, 30, 30, 30, 19, 20, 19, 19, 5];
        let limits = in_flight.map(|in_flight| burst.on_sample(&sample(in_flight, Outcome::Success)));
        assert_eq!(limits, [30, 30, 30, 30, 30, 20, 20, 20, 20, 30, 30]);
        assert_eq!(burst.on_sample(&sample(90, Outcome::Ignored)), 30);
        assert_eq!(burst.streaks(), (0, 0));
        assert_eq!(burst.base().0, in_flight.map(|in_flight| in_flight.min(20)));
    }

    /// An estimator of somebody else's, without bounds.
    struct Boundless;

    impl Estimator for Boundless {
        fn on_sample(&mut self, _sample: &Sample) -> u32 {
            u32::MAX
        }

        fn limit(&self) -> u32 {
            u32::MAX
        }

        fn no_load_rtt(&self) -> Option<Duration> {
            Some(Duration::from_nanos(3))
        }
    }

    #[test]
    fn what_the_estimator_knows_is_told() {
        let burst = Burst::new(Boundless, BurstSettings::default()).unwrap();
        assert_eq!(burst.no_load_rtt(), Some(Duration::from_nanos(3)));
    }

    #[test]
    fn every_call_answers_the_limit_in_force_also_without_room() {
        for capacity in [0, 1] {
            let mut burst =
                Burst::new(Boundless, BurstSettings { capacity, ..BurstSettings::default() }).unwrap();
            let answers = [burst.on_sample(&sample(1, Outcome::Success)), burst.on_reject(Timestamp::ZERO)];
            assert_eq!((answers, burst.limit()), ([MOST; 2], MOST));
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let settings = BurstSettings { capacity: u32::MAX, close_after: 0, open_after: 0 };
        let error = Burst::new(Twenty::default(), settings).unwrap_err();
        assert_eq!(error.violations().len(), 3);
    }
}
