//! The tenants due in one round, in visiting order.
//!
//! An array that is appended to at the end, taken from at the front, and left with a hole where a tenant goes. It is an
//! array and not a linked list because of what a pick waits for: with a million tenants each is a miss of every
//! cache, and the next one's place is known before this one has arrived.

use crate::num;
use crate::slots::{Buffer, NIL, Storage};

pub(super) struct Lane<S: Storage> {
    /// Appended so far, [`NIL`] for a hole.
    members: S::Buffer<u32>,
    /// Position before which all is taken.
    taken: u32,
    /// Members that are not holes.
    live: u32,
    /// Order of the last one appended.
    order: u64,
}

impl<S: Storage> Lane<S> {
    pub(super) const fn new(members: S::Buffer<u32>) -> Self {
        Self { members, taken: 0, live: 0, order: 0 }
    }

    /// The first member. Amortised O(1): each hole is passed once.
    #[inline]
    pub(super) fn front(&mut self) -> Option<u32> {
        if self.live == 0 {
            return None;
        }
        loop {
            let member = *self.members.as_ref().get(num::index(self.taken))?;
            if member != NIL {
                return Some(member);
            }
            self.taken = self.taken.saturating_add(1);
        }
    }

    /// Appends a member and answers its position, `None` if it is not last in visiting order or the lane is full (of
    /// holes too: tenants that went and came back within the round).
    #[inline]
    pub(super) fn append(&mut self, member: u32, order: u64) -> Option<u32> {
        let position = num::index_u32(self.members.as_ref().len());
        if position > 0 && order <= self.order {
            return None;
        }
        self.members.push(member).ok()?;
        self.order = order;
        self.live = self.live.saturating_add(1);
        Some(position)
    }

    /// Leaves a hole. O(1).
    #[inline]
    pub(super) fn remove(&mut self, position: u32) {
        if let Some(member) = self.members.as_mut().get_mut(num::index(position)) {
            *member = NIL;
            self.live = self.live.saturating_sub(1);
        }
    }

    pub(super) fn clear(&mut self) {
        self.members.clear();
        self.taken = 0;
        self.live = 0;
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Members that are not holes.
    pub(super) const fn len(&self) -> u32 {
        self.live
    }

    /// The members among the first `limit` places that are not taken yet.
    pub(super) fn ahead(&self, limit: usize) -> impl Iterator<Item = u32> {
        let members = self.members.as_ref().iter().skip(num::index(self.taken));
        members.take(limit).copied().filter(|&member| member != NIL)
    }

    /// Position and member of all that are not holes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let members = self.members.as_ref().iter().enumerate();
        members.filter(|&(_, &member)| member != NIL).map(|(at, &member)| (num::index_u32(at), member))
    }
}

impl<S: Storage> core::fmt::Debug for Lane<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter().map(|(_, member)| member)).finish()
    }
}
