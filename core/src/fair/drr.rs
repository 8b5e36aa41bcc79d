//! [`Drr`]: deficit round robin in cost units.
//!
//! **Problem.** Tenants share a server whose jobs cost from 1 to 10⁹. Each tenant with work waiting shall get cost in
//! proportion to its weight, nobody shall starve, and picking the next job must not slow down with the number of
//! tenants.
//!
//! **Derivation.** The textbook loop visits the tenants with work round after round. A visit adds the tenant's quantum
//! Q = quantum·weight to its credit; while the credit covers the job at its head the job is served and paid for; a
//! tenant that runs out of work loses what credit is left. After a visit the credit is below the head's cost, so over m
//! visits a tenant that always has work is served between m·Q − L and m·Q + L, where L is its largest cost: that is
//! the whole proof of fairness.
//!
//! A visit that serves nothing changes nothing but a number, so it is not made. When a tenant's turn ends with credit
//! d < h, the cost at its head, the next visit that serves it is ⌈(h − d)/Q⌉ rounds ahead, and the tenant is put down
//! for that round: in the lane of this round or the next, which is where everyone is while no job costs more than a
//! quantum, else in a heap ordered by round. When nothing is due, the round number jumps. A job of cost
//! `u64::MAX` at quantum 1 is one step.
//!
//! Within a round tenants are visited in one fixed order, in which they became active, wherever they are put down:
//! the bound below needs that no two visits to one tenant have two visits to another between them.
//!
//! **The turn stays.** [`pick`](Drr::pick) answers whose head is next and goes on answering the same until
//! [`serve`](Drr::serve) is called: a caller whose capacity is full simply asks again later. The quantum is granted
//! once for a turn, so being blocked hoards no credit.
//!
//! **Idle tenants.** Running out of work forfeits credit and keeps debt. Debt (from [`charge`](Drr::charge)) is repaid by
//! the visits that pass while the tenant is idle as by those that pass while it waits. A tenant that comes back within
//! the round of its last visit waits for the next round: leaving and returning gains no turn. A round ends when
//! everybody due in it was visited, or when nobody has work.
//!
//! **Not ready.** A tenant whose next job may not start yet, because a rate limiter said so, say, is *paused*: it is not
//! visited and not idle either, and keeps its credit. A visit of which nothing was spent is given back. It comes back at
//! the end of the round in progress, unless it was visited in it. Visits that it missed are gone: who cannot use its
//! turns does not save them up. Where many are sent back to one instant, the caller decides who comes back first.
//!
//! **Source.** Shreedhar & Varghese, *Efficient fair queuing using deficit round robin*, 1995. Deviations: rounds
//! without service are skipped arithmetically; a tenant that becomes active joins the end of the round in progress
//! unless it was visited in it; debt as in the adaptation for costs not known beforehand by Sheng et al., 2024. No cap on
//! credit: none is needed, and a cap below L + Q breaks proportionality.
//!
//! **Invariants.** **I1** a tenant with a head is on exactly one of: the turn, this round's lane, the next round's lane,
//! the heap; one without, or paused, is on none. **I2** credit, counted before the visits to come, is below the head's cost for everyone but
//! the turn's tenant, whose credit covers its head. **I3** both lanes are in visiting order. **I4** nobody on the heap
//! is due before the present round.
//!
//! **Law.** For tenants i, j that both have work that is ready throughout an interval, with S the cost served in it, w the weights
//! and L the largest costs: |Sᵢ/wᵢ − Sⱼ/wⱼ| ≤ quantum + Lᵢ/wᵢ + Lⱼ/wⱼ. A head of cost c is served after at most ⌈c/Q⌉
//! visits, during which each other tenant is served less than ⌈c/Q⌉·Qⱼ + Lⱼ.
//!
//! **Work** O(1) while no job costs more than its tenant's quantum, else O(log tenants). **Memory** 76 bytes a tenant,
//! reserved at construction; all that a pick reads of a tenant is one cache line.

mod check;
mod lane;
mod tenants;

use super::{FairError, TenantId};
use crate::error::{ConfigError, Rules};
use crate::heap::IndexedHeap;
use crate::num;
use crate::slots::{NIL, Storage};
use lane::Lane;
use tenants::{Place, Tenant, Tenants};

/// Deficit round robin over dense tenant ids; see the [module](self).
///
/// ```
/// use tollgate::fair::{Drr, TenantId};
/// use tollgate::slots::Inline;
///
/// let (a, b) = (TenantId::new(0), TenantId::new(1));
/// let mut drr = Drr::<Inline<2>>::new(2, 2)?; // quantum 2 for each unit of weight
/// drr.set_weight(b, 2)?;
/// drr.set_head(a, Some(5))?; // every job of a costs 5, of b costs 2
/// drr.set_head(b, Some(2))?;
///
/// let mut served = String::new();
/// for _ in 0..7 {
///     let tenant = drr.pick().unwrap();
///     let (name, next) = if tenant == a { ('A', 5) } else { ('B', 2) };
///     served.push(name);
///     drr.serve(Some(next))?;
/// }
/// assert_eq!(served, "BBBBABB");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Drr<S: Storage> {
    quantum: u64,
    tenants: Tenants<S>,
    turn: u32,
    /// The lanes of this round and the next; `odd` says which is which.
    lanes: [Lane<S>; 2],
    odd: bool,
    later: IndexedHeap<S>,
    /// Tenants with work of which none is ready.
    paused: u32,
    round: u128,
    /// The order of the last tenant visited in this round; everyone up to it has had this round's visit.
    cursor: u64,
    /// Orders given out so far.
    orders: u64,
}

impl<S: Storage> Drr<S> {
    /// A scheduler for tenants 0 to `tenants` − 1, all idle and of weight 1, that grants `quantum` cost units for each
    /// unit of weight and round. O(`tenants`).
    ///
    /// A quantum of the largest cost makes every pick O(1); a smaller one shares in finer turns.
    ///
    /// # Errors
    /// `quantum` 0; more tenants than the storage can hold.
    pub fn new(tenants: u32, quantum: u64) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        rules.require(quantum > 0, "quantum", quantum, "1 cost unit or more");
        rules.verdict()?;
        Ok(Self {
            quantum,
            tenants: Tenants::new(tenants)?,
            turn: NIL,
            lanes: [Lane::new(S::buffer(tenants)?), Lane::new(S::buffer(tenants)?)],
            odd: false,
            later: IndexedHeap::new(S::buffer(tenants)?),
            paused: 0,
            round: 1,
            cursor: 0,
            orders: 0,
        })
    }

    /// Tells what the job at the head of a tenant's queue costs, `None` if the queue is empty. To be called when a job
    /// arrives at an empty queue and whenever the head changes other than by [`serve`](Self::serve): cancelled,
    /// expired, put back. Saying the same again changes nothing. O(1), or O(log n) when a head that waits changes.
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn set_head(&mut self, tenant: TenantId, head: Option<u64>) -> Result<(), FairError> {
        let index = self.check(tenant)?;
        let Some(state) = self.tenants.get(index) else { return Ok(()) };
        match (state.place, head) {
            (Place::Idle, None) => {}
            (Place::Idle | Place::Paused, Some(head)) => self.activate(index, head),
            (Place::Paused, None) => {
                self.reckon_up(index);
                let (visited, credit) =
                    self.tenants.get(index).map_or((0, 0), |state| (state.round, state.credit));
                self.paused = self.paused.saturating_sub(1);
                self.retire(index, visited, credit);
            }
            (Place::Turn, head) => self.continue_turn(index, head),
            (_, Some(head)) if state.head == head => {}
            (_, head) => {
                let (visited, credit) = self.unschedule(index);
                match head {
                    Some(head) => self.schedule(index, head, visited, credit),
                    None => self.retire(index, visited, credit),
                }
            }
        }
        self.debug_check(index);
        Ok(())
    }

    /// Tells that a tenant has work and none of it is ready: it keeps credit and debt, and is passed over until
    /// [`set_head`](Self::set_head) names a head. O(log n).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn pause(&mut self, tenant: TenantId) -> Result<(), FairError> {
        let index = self.check(tenant)?;
        let place = self.tenants.get(index).map(|state| state.place);
        if place == Some(Place::Idle) {
            self.reckon_up(index);
        }
        let Some(state) = self.tenants.get(index) else { return Ok(()) };
        let (visited, credit) = match state.place {
            Place::Paused => return Ok(()),
            Place::Idle => (state.round, state.credit),
            Place::Turn => (self.round, state.credit),
            Place::Listed | Place::Later => self.unschedule(index),
        };
        if self.turn == index {
            self.turn = NIL;
        }
        self.paused = self.paused.saturating_add(1);
        self.stand_still(index, visited, credit);
        self.debug_check(index);
        Ok(())
    }

    /// Whose head is to be served next, `None` if nobody has work that is ready. Answers the same until [`serve`](Self::serve) or a
    /// change of that head. O(1), or O(log n) if a job costs more than a quantum.
    #[must_use]
    pub fn pick(&mut self) -> Option<TenantId> {
        if self.turn == NIL {
            self.turn = self.begin_turn()?;
        }
        Some(TenantId(self.turn))
    }

    /// Serves the head of the tenant that [`pick`](Self::pick) answered: pays its cost, and tells what the next head costs,
    /// `None` if the queue is empty now. O(1), or O(log n) if that costs more than a quantum.
    ///
    /// # Errors
    /// [`FairError::NoTurn`] if `pick` was not called since the last turn ended.
    pub fn serve(&mut self, next_head: Option<u64>) -> Result<(), FairError> {
        let index = self.turn;
        let state = self.tenants.get_mut(index).ok_or(FairError::NoTurn)?;
        state.credit = state.credit.saturating_sub(i128::from(state.head));
        self.continue_turn(index, next_head);
        self.debug_check(index);
        Ok(())
    }

    /// Serves as [`serve`](Self::serve) does, and [pauses](Self::pause) the tenant: what is next in its queue is not ready.
    /// O(1).
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn serve_then_pause(&mut self) -> Result<(), FairError> {
        let index = self.turn;
        let state = self.tenants.get(index).ok_or(FairError::NoTurn)?;
        let credit = state.credit.saturating_sub(i128::from(state.head));
        self.turn = NIL;
        self.paused = self.paused.saturating_add(1);
        self.stand_still(index, self.round, credit);
        self.debug_check(index);
        Ok(())
    }

    /// Charges a tenant for cost that was not known when it was served: the debt is repaid out of its next quanta, also
    /// while it is idle. O(log n).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn charge(&mut self, tenant: TenantId, cost: u64) -> Result<(), FairError> {
        self.adjust(tenant, i128::from(cost).saturating_neg())
    }

    /// Gives a tenant back cost that it was served for and did not use. An idle tenant keeps it only against debt.
    /// O(log n).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn refund(&mut self, tenant: TenantId, cost: u64) -> Result<(), FairError> {
        self.adjust(tenant, i128::from(cost))
    }

    /// Changes a tenant's weight, from its next visit on; a turn in progress keeps the quantum it was granted.
    /// O(log n).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`], [`FairError::ZeroWeight`]; nothing is changed.
    pub fn set_weight(&mut self, tenant: TenantId, weight: u32) -> Result<(), FairError> {
        let index = self.check(tenant)?;
        if weight == 0 {
            return Err(FairError::ZeroWeight { tenant });
        }
        let Some(state) = self.tenants.get(index) else { return Ok(()) };
        if matches!(state.place, Place::Idle | Place::Paused | Place::Turn) {
            self.reckon_up(index);
            self.set_weight_of(index, weight);
        } else {
            let head = state.head;
            let (visited, credit) = self.unschedule(index);
            self.set_weight_of(index, weight);
            self.schedule(index, head, visited, credit);
        }
        self.debug_check(index);
        Ok(())
    }

    /// A tenant's weight, `None` if it is unknown.
    #[must_use]
    pub fn weight(&self, tenant: TenantId) -> Option<u32> {
        Some(self.tenants.get(tenant.0)?.weight)
    }

    /// What a tenant may spend before its next visit: what was left of its last turn, negative for debt. `None` if it is
    /// unknown.
    #[must_use]
    pub fn credit(&self, tenant: TenantId) -> Option<i128> {
        let state = self.tenants.get(tenant.0)?;
        Some(match state.place {
            Place::Idle | Place::Paused => self.idle_credit(state),
            Place::Turn => state.credit,
            Place::Listed | Place::Later => self.credit_before(state),
        })
    }

    /// What a tenant owes: its [`credit`](Self::credit) where that is negative, else 0. `None` if it is unknown.
    #[must_use]
    pub fn debt(&self, tenant: TenantId) -> Option<u128> {
        Some(self.credit(tenant)?.min(0).unsigned_abs())
    }

    /// Whether [forgetting](Self::forget) a tenant would gain it nothing: it is idle, owes nothing, and cannot be
    /// visited twice in a round by coming back as somebody new, or nobody is there to whom that would matter.
    #[must_use]
    pub fn is_settled(&self, tenant: TenantId) -> bool {
        self.tenants.get(tenant.0).is_some_and(|state| {
            let visited = state.round == self.round && !self.is_over();
            state.place == Place::Idle && self.idle_credit(state) == 0 && !visited
        })
    }

    /// Makes a tenant as it was at the start: idle, of weight 1, without debt. For an id that is to stand for somebody
    /// else. O(log n).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn forget(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.set_head(tenant, None)?;
        if let Some(state) = self.tenants.get_mut(tenant.0) {
            *state = Tenant::IDLE;
        }
        Ok(())
    }

    /// Tenants that have work and not the turn, about in the order in which their turns come: in order within this round
    /// and the next, in none beyond. Looks at most at `limit` places of each.
    pub fn upcoming(&self, limit: usize) -> impl Iterator<Item = TenantId> {
        let [even, odd] = &self.lanes;
        let (current, next) = if self.odd { (odd, even) } else { (even, odd) };
        let lanes = current.ahead(limit).chain(next.ahead(limit));
        lanes.chain(self.later.members().iter().copied().take(limit)).map(TenantId)
    }

    /// Whether nobody has work that is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let [even, odd] = &self.lanes;
        self.turn == NIL && even.is_empty() && odd.is_empty() && self.later.len() == 0
    }

    /// Cost units granted for each unit of weight and round.
    #[must_use]
    pub const fn quantum(&self) -> u64 {
        self.quantum
    }

    /// Whether a tenant has work that is ready.
    #[must_use]
    pub fn is_active(&self, tenant: TenantId) -> bool {
        let place = self.tenants.get(tenant.0).map(|state| state.place);
        place.is_some_and(|place| !matches!(place, Place::Idle | Place::Paused))
    }

    /// Takes the next tenant that is due, in visiting order, moving on to the next round that has one.
    fn begin_turn(&mut self) -> Option<u32> {
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
    fn begin_round(&mut self) -> Option<()> {
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
    const fn current(&mut self) -> &mut Lane<S> {
        let [even, odd] = &mut self.lanes;
        if self.odd { odd } else { even }
    }

    /// The lane of the next round.
    #[inline]
    const fn next(&mut self) -> &mut Lane<S> {
        let [even, odd] = &mut self.lanes;
        if self.odd { even } else { odd }
    }

    /// The turn goes on with this head if the credit covers it, else it ends.
    fn continue_turn(&mut self, index: u32, head: Option<u64>) {
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
    fn activate(&mut self, index: u32, head: u64) {
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
    fn schedule(&mut self, index: u32, head: u64, visited: u128, credit: i128) {
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
    fn unschedule(&mut self, index: u32) -> (u128, i128) {
        let found = self.tenants.get(index).map(|state| (self.visited(state), self.credit_before(state)));
        self.take_out(index);
        found.unwrap_or((self.round, 0))
    }

    /// No work: credit is forfeited, debt is kept.
    fn retire(&mut self, index: u32, visited: u128, credit: i128) {
        if let Some(state) = self.tenants.get_mut(index) {
            state.place = Place::Idle;
            state.head = 0;
            state.round = visited;
            state.credit = credit.min(0);
        }
    }

    /// Work, none of it ready: credit and debt are kept, and a visit of which nothing was spent is given back.
    fn stand_still(&mut self, index: u32, visited: u128, credit: i128) {
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
    fn is_over(&self) -> bool {
        self.paused == 0 && self.is_empty()
    }

    fn adjust(&mut self, tenant: TenantId, amount: i128) -> Result<(), FairError> {
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
    fn visited(&self, state: &Tenant) -> u128 {
        if state.order <= self.cursor { self.round } else { self.round.saturating_sub(1) }
    }

    /// A waiting tenant's credit before the visits that are still to come.
    fn credit_before(&self, state: &Tenant) -> i128 {
        let visits = state.round.saturating_sub(self.visited(state));
        let quanta = visits.saturating_mul(num::product(self.quantum, num::from_u32(state.weight)));
        state.credit.saturating_sub_unsigned(quanta)
    }

    /// The credit of a tenant that is not due: visits that passed since its last have repaid debt, and nothing else.
    fn idle_credit(&self, state: &Tenant) -> i128 {
        if state.credit >= 0 || state.round == self.round {
            return state.credit;
        }
        let passed = self.round.saturating_sub(1).saturating_sub(state.round);
        let quantum = num::product(self.quantum, num::from_u32(state.weight));
        state.credit.saturating_add_unsigned(passed.saturating_mul(quantum)).min(0)
    }

    /// A tenant's quantum; below 2⁹⁶, so nothing is lost.
    fn share_of(&self, state: &Tenant) -> i128 {
        0_i128.saturating_add_unsigned(num::product(self.quantum, num::from_u32(state.weight)))
    }

    /// Writes down what the visits that an idle tenant has missed so far have repaid, before its debt or its weight
    /// changes: they repay nothing that it owes from now on.
    fn reckon_up(&mut self, index: u32) {
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

    fn take_out(&mut self, index: u32) {
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

    fn set_weight_of(&mut self, index: u32, weight: u32) {
        if let Some(state) = self.tenants.get_mut(index) {
            state.weight = weight;
        }
    }

    fn quantum_of(&self, index: u32) -> u128 {
        let weight = self.tenants.get(index).map_or(1, |state| state.weight);
        num::product(self.quantum, num::from_u32(weight))
    }

    fn check(&self, tenant: TenantId) -> Result<u32, FairError> {
        let capacity = self.tenants.len();
        if tenant.0 < capacity { Ok(tenant.0) } else { Err(FairError::UnknownTenant { tenant, capacity }) }
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
