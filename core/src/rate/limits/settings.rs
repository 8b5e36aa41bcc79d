//! How many owners there is room for, and what becomes of the others.

use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use crate::num;
use crate::rate::keyed::WhenFull;
use crate::rate::rules::{RuleSet, Target};

/// Sizes and habits of [`Limits`](super::Limits). Storage for all of it is reserved at construction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LimitsSettings {
    /// Owners that can be told apart at a time: those with a session open, and those whose consumption has not
    /// recovered. At most 16 777 216.
    pub accounts: u32,
    /// Pairs of account and group.
    pub sheets: u32,
    /// Windows of all sheets.
    pub meters: u32,
    /// How long the larger limit holds after a change of tier.
    pub grace: Duration,
    /// What happens to owners past all that: refused with [`KeyTableFull`](crate::Reason::KeyTableFull), or sharing one
    /// account, jointly held to what the default rules give one owner.
    pub when_full: WhenFull,
}

impl LimitsSettings {
    /// Room for so many owners that each use every group of the rules, no grace, refusing when full. Rules that are put
    /// in place of these and have other windows need room for the meters of both while these recover.
    #[must_use]
    pub fn for_rules<K: Eq + Hash, S: BuildHasher>(accounts: u32, rules: &RuleSet<K, S>) -> Self {
        let mut groups: alloc::vec::Vec<_> = rules.rules().iter().map(|rule| rule.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let windows = |&group| {
            let of = |dimension| {
                let most = |target: Target<&K>| {
                    let (_, rules) = rules.of(target, group);
                    let mut windows: alloc::vec::Vec<_> = rules
                        .iter()
                        .filter(|rule| rule.dimension == dimension)
                        .map(|rule| rule.window)
                        .collect();
                    windows.dedup();
                    windows.len()
                };
                rules.rules().iter().map(|rule| most(rule.target.as_ref())).max().unwrap_or(0)
            };
            rules.dimensions().iter().map(of).sum::<usize>()
        };
        let meters = num::index_u32(groups.iter().map(windows).sum());
        Self {
            accounts,
            sheets: accounts.saturating_mul(num::index_u32(groups.len())).max(1),
            meters: accounts.saturating_mul(meters).max(1),
            grace: Duration::ZERO,
            when_full: WhenFull::Refuse,
        }
    }
}
