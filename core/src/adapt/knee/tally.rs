//! The tally of a round: what each sample adds, when that is enough, and the means it closes with.
//!
//! This is all that runs per sample. What the sums are compared with (limit, clip, capacity, baseline) is fixed when
//! the round opens, so a sample costs a few additions and comparisons, and the division waits for the end.
//!
//! A round is open until `n ≥ need`. `need` is 1.5 limits' worth, for the queue computed from a mean of `n` requests
//! scatters by about `cv·P/√n`, and that must stay below the headroom of about `√P`; and at least 40, more where
//! times vary more: with a few in flight the waits of one queue are in several samples each, so 32 say less than they
//! seem to. Then there are three exceptions. A clock that rounds to zero needs as many nonzero times as make
//! half a round, or eight times the samples. A mean of 2.5 times the last one with a crowd in flight is an alarm, and
//! sixteen samples are enough for it. And where drops are fast (a refusal takes no slot and no time), three times
//! `need` of all kinds close the round if it also lasted one round-trip time.

use crate::time::Timestamp;

/// Fewest samples of an alarm.
const ALARM: u32 = 16;
/// Times slower than before that are an alarm.
pub(super) const ALARMING: f64 = 2.5;
/// Rounds' worth of samples after which zero rtts no longer keep a round open; twice as many, and neither does a
/// clock that stands still.
const COARSE: u32 = 8;

/// More samples than any round wants.
const MOST: u32 = 1 << 26;

/// What the samples of a round are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Yardstick {
    /// Samples wanted.
    pub(super) need: u32,
    /// The limit in force.
    pub(super) published: u32,
    /// In flight up to which a request met a free slot: `cs`.
    pub(super) capacity: u32,
    /// Longer rtts count as this, ns.
    pub(super) clip_ns: f64,
    /// A drop that took less is fast: it held no slot. 2·s0, ns.
    pub(super) fast_ns: f64,
    /// Mean of the rounds before (`rp`), ns; 0 before the first.
    pub(super) typical_ns: f64,
    /// A mean above this is an alarm, ns.
    pub(super) alarm_ns: f64,
    /// In flight from which slowness is an alarm: 2·h.
    pub(super) crowd: f64,
    /// How long after the limit was met a free slot is regretted, ns; 0 if it never is.
    pub(super) regret_ns: u64,
}

/// The sums of an open round.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    yard: Yardstick,
    opened: Timestamp,
    /// When the limit was last met.
    met: Option<Timestamp>,
    /// Successes and slow drops.
    count: u32,
    slow: u32,
    fast: u32,
    nonzero: u32,
    /// How many met a free slot.
    free: u32,
    /// How many of them while a refusal was not long ago.
    regretted: u32,
    /// Somebody met the limit.
    hit: bool,
    raw_ns: f64,
    sum_ns: f64,
    squares: f64,
    in_flight: f64,
}

/// A closed round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Round {
    /// n: successes and slow drops, as a number to divide by; 0 if all drops were fast.
    pub(super) count: f64,
    /// r: mean of the clipped rtts, ns.
    pub(super) mean_ns: f64,
    /// rm: mean of the rtts as they were, ns.
    pub(super) raw_ns: f64,
    /// Variance of the clipped rtts, ns².
    pub(super) variance: f64,
    /// N: mean in flight at admission.
    pub(super) in_flight: f64,
    /// u: share of requests that met a free slot.
    pub(super) free: f64,
    /// Share that met one while a refusal was not long ago.
    pub(super) regretted: f64,
    /// All attempts: n and the fast drops.
    pub(super) total: f64,
    /// d: share of all that was dropped.
    pub(super) dropped: f64,
    /// Share of all that was dropped slowly.
    pub(super) slow: f64,
    /// How long it was open, ns.
    pub(super) elapsed_ns: f64,
    /// Whether anything succeeded.
    pub(super) succeeded: bool,
    /// Whether the limit was met.
    pub(super) hit: bool,
    /// Whether it was met so lately before or during the round that a free slot is regretted.
    pub(super) met: bool,
    /// Whether it lasted as long as was wanted: not an alarm.
    pub(super) full: bool,
}

impl Tally {
    pub(super) fn new(yard: Yardstick, opened: Timestamp, met: Option<Timestamp>) -> Self {
        Self {
            yard: Yardstick { need: yard.need.min(MOST), ..yard },
            opened,
            met,
            count: 0,
            slow: 0,
            fast: 0,
            nonzero: 0,
            free: 0,
            regretted: 0,
            hit: false,
            raw_ns: 0.0,
            sum_ns: 0.0,
            squares: 0.0,
            in_flight: 0.0,
        }
    }

    /// A request was refused, so the limit was met.
    pub(super) fn refused(&mut self, now: Timestamp) {
        self.hit = true;
        self.met = Some(now);
    }

    /// When the limit was last met.
    pub(super) const fn met(&self) -> Option<Timestamp> {
        self.met
    }

    /// A success or a slow drop. O(1).
    ///
    /// The counts cannot wrap: a round of [`MOST`] samples closes after sixteen times as many at the latest.
    #[inline]
    pub(super) fn add(&mut self, now: Timestamp, rtt_ns: f64, in_flight: u32) {
        let clipped = if rtt_ns > self.yard.clip_ns { self.yard.clip_ns } else { rtt_ns };
        self.raw_ns += rtt_ns;
        self.sum_ns += clipped;
        self.squares += clipped * clipped;
        self.in_flight += f64::from(in_flight);
        self.count = self.count.wrapping_add(1);
        self.nonzero = self.nonzero.wrapping_add(u32::from(rtt_ns > 0.0));
        if in_flight >= self.yard.published {
            self.refused(now);
        }
        if in_flight <= self.yard.capacity {
            self.free = self.free.wrapping_add(1);
            self.regretted = self.regretted.wrapping_add(u32::from(self.is_met(now)));
        }
    }

    /// Whether the limit was met not long ago.
    fn is_met(&self, now: Timestamp) -> bool {
        let ago_ns = |met: Timestamp| now.as_nanos().saturating_sub(met.as_nanos());
        self.yard.regret_ns > 0 && self.met.is_some_and(|met| ago_ns(met) <= self.yard.regret_ns)
    }

    /// A drop: slow ones are latency too, censored; fast ones are only counted. O(1).
    pub(super) fn drop(&mut self, now: Timestamp, rtt_ns: f64, in_flight: u32) {
        if self.yard.fast_ns == 0.0 || rtt_ns < self.yard.fast_ns {
            self.fast = self.fast.saturating_add(1);
        } else {
            self.slow = self.slow.saturating_add(1);
            self.add(now, rtt_ns, in_flight);
        }
    }

    /// Whether the round may close at `now`. O(1).
    #[inline]
    pub(super) fn is_complete(&self, now: Timestamp, rtt_ns: f64) -> bool {
        // The common case is a comparison of counts and one of times: no mean rises by a time below it.
        if self.count < self.yard.need && self.fast == 0 && rtt_ns <= self.yard.alarm_ns {
            return false;
        }
        self.is_enough(now)
    }

    #[inline]
    fn is_alarming(&self) -> bool {
        let count = f64::from(self.count);
        self.sum_ns > self.yard.alarm_ns * count
            && self.count >= ALARM
            && self.in_flight > self.yard.crowd * count
    }

    fn is_enough(&self, now: Timestamp) -> bool {
        let need = self.yard.need;
        let most = need.saturating_mul(COARSE);
        if self.total() >= most.saturating_mul(2) {
            return true;
        }
        let seen = self.nonzero >= need / 2 || self.count >= most;
        let full = self.count >= need && seen;
        now > self.opened && (full || self.is_alarming() || self.is_drowned(now))
    }

    /// Whether fast drops have taken the place of samples.
    fn is_drowned(&self, now: Timestamp) -> bool {
        self.fast > 0
            && self.total() >= self.yard.need.saturating_mul(3)
            && elapsed_ns(self.opened, now) > self.yard.typical_ns
    }

    fn total(&self) -> u32 {
        self.count.saturating_add(self.fast)
    }

    /// Whether most of it so far was dropped slowly, or nothing succeeded: then a drop may close it, for it can only
    /// lower the limit.
    pub(super) fn is_dire(&self) -> bool {
        self.slow >= self.count || u64::from(self.slow).saturating_mul(2) > u64::from(self.total())
    }

    /// The means. O(1).
    pub(super) fn close(&self, now: Timestamp) -> Round {
        let (count, total) = (f64::from(self.count), f64::from(self.total().max(1)));
        let divisor = count.max(1.0);
        let mean_ns = self.sum_ns / divisor;
        Round {
            count,
            mean_ns,
            raw_ns: self.raw_ns / divisor,
            variance: (self.squares / divisor - mean_ns * mean_ns).max(0.0),
            in_flight: self.in_flight / divisor,
            free: f64::from(self.free) / divisor,
            regretted: f64::from(self.regretted) / divisor,
            total,
            dropped: (f64::from(self.slow) + f64::from(self.fast)) / total,
            slow: f64::from(self.slow) / total,
            elapsed_ns: elapsed_ns(self.opened, now),
            succeeded: self.slow < self.count,
            hit: self.hit,
            met: self.is_met(self.opened),
            full: self.count >= self.yard.need || self.fast > 0,
        }
    }
}

fn elapsed_ns(opened: Timestamp, now: Timestamp) -> f64 {
    crate::num::to_f64(now.as_nanos().saturating_sub(opened.as_nanos()))
}

impl Round {
    /// Throughput times `time_ns`: by Little's law the requests that are in flight when each takes that long.
    pub(super) fn carried(&self, time_ns: f64) -> f64 {
        if self.elapsed_ns > 0.0 { self.count * (time_ns / self.elapsed_ns) } else { 0.0 }
    }

    /// Queue: requests of `N` that wait, when one without a wait takes `baseline_ns`. Within 0 and `N`.
    ///
    /// Little's law on the waiting part of the time; the differences are of clipped means, for either location
    /// will do, the throughput `N/rm` is of the raw ones.
    pub(super) fn queue(&self, baseline_ns: f64) -> f64 {
        if self.raw_ns > 0.0 {
            let queue = self.in_flight * ((self.mean_ns - baseline_ns) / self.raw_ns);
            queue.max(0.0).min(self.in_flight)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests;
