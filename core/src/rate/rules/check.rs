//! What makes a rule a bad one, told of all of them at once.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::{
    Dimensions, MOST_LINES, MOST_SLICES, MOST_WINDOWS, Rule, RuleId, RuleOvershoot, Strategy, rule::Terms,
};
use crate::error::{Given, Violation};
use crate::num;

/// One thing that is wrong with one rule.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RuleError {
    /// Which.
    pub rule: RuleId,
    /// Its place in the list that was given, from 0.
    pub position: usize,
    /// What is wrong.
    pub violation: Violation,
    /// The rule it cannot be together with, if that is what is wrong.
    pub other: Option<RuleId>,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule.0, self.violation)?;
        self.other.map_or(Ok(()), |other| write!(f, " (see rule {})", other.0))
    }
}

/// Everything that is wrong with a list of rules.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleErrors(Vec<RuleError>);

impl RuleErrors {
    /// All of them, by the rules' places in the list; never empty.
    #[must_use]
    pub fn errors(&self) -> &[RuleError] {
        &self.0
    }

    /// More rules than can be indexed.
    pub(super) fn too_many<K>(rules: &[Rule<K>]) -> Self {
        let allowed = "16777216, and what the allocator can reserve";
        let given = Given::Integer(u128::from(num::count(rules.len())));
        let rule = rules.last().map_or(RuleId(0), |rule| rule.id);
        let violation = Violation { field: "rules", given, allowed };
        Self(alloc::vec![RuleError { rule, position: rules.len().saturating_sub(1), violation, other: None }])
    }
}

impl fmt::Display for RuleErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("; ")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl core::error::Error for RuleErrors {}

/// Collects what is wrong.
pub(super) struct Check<'a, K> {
    rules: &'a [Rule<K>],
    errors: Vec<RuleError>,
}

impl<'a, K> Check<'a, K> {
    pub(super) const fn new(rules: &'a [Rule<K>]) -> Self {
        Self { rules, errors: Vec::new() }
    }

    pub(super) fn verdict(mut self) -> Result<(), RuleErrors> {
        self.errors.sort_by_key(|error| error.position);
        if self.errors.is_empty() { Ok(()) } else { Err(RuleErrors(self.errors)) }
    }

    /// What can be said of each rule by itself.
    pub(super) fn each(&mut self, dimensions: &Dimensions) {
        for (position, rule) in self.rules.iter().enumerate() {
            let Rule { dimension, limit, window, .. } = *rule;
            let terms = rule.terms();
            let known = dimensions.knows(dimension);
            self.require(known, position, "dimension", num::count(dimension.index()), "one of the table");
            self.require(limit > 0, position, "limit", limit, "1 or more");
            let burst = terms.capacity();
            self.require(burst > 0 || limit == 0, position, "strategy.burst", burst, "1 or more");
            self.window(position, window, rule.strategy);
            self.debt(position, terms);
            if let (Some(starts), Some(expires)) = (rule.starts, rule.expires) {
                let lasts = starts < expires;
                self.require(lasts, position, "expires", expires.as_nanos(), "after the start, in ns");
            }
        }
    }

    fn window(&mut self, position: usize, window: Duration, strategy: Strategy) {
        let least = match strategy {
            Strategy::Sliding { slices } => {
                let counts = (1..=num::index_u32(MOST_SLICES)).contains(&slices);
                self.require(counts, position, "strategy.slices", slices, "1 to 15 slices");
                slices.max(1)
            }
            _ => 1,
        };
        let nanos = window.as_nanos();
        let lawful = nanos >= u128::from(least) && nanos <= num::widen(u64::MAX);
        let allowed = "1 ns, for each slice, to 18446744073709551615 ns (584 years)";
        self.require(lawful, position, "window", nanos, allowed);
    }

    fn debt(&mut self, position: usize, terms: Terms) {
        if let RuleOvershoot::Lock { max_debt_ppm } = terms.overshoot {
            let fits = terms.max_debt().saturating_add(num::widen(terms.capacity())) <= num::widen(u64::MAX);
            let allowed = "a debt that, with the burst, is at most 18446744073709551615";
            self.require(fits, position, "overshoot.max_debt_ppm", max_debt_ppm, allowed);
        }
    }

    /// No two rules of one number.
    pub(super) fn numbers(&mut self) {
        let mut order: Vec<(RuleId, usize)> =
            self.rules.iter().enumerate().map(|(position, rule)| (rule.id, position)).collect();
        order.sort_unstable();
        let mut before: Option<RuleId> = None;
        for (id, position) in order {
            if before == Some(id) {
                self.clash(position, "id", id.0, "a number that no other rule has", id);
            }
            before = Some(id);
        }
    }

    /// The rules of one target and group, by dimension, window and start: no two over the same window at the same time,
    /// and not too many windows. Tells the windows of each dimension.
    pub(super) fn together(&mut self, positions: &[usize], mut windows: impl FnMut(usize, usize)) {
        let rules = self.rules;
        let of = |position: usize| rules.get(position).map(|rule| (rule, rule.dimension, rule.window));
        let (mut count, mut holds) = (0_usize, None::<&Rule<K>>);
        for &position in positions {
            let Some((rule, dimension, window)) = of(position) else { continue };
            match holds {
                Some(last) if (last.dimension, last.window) == (dimension, window) => {
                    if last.expires.is_none_or(|expires| rule.starts.is_none_or(|starts| starts < expires)) {
                        let allowed = "one that no other rule of its target, group and dimension has at the time, in ns";
                        self.clash(position, "window", window.as_nanos(), allowed, last.id);
                    }
                    // Whichever of the two lasts longer is the one the next must not meet.
                    let longer =
                        last.expires.is_some() && rule.expires.is_none_or(|end| Some(end) > last.expires);
                    if longer {
                        holds = Some(rule);
                    }
                    continue;
                }
                Some(last) if last.dimension == dimension => count = count.saturating_add(1),
                _ => count = 1,
            }
            holds = Some(rule);
            let many = num::index_u32(count);
            self.require(count <= MOST_WINDOWS, position, "windows", many, "at most 8 for one dimension");
            windows(dimension.index(), count);
        }
    }

    /// So many windows can be in force at once in the group of a rule.
    pub(super) fn lines(&mut self, position: usize, lines: usize) {
        let allowed = "at most 32 in a group, over all dimensions";
        self.require(lines <= MOST_LINES, position, "windows", num::index_u32(lines), allowed);
    }

    fn require(
        &mut self,
        holds: bool,
        position: usize,
        field: &'static str,
        given: impl Into<Given>,
        allowed: &'static str,
    ) {
        if !holds {
            self.push(position, field, given.into(), allowed, None);
        }
    }

    fn clash(
        &mut self,
        position: usize,
        field: &'static str,
        given: impl Into<Given>,
        allowed: &'static str,
        other: RuleId,
    ) {
        self.push(position, field, given.into(), allowed, Some(other));
    }

    fn push(
        &mut self,
        position: usize,
        field: &'static str,
        given: Given,
        allowed: &'static str,
        other: Option<RuleId>,
    ) {
        let Some(rule) = self.rules.get(position).map(|rule| rule.id) else { return };
        self.errors.push(RuleError { rule, position, violation: Violation { field, given, allowed }, other });
    }
}
