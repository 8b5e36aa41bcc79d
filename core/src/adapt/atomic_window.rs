//! [`AtomicWindow`]: collects the ends of requests from many threads, and hands over a window of them at a time.
//!
//! **Problem.** An estimator is a state machine behind a lock. At a million requests a second each of them cannot take that
//! lock; and what an estimator wants is a mean anyway.
//!
//! **Design.** Number and sum of round-trip times share one 64-bit word, so one addition collects a request and no window can
//! hold its count without its time:
//!
//! ```text
//! bits 44..=63       bits 0..=43
//! successes (2²⁰)    sum of their times, in units of 2^resolution_bits ns, each at most 2²⁴ − 1 units
//! ```
//!
//! The most in flight, the shortest time and the number of drops have words of their own, which are written only when
//! they change. Whoever finds the window over, and is first, takes everything out and gets it as [`Collected`]; he is
//! the one to take the estimator's lock. The others never wait.
//!
//! **Exactness.** Every success and every drop is in exactly one window, its time with it. The most in flight and the
//! shortest time may be those of a request that is counted in the window before or after, if it ended while the window was
//! taken out; they are never lost from both.
//!
//! **Constants.** With 10 bits a unit is about a microsecond and the longest time 17 s; longer ones count as that. A window is taken
//! out early when 2¹⁹ requests are in it, so that twice as many would have to end at the same moment to be too many.
//!
//! **Invariants.** **I1** the windows together hold what was recorded; **I2** the mean is between the shortest and the
//! longest time recorded, rounded down to a unit.
//!
//! Work O(1): one addition and four loads; memory one cache line.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Aimd, AimdSettings, AtomicWindow, Estimator, Outcome};
//!
//! let window = AtomicWindow::new(Duration::from_millis(100), 2, 10)?;
//! let mut aimd = Aimd::new(AimdSettings::default())?; // behind a lock, in a server
//! for ms in [10, 50, 120] {
//!     let now = Timestamp::from_nanos(ms * 1_000_000);
//!     if let Some(collected) = window.record(now, Duration::from_millis(5), 20, Outcome::Success) {
//!         assert_eq!((ms, collected.successes), (120, 3));
//!         collected.teach(&mut aimd);
//!     }
//! }
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::{ConfigError, Rules};
use crate::num;
use crate::sync::{AtomicU64, Ordering};
use crate::time::Timestamp;

/// Bits of the sum; the count has the rest.
const SUM_BITS: u32 = 44;
/// The longest time, in units.
const MOST_UNITS: u64 = (1 << 24) - 1;
/// So many in a window take it out, whatever the time.
const FULL: u64 = 1 << 19;

/// Collects from many threads; see the [module](self).
#[repr(align(64))]
pub struct AtomicWindow {
    /// Count and sum of the successes.
    word: AtomicU64,
    drops: AtomicU64,
    most_in_flight: AtomicU64,
    /// Units; `u64::MAX` for none.
    least: AtomicU64,
    ends_ns: AtomicU64,
    window_ns: u64,
    size: u32,
    resolution_bits: u32,
}

/// What ended within one window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Collected {
    /// When it was taken out.
    pub now: Timestamp,
    /// Requests that ended well.
    pub successes: u32,
    /// Requests that were dropped.
    pub drops: u32,
    /// Mean time of those that ended well.
    pub mean_rtt: Duration,
    /// Shortest time of those that ended well.
    pub least_rtt: Duration,
    /// Most in flight.
    pub in_flight: u32,
}

impl Collected {
    /// Hands an estimator one success with the mean time, if there was any, and then one drop, if there was any. The limit
    /// from then on.
    pub fn teach(&self, estimator: &mut impl Estimator) -> u32 {
        let rtt = self.mean_rtt;
        let sample = |outcome| Sample {
            started: self.now.saturating_sub(rtt),
            rtt,
            in_flight: self.in_flight,
            outcome,
        };
        if self.successes > 0 {
            estimator.on_sample(&sample(Outcome::Success));
        }
        if self.drops > 0 {
            estimator.on_sample(&sample(Outcome::Dropped));
        }
        estimator.limit()
    }
}

impl AtomicWindow {
    /// A window that is handed over every `window` if it holds at least `size` requests; times are kept in units of
    /// 2^`resolution_bits` ns.
    ///
    /// # Errors
    /// `window` zero; `size` 0 or above 2¹⁹; `resolution_bits` above 30.
    pub fn new(window: Duration, size: u32, resolution_bits: u32) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        rules.require(!window.is_zero(), "window", window.as_nanos(), "1 ns or more");
        rules.require((1..=1 << 19).contains(&size), "size", size, "1 to 524288 requests");
        rules.require(resolution_bits <= 30, "resolution_bits", resolution_bits, "0 to 30");
        rules.verdict()?;
        Ok(Self {
            word: AtomicU64::new(0),
            drops: AtomicU64::new(0),
            most_in_flight: AtomicU64::new(0),
            least: AtomicU64::new(u64::MAX),
            ends_ns: AtomicU64::new(num::nanos(window)),
            window_ns: num::nanos(window),
            size,
            resolution_bits,
        })
    }

    /// Records a request that ended at `now`, and hands over the window if it is over: to one caller. O(1).
    /// [`Outcome::Ignored`] is passed over.
    #[inline]
    #[must_use = "what is handed over is in no later window"]
    pub fn record(
        &self,
        now: Timestamp,
        rtt: Duration,
        in_flight: u32,
        outcome: Outcome,
    ) -> Option<Collected> {
        // ORDERING: all of it is counting; no data is guarded, and each word is complete in itself.
        let successes = match outcome {
            Outcome::Ignored => return None,
            Outcome::Dropped => {
                self.drops.fetch_add(1, Ordering::Relaxed);
                self.word.load(Ordering::Relaxed) >> SUM_BITS
            }
            Outcome::Success => {
                let units = num::nanos(rtt).wrapping_shr(self.resolution_bits).min(MOST_UNITS);
                if units < self.least.load(Ordering::Relaxed) {
                    self.least.fetch_min(units, Ordering::Relaxed);
                }
                let one = units | 1_u64.wrapping_shl(SUM_BITS);
                self.word.fetch_add(one, Ordering::Relaxed).wrapping_add(one) >> SUM_BITS
            }
        };
        let in_flight = num::from_u32(in_flight);
        if in_flight > self.most_in_flight.load(Ordering::Relaxed) {
            self.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        }
        let ends_ns = self.ends_ns.load(Ordering::Relaxed);
        if now.as_nanos() < ends_ns && successes < FULL {
            return None;
        }
        self.close(now, ends_ns, successes)
    }

    /// Takes out what was collected so far, whatever the time: for a timer, when traffic stops. O(1).
    #[must_use = "what is handed over is in no later window"]
    pub fn take(&self, now: Timestamp) -> Option<Collected> {
        self.ends_ns.store(now.as_nanos().saturating_add(self.window_ns), Ordering::Relaxed);
        self.take_out(now)
    }

    #[cold]
    fn close(&self, now: Timestamp, ends_ns: u64, successes: u64) -> Option<Collected> {
        if successes.saturating_add(self.drops.load(Ordering::Relaxed)) < num::from_u32(self.size) {
            return None;
        }
        // Whoever moves the end has the window.
        let next_ns = now.as_nanos().saturating_add(self.window_ns);
        self.ends_ns.compare_exchange(ends_ns, next_ns, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        self.take_out(now)
    }

    fn take_out(&self, now: Timestamp) -> Option<Collected> {
        let word = self.word.swap(0, Ordering::Relaxed);
        let drops = self.drops.swap(0, Ordering::Relaxed);
        let (successes, sum) = (word >> SUM_BITS, word & 1_u64.wrapping_shl(SUM_BITS).wrapping_sub(1));
        if successes == 0 && drops == 0 {
            return None;
        }
        // What is there of a request that is in no window yet stays, unless this window can tell it.
        let in_flight = self.most_in_flight.swap(0, Ordering::Relaxed);
        let least = if successes > 0 { self.least.swap(u64::MAX, Ordering::Relaxed) } else { u64::MAX };
        let mean = sum.checked_div(successes).unwrap_or(0);
        let time = |units: u64| Duration::from_nanos(units.wrapping_shl(self.resolution_bits));
        Some(Collected {
            now,
            successes: num::clamp_u32(successes),
            drops: num::clamp_u32(drops),
            mean_rtt: time(mean),
            // It may have gone with the window before.
            least_rtt: time(least.min(mean)),
            in_flight: num::clamp_u32(in_flight),
        })
    }
}

impl core::fmt::Debug for AtomicWindow {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AtomicWindow")
            .field("successes", &(self.word.load(Ordering::Relaxed) >> SUM_BITS))
            .field("drops", &self.drops.load(Ordering::Relaxed))
            .field("ends_ns", &self.ends_ns.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(not(tollgate_loom))]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn window(size: u32) -> AtomicWindow {
        AtomicWindow::new(Duration::from_millis(100), size, 0).unwrap()
    }

    #[test]
    fn a_window_is_handed_over_once_when_it_is_over_and_has_enough() {
        let window = window(3);
        let record = |ms, rtt, in_flight| {
            window.record(at(ms), Duration::from_nanos(rtt), in_flight, Outcome::Success)
        };
        assert_eq!((record(10, 7, 4), record(100, 5, 9)), (None, None), "two are too few");
        let collected = record(130, 11, 6).unwrap();
        let mean = Duration::from_nanos(7);
        assert_eq!((collected.successes, collected.mean_rtt, collected.in_flight), (3, mean, 9));
        assert_eq!(collected.least_rtt, Duration::from_nanos(5));
        assert_eq!(record(229, 1, 1), None, "the next is over at 230");
        assert_eq!(window.take(at(229)).unwrap().successes, 1);
        assert_eq!(window.take(at(229)), None);
    }

    #[test]
    fn a_drop_closes_a_window_that_has_enough_and_no_other() {
        let window = window(3);
        let record = |outcome| window.record(at(150), Duration::from_millis(1), 1, outcome);
        assert_eq!(record(Outcome::Success), None);
        assert_eq!(record(Outcome::Dropped), None, "two are too few");
        let collected = record(Outcome::Dropped).unwrap();
        assert_eq!((collected.successes, collected.drops), (1, 2));
    }

    #[test]
    fn only_what_was_there_is_taught() {
        #[derive(Default)]
        struct Heard(Vec<Outcome>);
        impl Estimator for Heard {
            fn on_sample(&mut self, sample: &Sample) -> u32 {
                self.0.push(sample.outcome);
                1
            }
            fn limit(&self) -> u32 {
                1
            }
        }
        for outcome in [Outcome::Success, Outcome::Dropped] {
            let mut heard = Heard::default();
            let collected = window(1).record(at(150), Duration::from_millis(1), 1, outcome).unwrap();
            collected.teach(&mut heard);
            assert_eq!(heard.0, [outcome]);
        }
    }

    #[test]
    fn drops_are_counted_apart_and_taught_after_the_successes() {
        #[derive(Default)]
        struct Log(Vec<(Outcome, u64)>);
        impl Estimator for Log {
            fn on_sample(&mut self, sample: &Sample) -> u32 {
                self.0.push((sample.outcome, sample.started.as_nanos()));
                7
            }
            fn limit(&self) -> u32 {
                7
            }
        }
        let window = window(1);
        let mut log = Log::default();
        for (ms, outcome) in
            [(1, Outcome::Dropped), (2, Outcome::Ignored), (3, Outcome::Success), (100, Outcome::Dropped)]
        {
            if let Some(collected) = window.record(at(ms), Duration::from_millis(4), 1, outcome) {
                assert_eq!((collected.successes, collected.drops), (1, 2));
                assert_eq!(collected.teach(&mut log), 7);
            }
        }
        assert_eq!(log.0, [(Outcome::Success, 96_000_000), (Outcome::Dropped, 96_000_000)]);
    }

    #[test]
    fn the_longest_times_count_as_the_longest_that_can_be_told() {
        let window = AtomicWindow::new(Duration::from_millis(1), 2, 10).unwrap();
        for rtt in [Duration::MAX, Duration::from_secs(30)] {
            if let Some(collected) = window.record(at(5), rtt, u32::MAX, Outcome::Success) {
                assert_eq!(collected.mean_rtt, Duration::from_nanos(MOST_UNITS << 10));
                assert_eq!(collected.in_flight, u32::MAX);
            }
        }
        assert_eq!(window.take(at(5)), None, "it was handed over");
    }

    #[test]
    fn a_full_window_is_handed_over_early() {
        let window = AtomicWindow::new(Duration::MAX, 1, 0).unwrap();
        let mut handed = 0;
        for _ in 0..=FULL {
            if let Some(collected) =
                window.record(at(0), Duration::from_nanos(MOST_UNITS), 1, Outcome::Success)
            {
                assert_eq!(
                    (u64::from(collected.successes), collected.mean_rtt.as_nanos()),
                    (FULL, MOST_UNITS.into())
                );
                handed += 1;
            }
        }
        assert_eq!(handed, 1);
    }

    #[test]
    fn threads_lose_nothing() {
        let window = AtomicWindow::new(Duration::from_nanos(50), 1, 0).unwrap();
        let work = |seed: u64| {
            let mut seen = (0_u64, 0_u64);
            for number in 0..20_000 {
                let outcome =
                    if (number + seed).is_multiple_of(7) { Outcome::Dropped } else { Outcome::Success };
                let collected =
                    window.record(Timestamp::from_nanos(number), Duration::from_nanos(3), 1, outcome);
                if let Some(collected) = collected {
                    assert!(collected.successes == 0 || collected.mean_rtt == Duration::from_nanos(3));
                    seen = (seen.0 + u64::from(collected.successes), seen.1 + u64::from(collected.drops));
                }
            }
            seen
        };
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| work(3));
            (work(0), other.join().unwrap())
        });
        let rest = window.take(at(1)).map_or((0, 0), |rest| (rest.successes.into(), rest.drops.into()));
        assert_eq!(one.0 + two.0 + rest.0 + one.1 + two.1 + rest.1, 40_000);
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let error = AtomicWindow::new(Duration::ZERO, 0, 31).unwrap_err();
        assert_eq!(error.violations().len(), 3);
    }
}
