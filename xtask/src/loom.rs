//! How the loom models are run: their own flag, profile and target directory.
//!
//! The flag is `tollgate_loom`, because flags reach every crate of a build and others would react to `loom`. The
//! target directory is their own, because other flags would rebuild everything in the shared one.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{self, cargo, root, target};

/// Every test target that holds models.
pub(crate) const ALL: &str = "loom_*";
const FLAG: &str = "--cfg tollgate_loom";
/// How many involuntary thread switches a model explores in one run; one or two expose most races.
const PREEMPTIONS: &str = "3";

/// A crate that has models.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Models {
    package: &'static str,
    /// From the workspace's directory.
    tests: &'static str,
}

pub(crate) const CORE: Models = Models { package: "tollgate", tests: "core/tests" };
pub(crate) const FUTURES: Models = Models { package: "tollgate-async", tests: "adapters/async/tests" };

/// Runs every model.
pub(crate) fn run() -> Result<()> {
    for of in [CORE, FUTURES] {
        if models(root(), of)?.is_empty() {
            bail!("{} has no loom_*.rs: what threads share is not shown to be right", of.tests);
        }
        workspace::run(&mut command(of, ALL, &target().join("loom")))?;
    }
    Ok(())
}

/// The command that runs the models of the test targets that match `tests`, building in `target`.
pub(crate) fn command(of: Models, tests: &str, target: &Path) -> Command {
    let mut flags = env::var("RUSTFLAGS").unwrap_or_default();
    if !flags.is_empty() {
        flags.push(' ');
    }
    flags.push_str(FLAG);
    let mut test = cargo(["test", "--package", of.package, "--profile", "loom", "--test", tests]);
    test.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", target);
    if env::var_os("LOOM_MAX_PREEMPTIONS").is_none() {
        test.env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS);
    }
    test
}

/// The test files that hold models.
fn models(workspace: &Path, of: Models) -> Result<Vec<String>> {
    let tests = workspace.join(of.tests);
    if !tests.is_dir() {
        return Ok(Vec::new());
    }
    let mut models = Vec::new();
    for entry in tests.read_dir().with_context(|| format!("cannot list {}", tests.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("loom_") && name.ends_with(".rs") {
            models.push(name);
        }
    }
    Ok(models)
}
