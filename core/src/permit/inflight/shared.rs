//! [`SharedInFlight`]: caps on what each key has in flight, shared by threads.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pairs::{Pairs, refusal};
use super::{Bypass, Cap, Dimension, InFlightRefused, InFlightSnapshot, hash_pair};
use crate::DefaultHasher;
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::observe::{KeyObserver, NoObserver};
use crate::slots::SlotId;

/// More than threads that meet.
const SHARDS: u32 = 32;
const MOST_SHARDS: u32 = 1 << 16;

#[repr(align(64))] // one cache line at least, so that locking one shard does not slow another
struct Shard<K, O>(Mutex<Pairs<K, O>>);

impl<K, O> Shard<K, O> {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Pairs<K, O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Inner<K, S, O> {
    shards: Box<[Shard<K, O>]>,
    hasher: S,
}

/// What of a request is where.
#[derive(Clone, Copy)]
struct Part {
    shard: u32,
    id: SlotId,
}

type Parts = heapless::Vec<Part, { Dimension::COUNT }>;
type Locked<'a, K, O> = heapless::Vec<(u32, MutexGuard<'a, Pairs<K, O>>), { Dimension::COUNT }>;
type Gone<K> = heapless::Vec<K, { Dimension::COUNT }>;

/// Caps on what each key has in flight, shared by threads; see the [module](super). Clones are the same caps.
///
/// Pairs are spread by their hash over a power of two of shards, each behind a mutex. A request locks the shards of all
/// its pairs in ascending order before it takes the first, and a [`Slot`] that comes back before it gives the first
/// back. So there is no deadlock, and nobody ever sees a part of either: both are linearizable. Caps of a dimension change
/// shard by shard.
///
/// The capacities are divided among the shards, and so one can be full while others have room: ask for some more.
///
/// ```
/// use tollgate::permit::{Bypass, Cap, Dimension, SharedInFlight};
///
/// const USER: Dimension = Dimension::new(0).unwrap();
/// let flying = SharedInFlight::<String>::new(1_000, 10)?;
/// flying.set_cap(USER, Cap::At(1));
///
/// let slot = flying.try_acquire(&[(USER, "ann")], Bypass::None)?;
/// assert!(flying.try_acquire(&[(USER, "ann")], Bypass::None).is_err());
/// // It goes where the body goes, and is over when that is.
/// std::thread::spawn(move || drop(slot)).join().unwrap();
/// assert_eq!(flying.held(USER, "ann"), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedInFlight<K, S = DefaultHasher, O = NoObserver> {
    inner: Arc<Inner<K, S, O>>,
}

impl<K: Hash + Eq> SharedInFlight<K> {
    /// Nothing in flight and no caps, for about `capacity` pairs that hold something and `overrides` caps of single
    /// pairs, in 32 shards or fewer if the capacity is small, with the [default hasher](DefaultHasher).
    ///
    /// # Errors
    /// As [`with_hasher`](Self::with_hasher).
    pub fn new(capacity: u32, overrides: u32) -> Result<Self, ConfigError> {
        let shards = SHARDS.min((capacity / 64).max(1).next_power_of_two());
        Self::with_hasher(capacity, overrides, shards, DefaultHasher::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher> SharedInFlight<K, S> {
    /// Nothing in flight and no caps, in so many shards.
    ///
    /// # Errors
    /// The rules of [`InFlight`](super::InFlight::with_hasher), which each shard has to keep; `shards` that are no power
    /// of two up to 65 536 or more than the capacity.
    pub fn with_hasher(capacity: u32, overrides: u32, shards: u32, hasher: S) -> Result<Self, ConfigError> {
        Self::with_observers(capacity, overrides, shards, hasher, |_| NoObserver)
    }
}

impl<K: Hash + Eq, S: BuildHasher, O: KeyObserver<K>> SharedInFlight<K, S, O> {
    /// The same, each shard telling an observer of its own, as [`InFlight`](super::InFlight::with_observer) does. It is called
    /// while the shard is locked.
    ///
    /// # Errors
    /// As [`with_hasher`](SharedInFlight::with_hasher).
    pub fn with_observers(
        capacity: u32,
        overrides: u32,
        shards: u32,
        hasher: S,
        mut observer: impl FnMut(u32) -> O,
    ) -> Result<Self, ConfigError> {
        let mut rules = Rules::new();
        rules.require(
            shards.is_power_of_two() && shards <= MOST_SHARDS.min(capacity.max(1)),
            "shards",
            shards,
            "a power of two, at most 65536 and at most the capacity",
        );
        rules.verdict()?;
        let (capacity, overrides) = (capacity.div_ceil(shards.max(1)), overrides.div_ceil(shards.max(1)));
        // Ids are counted from 0 in all: a slot knows its table.
        let mut shard = |number| Ok(Shard(Mutex::new(Pairs::new(capacity, overrides, 0, observer(number))?)));
        let shards: Result<Vec<_>, _> = (0..shards).map(&mut shard).collect();
        Ok(Self { inner: Arc::new(Inner { shards: shards?.into_boxed_slice(), hasher }) })
    }

    /// Takes one of each pair, or nothing. With a bypass that skips in-flight caps nothing is taken nor counted.
    /// O(pairs).
    ///
    /// # Errors
    /// The first pair that has no room, with its numbers.
    pub fn try_acquire<Q>(
        &self,
        pairs: &[(Dimension, &Q)],
        bypass: Bypass,
    ) -> Result<Slot<K, S, O>, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut slot = Slot { inner: Arc::clone(&self.inner), parts: Parts::new(), whole: false };
        if bypass.skips_in_flight() {
            return Ok(slot);
        }
        let mut places: heapless::Vec<(u64, u32), { Dimension::COUNT }> = heapless::Vec::new();
        for &(dimension, key) in pairs {
            let hash = hash_pair(&self.inner.hasher, dimension, key);
            if places.push((hash, self.inner.number(hash))).is_err() {
                return Err(refusal(dimension, Reason::ExceedsCapacity, Cap::Unlimited, 0, None));
            }
        }
        let mut locked = self.inner.lock_all(places.iter().map(|&(_, shard)| shard));
        for (&(dimension, key), &(hash, shard)) in pairs.iter().zip(&places) {
            let Some(table) = table_of(&mut locked, shard) else { continue };
            match table.take(hash, dimension, key) {
                // As many as there are places.
                Ok(id) => drop(slot.parts.push(Part { shard, id })),
                Err(mut refused) => {
                    let own = slot.parts.iter().filter(|part| part.shard == shard);
                    let own = own.filter(|part| table.is(part.id, dimension, key)).count();
                    refused.held = refused.held.saturating_sub(num::index_u32(own));
                    let gone = undo(&mut slot.parts, &mut locked);
                    drop(locked);
                    drop(gone);
                    return Err(refused);
                }
            }
        }
        slot.whole = true;
        if O::LISTENS {
            for part in &slot.parts {
                table_of(&mut locked, part.shard).into_iter().for_each(|table| table.granted(part.id));
            }
        }
        Ok(slot)
    }

    /// Sets the cap of a single pair, `None` for that of its dimension. Takes effect at once. O(1).
    ///
    /// # Errors
    /// `KeyTableFull` if there are as many as there is room for.
    pub fn set_override<Q>(&self, dimension: Dimension, key: &Q, cap: Option<Cap>) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_pair(&self.inner.hasher, dimension, key);
        self.inner.of(hash).map_or(Ok(()), |mut table| table.set_override(hash, dimension, key, cap))
    }

    /// The cap in force for a pair.
    #[must_use]
    pub fn cap<Q>(&self, dimension: Dimension, key: &Q) -> Cap
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_pair(&self.inner.hasher, dimension, key);
        self.inner.of(hash).map_or(Cap::Unlimited, |table| table.cap(hash, dimension, key))
    }

    /// What a pair holds.
    #[must_use]
    pub fn held<Q>(&self, dimension: Dimension, key: &Q) -> u32
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_pair(&self.inner.hasher, dimension, key);
        self.inner.of(hash).map_or(0, |table| table.held(hash, dimension, key))
    }
}

impl<K, S, O> SharedInFlight<K, S, O> {
    /// Sets the cap of all pairs of a dimension that have no override, shard by shard. Once this has returned, nothing
    /// is granted to who is at or above the cap. O(shards).
    pub fn set_cap(&self, dimension: Dimension, cap: Cap) {
        self.inner.shards.iter().for_each(|shard| shard.lock().set_cap(dimension, cap));
    }

    /// What refusals say about when to try again, where waiting helps. One second until it is set. O(shards).
    pub fn set_hint(&self, hint: Option<Duration>) {
        self.inner.shards.iter().for_each(|shard| shard.lock().set_hint(hint));
    }

    /// Tells of all pairs that hold something, shard by shard, each shard locked meanwhile.
    pub fn gauges(&self, mut each: impl FnMut(Dimension, &K, u32)) {
        for shard in &self.inner.shards {
            shard.lock().gauges().for_each(|gauge| each(gauge.dimension, gauge.key, gauge.held));
        }
    }

    /// Hands out the observer of each shard in turn, the shard locked meanwhile. O(shards).
    pub fn observers(&self, mut each: impl FnMut(&mut O)) {
        self.inner.shards.iter().for_each(|shard| each(shard.lock().observer_mut()));
    }

    /// What it holds and what it did so far, over all shards. O(shards).
    #[must_use]
    pub fn snapshot(&self) -> InFlightSnapshot {
        let shards = self.inner.shards.iter().map(|shard| shard.lock().snapshot());
        shards.fold(InFlightSnapshot::default(), InFlightSnapshot::plus)
    }

    /// Pairs that hold something. O(shards).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.shards.iter().map(|shard| u64::from(shard.lock().len())).sum()
    }

    /// Whether nothing is in flight. O(shards).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K, S, O> Inner<K, S, O> {
    /// The number of the shard of a hash, by bits that the index does not use.
    #[inline]
    fn number(&self, hash: u64) -> u32 {
        num::low_u32(hash >> 32) & num::index_u32(self.shards.len()).wrapping_sub(1)
    }

    fn of(&self, hash: u64) -> Option<MutexGuard<'_, Pairs<K, O>>> {
        self.shards.get(num::index(self.number(hash))).map(Shard::lock)
    }

    /// Locks shards, each once, in ascending order.
    #[inline]
    fn lock_all(&self, numbers: impl Iterator<Item = u32>) -> Locked<'_, K, O> {
        let mut order: heapless::Vec<u32, { Dimension::COUNT }> = heapless::Vec::new();
        // As many as there are pairs to a request.
        numbers.for_each(|number| {
            let _pushed = order.push(number);
        });
        sort(&mut order);
        let (mut locked, mut last) = (Locked::new(), None);
        for number in order {
            if last.replace(number) != Some(number)
                && let Some(shard) = self.shards.get(num::index(number))
            {
                drop(locked.push((number, shard.lock())));
            }
        }
        locked
    }
}

/// Into ascending order, for a handful of numbers.
#[inline]
fn sort(numbers: &mut [u32]) {
    for end in 1..numbers.len() {
        let mut at = end;
        while let Some(before) = at.checked_sub(1)
            && numbers.get(before) > numbers.get(at)
        {
            numbers.swap(before, at);
            at = before;
        }
    }
}

#[inline]
fn table_of<'a, K, O>(locked: &'a mut Locked<'_, K, O>, shard: u32) -> Option<&'a mut Pairs<K, O>> {
    locked.iter_mut().find(|(number, _)| *number == shard).map(|(_, table)| &mut **table)
}

/// Gives back what a refused request had taken; the keys of pairs that are gone are dropped by the caller, after the locks.
fn undo<K, O>(parts: &mut Parts, locked: &mut Locked<'_, K, O>) -> Gone<K> {
    let mut gone = Gone::new();
    while let Some(part) = parts.pop() {
        let table = table_of(locked, part.shard);
        let key = table.and_then(|table| table.undo(part.id).ok().flatten());
        drop(key.map(|key| gone.push(key)));
    }
    gone
}

/// What one request holds of a [`SharedInFlight`]: it comes back when this is dropped, once, wherever that is.
#[must_use = "what it holds comes back as soon as this is dropped"]
pub struct Slot<K, S = DefaultHasher, O: KeyObserver<K> = NoObserver> {
    inner: Arc<Inner<K, S, O>>,
    parts: Parts,
    /// Whether all was taken: not if a key panicked part-way.
    whole: bool,
}

impl<K, S, O: KeyObserver<K>> Drop for Slot<K, S, O> {
    fn drop(&mut self) {
        // Keys that are gone are dropped after the locks.
        let mut gone: Gone<K> = Gone::new();
        let mut locked = self.inner.lock_all(self.parts.iter().map(|part| part.shard));
        for part in &self.parts {
            let table = table_of(&mut locked, part.shard);
            let back = |table: &mut Pairs<K, O>| {
                if self.whole { table.release(part.id) } else { table.undo(part.id) }
            };
            let key = table.and_then(|table| back(table).ok().flatten());
            drop(key.map(|key| gone.push(key)));
        }
        drop(locked);
        drop(gone);
    }
}

impl<K, S, O> Clone for SharedInFlight<K, S, O> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<K, S, O> fmt::Debug for SharedInFlight<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInFlight").field("shards", &self.inner.shards.len()).finish_non_exhaustive()
    }
}

impl<K, S, O: KeyObserver<K>> fmt::Debug for Slot<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("pairs", &self.parts.len()).finish_non_exhaustive()
    }
}
