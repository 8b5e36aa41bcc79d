//! [`Algorithm`]: any one of the estimators, chosen by a setting.
//!
//! **Problem.** Which estimator is right is found out in production, and then changed there. A type parameter cannot be
//! changed there.
//!
//! **Design.** A closed set, so that a sample costs one branch and no allocation; an estimator of your own needs none of
//! this, a [`Limiter`](crate::adapt::Limiter) takes any. Other settings of the same algorithm keep what was learnt; another
//! algorithm begins at its initial limit, for what one believes means nothing to the next.
//!
//! **Invariants.** **I1** those of the estimator in force.
//!
//! Work that of the estimator and one branch; memory that of the largest, some 500 bytes.
//!
//! ```
//! use tollgate::Timestamp;
//! use tollgate::adapt::{Aimd, AimdSettings, Algorithm, AlgorithmSettings, Estimator, KneeSettings};
//!
//! let mut algorithm = Algorithm::new(AlgorithmSettings::default())?;
//! assert_eq!((algorithm.name(), algorithm.limit()), ("knee", 5));
//!
//! let aimd = AlgorithmSettings::Aimd(AimdSettings { initial: 30, ..AimdSettings::default() });
//! algorithm.reconfigure(Timestamp::ZERO, aimd)?;
//! assert_eq!((algorithm.name(), algorithm.limit()), ("aimd", 30), "another begins anew");
//!
//! let lower = AlgorithmSettings::Aimd(AimdSettings { initial: 10, max: 25, ..AimdSettings::default() });
//! algorithm.reconfigure(Timestamp::ZERO, lower)?;
//! assert_eq!(algorithm.limit(), 25, "the same goes on, within its new bounds");
//! # Ok::<(), tollgate::ConfigError>(())
//! ```

use core::time::Duration;

use crate::adapt::aimd::{Aimd, AimdSettings};
use crate::adapt::gradient::{Gradient, GradientSettings};
use crate::adapt::gradient2::{Gradient2, Gradient2Settings};
use crate::adapt::jitter::{Jitter, Steps};
use crate::adapt::knee::{Knee, KneeSettings};
use crate::adapt::opensearch::{OpenSearchVegas, OpenSearchVegasSettings};
use crate::adapt::sample::{Estimator, Sample};
use crate::adapt::vegas::{Vegas, VegasSettings};
use crate::error::ConfigError;
use crate::time::Timestamp;

/// Which estimator, and how it is set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum AlgorithmSettings {
    /// [`Knee`].
    Knee(KneeSettings),
    /// [`Vegas`].
    Vegas(VegasSettings),
    /// [`Gradient2`].
    Gradient2(Gradient2Settings),
    /// [`Gradient`].
    Gradient(GradientSettings),
    /// [`Aimd`].
    Aimd(AimdSettings),
    /// [`OpenSearchVegas`].
    OpenSearchVegas(OpenSearchVegasSettings),
}

impl Default for AlgorithmSettings {
    /// [`Knee`], as it is set by default.
    fn default() -> Self {
        Self::Knee(KneeSettings::default())
    }
}

/// Any one of the estimators; see the [module](self).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Algorithm<J = Steps> {
    /// Rounds, dips and experiments.
    Knee(Knee),
    /// The queue, from the delay.
    Vegas(Vegas<J>),
    /// The delay, relative to none.
    Gradient2(Gradient2<J>),
    /// The same, more tolerant.
    Gradient(Gradient<J>),
    /// Drops and timeouts only.
    Aimd(Aimd),
    /// As OpenSearch has it.
    OpenSearchVegas(OpenSearchVegas<J>),
}

impl Algorithm {
    /// An estimator that has learnt nothing, with the default jitter.
    ///
    /// # Errors
    /// Those of the estimator.
    pub fn new(settings: AlgorithmSettings) -> Result<Self, ConfigError> {
        Self::with_jitter(settings, Steps::default())
    }
}

impl<J: Jitter> Algorithm<J> {
    /// An estimator that has learnt nothing; `jitter` spaces its probes, if it makes any.
    ///
    /// # Errors
    /// Those of the estimator.
    pub fn with_jitter(settings: AlgorithmSettings, jitter: J) -> Result<Self, ConfigError> {
        Ok(match settings {
            AlgorithmSettings::Knee(settings) => Self::Knee(Knee::new(settings)?),
            AlgorithmSettings::Vegas(settings) => Self::Vegas(Vegas::with_jitter(settings, jitter)?),
            AlgorithmSettings::Gradient2(settings) => {
                Self::Gradient2(Gradient2::with_jitter(settings, jitter)?)
            }
            AlgorithmSettings::Gradient(settings) => Self::Gradient(Gradient::with_jitter(settings, jitter)?),
            AlgorithmSettings::Aimd(settings) => Self::Aimd(Aimd::new(settings)?),
            AlgorithmSettings::OpenSearchVegas(settings) => {
                Self::OpenSearchVegas(OpenSearchVegas::with_jitter(settings, jitter)?)
            }
        })
    }
}

impl<J: Jitter + Clone + Default> Algorithm<J> {
    /// Puts other settings in force: of the same algorithm, and what was learnt is kept; or of another, which begins at
    /// its initial limit with the default jitter. O(1).
    ///
    /// # Errors
    /// Those of the estimator; nothing is changed.
    pub fn reconfigure(&mut self, now: Timestamp, settings: AlgorithmSettings) -> Result<(), ConfigError> {
        match (self, settings) {
            (Self::Knee(knee), AlgorithmSettings::Knee(settings)) => knee.reconfigure(now, settings),
            (Self::Vegas(vegas), AlgorithmSettings::Vegas(settings)) => vegas.reconfigure(settings),
            (Self::Gradient2(gradient), AlgorithmSettings::Gradient2(settings)) => {
                gradient.reconfigure(settings)
            }
            (Self::Gradient(gradient), AlgorithmSettings::Gradient(settings)) => {
                gradient.reconfigure(settings)
            }
            (Self::Aimd(aimd), AlgorithmSettings::Aimd(settings)) => aimd.reconfigure(settings),
            (Self::OpenSearchVegas(vegas), AlgorithmSettings::OpenSearchVegas(settings)) => {
                vegas.reconfigure(settings)
            }
            (another, settings) => {
                *another = Self::with_jitter(settings, J::default())?;
                Ok(())
            }
        }
    }
}

impl<J> Algorithm<J> {
    /// As settings, logs and metrics name it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Knee(_) => "knee",
            Self::Vegas(_) => "vegas",
            Self::Gradient2(_) => "gradient2",
            Self::Gradient(_) => "gradient",
            Self::Aimd(_) => "aimd",
            Self::OpenSearchVegas(_) => "opensearch_vegas",
        }
    }
}

/// The same call of whichever estimator it is.
macro_rules! each {
    ($algorithm:expr, $estimator:ident => $call:expr) => {
        match $algorithm {
            Algorithm::Knee($estimator) => $call,
            Algorithm::Vegas($estimator) => $call,
            Algorithm::Gradient2($estimator) => $call,
            Algorithm::Gradient($estimator) => $call,
            Algorithm::Aimd($estimator) => $call,
            Algorithm::OpenSearchVegas($estimator) => $call,
        }
    };
}

impl<J: Jitter> Estimator for Algorithm<J> {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        each!(self, estimator => estimator.on_sample(sample))
    }

    fn limit(&self) -> u32 {
        each!(self, estimator => Estimator::limit(estimator))
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        each!(self, estimator => Estimator::no_load_rtt(estimator))
    }

    fn on_reject(&mut self, now: Timestamp) -> u32 {
        each!(self, estimator => estimator.on_reject(now))
    }

    fn on_tick(&mut self, now: Timestamp) -> u32 {
        each!(self, estimator => estimator.on_tick(now))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        each!(self, estimator => estimator.poll_timeout())
    }
}

#[cfg(test)]
mod tests;
