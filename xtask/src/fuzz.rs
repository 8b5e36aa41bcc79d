//! Fuzzing: every target of `fuzz/` for its share of some minutes, and what that reached.
//!
//! The compiler is the one that builds everything else: without sanitizers, which would find nothing in crates that
//! forbid unsafe code, coverage needs no other; `RUSTC_BOOTSTRAP` covers what cargo-fuzz asks for besides. Inputs that
//! reach new code go to `fuzz/found`, which stays on the machine; the seeds in `fuzz/corpus` are only read, unless
//! `--keep` adds to them.

mod reached;

use core::time::Duration;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use reached::Reached;

use crate::tools::CARGO_FUZZ;
use crate::workspace::{self, cargo, root, shown, target, unattended};

/// Longer inputs than these hold no more operations than a run takes, or are parsed as slowly as they are long.
const MAX_LEN: &str = "-max_len=2048";

/// How often to say how far it came.
const PROGRESS: Duration = Duration::from_secs(15);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long to go on, all targets together
    #[arg(long, default_value_t = 9.0)]
    minutes: f64,
    /// Afterwards adds to the seeds what reaches code that no seed reaches
    #[arg(long)]
    keep: bool,
    /// Only these targets
    targets: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Err(why) = CARGO_FUZZ.require() {
        if unattended() {
            bail!(why);
        }
        println!("SKIP fuzz: {why}");
        return Ok(());
    }
    let all = targets()?;
    let chosen = if args.targets.is_empty() { &all } else { &args.targets };
    if let Some(unknown) = chosen.iter().find(|name| !all.contains(name)) {
        bail!("there is no target {unknown}, allowed are {}", all.join(", "));
    }
    // One build of all of them: most of the time goes into what they share.
    workspace::run(&mut cargo_fuzz("build", &[]))?;
    #[expect(clippy::cast_precision_loss, reason = "a few targets")]
    let seconds = (args.minutes * 60.0 / chosen.len() as f64).ceil().max(1.0);
    let mut rows = Vec::new();
    for name in chosen {
        rows.push(one(name, seconds)?);
        if args.keep {
            keep(name)?;
        }
    }
    summarise(&rows)
}

/// The targets by name.
fn targets() -> Result<Vec<String>> {
    let directory = root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in directory.read_dir().with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// What became of one target.
struct Ran<'a> {
    name: &'a str,
    passed: bool,
    /// What it saved because of that, for one that did not.
    artifact: Option<String>,
    reached: Reached,
}

fn cargo_fuzz(what: &str, more: &[&str]) -> Command {
    let mut fuzz = cargo(["fuzz", what, "--fuzz-dir", "fuzz", "--sanitizer", "none", "--target-dir"]);
    fuzz.arg(target().join("fuzz")).args(more).env("RUSTC_BOOTSTRAP", "1");
    fuzz
}

fn one(name: &str, seconds: f64) -> Result<Ran<'_>> {
    let (seeds, found) = directories(name)?;
    let total_time = format!("-max_total_time={seconds}");
    let mut fuzz = cargo_fuzz("run", &[name, &found, &seeds, "--", &total_time, MAX_LEN, "-timeout=20"]);
    let words = format!("fuzz/dictionaries/{name}.dict");
    if root().join(&words).exists() {
        fuzz.arg(format!("-dict={words}"));
    }
    fuzz.stderr(Stdio::piped());
    println!("\n== {name}, {seconds} s ==\n$ {}", shown(&fuzz));
    let mut child = fuzz.spawn().with_context(|| format!("cannot start {}", shown(&fuzz)))?;
    let lines = BufReader::new(child.stderr.take().context("no stderr")?).split(b'\n');
    let (said, hears) = mpsc::channel();
    let reader = thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
    let (mut reached, mut artifact, mut rest) = (Reached::default(), None, Vec::new());
    let (started, mut told) = (Instant::now(), Instant::now());
    loop {
        match hears.recv_timeout(PROGRESS.saturating_sub(told.elapsed())) {
            Ok(line) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                if !reached.hear(&line) {
                    artifact = written_to(&line).or(artifact);
                    rest.push(line);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                println!("{name} {:>5} s: {reached}", started.elapsed().as_secs());
                told = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let passed = child.wait()?.success();
    // The reader ends with the child, and has nothing to say about it.
    drop(reader.join());
    println!("{name} {:>5} s: {reached}", started.elapsed().as_secs());
    if !passed {
        println!("{}", rest.join("\n"));
    }
    Ok(Ran { name, passed, artifact, reached })
}

/// Where its seeds are, and what it finds.
fn directories(name: &str) -> Result<(String, String)> {
    let (seeds, found) = (format!("fuzz/corpus/{name}"), format!("fuzz/found/{name}"));
    for directory in [&seeds, &found] {
        fs::create_dir_all(root().join(directory)).with_context(|| format!("cannot make {directory}"))?;
    }
    Ok((seeds, found))
}

/// Where libFuzzer says that it put an input that broke something, from the workspace's root.
fn written_to(line: &str) -> Option<String> {
    let (_, path) = line.split_once("Test unit written to ")?;
    let root = format!("{}/", root().display());
    Some(path.trim().replacen(&root, "", 1))
}

/// Of what was found, takes what reaches an edge that no seed reaches; how often it was passed does not count.
fn keep(name: &str) -> Result<()> {
    let (seeds, found) = directories(name)?;
    let mut merge = cargo_fuzz("run", &[name, &seeds, &found, "--", "-merge=1", "-use_counters=0", MAX_LEN]);
    workspace::run(merge.stdout(Stdio::null()).stderr(Stdio::null()))
}

fn summarise(rows: &[Ran<'_>]) -> Result<()> {
    println!("\n{:<12} {:>12} {:>8} {:>9}", "target", "executions", "edges", "features");
    for Ran { name, passed, reached: Reached { executions, edges, features }, .. } in rows {
        let verdict = if *passed { "" } else { "  FOUND SOMETHING" };
        println!("{name:<12} {executions:>12} {edges:>8} {features:>9}{verdict}");
    }
    let broken: Vec<_> = rows.iter().filter(|row| !row.passed).collect();
    for Ran { name, artifact, .. } in &broken {
        let Some(input) = artifact else {
            println!("\n{name} ended without an input that it blames");
            continue;
        };
        println!("\n{name} broke a law, panicked or hung: {input}");
        println!("  again:    cargo run -p tollgate-fuzzing -- {name} {input}");
        println!("  smaller:  {}", shown(&cargo_fuzz("tmin", &[name, input])));
    }
    if !broken.is_empty() {
        let names: Vec<_> = broken.iter().map(|row| row.name).collect();
        bail!("found something: {}", names.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(passed: bool) -> Ran<'static> {
        Ran { name: "gate", passed, artifact: None, reached: Reached::default() }
    }

    #[test]
    fn whatever_one_target_finds_fails_the_run() {
        assert!(summarise(&[ran(true), ran(true)]).is_ok());
        assert!(summarise(&[ran(true), ran(false)]).is_err());
    }

    #[test]
    fn an_input_is_named_from_the_root() {
        let root = root().display();
        let line =
            format!("artifact_prefix='x'; Test unit written to {root}/fuzz/artifacts/gate/crash-0123\n");
        assert_eq!(written_to(&line).as_deref(), Some("fuzz/artifacts/gate/crash-0123"));
        assert_eq!(written_to("Base64: 9w=="), None);
    }

    #[test]
    fn every_target_of_libfuzzer_has_its_name() {
        assert!(targets().unwrap().contains(&"gate".to_owned()));
    }
}
