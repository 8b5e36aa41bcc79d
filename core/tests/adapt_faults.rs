//! Each known fault of the reference estimators, shown with the `netflix` preset, and its absence in ours.
//!
//! The numbers are those of runs of the reference itself where one is stated in the test.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Reference, Gradient2Settings,
    GradientReference, GradientSettings, Jitter, Knee, KneeSettings, Learning, Outcome, Sample, Vegas,
    VegasReference, VegasSettings,
};

const MS: Duration = Duration::from_millis(1);

/// Three quarters, always.
struct Even;

impl Jitter for Even {
    fn next(&mut self) -> f64 {
        0.75
    }
}

/// A client that always has more to send.
#[derive(Default)]
struct Client {
    now: Timestamp,
}

impl Client {
    fn send(
        &mut self,
        estimator: &mut dyn Estimator,
        rtt: Duration,
        in_flight: u32,
        outcome: Outcome,
    ) -> u32 {
        let sample = Sample { started: self.now, rtt, in_flight, outcome };
        self.now = self.now.saturating_add(rtt / estimator.limit().max(1) + Duration::from_nanos(1));
        estimator.on_sample(&sample)
    }

    /// `count` successes with the whole limit in flight.
    fn busy(&mut self, estimator: &mut dyn Estimator, rtt: Duration, count: usize) -> u32 {
        for _ in 0..count {
            let in_flight = estimator.limit();
            self.send(estimator, rtt, in_flight, Outcome::Success);
        }
        estimator.limit()
    }

    /// The same against a server of `slots(i)` slots at request `i`, where time beyond them is spent in a queue.
    fn queued(&mut self, estimator: &mut dyn Estimator, count: usize, slots: impl Fn(usize) -> f64) -> u32 {
        for i in 0..count {
            let in_flight = estimator.limit();
            let slower = (f64::from(in_flight) / slots(i)).max(1.0);
            self.send(estimator, (10 * MS).mul_f64(slower), in_flight, Outcome::Success);
        }
        estimator.limit()
    }
}

fn reference_vegas(initial: u32, max: u32) -> Vegas<Even> {
    Vegas::with_jitter(VegasSettings { initial, max, ..VegasSettings::netflix() }, Even).unwrap()
}

fn vegas(initial: u32, max: u32) -> Vegas {
    Vegas::new(VegasSettings { initial, max, ..VegasSettings::default() }).unwrap()
}

fn gradient2(initial: u32, settings: Gradient2Settings) -> Gradient2 {
    Gradient2::new(Gradient2Settings { initial, max: 200, ..settings }).unwrap()
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

/// Report 46 (tower-resilience#368, throttle-net TN-007): k correlated failures cut k times.
#[test]
fn aimd_requests_that_fail_together_cut_once_each() {
    let storm = |settings: AimdSettings| {
        let mut aimd = Aimd::new(AimdSettings { initial: 100, min: 1, max: 200, ..settings }).unwrap();
        let lost = Sample { started: Timestamp::ZERO, rtt: MS, in_flight: 100, outcome: Outcome::Dropped };
        for _ in 0..100 {
            aimd.on_sample(&lost);
        }
        aimd.limit()
    };
    assert_eq!(storm(AimdSettings::netflix()), 1);
    assert_eq!(storm(AimdSettings { slow_start: false, ..AimdSettings::default() }), 90);
    assert_eq!(storm(AimdSettings::default()), 50, "a slow start that overshot");
}

/// Netflix#147.
#[test]
fn aimd_adds_a_permit_per_request_and_doubles_in_one_round_trip() {
    let trip = |settings: AimdSettings| {
        let mut aimd = Aimd::new(AimdSettings { initial: 50, max: 200, ..settings }).unwrap();
        Client::default().busy(&mut aimd, MS, 50)
    };
    assert_eq!(trip(AimdSettings::netflix()), 100);
    assert_eq!(trip(AimdSettings { slow_start: false, ..AimdSettings::default() }), 51);
    let mut slow = Aimd::new(AimdSettings { initial: 50, max: 200, ..AimdSettings::default() }).unwrap();
    Client::default().busy(&mut slow, 4000 * MS, 1);
    assert_eq!(Client::default().busy(&mut slow, MS, 49), 51, "slow start is over at the first slow success");
}

#[test]
fn limits_may_start_outside_their_bounds() {
    assert!(Vegas::new(VegasSettings { initial: 50, max: 30, ..VegasSettings::netflix() }).is_ok());
    assert!(Vegas::new(VegasSettings { initial: 50, max: 30, ..VegasSettings::default() }).is_err());
    let crossed = |settings| Gradient2::new(Gradient2Settings { initial: 5, min: 20, max: 10, ..settings });
    assert!(crossed(Gradient2Settings::netflix()).is_ok());
    assert!(crossed(Gradient2Settings::default()).is_err());
}

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
