//! What clients do next: come back for another try, think, or go.

use rand::RngExt;
use rand_distr::{Distribution, Exp1};

use super::super::calendar::Back;
use super::super::requests::follower;
use super::Engine;
use crate::num;

/// From a refusal or a failure to an immediate retry, nanoseconds.
const IMMEDIATE_NS: u64 = 500_000;
/// The first pause of a back-off, nanoseconds; doubled each time.
const BACKOFF_NS: u64 = 20_000_000;

impl Engine<'_> {
    /// What a client does after an attempt has ended one way or the other. Says whether it will come back.
    #[inline]
    pub(super) fn follow(
        &mut self,
        now_ns: u64,
        limiter: u32,
        first_ns: u64,
        tries: u32,
        done: bool,
    ) -> bool {
        if self.plan.closed.is_some() {
            self.think(now_ns, limiter);
            return true;
        }
        let Some(retries) = self.plan.retries else { return false };
        if done || tries >= retries.most {
            return false;
        }
        let pause_ns = if retries.backoff {
            let jitter = self.pauses.random::<f64>() + 0.5;
            num::rounded(num::real(BACKOFF_NS << tries.min(16)) * jitter)
        } else {
            IMMEDIATE_NS
        };
        self.calendar.back(now_ns + pause_ns, Back::Retry { limiter, tries: tries + 1, first_ns });
        true
    }

    pub(super) fn think(&mut self, now_ns: u64, limiter: u32) {
        let mean_ns = self.plan.closed.map_or(0, |closed| closed.think_ns);
        let times: f64 = Exp1.sample(&mut self.pauses);
        let pause_ns = num::rounded(num::real(mean_ns) * times).max(1);
        self.calendar.back(now_ns + pause_ns, Back::Client { limiter });
    }

    pub(super) fn comes_back(&mut self, now_ns: u64, back: Back) {
        let (limiter, tries, first_ns) = match back {
            Back::Retry { limiter, tries, first_ns } => (limiter, tries, first_ns),
            Back::Client { limiter } => (limiter, 0, now_ns),
        };
        if now_ns < self.doors[num::index(limiter)].opens_ns {
            self.think(now_ns, limiter);
            return;
        }
        let what = follower(self.plan, self.phase, limiter, &mut self.followers);
        let below = self.plan.below_capacity(self.phase, now_ns);
        self.ask(now_ns, what, below, first_ns, tries);
    }
}
