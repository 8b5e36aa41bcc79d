//! The chart of a plan: service, queue and capacity over time, one above the other on the same time axis.
//!
//! The tenants served most have a colour each; of more than six, the rest is drawn grey behind them. Spans in which the
//! server is slow by script are shaded.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::sheet::{Area, ChartError, GRID, INK, PALETTE, SLOW, SOFT, failed, write};
use crate::findings::Findings;

const WIDTH: u32 = 960;
const HEAD: u32 = 104;
const PANEL: u32 = 210;
const GUTTER: u32 = 84;
const FOOT: u32 = 44;
const BEHIND: RGBColor = RGBColor(190, 190, 190);

type Line<'a> = (&'a [f64], RGBColor, u32);

/// The chart as SVG text.
///
/// # Errors
/// [`ChartError`].
pub fn svg(findings: &Findings) -> Result<String, ChartError> {
    let series = &findings.series;
    let order = ranking(findings);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, HEAD + 3 * PANEL + FOOT)).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        head(&root, findings, &order)?;
        let (served, queued) = (lines(&series.served, &order), lines(&series.queued, &order));
        let mut capacity: Vec<Line<'_>> = vec![(&series.in_use[..], PALETTE[1], 2)];
        if findings.limit.is_some() {
            capacity.push((&series.limit[..], INK, 1));
        }
        panel(&root, 0, "cost served ÷ weight, since the start", findings, &served)?;
        panel(&root, 1, "jobs waiting, by tenant", findings, &queued)?;
        panel(&root, 2, "weight in use, and the limit", findings, &capacity)?;
        let at = (i32::try_from(WIDTH / 2).unwrap_or(0), i32::try_from(HEAD + 3 * PANEL + 28).unwrap_or(0));
        write(&root, "simulated time, s", at, 14, INK, HPos::Center)?;
        root.present().map_err(failed)?;
    }
    Ok(text)
}

/// Tenants, those served most first.
fn ranking(findings: &Findings) -> Vec<usize> {
    let mut order: Vec<usize> = (0..findings.tenants.len()).collect();
    if order.len() > PALETTE.len() {
        order.sort_by(|&a, &b| findings.tenants[b].cost.total_cmp(&findings.tenants[a].cost));
    }
    order
}

/// The line of each tenant: those in front, which have a colour, last.
fn lines<'a>(of: &'a [Vec<f64>], order: &[usize]) -> Vec<Line<'a>> {
    let front = order.iter().zip(PALETTE).map(|(&tenant, colour)| (tenant, colour, 2));
    let rest = order.iter().skip(PALETTE.len()).map(|&tenant| (tenant, BEHIND, 1));
    let line = |(tenant, colour, width): (usize, RGBColor, u32)| Some((&of.get(tenant)?[..], colour, width));
    rest.chain(front).filter_map(line).collect()
}

fn head(root: &Area<'_>, findings: &Findings, order: &[usize]) -> Result<(), ChartError> {
    write(root, &findings.plan, (16, 24), 24, INK, HPos::Left)?;
    write(root, &findings.about, (16, 50), 14, SOFT, HPos::Left)?;
    let mut x = 16;
    for (&tenant, colour) in order.iter().zip(PALETTE) {
        let Some(row) = findings.tenants.get(tenant) else { continue };
        root.draw(&PathElement::new([(x, 78), (x + 24, 78)], colour.stroke_width(2))).map_err(failed)?;
        let name =
            if row.weight == 1 { row.name.clone() } else { format!("{} (weight {})", row.name, row.weight) };
        write(root, &name, (x + 30, 78), 14, INK, HPos::Left)?;
        x += 60 + 8 * i32::try_from(name.chars().count()).unwrap_or(8);
    }
    if order.len() > PALETTE.len() {
        root.draw(&PathElement::new([(x, 78), (x + 24, 78)], BEHIND.stroke_width(1))).map_err(failed)?;
        write(root, "the others", (x + 30, 78), 14, INK, HPos::Left)?;
    }
    Ok(())
}

fn panel(
    root: &Area<'_>,
    number: u32,
    title: &str,
    findings: &Findings,
    lines: &[Line<'_>],
) -> Result<(), ChartError> {
    let top = HEAD + number * PANEL;
    let area = root.clone().shrink(
        (0, i32::try_from(top).unwrap_or(0)),
        (WIDTH, PANEL + if number == 2 { FOOT / 2 } else { 0 }),
    );
    let most = lines.iter().flat_map(|(values, ..)| values.iter()).fold(0.0, |most: f64, &v| most.max(v));
    let mut chart: ChartContext<'_, SVGBackend<'_>, Cartesian2d<RangedCoordf64, RangedCoordf64>> =
        ChartBuilder::on(&area)
            .margin_top(26)
            .margin_right(20)
            .set_label_area_size(LabelAreaPosition::Left, GUTTER)
            .set_label_area_size(LabelAreaPosition::Bottom, 22)
            .build_cartesian_2d(0.0..findings.duration_s, 0.0..most.max(1e-9) * 1.05)
            .map_err(failed)?;
    let bands = findings.series.slow.iter().map(|&(from, to)| {
        Rectangle::new([(from, 0.0), (to.min(findings.duration_s), most.max(1e-9) * 1.05)], SLOW.filled())
    });
    chart.draw_series(bands).map_err(failed)?;
    let font = ("sans-serif", 13).into_font().color(&SOFT);
    let number_label = |value: &f64| label(*value);
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(SOFT).bold_line_style(GRID).light_line_style(TRANSPARENT);
    mesh.x_labels(8).x_label_style(font.clone()).x_label_formatter(&number_label);
    mesh.y_labels(5).y_label_style(font).y_label_formatter(&number_label);
    mesh.draw().map_err(failed)?;
    for (values, colour, width) in lines {
        let points = findings.series.at_s.iter().copied().zip(values.iter().copied());
        chart.draw_series(LineSeries::new(points, colour.stroke_width(*width))).map_err(failed)?;
    }
    write(root, title, (16, i32::try_from(top + 12).unwrap_or(0)), 14, INK, HPos::Left)
}

/// As an axis says it.
fn label(value: f64) -> String {
    for (unit, name) in [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")] {
        if value >= unit {
            let scale = if name == "k" { 1e3 } else { unit };
            return format!("{:.0}{name}", value / scale);
        }
    }
    if value >= 10.0 || value.fract().abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_says_large_numbers_shortly() {
        assert_eq!(label(0.0), "0");
        assert_eq!(label(0.25), "0.25");
        assert_eq!(label(500.0), "500");
        assert_eq!(label(20_000.0), "20k");
        assert_eq!(label(3e6), "3M");
        assert_eq!(label(4e15), "4P");
    }
}
