//! What can be asked of a [`Drr`] without changing it.

use super::Drr;
use super::tenants::Place;
use crate::fair::TenantId;
use crate::slots::{NIL, Storage};

impl<S: Storage> Drr<S> {
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
}
