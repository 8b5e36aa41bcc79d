//! [`Robin`]: an open-addressing table of entries of a fixed size, searched at the price of one cache miss.
//!
//! **Problem.** A check of one key among a million waits for memory and for little else. An [`Index`](crate::index::Index)
//! into dense entries is two waits, one after the other: the entry's address is in the index. Here a key's hash says
//! where its tag *and* its entry are, in two arrays side by side, so both are fetched at once. The price is that entries
//! move when others come and go, so nobody outside can keep a place, and that the holes are as wide as an entry.
//!
//! **Design.** As the [`Index`](crate::index::Index): Robin Hood order, backward-shift deletion, and a tag, here
//! of eight bits: five of rank and three of fragment. Slots are 6/5 of the
//! capacity, so at most 5/6 are taken. One slot can be *marked*; the mark follows the entry that is in it.
//!
//! **Invariants.** **I1** a slot has a tag iff it has an entry, and the tag's rank is what the slot and the entry's hash
//! say; **I2** ranks rise by at most one from a slot to the next, and what follows an empty slot is at home; **I3** the
//! mark is on the entry it was put on, or nowhere.
//!
//! **Work** O(1) expected. **Memory** 6/5 of an entry and a byte for each of the capacity, reserved at construction.

use alloc::vec::Vec;

use crate::error::{ConfigError, Rules};
use crate::num;

const EMPTY: u8 = 0;
const ONE_RANK: u8 = 1 << RANK_SHIFT;
const RANK_SHIFT: u32 = 3;
/// The highest rank: this and all beyond.
const FAR: usize = 31;
/// No slot.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A table of entries; see the [module](self). It hashes nothing: hashes are handed in, as
/// [`hash_of`](crate::index::hash_of) makes them.
pub(crate) struct Robin<T> {
    tags: Vec<u8>,
    entries: Vec<Option<T>>,
    len: u32,
    mark: u32,
}

impl<T> Robin<T> {
    /// The most entries one table can hold.
    pub(crate) const MOST: u32 = 1 << 31;

    /// An empty table for `capacity` entries.
    ///
    /// # Errors
    /// `capacity` of 0, above [`MOST`](Self::MOST), or more than the allocator can reserve.
    pub(crate) fn new(capacity: u32) -> Result<Self, ConfigError> {
        let slots = num::index(capacity.saturating_add(capacity / 5).saturating_add(1));
        let (mut tags, mut entries) = (Vec::new(), Vec::new());
        let mut rules = Rules::new();
        rules.require(
            (1..=Self::MOST).contains(&capacity)
                && tags.try_reserve_exact(slots).is_ok()
                && entries.try_reserve_exact(slots).is_ok(),
            "capacity",
            capacity,
            "1 to 2147483648 entries, and what the allocator can reserve",
        );
        rules.verdict()?;
        tags.resize(slots, EMPTY);
        entries.resize_with(slots, || None);
        Ok(Self { tags, entries, len: 0, mark: NOWHERE })
    }

    /// The slot of the entry with this hash that `is_it` says yes to. O(1).
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(&T) -> bool) -> Option<u32> {
        let fragment = fragment(hash);
        let mut slot = self.home(hash);
        // The entry is in this line of memory or the next, mostly: it is asked for now, not when its tag has come.
        let _asked_for = core::hint::black_box(self.entries.get(slot).is_some_and(Option::is_some));
        for steps in 0..self.tags.len() {
            let (tag, rank) = (*self.tags.get(slot)?, rank(steps));
            if tag < rank {
                return None;
            }
            if tag == rank | fragment && self.entries.get(slot)?.as_ref().is_some_and(&mut is_it) {
                return Some(num::index_u32(slot));
            }
            slot = self.after(slot);
        }
        None
    }

    /// Puts an entry in, which must not be in yet, and returns its slot; `None`, and nothing is changed, if but one slot
    /// is taken. `rehash` gives the hash of another entry. O(1).
    pub(crate) fn insert(&mut self, hash: u64, entry: T, rehash: impl Fn(&T) -> u64) -> Option<u32> {
        // One slot stays empty, so that what is moved on finds an end.
        if self.len.saturating_add(1) >= self.slots() {
            return None;
        }
        let mut slot = self.home(hash);
        for steps in 0..self.tags.len() {
            let tag = *self.tags.get(slot)?;
            let nearer =
                tag < rank(steps) || (steps >= FAR && self.steps(slot, &rehash).is_some_and(|s| s < steps));
            if nearer {
                self.push_in(slot, rank(steps) | fragment(hash), entry);
                self.len = self.len.saturating_add(1);
                return Some(num::index_u32(slot));
            }
            slot = self.after(slot);
        }
        None
    }

    /// Takes out what is in a slot; what follows moves up. `rehash` gives the hash of another entry. O(1).
    pub(crate) fn remove(&mut self, slot: u32, rehash: impl Fn(&T) -> u64) -> Option<T> {
        let mut slot = num::index(slot);
        let removed = self.entries.get_mut(slot)?.take()?;
        self.len = self.len.saturating_sub(1);
        if self.mark == num::index_u32(slot) {
            self.mark = NOWHERE;
        }
        for _ in 0..self.tags.len() {
            let next = self.after(slot);
            let tag = match self.tags.get(next) {
                Some(&tag) if tag >= rank(FAR.wrapping_sub(1)) => {
                    let steps = self.steps(next, &rehash).unwrap_or(FAR);
                    rank(steps.saturating_sub(1)) | (tag & (ONE_RANK - 1))
                }
                Some(&tag) if tag >= rank(1) => tag.wrapping_sub(ONE_RANK),
                _ => EMPTY,
            };
            if let Some(own) = self.tags.get_mut(slot) {
                *own = tag;
            }
            if tag == EMPTY {
                break;
            }
            let moved = self.entries.get_mut(next).and_then(Option::take);
            if let Some(place) = self.entries.get_mut(slot) {
                *place = moved;
            }
            if self.mark == num::index_u32(next) {
                self.mark = num::index_u32(slot);
            }
            slot = next;
        }
        Some(removed)
    }

    /// What is in a slot.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.entries.get(num::index(slot))?.as_ref()
    }

    /// What is in a slot, to change anything but its key.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.entries.get_mut(num::index(slot))?.as_mut()
    }

    /// All entries, to change anything but their keys.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().flatten()
    }

    /// Entries now.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Slots, empty or not.
    #[inline]
    pub(crate) fn slots(&self) -> u32 {
        num::index_u32(self.tags.len())
    }

    /// Where the mark is, [`NOWHERE`] if it was never set or its entry is gone.
    #[inline]
    pub(crate) const fn mark(&self) -> u32 {
        self.mark
    }

    /// Puts the mark on the entry in a slot.
    #[inline]
    pub(crate) const fn set_mark(&mut self, slot: u32) {
        self.mark = slot;
    }

    /// Puts an entry into a slot; what is there and after it moves on by one, up to the next empty slot.
    fn push_in(&mut self, mut slot: usize, mut tag: u8, entry: T) {
        let (marked, mut carried) = (self.mark, Some(entry));
        for _ in 0..self.tags.len() {
            let (Some(tag_here), Some(entry_here)) = (self.tags.get_mut(slot), self.entries.get_mut(slot))
            else {
                return;
            };
            core::mem::swap(tag_here, &mut tag);
            core::mem::swap(entry_here, &mut carried);
            if tag == EMPTY {
                return;
            }
            let next = self.after(slot);
            if marked == num::index_u32(slot) {
                self.mark = num::index_u32(next);
            }
            // The highest rank stays what it is.
            tag = tag.checked_add(ONE_RANK).unwrap_or(tag);
            slot = next;
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        num::index(num::low_u32(num::product_high(hash, num::count(self.tags.len()))))
    }

    /// How far the entry in a slot is from its home.
    fn steps(&self, slot: usize, rehash: &impl Fn(&T) -> u64) -> Option<usize> {
        let home = self.home(rehash(self.entries.get(slot)?.as_ref()?));
        let slot = if slot >= home { slot } else { slot.wrapping_add(self.tags.len()) };
        Some(slot.wrapping_sub(home))
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        let next = slot.wrapping_add(1);
        if next == self.tags.len() { 0 } else { next }
    }

    /// Asserts I1 and I2. O(slots); for tests and debugging.
    pub(crate) fn check_invariants(&self, rehash: impl Fn(&T) -> u64) {
        let mut before = self.tags.last().copied().unwrap_or(EMPTY);
        let mut held = 0_u32;
        for (slot, (&tag, entry)) in self.tags.iter().zip(&self.entries).enumerate() {
            assert!(tag / ONE_RANK <= (before / ONE_RANK).saturating_add(1), "I2: at {slot}");
            let expected = self.steps(slot, &rehash).map(rank).unwrap_or(EMPTY);
            let fragment = entry.as_ref().map_or(0, |entry| fragment(rehash(entry)));
            assert_eq!(tag, expected | fragment, "I1: at {slot}");
            held = held.saturating_add(u32::from(entry.is_some()));
            before = tag;
        }
        assert_eq!(held, self.len, "I1");
        assert!(self.mark == NOWHERE || self.get(self.mark).is_some(), "I3");
    }
}

/// The rank of an entry so many slots after its home, in its bits.
#[inline]
fn rank(steps: usize) -> u8 {
    num::low_u8(steps.wrapping_add(1).min(FAR)) << RANK_SHIFT
}

/// The fragment of a hash, in its bits.
#[inline]
fn fragment(hash: u64) -> u8 {
    num::low_u8(num::index(num::low_u32(hash))) & (ONE_RANK - 1)
}

impl<T> core::fmt::Debug for Robin<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Robin")
            .field("len", &self.len)
            .field("slots", &self.tags.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
