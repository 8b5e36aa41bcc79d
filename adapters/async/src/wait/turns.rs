//! [`Turns`]: for each slot of a line, how many occupants it has had; read without the lock.

use std::sync::OnceLock;

use super::Place;
use crate::sync::{AtomicU64, Ordering, const_unless_loom};

/// Words of the first block; each further block is twice as large. Few under loom, so that models reach the second.
const FIRST: usize = if cfg!(tollgate_loom) { 2 } else { 32 };
/// So many blocks hold more slots than there can be wakers in memory.
const BLOCKS: usize = 40;

type Block = OnceLock<Box<[AtomicU64]>>;

/// Words that never move, so that they can be read while the line grows.
#[derive(Debug)]
pub(crate) struct Turns(OnceLock<Box<[Block; BLOCKS]>>);

impl Turns {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(OnceLock::new())
        }
    }

    /// Whether the occupant of `place` was granted. `false` may be out of date; the line knows.
    #[inline]
    pub(crate) fn passed(&self, place: &Place) -> bool {
        // ORDERING: Acquire pairs with the Release of `set`: who learns here of its grant sees all that the granter saw,
        // and so all that earlier holders did. Model `a_grant_seen_without_the_lock_hands_the_data_over`.
        self.word(place.index).is_some_and(|word| word.load(Ordering::Acquire) != place.turn.get())
    }

    /// The turn of the slot is this from now on. Called with the line locked.
    #[inline]
    pub(super) fn set(&self, index: usize, turn: u64) {
        if let Some(word) = self.word(index) {
            // ORDERING: see `passed`. A store will do: the lock keeps others from writing.
            word.store(turn, Ordering::Release);
        }
    }

    /// Makes room for a slot. Called with the line locked.
    pub(super) fn reserve(&self, index: usize) {
        let (block, _) = position(index);
        let blocks = self.0.get_or_init(|| Box::new([const { OnceLock::new() }; BLOCKS]));
        if let Some(block_of) = blocks.get(block) {
            block_of.get_or_init(|| (0..FIRST << block).map(|_| AtomicU64::new(0)).collect());
        }
    }

    #[inline]
    fn word(&self, index: usize) -> Option<&AtomicU64> {
        let (block, offset) = position(index);
        self.0.get()?.get(block)?.get()?.get(offset)
    }
}

/// The block that a slot's word is in, and where in it.
#[inline]
fn position(index: usize) -> (usize, usize) {
    // 1 for the first block, 2 and 3 for the second, 4 to 7 for the third: the highest bit names the block.
    let number = index / FIRST + 1;
    let block = number.ilog2();
    (usize::try_from(block).unwrap_or(BLOCKS), index - FIRST * ((1 << block) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_word_of_its_own() {
        let mut next = (0, 0);
        for index in 0..FIRST * 1_000 {
            let (block, offset) = position(index);
            assert_eq!((block, offset), next);
            next = if offset + 1 == FIRST << block { (block + 1, 0) } else { (block, offset + 1) };
        }
    }
}
