//! The chart: small multiples, one column a policy, one row a measure.
//!
//! Six lines over each other hide what each of them does. So every policy has its own column, the oracle's line is
//! drawn grey behind it, and all cells of a row share their scale. The head of a column says what the table says.
//! Limit and in flight are on a logarithmic scale: between a good limit and none there are powers of ten.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::compare::{Comparison, Row};
use crate::measure::Point;
use crate::num;
use crate::report::Summary;
use crate::report::sheet::{Area, ChartError, GRID, INK, PALETTE, SLOW, SOFT, failed, write};

const GUTTER: i32 = 56;
const COLUMN: i32 = 226;
const HEAD: i32 = 132;
const PANEL: i32 = 196;
/// Room for the title of a measure, above its panels.
const TITLE: i32 = 24;
const FOOT: i32 = 48;
const RIGHT: i32 = 16;
const ROWS: usize = 4;

const BEHIND: RGBColor = RGBColor(176, 176, 176);

type Cell<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// One row of the chart: a measure and its scale.
struct Measure {
    title: &'static str,
    value: fn(&Point) -> Option<f64>,
    logarithmic: bool,
    most: f64,
    /// A level to mark in every cell.
    mark: Option<f64>,
}

impl Measure {
    /// On the scale of the cell.
    fn scaled(&self, value: f64) -> f64 {
        if self.logarithmic { value.max(1.0).log10() } else { value }
    }

    /// As the axis says it.
    fn label(&self, scaled: f64) -> String {
        let value = if self.logarithmic { 10_f64.powf(scaled) } else { scaled };
        if value >= 10.0 || value.fract().abs() < 1e-9 {
            format!("{value:.0}")
        } else {
            format!("{value:.1}")
        }
    }

    fn top(&self) -> f64 {
        if self.logarithmic { self.most.max(10.0).log10().ceil() } else { self.most.max(1e-9) * 1.05 }
    }

    /// The line of a policy, cut where there is nothing to draw.
    fn lines(&self, points: &[Point]) -> Vec<Vec<(f64, f64)>> {
        let runs = points.chunk_by(|a, b| (self.value)(a).is_some() == (self.value)(b).is_some());
        let line = |run: &[Point]| -> Vec<(f64, f64)> {
            run.iter().filter_map(|point| Some((point.at_s, self.scaled((self.value)(point)?)))).collect()
        };
        runs.map(line).filter(|line| !line.is_empty()).collect()
    }
}

fn measures(summary: &Summary, rows: &[&Row]) -> [Measure; ROWS] {
    let most = |value: fn(&Point) -> Option<f64>| {
        let values = rows.iter().flat_map(|row| &row.points).filter_map(value);
        values.fold(0.0, f64::max)
    };
    let limit = |point: &Point| point.limit.map(f64::from);
    let in_flight = |point: &Point| Some(point.in_flight);
    let latency = |point: &Point| point.p95_ms.map(|ms| ms / 1e3);
    let goodput = |point: &Point| Some(point.goodput_per_s);
    let deadline_s = summary.deadline_ms / 1e3;
    let capacity = summary.capacity_per_s;
    let counts = most(limit).max(most(in_flight));
    [
        Measure { title: "concurrency limit", value: limit, logarithmic: true, most: counts, mark: None },
        Measure {
            title: "requests in flight, mean",
            value: in_flight,
            logarithmic: true,
            most: counts,
            mark: None,
        },
        Measure {
            title: "p95 latency of admitted requests, s",
            value: latency,
            logarithmic: false,
            most: most(latency).max(deadline_s),
            mark: Some(deadline_s),
        },
        Measure {
            title: "goodput: completions on time, per s",
            value: goodput,
            logarithmic: false,
            most: most(goodput).max(capacity),
            mark: Some(capacity),
        },
    ]
}

/// The chart as SVG text.
///
/// # Errors
/// [`ChartError`].
pub fn svg(summary: &Summary, comparison: &Comparison) -> Result<String, ChartError> {
    let rows: Vec<&Row> = comparison.rows.iter().chain([&comparison.oracle]).collect();
    let columns = i32::try_from(rows.len()).unwrap_or(1);
    let heights = PANEL * i32::try_from(ROWS).unwrap_or(4);
    let width = u32::try_from(GUTTER + columns * COLUMN + RIGHT).unwrap_or(800);
    let height = u32::try_from(HEAD + heights + FOOT).unwrap_or(900);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        head(&root, summary)?;
        let measures = measures(summary, &rows);
        let colours = PALETTE.iter().cycle().take(rows.len() - 1).chain([&INK]);
        for ((column, row), &colour) in (0_i32..).zip(&rows).zip(colours) {
            column_head(&root, column, row, colour)?;
            for (line, measure) in (0_i32..).zip(&measures) {
                cell(&root, summary, measure, (column, line), (row, &comparison.oracle), colour)?;
            }
        }
        for (line, measure) in (0_i32..).zip(&measures) {
            let at = (16, HEAD + line * PANEL + TITLE / 2);
            write(&root, measure.title, at, 14, INK, HPos::Left)?;
        }
        let at = (GUTTER + columns * COLUMN / 2, HEAD + heights + FOOT - 14);
        write(&root, "simulated time, s", at, 14, INK, HPos::Center)?;
        root.present().map_err(failed)?;
    }
    Ok(text)
}

/// A time on the axis of a run this long; none at its very end, where the next panel begins.
fn seconds_label(at_s: f64, span_s: f64) -> String {
    if at_s > 0.96 * span_s {
        return String::new();
    }
    if span_s >= 10.0 { format!("{at_s:.0}") } else { format!("{at_s:.2}") }
}

/// Title, what it was measured on, and the legend.
fn head(root: &Area<'_>, summary: &Summary) -> Result<(), ChartError> {
    write(root, "Goodput under each concurrency limit", (16, 24), 24, INK, HPos::Left)?;
    write(root, summary.headline(), (16, 50), 15, SOFT, HPos::Left)?;
    let mut x = 16;
    let mut entry = |what: &str, width: i32, draw: &dyn Fn(i32) -> Result<(), ChartError>| {
        draw(x)?;
        write(root, what, (x + 32, 74), 14, INK, HPos::Left)?;
        x += width;
        Ok(())
    };
    let stroke = |colour: RGBColor| {
        move |x: i32| -> Result<(), ChartError> {
            let line = PathElement::new([(x, 74), (x + 24, 74)], colour.stroke_width(2));
            root.draw(&line).map_err(failed)
        }
    };
    entry("the policy of the column", 220, &stroke(PALETTE[1]))?;
    entry("best fixed limit (oracle)", 220, &stroke(BEHIND))?;
    entry("deadline of a client, capacity without contention", 380, &|x| {
        let dashes = [(x, 74), (x + 8, 74), (x + 16, 74)];
        dashes.iter().try_for_each(|&(x, y)| {
            root.draw(&PathElement::new([(x, y), (x + 5, y)], INK.stroke_width(1))).map_err(failed)
        })
    })?;
    if !summary.server.slow_downs.is_empty() {
        entry("service slowed down by script", 240, &|x| {
            root.draw(&Rectangle::new([(x, 67), (x + 24, 81)], SLOW.filled())).map_err(failed)
        })?;
    }
    Ok(())
}

/// The name of a policy and its line of the table.
fn column_head(root: &Area<'_>, column: i32, row: &Row, colour: RGBColor) -> Result<(), ChartError> {
    let middle = GUTTER + column * COLUMN + COLUMN / 2;
    write(root, &row.policy, (middle, 102), 18, colour, HPos::Center)?;
    let ratio = row.of_oracle.map_or(String::new(), |ratio| format!(" = {ratio:.3} of oracle"));
    let text = format!("{:.2}/s on time{ratio}", row.goodput_per_s);
    write(root, &text, (middle, 122), 13, SOFT, HPos::Center)
}

fn cell(
    root: &Area<'_>,
    summary: &Summary,
    measure: &Measure,
    (column, line): (i32, i32),
    (row, oracle): (&Row, &Row),
    colour: RGBColor,
) -> Result<(), ChartError> {
    let (first, last) = (column == 0, num::index(line.unsigned_abs()) + 1 == ROWS);
    // The first column and the last row are greater by their labels, so that all plots have the same size.
    let left = if first { 0 } else { GUTTER + column * COLUMN };
    let top = HEAD + line * PANEL;
    let foot = if last { FOOT } else { 0 };
    let right = GUTTER + (column + 1) * COLUMN;
    let area =
        root.clone().shrink((left, top), ((right - left).unsigned_abs(), (PANEL + foot).unsigned_abs()));
    let mut chart: Cell<'_, '_> = ChartBuilder::on(&area)
        .margin_top(TITLE)
        .margin_bottom(4)
        .margin_right(14)
        .set_label_area_size(LabelAreaPosition::Left, if first { GUTTER } else { 0 })
        .set_label_area_size(LabelAreaPosition::Bottom, foot)
        .build_cartesian_2d(0.0..summary.span_s, 0.0..measure.top())
        .map_err(failed)?;
    let slow_downs = summary.server.slow_downs.iter();
    let bands =
        slow_downs.map(|slow| (num::seconds(slow.from_ns), num::seconds(slow.to_ns).min(summary.span_s)));
    let bands = bands.map(|(from, to)| Rectangle::new([(from, 0.0), (to, measure.top())], SLOW.filled()));
    chart.draw_series(bands).map_err(failed)?;
    axes(&mut chart, summary, measure)?;
    if let Some(level) = measure.mark {
        let ends = [(0.0, level), (summary.span_s, level)];
        chart.draw_series(DashedLineSeries::new(ends, 5, 3, INK.stroke_width(1))).map_err(failed)?;
    }
    for (points, style) in [(&oracle.points, BEHIND.stroke_width(1)), (&row.points, colour.stroke_width(2))] {
        for line in measure.lines(points) {
            chart.draw_series(LineSeries::new(line, style)).map_err(failed)?;
        }
    }
    if measure.lines(&row.points).is_empty() {
        let middle = (GUTTER + column * COLUMN + COLUMN / 2, top + PANEL / 2);
        write(root, "no limit", middle, 14, SOFT, HPos::Center)?;
    }
    Ok(())
}

/// Grid and numbers.
fn axes(chart: &mut Cell<'_, '_>, summary: &Summary, measure: &Measure) -> Result<(), ChartError> {
    let font = ("sans-serif", 13).into_font().color(&SOFT);
    let time = |at_s: &f64| seconds_label(*at_s, summary.span_s);
    let value = |value: &f64| measure.label(*value);
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(SOFT).bold_line_style(GRID).light_line_style(TRANSPARENT);
    mesh.x_labels(4).x_label_style(font.clone()).x_label_formatter(&time);
    mesh.y_labels(if measure.logarithmic { 4 } else { 5 }).y_label_style(font).y_label_formatter(&value);
    mesh.draw().map_err(failed)
}

#[cfg(test)]
mod tests;
