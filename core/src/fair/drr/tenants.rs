//! The table of tenants of a [`Drr`](super::Drr), as the scheduler and its heap see it.
//!
//! One pick reads one tenant, and with a million of them each is a miss of every cache: so all of a tenant is one cache
//! line of 64 bytes.

use crate::error::ConfigError;
use crate::heap::Keys;
use crate::num;
use crate::slots::{Buffer, NIL, Storage};

/// Where a tenant is put down (I1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// No work.
    Idle,
    /// Work, none of it ready.
    Paused,
    /// Being served.
    Turn,
    /// In the lane of the present round or of the next, as its `round` says.
    Listed,
    /// On the heap.
    Later,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Tenant {
    /// Listed: position in the lane of its round. Later: on the heap.
    pub(super) position: u32,
    pub(super) weight: u32,
    pub(super) place: Place,
    /// Cost of the job at the head of its queue; 0 while idle.
    pub(super) head: u64,
    /// Order of visits within a round: lower first.
    pub(super) order: u64,
    /// Due: the round of the visit that will serve it. Idle or paused: the round of its last visit.
    pub(super) round: u128,
    /// Due: its credit at that visit, quantum included. Paused: its credit after its last visit. Idle: 0, or minus its
    /// debt after it.
    pub(super) credit: i128,
}

impl Tenant {
    /// No work, no debt, never visited.
    pub(super) const IDLE: Self =
        Self { position: NIL, weight: 1, place: Place::Idle, head: 0, order: 0, round: 0, credit: 0 };
}

const _: () = assert!(size_of::<Tenant>() == 64, "a tenant is a cache line");

pub(super) struct Tenants<S: Storage>(S::Buffer<Tenant>);

impl<S: Storage> Tenants<S> {
    /// So many idle tenants of weight 1.
    pub(super) fn new(tenants: u32) -> Result<Self, ConfigError> {
        let mut buffer = S::buffer(tenants)?;
        for _ in 0..tenants {
            // The buffer was made for as many.
            let _full = buffer.push(Tenant::IDLE);
        }
        Ok(Self(buffer))
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Tenant> {
        self.0.as_ref().get(num::index(index))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Tenant> {
        self.0.as_mut().get_mut(num::index(index))
    }

    pub(super) fn len(&self) -> u32 {
        num::index_u32(self.0.as_ref().len())
    }

    pub(super) fn all(&self) -> &[Tenant] {
        self.0.as_ref()
    }
}

impl<S: Storage> Keys for Tenants<S> {
    type Key = (u128, u64);

    fn key(&self, member: u32) -> Self::Key {
        self.get(member).map_or((u128::MAX, u64::MAX), |state| (state.round, state.order))
    }

    fn set_position(&mut self, member: u32, position: u32) {
        if let Some(state) = self.get_mut(member) {
            state.position = position;
        }
    }

    fn position(&self, member: u32) -> u32 {
        self.get(member).map_or(NIL, |state| state.position)
    }
}

impl<S: Storage> core::fmt::Debug for Tenants<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}
