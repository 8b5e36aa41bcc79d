//! Capacity and headroom: how many the server works on at once, and how many more to admit so that it never idles.
//!
//! With exactly `c` in flight for `c` slots, chance leaves slots empty. Square-root staffing says that a reserve in
//! proportion to `√c` keeps all of them busy most of the time; how large a multiple depends on how much times vary
//! and how the load comes. So the multiple is *measured*: while requests are refused, the share `u` of admitted ones
//! that met a free slot is throughput given away. Above 5 percent the headroom grows, below 2 it shrinks; at one slot
//! it comes to rest at a limit of 3 under five times the load and of 7 at 1.2 times, which is what an oracle picks.

use super::tally::Round;
use crate::num;

/// Weight of a round in the capacity.
const GAIN: f64 = 0.3;
/// Shares of requests that met a free slot which are too many and too few.
const IDLE: f64 = 0.05;
const BUSY: f64 = 0.02;
/// What the headroom is multiplied by then.
const MORE: f64 = 1.25;
const LESS: f64 = 0.85;
/// Least headroom in roots of the capacity where times do not vary; where they do as an exponential's, it is 2. More
/// than 1, for a service that slows down with what is in flight looks full before it is: what looks like a queue is work.
const CALM: f64 = 1.2;
/// Headroom where the server is shared, in multiples of the least.
const SHARED: f64 = 1.5;
/// How much the headroom for bursts grows and shrinks in a target delay.
const BURST_MORE: f64 = 0.25;
const BURST_LESS: f64 = 0.3;
/// Ordinary headrooms that are a burst.
const BURSTING: f64 = 2.0;
/// Share of the target delay that the queue of a burst may take, less one standard deviation.
const DRAINS: f64 = 0.85;
/// Any number that is more than could wait, so that nothing becomes infinite.
const MOST_WAITING: f64 = 1e9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Headroom {
    /// cs: requests in service at once; 0 before the first busy round.
    capacity: f64,
    /// h, requests.
    extra: f64,
    /// What bursts may use in place of it, if that is more; 0 without a target delay.
    burst: f64,
    /// Moving average of the regretted share, over about a target delay.
    lost: f64,
    /// Limiters that share the server, this one included.
    sharers: f64,
}

impl Headroom {
    pub(super) const fn new(sharers: f64) -> Self {
        // Between the bounds at the first limit; the first busy round clamps it.
        Self { capacity: 0.0, extra: 5.0, burst: 0.0, lost: 0.0, sharers }
    }

    /// So many limiters share the server from now on, and bursts may queue or not.
    pub(super) const fn reconfigure(&mut self, sharers: f64, bursts: bool) {
        self.sharers = sharers;
        if !bursts {
            self.burst = 0.0;
        }
    }

    pub(super) const fn capacity(&self) -> f64 {
        self.capacity
    }

    pub(super) const fn get(&self) -> f64 {
        self.extra.max(self.burst)
    }

    /// Whether bursts are let queue, and not just a little.
    pub(super) const fn is_bursting(&self) -> bool {
        self.burst > BURSTING * self.extra
    }

    /// A round in which the limit was met: `in_service` requests of it did not wait, a share of `free` met a free
    /// slot, and the squared coefficient of variation of the times is `cv2`.
    pub(super) fn learn(&mut self, in_service: f64, free: f64, cv2: f64) {
        if self.capacity > 0.0 {
            self.capacity += GAIN * (in_service - self.capacity);
        } else {
            self.capacity = in_service;
        }
        let root = root(self.capacity / self.sharers);
        let scatter = cv2.min(1.0);
        if self.sharers > 1.0 {
            // As little as will do: whoever came last takes what is more.
            self.extra = SHARED * ((1.0 + scatter) * root + 1.0);
            return;
        }
        let least = (CALM + (2.0 - CALM) * scatter) * root + 1.0;
        if free > IDLE {
            self.extra *= MORE;
        } else if free < BUSY {
            self.extra *= LESS;
        }
        self.extra = self.extra.max(least).min(5.0 * root + 2.0);
    }

    /// A round in which, or not long before which, the limit was met; requests may take `target_ns`.
    pub(super) fn learn_bursts(&mut self, round: &Round, target_ns: f64, baseline_ns: f64) {
        let weight = round.elapsed_ns / (round.elapsed_ns + target_ns);
        self.lost += (round.regretted - self.lost) * weight;
        if self.lost > IDLE {
            self.burst *= 1.0 + BURST_MORE * weight;
        } else if self.lost < BUSY {
            self.burst *= 1.0 - BURST_LESS * weight;
        }
        let waiting = (self.capacity * (target_ns / baseline_ns.max(1.0) - 1.0)).clamp(0.0, MOST_WAITING);
        let most = (DRAINS * waiting - root(waiting)).max(0.0);
        self.burst = self.burst.max(self.extra).min(most);
    }

    /// A queue beyond doubt: no more than this many are in service.
    pub(super) fn at_most(&mut self, in_service: f64) {
        self.capacity = self.capacity.min(in_service);
    }

    /// Asserts that both are numbers of requests.
    pub(super) fn check_invariants(&self) {
        assert!(self.capacity >= 0.0 && self.capacity.is_finite(), "I2: capacity {}", self.capacity);
        assert!(self.get() >= 1.0 && self.get().is_finite(), "I2: headroom {}", self.get());
    }
}

/// The square root in sixteenths, rounded down: no libm, and the same everywhere.
pub(super) fn root(value: f64) -> f64 {
    num::to_f64(num::trunc_u64(256.0 * value).isqrt()) / 16.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_in_sixteenths_rounded_down_and_of_nothing_nothing() {
        let got = [0.0, -1.0, f64::NAN, 1.0, 2.0, 400.0, 2_147_483_647.0].map(root);
        assert_eq!(got, [0.0, 0.0, 0.0, 1.0, 1.375, 20.0, 46_340.937_5]);
    }

    fn after(sharers: f64, free: f64, cv2: f64) -> (f64, f64) {
        let mut headroom = Headroom::new(sharers);
        for _ in 0..60 {
            headroom.learn(64.0, free, cv2);
        }
        (headroom.capacity(), headroom.get())
    }

    #[test]
    fn too_many_free_slots_grow_it_to_five_roots_and_too_few_shrink_it_to_hardly_more_than_one_or_to_two() {
        assert_eq!(after(1.0, 0.06, 1.0), (64.0, 5.0 * 8.0 + 2.0));
        assert_eq!(after(1.0, 0.01, 0.0), (64.0, 1.2 * 8.0 + 1.0));
        assert_eq!(after(1.0, 0.01, 1.0), (64.0, 2.0 * 8.0 + 1.0));
        assert_eq!(
            after(1.0, 0.01, 7.0),
            after(1.0, 0.01, 1.0),
            "more scatter than an exponential is no reason"
        );
    }

    #[test]
    fn between_two_and_five_percent_it_stays() {
        let mut headroom = Headroom::new(1.0);
        headroom.learn(64.0, 0.06, 1.0);
        let before = headroom.get();
        headroom.learn(64.0, 0.03, 1.0);
        assert_eq!(headroom.get(), before);
    }

    #[test]
    fn one_of_several_keeps_its_part_whatever_the_free_slots_say() {
        let least = 2.0 * 4.0 + 1.0;
        assert_eq!([after(4.0, 0.5, 1.0), after(4.0, 0.0, 1.0)], [(64.0, 1.5 * least); 2]);
        assert_eq!(after(4.0, 0.0, 0.0), (64.0, 1.5 * (4.0 + 1.0)));
    }

    #[test]
    fn one_told_later_of_others_and_of_bursts_is_as_one_told_at_first() {
        let mut told = Headroom::new(1.0);
        told.reconfigure(4.0, false);
        for _ in 0..60 {
            told.learn(64.0, 0.03, 1.0);
        }
        assert_eq!((told.capacity(), told.get()), after(4.0, 0.03, 1.0));

        let mut bursting = Headroom { extra: 10.0, burst: 30.0, ..Headroom::new(1.0) };
        bursting.reconfigure(1.0, true);
        assert_eq!(bursting.get(), 30.0);
        bursting.reconfigure(1.0, false);
        assert_eq!(bursting.get(), 10.0);
    }

    #[test]
    fn a_burst_is_more_than_two_headrooms() {
        let bursting = |burst| Headroom { extra: 10.0, burst, ..Headroom::new(1.0) }.is_bursting();
        assert_eq!([bursting(0.0), bursting(19.0), bursting(21.0)], [false, false, true]);
    }

    #[test]
    fn the_capacity_moves_by_three_tenths_and_falls_at_once_where_a_queue_proves_it() {
        let mut headroom = Headroom::new(1.0);
        headroom.learn(10.0, 0.03, 1.0);
        headroom.learn(20.0, 0.03, 1.0);
        assert_eq!(headroom.capacity(), 13.0);
        headroom.at_most(7.0);
        headroom.at_most(9.0);
        assert_eq!(headroom.capacity(), 7.0);
    }

    #[test]
    fn regretted_refusals_let_bursts_queue_as_long_as_they_drain_in_time() {
        let mut headroom = Headroom::new(1.0);
        for _ in 0..60 {
            headroom.learn(64.0, 0.03, 1.0);
        }
        let plain = headroom.get();
        let mut rest = |regretted: f64| {
            for _ in 0..60 {
                let round = Round { regretted, elapsed_ns: 100e6, ..Round::default() };
                headroom.learn_bursts(&round, 100e6, 10e6);
            }
            headroom.get()
        };
        // Nine services' worth of 64 slots may wait.
        let waiting: f64 = 64.0 * 9.0;
        assert_eq!(rest(0.1), 0.85 * waiting - 24.0);
        assert_eq!(rest(0.03), 0.85 * waiting - 24.0, "between two and five percent it stays");
        assert_eq!(rest(0.0), plain);
    }
}
