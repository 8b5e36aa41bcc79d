//! Fuzzing: every target of `fuzz/` for its share of some minutes, and what that reached.
//!
//! The compiler is the one that builds everything else: without sanitizers, which would find nothing in crates that
//! forbid unsafe code, coverage needs no other; `RUSTC_BOOTSTRAP` covers what cargo-fuzz asks for besides. What is
//! found goes to `fuzz/found`, which stays on the machine; the seeds in `fuzz/corpus` are only read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::tools::CARGO_FUZZ;
use crate::workspace::{cargo, root, shown, target, unattended};

/// Longer inputs than these hold no more operations than a run takes, or are parsed as slowly as they are long.
const MAX_LEN: &str = "2048";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long to go on, all targets together
    #[arg(long, default_value_t = 9.0)]
    minutes: f64,
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
    #[expect(clippy::cast_precision_loss, reason = "a few targets")]
    let seconds = (args.minutes * 60.0 / chosen.len() as f64).ceil().max(1.0);
    let mut rows = Vec::new();
    for name in chosen {
        rows.push((name, one(name, seconds)?));
    }
    println!("\n{:<12} {:>12} {:>8} {:>9}", "target", "executions", "edges", "features");
    let mut broken = Vec::new();
    for (name, ran) in rows {
        let Reached { executions, edges, features } = ran.reached;
        let verdict = if ran.passed { "" } else { "  FOUND SOMETHING" };
        println!("{name:<12} {executions:>12} {edges:>8} {features:>9}{verdict}");
        if !ran.passed {
            broken.push(name.as_str());
        }
    }
    if !broken.is_empty() {
        bail!("{} broke a law, panicked or hung; the input is in fuzz/artifacts", broken.join(", "));
    }
    Ok(())
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

struct Ran {
    passed: bool,
    reached: Reached,
}

fn one(name: &str, seconds: f64) -> Result<Ran> {
    let found = format!("fuzz/found/{name}");
    fs::create_dir_all(root().join(&found)).with_context(|| format!("cannot make {found}"))?;
    let mut fuzz = cargo(["fuzz", "run", "--fuzz-dir", "fuzz", "--sanitizer", "none", "--target-dir"]);
    fuzz.arg(target().join("fuzz")).args([name, &found, &format!("fuzz/corpus/{name}"), "--"]);
    fuzz.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={MAX_LEN}")).arg("-timeout=20");
    fuzz.env("RUSTC_BOOTSTRAP", "1").stderr(Stdio::piped());
    println!("$ {}", shown(&fuzz));
    let mut child = fuzz.spawn().with_context(|| format!("cannot start {}", shown(&fuzz)))?;
    let mut reached = Reached::default();
    for line in BufReader::new(child.stderr.take().context("no stderr")?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        match Reached::read(&line) {
            Some(more) => reached = more,
            None => eprintln!("{line}"),
        }
    }
    Ok(Ran { passed: child.wait()?.success(), reached })
}

/// How far libFuzzer came.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Reached {
    executions: u64,
    edges: u64,
    features: u64,
}

impl Reached {
    /// From one of its lines about that.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let executions = words.next()?.strip_prefix('#')?.parse().ok()?;
        let mut after = |name| words.by_ref().skip_while(|word| *word != name).nth(1)?.parse().ok();
        Some(Self { executions, edges: after("cov:")?, features: after("ft:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_came_is_read_from_its_lines() {
        let line = "#4194304\tDONE   cov: 1503 ft: 9420 corp: 812/48Kb lim: 2048 exec/s: 9709 rss: 96Mb";
        assert_eq!(Reached::read(line), Some(Reached { executions: 4_194_304, edges: 1503, features: 9420 }));
        assert_eq!(Reached::read("INFO: seed corpus: files: 9 min: 1b max: 90b"), None);
        assert_eq!(Reached::read("#0 0x5581 in __sanitizer_print_stack_trace"), None);
    }
}
