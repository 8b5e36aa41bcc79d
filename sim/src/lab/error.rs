//! Why a plan cannot be used: where in which file, what was found, what is allowed.

use core::ops::Range;

use tollgate::ConfigError;

use crate::place::line_and_column;

/// A mistake in a plan, or in what was asked for. A run of a good plan cannot fail; what it shows can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file or directory cannot be read.
    #[error("{file}: cannot be read: {source}")]
    Io {
        /// Which.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A place in a plan.
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
    /// There are no plans.
    #[error("{directory}: found no plans, allowed is a directory with files that end in .toml")]
    NoPlans {
        /// Where.
        directory: String,
    },
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

/// A plan's text, to tell offsets in lines and columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) file: &'a str,
    pub(super) content: &'a str,
}

impl Text<'_> {
    /// A mistake at these bytes.
    pub(super) fn at(self, place: Option<Range<usize>>, reason: impl Into<String>) -> LabError {
        let (line, column) = line_and_column(self.content, place.map_or(0, |place| place.start));
        LabError::Place { file: self.file.to_owned(), line, column, reason: reason.into() }
    }
}
