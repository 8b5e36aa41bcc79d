//! The chart of a plan for limits: small multiples, one column an estimator, one row a measure.
//!
//! As in [`chart`](super::chart), every estimator has its own column, the oracle is drawn grey behind it and all cells
//! of a row share their scale. Limits, what is in flight and latencies are on logarithmic scales. The warm-up is
//! shaded; where a phase begins there is a line.

use core::ops::Range;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::sheet::{Area, ChartError, GRID, INK, PALETTE, SLOW, SOFT, failed, write};
use crate::lab::curve::{Cell, Curve};
use crate::lab::plan::Plan;
use crate::num;

const GUTTER: i32 = 60;
const COLUMN: i32 = 210;
const HEAD: i32 = 96;
const PANEL: i32 = 180;
/// Room for the title of a measure, above its panels.
const TITLE: i32 = 24;
const FOOT: i32 = 48;
const BEHIND: RGBColor = RGBColor(176, 176, 176);

type Panel<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

struct Measure {
    title: &'static str,
    value: fn(&Cell) -> Option<f64>,
    logarithmic: bool,
    scale: Range<f64>,
}

impl Measure {
    fn new(
        title: &'static str,
        value: fn(&Cell) -> Option<f64>,
        logarithmic: bool,
        curves: &[(String, Curve)],
    ) -> Self {
        let values = || curves.iter().flat_map(|(_, curve)| &curve.cells).filter_map(value);
        let most = values().fold(0.0, f64::max);
        let scale = if logarithmic {
            let least = values().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min).min(most);
            let low = least.max(1e-6).log10().floor();
            low..most.max(1e-6).log10().ceil().max(low + 1.0)
        } else {
            0.0..most.max(1e-9) * 1.05
        };
        Self { title, value, logarithmic, scale }
    }

    /// A line for each stretch in which there is something to draw.
    fn lines(&self, cells: &[Cell]) -> Vec<Vec<(f64, f64)>> {
        let shown = |cell: &Cell| (self.value)(cell).filter(|&value| !self.logarithmic || value > 0.0);
        let runs = cells.chunk_by(|a, b| shown(a).is_some() == shown(b).is_some());
        let scaled = |value: f64| if self.logarithmic { value.log10() } else { value };
        let line = |run: &[Cell]| -> Vec<(f64, f64)> {
            run.iter().filter_map(|cell| Some((cell.at_s, scaled(shown(cell)?)))).collect()
        };
        runs.map(line).filter(|line| !line.is_empty()).collect()
    }

    fn label(&self, scaled: f64) -> String {
        let value = if self.logarithmic { 10_f64.powf(scaled) } else { scaled };
        if value >= 10.0 || value.fract().abs() < 1e-9 {
            format!("{value:.0}")
        } else {
            format!("{value:.2}")
        }
    }
}

fn measures(curves: &[(String, Curve)]) -> [Measure; 4] {
    let limit =
        |cell: &Cell| u32::try_from(cell.limit).ok().filter(|&limit| limit < 1_000_000).map(f64::from);
    let in_flight = |cell: &Cell| u32::try_from(cell.in_flight).ok().map(f64::from);
    [
        Measure::new("concurrency limit", limit, true, curves),
        Measure::new("requests in flight", in_flight, true, curves),
        Measure::new("mean latency of admitted requests, ms", |cell| cell.latency_ms, true, curves),
        Measure::new("goodput: completions in time, per s", |cell| Some(cell.goodput_per_s), false, curves),
    ]
}

/// The chart as SVG text; the last curve is drawn behind all others.
///
/// # Errors
/// [`ChartError`].
pub fn svg(plan: &Plan, curves: &[(String, Curve)]) -> Result<String, ChartError> {
    let columns = i32::try_from(curves.len()).unwrap_or(1);
    let measures = measures(curves);
    let rows = i32::try_from(measures.len()).unwrap_or(4);
    let width = (GUTTER + columns * COLUMN + 16).unsigned_abs();
    let height = (HEAD + rows * PANEL + FOOT).unsigned_abs();
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        write(&root, &plan.name, (16, 24), 24, INK, HPos::Left)?;
        write(&root, &plan.about, (16, 50), 14, SOFT, HPos::Left)?;
        let oracle = curves.last();
        let colours = PALETTE.iter().cycle().take(curves.len().saturating_sub(1)).chain([&INK]);
        for ((column, (name, curve)), &colour) in (0_i32..).zip(curves).zip(colours) {
            let middle = GUTTER + column * COLUMN + COLUMN / 2;
            write(&root, name, (middle, 80), 15, colour, HPos::Center)?;
            for (row, measure) in (0_i32..).zip(&measures) {
                let behind = oracle.map_or(&[][..], |(_, curve)| &curve.cells);
                panel(
                    &root,
                    plan,
                    measure,
                    (column, row, rows),
                    &[(behind, BEHIND, 1), (&curve.cells, colour, 2)],
                )?;
            }
        }
        for (row, measure) in (0_i32..).zip(&measures) {
            write(&root, measure.title, (16, HEAD + row * PANEL + TITLE / 2), 14, INK, HPos::Left)?;
        }
        let at = (GUTTER + columns * COLUMN / 2, HEAD + rows * PANEL + FOOT - 14);
        write(&root, "simulated time, s", at, 14, INK, HPos::Center)?;
        root.present().map_err(failed)?;
    }
    Ok(text)
}

fn panel(
    root: &Area<'_>,
    plan: &Plan,
    measure: &Measure,
    (column, row, rows): (i32, i32, i32),
    lines: &[(&[Cell], RGBColor, u32)],
) -> Result<(), ChartError> {
    // The first column and the last row are greater by their labels, so that all plots have the same size.
    let left = if column == 0 { 0 } else { GUTTER + column * COLUMN };
    let foot = if row + 1 == rows { FOOT } else { 0 };
    let size = ((GUTTER + (column + 1) * COLUMN - left).unsigned_abs(), (PANEL + foot).unsigned_abs());
    let area = root.clone().shrink((left, HEAD + row * PANEL), size);
    let span_s = num::seconds(plan.span_ns());
    let (low, high) = (measure.scale.start, measure.scale.end);
    let mut chart: Panel<'_, '_> = ChartBuilder::on(&area)
        .margin_top(TITLE)
        .margin_bottom(4)
        .margin_right(14)
        .set_label_area_size(LabelAreaPosition::Left, if column == 0 { GUTTER } else { 0 })
        .set_label_area_size(LabelAreaPosition::Bottom, foot)
        .build_cartesian_2d(0.0..span_s, measure.scale.clone())
        .map_err(failed)?;
    let warm_up = Rectangle::new([(0.0, low), (plan.warm_up_s(), high)], SLOW.filled());
    chart.draw_series([warm_up]).map_err(failed)?;
    let font = ("sans-serif", 13).into_font().color(&SOFT);
    // None at the very end, where the next panel begins.
    let time = |at_s: &f64| if *at_s > 0.96 * span_s { String::new() } else { format!("{at_s:.1}") };
    let value = |value: &f64| measure.label(*value);
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(SOFT).bold_line_style(GRID).light_line_style(TRANSPARENT);
    mesh.x_labels(4).x_label_style(font.clone()).x_label_formatter(&time);
    mesh.y_labels(4).y_label_style(font).y_label_formatter(&value);
    mesh.draw().map_err(failed)?;
    for at_s in plan.borders_s() {
        chart
            .draw_series(LineSeries::new([(at_s, low), (at_s, high)], SOFT.stroke_width(1)))
            .map_err(failed)?;
    }
    for &(cells, colour, width) in lines {
        for line in measure.lines(cells) {
            chart.draw_series(LineSeries::new(line, colour.stroke_width(width))).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(at_s: f64, limit: u64, latency_ms: Option<f64>) -> Cell {
        Cell { at_s, limit, latency_ms, ..Cell::default() }
    }

    #[test]
    fn a_line_is_cut_where_nothing_ended_and_where_a_logarithm_has_no_value() {
        let measure = Measure::new("t", |cell| cell.latency_ms, true, &[]);
        let cells = [
            cell(0.0, 1, Some(10.0)),
            cell(1.0, 1, None),
            cell(2.0, 1, Some(0.0)),
            cell(3.0, 1, Some(100.0)),
        ];
        assert_eq!(measure.lines(&cells), [vec![(0.0, 1.0)], vec![(3.0, 2.0)]]);
    }

    #[test]
    fn no_limit_is_not_drawn() {
        let [limit, ..] = measures(&[]);
        assert_eq!(limit.lines(&[cell(0.0, 4_000_000_000, None), cell(1.0, 100, None)]), [vec![(1.0, 2.0)]]);
    }
}
