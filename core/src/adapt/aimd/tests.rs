use super::*;
use crate::Timestamp;
use crate::adapt::testing::{Client, MS, fields};

fn aimd(initial: u32) -> Aimd {
    Aimd::new(AimdSettings { initial, slow_start: false, ..AimdSettings::default() }).unwrap()
}

#[test]
fn slow_start_doubles_in_a_full_house_and_the_first_drop_halves() {
    let mut aimd = Aimd::new(AimdSettings { initial: 20, ..AimdSettings::default() }).unwrap();
    let mut client = Client::default();
    assert_eq!(client.with(&mut aimd, MS, 19, Outcome::Success), 20, "room was left");
    assert_eq!(client.successes(&mut aimd, MS, 20), 40);
    client.wait(MS);
    assert_eq!(client.one(&mut aimd, MS, Outcome::Dropped), 20);
    client.wait(MS);
    assert_eq!(client.successes(&mut aimd, MS, 20), 21);
}

#[test]
fn slow_start_ends_with_the_first_success_slower_than_half_the_timeout() {
    let mut aimd = Aimd::new(AimdSettings { initial: 20, ..AimdSettings::default() }).unwrap();
    let mut client = Client::default();
    let slow = Duration::from_millis(2_501);
    assert_eq!(client.one(&mut aimd, slow, Outcome::Success), 20);
    assert_eq!(client.successes(&mut aimd, MS, 18), 20);
    client.wait(MS);
    assert_eq!(client.one(&mut aimd, MS, Outcome::Dropped), 18);
}

#[test]
fn a_limits_worth_of_busy_successes_adds_one_permit() {
    let (mut aimd, mut client) = (aimd(20), Client::default());
    assert_eq!(client.successes(&mut aimd, MS, 19), 20);
    assert_eq!(client.successes(&mut aimd, MS, 1), 21);
    assert_eq!(client.successes(&mut aimd, MS, 20), 21);
    assert_eq!(client.successes(&mut aimd, MS, 1), 22);
}

#[test]
fn half_of_the_limit_in_flight_is_busy_and_one_less_is_not() {
    let mut client = Client::default();
    for (in_flight, expected) in [(9, 20), (10, 21), (u32::MAX, 21)] {
        let mut aimd = aimd(20);
        for _ in 0..20 {
            client.with(&mut aimd, MS, in_flight, Outcome::Success);
        }
        assert_eq!(aimd.limit(), expected, "{in_flight} in flight");
    }
}

#[test]
fn drops_admitted_before_the_last_cut_do_not_cut_again() {
    let mut aimd = aimd(100);
    let started = Timestamp::from_nanos(5);
    let lost = Sample { started, rtt: MS, in_flight: 100, outcome: Outcome::Dropped };
    for _ in 0..100 {
        assert_eq!(aimd.on_sample(&lost), 90);
    }
    let next = Sample { started: lost.ended(), ..lost };
    assert_eq!(aimd.on_sample(&next), 81);
}

#[test]
fn a_success_as_slow_as_the_timeout_is_one_and_a_slower_one_is_a_drop() {
    let (mut aimd, mut client) = (aimd(20), Client::default());
    let timeout = Duration::from_secs(5);
    assert_eq!(client.one(&mut aimd, timeout, Outcome::Success), 20);
    assert_eq!(client.one(&mut aimd, timeout + Duration::from_nanos(1), Outcome::Success), 18);
}

#[test]
fn the_limit_stays_within_its_bounds() {
    let settings = AimdSettings { initial: 3, min: 2, max: 4, ..AimdSettings::default() };
    let (mut aimd, mut client) = (Aimd::new(settings).unwrap(), Client::default());
    assert_eq!(client.successes(&mut aimd, MS, 100), 4);
    for _ in 0..100 {
        client.wait(MS);
        client.one(&mut aimd, MS, Outcome::Dropped);
    }
    assert_eq!(aimd.limit(), 2);
}

#[test]
fn a_fast_drop_cuts_by_its_part_of_the_ratio() {
    let mut aimd = aimd(100);
    let lost = |started| Sample {
        started: Timestamp::from_nanos(started),
        rtt: Duration::ZERO,
        in_flight: 100,
        outcome: Outcome::Dropped,
    };
    aimd.on_sample(&Sample { outcome: Outcome::Success, rtt: MS, in_flight: 1, ..lost(0) });
    assert_eq!(aimd.on_sample(&lost(0)), 90);
    // A tenth of a turnover of 90 requests later: a tenth of the cut by a tenth.
    aimd.on_sample(&lost(100_000));
    assert!((aimd.estimate() - 89.1).abs() < 1e-9, "{}", aimd.estimate());
}

#[test]
fn slow_start_that_is_over_does_not_begin_anew_with_other_settings() {
    let fresh = |slow_start| AimdSettings { initial: 20, slow_start, ..AimdSettings::default() };
    let mut client = Client::default();
    let mut over = Aimd::new(fresh(false)).unwrap();
    over.reconfigure(fresh(true)).unwrap();
    assert_eq!(client.successes(&mut over, MS, 20), 21);
    let mut stopped = Aimd::new(fresh(true)).unwrap();
    stopped.reconfigure(fresh(false)).unwrap();
    assert_eq!(client.successes(&mut stopped, MS, 20), 21);
    let mut going_on = Aimd::new(fresh(true)).unwrap();
    going_on.reconfigure(fresh(true)).unwrap();
    assert_eq!(client.successes(&mut going_on, MS, 20), 40);
}

#[test]
fn the_references_preset_has_the_references_bounds_and_may_begin_outside_them() {
    let mut client = Client::default();
    let settings = AimdSettings { initial: 250, ..AimdSettings::netflix() };
    let mut aimd = Aimd::new(settings).unwrap();
    assert_eq!(aimd.limit(), 250);
    assert_eq!(client.with(&mut aimd, MS, 0, Outcome::Success), 200);
    for _ in 0..50 {
        client.one(&mut aimd, MS, Outcome::Dropped);
    }
    assert_eq!(aimd.limit(), 20);
}

#[test]
fn where_loose_bounds_cross_the_upper_one_wins() {
    let settings = AimdSettings { initial: 7, min: 10, max: 5, ..AimdSettings::netflix() };
    let (mut aimd, mut client) = (Aimd::new(settings).unwrap(), Client::default());
    assert_eq!(client.one(&mut aimd, MS, Outcome::Success), 5);
    assert_eq!(client.one(&mut aimd, MS, Outcome::Dropped), 5);
}

#[test]
#[should_panic(expected = "I1")]
fn a_limit_out_of_its_bounds_is_noticed() {
    let mut aimd = aimd(20);
    aimd.limit = 21;
    aimd.check_invariants();
}

#[test]
fn every_broken_rule_is_named() {
    let settings = AimdSettings {
        initial: 0,
        min: 9,
        max: 5,
        increase: 0,
        backoff_ratio: f64::NAN,
        ..AimdSettings::default()
    };
    assert_eq!(fields(Aimd::new(settings)), ["min", "initial", "increase", "backoff_ratio"]);
    let loose = AimdSettings { loose_bounds: true, increase: 1, backoff_ratio: 0.5, ..settings };
    assert!(Aimd::new(loose).is_ok());
    let beyond = AimdSettings { max: 1 << 31, ..loose };
    assert_eq!(fields(Aimd::new(beyond)), ["initial, min, max"]);
    let one = AimdSettings { backoff_ratio: 1.0, ..AimdSettings::default() };
    assert_eq!(fields(Aimd::new(one)), ["backoff_ratio"]);
}
