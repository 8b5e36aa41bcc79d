//! An ordinary round: too much queue takes the limit down, room below the headroom takes it up.

use super::Knee;
use super::phase::Pace;
use super::tally::Round;
use crate::num;

/// Queues, in headrooms, that are too much, and far too much.
const TOO_MUCH: f64 = 1.25;
const FAR_TOO_MUCH: f64 = 2.0;
/// Times the baseline that ask for a verification during a descent, and at once.
const SLOW: f64 = 1.8;
const VERY_SLOW: f64 = 2.2;
/// Share of the limit at the top of a descent that is deep.
const DEEP: f64 = 0.67;
/// Busy, very slow rounds in a row without much of a queue that ask for a verification.
const STALE: u32 = 3;
const STALE_OR_BURST: u32 = 12;

impl Knee {
    /// The rules of queue and growth. True if the round asks for a verification, with the limit to return to.
    pub(super) fn judge(&mut self, round: &Round) -> Option<f64> {
        let queue = round.queue(self.baseline.ns());
        let in_service = round.in_flight - queue;
        if round.hit {
            self.headroom.learn(in_service, round.free, self.spread.cv2);
        }
        if let Some(target) = self.settings.target_delay
            && round.met
            && self.pace != Pace::Startup
        {
            self.headroom.learn_bursts(round, num::to_f64(num::nanos(target)), self.baseline.ns());
        }
        self.hold.tick();
        if queue > TOO_MUCH * self.headroom.get() {
            return self.descend(round, queue, in_service);
        }
        self.descent = 0;
        if self.is_stale(round) || self.baseline.take_held() {
            return Some(self.standing);
        }
        if round.hit {
            self.grow(round, queue, in_service);
        }
        None
    }

    /// Slower than the user calls healthy: whatever the reason, only the way down is open.
    pub(super) fn is_unhealthy(&self, round: &Round) -> bool {
        self.settings.max_healthy_rtt.is_some_and(|most| round.raw_ns > num::to_f64(num::nanos(most)))
    }

    /// Down in proportion to the excess, and by half at most.
    pub(super) fn retreat(&mut self, round: &Round) {
        self.stop_startup();
        self.descent = 0;
        let most_ns = self.settings.max_healthy_rtt.map_or(f64::MAX, |most| num::to_f64(num::nanos(most)));
        self.standing *= (most_ns / round.raw_ns.max(1.0)).clamp(0.5, 1.0);
    }

    fn descend(&mut self, round: &Round, queue: f64, in_service: f64) -> Option<f64> {
        self.stop_startup();
        if self.descent == 0 {
            self.top = self.standing;
        }
        self.descent = self.descent.saturating_add(1);
        let (extra, slow) = (self.headroom.get(), round.mean_ns / self.baseline.ns());
        let deep = self.standing < DEEP * self.top;
        let grave = queue > 1.5 * extra || deep;
        let free = self.hold.is_over() || slow > VERY_SLOW || deep;
        if self.descent >= 2 && slow > SLOW && self.standing > 3.0 && round.full && grave && free {
            return Some(self.top);
        }
        let target = self.standing.min(in_service + extra);
        let next = if queue > FAR_TOO_MUCH * extra {
            self.headroom.at_most(in_service);
            target
        } else {
            0.5 * (self.standing + target)
        };
        self.standing = next.max(0.5 * self.standing);
        None
    }

    /// The limit is met and requests are very slow, but hardly any of it looks like a queue: the baseline may be old.
    fn is_stale(&mut self, round: &Round) -> bool {
        let slow = round.mean_ns > VERY_SLOW * self.baseline.ns();
        let busy = round.hit && round.in_flight > 0.8 * self.standing && self.standing >= 3.0;
        self.stale = if slow && busy && self.hold.is_over() { self.stale.saturating_add(1) } else { 0 };
        // A burst that is let queue is slow, too, but it ends.
        let wanted = if self.headroom.is_bursting() { STALE_OR_BURST } else { STALE };
        let stale = self.stale >= wanted;
        if stale {
            self.stale = 0;
        }
        stale
    }

    pub(super) fn grow(&mut self, round: &Round, queue: f64, in_service: f64) {
        let extra = self.headroom.get();
        if queue > 0.5 * extra || round.in_flight < 0.7 * self.standing {
            self.stop_startup();
        }
        match &mut self.pace {
            Pace::Startup => {
                let ceiling = f64::from(self.settings.initial).max(self.healthy);
                self.standing = (2.0 * self.standing).min(ceiling.max(self.standing));
                if self.standing >= ceiling {
                    self.pace = Pace::Steady;
                }
            }
            Pace::Creep { hold, .. } if *hold > 0 => *hold = hold.saturating_sub(1),
            Pace::Creep { wall, .. } => {
                self.standing += (self.standing / 32.0).max(1.0);
                if self.standing > 1.25 * *wall {
                    self.pace = Pace::Steady;
                }
            }
            Pace::Steady => {
                let cap = self.headroom.capacity().max(in_service) + 1.3 * extra;
                if self.standing > cap {
                    self.standing -= 0.2 * (self.standing - cap);
                } else if queue < 0.9 * extra {
                    let step = (0.7 * (extra - queue)).min(0.5 * self.standing);
                    self.standing = (self.standing + step).min(cap);
                } else if queue > extra {
                    self.standing -= 0.5 * (queue - extra);
                }
            }
        }
    }

    fn stop_startup(&mut self) {
        if self.pace == Pace::Startup {
            self.pace = Pace::Steady;
        }
    }
}
