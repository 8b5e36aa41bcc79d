//! The mutants, file by file, in the order of the source.

use super::Mutant;

const PERMITS: &str = "core/src/permit/atomic.rs";
const BUCKET: &str = "core/src/rate/atomic.rs";

pub(super) const MUTANTS: &[Mutant] = &[];
