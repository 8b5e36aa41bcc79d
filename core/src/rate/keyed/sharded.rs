//! [`ShardedKeyed`]: the table of keys, in parts that threads lock one at a time.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::table::Table;
use super::{KeyedReservation, KeyedSnapshot, WhenFull};
use crate::DefaultHasher;
use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::index::hash_of;
use crate::num;
use crate::observe::{KeyObserver, NoObserver};
use crate::rate::bucket::Inherit;
use crate::rate::quota::Quota;
use crate::rate::units::Units;
use crate::time::Timestamp;

/// More than threads that meet, few enough that what is common to a shard stays near the processor, and that chance
/// fills 100 000 places to 96 in 100 before one shard is full.
const SHARDS: u32 = 32;
const MOST_SHARDS: u32 = 1 << 16;

#[repr(align(64))] // one cache line at least, so that locking one shard does not slow another
struct Shard<K, O>(Mutex<Table<K, O>>);

/// A token bucket for each of many keys, shared by threads; see the [module](super).
///
/// Keys are spread by their hash over a power of two of shards, each a [`Keyed`](super::Keyed) of its own behind a
/// mutex, which is held for one decision and never while the caller runs (other than hashing, comparing and cloning its
/// keys). What concerns one key happens in one shard, so operations on a key are linearizable; a snapshot is exact for
/// each shard and no instant of the whole. If a key's `Hash` or `Eq` panics the shard goes on with what it has.
///
/// The capacity is divided among the shards, and so a shard can be full while others have room. With C places in S
/// shards that begins at about C − 3·√(C·S) keys: for 100 000 in 32, at 95 000. Under
/// [`WhenFull::Overflow`] each shard has an overflow state of its own. Each shard has its own latest `now`.
///
/// ```
/// use tollgate::Timestamp;
/// use tollgate::rate::{Quota, ShardedKeyed, WhenFull};
///
/// let clients = ShardedKeyed::<u64>::new(Quota::per_second(10).burst(2), 10_000, WhenFull::Overflow)?;
/// let now = Timestamp::from_nanos(1);
/// std::thread::scope(|scope| {
///     scope.spawn(|| clients.try_acquire(now, &7, 1));
///     scope.spawn(|| clients.try_acquire(now, &7, 1));
/// });
/// assert!(clients.try_acquire(now, &7, 1).is_err());
/// # Ok::<(), tollgate::ConfigError>(())
/// ```
pub struct ShardedKeyed<K, S = DefaultHasher, O = NoObserver> {
    shards: Box<[Shard<K, O>]>,
    hasher: S,
}

impl<K: Hash + Eq> ShardedKeyed<K> {
    /// An empty table for about `capacity` keys, in 32 shards or fewer if the capacity is small, with the
    /// [default hasher](DefaultHasher).
    ///
    /// # Errors
    /// As [`with_hasher`](Self::with_hasher).
    pub fn new(quota: Quota, capacity: u32, when_full: WhenFull) -> Result<Self, ConfigError> {
        // A shard of a few keys is full or empty by chance.
        let fitting = capacity / 64;
        let shards = SHARDS.min(fitting.max(1).next_power_of_two());
        Self::with_hasher(quota, capacity, when_full, shards, DefaultHasher::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher> ShardedKeyed<K, S> {
    /// An empty table for about `capacity` keys in so many shards.
    ///
    /// # Errors
    /// The rules of [`Keyed`](super::Keyed::with_hasher), which each shard has to keep; `shards` that are no power of
    /// two up to 65 536 or more than the keys.
    pub fn with_hasher(
        quota: Quota,
        capacity: u32,
        when_full: WhenFull,
        shards: u32,
        hasher: S,
    ) -> Result<Self, ConfigError> {
        Self::with_observers(quota, capacity, when_full, shards, hasher, |_| NoObserver)
    }
}

impl<K: Hash + Eq, S: BuildHasher, O: KeyObserver<K>> ShardedKeyed<K, S, O> {
    /// The same, each shard telling an observer of its own what its keys are granted and refused; the dimension is 0. It is
    /// called while the shard is locked.
    ///
    /// # Errors
    /// As [`with_hasher`](ShardedKeyed::with_hasher).
    pub fn with_observers(
        quota: Quota,
        capacity: u32,
        when_full: WhenFull,
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
        let share = capacity.checked_div(shards).unwrap_or(0);
        let more = capacity.checked_rem(shards).unwrap_or(0);
        let mut table = |shard| {
            let capacity = share.saturating_add(u32::from(shard < more));
            Table::new(quota, capacity, when_full, observer(shard))
        };
        let shards: Result<Vec<_>, _> =
            (0..shards).map(|shard| Ok(Shard(Mutex::new(table(shard)?)))).collect();
        Ok(Self { shards: shards?.into_boxed_slice(), hasher })
    }

    /// Consumes `cost` tokens of `key`'s bucket, all of them or none. O(1).
    ///
    /// # Errors
    /// As [`Keyed::try_acquire`](super::Keyed::try_acquire).
    #[inline]
    pub fn try_acquire<Q>(&self, now: Timestamp, key: &Q, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        let Some(mut table) = self.shard(hash) else { return Ok(()) };
        table.try_acquire((&self.hasher, hash), now, key, cost)
    }

    /// Consumes `cost` tokens whatever is left: work that already happened. O(1).
    ///
    /// # Errors
    /// As [`Keyed::charge`](super::Keyed::charge).
    pub fn charge<Q>(&self, now: Timestamp, key: &Q, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        let Some(mut table) = self.shard(hash) else { return Ok(()) };
        table.charge((&self.hasher, hash), now, key, cost)
    }

    /// Consumes `cost` tokens of `key`'s bucket now if they can be had within `max_wait`, ahead of their accrual, in the order
    /// of the calls: a big request is not overtaken while it waits. Under [`WhenFull::Overflow`] those who have no place
    /// wait for each other. O(1).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire); `retry_at` is when the same call would be granted.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tollgate::Timestamp;
    /// use tollgate::rate::{ShardedKeyed, Quota, WhenFull};
    ///
    /// let clients: ShardedKeyed<u64> = ShardedKeyed::new(Quota::per_second(10).burst(1), 100, WhenFull::Refuse)?;
    /// let first = clients.reserve(Timestamp::ZERO, &7, 1, Duration::MAX)?;
    /// let second = clients.reserve(Timestamp::ZERO, &7, 1, Duration::MAX)?;
    /// assert_eq!((first.ready_at().as_nanos(), second.ready_at().as_nanos()), (0, 100_000_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve<Q>(
        &self,
        now: Timestamp,
        key: &Q,
        cost: u64,
        max_wait: Duration,
    ) -> Result<KeyedReservation, Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        let Some(mut table) = self.shard(hash) else { return Err(Refused::because(Reason::KeyTableFull)) };
        table.reserve((&self.hasher, hash), now, key, cost, max_wait)
    }

    /// Gives the latest reservation of `key` back: the bucket is as if it had never been, and the one before is the latest. Of
    /// one after which something was taken, by anybody who shares the overflow state if it does, nothing is given back; nor
    /// of one from before a change of quota. O(1).
    ///
    /// ```
    /// use core::time::Duration;
    /// use tollgate::Timestamp;
    /// use tollgate::rate::{ShardedKeyed, Quota, WhenFull};
    ///
    /// let clients: ShardedKeyed<u64> = ShardedKeyed::new(Quota::per_second(10).burst(2), 100, WhenFull::Refuse)?;
    /// let now = Timestamp::from_nanos(5);
    /// clients.try_acquire(now, &7, 2)?;
    /// let waits = clients.reserve(now, &7, 2, Duration::MAX)?;
    /// clients.cancel(now, &7, waits);
    /// assert!(clients.try_acquire(Timestamp::from_nanos(100_000_005), &7, 1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel<Q>(&self, now: Timestamp, key: &Q, reservation: KeyedReservation)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        if let Some(mut table) = self.shard(hash) {
            table.cancel(hash, now, key, &reservation);
        }
    }

    /// Whether `cost` would be granted to `key` at `now` after `ahead` more tokens had been taken. Changes nothing. O(1).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// ```
    /// use tollgate::Timestamp;
    /// use tollgate::rate::{ShardedKeyed, Quota, WhenFull};
    ///
    /// let clients: ShardedKeyed<u64> = ShardedKeyed::new(Quota::per_second(10).burst(2), 100, WhenFull::Refuse)?;
    /// let refused = clients.peek_behind(Timestamp::ZERO, &7, 2, 1).unwrap_err();
    /// assert_eq!(refused.retry_at, Some(Timestamp::from_nanos(100_000_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn peek_behind<Q>(&self, now: Timestamp, key: &Q, ahead: u64, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        self.shard(hash).map_or(Ok(()), |table| table.peek_behind(hash, now, key, ahead, cost))
    }

    /// Whether [`try_acquire`](Self::try_acquire) would grant `cost` at `now`. Changes nothing. O(1).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn peek<Q>(&self, now: Timestamp, key: &Q, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        self.shard(hash).map_or(Ok(()), |table| table.peek(hash, now, key, cost))
    }

    /// The largest cost that would be granted to `key` at `now`, in whole tokens. O(1).
    #[must_use]
    pub fn available<Q>(&self, now: Timestamp, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        self.shard(hash).map_or(0, |table| table.available(hash, now, key))
    }

    /// Whether there is an entry for `key`; see [`Keyed::holds`](super::Keyed::holds).
    #[must_use]
    pub fn holds<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        self.shard(hash).is_some_and(|table| table.place_of(hash, key).is_some())
    }

    /// Changes the quota of all keys at `now`, shard by shard: while it runs, some keys have the new one and some the
    /// old. O(keys).
    ///
    /// # Errors
    /// As [`with_hasher`](ShardedKeyed::with_hasher); nothing is changed.
    pub fn set_quota(&self, now: Timestamp, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        let units = Units::of(quota)?;
        self.tables().for_each(|mut table| table.set_quota(now, units, inherit));
        Ok(())
    }

    /// Drops all keys that have recovered, shard by shard, and says how many those were. Never needed. O(keys).
    pub fn forget_recovered(&self, now: Timestamp) -> u64 {
        self.tables().map(|mut table| u64::from(table.forget_recovered(&self.hasher, now))).sum()
    }

    /// Keys held now, recovered ones included that were not dropped yet. O(shards).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.tables().map(|table| u64::from(table.len())).sum()
    }

    /// Whether no key is held. O(shards).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands out the observer of each shard in turn, the shard locked meanwhile. O(shards).
    pub fn observers(&self, mut each: impl FnMut(&mut O)) {
        self.tables().for_each(|mut table| each(table.observer_mut()));
    }

    /// What it holds and what it did so far, over all shards. O(shards).
    #[must_use]
    pub fn snapshot(&self) -> KeyedSnapshot {
        self.tables().map(|table| table.snapshot()).fold(KeyedSnapshot::default(), KeyedSnapshot::plus)
    }

    /// Asserts the invariants of each shard. O(keys); for tests and debugging.
    pub fn check_invariants(&self) {
        self.tables().for_each(|table| table.check_invariants(&self.hasher));
    }

    /// The shard of a hash, by bits that the index does not use. There is always one.
    #[inline]
    fn shard(&self, hash: u64) -> Option<MutexGuard<'_, Table<K, O>>> {
        let number = num::index(num::low_u32(hash >> 32)) & self.shards.len().wrapping_sub(1);
        self.shards.get(number).map(Shard::lock)
    }

    fn tables(&self) -> impl Iterator<Item = MutexGuard<'_, Table<K, O>>> {
        self.shards.iter().map(Shard::lock)
    }
}

impl<K, O> Shard<K, O> {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Table<K, O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, S, O> fmt::Debug for ShardedKeyed<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedKeyed").field("shards", &self.shards.len()).finish_non_exhaustive()
    }
}
