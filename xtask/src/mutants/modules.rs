//! The parts of the core, and the tests that notice most of what is broken in each.

use anyhow::{Result, bail};

#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: &'static str,
    /// Patterns under `core/src`.
    pub(super) files: &'static [&'static str],
    /// Test targets, besides the tests inside the crate.
    pub(super) tests: &'static [&'static str],
}

impl Module {
    /// Whether a file, given from the workspace's directory, is one of this module's.
    pub(super) fn holds(&self, file: &str) -> bool {
        let Some(file) = file.strip_prefix("core/src/") else { return false };
        self.files.iter().any(|pattern| match pattern.strip_suffix("/**") {
            Some(folder) => file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
            None => file == *pattern,
        })
    }
}

/// The modules of these names, all if there are none.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static Module>> {
    if names.is_empty() {
        return Ok(MODULES.iter().collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let Some(module) = MODULES.iter().find(|module| module.name == name) else {
            let all: Vec<&str> = MODULES.iter().map(|module| module.name).collect();
            bail!("there is no module {name}, but {}", all.join(", "));
        };
        chosen.push(module);
    }
    Ok(chosen)
}

pub(super) const MODULES: &[Module] = &[
    Module {
        name: "base",
        files: &["lib.rs", "num.rs", "time.rs", "error.rs", "hasher.rs", "observe.rs", "sync.rs"],
        tests: &["laws_bucket"],
    },
    Module {
        name: "store",
        files: &[
            "heap.rs",
            "heap/**",
            "index.rs",
            "index/**",
            "robin.rs",
            "robin/**",
            "slots.rs",
            "slots/**",
            "sketch.rs",
            "sketch/**",
        ],
        tests: &["laws_slots", "laws_sketch", "laws_observed", "store_reports"],
    },
    Module {
        name: "bucket",
        files: &[
            "rate.rs",
            "rate/bucket.rs",
            "rate/bucket/**",
            "rate/quota.rs",
            "rate/units.rs",
            "rate/atomic.rs",
            "rate/atomic/**",
        ],
        tests: &["laws_bucket", "laws_atomic_bucket", "rate_reports"],
    },
    Module { name: "window", files: &["rate/window.rs", "rate/window/**"], tests: &["laws_windows"] },
    Module {
        name: "keyed",
        files: &["rate/keyed.rs", "rate/keyed/**"],
        tests: &["laws_keyed", "laws_keyed_ahead", "laws_observed", "slot_reports"],
    },
    Module {
        name: "limits",
        files: &[
            "rate/limits.rs",
            "rate/limits/**",
            "rate/rules.rs",
            "rate/rules/**",
            "rate/session.rs",
            "rate/session/**",
        ],
        tests: &["laws_limits", "limits", "rate_reports"],
    },
    Module {
        name: "permit",
        files: &["permit.rs", "permit/**"],
        tests: &["laws_permits", "laws_semaphore", "laws_inflight", "laws_observed", "slot_reports"],
    },
    Module { name: "fair", files: &["fair.rs", "fair/**"], tests: &["laws_drr", "laws_swrr"] },
    Module { name: "order", files: &["order.rs", "order/**"], tests: &["laws_order"] },
    Module {
        name: "knee",
        files: &["adapt/knee.rs", "adapt/knee/**"],
        tests: &["adapt_laws", "adapt_record", "adapt_faults"],
    },
    Module {
        name: "action",
        files: &["adapt/action.rs", "adapt/action/**"],
        tests: &["settings", "laws_limiter"],
    },
    Module {
        name: "limiter",
        files: &[
            "adapt/limiter.rs",
            "adapt/limiter/**",
            "adapt/burst.rs",
            "adapt/partition.rs",
            "adapt/partition/**",
            "adapt/mode.rs",
            "adapt/algorithm.rs",
            "adapt/algorithm/**",
        ],
        tests: &["laws_limiter", "golden", "adapt_faults"],
    },
    Module {
        name: "estimators",
        files: &[
            "adapt.rs",
            "adapt/aimd.rs",
            "adapt/aimd/**",
            "adapt/atomic_window.rs",
            "adapt/bounds.rs",
            "adapt/dip.rs",
            "adapt/epoch.rs",
            "adapt/gradient.rs",
            "adapt/gradient/**",
            "adapt/gradient2.rs",
            "adapt/gradient2/**",
            "adapt/jitter.rs",
            "adapt/opensearch.rs",
            "adapt/round.rs",
            "adapt/sample.rs",
            "adapt/scale.rs",
            "adapt/testing.rs",
            "adapt/vegas.rs",
            "adapt/vegas/**",
            "adapt/window.rs",
            "adapt/window/**",
        ],
        tests: &["golden", "adapt_laws", "adapt_faults", "adapt_window_faults"],
    },
    Module { name: "gate", files: &["gate.rs", "gate/**"], tests: &["laws_gate"] },
];
