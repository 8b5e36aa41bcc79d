//! What became of each mutant, from what cargo-mutants writes down.

use core::fmt;
use core::ops::AddAssign;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::known::Known;
use crate::workspace::root;

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Mutant {
    pub(super) file: String,
    /// Line and column.
    pub(super) place: String,
    pub(super) what: String,
    /// The line of source, without the space around it.
    pub(super) line: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    Caught,
    /// A test did not end, which a person would notice too.
    Endless,
    Survived,
    /// It does not compile.
    Unviable,
}

#[derive(Debug, Default)]
pub(super) struct Outcomes(BTreeMap<Mutant, Fate>);

impl Outcomes {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let source = |file: &str| fs::read_to_string(root().join(file)).unwrap_or_default();
        Self::parse(&text, source).with_context(|| path.display().to_string())
    }

    fn parse(text: &str, source: impl Fn(&str) -> String) -> Result<Self> {
        let report: Report = serde_json::from_str(text)?;
        let mut sources = BTreeMap::new();
        let mut outcomes = Self::default();
        for Outcome { scenario, summary } in report.outcomes {
            let fate = match summary.as_str() {
                "CaughtMutant" => Fate::Caught,
                "Timeout" => Fate::Endless,
                "MissedMutant" => Fate::Survived,
                "Unviable" => Fate::Unviable,
                _ => continue,
            };
            let Scenario::Mutant(named) = scenario else { continue };
            // `file:line:column: what`
            let mut parts = named.name.splitn(4, ':');
            let (Some(file), Some(line), Some(column), Some(what)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let text = sources.entry(file.to_owned()).or_insert_with(|| source(file));
            let index: usize = line.parse().context("a line number")?;
            let mutant = Mutant {
                file: file.to_owned(),
                place: format!("{line}:{column}"),
                what: what.trim().to_owned(),
                line: text.lines().nth(index.saturating_sub(1)).unwrap_or_default().trim().to_owned(),
            };
            outcomes.0.insert(mutant, fate);
        }
        Ok(outcomes)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Mutant, Fate)> {
        self.0.iter().map(|(mutant, fate)| (mutant, *fate))
    }

    pub(super) fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.iter().filter(|(_, fate)| *fate == Fate::Survived).map(|(mutant, _)| mutant)
    }

    /// Takes what a second try, of some of them, found.
    pub(super) fn corrected_by(&mut self, second: Self) {
        self.0.extend(second.0);
    }
}

impl FromIterator<(Mutant, Fate)> for Outcomes {
    fn from_iter<I: IntoIterator<Item = (Mutant, Fate)>>(outcomes: I) -> Self {
        Self(outcomes.into_iter().collect())
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.place, self.what)
    }
}

/// How many of each.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Tally {
    caught: u32,
    endless: u32,
    listed: u32,
    unlisted: u32,
    unviable: u32,
}

impl Tally {
    pub(super) fn of(outcomes: &Outcomes, known: &Known) -> Self {
        let mut tally = Self::default();
        for (mutant, fate) in outcomes.iter() {
            let count = match fate {
                Fate::Caught => &mut tally.caught,
                Fate::Endless => &mut tally.endless,
                Fate::Survived if known.lists(mutant) => &mut tally.listed,
                Fate::Survived => &mut tally.unlisted,
                Fate::Unviable => &mut tally.unviable,
            };
            *count += 1;
        }
        tally
    }

    /// Of all that compile, those that a test noticed; the listed ones count against it.
    fn score(&self) -> f64 {
        let noticed = self.caught + self.endless;
        let all = noticed + self.listed + self.unlisted;
        if all == 0 { 1.0 } else { f64::from(noticed) / f64::from(all) }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.caught += other.caught;
        self.endless += other.endless;
        self.listed += other.listed;
        self.unlisted += other.unlisted;
        self.unviable += other.unviable;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caught, endless, listed, unlisted, unviable } = self;
        write!(
            f,
            "score {:.3}: {caught} caught, {endless} did not end, {listed} survived and are listed, \
             {unlisted} survived and are not; {unviable} do not compile",
            self.score()
        )
    }
}

#[derive(Deserialize)]
struct Report {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: String,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Named),
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{ "outcomes": [
        { "scenario": "Baseline", "summary": "Success" },
        { "scenario": { "Mutant": { "name": "core/src/a.rs:2:6: replace f -> u8 with 0" } }, "summary": "CaughtMutant" },
        { "scenario": { "Mutant": { "name": "core/src/a.rs:2:6: replace f -> u8 with 1" } }, "summary": "MissedMutant" },
        { "scenario": { "Mutant": { "name": "core/src/a.rs:3:1: replace a::b with ()" } }, "summary": "Timeout" }
    ] }"#;

    fn parsed() -> Outcomes {
        Outcomes::parse(REPORT, |_| "one\n  two\nthree\n".to_owned()).unwrap()
    }

    #[test]
    fn a_mutant_is_known_by_its_place_and_its_line() {
        let outcomes = parsed();
        let survivor = outcomes.survivors().next().unwrap();
        assert_eq!(survivor.to_string(), "core/src/a.rs:2:6: replace f -> u8 with 1");
        assert_eq!(survivor.line, "two");
        assert_eq!(outcomes.iter().last().unwrap().0.what, "replace a::b with ()");
    }

    #[test]
    fn a_second_try_takes_the_place_of_the_first() {
        let mut outcomes = parsed();
        assert_eq!(outcomes.survivors().count(), 1);
        outcomes.corrected_by(outcomes.survivors().cloned().map(|mutant| (mutant, Fate::Caught)).collect());
        assert_eq!(outcomes.survivors().count(), 0);
        assert_eq!(outcomes.iter().count(), 3);
    }

    #[test]
    fn survivors_count_against_the_score_and_what_does_not_end_counts_for_it() {
        let tally = Tally::of(&parsed(), &Known::default());
        assert_eq!(tally, Tally { caught: 1, endless: 1, unlisted: 1, ..Tally::default() });
        assert!(tally.to_string().starts_with("score 0.667: "), "{tally}");
        assert_eq!(Tally::default().score(), 1.0);
    }
}
