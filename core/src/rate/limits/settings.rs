//! How many owners there is room for, and what becomes of the others.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use crate::num;
use crate::rate::keyed::WhenFull;
use crate::rate::rules::{GroupId, Rule, RuleSet, Target};

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
    /// Room for so many owners that each use every group of the rules, in every tier they know, while what they consumed
    /// in the last one recovers; no grace, refusing when full. Rules that are put in place of these and have other windows
    /// need room for the meters of both. O(rules · log rules).
    #[must_use]
    pub fn for_rules<K: Eq + Hash, S: BuildHasher>(accounts: u32, rules: &RuleSet<K, S>) -> Self {
        let mut groups: Vec<_> = rules.rules().iter().map(|rule| rule.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let meters: usize = groups.iter().map(|&group| windows(rules.rules(), group)).sum();
        Self {
            accounts,
            sheets: accounts.saturating_mul(num::index_u32(groups.len())).max(1),
            meters: accounts.saturating_mul(num::index_u32(meters)).max(1),
            grace: Duration::ZERO,
            when_full: WhenFull::Refuse,
        }
    }
}

/// The most windows of a group that one owner can come to know: its own, those of every tier, and the defaults.
fn windows<K: Eq>(rules: &[Rule<K>], group: GroupId) -> usize {
    let own = |rule: &Rule<K>| matches!(rule.target, Target::Owner(_));
    let count = |rules: &mut dyn Iterator<Item = &Rule<K>>| {
        let mut windows: Vec<_> = rules.map(|rule| (rule.dimension, rule.window)).collect();
        windows.sort_unstable();
        windows.dedup();
        windows.len()
    };
    let spans = rules.chunk_by(|one, other| one.group == other.group && one.target == other.target);
    let of_owner = spans.filter(|span| span.first().is_some_and(|rule| rule.group == group && own(rule)));
    let most = of_owner.map(|span| count(&mut span.iter())).max().unwrap_or(0);
    most.saturating_add(count(&mut rules.iter().filter(|rule| rule.group == group && !own(rule))))
}
