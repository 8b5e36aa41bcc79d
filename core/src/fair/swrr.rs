//! [`Swrr`]: smooth weighted round robin, in turns.
//!
//! **Problem.** A tenant of weight 3 shall get three turns for each one of weight 1, spread out (`a b a c a`), not in
//! a clump (`a a a b c`), among those who are ready at the moment.
//!
//! **Derivation.** Every tenant has a number. A pick adds its weight to each ready tenant's number, takes the largest
//! (of equals, the lowest id), and subtracts from the winner the sum of the ready weights. The numbers of a constant
//! set of ready tenants sum to what they summed to before; after k picks a tenant's number is k·w − n·W above where it
//! started, with n its turns and W the sum, so the number *is* how far the tenant is behind its due, times W.
//!
//! **Coming and going.** What matters is a tenant's number against the mean of the others, so a tenant that joins
//! starts at that mean (rounded down): neither credit nor debt. One that leaves ahead of its due keeps that debt, which fades by its
//! weight with each pick it misses, as it would have by waiting; being behind is forfeited. So a tenant with one job at
//! a time, which leaves after each turn, gains nothing by it. A changed weight keeps the number.
//!
//! **Not ready.** A member whose next job may not start yet is *paused*: it stands still, neither coming closer to its due
//! nor falling behind, and comes back with the number it had. A turn that came to nothing is given back: the
//! pick is undone.
//!
//! **Source.** The balancer of nginx (commit 52327e062, 2012). Deviations: joining and leaving as above, where resetting
//! to zero floods the newcomer (apache/dubbo#15762).
//!
//! **Invariants.** **I1** the numbers of the members sum to `sum`, their weights to `weights`; **I2** a pick does not change the sum; **I3** exactly
//! the members are on the member list.
//!
//! **Law.** While the same tenants are ready: in any W picks each tenant gets exactly its weight, and the state returns;
//! nobody is ever ahead of its due by more than 1 − 1/n of a turn.
//!
//! **Work** O(members) for a pick, O(1) to join and leave. **Memory** 36 bytes a tenant.

use super::{FairError, TenantId};
use crate::error::ConfigError;
use crate::num;
use crate::slots::{Buffer, NIL, Storage};

#[derive(Clone, Debug)]
struct Tenant {
    weight: u32,
    /// Position on the member list, [`NIL`] while away.
    position: u32,
    /// A member or paused: its number. Away: minus its debt against the mean when it left, or 0.
    number: i64,
    /// Not a member, and keeps its place.
    paused: bool,
    /// Away: the count of picks when it left.
    left_at: u64,
}

impl Tenant {
    const AWAY: Self = Self { weight: 1, position: NIL, number: 0, paused: false, left_at: 0 };

    /// Away: what is left of its debt after so many picks, 0 or less.
    fn faded(&self, picks: u64) -> i64 {
        let missed = num::clamp_i64(picks.saturating_sub(self.left_at));
        self.number.saturating_add(missed.saturating_mul(i64::from(self.weight))).min(0)
    }
}

/// Smooth weighted round robin over dense tenant ids; see the [module](self).
///
/// ```
/// use tollgate::fair::{Swrr, TenantId};
/// use tollgate::slots::Inline;
///
/// let mut swrr = Swrr::<Inline<3>>::new(3)?;
/// for (id, weight) in [(0, 5), (1, 1), (2, 1)] {
///     swrr.set_weight(TenantId::new(id), weight)?;
///     swrr.join(TenantId::new(id))?;
/// }
/// let picks: Vec<_> = (0..7).map(|_| swrr.pick().unwrap().index()).collect();
/// assert_eq!(picks, [0, 0, 1, 0, 2, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Swrr<S: Storage> {
    tenants: S::Buffer<Tenant>,
    members: S::Buffer<u32>,
    sum: i64,
    /// Weights of the members together.
    weights: i64,
    picks: u64,
}

impl<S: Storage> Swrr<S> {
    /// A scheduler for tenants 0 to `tenants` − 1, all away and of weight 1. O(`tenants`).
    ///
    /// # Errors
    /// More tenants than the storage can hold.
    pub fn new(tenants: u32) -> Result<Self, ConfigError> {
        let mut buffer = S::buffer(tenants)?;
        for _ in 0..tenants {
            // The buffer was made for as many.
            let _full = buffer.push(Tenant::AWAY);
        }
        Ok(Self { tenants: buffer, members: S::buffer(tenants)?, sum: 0, weights: 0, picks: 0 })
    }

    /// Makes a tenant a member: it has work. A member stays one. O(1).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn join(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.check(tenant)?;
        let mean = self.mean();
        let picks = self.picks;
        let position = num::index_u32(self.members.as_ref().len());
        let Some(state) = self.get_mut(tenant.0) else { return Ok(()) };
        if state.position != NIL {
            return Ok(());
        }
        let number = if state.paused { state.number } else { mean.saturating_add(state.faded(picks)) };
        state.paused = false;
        let weight = i64::from(state.weight);
        (state.position, state.number) = (position, number);
        self.sum = self.sum.saturating_add(number);
        self.weights = self.weights.saturating_add(weight);
        // There is room for every tenant, and this one was not on it (I3).
        let _full = self.members.push(tenant.0);
        Ok(())
    }

    /// Takes a tenant out: it has no work. O(1).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn leave(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.check(tenant)?;
        self.take_out(tenant.0);
        let (picks, mean) = (self.picks, self.mean());
        if let Some(state) = self.get_mut(tenant.0).filter(|state| state.paused) {
            // What it is behind is forfeited.
            let ahead = state.number.saturating_sub(mean).min(0);
            (state.paused, state.number, state.left_at) = (false, ahead, picks);
        }
        Ok(())
    }

    /// Takes a tenant out that has work, none of it ready: it keeps its number until it [joins](Self::join) again. O(1).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn pause(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.check(tenant)?;
        self.take_out(tenant.0);
        let (picks, mean) = (self.picks, self.mean());
        if let Some(state) = self.get_mut(tenant.0).filter(|state| !state.paused) {
            (state.paused, state.number) = (true, mean.saturating_add(state.faded(picks)));
        }
        Ok(())
    }

    /// Takes a member off the list; it is paused from now on.
    fn take_out(&mut self, tenant: u32) {
        let Some(state) = self.get_mut(tenant).filter(|state| state.position != NIL) else { return };
        let (position, number, weight) = (state.position, state.number, i64::from(state.weight));
        (state.position, state.paused) = (NIL, true);
        self.sum = self.sum.saturating_sub(number);
        self.weights = self.weights.saturating_sub(weight);
        if let Some(last) = self.members.pop()
            && last != tenant
        {
            if let Some(slot) = self.members.as_mut().get_mut(num::index(position)) {
                *slot = last;
            }
            if let Some(moved) = self.get_mut(last) {
                moved.position = position;
            }
        }
    }

    /// Gives back a turn that came to nothing: undoes the pick that gave it, for the tenant and for those who are members
    /// now. Exact while they are those who were ready then. O(members).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn give_turn_back(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.check(tenant)?;
        let others = self.weights;
        let tenants = self.tenants.as_mut();
        for &member in self.members.as_ref() {
            if let Some(state) = tenants.get_mut(num::index(member)) {
                state.number = state.number.saturating_sub(i64::from(state.weight));
            }
        }
        if let Some(state) = tenants.get_mut(tenant.index())
            && (state.position != NIL || state.paused)
        {
            state.number = state.number.saturating_add(others);
        }
        if !self.is_member(tenant) {
            self.sum = self.sum.saturating_sub(others);
        }
        self.picks = self.picks.saturating_sub(1);
        Ok(())
    }

    /// Whose turn it is, among all members; `None` if there are none. O(members).
    pub fn pick(&mut self) -> Option<TenantId> {
        self.pick_ready(|_| true)
    }

    /// Whose turn it is, among the members for which `ready` answers true; the others stand still. O(members).
    pub fn pick_ready(&mut self, mut ready: impl FnMut(TenantId) -> bool) -> Option<TenantId> {
        let mut total = 0_i64;
        let mut best: Option<(i64, u32)> = None;
        let tenants = self.tenants.as_mut();
        for &member in self.members.as_ref() {
            let Some(state) = tenants.get_mut(num::index(member)) else { continue };
            if !ready(TenantId(member)) {
                continue;
            }
            state.number = state.number.saturating_add(i64::from(state.weight));
            total = total.saturating_add(i64::from(state.weight));
            let better = |(number, id): (i64, u32)| {
                (state.number, core::cmp::Reverse(member)) > (number, core::cmp::Reverse(id))
            };
            if best.is_none_or(better) {
                best = Some((state.number, member));
            }
        }
        let (number, winner) = best?;
        if let Some(state) = tenants.get_mut(num::index(winner)) {
            state.number = number.saturating_sub(total);
        }
        self.picks = self.picks.saturating_add(1);
        Some(TenantId(winner))
    }

    /// Changes a tenant's weight; its place in the order is kept. O(1).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`], [`FairError::ZeroWeight`]; nothing is changed.
    pub fn set_weight(&mut self, tenant: TenantId, weight: u32) -> Result<(), FairError> {
        self.check(tenant)?;
        if weight == 0 {
            return Err(FairError::ZeroWeight { tenant });
        }
        let Some(state) = self.get_mut(tenant.0) else { return Ok(()) };
        let before = core::mem::replace(&mut state.weight, weight);
        if state.position != NIL {
            let change = i64::from(weight).saturating_sub(i64::from(before));
            self.weights = self.weights.saturating_add(change);
        }
        Ok(())
    }

    /// Gives a turn to a member that is not next, as if it had won it: all come closer to their due, and it pays as the
    /// winner of a pick does. O(members).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn take_turn(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.check(tenant)?;
        if !self.is_member(tenant) {
            return Ok(());
        }
        let tenants = self.tenants.as_mut();
        for &member in self.members.as_ref() {
            if let Some(state) = tenants.get_mut(num::index(member)) {
                state.number = state.number.saturating_add(i64::from(state.weight));
            }
        }
        if let Some(state) = tenants.get_mut(tenant.index()) {
            state.number = state.number.saturating_sub(self.weights);
        }
        self.picks = self.picks.saturating_add(1);
        Ok(())
    }

    /// Whole turns by which a member is ahead of the mean, 0 if it is behind; `None` if it is no member. O(1).
    #[must_use]
    pub fn turns_ahead(&self, tenant: TenantId) -> Option<u32> {
        let ahead = self.mean().saturating_sub(self.number(tenant)?).max(0);
        let turns = ahead.checked_div(self.weights).unwrap_or(0);
        Some(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    /// Whether [forgetting](Self::forget) a tenant would gain it nothing: it is away, and was not ahead of its due or has
    /// missed enough picks since. O(1).
    #[must_use]
    pub fn is_settled(&self, tenant: TenantId) -> bool {
        let state = self.tenants.as_ref().get(tenant.index());
        state.is_some_and(|state| state.position == NIL && !state.paused && state.faded(self.picks) == 0)
    }

    /// Makes a tenant as it was at the start: away, of weight 1, without debt. For an id that is to stand for somebody
    /// else. O(1).
    ///
    /// # Errors
    /// [`FairError::UnknownTenant`].
    pub fn forget(&mut self, tenant: TenantId) -> Result<(), FairError> {
        self.leave(tenant)?;
        if let Some(state) = self.get_mut(tenant.0) {
            *state = Tenant::AWAY;
        }
        Ok(())
    }

    /// The members, in no order.
    pub fn members(&self) -> impl Iterator<Item = TenantId> {
        self.members.as_ref().iter().copied().map(TenantId)
    }

    /// A tenant's weight, `None` if it is unknown.
    #[must_use]
    pub fn weight(&self, tenant: TenantId) -> Option<u32> {
        Some(self.tenants.as_ref().get(tenant.index())?.weight)
    }

    /// Whether a tenant is a member.
    #[must_use]
    pub fn is_member(&self, tenant: TenantId) -> bool {
        self.tenants.as_ref().get(tenant.index()).is_some_and(|state| state.position != NIL)
    }

    /// A member's number: how far it is behind its due, times the sum of the weights. `None` if it is no member.
    #[must_use]
    pub fn number(&self, tenant: TenantId) -> Option<i64> {
        let state = self.tenants.as_ref().get(tenant.index())?;
        (state.position != NIL).then_some(state.number)
    }

    /// The mean of the members' numbers, rounded down.
    fn mean(&self) -> i64 {
        match i64::from(num::index_u32(self.members.as_ref().len())) {
            0 => 0,
            members => self.sum.div_euclid(members),
        }
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Tenant> {
        self.tenants.as_mut().get_mut(num::index(index))
    }

    fn check(&self, tenant: TenantId) -> Result<(), FairError> {
        let capacity = num::index_u32(self.tenants.as_ref().len());
        if tenant.0 < capacity { Ok(()) } else { Err(FairError::UnknownTenant { tenant, capacity }) }
    }

    /// Asserts I1 and I3. O(tenants); for tests and debugging.
    pub fn check_invariants(&self) {
        let (mut sum, mut weights) = (0_i64, 0_i64);
        let mut members = 0_usize;
        for (index, state) in self.tenants.as_ref().iter().enumerate() {
            if state.position == NIL {
                assert!(state.paused || state.number <= 0, "tenant {index} is away with credit");
                continue;
            }
            members = members.saturating_add(1);
            sum = sum.saturating_add(state.number);
            weights = weights.saturating_add(i64::from(state.weight));
            let listed = self.members.as_ref().get(num::index(state.position));
            assert_eq!(listed.map(|&m| num::index(m)), Some(index), "I3: tenant {index}");
        }
        assert_eq!(members, self.members.as_ref().len(), "I3: members");
        assert_eq!((sum, weights), (self.sum, self.weights), "I1: sums");
    }
}

impl<S: Storage> core::fmt::Debug for Swrr<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Swrr")
            .field("tenants", &self.tenants.as_ref())
            .field("members", &self.members.as_ref())
            .field("picks", &self.picks)
            .finish()
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
