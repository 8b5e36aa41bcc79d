//! The benches as a program: built, asked for their groups, run, and what they measured kept by group.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::machine;
use super::record::{self, Record};
use crate::workspace::{self, command, output, target};

/// One group, as it was measured in one go.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Kept {
    pub(super) group: String,
    pub(super) ended: Timestamp,
    pub(super) seconds: f64,
    /// Programs that were running, on average over the minute before.
    pub(super) load: f64,
    pub(super) records: Vec<Record>,
}

pub(super) struct Bench {
    program: PathBuf,
    groups: Vec<String>,
    log: PathBuf,
}

impl Bench {
    pub(super) fn build() -> Result<Self> {
        println!("building the benches");
        let program = workspace::benches()?;
        let listed = output(command(&program).args(["--bench", "--list"]))?;
        let groups = groups(&listed);
        ensure!(!groups.is_empty(), "the benches list nothing");
        let log = target().join("bench-report.log");
        File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        Ok(Self { program, groups, log })
    }

    /// What a filter matches; kept if that is a group.
    pub(super) fn measure(&self, filter: &str) -> Result<Vec<Record>> {
        if self.groups.iter().any(|group| group == filter) {
            return Ok(self.group(filter)?.records);
        }
        self.run(filter)
    }

    /// Every group; when a run is taken up again, those that are kept are not measured.
    pub(super) fn measure_all(&self, resume: bool) -> Result<Vec<Kept>> {
        let count = self.groups.len();
        let mut all = Vec::new();
        for (number, group) in (1..).zip(&self.groups) {
            if resume && let Some(kept) = self.kept(group)? {
                println!("{group}: kept, measured {:.0}", kept.ended);
                all.push(kept);
                continue;
            }
            println!("{group}: {number} of {count}");
            all.push(self.group(group)?);
        }
        Ok(all)
    }

    fn group(&self, group: &str) -> Result<Kept> {
        let (clock, load) = (Instant::now(), machine::load());
        let records = self.run(&format!("^{group}/"))?;
        let seconds = clock.elapsed().as_secs_f64();
        let kept = Kept { group: group.to_owned(), ended: Timestamp::now(), seconds, load, records };
        let path = place(group);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        super::write(&path, &serde_json::to_string(&kept)?)?;
        println!("{group}: {seconds:.0} s");
        Ok(kept)
    }

    /// What this very program measured, if it did.
    fn kept(&self, group: &str) -> Result<Option<Kept>> {
        let path = place(group);
        let changed = |path: &Path| path.metadata().and_then(|file| file.modified());
        let built = changed(&self.program).context("the benches are gone")?;
        if !changed(&path).is_ok_and(|kept| kept > built) {
            return Ok(None);
        }
        let text = super::read(&path)?;
        serde_json::from_str(&text).map(Some).with_context(|| format!("{} cannot be read", path.display()))
    }

    /// Runs the benches, what criterion prints going to a file of its own.
    fn run(&self, filter: &str) -> Result<Vec<Record>> {
        let criterion = target().join("criterion");
        let started = SystemTime::now();
        let log = File::options()
            .append(true)
            .open(&self.log)
            .with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut bench: Command = command(&self.program);
        bench.args(["--bench", "--noplot", filter]).env("CRITERION_HOME", &criterion);
        bench.stdout(log.try_clone()?).stderr(log);
        workspace::run(&mut bench).with_context(|| format!("see {}", self.log.display()))?;
        record::read(&criterion, started)
    }
}

fn place(group: &str) -> PathBuf {
    target().join("bench-report").join(format!("{group}.json"))
}

/// The first parts of the names, in the order in which they are measured.
fn groups(listed: &str) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for line in listed.lines().filter(|line| line.ends_with(": benchmark")) {
        if let Some((group, _)) = line.split_once('/')
            && !groups.iter().any(|known| known == group)
        {
            groups.push(group.to_owned());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_first_parts_of_what_is_listed_once_each() {
        let listed = "b/x/t1/n1/tollgate/0: benchmark\nb/x/t1/n1/floor/0: benchmark\na/y/t1/n1/tollgate/0: benchmark\n\nnonsense/…\n";
        assert_eq!(groups(listed), ["b", "a"]);
    }
}
