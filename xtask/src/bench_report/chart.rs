//! The chart of cost against size: one panel a case, all on the same two logarithmic scales.
//!
//! A line that stays level costs the same however much there is. Ours is the thick dark line, floors are grey, and each
//! peer has its colour in all panels.

use core::fmt::Display;

use anyhow::{Result, anyhow};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::compare::Against;
use super::document::{Line, Series};
use super::record::OURS;

const COLUMNS: usize = 3;
const COLUMN: i32 = 300;
const ROW: i32 = 220;
const EDGE: i32 = 16;
/// Room for the title and the names.
const HEAD: i32 = 96;
/// Room for the title of a panel, above it.
const TITLE: i32 = 26;
const FOOT: i32 = 34;
/// Names in one line of the legend.
const NAMES: usize = 6;

const INK: RGBColor = RGBColor(34, 34, 34);
const SOFT: RGBColor = RGBColor(105, 105, 105);
const GRID: RGBColor = RGBColor(228, 228, 228);
const BEHIND: RGBColor = RGBColor(176, 176, 176);
/// Okabe and Ito's colours, told apart by colour-blind readers too, and two more: no two peers are alike.
const PALETTE: [RGBColor; 8] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(204, 121, 167),
    RGBColor(0, 158, 115),
    RGBColor(146, 104, 0),
    RGBColor(86, 120, 233),
    RGBColor(110, 30, 140),
    RGBColor(0, 140, 160),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Panel<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The chart as SVG text, of the cases on one thread that were measured at three sizes or more.
pub(super) fn svg(all: &[Series]) -> Result<String> {
    let panels: Vec<&Series> = all.iter().filter(|series| is_shown(series)).collect();
    let columns = panels.len().clamp(1, COLUMNS);
    let rows = panels.len().div_ceil(columns);
    let (width, height) = (2 * EDGE + COLUMN * small(columns), HEAD + ROW * small(rows) + EDGE);
    let names = names(&panels);
    let top = panels.iter().flat_map(|series| values(series)).fold(10.0, f64::max).log10().ceil();
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width.unsigned_abs(), height.unsigned_abs()));
        let root = root.into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        write(&root, "Nanoseconds an operation against what is in the machine", (EDGE, 26), 20, INK)?;
        legend(&root, &names)?;
        for (place, series) in panels.iter().enumerate() {
            let (x, y) = (EDGE + COLUMN * small(place % columns), HEAD + ROW * small(place / columns));
            let area = root.clone().shrink((x, y), (COLUMN.unsigned_abs(), ROW.unsigned_abs()));
            panel(&area, series, &names, top)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

fn is_shown(series: &Series) -> bool {
    let sizes = series.lines.iter().map(|line| line.ns.len()).max();
    series.threads == 1 && sizes.is_some_and(|sizes| sizes > 2)
}

fn values(series: &Series) -> impl Iterator<Item = f64> {
    series.lines.iter().flat_map(|line| line.ns.values().copied())
}

/// Who is in any of the panels, each with its colour: ours, peers by name, floors.
fn names(panels: &[&Series]) -> Vec<(String, RGBColor, u32)> {
    let lines = || panels.iter().flat_map(|series| &series.lines);
    let named = |against: Option<Against>| {
        let mut names: Vec<String> =
            lines().filter(|line| line.against == against).map(|line| line.implementation.clone()).collect();
        names.sort();
        names.dedup();
        names
    };
    let ours = named(None).into_iter().map(|name| (name, INK, 3));
    let peers = named(Some(Against::Peer)).into_iter().zip(PALETTE.into_iter().cycle());
    let floors = named(Some(Against::Floor)).into_iter().map(|name| (name, BEHIND, 2));
    ours.chain(peers.map(|(name, colour)| (name, colour, 2))).chain(floors).collect()
}

fn legend(root: &Area<'_>, names: &[(String, RGBColor, u32)]) -> Result<()> {
    for (place, (name, colour, width)) in names.iter().enumerate() {
        let (x, y) = (EDGE + 150 * small(place % NAMES), 54 + 20 * small(place / NAMES));
        let stroke = PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(*width));
        root.draw(&stroke).map_err(failed)?;
        write(root, name, (x + 26, y), 13, if name == OURS { INK } else { *colour })?;
    }
    Ok(())
}

fn panel(area: &Area<'_>, series: &Series, names: &[(String, RGBColor, u32)], top: f64) -> Result<()> {
    write(area, format!("{}/{}", series.group, series.case), (8, TITLE / 2), 14, INK)?;
    // By their powers of ten: from ten things to a million, from a nanosecond up.
    let mut chart: Panel<'_, '_> = ChartBuilder::on(area)
        .margin_top(TITLE)
        .margin_right(22)
        .set_label_area_size(LabelAreaPosition::Left, 52)
        .set_label_area_size(LabelAreaPosition::Bottom, FOOT)
        .build_cartesian_2d(1.0..6.0, 0.0..top)
        .map_err(failed)?;
    let font = ("sans-serif", 12).into_font().color(&SOFT);
    let label = |power: &f64| power_of_ten(*power);
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(SOFT).bold_line_style(GRID).light_line_style(TRANSPARENT);
    mesh.x_labels(6).x_label_style(font.clone()).x_label_formatter(&label);
    mesh.y_labels(6).y_label_style(font).y_label_formatter(&label);
    mesh.draw().map_err(failed)?;
    // Ours is drawn last, over all others.
    for line in series.lines.iter().rev() {
        let Some((_, colour, width)) = names.iter().find(|(name, ..)| *name == line.implementation) else {
            continue;
        };
        let points = points(line);
        let dots = points.iter().map(|&point| Circle::new(point, *width, colour.filled()));
        chart.draw_series(dots).map_err(failed)?;
        chart.draw_series(LineSeries::new(points, colour.stroke_width(*width))).map_err(failed)?;
    }
    Ok(())
}

fn points(line: &Line) -> Vec<(f64, f64)> {
    let small = |size: u64| u32::try_from(size).map_or(f64::NAN, f64::from);
    line.ns.iter().map(|(&size, &ns)| (small(size).log10(), ns.max(1.0).log10())).collect()
}

/// What a whole power stands for; nothing between.
fn power_of_ten(power: f64) -> String {
    if power.fract().abs() > 1e-6 {
        return String::new();
    }
    let number = 10_f64.powf(power);
    match number {
        number if number < 999.0 => format!("{number:.0}"),
        number if number < 999_000.0 => format!("{:.0}k", number / 1e3),
        number => format!("{:.0}M", number / 1e6),
    }
}

fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(0)
}

fn write(area: &Area<'_>, text: impl Display, at: (i32, i32), size: i32, colour: RGBColor) -> Result<()> {
    let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw_text(&text.to_string(), &style, at).map_err(failed)
}

fn failed(error: impl Display) -> anyhow::Error {
    anyhow!("the chart could not be drawn: {error}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn series(case: &str, threads: u64, sizes: &[u64]) -> Series {
        let line = |implementation: &str, against| Line {
            implementation: implementation.into(),
            against,
            ns: sizes.iter().map(|&size| (size, 20.0)).collect::<BTreeMap<_, _>>(),
        };
        let lines = vec![
            line(OURS, None),
            line("b-peer", Some(Against::Peer)),
            line("a-peer", Some(Against::Peer)),
            line("floor", Some(Against::Floor)),
        ];
        Series { group: "keyed".into(), case: case.into(), threads, lines }
    }

    #[test]
    fn a_panel_for_each_case_on_one_thread_at_three_sizes_or_more() {
        let all = [
            series("shown", 1, &[10, 1_000, 1_000_000]),
            series("two-threads", 2, &[10, 1_000, 1_000_000]),
            series("two-sizes", 1, &[10, 1_000]),
        ];
        let text = svg(&all).unwrap();
        assert!(text.contains("keyed/shown") && text.contains("1M"), "{text}");
        assert!(!text.contains("two-threads") && !text.contains("two-sizes"));
    }

    #[test]
    fn who_is_in_several_panels_is_named_once_ours_first_and_floors_last() {
        let (one, other) = (series("one", 1, &[10]), series("other", 1, &[10]));
        let names = names(&[&one, &other]);
        let names: Vec<&str> = names.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, [OURS, "a-peer", "b-peer", "floor"]);
    }

    #[test]
    fn only_whole_powers_are_labelled() {
        assert_eq!([0.0, 1.0, 3.0, 5.0, 6.0, 2.5].map(power_of_ten), ["1", "10", "1k", "100k", "1M", ""]);
    }
}
