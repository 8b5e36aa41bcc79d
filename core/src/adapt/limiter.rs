//! [`Limiter`]: a whole adaptive limiter, in the state in which operators meet it.
//!
//! **Problem.** An estimator knows how many are right. Before anybody dares to refuse requests by it, it has to be
//! watched without doing harm (*monitor only*), must not refuse anything while it has learnt nothing (*warm-up*), must
//! let some traffic be more important than other (*partitions*), leave room for bursts, be changed while it works, and
//! say what it sees.
//!
//! **Design.** [`Burst`] around an estimator gives the limit; [`Partitions`] enforce it. A request that is let in
//! holds a [`Ticket`] until it ends, and its end is a sample. Three modes:
//!
//! | mode | below the limit | at the limit |
//! | --- | --- | --- |
//! | [`Disabled`](Mode::Disabled) | let in, not counted | let in, not counted |
//! | [`MonitorOnly`](Mode::MonitorOnly) | let in | let in, counted as *would be refused* |
//! | [`Enforced`](Mode::Enforced) | let in | refused; during the warm-up let in |
//!
//! **The shadow.** A request that was let in although the limit said no is *untracked*: it takes up no share of the
//! limit, or everything after it would be refused too, which is not what enforcement would do. Its time still says
//! how loaded the server is. By default ([`Counting::Honest`]) every request is a sample, with all that were in flight
//! at the server when it came in; so the limit that is learnt while watching is the one that enforcement would start from. With
//! [`Counting::Reference`] untracked requests give no sample and are in none, as in OpenSearch; how they ended and how
//! long they took the statistics tell, and the hint below goes by it.
//!
//! **A hint when to come back.** With N in flight and a mean time r, N/r end per second (Little's law), so an excess of
//! x permits is gone after about x·r/N. A refusal says so; it is an estimate, not a promise.
//!
//! **Source.** OpenSearch 3.9's concurrency limits. Deviations: honest counting as above; refusals carry a hint; what was
//! learnt survives a change of settings; pauses are data and end by themselves; weights.
//!
//! **Invariants.** **I1** tracked in flight ≤ all in flight; **I2** a request is refused only in `Enforced`, warm, at the
//! limit; **I3** the limit in force is what the estimator and the window say.
//!
//! **Work** O(partitions) per call, O(partitions²) where the limit changes. **Memory** that of its parts.

mod settings;
mod stats;
mod ticket;

use core::time::Duration;

pub use self::settings::{Counting, LimiterSettings, Mode};
use self::stats::Counters;
pub use self::stats::LimiterStats;
use self::ticket::Kind;
pub use self::ticket::{Refusal, Ticket};
use crate::adapt::burst::Burst;
use crate::adapt::partition::{PartitionId, Partitions, Share};
use crate::adapt::sample::{Estimator, Outcome, Sample};
use crate::error::{ConfigError, Reason, Stale};
use crate::num;
use crate::slots::Storage;
use crate::time::Timestamp;

/// A whole adaptive limiter; see the [module](self).
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::adapt::{Aimd, AimdSettings, Limiter, LimiterSettings, Outcome};
/// use tollgate::slots::Inline;
///
/// let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
/// let aimd = Aimd::new(AimdSettings { initial: 2, ..AimdSettings::default() })?;
/// let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
/// let mut limiter = Limiter::<_, Inline<4>>::new(at(0), aimd, settings, &[], 4)?;
///
/// let first = limiter.try_admit(at(0), None, 1)?;
/// let second = limiter.try_admit(at(0), None, 1)?;
/// assert!(limiter.try_admit(at(1), None, 1).is_err());
/// limiter.complete(at(10), first, Outcome::Success)?;
/// limiter.complete(at(10), second, Outcome::Success)?;
/// assert_eq!(limiter.stats(at(10)).last_rtt, Some(Duration::from_millis(10)));
/// assert_eq!(limiter.stats(at(10)).limit, 3, "both were in use and went well");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Limiter<E, S: Storage> {
    burst: Burst<E>,
    partitions: Partitions<S>,
    settings: LimiterSettings,
    /// When the warm-up began, and ends: nothing is refused before.
    warming_since: Timestamp,
    warm_at: Timestamp,
    /// All that is in flight, also past the limit.
    in_flight: u64,
    last_rtt_ns: u64,
    mean_rtt_ns: u64,
    least_rtt_ns: u64,
    counters: Counters,
    now: Timestamp,
}

/// 1/8: the weight of the newest time in the mean.
const NEWEST: u32 = 3;
/// Pauses that may be given out at once, as the reference has it.
const MAX_PAUSING: u32 = 100;

impl<E: Estimator, S: Storage> Limiter<E, S> {
    /// A limiter around `estimator`, whose warm-up begins at `now`, with room for `max_partitions`; pauses at most 100
    /// clients at once, or as many as the storage holds.
    ///
    /// # Errors
    /// Those of [`Burst::new`] and [`Partitions::new`].
    pub fn new(
        now: Timestamp,
        estimator: E,
        settings: LimiterSettings,
        shares: &[Share],
        max_partitions: u32,
    ) -> Result<Self, ConfigError> {
        let burst = Burst::new(estimator, settings.burst)?;
        let limit = burst.limit();
        let pausing = MAX_PAUSING.min(S::MOST);
        let partitions = Partitions::new(limit, settings.guarantee, shares, max_partitions, pausing)?;
        Ok(Self {
            burst,
            partitions,
            settings,
            warming_since: now,
            warm_at: now.saturating_add(settings.warmup),
            in_flight: 0,
            last_rtt_ns: 0,
            mean_rtt_ns: 0,
            least_rtt_ns: u64::MAX,
            counters: Counters::default(),
            now,
        })
    }

    /// A request of `weight` permits asks to be let in, for a partition or, with `None`, for none. O(partitions).
    ///
    /// # Errors
    /// [`Refusal`], only while the limit is enforced and warm. Nothing is held.
    pub fn try_admit(
        &mut self,
        now: Timestamp,
        partition: Option<PartitionId>,
        weight: u32,
    ) -> Result<Ticket, Refusal> {
        self.now = self.now.max(now);
        if self.settings.mode == Mode::Disabled {
            return Ok(Ticket { started: self.now, weight, in_flight: 0, kind: Kind::Free });
        }
        match self.partitions.try_acquire(partition, weight) {
            Ok(held) => {
                self.counters.admitted = self.counters.admitted.saturating_add(1);
                Ok(self.let_in(weight, Kind::Tracked(held)))
            }
            Err(reason) => {
                if reason == Reason::NoPermits {
                    self.limit_was_met();
                }
                if self.settings.mode == Mode::MonitorOnly {
                    self.counters.would_reject = self.counters.would_reject.saturating_add(1);
                } else if self.now < self.warm_at {
                    self.counters.passed_in_warmup = self.counters.passed_in_warmup.saturating_add(1);
                } else {
                    return Err(self.refuse(partition, weight, reason));
                }
                Ok(self.let_in(weight, Kind::Untracked))
            }
        }
    }

    /// Whether [`try_admit`](Self::try_admit) would let a request in at `now`. Changes and counts nothing. O(partitions).
    ///
    /// # Errors
    /// The reason for which it would be refused.
    pub fn peek(&self, now: Timestamp, partition: Option<PartitionId>, weight: u32) -> Result<(), Reason> {
        match self.settings.mode {
            Mode::Enforced if self.now.max(now) >= self.warm_at => self.partitions.peek(partition, weight),
            _ => Ok(()),
        }
    }

    /// A request met the limit, and is made to wait outside instead of being refused: the estimator is told as it would
    /// be of a refusal, and nothing is counted. O(1), or O(partitions²) if the limit changes.
    pub fn on_wait(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        self.limit_was_met();
    }

    /// Time has passed: an estimator that waits for samples that do not come gives up waiting. To be called at
    /// [`poll_timeout`](Self::poll_timeout), or now and then. O(1), or O(partitions²) if the limit changes.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        let limit = self.burst.on_tick(self.now);
        self.partitions.set_limit(limit);
    }

    /// When [`tick`](Self::tick) will have something to do, if no request ends before; `None`: never.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.burst.poll_timeout()
    }

    /// A request has ended: what it held comes back, and the estimator learns from it. O(partitions).
    ///
    /// # Errors
    /// [`Stale`] if nobody here holds as much in its place, so it is of another limiter; nothing is changed but the time.
    pub fn complete(&mut self, now: Timestamp, ticket: Ticket, outcome: Outcome) -> Result<(), Stale> {
        self.now = self.now.max(now);
        let Ticket { started, weight, in_flight, kind } = ticket;
        let tracked = match kind {
            Kind::Free => return Ok(()),
            Kind::Tracked(held) => {
                self.partitions.release(held)?;
                true
            }
            Kind::Untracked => {
                let past_the_limit = self.in_flight.saturating_sub(self.partitions.in_flight());
                if past_the_limit < num::from_u32(weight) {
                    return Err(Stale);
                }
                false
            }
        };
        self.in_flight = self.in_flight.saturating_sub(num::from_u32(weight));
        let place = match outcome {
            Outcome::Success => 0,
            Outcome::Dropped => 1,
            Outcome::Ignored => 2,
        };
        if let Some(count) = self.counters.outcomes.get_mut(place) {
            *count = count.saturating_add(1);
        }
        let rtt = self.now.saturating_since(started);
        if outcome == Outcome::Success {
            self.remember(num::nanos(rtt));
        }
        if tracked || self.settings.counting == Counting::Honest {
            let limit = self.burst.on_sample(&Sample { started, rtt, in_flight, outcome });
            self.partitions.set_limit(limit);
        }
        Ok(())
    }

    /// Changes settings and shares, at once. Tickets stay valid and what was learnt is kept. A warm-up that is over stays
    /// so, one under way lasts as long as it does now, and after `Disabled` it begins at `now`. O(partitions²).
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed.
    pub fn reconfigure(
        &mut self,
        now: Timestamp,
        settings: LimiterSettings,
        shares: &[Share],
    ) -> Result<(), ConfigError> {
        self.now = self.now.max(now);
        settings.burst.check()?;
        self.partitions.set_shares(settings.guarantee, shares)?;
        self.burst.set_settings(settings.burst)?;
        let enabled = self.settings.mode == Mode::Disabled && settings.mode != Mode::Disabled;
        self.settings = settings;
        if enabled {
            self.restart_warmup(now);
        } else if self.now < self.warm_at {
            self.warm_at = self.warming_since.saturating_add(settings.warmup);
        }
        self.partitions.set_limit(self.burst.limit());
        Ok(())
    }

    /// Begins the warm-up anew, as if the limiter had been made at `now`. O(1).
    pub fn restart_warmup(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        self.warming_since = self.now;
        self.warm_at = self.now.saturating_add(self.settings.warmup);
    }

    /// Puts another estimator in the place of this one: another algorithm, or one that has learnt nothing. Tickets stay
    /// valid. O(partitions²).
    pub fn replace_estimator(&mut self, estimator: E) {
        *self.burst.base_mut() = estimator;
        self.partitions.set_limit(self.burst.limit());
    }

    /// Changes the estimator in place, and takes over its limit. O(partitions²).
    pub fn change_estimator<R>(&mut self, change: impl FnOnce(&mut E) -> R) -> R {
        let result = change(self.burst.base_mut());
        self.partitions.set_limit(self.burst.limit());
        result
    }

    /// The estimator.
    #[must_use]
    pub const fn estimator(&self) -> &E {
        self.burst.base()
    }

    /// Who holds what.
    #[must_use]
    pub const fn partitions(&self) -> &Partitions<S> {
        &self.partitions
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &LimiterSettings {
        &self.settings
    }

    /// The limit in force.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.partitions.limit()
    }

    /// What it has seen and thinks. O(1).
    #[must_use]
    pub fn stats(&self, now: Timestamp) -> LimiterStats {
        let Counters {
            admitted,
            rejected,
            rejected_overweight,
            would_reject,
            passed_in_warmup,
            paused,
            outcomes,
        } = self.counters;
        let known = |ns: u64| (outcomes[0] > 0).then(|| Duration::from_nanos(ns));
        LimiterStats {
            mode: self.settings.mode,
            limit: self.limit(),
            base_limit: self.burst.base().limit(),
            burst_open: self.burst.is_open() && self.settings.burst.capacity > 0,
            in_flight: self.partitions.in_flight(),
            in_flight_all: self.in_flight,
            admitted,
            rejected,
            rejected_overweight,
            would_reject,
            passed_in_warmup,
            paused,
            outcomes,
            last_rtt: known(self.last_rtt_ns),
            mean_rtt: known(self.mean_rtt_ns),
            no_load_rtt: self.burst.base().no_load_rtt().or_else(|| known(self.least_rtt_ns)),
            warmup_left: self.warm_at.saturating_since(now.max(self.now)),
        }
    }

    /// A request met the limit, whatever becomes of it.
    fn limit_was_met(&mut self) {
        let limit = self.burst.on_reject(self.now);
        self.partitions.set_limit(limit);
    }

    fn let_in(&mut self, weight: u32, kind: Kind) -> Ticket {
        self.in_flight = self.in_flight.saturating_add(num::from_u32(weight));
        let in_flight = match self.settings.counting {
            Counting::Honest => self.in_flight,
            Counting::Reference => self.partitions.in_flight(),
        };
        Ticket { started: self.now, weight, in_flight: num::clamp_u32(in_flight), kind }
    }

    fn refuse(&mut self, partition: Option<PartitionId>, weight: u32, reason: Reason) -> Refusal {
        if reason == Reason::ExceedsLimit {
            self.counters.rejected_overweight = self.counters.rejected_overweight.saturating_add(1);
            return Refusal { reason, pause: None, retry_after: None };
        }
        self.counters.rejected = self.counters.rejected.saturating_add(1);
        let pause = self.partitions.pause(self.now, partition);
        self.counters.paused = self.counters.paused.saturating_add(u64::from(pause.is_some()));
        Refusal { reason, pause, retry_after: self.retry_after(weight) }
    }

    /// When so much is likely to have come free, by Little's law.
    fn retry_after(&self, weight: u32) -> Option<Duration> {
        let in_flight = core::num::NonZeroU64::new(self.partitions.in_flight())?;
        let limit = num::from_u32(self.limit());
        let excess = in_flight.get().saturating_add(num::from_u32(weight)).saturating_sub(limit).max(1);
        let ns = num::mul_div_ceil(self.mean_rtt_ns.into(), excess, in_flight);
        (self.mean_rtt_ns > 0).then(|| Duration::from_nanos(num::narrow(ns)))
    }

    fn remember(&mut self, rtt_ns: u64) {
        let mean = if self.mean_rtt_ns == 0 { rtt_ns } else { self.mean_rtt_ns };
        self.last_rtt_ns = rtt_ns;
        self.least_rtt_ns = self.least_rtt_ns.min(rtt_ns);
        self.mean_rtt_ns = if rtt_ns >= mean {
            mean.saturating_add(rtt_ns.saturating_sub(mean) >> NEWEST)
        } else {
            mean.saturating_sub(mean.saturating_sub(rtt_ns) >> NEWEST)
        };
    }

    /// Asserts I1 and I3, and the invariants of the partitions. O(partitions); for tests and debugging.
    pub fn check_invariants(&self) {
        self.partitions.check_invariants();
        assert!(self.partitions.in_flight() <= self.in_flight, "I1: tracked beyond all");
        assert_eq!(self.partitions.limit(), self.burst.limit(), "I3: the limit in force");
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
