//! The same faults, provoked in `Knee`.

use core::time::Duration;

use tollgate::adapt::{Estimator, Knee, KneeSettings, Outcome, Sample};

use super::{Client, MS};

/// `Knee` after a while in front of a server of so many slots.
fn knee(slots: f64) -> (Knee, Client) {
    let mut knee = Knee::new(KneeSettings { max: 200, ..KneeSettings::default() }).unwrap();
    let mut client = Client::default();
    client.queued(&mut knee, 20_000, |_| slots);
    let limit = f64::from(knee.limit());
    assert!(limit >= 0.7 * slots && limit <= 1.3 * slots + 5.0, "{limit} for {slots} slots");
    (knee, client)
}

#[test]
fn knee_an_overload_for_good_takes_the_limit_down_and_keeps_it_there() {
    let (mut knee, mut client) = knee(100.0);
    client.queued(&mut knee, 20_000, |_| 10.0);
    for _ in 0..20_000 {
        assert!(client.queued(&mut knee, 1, |_| 10.0) <= 20, "{knee:?}");
    }
    client.queued(&mut knee, 20_000, |_| 100.0);
    assert!(knee.limit() >= 90, "and it comes back: {knee:?}");
}

#[test]
fn knee_a_service_that_became_slower_for_good_costs_nothing() {
    let (mut knee, mut client) = knee(100.0);
    let mut now = 0;
    for _ in 0..20_000 {
        let in_flight = knee.limit();
        let slower = (f64::from(in_flight) / 100.0).max(1.0);
        now = client.send(&mut knee, (30 * MS).mul_f64(slower), in_flight, Outcome::Success);
    }
    assert!(now >= 90, "{knee:?}");
    assert!(knee.no_load_rtt() >= Some(29 * MS));
}

#[test]
fn knee_a_slow_ramp_is_followed() {
    let (mut knee, mut client) = knee(150.0);
    let limit = client.queued(&mut knee, 20_000, |i| (150.0 * 0.999_f64.powi(i as i32)).max(20.0));
    assert!((15..=40).contains(&limit), "{limit}");
}

#[test]
fn knee_one_lucky_request_and_a_fast_drop_teach_nothing() {
    let (mut knee, mut client) = knee(100.0);
    for (rtt, outcome) in
        [(MS / 100, Outcome::Success), (MS / 5, Outcome::Dropped), (Duration::ZERO, Outcome::Success)]
    {
        let in_flight = knee.limit();
        client.send(&mut knee, rtt, in_flight, outcome);
        client.queued(&mut knee, 20_000, |_| 100.0);
        assert!(knee.limit() >= 90 && knee.no_load_rtt() >= Some(9 * MS), "{knee:?}");
    }
}

#[test]
fn knee_a_hundred_requests_that_fail_together_are_one_piece_of_news() {
    let (mut knee, mut client) = knee(100.0);
    let before = knee.estimate();
    let lost = Sample { started: client.now, rtt: 5 * MS, in_flight: 100, outcome: Outcome::Dropped };
    for _ in 0..100 {
        knee.on_sample(&lost);
    }
    client.queued(&mut knee, 200, |_| 100.0);
    assert!(knee.estimate() >= 0.5 * before, "{knee:?}");
    client.queued(&mut knee, 20_000, |_| 100.0);
    assert!(knee.limit() >= 90, "{knee:?}");
}

#[test]
fn knee_stable_timeouts_close_it_and_it_reopens_in_a_few_round_trips() {
    let (mut knee, mut client) = knee(100.0);
    for _ in 0..2000 {
        let in_flight = knee.limit();
        client.send(&mut knee, 500 * MS, in_flight, Outcome::Dropped);
    }
    assert_eq!(knee.limit(), 1);
    client.queued(&mut knee, 100, |_| 100.0);
    assert!(knee.limit() >= 50, "{knee:?}");
}
