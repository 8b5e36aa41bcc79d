//! Every check of the project as a named step.
//!
//! All steps run, whatever fails, so that one run tells everything; the summary at the end repeats each failure. A
//! step that lacks a tool is skipped and listed, except where nobody watches (`CI=true`): there it fails.

use core::time::Duration;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::tools::{CC, CLIPPY, NM, RUSTFMT, Tool, VALGRIND};
use crate::workspace::{self, cargo, unattended};
use crate::{counts, embedded, loom, no_std};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these steps
    #[arg(value_parser = STEPS.iter().map(|step| step.name).collect::<Vec<_>>())]
    steps: Vec<String>,
}

struct Step {
    name: &'static str,
    needs: &'static [Tool],
    run: fn() -> Result<()>,
}

/// The feature that no crate of ours has by default. Asked for by name, so that checking it does not hang on which other
/// crates ask for it too.
const WITH_SERDE: &str = "--features=tollgate/serde";

const STEPS: &[Step] = &[
    Step { name: "fmt", needs: &[RUSTFMT], run: || workspace::run(&mut cargo(["fmt", "--all", "--check"])) },
    Step { name: "clippy", needs: &[CLIPPY], run: || clippy(&["--workspace", "--all-targets", WITH_SERDE]) },
    Step {
        name: "clippy-no-std",
        needs: &[CLIPPY],
        run: || clippy(&["-p", "tollgate", "--no-default-features"]),
    },
    Step {
        name: "clippy-alloc",
        needs: &[CLIPPY],
        run: || clippy(&["-p", "tollgate", "--no-default-features", "--features", "alloc"]),
    },
    Step {
        name: "clippy-portable",
        needs: &[CLIPPY],
        run: || clippy(&["-p", "tollgate", "--no-default-features", "--features", "portable-atomic"]),
    },
    Step {
        name: "test",
        needs: &[],
        run: || workspace::run(&mut cargo(["test", "--workspace", WITH_SERDE])),
    },
    Step { name: "test-no-std", needs: &[], run: test_no_std },
    Step { name: "doc", needs: &[], run: doc },
    Step { name: "loom", needs: &[], run: loom::run },
    Step { name: "no-std", needs: &[NM, CC], run: no_std::run },
    Step { name: "counts", needs: &[VALGRIND], run: counts::check },
    Step { name: "embedded", needs: embedded::NEEDS, run: || embedded::run(&embedded::Args::default()) },
];

fn clippy(what: &[&str]) -> Result<()> {
    workspace::run(cargo(["clippy"]).args(what).args(["--", "-D", "warnings"]))
}

fn test_no_std() -> Result<()> {
    workspace::run(&mut cargo(["test", "--package", "tollgate", "--lib", "--no-default-features"]))
}

fn doc() -> Result<()> {
    let mut doc = cargo(["doc", "--workspace", WITH_SERDE, "--no-deps", "--document-private-items"]);
    workspace::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let chosen = |step: &&Step| args.steps.is_empty() || args.steps.iter().any(|name| name == step.name);
    let mut outcomes = Vec::new();
    for step in STEPS.iter().filter(chosen) {
        println!("\n== {} ==", step.name);
        let started = Instant::now();
        let verdict = judge(step);
        match &verdict {
            Verdict::Passed => {}
            Verdict::Failed(why) => println!("FAILED {}: {why}", step.name),
            Verdict::Skipped(why) => println!("SKIP {}: {why}", step.name),
        }
        outcomes.push((step.name, verdict, started.elapsed()));
    }
    summarise(&outcomes)
}

fn judge(step: &Step) -> Verdict {
    for tool in step.needs {
        match tool.require() {
            Ok(()) => {}
            Err(why) if unattended() => return Verdict::Failed(why),
            Err(why) => return Verdict::Skipped(why),
        }
    }
    match (step.run)() {
        Ok(()) => Verdict::Passed,
        Err(error) => Verdict::Failed(format!("{error:#}")),
    }
}

/// The closing lines: one per step, then the counts alone on a line.
fn summarise(outcomes: &[(&str, Verdict, Duration)]) -> Result<()> {
    println!("\n== summary ==");
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, verdict, took) in outcomes {
        let (word, why) = match verdict {
            Verdict::Passed => {
                passed += 1;
                ("ok", "")
            }
            Verdict::Failed(why) => {
                failed += 1;
                ("FAILED", why.as_str())
            }
            Verdict::Skipped(why) => {
                skipped += 1;
                ("SKIP", why.as_str())
            }
        };
        println!("{}", format!("{name:<16} {word:<6} {:>6.1} s  {why}", took.as_secs_f64()).trim_end());
    }
    println!("checks: {passed} passed, {failed} failed, {skipped} skipped");
    if failed > 0 {
        bail!("{failed} of {} checks failed", outcomes.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_fails_the_run_and_a_skip_does_not() {
        let fine = [
            ("a", Verdict::Passed, Duration::ZERO),
            ("b", Verdict::Skipped("no tool".into()), Duration::ZERO),
        ];
        assert!(summarise(&fine).is_ok());
        let broken =
            [("a", Verdict::Failed("why".into()), Duration::ZERO), ("b", Verdict::Passed, Duration::ZERO)];
        assert!(summarise(&broken).is_err());
    }
}
