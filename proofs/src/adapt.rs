//! The estimators, in our presets and in the references' as their settings come.

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Settings, GradientSettings, Knee,
    KneeSettings, Sample, Vegas, VegasSettings, Window, WindowSettings,
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
