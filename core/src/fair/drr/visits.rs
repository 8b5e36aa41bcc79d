//! Rounds and visits: who is due when, and what that makes of a tenant's credit.

use super::Drr;
use super::lane::Lane;
use super::tenants::{Place, Tenant};
use crate::fair::{FairError, TenantId};
use crate::num;
use crate::slots::{NIL, Storage};

impl<S: Storage> Drr<S> {
    /// Takes the next tenant that is due, in visiting order, moving on to the next round that has one.
    pub(super) fn begin_turn(&mut self) -> Option<u32> {
        loop {
            let listed = self.current().front();
            let due =
                self.later.top().filter(|&top| self.tenants.get(top).is_some_and(|t| t.round == self.round));
            let order = |index| self.tenants.get(index).map_or(u64::MAX, |t| t.order);
            let index = match (listed, due) {
                (Some(first), Some(top)) => {
                    if order(top) < order(first) {
                        top
                    } else {
                        first
                    }
                }
                (Some(first), None) => first,
                (None, Some(top)) => top,
                (None, None) => {
                    self.begin_round()?;
                    continue;
                }
            };
            self.take_out(index);
            let state = self.tenants.get_mut(index)?;
            state.place = Place::Turn;
            self.cursor = state.order;
            return Some(index);
        }
    }

    /// The next round in which anybody is due: the one after this, or however far it is. The caller moves the cursor.
    pub(super) fn begin_round(&mut self) -> Option<()> {
        if self.next().is_empty() {
            self.round = self.tenants.get(self.later.top()?)?.round;
            self.current().clear();
        } else {
            self.round = self.round.saturating_add(1);
            self.odd = !self.odd;
        }
        self.next().clear();
        Some(())
    }

    /// The lane of this round.
    #[inline]
    pub(super) const fn current(&mut self) -> &mut Lane<S> {
        let [even, odd] = &mut self.lanes;
        if self.odd { odd } else { even }
    }

    /// The lane of the next round.
    #[inline]
    pub(super) const fn next(&mut self) -> &mut Lane<S> {
        let [even, odd] = &mut self.lanes;
        if self.odd { even } else { odd }
    }

    /// The turn goes on with this head if the credit covers it, else it ends.
    pub(super) fn continue_turn(&mut self, index: u32, head: Option<u64>) {
        let Some(state) = self.tenants.get_mut(index) else { return };
        let credit = state.credit;
        match head {
            Some(head) if credit >= i128::from(head) => state.head = head,
            Some(head) => {
                self.turn = NIL;
                self.schedule(index, head, self.round, credit);
            }
            None => {
                self.turn = NIL;
                self.retire(index, self.round, credit);
            }
        }
    }

    /// An idle tenant has work again.
    pub(super) fn activate(&mut self, index: u32, head: u64) {
        if self.is_over() {
            self.round = self.round.saturating_add(1);
            self.current().clear();
            self.next().clear();
        }
        let (round, orders) = (self.round, self.orders.saturating_add(1));
        let Some(state) = self.tenants.get(index) else { return };
        let credit = self.idle_credit(state);
        let mut visited = state.round;
        let paused = state.place == Place::Paused;
        if visited != round {
            // A new place at the end of this round.
            visited = round.saturating_sub(1);
            self.orders = orders;
            if let Some(state) = self.tenants.get_mut(index) {
                state.order = orders;
            }
        }
        self.paused = self.paused.saturating_sub(u32::from(paused));
        self.schedule(index, head, visited, credit);
    }

    /// Puts a tenant, last visited in round `visited` and left with `credit`, down for the visit that will serve `head`.
    pub(super) fn schedule(&mut self, index: u32, head: u64, visited: u128, credit: i128) {
        let quantum = self.quantum_of(index);
        let at_next = credit.saturating_add_unsigned(quantum);
        let (visits, credit) = if at_next >= i128::from(head) {
            (1, at_next)
        } else {
            let missing = i128::from(head).saturating_sub(credit).unsigned_abs();
            let visits = num::div_ceil_wide(missing, quantum);
            (visits, credit.saturating_add_unsigned(visits.saturating_mul(quantum)))
        };
        let round = visited.saturating_add(visits);
        let Some(state) = self.tenants.get_mut(index) else { return };
        state.head = head;
        state.round = round;
        state.credit = credit;
        let order = state.order;
        let listed = if round == self.round {
            self.current().append(index, order)
        } else if round == self.round.saturating_add(1) {
            self.next().append(index, order)
        } else {
            None
        };
        let Some(state) = self.tenants.get_mut(index) else { return };
        if let Some(position) = listed {
            (state.place, state.position) = (Place::Listed, position);
        } else {
            state.place = Place::Later;
            self.later.push(&mut self.tenants, index);
        }
    }

    /// Takes a waiting tenant off its lane or the heap; answers the round of its last visit and the credit it was left with.
    pub(super) fn unschedule(&mut self, index: u32) -> (u128, i128) {
        let found = self.tenants.get(index).map(|state| (self.visited(state), self.credit_before(state)));
        self.take_out(index);
        found.unwrap_or((self.round, 0))
    }

    /// No work: credit is forfeited, debt is kept.
    pub(super) fn retire(&mut self, index: u32, visited: u128, credit: i128) {
        if let Some(state) = self.tenants.get_mut(index) {
            state.place = Place::Idle;
            state.head = 0;
            state.round = visited;
            state.credit = credit.min(0);
        }
    }

    /// Work, none of it ready: credit and debt are kept, and a visit of which nothing was spent is given back.
    pub(super) fn stand_still(&mut self, index: u32, visited: u128, credit: i128) {
        let (round, share) = (self.round, self.tenants.get(index).map_or(0, |state| self.share_of(state)));
        let Some(state) = self.tenants.get_mut(index) else { return };
        (state.place, state.head) = (Place::Paused, 0);
        (state.round, state.credit) = if visited == round && credit >= share {
            (visited.saturating_sub(1), credit.saturating_sub(share))
        } else {
            (visited, credit)
        };
    }

    /// Whether nobody waits for the rest of this round.
    pub(super) fn is_over(&self) -> bool {
        self.paused == 0 && self.is_empty()
    }

    pub(super) fn adjust(&mut self, tenant: TenantId, amount: i128) -> Result<(), FairError> {
        let index = self.check(tenant)?;
        self.reckon_up(index);
        let Some(state) = self.tenants.get_mut(index) else { return Ok(()) };
        let head = state.head;
        match state.place {
            Place::Idle => state.credit = state.credit.saturating_add(amount).min(0),
            Place::Paused => {
                let (visited, credit) = (state.round, state.credit.saturating_add(amount));
                self.stand_still(index, visited, credit);
            }
            Place::Turn => {
                state.credit = state.credit.saturating_add(amount);
                self.continue_turn(index, Some(head));
            }
            Place::Listed | Place::Later => {
                let (visited, credit) = self.unschedule(index);
                self.schedule(index, head, visited, credit.saturating_add(amount));
            }
        }
        self.debug_check(index);
        Ok(())
    }

    /// The last round in which a waiting tenant was, or would have been, visited.
    pub(super) fn visited(&self, state: &Tenant) -> u128 {
        if state.order <= self.cursor { self.round } else { self.round.saturating_sub(1) }
    }

    /// A waiting tenant's credit before the visits that are still to come.
    pub(super) fn credit_before(&self, state: &Tenant) -> i128 {
        let visits = state.round.saturating_sub(self.visited(state));
        let quanta = visits.saturating_mul(num::product(self.quantum, num::from_u32(state.weight)));
        state.credit.saturating_sub_unsigned(quanta)
    }

    /// The credit of a tenant that is not due: visits that passed since its last have repaid debt, and nothing else.
    pub(super) fn idle_credit(&self, state: &Tenant) -> i128 {
        if state.credit >= 0 || state.round == self.round {
            return state.credit;
        }
        let passed = self.round.saturating_sub(1).saturating_sub(state.round);
        let quantum = num::product(self.quantum, num::from_u32(state.weight));
        state.credit.saturating_add_unsigned(passed.saturating_mul(quantum)).min(0)
    }

    /// A tenant's quantum; below 2⁹⁶, so nothing is lost.
    pub(super) fn share_of(&self, state: &Tenant) -> i128 {
        0_i128.saturating_add_unsigned(num::product(self.quantum, num::from_u32(state.weight)))
    }

    /// Writes down what the visits that an idle tenant has missed so far have repaid, before its debt or its weight
    /// changes: they repay nothing that it owes from now on.
    pub(super) fn reckon_up(&mut self, index: u32) {
        let round = self.round;
        let Some(state) = self.tenants.get(index) else { return };
        if !matches!(state.place, Place::Idle | Place::Paused) || state.round == round {
            return;
        }
        let credit = self.idle_credit(state);
        if let Some(state) = self.tenants.get_mut(index) {
            (state.credit, state.round) = (credit, round.saturating_sub(1));
        }
    }

    pub(super) fn take_out(&mut self, index: u32) {
        let Some(state) = self.tenants.get(index) else { return };
        match state.place {
            Place::Listed => {
                let (position, present) = (state.position, state.round == self.round);
                let lane = if present { self.current() } else { self.next() };
                lane.remove(position);
            }
            Place::Later => self.later.remove(&mut self.tenants, index),
            Place::Idle | Place::Paused | Place::Turn => {}
        }
    }
}
