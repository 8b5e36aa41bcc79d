//! The scheduler of a gate: one of the two of [`fair`](crate::fair), behind one face.
//!
//! The gate tells it what is at the head of each tenant's queue and asks whose turn it is. A turn stays until it is
//! served or that head is gone, so a gate whose capacity is full asks again and again without harm.

use super::settings;
use crate::error::ConfigError;
use crate::fair::{Drr, Swrr, TenantId};
use crate::num;
use crate::slots::Storage;

/// Candidates that are looked at when the job whose turn it is does not fit.
pub(super) const LOOK_AHEAD: usize = 64;

/// What is next in a tenant's queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Head {
    /// Nothing.
    Empty,
    /// Something that may not start yet, or that may come back.
    NotReady,
    /// A job of this cost.
    Ready(u64),
}

#[derive(Debug)]
pub(super) enum Order<S: Storage> {
    Deficit(Drr<S>),
    Smooth {
        swrr: Swrr<S>,
        /// Whose turn it is, once it was picked.
        turn: Option<TenantId>,
    },
}

// Indices come from the gate's own table, which is as long as the scheduler's, and weights were checked: what a
// scheduler could answer with an error cannot happen, and would change nothing.
impl<S: Storage> Order<S> {
    pub(super) fn new(tenants: u32, order: settings::Order) -> Result<Self, ConfigError> {
        Ok(match order {
            settings::Order::Deficit { quantum } => Self::Deficit(Drr::new(tenants, quantum)?),
            settings::Order::Smooth => Self::Smooth { swrr: Swrr::new(tenants)?, turn: None },
        })
    }

    /// Tells what is next in a tenant's queue. A turn that it had and cannot use any more is given back.
    #[inline]
    pub(super) fn set_head(&mut self, tenant: u32, head: Head) {
        let id = TenantId::new(tenant);
        let told = match (self, head) {
            (Self::Deficit(drr), Head::Empty) => drr.set_head(id, None),
            (Self::Deficit(drr), Head::NotReady) => drr.pause(id),
            (Self::Deficit(drr), Head::Ready(cost)) => drr.set_head(id, Some(cost)),
            (Self::Smooth { swrr, .. }, Head::Ready(_)) => swrr.join(id),
            (Self::Smooth { swrr, turn }, head) => {
                let unused = turn.take_if(|turn| *turn == id).map_or(Ok(()), |id| swrr.give_turn_back(id));
                unused.and_then(|()| if head == Head::Empty { swrr.leave(id) } else { swrr.pause(id) })
            }
        };
        debug_assert!(told.is_ok(), "{told:?}");
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn pick(&mut self) -> Option<u32> {
        let id = match self {
            Self::Deficit(drr) => drr.pick(),
            Self::Smooth { swrr, turn } => {
                if turn.is_none() {
                    *turn = swrr.pick();
                }
                *turn
            }
        };
        id.map(|id| num::index_u32(id.index()))
    }

    /// The head of the tenant whose turn it is was served; what is next in its queue.
    #[inline]
    pub(super) fn serve(&mut self, tenant: u32, next: Head) {
        let told = match (&mut *self, next) {
            (Self::Deficit(drr), Head::Empty) => drr.serve(None),
            (Self::Deficit(drr), Head::NotReady) => drr.serve_then_pause(),
            (Self::Deficit(drr), Head::Ready(cost)) => drr.serve(Some(cost)),
            (Self::Smooth { turn, .. }, next) => {
                *turn = None;
                self.set_head(tenant, next);
                Ok(())
            }
        };
        debug_assert!(told.is_ok(), "{told:?}");
    }

    /// A job of this cost was served out of turn, on account of its tenant; what is next in its queue.
    pub(super) fn serve_out_of_turn(&mut self, tenant: u32, cost: u64, next: Head) {
        let id = TenantId::new(tenant);
        let told = match self {
            Self::Deficit(drr) => drr.charge(id, cost),
            Self::Smooth { swrr, .. } => swrr.take_turn(id),
        };
        debug_assert!(told.is_ok(), "{told:?}");
        self.set_head(tenant, next);
    }

    /// What a tenant was served for came to nothing: it gets its turn back.
    pub(super) fn give_turn_back(&mut self, tenant: u32, cost: u64) {
        let id = TenantId::new(tenant);
        let told = match self {
            Self::Deficit(drr) => drr.refund(id, cost),
            Self::Smooth { swrr, .. } => swrr.give_turn_back(id),
        };
        debug_assert!(told.is_ok(), "{told:?}");
    }

    /// Whether a tenant may be served out of turn once more: it does not owe `turns` turns yet.
    pub(super) fn may_borrow(&self, tenant: u32, turns: u32) -> bool {
        let id = TenantId::new(tenant);
        match self {
            Self::Deficit(drr) => {
                let share = num::product(drr.quantum(), num::from_u32(self.weight(tenant)));
                drr.debt(id).unwrap_or(0) < share.saturating_mul(u128::from(turns))
            }
            Self::Smooth { swrr, .. } => swrr.turns_ahead(id).unwrap_or(0) < turns,
        }
    }

    /// Writes down tenants with work other than the one whose turn it is, those whose turn comes soon first; how many.
    pub(super) fn upcoming(&self, into: &mut [u32; LOOK_AHEAD]) -> usize {
        let index = |id: TenantId| num::index_u32(id.index());
        let mut fill = |ids: &mut dyn Iterator<Item = TenantId>| {
            into.iter_mut().zip(ids).map(|(place, id)| *place = index(id)).count()
        };
        match self {
            Self::Deficit(drr) => fill(&mut drr.upcoming(LOOK_AHEAD)),
            Self::Smooth { swrr, turn } => fill(&mut swrr.members().filter(|&id| Some(id) != *turn)),
        }
    }

    /// Whether no tenant has work that is ready.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Deficit(drr) => drr.is_empty(),
            Self::Smooth { swrr, .. } => swrr.members().next().is_none(),
        }
    }

    /// A tenant was charged `estimated` for what really cost `actual`.
    pub(super) fn settle(&mut self, tenant: u32, estimated: u64, actual: u64) {
        let Self::Deficit(drr) = self else { return };
        let id = TenantId::new(tenant);
        let told = match actual.checked_sub(estimated) {
            Some(0) => Ok(()),
            Some(more) => drr.charge(id, more),
            None => drr.refund(id, estimated.saturating_sub(actual)),
        };
        debug_assert!(told.is_ok(), "{told:?}");
    }

    pub(super) fn set_weight(&mut self, tenant: u32, weight: u32) {
        let id = TenantId::new(tenant);
        let told = match self {
            Self::Deficit(drr) => drr.set_weight(id, weight),
            Self::Smooth { swrr, .. } => swrr.set_weight(id, weight),
        };
        debug_assert!(told.is_ok(), "{told:?}");
    }

    pub(super) fn weight(&self, tenant: u32) -> u32 {
        let id = TenantId::new(tenant);
        let weight = match self {
            Self::Deficit(drr) => drr.weight(id),
            Self::Smooth { swrr, .. } => swrr.weight(id),
        };
        weight.unwrap_or(1)
    }

    /// What a tenant owes, cost units.
    pub(super) fn debt(&self, tenant: u32) -> u128 {
        match self {
            Self::Deficit(drr) => drr.debt(TenantId::new(tenant)).unwrap_or(0),
            Self::Smooth { .. } => 0,
        }
    }

    /// Whether forgetting a tenant without work gains it nothing.
    pub(super) fn is_settled(&self, tenant: u32) -> bool {
        let id = TenantId::new(tenant);
        match self {
            Self::Deficit(drr) => drr.is_settled(id),
            Self::Smooth { swrr, .. } => swrr.is_settled(id),
        }
    }

    /// Forgets what a tenant without work has done and owes.
    pub(super) fn forget(&mut self, tenant: u32) {
        let id = TenantId::new(tenant);
        let told = match self {
            Self::Deficit(drr) => drr.forget(id),
            Self::Smooth { swrr, .. } => swrr.forget(id),
        };
        debug_assert!(told.is_ok(), "{told:?}");
    }

    /// A job's cost in the unit of the turns.
    #[inline]
    pub(super) const fn units(&self, cost: u64) -> u64 {
        match self {
            Self::Deficit(_) => cost,
            Self::Smooth { .. } => 1,
        }
    }

    /// What a weight of 1 is granted a round, in the unit of the turns.
    pub(super) const fn quantum(&self) -> u64 {
        match self {
            Self::Deficit(drr) => drr.quantum(),
            Self::Smooth { .. } => 1,
        }
    }

    pub(super) fn check(&self) {
        match self {
            Self::Deficit(drr) => drr.check_invariants(),
            Self::Smooth { swrr, .. } => swrr.check_invariants(),
        }
    }

    /// Whether the scheduler knows of work of a tenant that is ready.
    pub(super) fn is_active(&self, tenant: u32) -> bool {
        let id = TenantId::new(tenant);
        match self {
            Self::Deficit(drr) => drr.is_active(id),
            Self::Smooth { swrr, .. } => swrr.is_member(id),
        }
    }
}
