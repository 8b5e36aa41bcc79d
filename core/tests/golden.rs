//! The reference presets against recorded runs of the references, bit for bit.
//!
//! `TOLLGATE_GOLDEN=DIR cargo test -p tollgate --test golden -- --nocapture` replays every file under `DIR` whose
//! family is built. Without it, the committed selection is replayed, and the full set where it lies next to the
//! workspace. A file of another family is listed as not replayed; a folder with nothing to replay is a failure.

#[path = "golden/families.rs"]
mod families;
#[path = "golden/limiters.rs"]
mod limiters;
#[path = "golden/opensearch.rs"]
mod opensearch;
#[path = "golden/table.rs"]
mod table;
#[path = "golden/windowed.rs"]
mod windowed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use table::{Fallible, Header, Report, Table};

type Replay = fn(Header, &Table, &mut Report) -> Fallible<()>;

/// The replay for a header, and the key that named it.
fn family(header: &Header) -> Option<(&'static str, Replay)> {
    match header.get("limiter") {
        Some("simple") => return Some(("simple", limiters::limiter)),
        Some("partitioned") => return Some(("partition", limiters::limiter)),
        _ => {}
    }
    let algorithm = header.get("algorithm");
    let table = header.get("table");
    Some(match (algorithm, table) {
        (Some("vegas"), None) => ("vegas", families::vegas),
        (Some("gradient2"), None) => ("gradient2", families::gradient2),
        (Some("gradient"), None) => ("gradient", families::gradient),
        (Some("aimd"), None) => ("aimd", families::aimd),
        (Some("aimd"), Some("backoff")) => ("aimd", families::backoff),
        (Some("opensearch_vegas"), None) => ("opensearch_vegas", opensearch::vegas),
        (Some("burst"), None) => ("burst", opensearch::burst),
        (Some("windowed"), None) => ("windowed", windowed::windowed),
        (None, Some("partition_share")) => ("partition", limiters::share_table),
        (None, Some("functions")) => ("functions", families::functions),
        _ => return None,
    })
}

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "csv") {
            found.push(path);
        }
    }
}

/// Replays one file; `None` if it is of no family we know.
fn replay(path: &Path, report: &mut Report) -> Fallible<Option<&'static str>> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let Some((mut header, body)) = Header::split(&text) else { return Ok(None) };
    let Some((name, replay)) = family(&header) else { return Ok(None) };
    let table = Table::parse(path, body)?;
    if header.get("algorithm").is_some() {
        header.take("algorithm")?;
    }
    let before = report.rows;
    replay(header, &table, report)?;
    if report.rows == before || report.rows - before != table.len() {
        return Err(format!("{} of {} rows replayed", report.rows - before, table.len()));
    }
    Ok(Some(name))
}

fn replay_folder(folder: &Path) {
    let mut files = Vec::new();
    files_under(folder, &mut files);
    files.sort();
    let mut report = Report::default();
    let mut replayed = BTreeMap::<_, usize>::new();
    let (mut skipped, mut failures) = (Vec::new(), Vec::new());
    for path in &files {
        match replay(path, &mut report) {
            Ok(Some(family)) => *replayed.entry(family).or_default() += 1,
            Ok(None) => skipped.push(path.strip_prefix(folder).unwrap().display().to_string()),
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    let count: usize = replayed.values().sum();
    println!("{}: {count} files replayed, {} rows: {replayed:?}", folder.display(), report.rows);
    println!("not replayed, {} of other families: {}", skipped.len(), skipped.join(" "));
    let mismatches = report.mismatches.len();
    failures.extend(report.mismatches.into_iter().take(40));
    assert!(failures.is_empty(), "{mismatches} mismatches\n{}", failures.join("\n"));
    assert!(count > 0, "{}: nothing to replay", folder.display());
}

#[test]
fn the_reference_presets_equal_the_recorded_runs_bit_for_bit() {
    if let Some(folder) = env::var_os("TOLLGATE_GOLDEN") {
        replay_folder(Path::new(&folder));
        return;
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    replay_folder(&manifest.join("tests/golden-data"));
    let full = manifest.join("../../shared/golden");
    if full.is_dir() {
        replay_folder(&full);
    }
}
