//! What each machine may weigh on the small targets, as `proofs/embedded/sizes.toml` says.

use core::fmt;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Code may grow by this many parts in a hundred before it is a fault; RAM may not grow.
const TOLERANCE_PERCENT: u64 = 3;

/// Bytes of one machine.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Weight {
    /// One machine in memory, with storage for eight of what it holds.
    pub(super) ram: u64,
    /// Code and constants for a Cortex-M0.
    pub(super) cortex_m0: u64,
    /// Code and constants for a RISC-V.
    pub(super) risc_v: u64,
}

#[derive(Debug, Deserialize, Eq, PartialEq)]
#[serde(transparent)]
pub(super) struct Budget {
    pub(super) machines: BTreeMap<String, Weight>,
}

impl Budget {
    pub(super) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("proofs/embedded/sizes.toml")
    }

    /// Where what was measured is beyond the budget, or names other machines.
    pub(super) fn faults(&self, measured: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, now) in &measured.machines {
            let Some(budget) = self.machines.get(name) else {
                faults.push(format!("{name} has no budget"));
                continue;
            };
            let code = |bytes: u64| bytes + bytes * TOLERANCE_PERCENT / 100;
            for (what, now, budget, most) in [
                ("RAM", now.ram, budget.ram, budget.ram),
                ("code for a Cortex-M0", now.cortex_m0, budget.cortex_m0, code(budget.cortex_m0)),
                ("code for a RISC-V", now.risc_v, budget.risc_v, code(budget.risc_v)),
            ] {
                if now > most {
                    faults.push(format!("{name}: {now} bytes of {what}, the budget is {budget}"));
                }
            }
        }
        let gone = self.machines.keys().filter(|name| !measured.machines.contains_key(*name));
        faults.extend(gone.map(|name| format!("{name} has a budget and was not measured")));
        faults
    }

    /// The file with these weights, the comment at the head of `file` kept: the reasons are there.
    pub(super) fn written_after(&self, file: &str) -> String {
        let comment = file.lines().take_while(|line| line.starts_with('#'));
        let mut text = comment.flat_map(|line| [line, "\n"]).collect::<String>();
        for (name, Weight { ram, cortex_m0, risc_v }) in &self.machines {
            text += &format!("{name} = {{ ram = {ram}, cortex_m0 = {cortex_m0}, risc_v = {risc_v} }}\n");
        }
        text
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16} {:>12} {:>14} {:>14}", "bytes of", "RAM", "code Cortex-M0", "code RISC-V")?;
        for (name, Weight { ram, cortex_m0, risc_v }) in &self.machines {
            write!(f, "\n{name:<16} {ram:>12} {cortex_m0:>14} {risc_v:>14}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Bytes.\n# Why.\ndrr = { ram = 832, cortex_m0 = 1000, risc_v = 2000 }\n";

    fn weighing(name: &str, ram: u64, cortex_m0: u64, risc_v: u64) -> Budget {
        Budget { machines: BTreeMap::from([(name.to_owned(), Weight { ram, cortex_m0, risc_v })]) }
    }

    #[test]
    fn code_may_grow_a_little_and_ram_may_not() {
        let budget = Budget::parse(FILE).unwrap();
        assert_eq!(budget.faults(&weighing("drr", 832, 1030, 2060)), Vec::<String>::new());
        assert_eq!(budget.faults(&weighing("drr", 1, 1, 1)), Vec::<String>::new());
        for (heavier, what) in [
            (weighing("drr", 833, 1000, 2000), "drr: 833 bytes of RAM, the budget is 832"),
            (weighing("drr", 832, 1031, 2000), "drr: 1031 bytes of code for a Cortex-M0, the budget is 1000"),
            (weighing("drr", 832, 1000, 2061), "drr: 2061 bytes of code for a RISC-V, the budget is 2000"),
        ] {
            assert_eq!(budget.faults(&heavier), [what]);
        }
    }

    #[test]
    fn a_machine_without_a_budget_and_a_budget_without_a_machine_are_faults() {
        let faults = Budget::parse(FILE).unwrap().faults(&weighing("gate", 1, 1, 1));
        assert_eq!(faults, ["gate has no budget", "drr has a budget and was not measured"]);
    }

    #[test]
    fn what_is_accepted_keeps_the_reasons_and_is_read_back() {
        let accepted = weighing("gate", 1, 2, 3);
        let text = accepted.written_after(FILE);
        assert!(text.starts_with("# Bytes.\n# Why.\ngate = "), "{text}");
        assert_eq!(Budget::parse(&text).unwrap(), accepted);
    }
}
