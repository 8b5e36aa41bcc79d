//! A rule in plain numbers.

use super::Terms;

/// Whom a rule is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Target {
    /// One owner.
    Owner(u64),
    /// A tier.
    Tier(u32),
    /// Everybody else.
    Default,
}

/// One rule, in plain numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Its number.
    pub id: u64,
    /// For whom.
    pub target: Target,
    /// In which group.
    pub group: u32,
    /// On which dimension.
    pub dimension: usize,
    /// Over how long.
    pub window_ns: u64,
    /// How much, how counted, what beyond it.
    pub terms: Terms,
    /// From when.
    pub starts: Option<u64>,
    /// Until when.
    pub expires: Option<u64>,
}

impl Rule {
    pub(super) fn in_force(&self, at: u64) -> bool {
        self.starts.is_none_or(|starts| starts <= at) && self.expires.is_none_or(|expires| at < expires)
    }
}
