//! Plans as files: where they are, and what is wrong in them, where in which file.

use core::ops::Range;
use std::fs;
use std::path::{Path, PathBuf};

use crate::place::line_and_column;
use crate::trace::TraceError;

/// A mistake in a plan's file, or in a file that belongs to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFileError {
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
    /// The trace it replays.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// There are no plans.
    #[error("{directory}: found no plans, allowed is a directory with files that end in .toml")]
    NoPlans {
        /// Where.
        directory: String,
    },
}

impl PlanFileError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { file: path.display().to_string(), source }
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
    pub(crate) fn at(self, place: Option<Range<usize>>, reason: impl Into<String>) -> PlanFileError {
        let (line, column) = line_and_column(self.content, place.map_or(0, |place| place.start));
        PlanFileError::Place { file: self.file.to_owned(), line, column, reason: reason.into() }
    }
}

/// The text of a plan.
pub(crate) fn read(path: &Path) -> Result<String, PlanFileError> {
    fs::read_to_string(path).map_err(|source| PlanFileError::io(path, source))
}

/// The plans in a directory, by name.
pub(crate) fn all(directory: &Path) -> Result<Vec<PathBuf>, PlanFileError> {
    let failed = |source| PlanFileError::io(directory, source);
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(PlanFileError::NoPlans { directory: directory.display().to_string() });
    }
    Ok(paths)
}
