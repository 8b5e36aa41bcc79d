//! `cargo xtask release`: all of a release but the release.
//!
//! It publishes nothing and changes nothing: it goes through what a registry, its readers and the users of the version
//! before will meet. That every check passes, `cargo xtask test`, it takes for granted.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, bail, ensure};

use crate::published::{self, NAMES};
use crate::steps::{Nothing, Steps};
use crate::tools::{DENY, SEMVER_CHECKS};
use crate::workspace::{self, cargo, command, output, shown, target};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The revision to compare the interface with; the latest tag `v*` unless given
    #[arg(long, value_name = "REV")]
    baseline: Option<String>,
    /// Also with changes that are not committed
    #[arg(long)]
    allow_dirty: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let version = published::version()?;
    let mut steps = Steps::default();
    steps.step("changelog", &[], || changelog(&version));
    steps.step("dry-run", &[], || dry_run(args.allow_dirty));
    steps.step("packaged", &[], || packaged(&version));
    steps.step("semver", &[], || semver(args.baseline.as_deref()));
    steps.step("advisories", &[DENY], advisories);
    steps.summarise()?;
    println!("to release it: `cargo publish --workspace`, then `git tag v{version}`");
    Ok(())
}

fn changelog(version: &str) -> Result<()> {
    let text = fs::read_to_string(workspace::root().join("CHANGELOG.md"))?;
    if !text.lines().any(|line| line.starts_with(&format!("## [{version}]"))) {
        bail!(Nothing(format!("what is new in {version} is still under [Unreleased]")));
    }
    Ok(())
}

/// What cargo says of a dry run that is as it should be: tests stay behind, and nothing is uploaded.
const EXPECTED: [&str; 2] = ["warning: ignoring test `", "warning: aborting upload due to dry run"];

/// Packages every crate, builds each from its package and from those of the others, and asks the registry, without
/// a word of warning.
fn dry_run(allow_dirty: bool) -> Result<()> {
    let mut publish = cargo(["publish", "--workspace", "--dry-run", "--locked"]);
    if allow_dirty {
        publish.arg("--allow-dirty");
    }
    println!("$ {}", shown(&publish));
    let ended = publish.output().context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    let (expected, rest): (Vec<_>, Vec<_>) =
        said.lines().partition(|line| EXPECTED.iter().any(|known| line.starts_with(known)));
    println!(
        "{}\n(and {} lines of tests that stay here and of uploads that are not done)",
        rest.join("\n"),
        expected.len()
    );
    ensure!(ended.status.success(), "{} ended with {}", shown(&publish), ended.status);
    for name in NAMES {
        let uploading = format!("Uploading {name} v");
        ensure!(
            rest.iter().any(|line| line.trim_start().starts_with(&uploading)),
            "{name} is not among them"
        );
    }
    let warnings = rest.iter().filter(|line| line.starts_with("warning")).count();
    ensure!(warnings == 0, "{warnings} warnings");
    Ok(())
}

/// The tests and examples that each package carries, run in the package as a user would unpack it.
fn packaged(version: &str) -> Result<()> {
    let folder = |name: &str| -> PathBuf { target().join("package").join(format!("{name}-{version}")) };
    for (number, name) in NAMES.iter().enumerate() {
        let manifest = folder(name).join("Cargo.toml");
        ensure!(manifest.is_file(), "the dry run left no {}", manifest.display());
        let mut test = cargo(["test", "--quiet", "--all-features"]);
        test.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target().join("packaged"));
        // The first two are what the others are built on, and are in no registry yet.
        for other in NAMES.iter().take(number.min(2)) {
            test.arg("--config").arg(format!("patch.crates-io.{other}.path='{}'", folder(other).display()));
        }
        workspace::run(&mut test)?;
    }
    Ok(())
}

fn semver(baseline: Option<&str>) -> Result<()> {
    let tags = output(command("git").args(["tag", "--list", "v*", "--sort=-version:refname"]))?;
    let Some(baseline) = baseline.or_else(|| tags.lines().next()) else {
        bail!(Nothing("there is no release yet: no tag `v*` to compare with, and no --baseline".into()));
    };
    SEMVER_CHECKS.require().map_err(Error::msg)?;
    let mut check = cargo(["semver-checks", "check-release", "--baseline-rev", baseline]);
    check.args(NAMES.iter().flat_map(|name| ["--package", name]));
    workspace::run(&mut check)
}

fn advisories() -> Result<()> {
    if let Err(error) = workspace::run(&mut cargo(["deny", "fetch", "db"])) {
        bail!(Nothing(format!("the advisory database cannot be reached: {error:#}")));
    }
    workspace::run(&mut cargo(["deny", "--locked", "check", "advisories"]))
}
