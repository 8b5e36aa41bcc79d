use super::*;
use crate::adapt::testing::{Client, MS, fields};

fn reference(rule: GradientReference, min: u32) -> Gradient {
    let learning = Learning::EachSample(rule);
    Gradient::new(GradientSettings { initial: 50, min, learning, ..GradientSettings::netflix() }).unwrap()
}

#[test]
fn only_the_way_down_is_smoothed() {
    let settings = GradientSettings { smoothing: 0.25, ..GradientSettings::default() };
    assert_eq!(settings.smooth_down(100.0, 60.0), 90.0);
    assert_eq!(settings.smooth_down(100.0, 104.0), 104.0);
}

#[test]
fn a_countdown_is_the_interval_and_up_to_as_much_again() {
    struct Factor(f64);
    impl Jitter for Factor {
        fn next(&mut self) -> f64 {
            self.0
        }
    }
    let rule = GradientReference::netflix();
    for (factor, expected) in [(0.5, 1000), (0.75, 1500), (1.0 - f64::EPSILON / 2.0, 1999)] {
        assert_eq!(rule.countdown(&mut Factor(factor)), expected);
    }
}

#[test]
fn a_drop_cuts_once_per_epoch_and_touches_no_baseline() {
    let (mut gradient, mut client) = (Gradient::new(GradientSettings::default()).unwrap(), Client::default());
    client.successes(&mut gradient, 10 * MS, 32);
    let (before, no_load) = (gradient.estimate(), gradient.no_load_rtt());
    client.one(&mut gradient, 10 * MS, Outcome::Dropped);
    client.one(&mut gradient, 10 * MS, Outcome::Dropped);
    assert_eq!(gradient.estimate(), before * 0.9);
    assert_eq!(gradient.no_load_rtt(), no_load);
}

#[test]
fn each_fault_of_the_reference_can_be_switched_off_by_itself() {
    let (all, mut client) = (GradientReference::netflix(), Client::default());

    let mut baseline = reference(GradientReference { drops_set_baseline: false, ..all }, 1);
    client.one(&mut baseline, MS, Outcome::Dropped);
    assert_eq!(baseline.no_load_rtt(), None);

    let mut floor = reference(GradientReference { allowance_is_floor: false, ..all }, 2);
    for _ in 0..200 {
        client.one(&mut floor, MS, Outcome::Dropped);
    }
    assert_eq!(floor.limit(), 2);

    let mut healthy = reference(GradientReference { zero_rtt_poisons: false, ..all }, 1);
    client.one(&mut healthy, Duration::ZERO, Outcome::Success);
    assert!(healthy.estimate().is_finite());

    let mut steady = reference(GradientReference { allowance_lifts_overload: false, ..all }, 1);
    client.one(&mut steady, MS, Outcome::Success);
    let before = steady.estimate();
    client.one(&mut steady, Duration::from_micros(2010), Outcome::Success);
    assert_eq!(steady.estimate(), before);
}

/// A server of 10 slots: time is in proportion to what is in flight beyond them.
#[test]
fn a_dip_is_told_and_publishes_a_share_of_the_estimate() {
    let (mut gradient, mut client) = (Gradient::new(GradientSettings::default()).unwrap(), Client::default());
    let mut dipped = 0;
    for _ in 0..5_000 {
        let rtt = MS * gradient.limit().max(10);
        client.one(&mut gradient, rtt, Outcome::Success);
        let whole = num::trunc_i32(gradient.estimate());
        assert_eq!(gradient.limit() < whole, gradient.is_dipping());
        dipped += u32::from(gradient.is_dipping());
    }
    assert!(dipped > 100 && dipped < 2_500, "{dipped}");
    let known = gradient.no_load_rtt().unwrap();
    assert!(known >= 10 * MS && known < 12 * MS, "{known:?}");
    assert_eq!(Estimator::no_load_rtt(&gradient), Some(known));
}

#[test]
fn other_rules_hold_from_the_next_sample_on() {
    let faulty = GradientReference { probe_interval: None, ..GradientReference::netflix() };
    let mended = GradientReference { drops_set_baseline: false, ..faulty };
    let (mut gradient, mut client) = (reference(faulty, 1), Client::default());
    client.one(&mut gradient, 10 * MS, Outcome::Success);
    client.one(&mut gradient, 5 * MS, Outcome::Dropped);
    assert_eq!(gradient.no_load_rtt(), Some(5 * MS));
    let learning = Learning::EachSample(mended);
    gradient.reconfigure(GradientSettings { learning, ..GradientSettings::netflix() }).unwrap();
    client.one(&mut gradient, MS, Outcome::Dropped);
    assert_eq!(gradient.no_load_rtt(), Some(5 * MS));
    client.one(&mut gradient, 2 * MS, Outcome::Success);
    assert_eq!(gradient.no_load_rtt(), Some(2 * MS));
}

#[test]
fn without_a_queue_the_allowance_lifts_the_limit_whatever_it_does_in_overload() {
    let rule = GradientReference { allowance_lifts_overload: false, ..GradientReference::netflix() };
    let (mut gradient, mut client) = (reference(rule, 1), Client::default());
    assert_eq!(client.one(&mut gradient, MS, Outcome::Success), 57);
}

#[test]
fn every_broken_rule_is_named() {
    let rule =
        GradientReference { probe_interval: Some(0), backoff_ratio: 0.4, ..GradientReference::netflix() };
    let settings = GradientSettings {
        rtt_tolerance: f64::INFINITY,
        learning: Learning::EachSample(rule),
        ..GradientSettings::netflix()
    };
    let expected = ["rtt_tolerance", "learning.probe_interval", "learning.backoff_ratio"];
    assert_eq!(fields(Gradient::new(settings)), expected);
}
