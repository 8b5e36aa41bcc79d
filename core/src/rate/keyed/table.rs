//! The table behind both forms: entries, a hand, an overflow state.

mod ahead;

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::num::NonZeroU64;

pub use self::ahead::KeyedReservation;
use super::{KeyedSnapshot, WhenFull};
use crate::error::{ConfigError, Reason, Refused};
use crate::index::hash_of;
use crate::observe::{KeyEvent, KeyObserver};
use crate::rate::bucket::Inherit;
use crate::rate::quota::Quota;
use crate::rate::units::Units;
use crate::robin::{NOWHERE, Robin};
use crate::time::Timestamp;

/// Slots the hand looks at for each newcomer.
pub(super) const LOOKS: u32 = 8;
/// Entries it drops at most for each newcomer: more than one, so that a table that has recovered gets emptier.
pub(super) const DROPS: u32 = 2;
/// How many requests without a newcomer it takes for one look: seldom, since what the hand comes to is seldom at hand.
const TURNS: u32 = 8;
/// Stands for the overflow state where a slot is asked for.
const OVERFLOW: u32 = NOWHERE;
/// The word of what was charged more than can be counted: how much more is not known, so none of it is ever repaid.
const BEYOND_COUNT: u64 = u64::MAX - 1;
/// No unit: none is as late.
const NEVER: u64 = u64::MAX;

struct Entry<K> {
    key: K,
    /// One more than the word, so that an empty slot takes up nothing beside it.
    above: NonZeroU64,
}

impl<K> Entry<K> {
    /// The unit in which all that was granted will have accrued again.
    #[inline]
    const fn word(&self) -> u64 {
        self.above.get().wrapping_sub(1)
    }
}

#[inline]
fn above(word: u64) -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(word.min(BEYOND_COUNT))
}

/// One table, for one owner. Hashes come from [`hash_of`] with the `hasher` that is handed in.
#[repr(C)] // what changes with each call is together, beside the lock of a shard
pub(super) struct Table<K, O> {
    latest: Timestamp,
    hand: u32,
    /// Requests that brought no newcomer, modulo 2³².
    turns: u32,
    /// The mark is on who last became busy; on nobody where a unit is a nanosecond.
    entries: Robin<Entry<K>>,
    /// The unit in which that was.
    started: u64,
    units: Units,
    capacity: u32,
    when_full: WhenFull,
    /// The word of the overflow state.
    overflow: u64,
    counts: KeyedSnapshot,
    observer: O,
    /// How often the quota was changed.
    changes: u64,
}

impl<K: Hash + Eq, O: KeyObserver<K>> Table<K, O> {
    pub(super) fn new(
        quota: Quota,
        capacity: u32,
        when_full: WhenFull,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let units = Units::of(quota)?;
        Ok(Self {
            latest: Timestamp::ZERO,
            hand: 0,
            turns: 0,
            entries: Robin::new(capacity)?,
            started: NEVER,
            units,
            capacity,
            when_full,
            overflow: 0,
            counts: KeyedSnapshot::default(),
            observer,
            changes: 0,
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
        if answer.is_err() {
            self.counts.refused = self.counts.refused.saturating_add(1);
        }
        if O::LISTENS {
            let event = match answer {
                Ok(()) => KeyEvent::Granted { dimension: 0, amount: cost },
                // It was told.
                Err(Refused { reason: Reason::KeyTableFull, .. }) => return answer,
                Err(Refused { reason, .. }) => KeyEvent::Refused { dimension: 0, amount: cost, reason },
            };
            self.tell(hash, key, event);
        }
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
        if O::LISTENS {
            self.tell(hash, key, KeyEvent::Charged { dimension: 0, amount: cost });
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
        self.entries.find(hash, |entry| entry.key.borrow() == key)
    }

    /// Every key under the new quota, O(keys).
    pub(super) fn set_quota(&mut self, now: Timestamp, units: Units, inherit: Inherit) {
        self.advance(now);
        let carry = |word| match inherit {
            Inherit::AsIs | Inherit::Proportional if word == BEYOND_COUNT => word,
            _ => units.carry(&self.units, self.latest, word, inherit),
        };
        self.entries.iter_mut().for_each(|entry| entry.above = above(carry(entry.word())));
        self.overflow = carry(self.overflow);
        self.started = NEVER;
        self.units = units;
        self.changes = self.changes.wrapping_add(1);
    }

    /// Looks at every key, O(keys).
    pub(super) fn forget_recovered(&mut self, hasher: &impl BuildHasher, now: Timestamp) -> u32 {
        let units = self.advance(now);
        let before = self.len();
        self.hand = 0;
        self.sweep(hasher, units, self.entries.slots(), before);
        before.saturating_sub(self.len())
    }

    pub(super) const fn len(&self) -> u32 {
        self.entries.len()
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
        self.entries.check_invariants(|entry| hash_of(hasher, &entry.key));
        assert!(self.when_full == WhenFull::Overflow || self.overflow == 0, "I3");
    }

    pub(super) const fn observer(&self) -> &O {
        &self.observer
    }

    pub(super) const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Tells what happened to a key, by the name that is kept of it, if one is.
    fn tell<Q>(&mut self, hash: u64, key: &Q, event: KeyEvent)
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let place = self.place_of(hash, key);
        let held = place.and_then(|place| self.entries.get(place)).map(|entry| &entry.key);
        self.observer.on_key_event(held, event);
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
        let ahead = (0..LOOKS.min(self.entries.slots())).scan(self.hand, |hand, _| {
            let slot = *hand;
            *hand = self.after(slot);
            Some(slot)
        });
        ahead.filter_map(|slot| self.entries.get(slot)).any(|entry| entry.word() <= units)
    }

    #[inline]
    fn word(&self, place: u32) -> u64 {
        self.entries.get(place).map_or(self.overflow, Entry::word)
    }

    #[inline]
    fn ceiling(&self, place: u32, units: u64) -> u64 {
        let here = self.started == units && self.entries.mark() == place;
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
            return Err(self.no_room());
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

    /// Refuses a key for which there is no place.
    #[cold]
    fn no_room(&mut self) -> Refused {
        self.counts.full = self.counts.full.saturating_add(1);
        self.observer.on_key_event(None, KeyEvent::NoRoom);
        Refused::because(Reason::KeyTableFull)
    }

    /// The overflow state takes what a key without a place was granted.
    fn overflow_to(&mut self, units: u64, next: u64) -> Result<(), Refused> {
        if self.when_full == WhenFull::Refuse {
            return Err(self.no_room());
        }
        self.counts.overflowed = self.counts.overflowed.saturating_add(1);
        self.note(OVERFLOW, units, self.overflow, next);
        self.overflow = next;
        Ok(())
    }

    #[inline]
    fn write(&mut self, place: u32, units: u64, next: u64) {
        let Some(entry) = self.entries.get_mut(place) else { return };
        let before = entry.word();
        entry.above = above(next);
        self.note(place, units, before, next);
    }

    /// Notes who became busy in which unit, where that matters.
    #[inline]
    fn note(&mut self, place: u32, units: u64, before: u64, next: u64) {
        if before <= units && next != before && self.units.rounding() != 0 {
            self.started = units;
            self.entries.set_mark(place);
        }
    }

    fn insert(&mut self, (hasher, hash): (&impl BuildHasher, u64), key: K, units: u64, word: u64) {
        let rehash = |entry: &Entry<K>| hash_of(hasher, &entry.key);
        if let Some(place) = self.entries.insert(hash, Entry { key, above: above(word) }, rehash) {
            self.note(place, units, self.overflow, word);
        }
    }

    /// One look on the way of some calls that brought no newcomer, once more than half is taken.
    #[inline]
    fn turn_hand(&mut self, hasher: &impl BuildHasher, units: u64) {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS) && self.len() > self.capacity / 2 {
            self.sweep(hasher, units, 1, 1);
        }
    }

    /// The hand looks at up to `looks` slots and drops up to `drops` who have recovered.
    #[inline]
    fn sweep(&mut self, hasher: &impl BuildHasher, units: u64, mut looks: u32, mut drops: u32) {
        while looks > 0 && drops > 0 {
            if self.entries.get(self.hand).is_some_and(|entry| entry.word() <= units) {
                // Who follows moves here.
                self.forget(hasher, self.hand);
                drops = drops.wrapping_sub(1);
            } else {
                self.hand = self.after(self.hand);
                looks = looks.wrapping_sub(1);
            }
        }
    }

    #[inline]
    fn after(&self, slot: u32) -> u32 {
        let next = slot.wrapping_add(1);
        if next >= self.entries.slots() { 0 } else { next }
    }

    #[inline(never)]
    fn forget(&mut self, hasher: &impl BuildHasher, slot: u32) {
        // Whoever is noted became busy in an earlier unit, so the note is void if its mark goes.
        let removed = self.entries.remove(slot, |entry| hash_of(hasher, &entry.key));
        let Some(entry) = removed else { return };
        self.counts.evicted = self.counts.evicted.saturating_add(1);
        self.observer.on_key_event(Some(&entry.key), KeyEvent::Forgotten);
    }
}

impl<K, O> core::fmt::Debug for Table<K, O> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Table")
            .field("held", &self.entries.len())
            .field("capacity", &self.capacity)
            .field("units", &self.units)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
