//! Named steps, one after another, and what became of each.
//!
//! All steps run, whatever fails, so that one run tells everything; the summary at the end repeats each failure. A
//! step that lacks a tool is skipped and listed, except where nobody watches (`CI=true`): there it fails.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use anyhow::{Error, Result, bail};

use crate::tools::Tool;
use crate::workspace::unattended;

/// What a step ends with that has nothing to look at, and why.
#[derive(Debug)]
pub(crate) struct Nothing(pub(crate) String);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Nothing {}

enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

/// The steps of one run so far.
#[derive(Default)]
pub(crate) struct Steps(Vec<(&'static str, Verdict, Duration)>);

impl Steps {
    pub(crate) fn step(&mut self, name: &'static str, needs: &[Tool], run: impl FnOnce() -> Result<()>) {
        println!("\n== {name} ==");
        let started = Instant::now();
        let verdict = judge(needs, run);
        match &verdict {
            Verdict::Passed => {}
            Verdict::Failed(why) => println!("FAILED {name}: {why}"),
            Verdict::Skipped(why) => println!("SKIP {name}: {why}"),
        }
        self.0.push((name, verdict, started.elapsed()));
    }

    /// The closing lines: one per step, then the counts alone on a line.
    ///
    /// # Errors
    /// A step failed.
    pub(crate) fn summarise(&self) -> Result<()> {
        println!("\n== summary ==");
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for (name, verdict, took) in &self.0 {
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
            bail!("{failed} of {} checks failed", self.0.len());
        }
        Ok(())
    }
}

fn judge(needs: &[Tool], run: impl FnOnce() -> Result<()>) -> Verdict {
    for tool in needs {
        match tool.require() {
            Ok(()) => {}
            Err(why) if unattended() => return Verdict::Failed(why),
            Err(why) => return Verdict::Skipped(why),
        }
    }
    match run().map_err(Error::downcast::<Nothing>) {
        Ok(()) => Verdict::Passed,
        Err(Ok(Nothing(why))) => Verdict::Skipped(why),
        Err(Err(error)) => Verdict::Failed(format!("{error:#}")),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn one_failure_fails_the_run_and_a_skip_does_not() {
        let mut steps = Steps::default();
        steps.step("a", &[], || Ok(()));
        steps.step("b", &[], || Err(Nothing("no release".into()).into()));
        assert!(steps.summarise().is_ok());
        steps.step("c", &[], || Err(anyhow!("why")));
        steps.step("d", &[], || Ok(()));
        assert!(steps.summarise().is_err());
    }
}
