//! Why a plan of the gate cannot be run.

use core::error::Error;
use std::path::Path;

use crate::plan_file::PlanFileError;

/// A mistake in a plan or in what belongs to it. A run of a good plan cannot fail; what it shows can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A file.
    #[error(transparent)]
    File(#[from] PlanFileError),
    /// The core refused settings or rules that were found good when the plan was read.
    #[error("{file}: {source}")]
    Settings {
        /// The plan.
        file: String,
        /// Every rule that is broken.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A snapshot is to be accepted without a word why.
    #[error(
        "{file}: a snapshot is accepted only with its reason: allowed is `accepted = \"why it is what it is\"` in the plan"
    )]
    NoReason {
        /// The plan.
        file: String,
    },
}

impl PlanError {
    pub(crate) fn settings(plan: &Path, source: Box<dyn Error + Send + Sync>) -> Self {
        Self::Settings { file: plan.display().to_string(), source }
    }
}
