//! [`Knee`]: finds the knee of the server's latency curve, and believes nothing that an experiment can tell.
//!
//! **Problem.** Up to some number of requests in flight a server does more work for each one more; beyond it they only
//! wait. Where that knee is has to be read from latencies, and three things look alike there: requests wait, the
//! service itself became slower, and chance. A limiter that takes the second or third for the first closes itself; one
//! that takes the first for the second lets a queue grow for ever.
//!
//! **Derivation.** With the mean `N` in flight, the mean round-trip time `rm` and the one without a wait `s0`, Little's
//! law gives the throughput `N/rm`, and on the part of the time `r − s0` that is waiting
//!
//! > `q = (N/rm)·(r − s0)` requests that wait, `N − q` in service.
//!
//! Five ideas make a limit of it, each in a module of its own:
//!
//! - *Rounds* (`tally`, `settle`). Means, never single samples: a round of 1.5 limits' worth of requests, and none of
//!   those that a change of the limit distorts.
//! - *Headroom* (`headroom`, `judge`). To keep `c` slots busy takes more than `c` in flight, by a multiple of `√c`.
//!   While requests are refused, the share of the admitted that met a free slot says whether the multiple is right.
//!   The limit moves until `q` is the headroom: doubling at first, then by a share of what is missing.
//! - *Dips* (`baseline`, `probe`). Now and then a little less than is in service is published for one round: what is
//!   measured then is `s0`. Where requests slow each other down, a dip at a high limit still measures some of that, and
//!   an `s0` too high makes the limit higher yet. So the first dip comes while the limit is small, and later ones move
//!   `s0` by a tenth.
//! - *Verification* (`probe`). Where it looks like a long queue, less than half is published for one round. With
//!   `η = (r_a/r_b − 1)/(N_a/N_b − 1)`, 1 says that latency follows the limit, so there is a queue; 0 that it does not,
//!   so the service is slower, `s0` was wrong, and the limit goes back to where it was.
//! - *Drops* (`drops`). The same for drops: cut a little, look, cut more, look, and if they do not care, they are none
//!   of ours.
//!
//! A [`Knee`] is in one *phase* at a time (`phase`): an ordinary round, a dip, a verification, a test cut, or dead,
//! when hardly anything gets through. It grows at one *pace*: startup, steady, or creep towards a wall.
//!
//! **Options**, all off by default:
//!
//! - [`target_delay`](KneeSettings::target_delay) `D`. Under bursts it pays to queue what the lull after them can serve.
//!   How much is measured as the headroom is: a free slot within `D` of a refusal is *regretted*, for the refused one
//!   could have had it. While more than 5 percent are regretted the headroom grows by a quarter in each `D`, below 2
//!   percent it shrinks by three tenths, and never is it more than drains within `D`: `m = c·(D/s0 − 1)` may wait on
//!   average, of which `0.85·m − √m`. A steady overload leaves no free slots to regret, so it is not let queue. When
//!   the service slows down or breaks, requests may take up to `D` until that is learnt.
//! - [`max_healthy_rtt`](KneeSettings::max_healthy_rtt). Above it the limit falls in proportion, nothing raises it,
//!   and no baseline is learnt: a bound for what no experiment can tell, such as a queue of everybody else's. A
//!   service that is slower than that for good is held at the least limit.
//! - [`sharers`](KneeSettings::sharers) `k`. Cutting one of `k` limiters to less than half changes what is in flight in
//!   the server by less than `1/k` of it, so `η` counts the others in, as many as ours, or a queue of everybody looks
//!   like a slower service and who came last keeps the most. And each takes the same headroom,
//!   `1.5·((1 + cv)·√(c/k) + 1)`, for a difference in what one believes is a difference in what one gets.
//!
//! **Source.** Our own rules, found in a laboratory of 123 scenarios with exponential, heavy-tailed, bimodal, nearly
//! constant and constant service, steps of capacity, of service time and of load, failures, timeouts, shared servers
//! and coarse clocks, against the best fixed limit of each. Deviations of this machine from those rules, none of which
//! changed the mean goodput over our scenarios by more than two thousandths:
//!
//! - Nothing is absorbing. Where the least limit is in force a dip cannot go lower, so that round is the measurement;
//!   three dips in a row that want `s0` higher than it may go ask for a verification; clocks that stand still or go
//!   back end rounds and settlings by count; creep ends a quarter beyond the wall.
//! - A drop never raises the limit: it ends a round only where hardly anything else comes, and that is death, which
//!   halves what is *published*. Nothing but fast drops is death, too.
//! - Drops before the first baseline are fast: with nothing to compare, their times must not become the baseline.
//! - Who dies while doubling, after it came back or at the start, returns to six tenths of half of what it died at, not
//!   of the limit that was healthy before: a server that lost most of its slots was sent too much again and again.
//! - A measurement weighs a tenth at least, not a fifth, and a round counts in full towards a dip if it filled the limit
//!   it had, not the one it led to: the least contention is where `s0` is learnt first. Throughput that peaks at 14 in
//!   the server had the limit creep beyond the peak.
//! - The shortest round is 40 samples, not 32, and the least headroom without scatter 1.2 roots, not 1; 1.4 and more made
//!   limiters that share a server without being told so (`sharers`) queue longer.
//! - Startup ends at [`initial`](KneeSettings::initial), 20, from where steady growth takes up to half of the limit in
//!   a round.
//! - A verified rise of `s0` is followed by an early dip, as a verified fall is.
//! - With a target delay a baseline is suspected after twelve very slow rounds in a row, without after three: bursts
//!   are slow, but they end.
//!
//! **Constants.** Each is stated where it is used, with its reason. None is delicate: half or twice of any of them
//! moved the mean over all scenarios by about a hundredth. The start at 5 is the exception in the other direction: a
//! first baseline learnt within a queue of one's own making is the one mistake that takes long to heal.
//!
//! **Invariants.** **I1** `min ≤ limit ≤ max`, and the limit is never above the estimate; **I2** all that is learnt is
//! finite and not negative; **I3** a drop never raises; **I4** while the limit is never met nothing raises the estimate
//! above what it was; **I5** from every state a run of good, busy requests raises the limit; **I6**
//! [`Outcome::Ignored`] changes nothing. It obeys no rule that each drop cuts: whether drops matter is what it tests.
//!
//! Zero rtts are taken as they are; a mean of them is unbiased, where each clamped to one tick is not. No random number
//! is needed and only `+ − × ÷`, comparisons and an integer root are used, so it does the same everywhere.
//!
//! Work O(1): a dozen additions and comparisons a sample, the rules once a round. Memory: under 480 bytes.
//!
//! ```
//! use core::time::Duration;
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Estimator, Knee, KneeSettings, Outcome, Sample};
//!
//! // A server of 40 slots: requests take 10 ms, and longer in proportion when there are more.
//! let mut knee = Knee::new(KneeSettings::default())?;
//! let mut now = Timestamp::ZERO;
//! for _ in 0..10_000 {
//!     let in_flight = knee.limit();
//!     let rtt = Duration::from_micros(250) * in_flight.max(40);
//!     knee.on_sample(&Sample { started: now, rtt, in_flight, outcome: Outcome::Success });
//!     now = now.saturating_add(rtt / in_flight);
//! }
//! assert!((40.0..52.0).contains(&knee.estimate()), "{}", knee.estimate());
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

mod baseline;
mod drops;
mod headroom;
mod judge;
mod phase;
mod probe;
mod rounds;
mod settings;
mod settle;
mod tally;

use core::time::Duration;

use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::ConfigError;
use crate::num;
use crate::time::Timestamp;

use baseline::Baseline;
use drops::Drops;
use headroom::Headroom;
use phase::{Pace, Phase};
use probe::{Dips, Hold};
pub use settings::KneeSettings;
use settle::Settle;
use tally::{Tally, Yardstick};

/// Where every limit begins.
const FIRST: u32 = 5;
/// How long a probe may take, in round-trip times and at least in ns.
const PATIENCE: f64 = 20.0;
const PATIENCE_NS: f64 = 1e9;

/// How round-trip times scatter.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Squared coefficient of variation.
    cv2: f64,
    /// Least rtt above zero that any round began to see, ns.
    least_ns: f64,
}

/// Finds the knee; see the [module](self).
#[derive(Clone, Debug)]
pub struct Knee {
    settings: KneeSettings,
    /// L: the limit but for probes.
    standing: f64,
    /// P: the limit in force.
    published: u32,
    phase: Phase,
    pace: Pace,
    settle: Settle,
    tally: Tally,
    baseline: Baseline,
    headroom: Headroom,
    spread: Spread,
    /// rp: mean rtt of the rounds before, ns.
    typical_ns: f64,
    drops: Drops,
    dips: Dips,
    hold: Hold,
    /// L of the last round without slow drops.
    healthy: f64,
    /// Rounds of descent in a row, and the limit at the top of it.
    descent: u32,
    top: f64,
    /// Very slow rounds in a row.
    stale: u32,
    /// N of the round before.
    in_flight: f64,
    /// The open round is the first after a settling.
    fresh: bool,
}

impl Knee {
    /// An estimator at its first limit.
    ///
    /// # Errors
    /// Bounds out of order, a time of zero, no sharers, or several with a `target_delay`.
    pub fn new(settings: KneeSettings) -> Result<Self, ConfigError> {
        settings.validate()?;
        let published = FIRST.min(settings.initial).max(settings.min);
        let standing = f64::from(published);
        let yard = Yardstick {
            need: 32,
            published,
            capacity: 0,
            clip_ns: f64::MAX,
            fast_ns: 0.0,
            typical_ns: 0.0,
            alarm_ns: f64::MAX,
            crowd: 0.0,
            regret_ns: 0,
        };
        let mut knee = Self {
            settings,
            standing,
            published,
            phase: Phase::Round,
            pace: Pace::Startup,
            settle: Settle::first(num::trunc_i32(1.5 * standing)),
            tally: Tally::new(yard, Timestamp::ZERO, None),
            baseline: Baseline::default(),
            headroom: Headroom::new(f64::from(settings.sharers)),
            spread: Spread { cv2: 1.0, least_ns: f64::MAX },
            typical_ns: 0.0,
            drops: Drops::default(),
            dips: Dips::new(),
            hold: Hold::default(),
            healthy: standing,
            descent: 0,
            top: standing,
            stale: 0,
            in_flight: 0.0,
            fresh: true,
        };
        knee.open(Timestamp::ZERO);
        Ok(knee)
    }

    /// Changes the settings; all that was learnt is kept, the limit within its new bounds. A probe under way is
    /// given up. O(1).
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed.
    pub fn reconfigure(&mut self, now: Timestamp, settings: KneeSettings) -> Result<(), ConfigError> {
        settings.validate()?;
        self.settings = settings;
        self.headroom.reconfigure(f64::from(settings.sharers), settings.target_delay.is_some());
        self.phase = Phase::Round;
        self.publish(now);
        Ok(())
    }

    /// The limit before truncation to whole permits, and whatever a probe publishes.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.standing
    }

    /// The round-trip time without a queue, as far as known.
    #[must_use]
    pub fn no_load_rtt(&self) -> Option<Duration> {
        self.baseline.known().map(num::trunc_u64).map(Duration::from_nanos)
    }

    /// Asserts I1 and I2. Debug builds call it after each sample. O(1).
    pub fn check_invariants(&self) {
        let KneeSettings { min, max, .. } = self.settings;
        crate::adapt::bounds::check(self.standing, self.published, min, max);
        self.baseline.check_invariants();
        self.headroom.check_invariants();
        assert!(self.spread.cv2 >= 0.0 && self.spread.cv2 <= 8.0, "I2: cv² {}", self.spread.cv2);
        assert!(self.typical_ns >= 0.0 && self.typical_ns.is_finite(), "I2: {} ns", self.typical_ns);
    }
}

impl Estimator for Knee {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome == Outcome::Ignored {
            return self.published;
        }
        let rtt_ns = num::nanos(sample.rtt);
        let now = Timestamp::from_nanos(sample.started.as_nanos().saturating_add(rtt_ns));
        if !self.settle.is_over() {
            self.settle.discard(sample, now);
            if self.settle.is_over() {
                self.open(now);
            }
            return self.published;
        }
        let rtt_ns = num::to_f64(rtt_ns);
        if sample.outcome == Outcome::Success {
            if rtt_ns > 0.0 && rtt_ns < self.spread.least_ns {
                self.spread.least_ns = rtt_ns;
            }
            self.tally.add(now, rtt_ns, sample.in_flight);
        } else {
            self.tally.drop(now, rtt_ns, sample.in_flight);
        }
        if self.tally.is_complete(now, rtt_ns) && (sample.outcome == Outcome::Success || self.tally.is_dire())
        {
            self.close(now);
        }
        #[cfg(debug_assertions)]
        self.check_invariants();
        self.published
    }

    fn limit(&self) -> u32 {
        self.published
    }

    /// The limit was met, which counts as evidence that more could be used.
    fn on_reject(&mut self, now: Timestamp) -> u32 {
        self.tally.refused(now);
        self.published
    }

    /// A probe that nobody finishes is given up, or the limit would stay low for as long as nothing comes to measure.
    fn on_tick(&mut self, now: Timestamp) -> u32 {
        if self.poll_timeout().is_some_and(|at| now >= at) {
            self.phase = Phase::Round;
            self.publish(now);
        }
        self.published
    }

    /// While a probe is under way: one second after it began, or twenty round-trip times if that is more.
    fn poll_timeout(&self) -> Option<Timestamp> {
        self.phase.level().map(|_| {
            let patience_ns = num::trunc_u64((PATIENCE * self.typical_ns).max(PATIENCE_NS));
            self.settle.since().saturating_add(Duration::from_nanos(patience_ns))
        })
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        Self::no_load_rtt(self)
    }
}

#[cfg(test)]
mod tests;
