//! What a person and a program get to see: a table, CSV, JSON and a chart of the same [`Comparison`], and text and a
//! chart of the [`Findings`](crate::findings::Findings) of a plan.
//!
//! All of them are functions of what they show; none looks at a clock, a locale or the machine, so
//! the same seed gives the same bytes.
//!
//! [`Comparison`]: crate::compare::Comparison

pub mod chart;
pub mod limit_chart;
pub mod plan_chart;
pub mod plan_text;
mod sheet;
mod summary;
pub mod table;
pub mod text;

pub use self::sheet::ChartError;
pub use self::summary::Summary;
