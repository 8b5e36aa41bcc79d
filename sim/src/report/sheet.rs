//! What the charts share: paper, colours, writing, and the one error.

use core::fmt::Display;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
pub(super) const SOFT: RGBColor = RGBColor(105, 105, 105);
pub(super) const GRID: RGBColor = RGBColor(228, 228, 228);
pub(super) const SLOW: RGBColor = RGBColor(255, 236, 200);
/// Okabe and Ito's colours: told apart by colour-blind readers too.
pub(super) const PALETTE: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(204, 121, 167),
    RGBColor(0, 158, 115),
    RGBColor(146, 104, 0),
    RGBColor(86, 120, 233),
];

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Why a chart could not be drawn. The only backend writes to a string, so this should not happen.
#[derive(Debug, thiserror::Error)]
#[error("the chart could not be drawn: {0}")]
pub struct ChartError(String);

/// Whatever the drawing library says, as text.
pub(super) fn failed(error: impl Display) -> ChartError {
    ChartError(error.to_string())
}

/// One line of text, its middle at the height of `at`.
pub(super) fn write(
    root: &Area<'_>,
    text: impl Display,
    at: (i32, i32),
    size: i32,
    colour: RGBColor,
    to: HPos,
) -> Result<(), ChartError> {
    let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(to, VPos::Center));
    root.draw_text(&text.to_string(), &style, at).map_err(failed)
}
