//! `tollgate-sim run`: one plan in full, or all of a directory in a line each.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tollgate_sim::report::{plan_chart, plan_text};
use tollgate_sim::suite::{self, Outcome, Snapshot};

use crate::cli::Run;
use crate::{WORTH_A_BAR, print, progress_bar, save};

/// Where plans are, seen from the root of the workspace.
const PLANS: &str = "sim/plans";

pub(crate) fn run(asked: &Run) -> anyhow::Result<ExitCode> {
    match (&asked.all, &asked.plan) {
        (Some(directory), _) => {
            let directory = directory.clone().unwrap_or_else(default_directory);
            all(&directory, asked.accept)
        }
        (None, Some(plan)) => one(plan, asked),
        (None, None) => Ok(ExitCode::from(2)),
    }
}

/// The plans of the workspace that the current directory is in.
fn default_directory() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let found = here.ancestors().map(|above| above.join(PLANS)).find(|plans| plans.is_dir());
    let name = |plans: PathBuf| plans.strip_prefix(&here).map(Path::to_path_buf).unwrap_or(plans);
    found.map_or_else(|| PLANS.into(), name)
}

fn one(path: &Path, asked: &Run) -> anyhow::Result<ExitCode> {
    let bar = progress_bar("{bar:40} {pos} of {len} ms simulated, {elapsed}");
    let outcome = suite::run(path, asked.accept, |now_ns, duration_ns| {
        if bar.elapsed() >= WORTH_A_BAR {
            bar.set_length(duration_ns / 1_000_000);
            bar.set_position(now_ns / 1_000_000);
        }
    });
    bar.finish_and_clear();
    let outcome = outcome?;
    print(&outcome.text)?;
    if let Some(file) = &asked.svg {
        save(file, plan_chart::svg(&outcome.findings)?.as_bytes())?;
    }
    if let Some(file) = &asked.json {
        let mut bytes = serde_json::to_vec_pretty(&outcome.findings)?;
        bytes.push(b'\n');
        save(file, &bytes)?;
    }
    match &outcome.snapshot {
        Snapshot::None => {}
        Snapshot::Same => print("PASS snapshot\n")?,
        Snapshot::Accepted => print(&format!("wrote {}\n", outcome.plan.snapshot_path().display()))?,
        Snapshot::Missing | Snapshot::Differs { .. } => print("FAIL snapshot\n")?,
    }
    let failures = outcome.failures();
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    Ok(ExitCode::from(u8::from(!failures.is_empty())))
}

fn all(directory: &Path, accept: bool) -> anyhow::Result<ExitCode> {
    let plans = suite::plans(directory)?;
    let bar = progress_bar("{bar:40} {pos} of {len} plans, {elapsed}");
    bar.set_length(u64::try_from(plans.len()).unwrap_or(u64::MAX));
    let name = |path: &PathBuf| path.file_stem().map_or(0, |stem| stem.to_string_lossy().chars().count());
    let width = plans.iter().map(name).max().unwrap_or(0);
    let (mut failed, mut bad) = (0_usize, 0_usize);
    for path in &plans {
        match suite::run(path, accept, |_, _| {}) {
            Ok(outcome) => {
                let failures = outcome.failures();
                bar.suspend(|| print(&line(&outcome, &failures, width)))?;
                failed += usize::from(!failures.is_empty());
            }
            Err(error) => {
                bar.suspend(|| eprintln!("error: {error}"));
                bad += 1;
                failed += 1;
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    print(&format!("{} of {} plans are as they should be\n", plans.len() - failed, plans.len()))?;
    Ok(ExitCode::from(match (failed, bad) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => 2,
    }))
}

/// One plan in a line; its failures below.
fn line(outcome: &Outcome, failures: &[String], width: usize) -> String {
    let findings = &outcome.findings;
    let verdict = if failures.is_empty() { "ok  " } else { "FAIL" };
    let ranges = findings.checks.len();
    let mut text = format!(
        "{verdict} {:<width$} {ranges:>2} ranges, Jain {}, peak {} running\n",
        findings.plan,
        plan_text::short(findings.summary.jain),
        findings.summary.peak_active
    );
    for failure in failures {
        text += &format!("     {failure}\n");
    }
    text
}
