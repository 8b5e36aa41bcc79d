//! `tollgate-sim`: see `tollgate-sim --help`.
#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod cli;
mod run;
#[path = "command/score.rs"]
mod score;

use core::time::Duration;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tollgate_sim::compare::compare;
use tollgate_sim::report::{Summary, chart, table, text};
use tollgate_sim::{LabError, PlanError, SimError};

use crate::cli::{Cli, Command, Compare};

/// A shorter run shows no progress.
const WORTH_A_BAR: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result = match Cli::parse().command {
        Command::Compare(asked) => run_compare(&asked).map(done),
        Command::Run(asked) => run::run(&asked),
        Command::Bench(asked) => bench::run(&asked).map(done),
        Command::Score(asked) => score::run(&asked).map(done),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            // As for a mistake on the command line, which clap answers: 2 is "mend the input".
            let input = error.is::<SimError>() || error.is::<PlanError>() || error.is::<LabError>();
            ExitCode::from(if input { 2 } else { 1 })
        }
    }
}

fn run_compare(asked: &Compare) -> anyhow::Result<()> {
    let kinds = asked.kinds();
    let scenario = asked.setup()?.resolve()?;
    let bar = progress_bar("{bar:40} {pos} of about {len} runs, {elapsed}");
    let comparison = compare(&scenario, &kinds, |done, expected| {
        if bar.elapsed() >= WORTH_A_BAR {
            bar.set_length(expected);
            bar.set_position(done);
        }
    });
    bar.finish_and_clear();
    let (comparison, summary) = (comparison?, Summary::new(&scenario));
    print(&format!("{summary}\n\n{}\n", table::render(&comparison)))?;
    let output = &asked.output;
    if let Some(path) = &output.csv {
        let mut bytes = Vec::new();
        text::csv(&comparison, &mut bytes)?;
        save(path, &bytes)?;
    }
    if let Some(path) = &output.json {
        let mut bytes = Vec::new();
        text::json(&summary, &comparison, &mut bytes)?;
        bytes.push(b'\n');
        save(path, &bytes)?;
    }
    if let Some(path) = &output.svg {
        save(path, chart::svg(&summary, &comparison)?.as_bytes())?;
    }
    Ok(())
}

/// On the terminal of whoever waits, and nowhere else.
fn progress_bar(template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// To standard output; a reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output"),
    }
}

fn save(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
