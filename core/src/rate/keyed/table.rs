//! The table behind both forms: entries without holes, an index of them, a hand, an overflow state.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use super::{KeyedSnapshot, WhenFull};
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::index::{Index, hash_of};
use crate::num;
use crate::rate::bucket::Inherit;
use crate::rate::quota::Quota;
use crate::rate::units::Units;
use crate::time::Timestamp;

/// Entries the hand looks at for each newcomer.
pub(super) const LOOKS: u32 = 8;
/// Entries it drops at most for each newcomer: more than one, so that a table that has recovered gets emptier.
pub(super) const DROPS: u32 = 2;
/// Stands for the overflow state where a place is asked for.
const OVERFLOW: u32 = u32::MAX;
/// The word of what was charged more than can be counted: how much more is not known, so none of it is ever repaid.
const BEYOND_COUNT: u64 = u64::MAX;

#[derive(Clone, Debug)]
struct Entry<K> {
    key: K,
    /// The unit in which all that was granted will have accrued again.
    word: u64,
}

/// Who last became busy, and in which unit.
#[derive(Clone, Copy, Debug)]
struct Note {
    place: u32,
    unit: u64,
}

impl Note {
    const NONE: Self = Self { place: OVERFLOW, unit: u64::MAX };
}

/// One table, for one owner. Hashes come from [`hash_of`] with the `hasher` that is handed in.
pub(super) struct Table<K> {
    units: Units,
    entries: Vec<Entry<K>>,
    index: Index,
    capacity: u32,
    when_full: WhenFull,
    hand: u32,
    latest: Timestamp,
    /// Never set where a unit is a nanosecond.
    started: Note,
    /// The word of the overflow state.
    overflow: u64,
    counts: KeyedSnapshot,
}

impl<K: Hash + Eq> Table<K> {
    pub(super) fn new(quota: Quota, capacity: u32, when_full: WhenFull) -> Result<Self, ConfigError> {
        let units = Units::of(quota)?;
        let index = Index::new(capacity)?;
        let mut entries = Vec::new();
        let mut rules = Rules::new();
        let reserved = entries.try_reserve_exact(num::index(capacity)).is_ok();
        rules.require(reserved, "capacity", capacity, "what the allocator can reserve");
        rules.verdict()?;
        Ok(Self {
            units,
            entries,
            index,
            capacity,
            when_full,
            hand: 0,
            latest: Timestamp::ZERO,
            started: Note::NONE,
            overflow: 0,
            counts: KeyedSnapshot::default(),
        })
    }

    #[inline]
    pub(super) fn try_acquire<Q>(
        &mut self,
        (hasher, hash): (&impl BuildHasher, u64),
        now: Timestamp,
        key: &Q,
        cost: u64,
    ) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let units = self.advance(now);
        let answer = if cost > self.units.capacity() {
            Err(Refused::because(Reason::ExceedsCapacity))
        } else if let Some(place) = self.place_of(hash, key) {
            let answer = self.acquire(place, units, cost);
            self.turn_hand(hasher, units);
            answer
        } else {
            self.acquire_new((hasher, hash), units, key, cost)
        };
        self.counts.refused = self.counts.refused.saturating_add(u64::from(answer.is_err()));
        answer
    }

    pub(super) fn charge<Q>(
        &mut self,
        (hasher, hash): (&impl BuildHasher, u64),
        now: Timestamp,
        key: &Q,
        cost: u64,
    ) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let units = self.advance(now);
        if cost == 0 {
            return Ok(());
        }
        let (place, word) = match self.place_of(hash, key) {
            Some(place) => (Some(place), self.word(place)),
            None => {
                self.sweep(hasher, units, LOOKS, DROPS);
                (None, self.overflow)
            }
        };
        let start = word.max(units.saturating_add(self.units.rounding()));
        let next = if word == BEYOND_COUNT { word } else { start.saturating_add(self.units.charge(cost)) };
        match place {
            Some(place) => self.write(place, units, next),
            None if self.has_room() => self.insert((hasher, hash), key.to_owned(), units, next),
            None => self.overflow_to(units, next)?,
        }
        Ok(())
    }

    pub(super) fn peek<Q>(&self, hash: u64, now: Timestamp, key: &Q, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if cost > self.units.capacity() {
            return Err(Refused::because(Reason::ExceedsCapacity));
        }
        let units = self.units.at(now.max(self.latest));
        let place = self.seen_at(hash, units, key).ok_or(Refused::because(Reason::KeyTableFull))?;
        self.step(place, units, cost).map(|_| ())
    }

    pub(super) fn available<Q>(&self, hash: u64, now: Timestamp, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let units = self.units.at(now.max(self.latest));
        let Some(place) = self.seen_at(hash, units, key) else { return 0 };
        self.units.left(self.word(place), units, self.ceiling(place, units))
    }

    #[inline]
    pub(super) fn place_of<Q>(&self, hash: u64, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let is_it =
            |place| self.entries.get(num::index(place)).is_some_and(|entry| entry.key.borrow() == key);
        self.index.find(hash, is_it)
    }

    /// Every key under the new quota, O(keys).
    pub(super) fn set_quota(&mut self, now: Timestamp, units: Units, inherit: Inherit) {
        self.advance(now);
        let carry = |word| match inherit {
            Inherit::AsIs | Inherit::Proportional if word == BEYOND_COUNT => word,
            _ => units.carry(&self.units, self.latest, word, inherit),
        };
        self.entries.iter_mut().for_each(|entry| entry.word = carry(entry.word));
        self.overflow = carry(self.overflow);
        self.started = Note::NONE;
        self.units = units;
    }

    /// Looks at every key, O(keys).
    pub(super) fn forget_recovered(&mut self, hasher: &impl BuildHasher, now: Timestamp) -> u32 {
        let units = self.advance(now);
        let before = self.len();
        self.hand = 0;
        self.sweep(hasher, units, before, before);
        before.saturating_sub(self.len())
    }

    pub(super) fn len(&self) -> u32 {
        num::index_u32(self.entries.len())
    }

    pub(super) const fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) const fn burst(&self) -> u64 {
        self.units.capacity()
    }

    pub(super) fn snapshot(&self) -> KeyedSnapshot {
        KeyedSnapshot { held: u64::from(self.len()), capacity: u64::from(self.capacity), ..self.counts }
    }

    pub(super) fn check_invariants(&self, hasher: &impl BuildHasher) {
        assert!(self.len() <= self.capacity, "I1: {} of {}", self.len(), self.capacity);
        for (place, entry) in self.entries.iter().enumerate() {
            let found = self.place_of(hash_of(hasher, &entry.key), &entry.key);
            assert_eq!(found, Some(num::index_u32(place)), "I1: a key is where the index says");
        }
        assert!(self.when_full == WhenFull::Overflow || self.overflow == 0, "I3");
        assert!(num::index(self.hand) <= self.entries.len(), "the hand is in the table or just behind it");
    }

    /// A `now` before the latest one counts as the latest.
    #[inline]
    fn advance(&mut self, now: Timestamp) -> u64 {
        self.latest = self.latest.max(now);
        self.units.at(self.latest)
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.len() < self.capacity
    }

    /// Where a key is decided: its place, that of the overflow state, or nowhere. For a key that is not held that is
    /// the overflow state even if there is room, since a newcomer starts where that is.
    fn seen_at<Q>(&self, hash: u64, units: u64, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let room = || self.has_room() || self.when_full == WhenFull::Overflow || self.would_drop(units);
        self.place_of(hash, key).or_else(|| room().then_some(OVERFLOW))
    }

    /// Whether the hand will find somebody to forget for the next newcomer.
    fn would_drop(&self, units: u64) -> bool {
        let (before, after) = self.entries.split_at_checked(num::index(self.hand)).unwrap_or_default();
        let ahead = after.iter().chain(before).take(num::index(LOOKS));
        ahead.into_iter().any(|entry| entry.word <= units)
    }

    #[inline]
    fn word(&self, place: u32) -> u64 {
        self.entries.get(num::index(place)).map_or(self.overflow, |entry| entry.word)
    }

    #[inline]
    fn ceiling(&self, place: u32, units: u64) -> u64 {
        let here = self.started.unit == units && self.started.place == place;
        self.units.ceiling(units).wrapping_add(u64::from(here))
    }

    /// The word of a place after a grant.
    #[inline]
    fn step(&self, place: u32, units: u64, cost: u64) -> Result<u64, Refused> {
        let (word, ceiling, cost) = (self.word(place), self.ceiling(place, units), self.units.cost(cost));
        self.units.step(word, units, ceiling, cost).ok_or_else(|| {
            let reason = if word > ceiling { Reason::InDebt } else { Reason::RateExceeded };
            self.units.refuse(reason, self.units.needed(word, cost))
        })
    }

    #[inline]
    fn acquire(&mut self, place: u32, units: u64, cost: u64) -> Result<(), Refused> {
        let next = self.step(place, units, cost)?;
        self.write(place, units, next);
        Ok(())
    }

    /// A key that is not held: in a place of its own if there is one.
    fn acquire_new<Q>(
        &mut self,
        (hasher, hash): (&impl BuildHasher, u64),
        units: u64,
        key: &Q,
        cost: u64,
    ) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + ToOwned<Owned = K> + ?Sized,
    {
        self.sweep(hasher, units, LOOKS, DROPS);
        if !self.has_room() && self.when_full == WhenFull::Refuse {
            self.counts.full = self.counts.full.saturating_add(1);
            return Err(Refused::because(Reason::KeyTableFull));
        }
        let next = self.step(OVERFLOW, units, cost)?;
        if cost == 0 {
            return Ok(());
        }
        if self.has_room() {
            self.insert((hasher, hash), key.to_owned(), units, next);
            return Ok(());
        }
        self.overflow_to(units, next)
    }

    /// The overflow state takes what a key without a place was granted.
    fn overflow_to(&mut self, units: u64, next: u64) -> Result<(), Refused> {
        if self.when_full == WhenFull::Refuse {
            self.counts.full = self.counts.full.saturating_add(1);
            return Err(Refused::because(Reason::KeyTableFull));
        }
        self.counts.overflowed = self.counts.overflowed.saturating_add(1);
        self.note(OVERFLOW, units, self.overflow, next);
        self.overflow = next;
        Ok(())
    }

    #[inline]
    fn write(&mut self, place: u32, units: u64, next: u64) {
        let Some(entry) = self.entries.get_mut(num::index(place)) else { return };
        let before = core::mem::replace(&mut entry.word, next);
        self.note(place, units, before, next);
    }

    /// Notes who became busy in which unit, where that matters.
    #[inline]
    fn note(&mut self, place: u32, units: u64, before: u64, next: u64) {
        if before <= units && next != before && self.units.rounding() != 0 {
            self.started = Note { place, unit: units };
        }
    }

    fn insert(&mut self, (hasher, hash): (&impl BuildHasher, u64), key: K, units: u64, word: u64) {
        let place = self.len();
        let rehash =
            |place| self.entries.get(num::index(place)).map_or(0, |entry| hash_of(hasher, &entry.key));
        self.index.insert(hash, place, rehash);
        // Within the capacity that was reserved.
        self.entries.push(Entry { key, word });
        self.note(place, units, self.overflow, word);
    }

    /// One look on the way of a call that brought no newcomer, once more than half is taken.
    #[inline]
    fn turn_hand(&mut self, hasher: &impl BuildHasher, units: u64) {
        if self.len() > self.capacity / 2 {
            self.sweep(hasher, units, 1, 1);
        }
    }

    /// The hand looks at up to `looks` entries and drops up to `drops` that have recovered.
    #[inline]
    fn sweep(&mut self, hasher: &impl BuildHasher, units: u64, looks: u32, drops: u32) {
        let mut left = drops;
        for _ in 0..looks {
            if self.hand >= self.len() {
                self.hand = 0;
            }
            let Some(entry) = self.entries.get(num::index(self.hand)) else { return };
            if entry.word > units {
                self.hand = self.hand.wrapping_add(1);
                continue;
            }
            self.drop_entry(hasher, self.hand);
            left = left.saturating_sub(1);
            if left == 0 {
                break;
            }
        }
    }

    /// Forgets the key at a place; the last one moves there.
    fn drop_entry(&mut self, hasher: &impl BuildHasher, place: u32) {
        let hash = |place| self.entries.get(num::index(place)).map_or(0, |entry| hash_of(hasher, &entry.key));
        let last = self.len().wrapping_sub(1);
        self.index.remove(hash(place), place, hash);
        if place != last {
            self.index.replace(hash(last), last, place);
        }
        if self.started.place == place {
            self.started = Note::NONE;
        } else if self.started.place == last {
            self.started.place = place;
        }
        let _recovered = self.entries.swap_remove(num::index(place));
        self.counts.evicted = self.counts.evicted.saturating_add(1);
    }
}

impl<K> core::fmt::Debug for Table<K> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Table")
            .field("held", &self.entries.len())
            .field("capacity", &self.capacity)
            .field("units", &self.units)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
