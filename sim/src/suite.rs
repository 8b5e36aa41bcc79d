//! Plans as a test suite: each is run, judged, held to its ranges, and compared with its snapshot.
//!
//! A snapshot is the text of the report, to the byte: whatever changes in a run, somebody sees it and says that it is
//! meant. It is beside the plan, and the plan says with `accepted` why it is what it is; without that there is none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::findings::Findings;
use crate::plan::{Plan, PlanError};
use crate::plan_file::{self, PlanFileError};
use crate::report::plan_text;

/// What became of the snapshot.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Snapshot {
    /// The plan wants none.
    None,
    /// It is the same.
    Same,
    /// It was written.
    Accepted,
    /// There is none, and the plan wants one.
    Missing,
    /// It differs, first in this line.
    Differs {
        /// From 1.
        line: usize,
        /// What the run says there.
        found: String,
        /// What the snapshot says.
        snapshot: String,
    },
}

/// One plan, run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The plan.
    pub plan: Plan,
    /// What the run showed.
    pub findings: Findings,
    /// The report.
    pub text: String,
    /// How it compares.
    pub snapshot: Snapshot,
}

impl Outcome {
    /// Everything that is not as it should be, one line each: what, found, allowed. Empty if all is well.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let findings = &self.findings;
        let name = &findings.plan;
        let rules = findings.violations.iter().map(|broken| {
            format!("{name}: rule {} broken at {} ns: {}", broken.rule, broken.at_ns, broken.detail)
        });
        let more = findings.violation_count - crate::num::count(findings.violations.len());
        let more = (more > 0).then(|| format!("{name}: and {more} more broken rules"));
        let ranges = findings.checks.iter().filter(|check| !check.pass).map(|check| {
            let found = plan_text::figure(check.found);
            format!("{name}:{}: {} is {found}, allowed is {}", check.line, check.what, check.allowed)
        });
        let snapshot = match &self.snapshot {
            Snapshot::Missing => Some(format!("{name}: there is no snapshot; --accept writes it")),
            Snapshot::Differs { line, found, snapshot } => Some(format!(
                "{name}: snapshot line {line} is {snapshot:?}, the run says {found:?}; \
                 --accept takes it, with a reason in the plan"
            )),
            Snapshot::None | Snapshot::Same | Snapshot::Accepted => None,
        };
        rules.chain(more).chain(ranges).chain(snapshot).collect()
    }
}

/// Runs one plan. With `accept` the snapshot is rewritten, unless a rule was broken. `progress` hears the simulated time
/// and the duration of the plan, nanoseconds, now and then.
///
/// # Errors
/// [`PlanError`] for a bad plan, and for a snapshot whose plan does not say why it is what it is.
pub fn run(path: &Path, accept: bool, mut progress: impl FnMut(u64, u64)) -> Result<Outcome, PlanError> {
    let plan = Plan::open(path)?;
    let file = plan.snapshot_path();
    if plan.accepted.is_none() && (accept || file.exists()) {
        return Err(PlanError::NoReason { file: path.display().to_string() });
    }
    let findings = Findings::of(&plan, |now_ns| progress(now_ns, plan.duration_ns))?;
    let text = plan_text::render(&findings);
    let io = |source| PlanFileError::io(&file, source);
    let snapshot = if plan.accepted.is_none() {
        Snapshot::None
    } else if accept && findings.violation_count == 0 {
        fs::write(&file, &text).map_err(io)?;
        Snapshot::Accepted
    } else if file.exists() {
        compare(&text, &fs::read_to_string(&file).map_err(io)?)
    } else {
        Snapshot::Missing
    };
    Ok(Outcome { plan, findings, text, snapshot })
}

fn compare(text: &str, snapshot: &str) -> Snapshot {
    if text == snapshot {
        return Snapshot::Same;
    }
    let (mut found, mut old) = (text.lines(), snapshot.lines());
    let mut line = 1;
    loop {
        match (found.next(), old.next()) {
            (Some(found), Some(old)) if found == old => line += 1,
            // Only the ends of lines differ.
            (None, None) => {
                let (found, snapshot) = ("the end".to_owned(), "other line ends".to_owned());
                return Snapshot::Differs { line, found, snapshot };
            }
            (found, old) => {
                let or_end = |text: Option<&str>| text.unwrap_or("the end").to_owned();
                return Snapshot::Differs { line, found: or_end(found), snapshot: or_end(old) };
            }
        }
    }
}

/// The plans in a directory, by name.
///
/// # Errors
/// [`PlanError`] if it cannot be read or has none.
pub fn plans(directory: &Path) -> Result<Vec<PathBuf>, PlanError> {
    Ok(plan_file::all(directory)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_differs_says_where_and_how() {
        assert_eq!(compare("a\nb\n", "a\nb\n"), Snapshot::Same);
        let differs = |line, found: &str, snapshot: &str| Snapshot::Differs {
            line,
            found: found.to_owned(),
            snapshot: snapshot.to_owned(),
        };
        assert_eq!(compare("a\nb\n", "a\nc\n"), differs(2, "b", "c"));
        assert_eq!(compare("a\n", "a\nb\n"), differs(2, "the end", "b"));
        assert_eq!(compare("a\nb\n", "a\n"), differs(2, "b", "the end"));
        assert_eq!(compare("a\n", "a\r\n"), differs(2, "the end", "other line ends"));
    }
}
