//! Oracles that were found before, on disk.
//!
//! An oracle depends on the plan, the seed and this simulation, and on nothing that is measured against it. So it is
//! kept under a hash of the three; of the simulation the hash takes its source text, so that nobody has to remember to
//! count a version up. What is on disk is a convenience: whatever is not there, or cannot be read, is found again.

use core::hash::Hasher;
use std::fs;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;

use super::oracle::{self, Oracle};
use super::plan::Plan;
use super::requests::Requests;
use super::watch::Broken;

/// Everything a run with a fixed limit depends on.
const SOURCES: [&str; 17] = [
    include_str!("calendar.rs"),
    include_str!("chance.rs"),
    include_str!("engine.rs"),
    include_str!("engine/clients.rs"),
    include_str!("engine/door.rs"),
    include_str!("engine/ends.rs"),
    include_str!("law.rs"),
    include_str!("limiter.rs"),
    include_str!("oracle.rs"),
    include_str!("oracle/search.rs"),
    include_str!("plan.rs"),
    include_str!("plan/check.rs"),
    include_str!("recorded.rs"),
    include_str!("requests.rs"),
    include_str!("server.rs"),
    include_str!("tally.rs"),
    include_str!("wave.rs"),
];

/// Where oracles are kept.
#[derive(Clone, Debug)]
pub struct Cache(Option<PathBuf>);

impl Cache {
    /// In this directory, which is made when it is needed; nowhere with `None`.
    #[must_use]
    pub const fn new(directory: Option<PathBuf>) -> Self {
        Self(directory)
    }

    /// The oracle of `plan` under `seed`, found now or before.
    ///
    /// # Errors
    /// As [`oracle::find`].
    pub fn oracle(&self, plan: &Plan, seed: u64, requests: &Requests) -> Result<Oracle, Broken> {
        let Some(directory) = &self.0 else { return oracle::find(plan, seed, requests) };
        let path = directory.join(format!("{}-{seed}-{:016x}.json", plan.name, key(plan, seed)));
        if let Some(known) = read(&path) {
            return Ok(known);
        }
        let found = oracle::find(plan, seed, requests)?;
        keep(directory, &path, &found);
        Ok(found)
    }
}

fn key(plan: &Plan, seed: u64) -> u64 {
    let mut hasher = FnvHasher::default();
    for text in SOURCES.into_iter().chain([plan.identity().as_str()]) {
        hasher.write(text.as_bytes());
        hasher.write(&[0xff]);
    }
    hasher.write(&seed.to_le_bytes());
    hasher.finish()
}

fn read(path: &Path) -> Option<Oracle> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Under another name first: a reader never sees half of it.
fn keep(directory: &Path, path: &Path, oracle: &Oracle) {
    let Ok(bytes) = serde_json::to_vec(oracle) else { return };
    let half = path.with_extension("half");
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&half, bytes));
    // A cache that cannot be written costs time, nothing else.
    let _kept: std::io::Result<()> = written.and_then(|()| fs::rename(&half, path));
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::small;
    use super::*;

    #[test]
    fn an_oracle_found_once_is_read_the_next_time_and_a_broken_file_is_found_again() {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tmp-score-cache");
        let directory =
            std::env::var_os("CARGO_TARGET_DIR").map_or(directory, PathBuf::from).join("score-cache-test");
        let plan = small("load = 1.5");
        let requests = Requests::draw(&plan, 1);
        let cache = Cache::new(Some(directory.clone()));
        let path = directory.join(format!("{}-1-{:016x}.json", plan.name, key(&plan, 1)));
        let found = cache.oracle(&plan, 1, &requests).unwrap();
        let marked = Oracle { on_time: 1, ..found.clone() };
        fs::write(&path, serde_json::to_vec(&marked).unwrap()).unwrap();
        assert_eq!(cache.oracle(&plan, 1, &requests).unwrap(), marked);
        fs::write(&path, "{").unwrap();
        assert_eq!(cache.oracle(&plan, 1, &requests).unwrap(), found);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn another_seed_or_another_behaviour_is_another_key_and_another_range_is_not() {
        let (one, other) = (small("load = 1.5"), small("load = 1.6"));
        assert_ne!(key(&one, 1), key(&one, 2));
        assert_ne!(key(&one, 1), key(&other, 1));
        assert_ne!(key(&one, 1), key(&one.clone().quick(), 1));
        let ranged = small("load = 1.5\n[expect.vegas]\ngoodput_ratio = { min = 0.5 }");
        assert_eq!(key(&one, 1), key(&ranged, 1));
    }
}
