//! The benchmark report: ours beside each peer in one run, as `BENCHMARKS.md`.
//!
//! A lone time says more about the machine than about the code, and this machine or the next may be busy. So the
//! benches measure ours and all peers of a case in turn, several rounds over (`benches/src/lib.rs`), and each row here
//! compares two times of *one* round: the round whose ratio is the median. What slows a whole round slows both sides.
//!
//! A benchmark is called `group/case/t<threads>/n<size>/<implementation>/<round>`; ours is the implementation
//! `tollgate`. One iteration of criterion's is many operations; criterion's own record says how many.
//!
//! Without a filter every group is measured by a program of its own and kept, so that a run that was broken off can be
//! taken up again; then `BENCHMARKS.md` and its chart are written. What stands there beside the figures, what was asked
//! and why we lose, is in `benches/report.toml`.

mod chart;
mod compare;
mod document;
mod machine;
mod measure;
mod notes;
mod record;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use comfy_table::{CellAlignment, Table, presets};

use crate::workspace::{root, target};
use compare::{Row, compare};
use document::Report;
use machine::Machine;
use measure::Bench;
use notes::Notes;

const NOTES: &str = "benches/report.toml";
const DOCUMENT: &str = "BENCHMARKS.md";
const CHART: &str = "docs/benchmarks.svg";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only benchmarks whose name matches this, a regular expression; `BENCHMARKS.md` is not written then. A group's own
    /// name measures that group, for a later `--resume` too
    filter: Option<String>,
    /// Keeps the groups that this build of the benches has measured already, measures the others, and writes
    /// `BENCHMARKS.md`
    #[arg(long, conflicts_with = "filter")]
    resume: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let clock = Instant::now();
    let notes = Notes::parse(&read(&root().join(NOTES))?).with_context(|| format!("in {NOTES}"))?;
    let bench = Bench::build()?;
    let Some(filter) = args.filter.as_deref() else { return all(&bench, &notes, args.resume) };

    let records = bench.measure(filter)?;
    let rows = compare(&records, &notes);
    ensure!(!rows.is_empty(), "no benchmark of ours with a peer matches {filter:?}");
    println!("\n{}", table(&rows));
    let path = target().join("bench-report.json");
    write(&path, &(serde_json::to_string_pretty(&rows)? + "\n"))?;
    println!("{} rows in {:.0} s, also in {}", rows.len(), clock.elapsed().as_secs_f64(), path.display());
    Ok(())
}

/// Every group, and the document.
fn all(bench: &Bench, notes: &Notes, resume: bool) -> Result<()> {
    let kept = bench.measure_all(resume)?;
    let report = Report::new(kept, Machine::here()?, notes);
    write(&root().join(DOCUMENT), &report.markdown(CHART))?;
    write(&root().join(CHART), &chart::svg(&report.series())?)?;
    for reason in report.idle_reasons() {
        println!("{NOTES} explains what is not lost (or not measured): {reason}");
    }
    println!("{DOCUMENT} and {CHART} are written: {}", report.summary());
    Ok(())
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

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
