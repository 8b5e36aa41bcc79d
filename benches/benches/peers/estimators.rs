//! One sample through each estimator, at its default settings, while the limit is fully used.
//!
//! The floor is what any of them does at least: an exponentially weighted mean of the round-trip times.

use core::hint::black_box;
use core::time::Duration;

use criterion::Criterion;
use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Settings, GradientSettings, Knee,
    KneeSettings, OpenSearchVegas, OpenSearchVegasSettings, Outcome, Sample, Vegas, VegasSettings, Window,
    WindowSettings,
};
use tollgate_benches::{Case, run as contest};

pub(crate) fn run(criterion: &mut Criterion) {
    contest(
        criterion,
        &[
            case("aimd", || Aimd::new(AimdSettings::default()).expect("lawful")),
            case("knee", || Knee::new(KneeSettings::default()).expect("lawful")),
            case("vegas", vegas),
            case("gradient2", || Gradient2::new(Gradient2Settings::default()).expect("lawful")),
            case("gradient", || Gradient::new(GradientSettings::default()).expect("lawful")),
            case("opensearch", || OpenSearchVegas::new(OpenSearchVegasSettings::default()).expect("lawful")),
            case("window", || Window::<_>::new(WindowSettings::default(), vegas()).expect("lawful")),
        ],
    );
}

fn vegas() -> Vegas {
    Vegas::new(VegasSettings::default()).expect("lawful")
}

fn case<E: Estimator + 'static>(name: &'static str, make: fn() -> E) -> Case<'static> {
    Case::new("estimators", name)
        .alone("tollgate", move || {
            let mut estimator = make();
            let mut now_ns = 0_u64;
            move |ordinal| {
                now_ns += 100_000;
                let sample = Sample {
                    started: Timestamp::from_nanos(now_ns),
                    rtt: Duration::new(0, rtt_ns(ordinal)),
                    in_flight: estimator.limit(),
                    outcome: Outcome::Success,
                };
                black_box(estimator.on_sample(&sample));
            }
        })
        .alone("floor", || {
            let mut mean_ns = 0.0_f64;
            move |ordinal| {
                mean_ns += (f64::from(rtt_ns(ordinal)) - mean_ns) * 0.1;
                black_box(mean_ns);
            }
        })
}

/// 10 to 14 ms.
const fn rtt_ns(ordinal: u32) -> u32 {
    10_000_000 + (ordinal.wrapping_mul(2_654_435_769) >> 10)
}
