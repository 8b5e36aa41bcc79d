//! The drop ladder: are the drops ours?
//!
//! A server that refuses above some limit, times out because it is full, or fails a third of all requests whatever
//! the load, look alike in one round. Cutting for all of them is what closes the usual limiters on a service with
//! failures of its own; cutting for none is what lets them sit at a wall. So: cut a little and look; cut more and
//! look; and if the drops do not care, put the limit back and call their share `d0` normal.

use super::Knee;
use super::phase::{Cut, Pace, Phase};
use super::tally::Round;

/// Rounds to hold after a cut that helped.
const HOLD: u32 = 8;

/// The share of drops known to be independent of the limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drops {
    /// d0.
    normal: f64,
}

impl Drops {
    #[cfg(test)]
    pub(super) const fn of(normal: f64) -> Self {
        Self { normal }
    }

    #[cfg(test)]
    pub(super) const fn normal(self) -> f64 {
        self.normal
    }

    /// Whether a share of drops differs from d0 by more than chance: three sigma, and a hundredth.
    fn significant(self, round: &Round) -> bool {
        let (share, off) = (round.dropped, round.dropped - self.normal);
        let variance = (share * (1.0 - share)).max(1.0 / (4.0 * round.total));
        off.abs() > 0.01 && off * off * round.total > 9.0 * variance
    }
}

impl Knee {
    /// (a) More than half was dropped slowly, or nothing succeeded: half of what is published. True if so.
    ///
    /// Who dies while doubling has not lived at that limit: half of it is all that may still be called healthy.
    /// Otherwise a server that came back smaller is sent the limit of the larger one again, and dies of it, for as long
    /// as it is small.
    pub(super) fn dies(&mut self, round: &Round) -> bool {
        let dead = round.slow > 0.5 || !round.succeeded;
        if dead {
            if self.phase != Phase::Dead && self.pace == Pace::Startup {
                self.healthy = self.healthy.min(f64::from(self.published) / 2.0);
            }
            self.standing = f64::from(self.published) / 2.0;
            self.phase = Phase::Dead;
        }
        dead
    }

    /// (b) Dead, and it comes back: most of the last healthy limit at once, then doubling.
    pub(super) fn revive(&mut self, round: &Round) {
        // Fast drops hold no slot; a service that fails fast is not dead.
        if round.dropped < 0.5 || round.slow < 0.25 {
            self.standing = self.standing.max(0.6 * self.healthy);
            self.pace = Pace::Startup;
            self.phase = Phase::Round;
        }
    }

    /// (c), (d) An ordinary round. True if the round began a test cut.
    pub(super) fn drops_rose(&mut self, round: &Round) -> bool {
        let off = round.dropped - self.drops.normal;
        if !self.drops.significant(round) {
            self.drops.normal += 0.2 * off;
            return false;
        }
        if off < 0.0 {
            self.drops.normal = round.dropped;
            return false;
        }
        let (before, dropped) = (self.standing, round.dropped);
        self.standing *= if round.slow > 0.5 * dropped { 0.7 } else { 0.92 };
        self.phase = Phase::Cut(Cut { before, dropped, again: false });
        true
    }

    /// (c) The round after a test cut.
    pub(super) fn judge_cut(&mut self, round: &Round, cut: Cut) {
        let follows = round.dropped <= 0.7 * cut.dropped;
        if follows {
            self.pace = Pace::Creep { hold: HOLD, wall: cut.before };
            self.phase = Phase::Round;
        } else if cut.again {
            self.drops.normal = round.dropped;
            self.standing = cut.before;
            self.phase = Phase::Round;
        } else {
            let carried = round.carried(self.typical_ns);
            self.standing = carried.max(0.5 * cut.before).min(0.7 * cut.before);
            self.phase = Phase::Cut(Cut { again: true, ..cut });
        }
    }
}
