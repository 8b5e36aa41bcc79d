//! [`RuleSet`]: rules that were checked, in the order in which they are looked up.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use super::check::Check;
use super::{Dimensions, GroupId, MOST_DIMENSIONS, Rule, RuleErrors, Target};
use crate::hasher::DefaultHasher;
use crate::index::{Index, hash_of};
use crate::num;

/// The rules of one target and group.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: usize,
    len: usize,
}

/// Rules that can hold together; see the [module](super).
///
/// `S` hashes owners; where they choose their own names, it has to resist chosen keys, as the default of `std` does.
#[derive(Clone)]
pub struct RuleSet<K, S = DefaultHasher> {
    dimensions: Dimensions,
    /// By target and group, then dimension, window and start.
    rules: Vec<Rule<K>>,
    spans: Vec<Span>,
    index: Index,
    hasher: S,
}

#[cfg(feature = "std")]
impl<K: Eq + Hash> RuleSet<K> {
    /// Checks and indexes rules. O(rules · log rules).
    ///
    /// # Errors
    /// Every bad rule, with what is wrong, where, and what would be allowed.
    pub fn new(dimensions: Dimensions, rules: Vec<Rule<K>>) -> Result<Self, RuleErrors> {
        Self::with_hasher(dimensions, rules, DefaultHasher::new())
    }
}

impl<K: Eq + Hash, S: BuildHasher> RuleSet<K, S> {
    /// The same with a hasher of your own.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_hasher(dimensions: Dimensions, rules: Vec<Rule<K>>, hasher: S) -> Result<Self, RuleErrors> {
        let mut check = Check::new(&rules);
        check.each(&dimensions);
        check.numbers();
        // Each target and group, with the place of its first rule in the list that was given.
        let capacity = num::index_u32(rules.len()).clamp(1, Index::MOST);
        let mut index = match Index::new(capacity) {
            Ok(index) if num::index(capacity) >= rules.len() => index,
            _ => return Err(RuleErrors::too_many(&rules)),
        };
        let mut spans: Vec<(usize, Vec<usize>)> = Vec::new();
        for (position, rule) in rules.iter().enumerate() {
            let hash = hash_key(&hasher, rule.target.as_ref(), rule.group);
            let same = |other: &Rule<K>| other.group == rule.group && other.target == rule.target;
            let found = index.find(hash, |place| first_of(&rules, &spans, place).is_some_and(same));
            match found {
                Some(place) => {
                    if let Some((_, positions)) = spans.get_mut(num::index(place)) {
                        positions.push(position);
                    }
                }
                None => {
                    index.insert(hash, num::index_u32(spans.len()), |place| {
                        let first = first_of(&rules, &spans, place);
                        first.map_or(0, |rule| hash_key(&hasher, rule.target.as_ref(), rule.group))
                    });
                    spans.push((position, alloc::vec![position]));
                }
            }
        }
        Self::check_spans(&mut check, &rules, &mut spans);
        check.verdict()?;
        let (rules, spans) = arranged(rules, &spans);
        Ok(Self { dimensions, rules, spans, index, hasher })
    }

    fn check_spans(check: &mut Check<'_, K>, rules: &[Rule<K>], spans: &mut [(usize, Vec<usize>)]) {
        // For each group, the most windows of any target on each dimension: no owner can have more.
        let mut groups: Vec<(GroupId, [usize; MOST_DIMENSIONS], usize)> = Vec::new();
        spans.iter_mut().for_each(|(_, positions)| {
            positions.sort_by_key(|&position| {
                rules.get(position).map(|rule| (rule.dimension, rule.window, rule.starts))
            });
        });
        for (first, positions) in spans.iter() {
            let Some(group) = rules.get(*first).map(|rule| rule.group) else { continue };
            let mut most = [0; MOST_DIMENSIONS];
            check.together(positions, |dimension, count| {
                if let Some(most) = most.get_mut(dimension) {
                    *most = count;
                }
            });
            groups.push((group, most, *first));
        }
        groups.sort_by_key(|(group, ..)| *group);
        for same in groups.chunk_by(|one, other| one.0 == other.0) {
            let largest = |dimension: usize| same.iter().filter_map(|(_, most, _)| most.get(dimension)).max();
            let lines = (0..MOST_DIMENSIONS).filter_map(largest).sum();
            if let Some((_, _, first)) = same.first() {
                check.lines(*first, lines);
            }
        }
    }

    /// The rules of a target in a group, by dimension, window and start. O(1).
    pub(super) fn of(&self, target: Target<&K>, group: GroupId) -> (usize, &[Rule<K>]) {
        let hash = hash_key(&self.hasher, target, group);
        let span = |place: u32| self.spans.get(num::index(place)).copied();
        let is_it = |place| {
            let first = span(place).and_then(|span| self.rules.get(span.first));
            first.is_some_and(|rule| rule.group == group && rule.target.as_ref() == target)
        };
        let Some(Span { first, len }) = self.index.find(hash, is_it).and_then(span) else { return (0, &[]) };
        (first, self.rules.get(first..first.saturating_add(len)).unwrap_or(&[]))
    }
}

impl<K, S> RuleSet<K, S> {
    /// The table of dimensions.
    #[must_use]
    pub const fn dimensions(&self) -> &Dimensions {
        &self.dimensions
    }

    /// All rules, those of one target and group together, by dimension, window and start.
    #[must_use]
    pub fn rules(&self) -> &[Rule<K>] {
        &self.rules
    }

    /// The rule at a place of a [plan](super::Plan).
    #[inline]
    pub(crate) fn rule(&self, place: u32) -> Option<&Rule<K>> {
        self.rules.get(num::index(place))
    }
}

impl<K: core::fmt::Debug, S> core::fmt::Debug for RuleSet<K, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RuleSet").field("rules", &self.rules).finish_non_exhaustive()
    }
}

fn hash_key<K: Hash, S: BuildHasher>(hasher: &S, target: Target<&K>, group: GroupId) -> u64 {
    hash_of(hasher, &(target, group))
}

/// The first rule, in the list that was given, of a target and group.
fn first_of<'a, K>(rules: &'a [Rule<K>], spans: &[(usize, Vec<usize>)], place: u32) -> Option<&'a Rule<K>> {
    spans.get(num::index(place)).and_then(|span| rules.get(span.0))
}

/// The rules span after span, and where each begins.
fn arranged<K>(rules: Vec<Rule<K>>, spans: &[(usize, Vec<usize>)]) -> (Vec<Rule<K>>, Vec<Span>) {
    let mut taken: Vec<Option<Rule<K>>> = rules.into_iter().map(Some).collect();
    let mut arranged = Vec::with_capacity(taken.len());
    let mut bounds = Vec::with_capacity(spans.len());
    for (_, positions) in spans {
        let first = arranged.len();
        arranged.extend(positions.iter().filter_map(|&position| taken.get_mut(position)?.take()));
        bounds.push(Span { first, len: arranged.len().saturating_sub(first) });
    }
    (arranged, bounds)
}
