//! The estimators, in our presets and in the references' as their settings come, and what collects samples for them.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, AtomicWindow, Burst, BurstSettings, Collected, Estimator, Gradient, Gradient2,
    Gradient2Settings, GradientSettings, Knee, KneeSettings, OpenSearchVegas, OpenSearchVegasSettings,
    Outcome, Sample, Vegas, VegasSettings, Window, WindowSettings,
};
use tollgate::slots::Inline;

use crate::store;

type Windowed = Window<Vegas, Inline<32>>;

#[unsafe(no_mangle)]
extern "C" fn proof_aimd_new(place: &mut Aimd, settings: AimdSettings) -> bool {
    store(place, Aimd::new(settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_aimd_on_sample(estimator: &mut Aimd, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_vegas_new(place: &mut Vegas, settings: VegasSettings) -> bool {
    store(place, Vegas::new(settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_vegas_on_sample(estimator: &mut Vegas, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_gradient2_new(place: &mut Gradient2, settings: Gradient2Settings) -> bool {
    store(place, Gradient2::new(settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_gradient2_on_sample(estimator: &mut Gradient2, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_gradient_new(place: &mut Gradient, settings: GradientSettings) -> bool {
    store(place, Gradient::new(settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_gradient_on_sample(estimator: &mut Gradient, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_window_new(place: &mut Windowed, settings: WindowSettings, inner: VegasSettings) -> bool {
    Vegas::new(inner).is_ok_and(|inner| store(place, Window::new(settings, inner)))
}

#[unsafe(no_mangle)]
extern "C" fn proof_window_on_sample(estimator: &mut Windowed, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_knee_new(place: &mut Knee, settings: KneeSettings) -> bool {
    store(place, Knee::new(settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_knee_on_sample(estimator: &mut Knee, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_knee_on_reject(estimator: &mut Knee, now_ns: u64) -> u32 {
    estimator.on_reject(Timestamp::from_nanos(now_ns))
}

#[unsafe(no_mangle)]
extern "C" fn proof_knee_on_tick(estimator: &mut Knee, now_ns: u64) -> u32 {
    let now = Timestamp::from_nanos(now_ns);
    let due = estimator.poll_timeout().is_some_and(|at| now >= at);
    if due { estimator.on_tick(now) } else { estimator.limit() }
}

#[unsafe(no_mangle)]
extern "C" fn proof_opensearch_new(place: &mut OpenSearchVegas, settings: OpenSearchVegasSettings) -> bool {
    store(place, OpenSearchVegas::new(settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_opensearch_on_sample(estimator: &mut OpenSearchVegas, sample: &Sample) -> u32 {
    estimator.on_sample(sample)
}

/// What can be asked of each: limits, baselines, whether it dips or probes.
#[unsafe(no_mangle)]
extern "C" fn proof_estimators_look(
    vegas: &Vegas,
    gradient: &Gradient,
    gradient2: &Gradient2,
    opensearch: &OpenSearchVegas,
    knee: &Knee,
) -> u64 {
    let all: [&dyn Estimator; 5] = [vegas, gradient, gradient2, opensearch, knee];
    let seen =
        all.iter().fold(0, |seen, estimator| seen ^ nanos(estimator.no_load_rtt()) ^ limit(*estimator));
    let estimates = vegas.estimate()
        + gradient.estimate()
        + gradient2.estimate()
        + opensearch.estimate()
        + knee.estimate();
    let dipping = vegas.is_dipping() | gradient.is_dipping() | gradient2.is_dipping();
    let (rising, falling) = opensearch.streaks();
    seen ^ estimates.to_bits()
        ^ gradient2.long_rtt_ns().to_bits()
        ^ gradient.samples_to_probe().unwrap_or(0)
        ^ u64::from(rising ^ falling)
        ^ u64::from(dipping)
}

#[unsafe(no_mangle)]
extern "C" fn proof_burst_new(place: &mut Burst<Aimd>, settings: BurstSettings, base: AimdSettings) -> bool {
    Aimd::new(base).is_ok_and(|base| store(place, Burst::new(base, settings)))
}

#[unsafe(no_mangle)]
extern "C" fn proof_burst_on_sample(burst: &mut Burst<Aimd>, sample: &Sample) -> u32 {
    burst.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_burst_on_reject(burst: &mut Burst<Knee>, now: Timestamp) -> u32 {
    burst.on_reject(now)
}

#[unsafe(no_mangle)]
extern "C" fn proof_burst_on_tick(burst: &mut Burst<Knee>, now: Timestamp) -> u32 {
    let due = burst.poll_timeout().is_some_and(|at| now >= at);
    if due { burst.on_tick(now) } else { burst.limit() }
}

#[unsafe(no_mangle)]
extern "C" fn proof_burst_set_settings(burst: &mut Burst<Knee>, settings: BurstSettings) -> u64 {
    let set = burst.set_settings(settings).is_ok();
    let (busy, idle) = burst.streaks();
    nanos(burst.no_load_rtt())
        ^ limit(burst.base())
        ^ limit(burst.base_mut())
        ^ u64::from(busy ^ idle)
        ^ u64::from(set & burst.is_open())
}

#[unsafe(no_mangle)]
extern "C" fn proof_window_look(window: &mut Windowed, now: Timestamp) -> u64 {
    let rejected = u64::from(window.on_reject(now) ^ window.on_tick(now));
    let at = window.poll_timeout().unwrap_or_else(|| window.closes_at());
    rejected
        ^ at.as_nanos()
        ^ u64::from(window.pending())
        ^ nanos(window.no_load_rtt())
        ^ limit(window.inner())
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_window_new(
    place: &mut AtomicWindow,
    window: Duration,
    size: u32,
    resolution_bits: u32,
) -> bool {
    store(place, AtomicWindow::new(window, size, resolution_bits))
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_window_record(
    window: &AtomicWindow,
    now: Timestamp,
    rtt: Duration,
    in_flight: u32,
    outcome: Outcome,
    place: &mut Collected,
) -> bool {
    store(place, window.record(now, rtt, in_flight, outcome).ok_or(()))
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_window_take(window: &AtomicWindow, now: Timestamp, place: &mut Collected) -> bool {
    store(place, window.take(now).ok_or(()))
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_window_teach(collected: &Collected, estimator: &mut Knee) -> u32 {
    collected.teach(estimator)
}

fn nanos(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| time.as_secs() ^ u64::from(time.subsec_nanos()))
}

fn limit(estimator: &dyn Estimator) -> u64 {
    u64::from(estimator.limit())
}
