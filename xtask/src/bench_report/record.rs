//! What criterion leaves behind, read back: one record per implementation of a case, with its time in each round.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The implementation that is compared with all others.
pub(super) const OURS: &str = "tollgate";

/// Nanoseconds per operation of one implementation, round by round.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Record {
    pub(super) group: String,
    pub(super) case: String,
    pub(super) threads: u64,
    pub(super) size: u64,
    pub(super) implementation: String,
    /// By the round's name.
    pub(super) rounds: BTreeMap<String, f64>,
}

impl Record {
    /// Whether the two may be compared.
    pub(super) fn same_case(&self, other: &Self) -> bool {
        (&self.group, &self.case, self.threads, self.size)
            == (&other.group, &other.case, other.threads, other.size)
    }

    pub(super) fn is_ours(&self) -> bool {
        self.implementation == OURS
    }

    /// The median of the rounds.
    pub(super) fn median_ns(&self) -> Option<f64> {
        let mut rounds: Vec<f64> = self.rounds.values().copied().collect();
        rounds.sort_by(f64::total_cmp);
        rounds.get(rounds.len() / 2).copied()
    }
}

/// All that criterion wrote into `directory` since `started`, in the order of its names.
pub(super) fn read(directory: &Path, started: SystemTime) -> Result<Vec<Record>> {
    let mut records: BTreeMap<(String, String, u64, u64, String), Record> = BTreeMap::new();
    let mut found = Vec::new();
    benchmarks(directory, &mut found)?;
    for place in found {
        let estimates = place.join("estimates.json");
        if estimates.metadata().and_then(|file| file.modified()).map_or(true, |written| written < started) {
            continue;
        }
        let benchmark = json(&place.join("benchmark.json"))?;
        let Some((record, round, operations)) = identify(&benchmark) else { continue };
        let estimates = json(&estimates)?;
        let median = estimates["median"]["point_estimate"]
            .as_f64()
            .with_context(|| format!("{} holds no median", place.display()))?;
        let key = (
            record.group.clone(),
            record.case.clone(),
            record.threads,
            record.size,
            record.implementation.clone(),
        );
        records.entry(key).or_insert(record).rounds.insert(round, median / operations);
    }
    Ok(records.into_values().collect())
}

/// Which implementation, case and round a benchmark is, and how many operations one iteration of it is.
fn identify(benchmark: &Value) -> Option<(Record, String, f64)> {
    let mut parts = benchmark["function_id"].as_str()?.split('/');
    let record = Record {
        group: benchmark["group_id"].as_str()?.to_owned(),
        case: parts.next()?.to_owned(),
        threads: parts.next()?.strip_prefix('t')?.parse().ok()?,
        size: parts.next()?.strip_prefix('n')?.parse().ok()?,
        implementation: parts.next()?.to_owned(),
        rounds: BTreeMap::new(),
    };
    let operations = benchmark["throughput"]["Elements"].as_f64()?;
    Some((record, benchmark["value_str"].as_str()?.to_owned(), operations))
}

/// The folders called `new` that hold a result.
fn benchmarks(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in directory.read_dir().with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        if path.ends_with("new") && path.join("estimates.json").is_file() {
            found.push(path);
        } else {
            benchmarks(&path, found)?;
        }
    }
    Ok(())
}

fn json(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_is_known_by_its_name() {
        let benchmark = serde_json::json!({
            "group_id": "permits",
            "function_id": "cycle/t2/n1/tokio",
            "value_str": "3",
            "throughput": { "Elements": 200 },
        });
        let (record, round, operations) = identify(&benchmark).unwrap();
        assert_eq!((record.group.as_str(), record.case.as_str()), ("permits", "cycle"));
        assert_eq!((record.threads, record.size, record.implementation.as_str()), (2, 1, "tokio"));
        assert_eq!((round.as_str(), operations), ("3", 200.0));
    }

    #[test]
    fn what_was_written_since_the_start_is_read_as_time_of_one_operation() {
        let folder = std::env::temp_dir().join(format!("tollgate-records-{}", std::process::id()));
        let place = folder.join("permits/cycle/3/new");
        fs::create_dir_all(&place).unwrap();
        let benchmark = serde_json::json!({
            "group_id": "permits",
            "function_id": "cycle/t2/n1/tokio",
            "value_str": "3",
            "throughput": { "Elements": 200 },
        });
        let estimates = serde_json::json!({ "median": { "point_estimate": 1_000.0 } });
        fs::write(place.join("benchmark.json"), benchmark.to_string()).unwrap();
        fs::write(place.join("estimates.json"), estimates.to_string()).unwrap();

        let found = read(&folder, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].rounds, BTreeMap::from([("3".to_owned(), 5.0)]));
        let later = SystemTime::now() + core::time::Duration::from_secs(60);
        assert!(read(&folder, later).unwrap().is_empty(), "it is of an earlier run");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_median_is_of_the_rounds_in_order() {
        let rounds = [("0", 3.0), ("1", 9.0), ("2", 1.0)];
        let record = Record {
            group: "g".into(),
            case: "c".into(),
            threads: 1,
            size: 1,
            implementation: OURS.into(),
            rounds: rounds.map(|(round, ns)| (round.to_owned(), ns)).into(),
        };
        assert_eq!(record.median_ns(), Some(3.0));
    }
}
