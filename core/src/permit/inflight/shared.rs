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

use super::pairs::Pairs;
use super::{Bypass, Cap, Dimension, InFlightRefused, hash_pair};
use crate::DefaultHasher;
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::slots::SlotId;

/// More than threads that meet.
const SHARDS: u32 = 32;
const MOST_SHARDS: u32 = 1 << 16;

#[repr(align(64))] // one cache line at least, so that locking one shard does not slow another
struct Shard<K>(Mutex<Pairs<K>>);

impl<K> Shard<K> {
    fn lock(&self) -> MutexGuard<'_, Pairs<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Inner<K, S> {
    shards: Box<[Shard<K>]>,
    hasher: S,
}

/// What of a request is where.
#[derive(Clone, Copy)]
struct Part {
    shard: u32,
    id: SlotId,
}

type Parts = heapless::Vec<Part, { Dimension::COUNT }>;

/// Caps on what each key has in flight, shared by threads; see the [module](super). Clones are the same caps.
///
/// Pairs are spread by their hash over a power of two of shards, each behind a mutex. A request locks the shards of all
/// its pairs in ascending order before it takes the first, so there is no deadlock, and nobody ever sees a part of it:
/// admissions are linearizable. A [`Slot`] comes back pair by pair; who asks in between may be refused for a pair that
/// is about to come back, and is never granted what is not there. Caps of a dimension change shard by shard.
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
pub struct SharedInFlight<K, S = DefaultHasher> {
    inner: Arc<Inner<K, S>>,
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
        let shard = |_| Ok(Shard(Mutex::new(Pairs::new(capacity, overrides, 0)?)));
        let shards: Result<Vec<_>, _> = (0..shards).map(shard).collect();
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
    ) -> Result<Slot<K, S>, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut slot = Slot { inner: Arc::clone(&self.inner), parts: Parts::new() };
        if bypass.skips_in_flight() {
            return Ok(slot);
        }
        let mut places: heapless::Vec<(u64, u32), { Dimension::COUNT }> = heapless::Vec::new();
        for &(dimension, key) in pairs {
            let hash = hash_pair(&self.inner.hasher, dimension, key);
            if places.push((hash, self.inner.number(hash))).is_err() {
                let reason = Reason::ExceedsCapacity;
                return Err(InFlightRefused {
                    dimension,
                    reason,
                    cap: Cap::Unlimited,
                    held: 0,
                    retry_after: None,
                });
            }
        }
        let mut locked = self.inner.lock_all(&places);
        for (&(dimension, key), &(hash, shard)) in pairs.iter().zip(&places) {
            let Some((_, table)) = locked.iter_mut().find(|(number, _)| *number == shard) else { continue };
            match table.take(hash, dimension, key) {
                // As many as there are places.
                Ok(id) => drop(slot.parts.push(Part { shard, id })),
                Err(mut refused) => {
                    let own = slot.parts.iter().filter(|part| part.shard == shard);
                    let own = own.filter(|part| table.is(part.id, dimension, key)).count();
                    refused.held = refused.held.saturating_sub(num::index_u32(own));
                    let mut gone: heapless::Vec<K, { Dimension::COUNT }> = heapless::Vec::new();
                    while let Some(part) = slot.parts.pop() {
                        let table = locked.iter_mut().find(|(number, _)| *number == part.shard);
                        let key = table.and_then(|(_, table)| table.give_back(part.id).ok().flatten());
                        drop(key.map(|key| gone.push(key)));
                    }
                    drop(locked);
                    return Err(refused);
                }
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

impl<K, S> SharedInFlight<K, S> {
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

impl<K, S> Inner<K, S> {
    /// The number of the shard of a hash, by bits that the index does not use.
    fn number(&self, hash: u64) -> u32 {
        num::low_u32(hash >> 32) & num::index_u32(self.shards.len()).wrapping_sub(1)
    }

    fn of(&self, hash: u64) -> Option<MutexGuard<'_, Pairs<K>>> {
        self.shards.get(num::index(self.number(hash))).map(Shard::lock)
    }

    /// Locks the shards of all places, each once, in ascending order.
    fn lock_all(
        &self,
        places: &[(u64, u32)],
    ) -> heapless::Vec<(u32, MutexGuard<'_, Pairs<K>>), { Dimension::COUNT }> {
        let mut locked: heapless::Vec<(u32, MutexGuard<'_, Pairs<K>>), { Dimension::COUNT }> =
            heapless::Vec::new();
        let mut from = 0;
        while let Some(number) = places.iter().map(|&(_, number)| number).filter(|&n| n >= from).min() {
            from = number.saturating_add(1);
            if let Some(shard) = self.shards.get(num::index(number)) {
                drop(locked.push((number, shard.lock())));
            }
        }
        locked
    }
}

/// What one request holds of a [`SharedInFlight`]: it comes back when this is dropped, once, wherever that is.
#[must_use = "what it holds comes back as soon as this is dropped"]
pub struct Slot<K, S = DefaultHasher> {
    inner: Arc<Inner<K, S>>,
    parts: Parts,
}

impl<K, S> Drop for Slot<K, S> {
    fn drop(&mut self) {
        while let Some(part) = self.parts.pop() {
            let shard = self.inner.shards.get(num::index(part.shard));
            // The key, if it is the last of its pair, is dropped after the lock.
            let _key = shard.map(|shard| shard.lock().give_back(part.id));
        }
    }
}

impl<K, S> Clone for SharedInFlight<K, S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<K, S> fmt::Debug for SharedInFlight<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInFlight").field("shards", &self.inner.shards.len()).finish_non_exhaustive()
    }
}

impl<K, S> fmt::Debug for Slot<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("pairs", &self.parts.len()).finish_non_exhaustive()
    }
}
