use super::*;

const MS_NS: u64 = 1_000_000;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * MS_NS)
}

fn yard() -> Yardstick {
    Yardstick {
        need: 32,
        published: 10,
        capacity: 8,
        clip_ns: 40e6,
        fast_ns: 20e6,
        typical_ns: 10e6,
        alarm_ns: 25e6,
        crowd: 6.0,
        regret_ns: 0,
    }
}

fn tally() -> Tally {
    Tally::new(yard(), at(0), None)
}

/// Adds `count` successes and says whether the round is complete, at `now` ms.
fn complete(tally: &mut Tally, count: u32, rtt_ms: f64, now: u64) -> bool {
    (0..count)
        .map(|_| (tally.add(at(now), rtt_ms * 1e6, 5), tally.is_complete(at(now), rtt_ms * 1e6)).1)
        .last()
        == Some(true)
}

#[test]
fn a_round_closes_with_the_sample_it_needs_once_time_has_passed() {
    let mut tally = tally();
    assert!(!complete(&mut tally, 31, 10.0, 1));
    assert!(!complete(&mut tally, 1, 10.0, 0), "not at the instant it opened");
    assert!(complete(&mut tally, 1, 10.0, 1));
}

#[test]
fn under_a_clock_that_stands_still_it_closes_after_sixteen_times_as_many() {
    let mut tally = tally();
    assert!(!complete(&mut tally, 16 * 32 - 1, 10.0, 0));
    assert!(complete(&mut tally, 1, 10.0, 0));
}

#[test]
fn zero_rtts_keep_it_open_until_half_a_round_is_not_zero_or_it_is_eight_rounds_long() {
    let mut some = tally();
    assert!(!complete(&mut some, 100, 0.0, 1));
    assert!(!complete(&mut some, 15, 1.0, 1));
    assert!(complete(&mut some, 1, 1.0, 1));
    let mut none = tally();
    assert!(!complete(&mut none, 255, 0.0, 1));
    assert!(complete(&mut none, 1, 0.0, 1));
}

#[test]
fn sixteen_samples_that_are_far_too_slow_in_a_crowd_are_an_alarm() {
    let alarm = |rtt_ms: f64, in_flight| {
        let mut tally = tally();
        let mut complete = false;
        for _ in 0..16 {
            assert!(!complete);
            tally.add(at(1), rtt_ms * 1e6, in_flight);
            complete = tally.is_complete(at(1), rtt_ms * 1e6);
        }
        complete.then(|| tally.close(at(1)).full)
    };
    assert_eq!(alarm(26.0, 7), Some(false), "an alarm is no full round");
    assert_eq!(alarm(26.0, 6), None, "no crowd");
    assert_eq!(alarm(24.0, 7), None, "not slow enough");
}

#[test]
fn fast_drops_close_it_at_three_rounds_worth_once_a_round_trip_has_passed() {
    let mut tally = tally();
    for _ in 0..88 {
        tally.drop(at(1), 1e6, 5);
    }
    assert!(!complete(&mut tally, 8, 10.0, 10), "ten milliseconds are not more than a round trip");
    assert!(complete(&mut tally, 1, 10.0, 11));
    let round = tally.close(at(11));
    assert_eq!((round.count, round.total, round.slow), (9.0, 97.0, 0.0));
    assert_eq!((round.dropped, round.mean_ns, round.full), (88.0 / 97.0, 10e6, true));
}

#[test]
fn a_slow_drop_is_latency_and_a_fast_one_is_not() {
    let mut tally = tally();
    tally.drop(at(1), 20e6, 5);
    tally.drop(at(1), 19e6, 5);
    let round = tally.close(at(1));
    assert_eq!((round.count, round.total, round.slow, round.dropped), (1.0, 2.0, 0.5, 1.0));
    assert_eq!(round.mean_ns, 20e6);
    // Without a baseline nothing is known to be slow.
    let mut first = Tally::new(Yardstick { fast_ns: 0.0, ..yard() }, at(0), None);
    first.drop(at(1), 9e9, 5);
    assert_eq!(first.close(at(1)).count, 0.0);
}

#[test]
fn rtts_above_the_clip_count_as_the_clip_but_not_in_the_raw_mean() {
    let mut tally = tally();
    tally.add(at(1), 10e6, 4);
    tally.add(at(1), 90e6, 8);
    let round = tally.close(at(2));
    assert_eq!((round.mean_ns, round.raw_ns, round.in_flight), (25e6, 50e6, 6.0));
    assert_eq!(round.variance, 15e6 * 15e6);
}

#[test]
fn the_limit_is_met_by_one_in_flight_of_it_or_by_a_refusal() {
    let hit = |in_flight, refused: bool| {
        let mut tally = tally();
        tally.add(at(1), 10e6, in_flight);
        if refused {
            tally.refused(at(1));
        }
        tally.close(at(2)).hit
    };
    assert_eq!([hit(9, false), hit(10, false), hit(9, true)], [false, true, true]);
}

#[test]
fn free_slots_are_those_up_to_the_capacity_and_regretted_those_soon_after_a_refusal() {
    let mut tally = Tally::new(Yardstick { regret_ns: 5 * MS_NS, ..yard() }, at(0), None);
    tally.add(at(1), 1.0, 8);
    tally.refused(at(2));
    for now in [2, 7, 8] {
        tally.add(at(now), 1.0, 8);
        tally.add(at(now), 1.0, 9);
    }
    let round = tally.close(at(9));
    assert_eq!((round.free, round.regretted, round.met), (4.0 / 7.0, 2.0 / 7.0, true));
    let next = |opened| {
        Tally::new(Yardstick { regret_ns: 5 * MS_NS, ..yard() }, at(opened), tally.met()).close(at(30)).met
    };
    assert_eq!((next(7), next(8)), (true, false));
}

#[test]
fn the_queue_is_littles_law_on_the_waiting_part_of_the_time() {
    let round = |mean_ms: f64, raw_ms: f64| Round {
        in_flight: 20.0,
        mean_ns: mean_ms * 1e6,
        raw_ns: raw_ms * 1e6,
        ..tally().close(at(1))
    };
    // A thousand a second with 20 in flight take 20 ms; 5 of them are waiting for 5 ms each.
    assert_eq!(round(20.0, 20.0).queue(15e6), 5.0);
    assert_eq!(round(20.0, 20.0).queue(30e6), 0.0, "faster than the baseline");
    assert_eq!(round(20.0, 25.0).queue(15e6), 4.0, "throughput is of the raw mean");
    assert_eq!(round(20.0, 1.0).queue(15e6), 20.0, "never more than there are");
    assert_eq!(round(0.0, 0.0).queue(0.0), 0.0);
}

#[test]
fn a_round_is_dire_when_most_was_dropped_slowly_or_nothing_succeeded() {
    let dire = |successes, slow, fast| {
        let mut tally = tally();
        complete(&mut tally, successes, 10.0, 1);
        (0..slow).for_each(|_| tally.drop(at(1), 50e6, 5));
        (0..fast).for_each(|_| tally.drop(at(1), 1e6, 5));
        tally.is_dire()
    };
    assert_eq!([dire(0, 0, 9), dire(0, 1, 9), dire(4, 5, 0)], [true; 3]);
    assert_eq!([dire(1, 0, 9), dire(5, 5, 0), dire(4, 5, 2)], [false; 3]);
}

#[test]
fn without_a_target_delay_no_free_slot_is_regretted() {
    let regretted = |regret_ns| {
        let mut tally = Tally::new(Yardstick { regret_ns, ..yard() }, at(0), None);
        tally.refused(at(1));
        tally.add(at(1), 10e6, 5);
        tally.close(at(2)).regretted
    };
    assert_eq!([regretted(0), regretted(1)], [0.0, 1.0]);
}

#[test]
fn zero_rtts_without_drops_are_not_drowned_by_any() {
    let mut tally = tally();
    assert!(!complete(&mut tally, 3 * 32 + 1, 0.0, 90));
}

#[test]
fn in_no_time_nothing_is_carried() {
    let round = Round { count: 5.0, ..Round::default() };
    assert_eq!(round.carried(10e6), 0.0);
    assert_eq!(Round { elapsed_ns: 20e6, ..round }.carried(10e6), 2.5);
}
