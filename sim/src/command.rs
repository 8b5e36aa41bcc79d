//! What each command does: from the command line to tables, files and the exit code.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod run;
pub(crate) mod score;
