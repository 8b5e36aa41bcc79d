//! The estimators: a server that queues in a simple way, and wild samples among those it makes.

use core::fmt;
use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Settings, GradientSettings, Knee,
    KneeSettings, Outcome, Sample, Vegas, VegasSettings,
};

use crate::{Draw, Machine, Transcript, golden};

/// A file of the recorded runs.
macro_rules! golden {
    ($($file:literal)*) => {
        &[$(include_str!(concat!("../../../core/tests/golden-data/", $file)),)*]
    };
}

pub(crate) const AIMD: Machine = Machine {
    name: "aimd",
    ram: size_of::<Aimd>(),
    sequence: aimd,
    recorded: golden!(
        "aimd/half_drops.csv" "aimd/timeout_edge.csv" "aimd/default_extreme.csv" "aimd/backoff_table_0.9.csv"
    ),
};
pub(crate) const VEGAS: Machine = Machine {
    name: "vegas",
    ram: size_of::<Vegas>(),
    sequence: vegas,
    recorded: golden!("vegas/bad_rtt.csv" "vegas/probe1_lcg.csv" "vegas/default_extreme.csv" "vegas/initial_above_max.csv"),
};
pub(crate) const GRADIENT: Machine = Machine {
    name: "gradient",
    ram: size_of::<Gradient>(),
    sequence: gradient,
    recorded: golden!("gradient/dropstorm.csv" "gradient/probe50_lcgbusy.csv" "gradient/zero_rtt.csv"),
};
pub(crate) const GRADIENT2: Machine = Machine {
    name: "gradient2",
    ram: size_of::<Gradient2>(),
    sequence: gradient2,
    recorded: golden!(
        "gradient2/warmup_decay.csv" "gradient2/max_below_min.csv" "gradient2/ratio_edge.csv"
        "gradient2/zero_rtt_first.csv" "gradient2/low_square.csv"
    ),
};
pub(crate) const KNEE: Machine =
    Machine { name: "knee", ram: size_of::<Knee>(), sequence: knee, recorded: &[] };

/// A machine with a wrong value in its recorded run; [`expected`](crate::expected) does the rest.
pub(crate) const CONTROL: Machine = Machine { name: "control", recorded: &[golden::CONTROL], ..AIMD };

const SAMPLES: u32 = 300;

fn aimd(draw: &mut Draw, transcript: &mut Transcript) {
    let (initial, min, max) = bounds(draw);
    let preset = if draw.once_in(2) { AimdSettings::default() } else { AimdSettings::netflix() };
    let timeout = Duration::from_millis(u64::from(draw.up_to(100)));
    teach(Aimd::new(AimdSettings { initial, min, max, timeout, ..preset }), draw, transcript, Aimd::estimate);
}

fn vegas(draw: &mut Draw, transcript: &mut Transcript) {
    let (initial, min, max) = bounds(draw);
    let preset = if draw.once_in(2) { VegasSettings::default() } else { VegasSettings::netflix() };
    let made = Vegas::new(VegasSettings { initial, min, max, smoothing: smoothing(draw), ..preset });
    teach(made, draw, transcript, Vegas::estimate);
}

fn gradient(draw: &mut Draw, transcript: &mut Transcript) {
    let (initial, min, max) = bounds(draw);
    let preset = if draw.once_in(2) { GradientSettings::default() } else { GradientSettings::netflix() };
    let made = Gradient::new(GradientSettings { initial, min, max, smoothing: smoothing(draw), ..preset });
    teach(made, draw, transcript, Gradient::estimate);
}

fn gradient2(draw: &mut Draw, transcript: &mut Transcript) {
    let (initial, min, max) = bounds(draw);
    let preset = if draw.once_in(2) { Gradient2Settings::default() } else { Gradient2Settings::netflix() };
    let made = Gradient2::new(Gradient2Settings { initial, min, max, smoothing: smoothing(draw), ..preset });
    teach(made, draw, transcript, |gradient| gradient.estimate() + gradient.long_rtt_ns());
}

fn knee(draw: &mut Draw, transcript: &mut Transcript) {
    let (initial, min, max) = bounds(draw);
    let target_delay = draw.once_in(2).then(|| Duration::from_micros(u64::from(draw.up_to(50_000))));
    let max_healthy_rtt = draw.once_in(4).then(|| Duration::from_millis(u64::from(draw.up_to(200))));
    let settings =
        KneeSettings { initial, min, max, target_delay, max_healthy_rtt, ..KneeSettings::default() };
    teach(Knee::new(settings), draw, transcript, Knee::estimate);
}

/// Feeds an estimator the times of a server with a few slots, which it saturates as far as its limit goes.
fn teach<E: Estimator, Error: fmt::Debug>(
    made: Result<E, Error>,
    draw: &mut Draw,
    transcript: &mut Transcript,
    estimate: fn(&E) -> f64,
) {
    let Some(mut estimator) = transcript.made(made) else { return };
    let slots = draw.up_to(40);
    let mut now = Timestamp::ZERO;
    for _ in 0..SAMPLES {
        let in_flight = draw.up_to(estimator.limit().clamp(1, 10_000));
        let queue = in_flight.div_ceil(slots);
        let mut rtt = Duration::from_millis(u64::from(queue)).saturating_add(draw.span(21));
        if draw.once_in(64) {
            rtt = Duration::from_nanos(draw.wild());
        }
        let outcome = match draw.below(64) {
            0 => Outcome::Dropped,
            1 => Outcome::Ignored,
            _ => Outcome::Success,
        };
        now = now.saturating_add(draw.span(20));
        let limit = match draw.below(32) {
            0 => estimator.on_reject(now),
            1 => estimator.on_tick(now),
            _ => estimator.on_sample(&Sample { started: now, rtt, in_flight, outcome }),
        };
        // One NaN is as good as another: which one an operation makes is up to the processor.
        let estimate = estimate(&estimator);
        let bits = if estimate.is_nan() { None } else { Some(estimate.to_bits()) };
        transcript.note(&(limit, bits, estimator.no_load_rtt(), estimator.poll_timeout()));
    }
}

/// Initial, smallest and largest limit; at times in an order that is refused.
fn bounds(draw: &mut Draw) -> (u32, u32, u32) {
    let min = draw.up_to(8);
    let max = min.saturating_add(draw.below(200));
    let initial =
        if draw.once_in(8) { draw.below(300) } else { min.saturating_add(draw.below(max - min + 1)) };
    (initial, min, max)
}

fn smoothing(draw: &mut Draw) -> f64 {
    f64::from(draw.up_to(100)) / 100.0
}
