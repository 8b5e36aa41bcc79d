//! Faults of Vegas.

use core::time::Duration;

use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Learning, Outcome, Sample, Vegas, VegasReference, VegasSettings,
};

use super::{Client, Even, MS};

fn reference_vegas(initial: u32, max: u32) -> Vegas<Even> {
    Vegas::with_jitter(VegasSettings { initial, max, ..VegasSettings::netflix() }, Even).unwrap()
}

fn vegas(initial: u32, max: u32) -> Vegas {
    Vegas::new(VegasSettings { initial, max, ..VegasSettings::default() }).unwrap()
}

/// Netflix#165; report 44 (camunda#3306): a baseline that grows under load.
#[test]
fn vegas_a_probe_under_a_tenfold_overload_throws_the_limit_to_its_maximum() {
    let mut reference = reference_vegas(50, 200);
    let mut client = Client::default();
    client.busy(&mut reference, MS, 1);
    let mut limits = Vec::new();
    for count in [11, 30, 60, 100] {
        limits.push(client.busy(&mut reference, 10 * MS, count));
    }
    assert_eq!(limits, [39, 9, 6, 200], "at samples 10, 40, 100 and 200");

    // An overload is a queue; against a slower service the limit would be right to rise.
    let mut ours = vegas(50, 200);
    let mut client = Client::default();
    client.busy(&mut ours, 10 * MS, 50);
    let mut highest = 0;
    client.queued(&mut ours, 1000, |_| 5.0);
    for _ in 0..20_000 {
        highest = client.queued(&mut ours, 1, |_| 5.0).max(highest);
    }
    assert!(highest <= 20, "{highest}");
}

/// Netflix#37.
#[test]
fn vegas_one_lucky_request_costs_most_of_the_limit() {
    let mut reference = {
        let learning =
            Learning::EachSample(VegasReference { probe_multiplier: 1e6, ..VegasReference::netflix() });
        Vegas::new(VegasSettings { initial: 200, max: 200, learning, ..VegasSettings::netflix() }).unwrap()
    };
    let mut client = Client::default();
    assert_eq!(client.busy(&mut reference, 15 * MS, 50), 200);
    client.busy(&mut reference, 5 * MS, 1);
    assert_eq!(client.busy(&mut reference, 15 * MS, 300), 8);

    let mut ours = vegas(200, 200);
    let mut client = Client::default();
    client.busy(&mut ours, 15 * MS, 50);
    client.busy(&mut ours, 5 * MS, 1);
    for _ in 0..20_000 {
        client.busy(&mut ours, 15 * MS, 1);
        assert_eq!(ours.estimate(), 200.0);
    }
}

#[test]
fn vegas_with_less_than_half_in_flight_no_delay_is_seen() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, MS, 150);
        let before = estimator.limit();
        for _ in 0..500 {
            let in_flight = before / 2 - 1;
            client.send(estimator, 500 * MS, in_flight, Outcome::Success);
        }
        (before, estimator.limit())
    };
    let (before, after) = run(&mut reference_vegas(100, 100));
    assert_eq!((before, after), (100, 100));
    let (before, after) = run(&mut vegas(100, 100));
    assert!(after < before, "{after} of {before}");
}

/// Report 45 (congestion-limiter): overload samples corrupt the baseline.
#[test]
fn vegas_a_fast_drop_becomes_the_baseline_and_is_swallowed() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, 10 * MS, 40);
        let before = estimator.limit();
        client.send(estimator, MS / 5, before, Outcome::Dropped);
        (before, estimator.limit())
    };
    let mut reference = reference_vegas(20, 1000);
    let (before, after) = run(&mut reference);
    assert_eq!((before, reference.no_load_rtt()), (after, Some(MS / 5)));
    // Healthy requests then take the limit down, for fifty times the baseline.
    assert!(Client::default().busy(&mut reference, 10 * MS, 120) < before / 2);

    let mut ours = vegas(20, 1000);
    let (before, after) = run(&mut ours);
    assert!(after < before, "{after} of {before}");
    assert_eq!(ours.no_load_rtt(), Some(10 * MS));
}

#[test]
fn vegas_a_billion_in_flight_count_as_none() {
    let one = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, MS, 32);
        let before = estimator.limit();
        for _ in 0..40 {
            client.send(estimator, MS, 1 << 30, Outcome::Success);
        }
        estimator.limit() > before
    };
    assert!(!one(&mut reference_vegas(20, 1000)));
    assert!(one(&mut vegas(20, 1000)));
    assert!(!one(&mut Aimd::new(AimdSettings::netflix()).unwrap()));
    assert!(one(&mut Aimd::new(AimdSettings::default()).unwrap()));
}

#[test]
fn vegas_a_request_of_no_time_is_lost() {
    let mut client = Client::default();
    let mut reference = reference_vegas(20, 1000);
    assert_eq!(client.busy(&mut reference, Duration::ZERO, 1000), 20);
    assert_eq!(reference.no_load_rtt(), None);
    let in_flight = reference.limit();
    assert_eq!(client.send(&mut reference, Duration::ZERO, in_flight, Outcome::Dropped), 20);

    let mut ours = vegas(20, 1000);
    assert!(client.busy(&mut ours, Duration::ZERO, 100) > 20);
    assert_eq!(ours.no_load_rtt(), Some(Duration::ZERO));
    let before = ours.estimate();
    let in_flight = ours.limit();
    client.send(&mut ours, Duration::ZERO, in_flight, Outcome::Dropped);
    assert!(ours.estimate() < before);
}

#[test]
fn vegas_drops_take_a_permit_each_and_our_epochs_a_tenth() {
    let storm = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, 10 * MS, 1);
        // A hundred requests admitted together fail together.
        let lost = Sample { started: client.now, rtt: 50 * MS, in_flight: 100, outcome: Outcome::Dropped };
        for _ in 0..100 {
            estimator.on_sample(&lost);
        }
        estimator.limit()
    };
    assert_eq!(storm(&mut reference_vegas(100, 1000)), 1);
    assert_eq!(storm(&mut vegas(100, 1000)), 90);
}
