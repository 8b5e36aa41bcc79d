//! `tollgate-sim`: see `tollgate-sim --help`.
#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cli;
mod command;

use core::time::Duration;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tollgate_sim::{LabError, PlanError, SimError};

use crate::cli::{Cli, Command};
use crate::command::{bench, compare, run, score};

/// A shorter run shows no progress.
const WORTH_A_BAR: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result = match Cli::parse().command {
        Command::Compare(asked) => compare::run(&asked).map(done),
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
