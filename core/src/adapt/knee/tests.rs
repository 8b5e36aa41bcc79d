//! One test a rule. A test sets the state that its rule reads and feeds one round, or a few.

use super::phase::{Cut, Trial};
use super::tally::Round;
use super::*;
use crate::adapt::testing::{MS, fields};

mod drops;
mod edges;
mod experiments;
mod verdicts;

/// Sends requests, as many a second as a server with so many in flight would end.
struct Feed {
    now: Timestamp,
}

impl Feed {
    fn new() -> Self {
        Self { now: Timestamp::from_nanos(1_000_000_000) }
    }

    fn one(&mut self, knee: &mut Knee, rtt: Duration, in_flight: u32, outcome: Outcome) {
        self.now = self.now.saturating_add(rtt / in_flight.max(1) + Duration::from_nanos(1));
        knee.on_sample(&Sample { started: self.now, rtt, in_flight, outcome });
    }

    /// Sends until the round that is open, or opens after the settling, has closed.
    fn round(&mut self, knee: &mut Knee, rtt: Duration, in_flight: u32) {
        self.mixed(knee, |_| (rtt, in_flight, Outcome::Success));
    }

    fn mixed(&mut self, knee: &mut Knee, request: impl Fn(u32) -> (Duration, u32, Outcome)) {
        for i in 0..100_000 {
            let before = pending(knee);
            let (rtt, in_flight, outcome) = request(i);
            self.one(knee, rtt, in_flight, outcome);
            if before > 0.0 && pending(knee) == 0.0 {
                return;
            }
        }
        panic!("the round does not close: {knee:?}");
    }

    /// Rounds of a server with this many slots, constant service and a client that always has more to send.
    fn served(&mut self, knee: &mut Knee, slots: u32, service: Duration, rounds: u32) {
        for _ in 0..rounds {
            let in_flight = knee.limit();
            self.round(knee, service.mul_f64(f64::from(in_flight.max(slots)) / f64::from(slots)), in_flight);
        }
    }
}

/// Attempts in the open round.
fn pending(knee: &Knee) -> f64 {
    let round = knee.tally.close(Timestamp::MAX);
    if knee.settle.is_over() && round.count + round.dropped > 0.0 { round.total } else { 0.0 }
}

fn knee() -> Knee {
    Knee::new(KneeSettings { initial: 1000, ..KneeSettings::default() }).unwrap()
}

/// An estimator that knows its server: `limit` permits, `capacity` in service, a baseline of 10 ms, steady.
fn settled(settings: KneeSettings, limit: u32, capacity: u32) -> (Knee, Feed) {
    let mut knee = Knee::new(settings).unwrap();
    let feed = Feed::new();
    knee.standing = f64::from(limit);
    knee.healthy = knee.standing;
    knee.pace = Pace::Steady;
    knee.baseline.reset(10e6);
    knee.typical_ns = 10e6;
    knee.spread.cv2 = 0.0;
    for _ in 0..40 {
        knee.headroom.learn(f64::from(capacity), 0.03, 0.0);
    }
    knee.in_flight = knee.standing;
    knee.publish(feed.now);
    knee.settle = Settle::first(0);
    knee.fresh = false;
    (knee, feed)
}

/// A full, busy round of 64 requests in 20 ms.
fn round(in_flight: f64, mean_ms: f64) -> Round {
    let mean_ns = mean_ms * 1e6;
    Round {
        count: 64.0,
        total: 64.0,
        elapsed_ns: 20e6,
        free: 0.03,
        mean_ns,
        raw_ns: mean_ns,
        in_flight,
        succeeded: true,
        hit: true,
        full: true,
        ..Round::default()
    }
}

#[test]
fn it_begins_at_five_or_at_the_initial_limit_or_the_least_one() {
    let limit =
        |initial, min| Knee::new(KneeSettings { initial, min, ..KneeSettings::default() }).unwrap().limit();
    assert_eq!([limit(20, 1), limit(3, 1), limit(20, 10), limit(5, 5)], [5, 3, 10, 5]);
}

#[test]
fn all_broken_rules_are_named() {
    let zero = Some(Duration::ZERO);
    let settings =
        KneeSettings { initial: 7, min: 9, max: 8, target_delay: zero, max_healthy_rtt: zero, sharers: 0 };
    let named = fields(Knee::new(settings));
    assert_eq!(named, ["min", "initial", "target_delay", "max_healthy_rtt", "sharers"]);
    let shared = KneeSettings { sharers: 2, target_delay: Some(MS), ..KneeSettings::default() };
    assert_eq!(fields(Knee::new(shared)), ["sharers"]);
    assert_eq!(fields(Knee::new(KneeSettings { max: u32::MAX, ..KneeSettings::default() })), ["max"]);
}

#[test]
fn it_is_as_large_as_the_documents_say() {
    assert!(size_of::<Knee>() <= 480, "{}", size_of::<Knee>());
}

#[test]
fn the_first_seven_samples_are_discarded_and_the_next_40_are_the_first_round() {
    let (mut knee, mut feed) = (knee(), Feed::new());
    for _ in 0..7 {
        feed.one(&mut knee, MS, 5, Outcome::Success);
    }
    for _ in 0..39 {
        feed.one(&mut knee, 10 * MS, 5, Outcome::Success);
        assert_eq!((knee.limit(), knee.no_load_rtt()), (5, None));
    }
    feed.one(&mut knee, 10 * MS, 5, Outcome::Success);
    assert_eq!((knee.limit(), knee.no_load_rtt()), (10, Some(10 * MS)));
}

#[test]
fn at_the_start_the_limit_doubles_while_it_is_met_and_no_queue_shows() {
    let (mut knee, mut feed) = (knee(), Feed::new());
    let mut limits = std::vec::Vec::new();
    while knee.limit() < 400 {
        feed.served(&mut knee, 1000, 10 * MS, 1);
        if knee.phase == Phase::Round {
            limits.push(knee.limit());
        }
    }
    limits.dedup();
    assert_eq!(limits, [10, 20, 40, 80, 160, 320, 640]);
}

#[test]
fn doubling_ends_at_the_initial_limit_with_a_queue_and_with_room_to_spare() {
    let mut few = Knee::new(KneeSettings { initial: 8, ..KneeSettings::default() }).unwrap();
    Feed::new().served(&mut few, 1000, 10 * MS, 1);
    assert_eq!((few.limit(), few.pace), (8, Pace::Steady));

    // The limit of 16 was met once; on average 8 were in flight.
    let (mut spare, mut feed) = settled(KneeSettings::default(), 16, 16);
    spare.pace = Pace::Startup;
    feed.mixed(&mut spare, |i| (10 * MS, if i == 0 { 16 } else { 8 }, Outcome::Success));
    assert_eq!(spare.pace, Pace::Steady);

    let (mut queued, mut feed) = settled(KneeSettings::default(), 16, 16);
    queued.pace = Pace::Startup;
    feed.round(&mut queued, 13 * MS, 16);
    assert_eq!(queued.pace, Pace::Steady);
}

#[test]
fn only_a_limit_that_was_met_grows() {
    let grown = |refused: bool, in_flight| {
        let (mut knee, mut feed) = settled(KneeSettings::default(), 16, 16);
        if refused {
            knee.on_reject(feed.now);
        }
        feed.round(&mut knee, 10 * MS, in_flight);
        knee.estimate() > 16.0
    };
    assert!(!grown(false, 15));
    assert!(grown(false, 16), "one in flight of the limit met it");
    assert!(grown(true, 15), "a refusal met it");
}

#[test]
fn steady_growth_is_a_share_of_the_room_to_the_headroom_and_ends_at_a_cap() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 16, 16);
    // A queue of one; what was in service, 15, makes the capacity 15.7.
    feed.round(&mut knee, MS.mul_f64(10.0 * 16.0 / 15.0), 16);
    let extra = knee.headroom.get();
    assert!((knee.estimate() - (16.0 + 0.7 * (extra - 1.0))).abs() < 1e-6, "{}", knee.estimate());

    let cap = |knee: &Knee| knee.headroom.capacity() + 1.3 * knee.headroom.get();
    let (mut high, mut feed) = settled(KneeSettings::default(), 60, 16);
    feed.mixed(&mut high, |i| (10 * MS, if i == 0 { 60 } else { 16 }, Outcome::Success));
    let expected = 60.0 - 0.2 * (60.0 - cap(&high));
    assert!((high.estimate() - expected).abs() < 2.0, "{} is not {expected}", high.estimate());
}

#[test]
fn too_much_queue_goes_halfway_and_far_too_much_goes_all_the_way_but_never_below_half() {
    let after = |slow: f64, limit| {
        let (mut knee, mut feed) = settled(KneeSettings::default(), limit, 16);
        feed.round(&mut knee, MS.mul_f64(10.0 * slow), limit);
        (knee.estimate(), knee.headroom)
    };
    // N = 24, r = 1.5 s0: q = 8 of about 5; 16 in service.
    let (limit, headroom) = after(1.5, 24);
    let target = 16.0 + headroom.get();
    assert!((limit - 0.5 * (24.0 + target)).abs() < 1e-6, "{limit}");
    // N = 32, r = 2 s0: q = 16.
    let (limit, headroom) = after(2.0, 32);
    assert!((limit - (16.0 + headroom.get())).abs() < 1e-6, "{limit}");
    // N = 200: 16 + h would be less than half.
    assert_eq!(after(12.5, 200).0, 100.0);
}

#[test]
fn zero_rtts_are_a_baseline_like_any_other() {
    let (mut knee, mut feed) = (knee(), Feed::new());
    for _ in 0..12 {
        let in_flight = knee.limit();
        feed.round(&mut knee, Duration::ZERO, in_flight);
    }
    assert!(knee.limit() > 20, "{knee:?}");
    assert_eq!(knee.no_load_rtt(), Some(Duration::ZERO));
    // A clock of one millisecond, times of a tenth: nine zeros in ten.
    for _ in 0..60 {
        let in_flight = knee.limit();
        feed.mixed(&mut knee, |i| {
            (if i % 10 == 0 { MS } else { Duration::ZERO }, in_flight, Outcome::Success)
        });
    }
    assert!(knee.limit() > 100, "{knee:?}");
}

#[test]
fn ignored_outcomes_are_neither_samples_nor_evidence() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 16, 16);
    let before = std::format!("{knee:?}");
    for _ in 0..1000 {
        feed.one(&mut knee, MS, 1000, Outcome::Ignored);
    }
    assert_eq!(std::format!("{knee:?}"), before);
}

#[test]
fn above_the_healthy_time_the_limit_only_falls_and_the_baseline_is_frozen() {
    let settings = KneeSettings { max_healthy_rtt: Some(15 * MS), ..KneeSettings::default() };
    let (mut knee, mut feed) = settled(settings, 100, 16);
    // Without the guard, a service that became three times slower would be verified and believed.
    for _ in 0..60 {
        let before = knee.estimate();
        let in_flight = knee.limit();
        feed.round(&mut knee, 30 * MS, in_flight);
        assert!(knee.estimate() <= before);
        assert_eq!(knee.no_load_rtt(), Some(10 * MS));
    }
    assert_eq!(knee.limit(), 1);
    feed.served(&mut knee, 16, 10 * MS, 40);
    assert!(knee.limit() >= 16, "healthy again: {knee:?}");
}

#[test]
fn a_slow_service_under_an_alarm_closes_the_round_early_and_is_not_full() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 60, 16);
    for i in 0..16 {
        assert_eq!(pending(&knee), f64::from(i));
        feed.one(&mut knee, 60 * MS, 60, Outcome::Success);
    }
    assert_eq!(pending(&knee), 0.0);
    assert!(knee.estimate() < 60.0);
}
