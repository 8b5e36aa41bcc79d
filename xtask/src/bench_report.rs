//! The benchmark report: one table of ratios, ours to each peer, from one run.
//!
//! A lone time says more about the machine than about the code, and this machine or the next may be busy. So the
//! benches measure ours and all peers of a case in turn, several rounds over (`benches/src/lib.rs`), and each row here
//! compares two times of *one* round: the round whose ratio is the median. What slows a whole round slows both sides.
//!
//! A benchmark is called `group/case/t<threads>/n<size>/<implementation>/<round>`; ours is the implementation
//! `tollgate`. One iteration of criterion's is many operations; criterion's own record says how many.

mod record;

use std::fs::{self, File};
use std::path::Path;
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::workspace::{self, cargo, target};
use record::Record;

const OURS: &str = "tollgate";
/// A case that was measured at this size has a row for its growth to each larger one.
const GROWTH_FROM: u64 = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only benchmarks whose `group/case/…` contains this
    filter: Option<String>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    group: String,
    case: String,
    threads: u64,
    /// How many tenants; 1 where a size has no meaning.
    size: u64,
    ours_ns: f64,
    peer: String,
    peer_ns: f64,
    ratio: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let started = SystemTime::now();
    let clock = Instant::now();
    let criterion = target().join("criterion");
    measure(&criterion, args.filter.as_deref())?;

    let records = record::read(&criterion, started)?;
    let rows = compare(&records);
    ensure!(
        !rows.is_empty(),
        "no benchmark of ours with a peer matches {:?}",
        args.filter.as_deref().unwrap_or("")
    );
    println!("\n{}", table(&rows));
    let path = target().join("bench-report.json");
    write(&path, &rows)?;
    println!("{} rows in {:.0} s, also in {}", rows.len(), clock.elapsed().as_secs_f64(), path.display());
    Ok(())
}

/// Builds the benches where one can watch, then runs them, what criterion prints going to a file of its own.
fn measure(criterion: &Path, filter: Option<&str>) -> Result<()> {
    const BENCH: [&str; 5] = ["bench", "--package", "tollgate-benches", "--bench", "peers"];
    workspace::run(cargo(BENCH).arg("--no-run"))?;
    let path = target().join("bench-report.log");
    let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    println!("measuring; criterion's own words go to {}", path.display());
    let mut bench = cargo(BENCH);
    bench.args(["--", "--noplot"]).args(filter).env("CRITERION_HOME", criterion);
    bench.stdout(log.try_clone()?).stderr(log);
    workspace::run(&mut bench).with_context(|| format!("see {}", path.display()))
}

/// Every peer beside ours of the same case, then ours at a large size beside ours at a small one.
fn compare(records: &[Record]) -> Vec<Row> {
    let ours: Vec<&Record> = records.iter().filter(|record| record.implementation == OURS).collect();
    let mut rows = Vec::new();
    for mine in &ours {
        let peers = records.iter().filter(|other| other.implementation != OURS && mine.same_case(other));
        rows.extend(peers.filter_map(|peer| row(mine, peer, peer.implementation.clone(), mine.case.clone())));
    }
    for large in ours.iter().filter(|record| record.size > GROWTH_FROM) {
        let small = ours.iter().find(|small| {
            small.size == GROWTH_FROM
                && (&small.group, &small.case, small.threads) == (&large.group, &large.case, large.threads)
        });
        let Some(small) = small else { continue };
        rows.extend(row(large, small, format!("{OURS} at {GROWTH_FROM}"), format!("{} growth", large.case)));
    }
    rows
}

/// The round in which the ratio is the median.
fn row(mine: &Record, peer: &Record, name: String, case: String) -> Option<Row> {
    let mut rounds: Vec<(f64, f64, f64)> = mine
        .rounds
        .iter()
        .filter_map(|(round, ours)| peer.rounds.get(round).map(|theirs| (ours / theirs, *ours, *theirs)))
        .collect();
    rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, ours_ns, peer_ns) = *rounds.get(rounds.len() / 2)?;
    let Record { group, threads, size, .. } = mine;
    Some(Row {
        group: group.clone(),
        case,
        threads: *threads,
        size: *size,
        ours_ns,
        peer: name,
        peer_ns,
        ratio,
    })
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["group", "case", "threads", "size", "ours ns", "peer", "peer ns", "ratio"]);
    for row in rows {
        table.add_row([
            row.group.clone(),
            row.case.clone(),
            row.threads.to_string(),
            row.size.to_string(),
            format!("{:.2}", row.ours_ns),
            row.peer.clone(),
            format!("{:.2}", row.peer_ns),
            format!("{:.3}", row.ratio),
        ]);
    }
    for column in [2, 3, 4, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn write(path: &Path, rows: &[Row]) -> Result<()> {
    let text = serde_json::to_string_pretty(rows)?;
    fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64, implementation: &str, rounds: &[f64]) -> Record {
        Record {
            group: "drr".into(),
            case: "in order".into(),
            threads: 1,
            size,
            implementation: implementation.into(),
            rounds: rounds.iter().copied().enumerate().map(|(round, ns)| (round.to_string(), ns)).collect(),
        }
    }

    #[test]
    fn a_row_is_the_round_whose_ratio_is_the_median() {
        // The second round was slow for both, the third for ours alone.
        let rows = compare(&[record(10, OURS, &[10.0, 30.0, 90.0]), record(10, "peer", &[20.0, 50.0, 20.0])]);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].ours_ns, rows[0].peer_ns, rows[0].ratio), (30.0, 50.0, 0.6));
    }

    #[test]
    fn growth_is_ours_at_the_large_size_to_ours_at_the_small_one() {
        let rows = compare(&[record(1_000, OURS, &[10.0]), record(1_000_000, OURS, &[25.0])]);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].size, rows[0].ratio), (1_000_000, 2.5));
        assert_eq!(rows[0].peer, "tollgate at 1000");
    }
}
