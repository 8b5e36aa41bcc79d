//! Which rules hold for an owner in a group at an instant, and until when that is known.

use core::hash::{BuildHasher, Hash};

use super::{Dimension, GroupId, MOST_LINES, Rule, RuleSet, Target, TierId};
use crate::num;
use crate::time::Timestamp;

/// Who asks: by name, if it has one, and by tier.
#[derive(Debug)]
pub(crate) struct Standing<'a, K> {
    pub(crate) owner: Option<&'a K>,
    pub(crate) tier: Option<TierId>,
    /// The tier before, and until when the larger limit of both holds.
    pub(crate) former: Option<(Option<TierId>, Timestamp)>,
}

/// Places of rules in their set, by dimension and window.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) lines: heapless::Vec<u32, MOST_LINES>,
    /// When it may be another; `None`: never.
    pub(crate) until: Option<Timestamp>,
}

impl Plan {
    fn ends(&mut self, at: Timestamp, change: Option<Timestamp>) {
        if let Some(change) = change.filter(|&change| change > at) {
            self.until = Some(self.until.map_or(change, |until| until.min(change)));
        }
    }
}

/// The rules of one target in a group, with their place in the set.
type Found<'a, K> = (usize, &'a [Rule<K>]);

impl<K: Eq + Hash, S: BuildHasher> RuleSet<K, S> {
    /// What holds for somebody. O(rules of its targets in the group).
    pub(crate) fn plan(&self, standing: &Standing<'_, K>, group: GroupId, at: Timestamp) -> Plan {
        let mut plan = Plan { lines: heapless::Vec::new(), until: None };
        let tier =
            |tier: Option<TierId>| tier.map_or((0, &[][..]), |tier| self.of(Target::Tier(tier), group));
        let owner = standing.owner.map_or((0, &[][..]), |owner| self.of(Target::Owner(owner), group));
        let (own_tier, default) = (tier(standing.tier), self.of(Target::Default, group));
        let former = standing.former.filter(|&(_, until)| at < until);
        let former_tier = former.map(|(former, _)| tier(former));
        plan.ends(at, former.map(|(_, until)| until));
        for (_, rules) in [owner, own_tier, default].into_iter().chain(former_tier) {
            for rule in rules {
                plan.ends(at, rule.starts);
                plan.ends(at, rule.expires);
            }
        }
        for dimension in self.dimensions().iter() {
            if holds(owner, dimension, at).next().is_some() {
                take(&mut plan, holds(owner, dimension, at).map(|(place, _)| place));
                continue;
            }
            let frame = first_in_force([own_tier, default], dimension, at);
            let before = former_tier.map(|former| first_in_force([former, default], dimension, at));
            let larger = |(place, rule): (usize, &Rule<K>)| {
                let same = |&(_, former): &(usize, &Rule<K>)| former.window == rule.window;
                let former = before.and_then(|before| holds(before, dimension, at).find(same));
                former.filter(|(_, former)| former.limit > rule.limit).map_or(place, |(place, _)| place)
            };
            take(&mut plan, holds(frame, dimension, at).map(larger));
        }
        plan
    }
}

/// The first of two that has a rule in force on a dimension.
fn first_in_force<'a, K>(all: [Found<'a, K>; 2], dimension: Dimension, at: Timestamp) -> Found<'a, K> {
    let [one, other] = all;
    if holds(one, dimension, at).next().is_some() { one } else { other }
}

fn holds<'a, K>(
    (first, rules): Found<'a, K>,
    dimension: Dimension,
    at: Timestamp,
) -> impl Iterator<Item = (usize, &'a Rule<K>)> {
    let of = move |(offset, rule): (usize, &'a Rule<K>)| (first.saturating_add(offset), rule);
    rules.iter().enumerate().map(of).filter(move |(_, rule)| rule.dimension == dimension && rule.in_force(at))
}

fn take(plan: &mut Plan, places: impl Iterator<Item = usize>) {
    for place in places {
        // As many as fit: the set was checked for it.
        let pushed = plan.lines.push(num::index_u32(place));
        debug_assert!(pushed.is_ok(), "more windows than a group can have");
    }
}
