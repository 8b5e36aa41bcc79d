//! A binary heap of indices whose keys live elsewhere and which knows where each index stands, so that one can be
//! taken out of the middle in O(log n).

use crate::num;
use crate::slots::{Buffer, NIL, Storage};

/// What the heap asks about its members. A lesser key is nearer the top.
pub(crate) trait Keys {
    type Key: Ord;
    fn key(&self, member: u32) -> Self::Key;
    fn set_position(&mut self, member: u32, position: u32);
    fn position(&self, member: u32) -> u32;
}

/// Members by ascending key. Never holds more than the buffer was made for.
pub(crate) struct IndexedHeap<S: Storage> {
    members: S::Buffer<u32>,
}

impl<S: Storage> IndexedHeap<S> {
    pub(crate) const fn new(members: S::Buffer<u32>) -> Self {
        Self { members }
    }

    /// The member with the least key.
    #[inline]
    pub(crate) fn top(&self) -> Option<u32> {
        self.members.as_ref().first().copied()
    }

    /// All members, in no order.
    pub(crate) fn members(&self) -> &[u32] {
        self.members.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.as_ref().len()
    }

    pub(crate) fn push(&mut self, keys: &mut impl Keys, member: u32) {
        let position = num::index_u32(self.members.as_ref().len());
        if self.members.push(member).is_ok() {
            keys.set_position(member, position);
            self.sift_up(keys, position);
        }
    }

    pub(crate) fn remove(&mut self, keys: &mut impl Keys, member: u32) {
        let position = keys.position(member);
        let Some(last) = self.members.pop() else { return };
        keys.set_position(member, NIL);
        if last == member {
            return;
        }
        self.put(keys, position, last);
        self.sift_up(keys, position);
        self.sift_down(keys, keys.position(last));
    }

    /// Says that the key of `member` has become greater. O(log n).
    #[cfg(feature = "alloc")]
    pub(crate) fn sink(&mut self, keys: &mut impl Keys, member: u32) {
        self.sift_down(keys, keys.position(member));
    }

    fn sift_up(&mut self, keys: &mut impl Keys, mut position: u32) {
        while position > 0 {
            let parent = position.saturating_sub(1) / 2;
            if !self.swap_if_less(keys, position, parent) {
                return;
            }
            position = parent;
        }
    }

    fn sift_down(&mut self, keys: &mut impl Keys, mut position: u32) {
        loop {
            let left = position.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let least = match (self.at(left), self.at(right)) {
                (Some(l), Some(r)) if keys.key(r) < keys.key(l) => right,
                (Some(_), _) => left,
                (None, _) => return,
            };
            if !self.swap_if_less(keys, least, position) {
                return;
            }
            position = least;
        }
    }

    /// Swaps a child with its parent if its key is less; returns whether it did.
    fn swap_if_less(&mut self, keys: &mut impl Keys, child: u32, parent: u32) -> bool {
        let (Some(c), Some(p)) = (self.at(child), self.at(parent)) else { return false };
        if keys.key(c) >= keys.key(p) {
            return false;
        }
        self.put(keys, child, p);
        self.put(keys, parent, c);
        true
    }

    fn at(&self, position: u32) -> Option<u32> {
        self.members.as_ref().get(num::index(position)).copied()
    }

    fn put(&mut self, keys: &mut impl Keys, position: u32, member: u32) {
        if let Some(slot) = self.members.as_mut().get_mut(num::index(position)) {
            *slot = member;
            keys.set_position(member, position);
        }
    }
}

impl<S: Storage> core::fmt::Debug for IndexedHeap<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.members.as_ref()).finish()
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
