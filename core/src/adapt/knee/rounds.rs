//! From one round to the next: what a closed round teaches in every phase, which rule judges it, and how the limit of
//! the next one is put in force.

use super::phase::Phase;
use super::settle::Settle;
use super::tally::{self, Round, Tally, Yardstick};
use super::{Knee, KneeSettings};
use crate::num;
use crate::time::Timestamp;

/// Fewest samples of a round, and of one while nothing gets through.
const ROUND: f64 = 40.0;
const DEAD_ROUND: f64 = 8.0;
/// A round has this many limits' worth of samples: the error of its queue is then below the headroom.
const TURNOVERS: f64 = 1.5;
/// Longer rtts than this many times the mean, or the least, count as that.
const CLIP: f64 = 4.0;
/// Thirty years, ns: where the least rtt is not known yet.
const FOREVER: f64 = 1e18;

impl Knee {
    /// The end of a round: what it teaches depends on what it was for.
    #[inline(never)]
    pub(super) fn close(&mut self, now: Timestamp) {
        let round = self.tally.close(now);
        self.learn_times(&round);
        if !self.dies(&round) {
            match self.phase {
                Phase::Dip { level } => self.end_dip(&round, level),
                Phase::Verify(trial) => self.end_verify(&round, trial),
                Phase::Cut(cut) => self.judge_cut(&round, cut),
                Phase::Dead => self.revive(&round),
                Phase::Round => self.end_round(&round),
            }
        }
        self.in_flight = round.in_flight;
        self.publish(now);
    }

    fn end_round(&mut self, round: &Round) {
        // Slow drops are latency that was cut short: nothing else is learnt from a round that has many.
        if self.drops_rose(round) || round.slow > 0.1 {
            return;
        }
        if self.is_unhealthy(round) {
            self.retreat(round);
            return;
        }
        if round.full {
            self.healthy = self.standing;
        }
        self.learn_baseline(round);
        if let Some(before) = self.judge(round) {
            self.verify(round, before);
        } else if round.hit && self.dips.due(round.in_flight >= 0.8 * f64::from(self.published)) {
            self.dip(round);
        }
    }

    pub(super) fn learn_times(&mut self, round: &Round) {
        if round.count == 0.0 {
            return;
        }
        let scatter =
            if round.mean_ns > 0.0 { round.variance / (round.mean_ns * round.mean_ns) } else { 0.0 };
        self.spread.cv2 += 0.2 * (scatter.min(8.0) - self.spread.cv2);
        self.typical_ns =
            if self.typical_ns > 0.0 { 0.5 * (self.typical_ns + round.raw_ns) } else { round.raw_ns };
    }

    fn learn_baseline(&mut self, round: &Round) {
        if self.baseline.known().is_none() {
            self.baseline.reset(round.mean_ns);
            return;
        }
        // Completions are biased short while concurrency grows.
        let steady = !self.fresh && round.in_flight < 1.05 * self.in_flight;
        let below = steady && self.is_below(round, 16.0);
        if self.baseline.passed(round.mean_ns, below) {
            self.dips.early();
        }
    }

    /// Whether a round is below the baseline by more than so many variances of its mean.
    pub(super) fn is_below(&self, round: &Round, variances: f64) -> bool {
        let baseline_ns = self.baseline.ns();
        let off = baseline_ns - round.mean_ns;
        let noise = round.variance.max(self.spread.cv2 * baseline_ns * baseline_ns) / round.count.max(1.0);
        off > 0.0 && off * off > variances * noise
    }

    /// Puts the limit of the phase in force and opens the next round, after a settling if the change matters.
    pub(super) fn publish(&mut self, now: Timestamp) {
        let KneeSettings { min, max, .. } = self.settings;
        let (least, most) = (f64::from(min), f64::from(max));
        self.standing = self.standing.max(least).min(most);
        let probe = self.phase.level();
        let level = probe.unwrap_or(self.standing);
        let (old, new) = (self.published, num::trunc_i32(level.max(least).min(self.standing)));
        self.published = new;
        let matters = u64::from(old.abs_diff(new)).saturating_mul(10) > u64::from(old);
        self.fresh = probe.is_some() || matters;
        if self.fresh {
            self.settle = Settle::changed(now, old, new, self.headroom.capacity());
        }
        self.open(now);
    }

    /// Opens a round with the yardsticks of now.
    pub(super) fn open(&mut self, now: Timestamp) {
        let most = f64::from(self.published);
        let need = match self.phase {
            Phase::Dead => DEAD_ROUND,
            Phase::Verify(_) => 2.0 * self.need(most),
            _ => self.need(most),
        };
        // Before the first round, and after rounds of zeros, nothing is known to compare with.
        let (clip_ns, alarm_ns) = if self.typical_ns > 0.0 {
            (CLIP * self.typical_ns.max(self.spread.least_ns.min(FOREVER)), tally::ALARMING * self.typical_ns)
        } else {
            (f64::MAX, f64::MAX)
        };
        let yard = Yardstick {
            need: num::trunc_i32(need),
            published: self.published,
            capacity: num::trunc_i32(self.headroom.capacity()),
            clip_ns,
            fast_ns: 2.0 * self.baseline.ns(),
            typical_ns: self.typical_ns,
            alarm_ns,
            crowd: 2.0 * self.headroom.get(),
            regret_ns: self.settings.target_delay.map_or(0, num::nanos),
        };
        self.tally = Tally::new(yard, now, self.tally.met());
    }

    fn need(&self, published: f64) -> f64 {
        ROUND.max(TURNOVERS * published).max(24.0 * self.spread.cv2.min(4.0))
    }
}
