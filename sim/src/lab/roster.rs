//! Estimators by name: the one place where a name becomes a machine.
//!
//! | name | is |
//! | --- | --- |
//! | `knee` | ours, with the options of the plan's `[knee]` |
//! | `vegas`, `gradient2`, `gradient`, `aimd` | our presets |
//! | `vegas-netflix`, … | the references, with the deviations below |
//! | `windowed-vegas`, `windowed-gradient2` | the references behind the reference's averaging window of 1 s |
//! | `fixed-N` | one limit |
//! | `none` | no limit |
//! | `NAME+deadline` | told the plan's target delay; there is one where it makes a difference |
//!
//! **Deviations** of the references from what ships: AIMD may go down to 1, not to 20; a latency of zero, which a coarse
//! clock shows, does not poison the gradients: shipped, their limit is 0 from then on, and there is nothing to measure.
//!
//! One more is a name in [`NAMES`] and a line in [`seat`]; one that also wants to hear of refusals and of time
//! implements [`Limiter`](super::limiter::Limiter) itself.
//!
//! All adaptive ones start at 20, which to `knee` is where doubling ends, and go to 1000 at most: the greatest limit
//! decides the rows of 400 slots, the first one those of a single slot, so both have to be the same for all.

use core::time::Duration;

use tollgate::ConfigError;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Reference, Gradient2Settings,
    GradientReference, GradientSettings, Knee, KneeSettings, Learning, Vegas, VegasSettings, Window,
    WindowSettings,
};

use super::error::LabError;
use super::limiter::{Plain, Seat};

/// The first limit.
const INITIAL: u32 = 20;
/// The greatest limit.
const MAX: u32 = 1000;

/// Names without a number in them, as `--help` lists them.
pub const NAMES: &[&str] = &[
    "knee",
    "vegas",
    "gradient2",
    "gradient",
    "aimd",
    "aimd+deadline",
    "vegas-netflix",
    "gradient2-netflix",
    "gradient-netflix",
    "aimd-netflix",
    "windowed-vegas",
    "windowed-gradient2",
    "none",
];

/// What is measured where nobody says what: all of them but the last, which is no estimator.
pub const USUAL: &[&str] = match NAMES {
    [usual @ .., _none] => usual,
    [] => &[],
};

/// What a plan tells those who can be told.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// The delay that is wanted, for `NAME+deadline`.
    pub target: Duration,
    /// The settings of `knee`.
    pub knee: KneeSettings,
}

impl Default for Told {
    fn default() -> Self {
        let knee = KneeSettings { initial: INITIAL, max: MAX, ..KneeSettings::default() };
        Self { target: Duration::from_millis(50), knee }
    }
}

/// Whether there is an estimator of this name.
///
/// # Errors
/// [`LabError::Estimator`].
pub fn check(name: &str) -> Result<(), LabError> {
    seat(name, Told::default()).map(drop)
}

/// The estimator of this name at its first limit.
///
/// # Errors
/// [`LabError::Estimator`] if there is none of this name, [`LabError::Settings`] if the core refuses its settings.
pub fn seat(name: &str, told: Told) -> Result<Seat, LabError> {
    if let Some(limit) = name.strip_prefix("fixed-") {
        let limit = limit.parse().ok().filter(|limit| (1..=1_000_000).contains(limit));
        return limit.map(|limit| Seat::foretold(vec![limit])).ok_or_else(|| unknown(name));
    }
    let vegas = VegasSettings { initial: INITIAL, max: MAX, ..VegasSettings::default() };
    let gradient2 = Gradient2Settings { initial: INITIAL, max: MAX, ..Gradient2Settings::default() };
    let gradient = GradientSettings { initial: INITIAL, max: MAX, ..GradientSettings::default() };
    let aimd = AimdSettings { initial: INITIAL, max: MAX, ..AimdSettings::default() };
    let vegas_netflix = VegasSettings { initial: INITIAL, max: MAX, ..VegasSettings::netflix() };
    let gradient2_netflix = Gradient2Settings {
        initial: INITIAL,
        max: MAX,
        learning: Learning::EachSample(Gradient2Reference {
            zero_rtt_poisons: false,
            ..Gradient2Reference::netflix()
        }),
        ..Gradient2Settings::netflix()
    };
    let gradient_netflix = GradientSettings {
        initial: INITIAL,
        max: MAX,
        learning: Learning::EachSample(GradientReference {
            zero_rtt_poisons: false,
            ..GradientReference::netflix()
        }),
        ..GradientSettings::netflix()
    };
    let aimd_netflix = AimdSettings { initial: INITIAL, min: 1, max: MAX, ..AimdSettings::netflix() };
    let window = WindowSettings::netflix();
    let built = match name {
        "knee" => ours(Knee::new(told.knee), told.knee.min),
        "vegas" => ours(Vegas::new(vegas), vegas.min),
        "gradient2" => ours(Gradient2::new(gradient2), gradient2.min),
        "gradient" => ours(Gradient::new(gradient), gradient.min),
        "aimd" => ours(Aimd::new(aimd), aimd.min),
        "aimd+deadline" => ours(Aimd::new(AimdSettings { timeout: told.target, ..aimd }), aimd.min),
        "vegas-netflix" => reference(Vegas::new(vegas_netflix), vegas_netflix.min),
        "gradient2-netflix" => reference(Gradient2::new(gradient2_netflix), gradient2_netflix.min),
        "gradient-netflix" => reference(Gradient::new(gradient_netflix), gradient_netflix.min),
        "aimd-netflix" => reference(Aimd::new(aimd_netflix), aimd_netflix.min),
        "windowed-vegas" => {
            let windowed = Vegas::new(vegas_netflix).and_then(|inner| Window::<_>::new(window, inner));
            reference(windowed, vegas_netflix.min)
        }
        "windowed-gradient2" => {
            let windowed =
                Gradient2::new(gradient2_netflix).and_then(|inner| Window::<_>::new(window, inner));
            reference(windowed, gradient2_netflix.min)
        }
        "none" => Ok(Seat::foretold(Vec::new())),
        _ => return Err(unknown(name)),
    };
    built.map_err(|source| LabError::Settings { name: name.to_owned(), source: Box::new(source) })
}

fn unknown(name: &str) -> LabError {
    LabError::Estimator { given: name.to_owned(), allowed: format!("{}, fixed-N", NAMES.join(", ")) }
}

/// An estimator of ours: no limit may hold it for ever.
fn ours<E: Estimator + 'static>(built: Result<E, ConfigError>, min: u32) -> Result<Seat, ConfigError> {
    reference(built, min).map(|seat| Seat { has_to_move: true, ..seat })
}

fn reference<E: Estimator + 'static>(built: Result<E, ConfigError>, min: u32) -> Result<Seat, ConfigError> {
    let limiter = Box::new(Plain(built?));
    Ok(Seat { limiter, bounds: (min, MAX), has_to_move: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_an_estimator_that_starts_within_its_bounds() {
        for &name in NAMES {
            let seat = seat(name, Told::default()).expect(name);
            let limit = seat.limiter.limit();
            assert!((seat.bounds.0..=seat.bounds.1).contains(&limit), "{name}: {limit} {:?}", seat.bounds);
            let first = if name == "knee" { 5 } else { INITIAL };
            assert!(name == "none" || limit == first, "{name}: {limit}");
        }
        assert_eq!(seat("fixed-7", Told::default()).unwrap().limiter.limit(), 7);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        for name in ["magic", "fixed-0", "fixed-x", "vegas+deadline"] {
            let error = check(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("gradient2-netflix"), "{error}");
        }
    }
}
