//! Mutants of the lock-free code: each weakens one ordering or removes one re-check, and a loom model must notice.
//!
//! A model that cannot fail proves nothing. So each mutant in [`list`] is put into a copy of the workspace, never
//! into the work tree, and the models are run on the copy: one of them has to fail, and is named. A mutant that no
//! model kills fails the command; so does one whose pattern is no longer in the source exactly once.

mod list;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::loom::{self, Models};
use crate::workspace::{root, target};

/// A file, and the models that are to notice when it is broken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    /// From the workspace's directory.
    pub(crate) file: &'static str,
    /// Whose models.
    pub(crate) of: Models,
    /// The test target.
    pub(crate) models: &'static str,
}

/// One way to break the code.
#[derive(Debug)]
pub(crate) struct Mutant {
    /// What is broken, in words.
    pub(crate) name: &'static str,
    /// Where.
    pub(crate) code: Code,
    /// Text that is in the file exactly once.
    pub(crate) from: &'static str,
    /// What to put in its place.
    pub(crate) to: &'static str,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only mutants whose name contains this
    filter: Option<String>,
    /// Lists the mutants instead of trying them
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let filter = args.filter.as_deref().unwrap_or("");
    let chosen: Vec<&Mutant> = list::MUTANTS.iter().filter(|mutant| mutant.name.contains(filter)).collect();
    ensure!(!chosen.is_empty(), "no mutant's name contains {filter:?}");
    for mutant in &chosen {
        mutant.applied(root())?;
        if args.list {
            println!("{:<60} {}", mutant.name, mutant.code.file);
        }
    }
    if args.list {
        return Ok(());
    }

    let copy = Copy::lay(&target().join("mutants"))?;
    println!("the models on the unchanged copy");
    let models: BTreeSet<(Models, &str)> =
        chosen.iter().map(|mutant| (mutant.code.of, mutant.code.models)).collect();
    for (of, models) in models {
        if let Fate::Killed(by) = copy.try_models(of, models)? {
            bail!("{by} fails on the unchanged code, so it tells nothing about mutants");
        }
    }
    let mut survivors = Vec::new();
    for (index, mutant) in chosen.iter().enumerate() {
        let started = Instant::now();
        let fate = copy.with(mutant, |copy| copy.try_models(mutant.code.of, mutant.code.models))?;
        let verdict = match &fate {
            Fate::Killed(by) => format!("killed by {by}"),
            Fate::Survived => "SURVIVED".to_owned(),
        };
        println!(
            "{:>3}/{} {:<60} {verdict} ({:.0} s)",
            index + 1,
            chosen.len(),
            mutant.name,
            started.elapsed().as_secs_f64()
        );
        if matches!(fate, Fate::Survived) {
            survivors.push(mutant.name);
        }
    }
    println!("{} mutants, {} killed", chosen.len(), chosen.len() - survivors.len());
    if !survivors.is_empty() {
        bail!("no model noticed: {}", survivors.join("; "));
    }
    Ok(())
}

impl Mutant {
    /// The mutated text of the file.
    fn applied(&self, workspace: &Path) -> Result<String> {
        let path = workspace.join(self.code.file);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{}: cannot read {}", self.name, self.code.file))?;
        let found = text.matches(self.from).count();
        ensure!(
            found == 1,
            "{}: its pattern is {found} times in {}, not once:\n{}",
            self.name,
            self.code.file,
            self.from
        );
        ensure!(self.from != self.to, "{}: it changes nothing", self.name);
        Ok(text.replacen(self.from, self.to, 1))
    }
}

enum Fate {
    Killed(String),
    Survived,
}

/// A copy of the workspace in which files may be broken.
struct Copy {
    workspace: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Copies what building the models takes.
    fn lay(place: &Path) -> Result<Self> {
        let workspace = place.join("workspace");
        if workspace.exists() {
            fs::remove_dir_all(&workspace)
                .with_context(|| format!("cannot remove {}", workspace.display()))?;
        }
        copy_tree(root(), &workspace)?;
        Ok(Self { workspace, target: place.join("target") })
    }

    /// Does something while `mutant` is in place.
    fn with<T>(&self, mutant: &Mutant, act: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let path = self.workspace.join(mutant.code.file);
        let original = fs::read(&path)?;
        fs::write(&path, mutant.applied(&self.workspace)?)?;
        let result = act(self);
        fs::write(&path, original)?;
        result
    }

    /// Runs models, and names the first that fails.
    fn try_models(&self, of: Models, models: &str) -> Result<Fate> {
        let mut models = loom::command(of, models, &self.target);
        // A failing model is expected; where it failed is of no interest.
        models.env("RUST_BACKTRACE", "0").current_dir(&self.workspace).stdin(Stdio::null());
        let output = models.output().context("cannot start cargo")?;
        if output.status.success() {
            return Ok(Fate::Survived);
        }
        let (text, complaints) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match first_failure(&text).or_else(|| aborted(&complaints)) {
            Some(model) => Ok(Fate::Killed(model.to_owned())),
            None => bail!("cargo test failed, but no model did:\n{complaints}"),
        }
    }
}

/// The first test that cargo test's output says failed.
fn first_failure(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

/// The test that panicked while it was cleaning up after a panic: that ends the program before it says who failed.
fn aborted(complaints: &str) -> Option<&str> {
    let mut panicked = complaints.lines().filter_map(|line| line.strip_prefix("thread '")?.split_once("' "));
    let (model, _) = panicked.find(|(_, what)| what.contains("panicked at"))?;
    complaints.contains("thread caused non-unwinding panic. aborting.").then_some(model)
}

/// Copies a tree, leaving out what is built, hidden or linked.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in from.read_dir().with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (source, copy) = (entry.path(), to.join(&name));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&source, &copy)?;
        } else if kind.is_file() {
            fs::copy(&source, &copy).with_context(|| format!("cannot copy {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_in_the_source_exactly_once() {
        for mutant in list::MUTANTS {
            if let Err(error) = mutant.applied(root()) {
                panic!("{error:#}");
            }
        }
    }

    #[test]
    fn no_two_mutants_share_a_name_or_a_change() {
        for (index, one) in list::MUTANTS.iter().enumerate() {
            for other in &list::MUTANTS[..index] {
                assert_ne!(one.name, other.name);
                assert_ne!(
                    (one.code.file, one.from, one.to),
                    (other.code.file, other.from, other.to),
                    "{}",
                    one.name
                );
            }
        }
    }

    #[test]
    fn the_model_that_failed_is_named() {
        let text = "running 2 tests\ntest handover ... ok\ntest the_guarded_data_is_seen ... FAILED\n";
        assert_eq!(first_failure(text), Some("the_guarded_data_is_seen"));
        assert_eq!(first_failure("test result: ok. 2 passed"), None);
    }

    #[test]
    fn a_model_that_ended_the_program_is_named_and_a_compiler_that_panicked_is_not() {
        let panicked =
            "Running x\n\nthread 'handover' (13) panicked at core/panicking.rs:1:2:\nin a destructor\n";
        let text = format!("{panicked}thread caused non-unwinding panic. aborting.\n");
        assert_eq!(aborted(&text), Some("handover"));
        assert_eq!(aborted(panicked), None);
        assert_eq!(aborted("error: aborting due to 1 previous error"), None);
    }
}
