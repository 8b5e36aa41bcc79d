//! Faults of Gradient2, and of Gradient before it.

use core::time::Duration;

use tollgate::adapt::{
    Estimator, Gradient, Gradient2, Gradient2Reference, Gradient2Settings, GradientReference,
    GradientSettings, Learning, Outcome,
};

use super::{Client, MS};

fn gradient2(initial: u32, settings: Gradient2Settings) -> Gradient2 {
    Gradient2::new(Gradient2Settings { initial, max: 200, ..settings }).unwrap()
}

/// Netflix#137, #176.
#[test]
fn gradient2_ignores_drops_and_takes_stable_timeouts_for_health() {
    let timeouts = |estimator: &mut dyn Estimator| {
        let mut client = Client::default();
        for _ in 0..400 {
            let in_flight = estimator.limit();
            client.send(estimator, 5000 * MS, in_flight, Outcome::Dropped);
        }
        estimator.limit()
    };
    assert_eq!(timeouts(&mut gradient2(20, Gradient2Settings::netflix())), 200);
    assert_eq!(timeouts(&mut gradient2(20, Gradient2Settings::default())), 1);
}

#[test]
fn gradient2_forgets_a_lasting_overload() {
    let run = |settings| {
        let mut estimator = gradient2(200, settings);
        let mut client = Client::default();
        client.busy(&mut estimator, 10 * MS, 700);
        let before = estimator.limit();
        (before, client.queued(&mut estimator, 20_000, |_| 20.0))
    };
    let (before, after) = run(Gradient2Settings::netflix());
    assert_eq!(before, 200);
    assert!(after >= 100, "20 slots, and yet {after}");
    let (before, after) = run(Gradient2Settings::default());
    assert!(before <= 200 && after <= 40, "{after}");

    // The published number: 482 samples of ten times the time, and it is back at its maximum.
    let mut reference = gradient2(200, Gradient2Settings::netflix());
    let mut client = Client::default();
    client.busy(&mut reference, 10 * MS, 700);
    assert!(client.busy(&mut reference, 100 * MS, 481) < 200);
    assert_eq!(client.busy(&mut reference, 100 * MS, 1), 200);
}

#[test]
fn gradient2_does_not_notice_a_slow_ramp() {
    let run = |settings| {
        let mut estimator = gradient2(200, settings);
        let mut client = Client::default();
        client.busy(&mut estimator, 10 * MS, 700);
        // From 200 slots to 20 in 2300 requests, a tenth of a percent each.
        client.queued(&mut estimator, 10_000, |i| (200.0 * 0.999_f64.powi(i as i32)).max(20.0))
    };
    let (reference, ours) = (run(Gradient2Settings::netflix()), run(Gradient2Settings::default()));
    assert!(reference >= 100, "20 slots, and yet {reference}");
    assert!(ours <= 40, "{ours}");
}

/// Report 43 (Netflix#134): the queue term grows the limit for ever.
#[test]
fn gradient2_lifts_the_limit_in_a_modest_overload() {
    let run = |settings| {
        let mut estimator = gradient2(8, Gradient2Settings { min: 1, ..settings });
        let mut client = Client::default();
        for _ in 0..32 {
            client.send(&mut estimator, 10 * MS, 1, Outcome::Success);
        }
        assert_eq!(estimator.estimate(), 8.0, "one in flight of eight: nothing rises");
        // 1.9 times the time: g is 0.79, and 4 / (1 - g) is 19.
        client.busy(&mut estimator, 19 * MS, 60);
        estimator.estimate()
    };
    // So long a memory that it has no time to forget.
    let rule = Gradient2Reference { long_window: 1_000_000, ..Gradient2Reference::netflix() };
    let netflix = Gradient2Settings { learning: Learning::EachSample(rule), ..Gradient2Settings::netflix() };
    let lifted = run(netflix);
    assert!(lifted > 17.0, "{lifted}");
    let steady = Gradient2Reference { allowance_lifts_overload: false, ..rule };
    assert_eq!(run(Gradient2Settings { learning: Learning::EachSample(steady), ..netflix }), 8.0);
    assert_eq!(run(Gradient2Settings::default()), 8.0);
}

#[test]
fn gradient2_a_request_of_no_time_closes_the_limiter_for_good() {
    let run = |settings| {
        let mut estimator = gradient2(20, settings);
        let mut client = Client::default();
        client.send(&mut estimator, Duration::ZERO, 20, Outcome::Success);
        client.busy(&mut estimator, 10 * MS, 1000);
        (estimator.limit(), estimator.estimate().is_nan())
    };
    assert_eq!(run(Gradient2Settings::netflix()), (0, true));
    let (limit, nan) = run(Gradient2Settings::default());
    assert!(limit > 20 && !nan, "{limit}");
}

#[test]
fn gradient2_loses_a_cut_of_the_long_average_during_the_warm_up() {
    let long = |loses_warmup_cut| {
        let rule = Gradient2Reference { loses_warmup_cut, ..Gradient2Reference::netflix() };
        let learning = Learning::EachSample(rule);
        let mut estimator = gradient2(20, Gradient2Settings { learning, ..Gradient2Settings::netflix() });
        let mut client = Client::default();
        client.busy(&mut estimator, 100 * MS, 1);
        client.busy(&mut estimator, MS, 1);
        client.busy(&mut estimator, 49 * MS, 1);
        estimator.long_rtt_ns()
    };
    assert_eq!(long(true), 50_000_000.0);
    assert_eq!(long(false), (101e6 * 0.95 + 49e6) / 3.0);
}

/// Netflix#135.
#[test]
fn gradient_throws_the_limit_away_at_a_probe_and_clamps_to_its_allowance() {
    let run = |settings: GradientSettings| {
        let mut estimator = Gradient::new(GradientSettings { initial: 50, ..settings }).unwrap();
        let mut client = Client::default();
        let (mut last, mut deepest) = (50.0_f64, 1.0_f64);
        for _ in 0..3000 {
            client.busy(&mut estimator, 10 * MS, 1);
            deepest = deepest.min(estimator.estimate() / last);
            last = estimator.estimate();
        }
        for _ in 0..3000 {
            client.now = client.now.saturating_add(100 * MS);
            client.send(&mut estimator, MS, 1, Outcome::Dropped);
        }
        (deepest, estimator.limit())
    };
    let (deepest, floor) = run(GradientSettings::netflix());
    assert!(deepest < 0.1, "healthy all the time, and a sample leaves {deepest} of the limit");
    assert_eq!(floor, 4, "min is 1");
    let (deepest, floor) = run(GradientSettings::default());
    assert_eq!((deepest, floor), (1.0, 1));
}

#[test]
fn gradient_a_request_of_no_time_closes_the_limiter_until_a_probe() {
    let run = |settings: GradientSettings| {
        let mut estimator = Gradient::new(settings).unwrap();
        let mut client = Client::default();
        client.send(&mut estimator, Duration::ZERO, 50, Outcome::Success);
        client.busy(&mut estimator, 10 * MS, 900);
        estimator.limit()
    };
    let rule = GradientReference::netflix();
    let netflix = GradientSettings { learning: Learning::EachSample(rule), ..GradientSettings::netflix() };
    assert_eq!(run(netflix), 0);
    assert!(run(GradientSettings::default()) > 20);
}
