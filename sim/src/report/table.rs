//! The table in the terminal.

use comfy_table::{CellAlignment, Table, presets};

use crate::compare::{Comparison, Recovery, Row};
use crate::measure::Latency;
use crate::policy::Kind;

const HEADER: [&str; 13] = [
    "policy",
    "mean\nlimit",
    "offered",
    "admitted",
    "refused",
    "timed\nout",
    "on time\nper s",
    "p50\nms",
    "p95\nms",
    "p99\nms",
    "peak in\nflight",
    "recovery\ns",
    "of\noracle",
];

/// The comparison as an aligned table, a line about the oracle below it.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header(HEADER);
    for row in comparison.rows.iter().chain([&comparison.oracle]) {
        table.add_row(cells(row));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let limit = match comparison.oracle.kind {
        Kind::Fixed(limit) => limit,
        _ => 0,
    };
    format!(
        "{table}\n\
         The oracle is the smallest fixed limit within 0.5 % of the best goodput: {limit}, found by trying {}.\n\
         Latency is that of admitted requests, to completion or deadline; refused counts gate and server.\n\
         Recovery is the time after the worst disturbance until 0.9 of the oracle's goodput holds.",
        comparison.oracle_tried
    )
}

fn cells(row: &Row) -> [String; 13] {
    let counts = &row.counts;
    let quantile = |of: fn(&Latency) -> f64| row.latency.as_ref().map_or_else(none, |l| short(of(l)));
    [
        row.policy.clone(),
        row.mean_limit.map_or_else(none, |limit| format!("{limit:.1}")),
        counts.offered.to_string(),
        counts.admitted.to_string(),
        (counts.refused + counts.refused_by_server).to_string(),
        counts.timed_out.to_string(),
        format!("{:.2}", row.goodput_per_s),
        quantile(|latency| latency.p50_ms),
        quantile(|latency| latency.p95_ms),
        quantile(|latency| latency.p99_ms),
        row.peak_in_flight.to_string(),
        match row.recovery {
            Recovery::NotDisturbed => none(),
            Recovery::Seconds(seconds) => format!("{seconds:.1}"),
            Recovery::Never => "never".to_owned(),
        },
        row.of_oracle.map_or_else(none, |ratio| format!("{ratio:.3}")),
    ]
}

/// There is no such number.
fn none() -> String {
    "-".to_owned()
}

/// Three digits that say something.
fn short(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2}")
    } else if ms < 100.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Law;
    use crate::compare::compare;
    use crate::scenario::{Input, Pressure, Setup, Slow, When};
    use crate::server::Contention;
    use crate::workload::{Costs, Noise};

    #[test]
    fn the_table_of_a_small_scenario_is_this_one() {
        let setup = Setup {
            input: Input::Law { law: Law::Poisson, duration_s: 10.0, costs: Costs::Constant(10) },
            pressure: Pressure::Load(2.0),
            unit_us: 1_000,
            noise: Noise::Constant,
            slots: 2,
            hard_limit: None,
            contention: Contention { knee: 3, alpha: 0.05, beta: 0.01 },
            slow_downs: vec![Slow { from: When::Percent(40.0), to: When::Percent(50.0), factor: 2.0 }],
            deadline_ms: None,
            seed: 1,
        };
        let kinds = [Kind::None, Kind::Fixed(1), Kind::Fixed(8)];
        let comparison = compare(&setup.resolve().unwrap(), &kinds, |_, _| {}).unwrap();
        let expected = include_str!("table/small.txt");
        assert_eq!(render(&comparison), expected.trim_end());
    }
}
