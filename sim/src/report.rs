//! What a person and a program get to see: a table, CSV, JSON and a chart of the same [`Comparison`].
//!
//! All four are functions of the comparison and its [`Summary`]; none looks at a clock, a locale or the machine, so
//! the same seed gives the same bytes.
//!
//! [`Comparison`]: crate::compare::Comparison

pub mod chart;
pub mod limit_chart;
mod summary;
pub mod table;
pub mod text;

pub use self::summary::Summary;
