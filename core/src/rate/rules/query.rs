//! Who has which rule, and which of them need somebody's attention.

use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use super::{Rule, RuleSet, Target};
use crate::time::Timestamp;

impl<K: Eq + Hash, S: BuildHasher> RuleSet<K, S> {
    /// The rules of a target that are in force, whether or not others win over them. O(rules).
    pub fn in_force<'a>(&'a self, at: Timestamp, target: Target<&'a K>) -> impl Iterator<Item = &'a Rule<K>> {
        self.rules().iter().filter(move |rule| rule.target.as_ref() == target && rule.in_force(at))
    }

    /// The rules that have expired by `at` and can be deleted. O(rules).
    pub fn expired(&self, at: Timestamp) -> impl Iterator<Item = &Rule<K>> {
        self.rules().iter().filter(move |rule| rule.expires.is_some_and(|expires| expires <= at))
    }

    /// The rules that have not expired at `at` and will within `within`. O(rules).
    pub fn expiring(&self, at: Timestamp, within: Duration) -> impl Iterator<Item = &Rule<K>> {
        let end = at.saturating_add(within);
        self.rules()
            .iter()
            .filter(move |rule| rule.expires.is_some_and(|expires| at < expires && expires <= end))
    }
}
