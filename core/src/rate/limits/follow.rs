//! Meters follow rules: what a sheet has to hear of, at the instant it happened.

use core::hash::{BuildHasher, Hash};

use super::Limits;
use super::account::{AccountId, Meter, NEVER};
use super::machine::Machine;
use crate::observe::KeyObserver;
use crate::rate::rules::{Dimension, Plan, Standing, TierId};
use crate::slots::{Chain, NIL};
use crate::time::Timestamp;

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Limits<K, S, O> {
    /// Whether the meters of a sheet follow the rules that hold at `now`.
    #[inline]
    pub(in crate::rate) fn follows(&self, sheet: u32, now: Timestamp) -> bool {
        self.sheets.at(sheet).is_some_and(|sheet| {
            sheet.version == self.version && sheet.complete && sheet.until.is_none_or(|until| now < until)
        })
    }

    /// Makes them follow. New meters are made only for those who `use_it`. Returns whether every window has its meter.
    pub(in crate::rate) fn follow(&mut self, sheet: u32, now: Timestamp, use_it: bool) -> bool {
        if self.follows(sheet, now) {
            return true;
        }
        if let Some(version) = self.sheets.at(sheet).map(|sheet| sheet.version)
            && version != self.version
        {
            self.resolve(sheet, if version == NEVER { now } else { self.since }, use_it);
        }
        // Each rule starts and expires once, and a grace ends once.
        while let Some(until) = self.sheets.at(sheet).and_then(|sheet| sheet.until)
            && until <= now
        {
            self.resolve(sheet, until, use_it);
        }
        let complete = |limits: &Self| limits.sheets.at(sheet).is_some_and(|sheet| sheet.complete);
        if use_it && !complete(self) {
            self.resolve(sheet, now, true);
        }
        complete(self)
    }

    /// Another tier for an account; from `now` on the larger limit of both holds, as long as the grace lasts.
    pub(super) fn change_tier(&mut self, now: Timestamp, account: AccountId, tier: Option<TierId>) {
        let grace_ends = now.saturating_add(self.settings.grace);
        let Some(head) = self.accounts.get(account.0).map(|account| account.sheets.head()) else { return };
        // What was before the change was before it.
        let mut place = head;
        while self.sheets.at(place).is_some() {
            self.follow(place, now, false);
            place = self.sheets.after(place);
        }
        if let Some(account) = self.accounts.get_mut(account.0) {
            account.former = Some((account.tier, grace_ends));
            account.tier = tier;
        }
        place = head;
        while self.sheets.at(place).is_some() {
            self.resolve(place, now, false);
            place = self.sheets.after(place);
        }
    }

    /// Gives every meter of a dimension on a sheet a fresh start.
    pub(super) fn restart(&mut self, sheet: u32, now: Timestamp, dimension: Dimension) {
        let mut place = self.sheets.at(sheet).map_or(NIL, |sheet| sheet.meters.head());
        let mut chain = Chain::EMPTY;
        while let Some(meter) = self.meters.at(place) {
            let next = self.meters.after(place);
            let kept = if meter.dimension == dimension { self.renew(place, now, 0) } else { place };
            chain.push_back(&mut self.meters, kept);
            place = next;
        }
        if let Some(sheet) = self.sheets.at_mut(sheet) {
            sheet.meters = chain;
        }
    }

    /// Looks up what holds at `at`, and gives each window its meter, in order.
    fn resolve(&mut self, sheet: u32, at: Timestamp, use_it: bool) {
        let Some((group, account, mut rest)) =
            self.sheets.at(sheet).map(|sheet| (sheet.group, sheet.account, sheet.meters))
        else {
            return;
        };
        let Some(account) = self.accounts.at(account) else { return };
        let standing = Standing { owner: account.owner.as_ref(), tier: account.tier, former: account.former };
        let plan = self.rules.plan(&standing, group, at);
        let (chain, complete) = self.arrange(&plan, &mut rest, at, use_it);
        let in_force = chain.len();
        let chain = self.lay_aside(chain, rest, at);
        if let Some(sheet) = self.sheets.at_mut(sheet) {
            sheet.version = self.version;
            sheet.until = plan.until;
            sheet.complete = complete;
            sheet.in_force = in_force;
            sheet.meters = chain;
        }
    }

    /// A meter for each line of a plan: from `rest`, where there is one.
    fn arrange(&mut self, plan: &Plan, rest: &mut Chain, at: Timestamp, use_it: bool) -> (Chain, bool) {
        let (mut chain, mut complete) = (Chain::EMPTY, true);
        for &line in &plan.lines {
            let Some(rule) = self.rules.rule(line) else { continue };
            let (dimension, window, terms) = (rule.dimension, rule.window, rule.terms());
            let mut place = rest.head();
            while self.meters.at(place).is_some_and(|old| (old.dimension, old.window) != (dimension, window))
            {
                place = self.meters.after(place);
            }
            if let Some(old) = self.meters.at_mut(place) {
                old.rule = line;
                let before = core::mem::replace(&mut old.terms, terms);
                let counts_alike = before.counts_like(terms);
                if before != terms && counts_alike {
                    let adjusted = old.machine.adjust(at, terms, window);
                    debug_assert!(adjusted.is_ok(), "these terms were checked with their rule");
                }
                let consumed = if counts_alike { 0 } else { old.machine.consumed(at) };
                rest.remove(&mut self.meters, place);
                if !counts_alike {
                    place = self.renew(place, at, consumed);
                }
                chain.push_back(&mut self.meters, place);
            } else if use_it && let Ok(machine) = Machine::new(terms, window) {
                match self.meters.insert(Meter { dimension, window, terms, rule: line, machine }) {
                    Ok(id) => chain.push_back(&mut self.meters, id.index()),
                    Err(_) => complete = false,
                }
            } else {
                complete = false;
            }
        }
        (chain, complete)
    }

    /// Meters that no rule speaks of go behind the others, or away if there is nothing to remember.
    fn lay_aside(&mut self, mut chain: Chain, mut rest: Chain, at: Timestamp) -> Chain {
        while rest.head() != NIL {
            let place = rest.head();
            rest.remove(&mut self.meters, place);
            let forgotten = self.meters.at(place).is_none_or(|meter| meter.machine.has_recovered(at));
            if forgotten {
                if let Some(id) = self.meters.id_at(place) {
                    let _gone = self.meters.remove(id);
                }
                continue;
            }
            if let Some(meter) = self.meters.at_mut(place) {
                meter.rule = NIL;
            }
            chain.push_back(&mut self.meters, place);
        }
        chain
    }

    /// Puts a new meter of its terms in the place of one that is on no chain any more, or is about to be put on another:
    /// what sessions remember of the old one is stale. Returns where it is.
    fn renew(&mut self, place: u32, at: Timestamp, consumed: u64) -> u32 {
        let Some(old) = self.meters.id_at(place).and_then(|id| self.meters.remove(id).ok()) else {
            return NIL;
        };
        // Its terms made a machine before, or were checked with their rule.
        let machine = Machine::new(old.terms, old.window).unwrap_or(old.machine);
        let mut meter = Meter { machine, ..old };
        if consumed > 0 {
            let _position = meter.machine.take(at, consumed);
        }
        self.meters.insert(meter).map_or(NIL, |id| id.index())
    }

    /// Whether an account can be forgotten without forgiving anything. O(its meters).
    pub(super) fn is_forgettable(&mut self, now: Timestamp, account: AccountId) -> bool {
        let Some(state) = self.accounts.get(account.0) else { return false };
        if state.open > 0 || state.former.is_some_and(|(_, ends)| now < ends) {
            return false;
        }
        let mut place = state.sheets.head();
        while self.sheets.at(place).is_some() {
            self.follow(place, now, false);
            let mut meter = self.sheets.at(place).map_or(NIL, |sheet| sheet.meters.head());
            while let Some(found) = self.meters.at(meter) {
                if !found.machine.has_recovered(now) {
                    return false;
                }
                meter = self.meters.after(meter);
            }
            place = self.sheets.after(place);
        }
        true
    }
}
