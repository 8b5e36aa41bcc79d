//! The laws of every estimator's default preset, under arbitrary samples.

use core::time::Duration;

use proptest::prelude::*;
use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Settings, GradientSettings, Knee,
    KneeSettings, Outcome, Sample, Tracked, Vegas, VegasSettings, Window, WindowSettings,
};
use tollgate::slots::Heap;

/// An estimator whose state can be watched.
trait Watched: Estimator {
    fn estimate(&self) -> f64;
}

macro_rules! watched {
    ($($estimator:ident),*) => {$(
        impl Watched for $estimator {
            fn estimate(&self) -> f64 {
                Self::estimate(self)
            }
        }
    )*};
}
watched!(Vegas, Gradient2, Gradient, Knee);

impl Watched for Aimd {
    fn estimate(&self) -> f64 {
        Self::estimate(self)
    }
}

/// The baseline of what is behind a window may move with a window, not with a drop.
impl<E: Watched> Watched for Window<E, Heap> {
    fn estimate(&self) -> f64 {
        self.inner().estimate()
    }
}

#[derive(Clone, Copy, Debug)]
struct Bounds {
    initial: u32,
    min: u32,
    max: u32,
}

fn bounds(most: u32) -> impl Strategy<Value = Bounds> {
    (1..=most)
        .prop_flat_map(|max| (Just(max), 1..=max))
        .prop_flat_map(|(max, min)| (min..=max).prop_map(move |initial| Bounds { initial, min, max }))
}

fn settings(Bounds { initial, min, max }: Bounds) -> VegasSettings {
    VegasSettings { initial, min, max, ..VegasSettings::default() }
}

/// `Knee` with each of its options; it begins lower than the others, and no single sample decides anything.
fn knees(Bounds { initial, min, max }: Bounds) -> Vec<(&'static str, Box<dyn Watched>)> {
    let plain = KneeSettings { initial, min, max, ..KneeSettings::default() };
    let bursts = KneeSettings { target_delay: Some(Duration::from_millis(100)), ..plain };
    let shared = KneeSettings { sharers: 4, ..plain };
    let guarded = KneeSettings { max_healthy_rtt: Some(Duration::from_secs(1)), ..plain };
    [("knee", plain), ("bursty knee", bursts), ("shared knee", shared), ("guarded knee", guarded)]
        .map(|(name, settings)| (name, Box::new(Knee::new(settings).unwrap()) as Box<dyn Watched>))
        .into()
}

/// The estimators themselves.
fn plain(Bounds { initial, min, max }: Bounds) -> Vec<(&'static str, Box<dyn Watched>)> {
    let gradient2 = Gradient2Settings { initial, min, max, ..Gradient2Settings::default() };
    let gradient = GradientSettings { initial, min, max, ..GradientSettings::default() };
    vec![
        ("aimd", Box::new(Aimd::new(AimdSettings { initial, min, max, ..AimdSettings::default() }).unwrap())),
        ("vegas", Box::new(Vegas::new(settings(Bounds { initial, min, max })).unwrap())),
        ("gradient2", Box::new(Gradient2::new(gradient2).unwrap())),
        ("gradient", Box::new(Gradient::new(gradient).unwrap())),
    ]
}

fn all(bounds: Bounds) -> Vec<(&'static str, Box<dyn Watched>)> {
    let mut all = plain(bounds);
    let vegas = || Vegas::new(settings(bounds)).unwrap();
    let average: Window<_, Heap> = Window::new(WindowSettings::default(), vegas()).unwrap();
    let tracked = Tracked::Percentile { rank: 0.01, capacity: 5 };
    let percentile: Window<_, Heap> =
        Window::new(WindowSettings { tracked, ..WindowSettings::default() }, vegas()).unwrap();
    all.push(("averaged vegas", Box::new(average)));
    all.push(("percentile vegas", Box::new(percentile)));
    all
}

/// The reference presets: some laws hold even for them.
fn references() -> Vec<(&'static str, Box<dyn Watched>)> {
    vec![
        ("reference aimd", Box::new(Aimd::new(AimdSettings::netflix()).unwrap())),
        ("reference vegas", Box::new(Vegas::new(VegasSettings::netflix()).unwrap())),
        ("reference gradient2", Box::new(Gradient2::new(Gradient2Settings::netflix()).unwrap())),
        ("reference gradient", Box::new(Gradient::new(GradientSettings::netflix()).unwrap())),
    ]
}

fn everyone(bounds: Bounds) -> Vec<(&'static str, Box<dyn Watched>)> {
    all(bounds).into_iter().chain(knees(bounds)).chain(references()).collect()
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![6 => Just(Outcome::Success), 2 => Just(Outcome::Dropped), 1 => Just(Outcome::Ignored)]
}

/// Anything a caller can say, from clocks that jump to more in flight than there are addresses.
fn wild() -> impl Strategy<Value = Sample> {
    let nanos = || prop_oneof![Just(0), 0..100_u64, 0..1_000_000_000_u64, any::<u64>(), Just(u64::MAX)];
    let in_flight = prop_oneof![0..4_u32, 0..300_u32, any::<u32>()];
    (nanos(), nanos(), in_flight, outcomes()).prop_map(|(started, rtt, in_flight, outcome)| Sample {
        started: Timestamp::from_nanos(started),
        rtt: Duration::from_nanos(rtt),
        in_flight,
        outcome,
    })
}

/// Stretches of like samples, which get further into the machines than single ones do.
fn history(sample: impl Strategy<Value = Sample>) -> impl Strategy<Value = Vec<(Sample, usize)>> {
    prop::collection::vec((sample, prop_oneof![Just(1), 1..300_usize]), 0..20)
}

/// As `wild`, within the first eleven days, so that a later time exists.
fn recent() -> impl Strategy<Value = Sample> {
    wild().prop_map(|sample| Sample {
        started: Timestamp::from_nanos(sample.started.as_nanos() % 500_000_000_000_000),
        rtt: Duration::from_nanos(u64::try_from(sample.rtt.as_nanos()).unwrap() % 500_000_000_000_000),
        ..sample
    })
}

const LATER: Timestamp = Timestamp::from_nanos(2_000_000_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_limit_and_the_estimate_stay_within_bounds_and_are_finite(
        bounds in prop_oneof![bounds(1000), bounds(2_147_483_647)],
        history in history(wild()),
    ) {
        for (name, mut estimator) in all(bounds).into_iter().chain(knees(bounds)) {
            let first = if name.ends_with("knee") { bounds.initial.min(5).max(bounds.min) } else { bounds.initial };
            prop_assert_eq!(estimator.limit(), first);
            for (sample, times) in &history {
                for _ in 0..*times {
                    let limit = estimator.on_sample(sample);
                    prop_assert_eq!(limit, estimator.limit());
                    prop_assert!(limit >= bounds.min && limit <= bounds.max, "{}: {}", name, limit);
                    let estimate = estimator.estimate();
                    prop_assert!(estimate >= f64::from(bounds.min) && estimate <= f64::from(bounds.max), "{}", name);
                    prop_assert!(f64::from(limit) <= estimate, "{}", name);
                }
            }
        }
    }

    /// Report 47 (hyperdx#461): failures that are no overload must not shrink the limit.
    #[test]
    fn the_same_samples_give_the_same_limits_and_ignored_ones_might_not_have_been(
        bounds in bounds(1000),
        history in history(wild()),
    ) {
        for ((name, mut one), (_, mut other)) in
            everyone(bounds).into_iter().zip(everyone(bounds))
        {
            for (sample, times) in &history {
                for _ in 0..*times {
                    let limit = one.on_sample(sample);
                    if sample.outcome != Outcome::Ignored {
                        prop_assert_eq!(other.on_sample(sample), limit, "{}", name);
                    }
                    other.on_sample(&Sample { outcome: Outcome::Ignored, ..*sample });
                    prop_assert_eq!(one.no_load_rtt(), other.no_load_rtt(), "{}", name);
                    prop_assert_eq!(one.estimate().to_bits(), other.estimate().to_bits(), "{}", name);
                }
            }
        }
    }

    #[test]
    fn a_drop_never_raises_and_touches_no_baseline_and_idle_requests_never_raise(
        bounds in bounds(1000),
        history in history(wild()),
    ) {
        for (name, mut estimator) in all(bounds) {
            for (sample, times) in &history {
                for _ in 0..*times {
                    let (limit, estimate) = (estimator.limit(), estimator.estimate());
                    let no_load = estimator.no_load_rtt();
                    estimator.on_sample(sample);
                    if sample.outcome == Outcome::Dropped {
                        prop_assert!(estimator.limit() <= limit, "{}", name);
                        prop_assert!(estimator.estimate() <= estimate, "{}", name);
                        prop_assert_eq!(estimator.no_load_rtt(), no_load, "{}", name);
                    }
                    // A window hands on its peak, so it may hand on a busy one when an idle request closes it.
                    if f64::from(sample.in_flight) * 2.0 < estimate && !name.ends_with(" vegas") {
                        prop_assert!(estimator.estimate() <= estimate, "{}", name);
                    }
                }
            }
        }
    }

    #[test]
    fn with_knee_a_drop_never_raises_the_limit_and_nothing_does_while_it_is_never_met(
        bounds in bounds(1000),
        history in history(wild()),
    ) {
        for (name, mut estimator) in knees(bounds) {
            let first = estimator.estimate();
            for (sample, times) in &history {
                for _ in 0..*times {
                    let (limit, estimate) = (estimator.limit(), estimator.estimate());
                    estimator.on_sample(sample);
                    if sample.outcome == Outcome::Dropped {
                        prop_assert!(estimator.limit() <= limit, "{}", name);
                        prop_assert!(estimator.estimate() <= estimate, "{}", name);
                    }
                }
            }
            let mut idle = knees(bounds).into_iter().find(|(other, _)| *other == name).unwrap().1;
            for (sample, times) in &history {
                for _ in 0..*times {
                    idle.on_sample(&Sample { in_flight: sample.in_flight % idle.limit(), ..*sample });
                    prop_assert!(idle.estimate() <= first, "{}", name);
                }
            }
        }
    }

    #[test]
    fn a_drop_of_a_new_epoch_cuts_and_those_admitted_before_that_cut_do_not_cut_again(
        bounds in bounds(1000),
        history in history(recent()),
        earlier in prop::collection::vec(0..2_000_000_000_000_000_u64, 1..20),
    ) {
        for (name, mut estimator) in all(bounds) {
            for (sample, times) in &history {
                for _ in 0..*times {
                    estimator.on_sample(sample);
                }
            }
            let before = estimator.estimate();
            let rtt = Duration::from_millis(1);
            let lost = Sample { started: LATER, rtt, in_flight: 1, outcome: Outcome::Dropped };
            estimator.on_sample(&lost);
            let after = estimator.estimate();
            prop_assert!(after < before || after == f64::from(bounds.min), "{}: {} {}", name, before, after);
            for &started in &earlier {
                let started = Timestamp::from_nanos(started);
                let rtt = LATER.saturating_since(started) + Duration::from_secs(1);
                estimator.on_sample(&Sample { started, rtt, ..lost });
                prop_assert_eq!(estimator.estimate(), after, "{}", name);
            }
        }
    }

    #[test]
    fn a_run_of_good_busy_requests_raises_the_limit_from_every_state(
        bounds in bounds(100),
        history in history(prop_oneof![recent(), wild()]),
        rtt_ns in prop_oneof![Just(0_u64), 1..100_000_000_u64],
    ) {
        let knees = knees(bounds).into_iter().take(3);
        for (name, mut estimator) in plain(bounds).into_iter().chain(knees) {
            for (i, (sample, times)) in history.iter().enumerate() {
                for _ in 0..*times {
                    estimator.on_sample(sample);
                }
                if i % 3 == 0 {
                    estimator.on_reject(sample.started);
                } else if i % 3 == 1 {
                    estimator.on_tick(sample.ended());
                }
            }
            let start = estimator.limit();
            let mut now = LATER;
            let mut count = 0;
            while estimator.limit() < bounds.max && estimator.limit() <= start {
                let (rtt, in_flight) = (Duration::from_nanos(rtt_ns), estimator.limit());
                estimator.on_sample(&Sample { started: now, rtt, in_flight, outcome: Outcome::Success });
                now = now.saturating_add(rtt / in_flight + Duration::from_nanos(1));
                count += 1;
                prop_assert!(count < 60_000, "{}: still at {} of {:?}", name, estimator.limit(), bounds);
            }
        }
    }
}
