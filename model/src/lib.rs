//! Naive oracles for the machines of tollgate.
//!
//! Each oracle does the obvious thing slowly, shares no code and no idea with the machine it judges, and is what the
//! property tests, the fuzz targets and the simulator compare with.
#![forbid(unsafe_code)]

pub mod drr;
pub mod fairness;
