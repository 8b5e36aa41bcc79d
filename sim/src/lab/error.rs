//! Why a plan of the laboratory, or what is asked for, cannot be used.

use tollgate::ConfigError;

use crate::plan_file::PlanFileError;

/// A mistake in a plan, or in what was asked for. A run of a good plan cannot fail; what it shows can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file.
    #[error(transparent)]
    File(#[from] PlanFileError),
    /// No such estimator.
    #[error("estimator is {given:?}, allowed is {allowed}")]
    Estimator {
        /// What was given.
        given: String,
        /// All names.
        allowed: String,
    },
    /// The core refused the settings of an estimator.
    #[error("estimator {name}: {source}")]
    Settings {
        /// The estimator.
        name: String,
        /// Every rule of the core it breaks.
        source: Box<ConfigError>,
    },
    /// Seeds that are none.
    #[error("seeds is {given:?}, allowed is how many (9), a list (11,12,13) or a range (11-13)")]
    Seeds {
        /// What was given.
        given: String,
    },
}
