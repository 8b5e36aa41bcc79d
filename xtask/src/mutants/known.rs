//! Survivors that are no hole in the tests, as `proofs/equivalent-mutants.toml` lists them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::outcome::{Fate, Mutant, Outcomes};

pub(super) const FILE: &str = "proofs/equivalent-mutants.toml";

/// One of them. Without a line number, which every change of the file would move.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// From the workspace's directory.
    pub(super) file: String,
    /// What cargo-mutants calls it.
    pub(super) mutant: String,
    /// The line it is in, without the space around it: one function may have the same mutant twice.
    pub(super) line: String,
    /// Why no test can notice, or what a test would have to do.
    pub(super) reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    /// The same program in other words.
    #[serde(default)]
    equivalent: Vec<Entry>,
    /// Holes that are known.
    #[serde(default)]
    open: Vec<Entry>,
}

impl Known {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let known: Self = toml::from_str(text)?;
        for (index, entry) in known.entries().enumerate() {
            ensure!(!entry.reason.trim().is_empty(), "{} has no reason", entry.mutant);
            let twice = known.entries().take(index).any(|other| other.names_what(entry));
            ensure!(!twice, "{} is listed twice", entry.mutant);
        }
        Ok(known)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.equivalent.iter().chain(&self.open)
    }

    pub(super) fn lists(&self, mutant: &Mutant) -> bool {
        self.entries().any(|entry| entry.is(mutant))
    }

    /// Survivors that are not listed; and, of the entries in these files, those that were caught or are gone. In a
    /// sample, what was not drawn is not gone.
    pub(super) fn faults(
        &self,
        outcomes: &Outcomes,
        files: impl Fn(&str) -> bool,
        sample: bool,
    ) -> Vec<String> {
        let unlisted = outcomes.survivors().filter(|mutant| !self.lists(mutant));
        let mut faults: Vec<String> =
            unlisted.map(|mutant| format!("no test noticed, and it is not listed: {mutant}")).collect();
        for entry in self.entries().filter(|entry| files(&entry.file)) {
            let mut fates = outcomes.iter().filter(|(mutant, _)| entry.is(mutant)).map(|(_, fate)| fate);
            let Some(first) = fates.next() else {
                if !sample {
                    faults.push(format!("it is listed, and gone: {}: {}", entry.file, entry.mutant));
                }
                continue;
            };
            if first != Fate::Survived && !fates.any(|fate| fate == Fate::Survived) {
                faults.push(format!("it is listed, and a test notices: {}: {}", entry.file, entry.mutant));
            }
        }
        faults
    }
}

impl Entry {
    fn is(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.mutant == mutant.what && self.line == mutant.line
    }

    fn names_what(&self, other: &Self) -> bool {
        (&self.file, &self.mutant, &self.line) == (&other.file, &other.mutant, &other.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    const LIST: &str = r#"
        [[equivalent]]
        file = "core/src/num.rs"
        mutant = "replace > with >= in narrow"
        line = "if value > 7 { 7 } else { value }"
        reason = "at 7 both say 7"
    "#;

    fn mutant(what: &str) -> Mutant {
        Mutant {
            file: "core/src/num.rs".to_owned(),
            place: "4:6".to_owned(),
            what: what.to_owned(),
            line: "if value > 7 { 7 } else { value }".to_owned(),
        }
    }

    fn faults(fates: &[(&str, Fate)], sample: bool) -> Vec<String> {
        let outcomes = fates.iter().map(|&(what, fate)| (mutant(what), fate)).collect();
        Known::parse(LIST).unwrap().faults(&outcomes, |file| file.starts_with("core/"), sample)
    }

    #[test]
    fn a_survivor_has_to_be_listed() {
        let listed = ("replace > with >= in narrow", Fate::Survived);
        assert_eq!(faults(&[listed], false), [""; 0]);
        assert_eq!(
            faults(&[listed, ("replace > with < in narrow", Fate::Survived)], false),
            ["no test noticed, and it is not listed: core/src/num.rs:4:6: replace > with < in narrow"]
        );
    }

    #[test]
    fn what_is_listed_has_to_be_there_and_to_survive() {
        let name = "core/src/num.rs: replace > with >= in narrow";
        assert_eq!(
            faults(&[("replace > with >= in narrow", Fate::Caught)], true),
            [format!("it is listed, and a test notices: {name}")]
        );
        assert_eq!(faults(&[], false), [format!("it is listed, and gone: {name}")]);
        assert_eq!(faults(&[], true), [""; 0]);
    }

    #[test]
    fn an_entry_needs_a_reason_and_is_listed_once() {
        assert!(Known::parse(&LIST.replace("at 7 both say 7", " ")).is_err());
        assert!(Known::parse(&LIST.repeat(2)).is_err());
    }

    #[test]
    fn what_the_list_names_is_in_the_source() {
        for entry in Known::read(&root().join(FILE)).unwrap().entries() {
            let text = fs::read_to_string(root().join(&entry.file)).unwrap();
            assert!(text.lines().any(|line| line.trim() == entry.line), "{}: {}", entry.file, entry.line);
        }
    }
}
