//! The two probes: the dip, which measures the baseline, and the verification, which tells a queue from a slower
//! service before either is believed.

use super::Knee;
use super::phase::{Phase, Trial};
use super::tally::Round;

/// Busy rounds to the first dip, to an early one, and between two at least and at most.
const FIRST: f64 = 2.0;
const EARLY: f64 = 4.0;
const LEAST: f64 = 12.0;
const MOST: f64 = 128.0;
/// Share of what is in service that a dip publishes, and of the dip before where that was not enough.
const DIP: f64 = 0.8;
const DEEPER: f64 = 0.6;
/// Share of what was in flight that a verification publishes.
const VERIFY: f64 = 0.45;
/// Elasticity below which the service is slower, and above which it is a queue: two sigma from 0 and from 1.
const SLOWER: f64 = 0.35;
const QUEUED: f64 = 0.65;

/// When the next dip is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dips {
    /// Busy rounds since the last; rounds with room to spare count a quarter.
    rounds: f64,
    period: f64,
}

impl Dips {
    pub(super) const fn new() -> Self {
        Self { rounds: 0.0, period: FIRST }
    }

    /// Look again soon.
    pub(super) fn early(&mut self) {
        self.period = EARLY;
    }

    fn lengthen(&mut self) {
        self.period = (2.0 * self.period).clamp(LEAST, MOST);
    }

    /// A round in which the limit was met. True if a dip is due.
    pub(super) fn due(&mut self, full: bool) -> bool {
        self.rounds += if full { 1.0 } else { 0.25 };
        let due = self.rounds >= self.period;
        if due {
            self.rounds = 0.0;
        }
        due
    }
}

/// Rounds during which verifications are held back after one that found a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hold {
    left: u32,
    next: u32,
}

impl Hold {
    pub(super) fn tick(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    pub(super) const fn is_over(self) -> bool {
        self.left == 0
    }

    /// A queue beyond doubt: 8, 16, then 32 rounds.
    fn sure(&mut self) {
        self.next = self.next.saturating_mul(2).clamp(8, 32);
        self.left = self.next;
    }

    fn unsure(&mut self) {
        self.left = 2;
    }
}

impl Knee {
    /// Begins a dip.
    pub(super) fn dip(&mut self, round: &Round) {
        let service = self.headroom.capacity().min(round.in_flight);
        if !self.dips_to(DIP * service) {
            self.measure_at_floor(round);
        }
    }

    /// At the least limit there is nothing below to publish, and an ordinary round is the measurement.
    fn measure_at_floor(&mut self, round: &Round) {
        self.baseline.average_at_floor(round.mean_ns);
        self.dips.early();
    }

    /// Publishes `level`, or one less than what is published, unless that is the least limit already.
    fn dips_to(&mut self, level: f64) -> bool {
        let least = f64::from(self.settings.min);
        let published = f64::from(self.published);
        let below = published > least;
        if below {
            self.phase = Phase::Dip { level: level.min(published - 1.0).max(least) };
        }
        below
    }

    /// A dip was measured.
    pub(super) fn end_dip(&mut self, round: &Round, level: f64) {
        let (mean_ns, known_ns) = (round.mean_ns, self.baseline.ns());
        self.phase = Phase::Round;
        if self.is_unhealthy(round) {
            return;
        }
        if !self.is_below(round, 9.0) {
            self.baseline.average(mean_ns);
            self.dips.lengthen();
        } else if mean_ns < 0.85 * known_ns {
            self.baseline.reset(mean_ns);
            self.dips.early();
            self.dips_to(DEEPER * level);
        } else {
            self.baseline.reset(mean_ns);
            self.dips.early();
        }
    }

    /// Begins a verification of what `round` shows; `before` is the limit if the service turns out to be slower.
    pub(super) fn verify(&mut self, round: &Round, before: f64) {
        let (least, published) = (f64::from(self.settings.min), f64::from(self.published));
        if published <= least {
            self.measure_at_floor(round);
            return;
        }
        let level = (VERIFY * round.in_flight.min(published)).max(least);
        let trial = Trial { level, in_flight: round.in_flight, mean_ns: round.mean_ns, before };
        self.phase = Phase::Verify(trial);
    }

    /// A verification was measured.
    pub(super) fn end_verify(&mut self, round: &Round, trial: Trial) {
        self.phase = Phase::Round;
        let eta = elasticity(round, &trial, f64::from(self.settings.sharers));
        let unhealthy = self.is_unhealthy(round);
        if eta < SLOWER && round.mean_ns > 1.1 * self.baseline.ns() && !unhealthy {
            self.baseline.reset(round.mean_ns);
            self.dips.early();
            self.hold = Hold::default();
            self.descent = 0;
            self.standing = trial.before;
            return;
        }
        if self.is_below(round, 9.0) {
            self.baseline.lower(round.mean_ns);
        } else if !unhealthy {
            self.baseline.average(round.mean_ns);
        }
        let room = self.headroom.capacity() + self.headroom.get();
        let carried = round.carried(self.baseline.ns()) + self.headroom.get();
        self.standing = carried.max(self.standing.min(room)).min(trial.before);
        if eta > QUEUED {
            self.hold.sure();
        } else {
            self.hold.unsure();
        }
    }
}

/// η: by what share of the change in flight the latency changed. 1: it followed, so there was a queue. 0: it did not,
/// so the service is slower. Where less was not in flight, because nobody enforces the limit, nothing is known: 1/2.
fn elasticity(round: &Round, trial: &Trial, k: f64) -> f64 {
    let others = (k - 1.0) * trial.in_flight;
    let less = (trial.in_flight + others) / (round.in_flight.max(1.0) + others) - 1.0;
    if less * k < 0.1 || round.mean_ns <= 0.0 {
        return 0.5;
    }
    (trial.mean_ns / round.mean_ns - 1.0) / less
}
