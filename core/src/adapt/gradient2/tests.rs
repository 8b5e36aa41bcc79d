use super::*;
use crate::adapt::testing::{Client, MS, fields};

const ROUND: Round = Round { mean_ns: 100.0, no_load_ns: 100.0, in_flight: 50.0, may_raise: true };

fn judged(round: Round) -> Option<f64> {
    judge(&round, 50.0, 1.5, Scale::Fixed(4))
}

#[test]
fn within_the_tolerance_the_allowance_is_added_if_the_limit_is_in_use() {
    assert_eq!(judged(ROUND), Some(54.0));
    assert_eq!(judged(Round { mean_ns: 150.0, ..ROUND }), Some(54.0));
    assert_eq!(judged(Round { may_raise: false, ..ROUND }), None);
}

#[test]
fn beyond_the_tolerance_the_limit_falls_by_the_gradient_and_by_half_at_most() {
    assert_eq!(judged(Round { mean_ns: 200.0, ..ROUND }), Some(41.5));
    assert_eq!(judged(Round { mean_ns: 1e12, ..ROUND }), Some(29.0));
    assert_eq!(judged(Round { mean_ns: 200.0, may_raise: false, ..ROUND }), Some(41.5));
}

#[test]
fn beyond_the_tolerance_the_allowance_never_lifts_the_limit() {
    // e·g + Q would be 50·0.98 + 4; the queue at fault is below the allowance.
    assert_eq!(judged(Round { mean_ns: 153.0, ..ROUND }), None);
}

#[test]
fn idle_requests_lower_only_by_a_queue_of_their_own() {
    assert_eq!(judged(Round { mean_ns: 200.0, in_flight: 16.0, may_raise: false, ..ROUND }), None);
    assert_eq!(judged(Round { mean_ns: 200.0, in_flight: 17.0, may_raise: false, ..ROUND }), Some(41.5));
}

#[test]
fn a_drop_cuts_to_nine_tenths_and_touches_no_baseline() {
    let (mut gradient, mut client) =
        (Gradient2::new(Gradient2Settings::default()).unwrap(), Client::default());
    client.successes(&mut gradient, 10 * MS, 32);
    let (before, no_load) = (gradient.estimate(), gradient.no_load_rtt());
    assert_eq!(no_load, Some(10 * MS));
    client.one(&mut gradient, Duration::ZERO, Outcome::Dropped);
    assert_eq!(gradient.estimate(), before * 0.9);
    assert_eq!((gradient.no_load_rtt(), gradient.long_rtt_ns()), (no_load, 1e7));
}

#[test]
fn each_fault_of_the_reference_can_be_switched_off_by_itself() {
    let with = |rule| {
        let learning = Learning::EachSample(rule);
        Gradient2::new(Gradient2Settings { initial: 40, learning, ..Gradient2Settings::netflix() }).unwrap()
    };
    let (all, mut client) = (Gradient2Reference::netflix(), Client::default());

    let mut healthy = with(Gradient2Reference { zero_rtt_poisons: false, ..all });
    client.one(&mut healthy, Duration::ZERO, Outcome::Success);
    assert!(healthy.estimate().is_finite());

    let mut cuts = with(Gradient2Reference { backoff_ratio: Some(0.5), ..all });
    client.one(&mut cuts, MS, Outcome::Dropped);
    assert_eq!(cuts.estimate(), 36.0, "a fifth of the way to 20");

    for (loses, expected) in [(true, 5.5e6), (false, 5.225e6)] {
        let mut warming = with(Gradient2Reference { loses_warmup_cut: loses, ..all });
        client.one(&mut warming, 10 * MS, Outcome::Success);
        // The long average is 5.5 ms, more than twice 1 ms, and cut by a twentieth.
        client.one(&mut warming, MS, Outcome::Success);
        assert_eq!(warming.long_rtt_ns(), 5.225e6);
        client.one(&mut warming, Duration::from_micros(loses.into()) + 5500 * MS / 1000, Outcome::Success);
        let off = (warming.long_rtt_ns() - expected).abs();
        assert!(off < 1e5, "{loses}: {}", warming.long_rtt_ns());
    }
}

/// A server of 10 slots: time is in proportion to what is in flight beyond them.
#[test]
fn a_dip_is_told_and_publishes_a_share_of_the_estimate() {
    let (mut gradient, mut client) =
        (Gradient2::new(Gradient2Settings::default()).unwrap(), Client::default());
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

fn reference(rule: Gradient2Reference) -> Gradient2Settings {
    Gradient2Settings { initial: 40, learning: Learning::EachSample(rule), ..Gradient2Settings::netflix() }
}

#[test]
fn other_rules_hold_from_the_next_sample_on() {
    let (all, mut client) = (Gradient2Reference::netflix(), Client::default());
    let mut gradient = Gradient2::new(reference(all)).unwrap();
    client.one(&mut gradient, MS, Outcome::Success);
    let before = gradient.estimate();
    client.one(&mut gradient, MS, Outcome::Dropped);
    assert!(gradient.estimate() > before, "to the reference a drop is a sample like any other");
    gradient.reconfigure(reference(Gradient2Reference { backoff_ratio: Some(0.5), ..all })).unwrap();
    let before = gradient.estimate();
    client.one(&mut gradient, MS, Outcome::Dropped);
    assert!(gradient.estimate() < before);
    assert_eq!(gradient.no_load_rtt(), None, "a long average is no time without a queue");
}

#[test]
fn without_a_queue_the_allowance_lifts_the_limit_whatever_it_does_in_overload() {
    let rule = Gradient2Reference { allowance_lifts_overload: false, ..Gradient2Reference::netflix() };
    let (mut gradient, mut client) = (Gradient2::new(reference(rule)).unwrap(), Client::default());
    client.one(&mut gradient, MS, Outcome::Success);
    assert_eq!(gradient.estimate(), 40.8);
}

#[test]
fn a_ratio_that_raises_or_ends_the_limit_is_refused() {
    for (ratio, sound) in
        [(f64::NAN, false), (-0.1, false), (0.0, false), (0.1, true), (1.0, true), (1.1, false)]
    {
        let rule = Gradient2Reference { backoff_ratio: Some(ratio), ..Gradient2Reference::netflix() };
        assert_eq!(Gradient2::new(reference(rule)).is_ok(), sound, "{ratio}");
    }
}

#[test]
fn every_broken_rule_is_named() {
    let settings = Gradient2Settings {
        initial: 30,
        min: 20,
        max: 10,
        smoothing: 1.5,
        rtt_tolerance: 0.9,
        ..Gradient2Settings::default()
    };
    assert_eq!(fields(Gradient2::new(settings)), ["min", "initial", "smoothing", "rtt_tolerance"]);
    // A dip to 0.4 cannot show a queue that makes requests 2.5 times slower.
    let blind = Gradient2Settings { rtt_tolerance: 2.5, ..Gradient2Settings::default() };
    assert_eq!(fields(Gradient2::new(blind)), ["learning.dip_to"]);
}
