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
mod view;
mod visits;

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
