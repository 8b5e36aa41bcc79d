//! Dips, verifications and what they teach.

use super::*;

fn busy(knee: &mut Knee, feed: &mut Feed, rtt: Duration) {
    let in_flight = knee.limit();
    feed.round(knee, rtt, in_flight);
}

/// Rounds until a dip begins, and how many that took.
fn to_dip(knee: &mut Knee, feed: &mut Feed, rtt: Duration) -> u32 {
    for count in 1..1000 {
        busy(knee, feed, rtt);
        if matches!(knee.phase, Phase::Dip { .. }) {
            return count;
        }
    }
    panic!("no dip: {knee:?}");
}

#[test]
fn a_dip_publishes_four_fifths_of_what_is_in_service_and_comes_less_and_less_often() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 20, 16);
    let mut rounds = std::vec::Vec::new();
    for _ in 0..7 {
        rounds.push(to_dip(&mut knee, &mut feed, 10 * MS));
        let service = knee.headroom.capacity();
        assert!((f64::from(knee.limit()) - 0.8 * service).abs() <= 1.0, "{knee:?}");
        let (limit, standing) = (knee.limit(), knee.estimate());
        feed.round(&mut knee, 10 * MS, limit);
        assert_eq!((knee.phase, knee.estimate()), (Phase::Round, standing), "back to the standing limit");
    }
    assert_eq!(rounds, [2, 12, 24, 48, 96, 128, 128]);
}

#[test]
fn a_dip_that_is_near_is_averaged_and_one_that_is_far_lower_is_believed_and_goes_deeper() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 20, 16);
    to_dip(&mut knee, &mut feed, 10 * MS);
    let limit = knee.limit();
    feed.round(&mut knee, MS * 11, limit);
    // k = 2: the second measurement weighs a half.
    assert_eq!(knee.no_load_rtt(), Some(MS * 21 / 2));

    let (mut knee, mut feed) = settled(KneeSettings::default(), 20, 16);
    to_dip(&mut knee, &mut feed, 10 * MS);
    let limit = knee.limit();
    feed.round(&mut knee, MS * 5, limit);
    assert_eq!(knee.no_load_rtt(), Some(5 * MS));
    assert!(matches!(knee.phase, Phase::Dip { .. }) && knee.limit() < limit, "{knee:?}");
}

#[test]
fn two_ordinary_rounds_far_below_the_baseline_replace_it_and_one_does_not() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 20, 16);
    feed.round(&mut knee, 5 * MS, 15);
    assert_eq!(knee.no_load_rtt(), Some(10 * MS));
    feed.round(&mut knee, 5 * MS, 15);
    assert_eq!(knee.no_load_rtt(), Some(5 * MS));
}

#[test]
fn no_baseline_is_learnt_right_after_a_change_or_while_concurrency_grows() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 20, 16);
    knee.in_flight = 5.0;
    for in_flight in [6, 7, 8, 9, 10, 11] {
        feed.round(&mut knee, 5 * MS, in_flight);
        assert_eq!(knee.no_load_rtt(), Some(10 * MS));
    }
    knee.fresh = true;
    for _ in 0..2 {
        feed.round(&mut knee, 5 * MS, 11);
        assert_eq!(knee.no_load_rtt(), Some(10 * MS), "the fresh one is not the first of two");
    }
    feed.round(&mut knee, 5 * MS, 11);
    assert_eq!(knee.no_load_rtt(), Some(5 * MS));
}

#[test]
fn a_service_that_became_slower_is_verified_and_the_limit_returns_to_where_it_was() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 40, 32);
    // Three times slower, whatever is in flight.
    let mut verified = false;
    for _ in 0..10 {
        busy(&mut knee, &mut feed, 30 * MS);
        verified |= matches!(knee.phase, Phase::Verify(_));
    }
    assert!(verified);
    assert_eq!(knee.no_load_rtt(), Some(30 * MS));
    assert!(knee.estimate() >= 40.0, "{knee:?}");
}

#[test]
fn a_queue_is_verified_and_the_limit_stays_down() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 40, 32);
    // A quarter of the slots is left: times follow what is in flight.
    let mut verified = false;
    for _ in 0..20 {
        feed.served(&mut knee, 8, 10 * MS, 1);
        verified |= matches!(knee.phase, Phase::Verify(_));
    }
    assert!(verified);
    assert!(knee.no_load_rtt() < Some(12 * MS), "{knee:?}");
    assert!(knee.estimate() < 20.0, "{knee:?}");
}

#[test]
fn a_verification_publishes_less_than_half_and_takes_twice_the_samples() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 40, 32);
    while !matches!(knee.phase, Phase::Verify(_)) {
        busy(&mut knee, &mut feed, 30 * MS);
    }
    let Phase::Verify(trial) = knee.phase else { unreachable!() };
    assert_eq!(knee.limit(), num::trunc_i32(0.45 * trial.in_flight));
    while !knee.settle.is_over() {
        feed.one(&mut knee, 30 * MS, 10, Outcome::Success);
    }
    for count in 0..80 {
        assert_eq!(pending(&knee), f64::from(count));
        feed.one(&mut knee, 30 * MS, 10, Outcome::Success);
    }
    assert_eq!(knee.phase, Phase::Round);
}

#[test]
fn a_limit_that_nobody_enforces_is_not_verified_into_a_new_baseline() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 40, 32);
    for _ in 0..6 {
        knee.baseline.average(10e6);
    }
    for _ in 0..200 {
        feed.round(&mut knee, 40 * MS, 100);
        assert!(knee.no_load_rtt() <= Some(15 * MS), "{knee:?}");
    }
}

#[test]
fn with_sharers_the_same_fall_of_latency_counts_for_more() {
    let eta = |sharers| {
        let settings = KneeSettings { sharers, ..KneeSettings::default() };
        let (mut knee, mut feed) = settled(settings, 40, 32);
        let trial = Trial { level: 10.0, in_flight: 40.0, mean_ns: 30e6, before: 40.0 };
        knee.phase = Phase::Verify(trial);
        knee.publish(feed.now);
        // Ours fell to a quarter; the others' three quarters of all stayed.
        feed.round(&mut knee, MS * 25, 10);
        knee.no_load_rtt()
    };
    assert_eq!(eta(1), Some(25 * MS), "alone it means a slower service");
    assert!(eta(4) < Some(16 * MS), "among four it means a queue: {:?}", eta(4));
}

#[test]
fn the_first_dip_comes_after_two_rounds_that_filled_their_limit_although_it_doubled_since() {
    let (mut knee, mut feed) = (knee(), Feed::new());
    feed.served(&mut knee, 1000, 10 * MS, 1);
    assert_eq!((knee.limit(), knee.phase), (10, Phase::Round));
    feed.served(&mut knee, 1000, 10 * MS, 1);
    assert!(matches!(knee.phase, Phase::Dip { .. }) && knee.limit() < 10, "{knee:?}");
}

#[test]
fn a_probe_that_nobody_finishes_is_given_up_after_a_second() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 20, 16);
    assert_eq!(knee.poll_timeout(), None);
    to_dip(&mut knee, &mut feed, 10 * MS);
    let (dipped, standing) = (knee.limit(), knee.estimate());
    let at = knee.poll_timeout().unwrap();
    assert_eq!(knee.on_tick(at.saturating_sub(Duration::from_nanos(1))), dipped);
    assert_eq!(knee.on_tick(at), num::trunc_i32(standing));
    assert_eq!((knee.phase, knee.poll_timeout()), (Phase::Round, None));

    knee.typical_ns = 1e9;
    knee.phase = Phase::Dip { level: 3.0 };
    knee.publish(at);
    assert_eq!(knee.poll_timeout(), Some(at.saturating_add(Duration::from_secs(20))));
    let later = at.saturating_add(Duration::from_secs(20));
    assert_eq!(knee.on_reject(later), 3, "a refusal is no end of a probe");
}

#[test]
fn at_the_least_limit_the_round_itself_is_the_measurement() {
    let settings = KneeSettings { initial: 5, min: 5, ..KneeSettings::default() };
    let (mut knee, mut feed) = settled(settings, 5, 1);
    for _ in 0..200 {
        busy(&mut knee, &mut feed, 100 * MS);
    }
    // Once the limit has left the least one, dips are rare: most of the way was made there.
    assert!(knee.no_load_rtt() > Some(80 * MS), "{knee:?}");
    assert!(knee.limit() > 5);
}

#[test]
fn measurements_that_want_the_baseline_higher_than_it_may_go_end_in_an_experiment() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 4, 4);
    for _ in 0..6 {
        knee.baseline.average(10e6);
    }
    // Twice as slow: not enough to be very slow, and at so low a limit no queue to speak of.
    let mut verified = false;
    // Seven dips move it to its reach, three more ask, and up to 128 rounds lie between two.
    for _ in 0..1200 {
        busy(&mut knee, &mut feed, 20 * MS);
        verified |= matches!(knee.phase, Phase::Verify(_));
    }
    assert!(verified);
    assert!(knee.no_load_rtt() >= Some(19 * MS), "{knee:?}");
}

#[test]
fn a_target_delay_lets_bursts_queue_and_a_steady_overload_does_not() {
    let settings = KneeSettings { target_delay: Some(100 * MS), ..KneeSettings::default() };
    let run = |bursts: bool| {
        let (mut knee, mut feed) = settled(settings, 20, 16);
        for i in 0..400 {
            let in_flight = knee.limit();
            let idle = bursts && i % 2 == 0 && knee.phase == Phase::Round;
            feed.now = feed.now.saturating_add(20 * MS);
            let slower = f64::from(in_flight.max(16)) / 16.0;
            let (rtt, in_flight) = if idle { (10 * MS, 2) } else { (MS.mul_f64(10.0 * slower), in_flight) };
            feed.round(&mut knee, rtt, in_flight);
            feed.now = feed.now.saturating_add(20 * MS);
        }
        knee.estimate()
    };
    let (steady, bursty) = (run(false), run(true));
    assert!(steady < 30.0, "{steady}");
    // 0.85 of nine times sixteen, less twelve, are 110.
    assert!(bursty > 60.0 && bursty < 160.0, "{bursty}");
}
