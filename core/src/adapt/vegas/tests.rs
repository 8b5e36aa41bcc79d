use super::*;
use crate::Timestamp;
use crate::adapt::testing::{Client, MS, fields};

fn vegas(initial: u32) -> Vegas {
    Vegas::new(VegasSettings { initial, ..VegasSettings::default() }).unwrap()
}

#[test]
fn the_queue_decides_and_every_threshold_is_on_its_own_side() {
    let settings = VegasSettings {
        alpha: Scale::Fixed(3),
        beta: Scale::Fixed(6),
        theta: Scale::Fixed(1),
        increase: Scale::Fixed(2),
        decrease: Decrease::By(Scale::Fixed(5)),
        ..VegasSettings::default()
    };
    let step = |queue, may_raise| settings.step(queue, 50.0, may_raise);
    assert_eq!(
        [1, 2, 3, 6, 7].map(|queue| step(queue, true)),
        [Some(56.0), Some(52.0), None, None, Some(45.0)]
    );
    assert_eq!([-9, 2, 6, 7].map(|queue| step(queue, false)), [None, None, None, Some(45.0)]);
}

#[test]
fn a_drop_cuts_to_nine_tenths_once_per_epoch_and_touches_no_baseline() {
    let (mut vegas, mut client) = (vegas(100), Client::default());
    client.successes(&mut vegas, 10 * MS, 100);
    let (before, no_load) = (vegas.estimate(), vegas.no_load_rtt());
    let lost = Sample {
        started: Timestamp::from_nanos(1),
        rtt: Duration::from_secs(1),
        in_flight: 100,
        outcome: Outcome::Dropped,
    };
    for _ in 0..5 {
        vegas.on_sample(&lost);
        assert_eq!(vegas.estimate(), before * 0.9);
    }
    vegas.on_sample(&Sample { started: lost.ended(), ..lost });
    assert_eq!(vegas.estimate(), before * 0.9 * 0.9);
    assert_eq!(vegas.no_load_rtt(), no_load);
}

#[test]
fn a_dip_publishes_a_share_of_the_estimate_and_measures_the_time_without_a_queue() {
    let (mut vegas, mut client) = (vegas(20), Client::default());
    // A server of 10 slots: time is in proportion to what is in flight beyond them.
    let mut dips = 0;
    for _ in 0..5000 {
        let was_dipping = vegas.is_dipping();
        let rtt = MS * vegas.limit().max(10);
        client.one(&mut vegas, rtt, Outcome::Success);
        if vegas.is_dipping() {
            let expected = num::trunc_i32(vegas.estimate() * 0.4).max(1);
            assert!(vegas.limit() <= expected.max(1), "{} of {}", vegas.limit(), vegas.estimate());
        } else {
            dips += u32::from(was_dipping);
            assert_eq!(vegas.limit(), num::trunc_i32(vegas.estimate()));
        }
    }
    assert!(dips > 3, "{dips}");
    let no_load = vegas.no_load_rtt().unwrap();
    assert!(no_load >= 10 * MS && no_load < 12 * MS, "{no_load:?}");
    assert!((11..=20).contains(&vegas.limit()), "{}", vegas.limit());
}

#[test]
fn idle_requests_lower_by_the_queue_they_make_themselves() {
    for (in_flight, lowers) in [(10, false), (20, false), (45, true)] {
        let (mut vegas, mut client) = (vegas(100), Client::default());
        client.successes(&mut vegas, MS, 100);
        let before = vegas.estimate();
        for _ in 0..120 {
            client.with(&mut vegas, 100 * MS, in_flight, Outcome::Success);
        }
        assert_eq!(
            vegas.estimate() < before,
            lowers,
            "{in_flight} in flight queue no more than that; beta is 20"
        );
        assert!(vegas.estimate() <= before);
    }
}

/// The reference without probes, and with other faults than all.
fn reference(rule: VegasReference) -> VegasSettings {
    let rule = VegasReference { probe_multiplier: 1e9, ..rule };
    VegasSettings { learning: Learning::EachSample(rule), ..VegasSettings::netflix() }
}

#[test]
fn the_reference_holds_less_than_half_in_flight_for_idle_and_wraps_only_where_it_is_told_to() {
    let wraps = VegasReference::netflix();
    let counts = VegasReference { wrapping_in_flight: false, ..wraps };
    for (rule, in_flight, raises) in [
        (counts, 9, false),
        (counts, 10, true),
        (counts, 1 << 31, true),
        (wraps, 9, false),
        (wraps, 10, true),
        (wraps, 1 << 31, false),
    ] {
        let mut vegas = Vegas::new(reference(rule)).unwrap();
        let mut client = Client::default();
        client.with(&mut vegas, MS, 20, Outcome::Success);
        assert_eq!(vegas.estimate(), 20.0, "the first is the baseline");
        client.with(&mut vegas, MS, in_flight, Outcome::Success);
        assert_eq!(vegas.estimate() > 20.0, raises, "{in_flight} in flight, {rule:?}");
    }
}

#[test]
fn drops_set_the_references_baseline_until_it_is_told_that_they_do_not() {
    let faulty = VegasReference::netflix();
    let mended = VegasReference { drops_set_baseline: false, ..faulty };
    let (mut vegas, mut client) = (Vegas::new(reference(faulty)).unwrap(), Client::default());
    client.one(&mut vegas, 10 * MS, Outcome::Success);
    client.one(&mut vegas, 5 * MS, Outcome::Dropped);
    assert_eq!(vegas.no_load_rtt(), Some(5 * MS));
    vegas.reconfigure(reference(mended)).unwrap();
    client.one(&mut vegas, MS, Outcome::Dropped);
    assert_eq!(vegas.no_load_rtt(), Some(5 * MS));
    client.one(&mut vegas, 2 * MS, Outcome::Success);
    assert_eq!(vegas.no_load_rtt(), Some(2 * MS));
}

#[test]
fn a_multiple_of_the_limit_that_never_or_always_comes_is_refused() {
    for multiplier in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let rule = VegasReference { probe_multiplier: multiplier, ..VegasReference::netflix() };
        let settings = VegasSettings { learning: Learning::EachSample(rule), ..VegasSettings::netflix() };
        assert_eq!(fields(Vegas::new(settings)), ["learning.probe_multiplier"], "{multiplier}");
    }
}

#[test]
fn every_broken_rule_is_named() {
    let rounds = RoundSettings { samples: 0, dip_every: 1, dip_samples: 1, dip_to: 1.0, drop_ratio: 0.0 };
    let settings = VegasSettings {
        initial: 0,
        min: 0,
        max: u32::MAX,
        decrease: Decrease::Times(1.0),
        smoothing: 0.0,
        learning: Learning::Rounds(rounds),
        ..VegasSettings::default()
    };
    let expected = [
        "max",
        "min",
        "decrease",
        "smoothing",
        "learning.samples, dip_every, dip_samples",
        "learning.dip_to",
        "learning.drop_ratio",
    ];
    assert_eq!(fields(Vegas::new(settings)), expected);
    let reference = VegasReference { probe_multiplier: f64::NAN, ..VegasReference::netflix() };
    let settings = VegasSettings {
        learning: Learning::EachSample(reference),
        initial: 2000,
        ..VegasSettings::netflix()
    };
    assert_eq!(fields(Vegas::new(settings)), ["learning.probe_multiplier"]);
}
