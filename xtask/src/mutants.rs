//! Mutants of the whole core: cargo-mutants breaks it in every way it knows, and a test must notice.
//!
//! Building is what a mutant costs. So it meets the tests of its own module first, and only what they let through meets
//! all tests of the core. What survives that is a hole in the tests, or the same program in other words: those are
//! listed, each with the reason, in `proofs/equivalent-mutants.toml`, and meet only the tests of their module. A survivor
//! that is not there fails the command, and so does an entry that is caught or that is gone. What is not tried at all,
//! and why, is in `.cargo/mutants.toml`.

mod known;
mod modules;
mod outcome;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use self::known::Known;
use self::modules::Module;
use self::outcome::{Mutant, Outcomes, Tally};
use crate::tools;
use crate::workspace::{cargo, root, shown, target};

/// Seconds that all tests of the core may take before they count as not ending; they take less than half.
const LONGEST: &str = "300";
/// All tests of the core. The models are tests too, and empty without their flag.
const ALL: [&str; 1] = ["--tests"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these modules, by the names that `--list` prints
    modules: Vec<String>,
    /// The k-th of n parts of each module's mutants, from 0: every n-th, which is a sample too
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Mutants at once; each has a copy of the workspace and of what is built
    #[arg(long, default_value = "1")]
    jobs: String,
    /// Lists the modules and the tests that belong to each
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let known = Known::read(&root().join(known::FILE))?;
    let chosen = modules::chosen(&args.modules)?;
    if args.list {
        for module in &chosen {
            println!("{:<12} {}", module.name, module.tests.join(" "));
        }
        return Ok(());
    }
    tools::CARGO_MUTANTS.require().map_err(anyhow::Error::msg)?;
    let mut whole = Tally::default();
    let mut faults = Vec::new();
    for (index, module) in chosen.iter().enumerate() {
        println!("{} ({} of {})", module.name, index + 1, chosen.len());
        let outcomes = tried(module, args, &known)?;
        let files = |file: &str| module.holds(file);
        faults.extend(known.faults(&outcomes, files, args.shard.is_some()));
        let tally = Tally::of(&outcomes, &known);
        println!("{} {tally}", module.name);
        whole += tally;
    }
    println!("{}of {} modules {whole}", if args.shard.is_some() { "a sample " } else { "" }, chosen.len());
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Tries a module's mutants: with its own tests, and the survivors that nobody knows with all.
fn tried(module: &Module, args: &Args, known: &Known) -> Result<Outcomes> {
    let place = target().join("mutants-core").join(module.name);
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
    }
    fs::create_dir_all(&place)?;
    let own: Vec<String> = module.tests.iter().map(|test| format!("--test={test}")).collect();
    let own = ["--lib"].into_iter().chain(own.iter().map(String::as_str));
    let drawn = args.shard.iter().flat_map(|shard| ["--shard", shard, "--sharding=round-robin"]);
    let mut outcomes = pass(module, args, &place, own, drawn)?;
    // By name, since a shard of what is left would be others.
    let left: Vec<String> = outcomes.survivors().filter(|mutant| !known.lists(mutant)).map(exactly).collect();
    if !left.is_empty() {
        let named = left.iter().flat_map(|name| ["--re", name]);
        let skipping = ["--baseline=skip", "--timeout", LONGEST].into_iter();
        let second = pass(module, args, &place, ALL, skipping.chain(named))?;
        // Mutants of a struct's fields come along, whatever the pattern; they are no harm.
        let missing = left.iter().find(|name| !second.iter().any(|(mutant, _)| exactly(mutant) == **name));
        ensure!(missing.is_none(), "not tried again: {}", missing.map_or("", String::as_str));
        outcomes.corrected_by(second);
    }
    Ok(outcomes)
}

/// A pattern for this mutant and no other.
fn exactly(mutant: &Mutant) -> String {
    format!("^{}$", regex_syntax::escape(&mutant.to_string()))
}

fn pass<'a>(
    module: &Module,
    args: &Args,
    place: &Path,
    tests: impl IntoIterator<Item = &'a str>,
    more: impl IntoIterator<Item = &'a str>,
) -> Result<Outcomes> {
    let mut mutants = cargo(["mutants", "--package=tollgate", "--no-shuffle", "--jobs"]);
    mutants.arg(&args.jobs).arg("--output").arg(place).args(more);
    mutants.args(module.files.iter().map(|file| format!("--file=core/src/{file}")));
    mutants.args(tests.into_iter().map(|test| format!("--cargo-arg={test}")));
    if args.jobs == "1" {
        // What is built once is there for the next module too.
        mutants.env("CARGO_TARGET_DIR", target().join("mutants-core/build"));
    }
    mutants.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // The same cases for each mutant; and the first that fails is enough.
    mutants.envs([("PROPTEST_RNG_SEED", "1"), ("PROPTEST_MAX_SHRINK_ITERS", "0"), ("RUST_BACKTRACE", "0")]);
    println!("$ {}", shown(&mutants));
    let status = mutants.status().context("cannot start cargo-mutants")?;
    // 2: some survived; 3: some did not end.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("{} ended with {status}", shown(&mutants));
    }
    Outcomes::read(&place.join("mutants.out/outcomes.json"))
}

#[cfg(test)]
mod tests {
    use super::modules::MODULES;
    use super::*;

    #[test]
    fn a_mutant_is_named_so_that_no_other_is() {
        let mutant = Mutant {
            file: "core/src/a.rs".into(),
            place: "2:6".into(),
            what: "replace <impl A<T> for B>::c -> Option<u8> with Some(0)".into(),
            line: String::new(),
        };
        let expected = r"^core/src/a\.rs:2:6: replace <impl A<T> for B>::c \-> Option<u8> with Some\(0\)$";
        assert_eq!(exactly(&mutant), expected);
    }

    /// Every source file under `folder`, from the workspace's directory.
    fn sources(folder: &Path, files: &mut Vec<String>) -> Result<()> {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.is_dir() {
                sources(&path, files)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path.strip_prefix(root())?.to_string_lossy().replace('\\', "/"));
            }
        }
        Ok(())
    }

    #[test]
    fn every_file_of_the_core_belongs_to_one_module() {
        let mut files = Vec::new();
        sources(&root().join("core/src"), &mut files).unwrap();
        for file in &files {
            let owners: Vec<&str> =
                MODULES.iter().filter(|module| module.holds(file)).map(|module| module.name).collect();
            assert_eq!(owners.len(), 1, "{file} belongs to {owners:?}");
        }
        assert!(files.len() > 100, "{}", files.len());
    }

    #[test]
    fn every_test_that_a_module_names_exists() {
        for module in MODULES {
            for test in module.tests {
                let tests = root().join("core/tests");
                let there =
                    tests.join(format!("{test}.rs")).exists() || tests.join(test).join("main.rs").exists();
                assert!(there, "{}: {test}", module.name);
            }
        }
    }
}
