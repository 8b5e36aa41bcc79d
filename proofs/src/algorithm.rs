//! Estimators by a setting: made, changed while they work, and told of everything.

use tollgate::Timestamp;
use tollgate::adapt::{Algorithm, AlgorithmSettings, Estimator, Limiter, Sample};
use tollgate::slots::Inline;

use crate::store;

#[unsafe(no_mangle)]
extern "C" fn proof_algorithm_new(place: &mut Algorithm, settings: &AlgorithmSettings) -> bool {
    store(place, Algorithm::new(*settings))
}

#[unsafe(no_mangle)]
extern "C" fn proof_algorithm_reconfigure(
    algorithm: &mut Algorithm,
    now: Timestamp,
    settings: &AlgorithmSettings,
) -> u64 {
    match algorithm.reconfigure(now, *settings) {
        Ok(()) => 0,
        Err(error) => u64::try_from(error.violations().len()).unwrap_or(0),
    }
}

#[unsafe(no_mangle)]
extern "C" fn proof_algorithm_on_sample(algorithm: &mut Algorithm, sample: &Sample) -> u32 {
    algorithm.on_sample(sample)
}

#[unsafe(no_mangle)]
extern "C" fn proof_algorithm_on_reject(algorithm: &mut Algorithm, now: Timestamp) -> u32 {
    algorithm.on_reject(now)
}

#[unsafe(no_mangle)]
extern "C" fn proof_algorithm_on_tick(algorithm: &mut Algorithm, now: Timestamp) -> u64 {
    let limit = algorithm.on_tick(now);
    let due = algorithm.poll_timeout().map_or(0, Timestamp::as_nanos);
    let no_load = algorithm.no_load_rtt().map_or(0, |time| u64::from(time.subsec_nanos()));
    u64::from(limit) ^ due ^ no_load ^ u64::try_from(algorithm.name().len()).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn proof_limiter_set_algorithm(
    limiter: &mut Limiter<Algorithm, Inline<8>>,
    now: Timestamp,
    settings: &AlgorithmSettings,
) -> bool {
    limiter.restart_warmup(now);
    limiter.change_estimator(|algorithm| algorithm.reconfigure(now, *settings)).is_ok()
}
