//! How attempts end: they are done, they fail, their clients give up.
//!
//! An attempt has a place among all that are in the server, also while it is worked on for nobody.

use core::time::Duration;

use tollgate::adapt::{Outcome, Sample};

use super::door::{Attempt, Held};
use super::{Engine, seen};
use crate::num;

impl Engine<'_> {
    #[inline]
    pub(super) fn done(&mut self, now_ns: u64, request: u32) {
        self.server.finish();
        if let Some((next, done_ns)) = self.server.next(now_ns) {
            self.calendar.done(done_ns, next);
        }
        let mut attempt = self.take(request);
        let Some(held) = attempt.held.take() else { return };
        let latency_ns = now_ns - attempt.admitted_ns;
        let on_time = now_ns - attempt.first_ns <= self.plan.deadline_ns;
        self.tally.succeeded(now_ns, latency_ns, on_time, attempt.limiter);
        self.tally.kept(attempt.counts && on_time);
        if let Some(curve) = &mut self.curve {
            curve.succeeded(latency_ns, on_time);
        }
        let watch = &mut self.doors[num::index(attempt.limiter)].watch;
        if attempt.at_once {
            watch.healthy(attempt.in_flight);
        } else {
            watch.unhealthy();
        }
        self.end(now_ns, held, &attempt, Outcome::Success);
        self.follow(now_ns, attempt.limiter, attempt.first_ns, attempt.tries, true);
    }

    #[inline]
    pub(super) fn failed(&mut self, now_ns: u64, request: u32) {
        let mut attempt = self.take(request);
        let Some(held) = attempt.held.take() else { return };
        self.tally.failed();
        self.lost(now_ns, held, &attempt);
    }

    #[inline]
    pub(super) fn gives_up(&mut self, now_ns: u64, request: u32, serial: u64) {
        let place = &mut self.attempts[num::index(request)];
        if place.serial != serial {
            return;
        }
        let Some(held) = place.held.take() else { return };
        let attempt = Attempt { held: None, ..*place };
        self.tally.timed_out(now_ns, now_ns - attempt.admitted_ns);
        if let Some(curve) = &mut self.curve {
            curve.timed_out(now_ns - attempt.admitted_ns);
        }
        self.lost(now_ns, held, &attempt);
    }

    fn lost(&mut self, now_ns: u64, held: Held, attempt: &Attempt) {
        self.doors[num::index(attempt.limiter)].watch.unhealthy();
        self.end(now_ns, held, attempt, Outcome::Dropped);
        self.follow(now_ns, attempt.limiter, attempt.first_ns, attempt.tries, false);
    }

    /// An attempt is over for its client: the permit comes back, then the limiter learns of it.
    #[inline]
    fn end(&mut self, now_ns: u64, held: Held, attempt: &Attempt, outcome: Outcome) {
        let index = num::index(attempt.limiter);
        let door = &mut self.doors[index];
        door.leave(held);
        let started = seen(attempt.admitted_ns, self.plan.tick_ns);
        let ended = seen(now_ns, self.plan.tick_ns);
        let rtt = Duration::from_nanos(ended.as_nanos() - started.as_nanos());
        let sample = Sample { started, rtt, in_flight: attempt.in_flight, outcome };
        let limit = door.limiter.on_sample(&sample);
        self.enforce(now_ns, index, limit);
    }

    #[inline]
    pub(super) fn place(&mut self, attempt: Attempt) -> u32 {
        if let Some(free) = self.free.pop() {
            self.attempts[num::index(free)] = attempt;
            return free;
        }
        self.attempts.push(attempt);
        num::index_u32(self.attempts.len() - 1)
    }

    /// What was in this place, which is free from now on.
    #[inline]
    fn take(&mut self, request: u32) -> Attempt {
        self.free.push(request);
        let place = &mut self.attempts[num::index(request)];
        Attempt { held: place.held.take(), ..*place }
    }
}
