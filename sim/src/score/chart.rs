//! The chart of a plan: small multiples, one column an estimator, one row a measure.
//!
//! As in [`crate::report::chart`]: the oracle is drawn grey behind every estimator, and all cells of a row share their
//! scale.

use crate::lab::curve::Curve;
use crate::lab::plan::Plan;
use crate::report::chart::ChartError;

/// The chart as SVG text; the oracle's curve is the last.
///
/// # Errors
/// [`ChartError`].
pub fn svg(_plan: &Plan, _curves: &[(String, Curve)]) -> Result<String, ChartError> {
    Ok(String::new())
}
