//! Where and with what was measured, as the system and the lock file say.

use anyhow::{Context, Result};
use serde::Deserialize;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::workspace::{command, output, root};

const BENCHES: &str = "tollgate-benches";

pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) memory_gib: u64,
    pub(super) system: String,
    pub(super) rustc: String,
    /// Of this repository, and whether there is more in the tree.
    pub(super) commit: String,
    /// What the benches depend on, with versions.
    pub(super) peers: Vec<(String, String)>,
}

impl Machine {
    pub(super) fn here() -> Result<Self> {
        let what = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(what);
        let unknown = || "unknown".to_owned();
        let name = System::long_os_version().unwrap_or_else(unknown);
        let kernel = System::kernel_version().unwrap_or_else(unknown);
        Ok(Self {
            processor: system.cpus().first().map_or_else(unknown, |cpu| cpu.brand().trim().to_owned()),
            cores: system.cpus().len(),
            memory_gib: system.total_memory().div_ceil(1 << 30),
            system: format!("{name}, kernel {kernel}, {}", System::cpu_arch()),
            rustc: output(command("rustc").arg("--version"))?.trim().to_owned(),
            commit: commit().unwrap_or_else(|_| unknown()),
            peers: peers(&super::read(&root().join("Cargo.lock"))?)?,
        })
    }
}

/// Programs that were running, on average over the last minute.
pub(super) fn load() -> f64 {
    System::load_average().one
}

fn commit() -> Result<String> {
    let commit = output(command("git").args(["rev-parse", "--short", "HEAD"]))?.trim().to_owned();
    // What this very command writes is no change of what was measured.
    let written = [super::DOCUMENT, super::CHART].map(|file| format!(":!{file}"));
    let changed = output(command("git").args(["status", "--porcelain", "--", "."]).args(written))?;
    Ok(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// None for what is in this repository.
    source: Option<String>,
    /// `name`, or `name version` where there are several.
    #[serde(default)]
    dependencies: Vec<String>,
}

/// What the benches depend on and is not ours.
fn peers(lock: &str) -> Result<Vec<(String, String)>> {
    let lock: Lock = toml::from_str(lock).context("Cargo.lock cannot be read")?;
    let benches = lock.package.iter().find(|package| package.name == BENCHES);
    let benches = benches.with_context(|| format!("{BENCHES} is not in Cargo.lock"))?;
    let named = |dependency: &&Package, words: &str| {
        let mut words = words.split(' ');
        words.next() == Some(&dependency.name)
            && words.next().is_none_or(|version| version == dependency.version)
    };
    let mut peers = Vec::new();
    for words in &benches.dependencies {
        let package = lock.package.iter().find(|package| named(package, words));
        let package = package.with_context(|| format!("{words} is not in Cargo.lock"))?;
        if package.source.is_some() {
            peers.push((package.name.clone(), package.version.clone()));
        }
    }
    Ok(peers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_the_dependencies_of_the_benches_in_the_version_that_is_meant_without_ours() {
        let lock = r#"
            version = 4
            [[package]]
            name = "tollgate-benches"
            version = "0.1.0"
            dependencies = ["governor 0.10.4", "tollgate", "tokio"]
            [[package]]
            name = "governor"
            version = "0.6.0"
            source = "registry"
            [[package]]
            name = "governor"
            version = "0.10.4"
            source = "registry"
            [[package]]
            name = "tollgate"
            version = "0.1.0"
            [[package]]
            name = "tokio"
            version = "1.54.1"
            source = "registry"
        "#;
        let expected = [("governor", "0.10.4"), ("tokio", "1.54.1")];
        let found = peers(lock).unwrap();
        let found: Vec<_> = found.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect();
        assert_eq!(found, expected);
        assert!(peers("package = []").is_err());
    }

    #[test]
    fn this_machine_says_what_it_is() {
        let here = Machine::here().unwrap();
        assert!(here.cores > 0 && here.memory_gib > 0);
        assert!(here.rustc.starts_with("rustc "), "{}", here.rustc);
        assert!(here.peers.iter().any(|(name, _)| name == "governor"));
        assert!(here.peers.iter().all(|(name, _)| !name.starts_with("tollgate")));
    }
}
