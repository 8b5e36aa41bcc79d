//! What is kept for an owner: its account, a sheet for each group it uses, a meter for each window on it.

use core::time::Duration;

use super::machine::Machine;
use crate::rate::rules::{Dimension, GroupId, Terms, TierId};
use crate::slots::{Chain, SlotId};
use crate::time::Timestamp;

/// Names an account of one [`Limits`](super::Limits) without hashing its owner; stale once that was forgotten.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct AccountId(pub(in crate::rate) SlotId);

#[derive(Debug)]
pub(in crate::rate) struct Account<K> {
    /// `None`: the account that owners without one share.
    pub(in crate::rate) owner: Option<K>,
    pub(in crate::rate) tier: Option<TierId>,
    /// The tier before, and when the grace ends.
    pub(in crate::rate) former: Option<(Option<TierId>, Timestamp)>,
    /// Sessions that have begun and not ended.
    pub(in crate::rate) open: u64,
    /// Its sheets.
    pub(in crate::rate) sheets: Chain,
}

/// The version of a sheet that never followed any rule set.
pub(in crate::rate) const NEVER: u64 = 0;

/// The windows of one account in one group.
#[derive(Debug)]
pub(in crate::rate) struct Sheet {
    pub(in crate::rate) account: u32,
    pub(in crate::rate) group: GroupId,
    /// The rule set whose rules its meters follow.
    pub(in crate::rate) version: u64,
    /// When these may be others.
    pub(in crate::rate) until: Option<Timestamp>,
    /// Whether each window in force has a meter.
    pub(in crate::rate) complete: bool,
    /// So many of its meters are in force; they come first, by dimension and window.
    pub(in crate::rate) in_force: u32,
    pub(in crate::rate) meters: Chain,
}

impl Sheet {
    pub(in crate::rate) const fn new(account: u32, group: GroupId) -> Self {
        Self {
            account,
            group,
            version: NEVER,
            until: None,
            complete: false,
            in_force: 0,
            meters: Chain::EMPTY,
        }
    }
}

/// One window of one dimension, and what is consumed of it.
#[derive(Debug)]
pub(in crate::rate) struct Meter {
    pub(in crate::rate) dimension: Dimension,
    pub(in crate::rate) window: Duration,
    pub(in crate::rate) terms: Terms,
    /// The place of the rule it follows; [`NIL`](crate::slots::NIL) while none says anything of its window, and it only recovers.
    pub(in crate::rate) rule: u32,
    pub(in crate::rate) machine: Machine,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_sheets_and_meters_are_as_small_as_the_module_says() {
        // Tables add 16 bytes to each: the number of the insertion, and two links.
        assert!(size_of::<Meter>() <= 288 && size_of::<Sheet>() <= 56 && size_of::<Account<u64>>() <= 64);
    }
}
