//! Why a plan cannot be run: where in which file, what was found, what is allowed.

use core::ops::Range;
use std::path::Path;

use tollgate::ConfigError;

use crate::place::line_and_column;
use crate::trace::TraceError;

/// A mistake in a plan or in what belongs to it. A run of a good plan cannot fail; what it shows can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A file or directory cannot be read.
    #[error("{file}: cannot be read: {source}")]
    Io {
        /// Which.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A place in the plan.
    #[error("{file}:{line}:{column}: {reason}")]
    Place {
        /// The plan.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What was found and what is allowed.
        reason: String,
    },
    /// The trace it replays.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The core refused settings that were found good when the plan was read.
    #[error("{file}: {source}")]
    Settings {
        /// The plan.
        file: String,
        /// Every rule that is broken.
        source: Box<ConfigError>,
    },
    /// A snapshot is to be accepted without a word why.
    #[error(
        "{file}: a snapshot is accepted only with its reason: allowed is `accepted = \"why it is what it is\"` in the plan"
    )]
    NoReason {
        /// The plan.
        file: String,
    },
    /// There are no plans.
    #[error("{directory}: found no plans, allowed is a directory with files that end in .toml")]
    NoPlans {
        /// Where.
        directory: String,
    },
}

impl PlanError {
    pub(crate) fn settings(plan: &Path, error: ConfigError) -> Self {
        Self::Settings { file: plan.display().to_string(), source: Box::new(error) }
    }
}

/// A plan's text, to tell offsets in lines and columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) file: &'a str,
    pub(crate) content: &'a str,
}

impl Text<'_> {
    /// A mistake at these bytes.
    pub(crate) fn at(self, place: Option<Range<usize>>, reason: impl Into<String>) -> PlanError {
        let (line, column) = line_and_column(self.content, place.map_or(0, |place| place.start));
        PlanError::Place { file: self.file.to_owned(), line, column, reason: reason.into() }
    }
}
