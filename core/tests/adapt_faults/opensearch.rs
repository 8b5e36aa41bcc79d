//! Faults of OpenSearch's Vegas, and of its limits as such: shown with the preset of its code.

use core::time::Duration;

use tollgate::adapt::{
    Estimator, Gradient2, Gradient2Settings, Knee, KneeSettings, OpenSearchVegas, OpenSearchVegasSettings,
    Outcome, Vegas, VegasSettings,
};

use super::{Client, Even, MS};

fn opensearch(initial: u32, settings: OpenSearchVegasSettings) -> OpenSearchVegas<Even> {
    OpenSearchVegas::with_jitter(OpenSearchVegasSettings { initial, ..settings }, Even).unwrap()
}

fn vegas(initial: u32) -> Vegas {
    Vegas::new(VegasSettings { initial, max: 200, ..VegasSettings::default() }).unwrap()
}

fn knee(initial: u32) -> Knee {
    Knee::new(KneeSettings { initial, max: 200, ..KneeSettings::default() }).unwrap()
}

#[test]
fn opensearch_a_run_of_drops_takes_the_limit_to_one_for_good() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, 10 * MS, 1);
        for _ in 0..3_000 {
            client.send(estimator, 100 * MS, 1, Outcome::Dropped);
        }
        let after_the_drops = estimator.limit();
        (after_the_drops, client.busy(estimator, 10 * MS, 10_000))
    };
    assert_eq!(run(&mut opensearch(20, OpenSearchVegasSettings::opensearch())), (1, 1));
    let (lowest, after) = run(&mut vegas(20));
    assert!(lowest == 1 && after >= 100, "{lowest}, {after}");
    let (lowest, after) = run(&mut knee(20));
    assert!(lowest == 1 && after >= 100, "{lowest}, {after}");
}

#[test]
fn opensearch_a_limit_that_starts_at_one_stays_there() {
    let run = |estimator: &mut dyn Estimator| Client::default().busy(estimator, 10 * MS, 10_000);
    let code = OpenSearchVegasSettings::opensearch();
    assert_eq!(run(&mut opensearch(1, code)), 1);
    let documented = OpenSearchVegasSettings { min: 1, ..OpenSearchVegasSettings::documented() };
    assert!(run(&mut opensearch(1, documented)) >= 100);
    assert!(run(&mut vegas(1)) >= 100);
    assert!(run(&mut knee(1)) >= 100);
}

/// A probe is believed only with half of the limit in flight or less; whoever is always busy has none.
#[test]
fn opensearch_a_busy_service_never_learns_a_slower_baseline() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.queued(estimator, 5_000, |_| 100.0);
        let before = estimator.limit();
        // Three times as slow for good, with a hundred slots as before.
        for _ in 0..20_000 {
            let in_flight = estimator.limit();
            let slower = 3.0 * (f64::from(in_flight) / 100.0).max(1.0);
            client.send(estimator, (10 * MS).mul_f64(slower), in_flight, Outcome::Success);
        }
        (before, estimator.limit(), estimator.no_load_rtt())
    };
    let (before, after, no_load) = run(&mut opensearch(20, OpenSearchVegasSettings::opensearch()));
    assert!(before >= 100 && after <= 18, "{before}, {after}");
    assert_eq!(no_load, Some(10 * MS));
    for (before, after, no_load) in [run(&mut vegas(20)), run(&mut knee(20))] {
        assert!(before >= 80 && after >= 80, "{before}, {after}");
        assert!(no_load.is_none_or(|rtt| rtt >= 28 * MS), "not that of before: {no_load:?}");
    }
}

#[test]
fn opensearch_a_drop_that_is_a_new_minimum_becomes_the_baseline_and_is_swallowed() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, 10 * MS, 40);
        let before = estimator.limit();
        client.send(estimator, MS / 5, before, Outcome::Dropped);
        (estimator.limit() < before, estimator.no_load_rtt())
    };
    assert_eq!(run(&mut opensearch(20, OpenSearchVegasSettings::opensearch())), (false, Some(MS / 5)));
    assert_eq!(run(&mut vegas(20)), (true, Some(10 * MS)));
    assert_ne!(run(&mut knee(20)).1, Some(MS / 5), "one drop it may let pass");
}

/// The 450th sample at a limit of twenty.
#[test]
fn opensearch_a_drop_that_falls_on_a_probe_becomes_the_baseline_and_is_swallowed() {
    let run = |estimator: &mut dyn Estimator, healthy: usize| {
        let mut client = Client::default();
        for _ in 0..healthy {
            client.send(estimator, 10 * MS, 1, Outcome::Success);
        }
        let before = estimator.limit();
        client.send(estimator, 5_000 * MS, 1, Outcome::Dropped);
        (before - estimator.limit(), estimator.no_load_rtt())
    };
    let code = OpenSearchVegasSettings::opensearch();
    assert_eq!(run(&mut opensearch(20, code), 448), (2, Some(10 * MS)), "one sample earlier it counts");
    assert_eq!(run(&mut opensearch(20, code), 449), (0, Some(5_000 * MS)));
    for healthy in 400..500 {
        let (cut, no_load) = run(&mut vegas(20), healthy);
        assert!(cut > 0 && no_load == Some(10 * MS), "after {healthy}: {cut}, {no_load:?}");
    }
}

/// A queue is one above 6·L, which is 12 from a limit of eleven on. With three slots all but three wait in it.
#[test]
fn opensearch_a_queue_of_eleven_before_three_slots_is_none() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.send(estimator, 10 * MS, 1, Outcome::Success);
        client.queued(estimator, 20_000, |_| 3.0)
    };
    assert_eq!(run(&mut opensearch(20, OpenSearchVegasSettings::opensearch())), 14);
    let standard = Vegas::with_jitter(VegasSettings { max: 200, ..VegasSettings::netflix() }, Even);
    assert!(run(&mut standard.unwrap()) >= 9, "a queue of six, with the standard logarithm");
    for limit in [run(&mut vegas(20)), run(&mut knee(20))] {
        assert!(limit <= 7, "{limit}");
    }
}

/// "The limit always stays between initial and max", says the documentation.
#[test]
fn opensearch_the_limit_goes_below_the_initial_one() {
    let run = |settings: OpenSearchVegasSettings| {
        let mut estimator = opensearch(20, settings);
        let mut client = Client::default();
        client.busy(&mut estimator, 10 * MS, 1);
        for _ in 0..5 {
            client.send(&mut estimator, 20 * MS, 20, Outcome::Dropped);
        }
        estimator.limit()
    };
    assert!(run(OpenSearchVegasSettings::opensearch()) < 20);
    assert_eq!(run(OpenSearchVegasSettings::documented()), 20);

    // Its Gradient2 has the opposite: a floor of twenty that nobody set.
    let first = |settings: Gradient2Settings| {
        let mut estimator = Gradient2::new(Gradient2Settings { initial: 5, ..settings }).unwrap();
        Client::default().busy(&mut estimator, 10 * MS, 1)
    };
    assert_eq!(first(Gradient2Settings::netflix()), 20);
    assert!(first(Gradient2Settings::default()) <= 6);
}

#[test]
fn opensearch_a_request_of_no_time_teaches_nothing() {
    let run = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        client.busy(estimator, Duration::ZERO, 500);
        let raised = estimator.limit();
        for _ in 0..50 {
            client.send(estimator, Duration::ZERO, raised, Outcome::Dropped);
        }
        (raised, estimator.limit())
    };
    assert_eq!(run(&mut opensearch(20, OpenSearchVegasSettings::opensearch())), (20, 20));
    let (raised, cut) = run(&mut vegas(20));
    assert!(raised > 20 && cut < raised, "{raised}, {cut}");
}
