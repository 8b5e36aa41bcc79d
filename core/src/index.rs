//! [`Index`]: where a key stands in dense storage, found by its hash, for five bytes a key.
//!
//! **Problem.** Keyed state wants to be searched in O(1), to be named by a number that does not change (tickets, dense
//! ids, heaps), and to cost little memory a key. A map that holds the entries moves them about and leaves an eighth to
//! more than half of them empty, at the full size of an entry. So the entries stand in a `Vec`, kept by the caller, and
//! this index maps a hash to a *place* in it. Only the index has holes, and a hole costs four bytes. (Where nobody keeps
//! a place and a search is all there is, [`Robin`](crate::robin::Robin) saves a cache miss.)
//!
//! **Design.** Open addressing over words of 32 bits, one probe sequence: the home slot and those after it.
//!
//! ```text
//! bits 28..=31                          bits 24..=27               bits 0..=23
//! rank: 0 empty, 1 at home, 2 one       fragment: the lowest       place
//! after, … 15 fourteen or more after    four bits of the hash
//! ```
//!
//! *Robin Hood order:* along a run, homes never decrease; whoever is inserted goes before the first one that is nearer
//! to its home. So a word is a candidate only if rank *and* fragment are what the key's would be in this slot: a full
//! index looks at a wrong entry once in forty searches for a key that is in, once in ten for one that is not. A search
//! ends at the first word of a lower rank, an empty one included, without reading any entry. *Backward-shift
//! deletion:* what follows moves up until a word at home or an empty one, so there are no tombstones and the table
//! never wears out. Ranks say how far a word is from home, so both shift words only; the hash of an entry is computed
//! anew (`rehash`) only for words fourteen or more from home: once in some ten changes of a full index.
//!
//! *Size:* 5/4 of the capacity, so at most 0.8 full, and not rounded up to a power of two: the home slot is
//! ⌊hash · slots / 2⁶⁴⌋.
//!
//! **Source.** Robin Hood hashing (Celis 1986) with backward-shift deletion. Deviation: the distance from home is kept
//! in four bits that saturate, which is what makes room for a fragment of the hash and a place in 32 bits.
//!
//! **Constants.** 24 bits of place are 16 777 216 keys; tables shared by threads have one index for each shard.
//!
//! **Invariants.** **I1** a word's rank is what its slot and its entry's hash say; **I2** ranks rise by at most one
//! from a slot to the next, and a word after an empty one is at home; **I3** a place is in at most one word.
//!
//! **Work** O(1) expected for a hasher that spreads keys, in the number of keys for one that does not. **Memory** 5
//! bytes for each key of the capacity, reserved at construction.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use crate::error::{ConfigError, Rules};
use crate::num;

const EMPTY: u32 = 0;
const RANK_SHIFT: u32 = 28;
const FRAGMENT_SHIFT: u32 = 24;
const PLACE: u32 = (1 << FRAGMENT_SHIFT) - 1;
/// The highest rank: this and all beyond.
const FAR: usize = 15;
const ONE_RANK: u32 = 1 << RANK_SHIFT;

/// The hash of a key as an [`Index`] wants it: spread over all bits, also where a cheap hasher left the upper ones
/// empty. Bits 32 to 47 take no part in an index, nearly, and are free to choose a shard by.
#[inline]
pub(crate) fn hash_of<S: BuildHasher, Q: Hash + ?Sized>(hasher: &S, key: &Q) -> u64 {
    // 2⁶⁴ divided by the golden ratio, odd; both halves of the product, so that every bit reaches every other.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let hash = hasher.hash_one(key);
    num::product_high(hash, GOLDEN) ^ hash.wrapping_mul(GOLDEN)
}

/// What ids of a table are counted from: with a hasher that is keyed anew for each table, another table's are elsewhere.
pub(crate) fn number_of<S: BuildHasher>(hasher: &S) -> u64 {
    hash_of(hasher, "ids")
}

/// A hash index of places; see the [module](self). The caller tells keys apart: it is asked whether the entry at a
/// place is the one it means, or for its hash.
#[derive(Clone)]
pub(crate) struct Index {
    words: Vec<u32>,
}

impl Index {
    /// The most keys one index can hold.
    pub(crate) const MOST: u32 = PLACE + 1;

    /// An empty index for places below `capacity`.
    ///
    /// # Errors
    /// `capacity` of 0, above [`MOST`](Self::MOST), or more than the allocator can reserve.
    pub(crate) fn new(capacity: u32) -> Result<Self, ConfigError> {
        let slots = num::index(capacity.saturating_add(capacity / 4).saturating_add(1));
        let mut words = Vec::new();
        let mut rules = Rules::new();
        rules.require(
            (1..=Self::MOST).contains(&capacity) && words.try_reserve_exact(slots).is_ok(),
            "capacity",
            capacity,
            "1 to 16777216 keys, and what the allocator can reserve",
        );
        rules.verdict()?;
        words.resize(slots, EMPTY);
        Ok(Self { words })
    }

    /// The place of the key with this hash that `is_it` says yes to. O(1).
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.search(hash, is_it).map(|(_, place)| place)
    }

    /// Puts `place` in for `hash`. The key must not be in yet, and fewer than the capacity may be. `rehash` gives the
    /// hash of the key at another place. O(1).
    pub(crate) fn insert(&mut self, hash: u64, place: u32, rehash: impl Fn(u32) -> u64) {
        let mut slot = self.home(hash);
        for steps in 0..self.words.len() {
            let Some(&word) = self.words.get(slot) else { return };
            let nearer =
                word < rank(steps) || (steps >= FAR && self.steps(slot, rehash(word & PLACE)) < steps);
            if nearer {
                self.push_in(slot, rank(steps) | fragment(hash) | (place & PLACE));
                return;
            }
            slot = self.after(slot);
        }
        debug_assert!(false, "more keys than the capacity");
    }

    /// Takes out `place`, which is in for `hash`. `rehash` gives the hash of the key at another place. O(1).
    pub(crate) fn remove(&mut self, hash: u64, place: u32, rehash: impl Fn(u32) -> u64) {
        let Some((mut slot, _)) = self.search(hash, |found| found == place) else { return };
        for _ in 0..self.words.len() {
            let next = self.after(slot);
            let moved = match self.words.get(next) {
                Some(&word) if word >= rank(FAR.wrapping_sub(1)) => {
                    let steps = self.steps(next, rehash(word & PLACE));
                    rank(steps.saturating_sub(1)) | (word & !(u32::MAX << RANK_SHIFT))
                }
                Some(&word) if word >= rank(1) => word.wrapping_sub(ONE_RANK),
                _ => EMPTY,
            };
            if let Some(word) = self.words.get_mut(slot) {
                *word = moved;
            }
            if moved == EMPTY {
                return;
            }
            slot = next;
        }
    }

    /// Says that the key of `hash` has moved from `old` to `new`. O(1).
    pub(crate) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        if let Some((slot, _)) = self.search(hash, |found| found == old)
            && let Some(word) = self.words.get_mut(slot)
        {
            *word = (*word & !PLACE) | (new & PLACE);
        }
    }

    #[inline]
    fn search(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
        let fragment = fragment(hash);
        let mut slot = self.home(hash);
        for steps in 0..self.words.len() {
            let (word, rank) = (*self.words.get(slot)?, rank(steps));
            if word < rank {
                return None;
            }
            if (word ^ (rank | fragment)) <= PLACE && is_it(word & PLACE) {
                return Some((slot, word & PLACE));
            }
            slot = self.after(slot);
        }
        None
    }

    /// Puts a word into a slot; what is there and after it moves on by one, up to the next empty slot.
    fn push_in(&mut self, mut slot: usize, mut carried: u32) {
        for _ in 0..self.words.len() {
            if let Some(word) = self.words.get_mut(slot) {
                core::mem::swap(word, &mut carried);
            }
            if carried == EMPTY {
                return;
            }
            // The highest rank stays what it is.
            carried = carried.checked_add(ONE_RANK).unwrap_or(carried);
            slot = self.after(slot);
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        num::index(num::low_u32(num::product_high(hash, num::count(self.words.len()))))
    }

    /// How far a slot is from the home of a hash.
    fn steps(&self, slot: usize, hash: u64) -> usize {
        let home = self.home(hash);
        if slot >= home {
            slot.wrapping_sub(home)
        } else {
            slot.wrapping_add(self.words.len()).wrapping_sub(home)
        }
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        let next = slot.wrapping_add(1);
        if next == self.words.len() { 0 } else { next }
    }
}

/// The rank of a word so many slots after its home, in its bits.
#[inline]
fn rank(steps: usize) -> u32 {
    num::index_u32(steps.wrapping_add(1).min(FAR)) << RANK_SHIFT
}

/// The fragment of a hash, in its bits.
#[inline]
const fn fragment(hash: u64) -> u32 {
    (num::low_u32(hash) & 0xF) << FRAGMENT_SHIFT
}

impl core::fmt::Debug for Index {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Index").field("slots", &self.words.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
