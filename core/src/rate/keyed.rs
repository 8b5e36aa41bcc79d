//! [`Keyed`]: one quota for each of many keys, in memory that is bounded and forgets nobody too early.
//!
//! **Problem.** A limit for each client needs a state for each client, and clients are not known beforehand: they
//! come, go, and are sometimes a flood of names made up by somebody. So state has to be made when a key is first seen
//! and dropped again, without a background task, without a call that stops to clean up, and above all without
//! *forgiving*: a key that is limited and gets dropped from the table would come back with a full bucket.
//!
//! **Derivation.** The state of a key is one word w, the unit of time in which all it was granted will have accrued
//! again (see [`AtomicBucket`](super::AtomicBucket), whose arithmetic this is). Once that unit is reached the bucket
//! is full, and a full bucket is what a key that was never seen has: it has *recovered*, and forgetting it changes
//! nothing. Nobody else is ever forgotten. So the idle time after which a key may be dropped is not a setting: it is
//! the time its bucket takes to be full.
//!
//! *The hand.* A hand walks over the table, slot by slot: for each newcomer it looks at up to 8 slots and drops at most 2
//! keys that have recovered; on every eighth of the other requests it looks at one, once more than half is taken. Every eviction is paid
//! for by one request, so a request costs O(1), not only on average; and a table all of whose keys have recovered has
//! room again at the first newcomer.
//!
//! *Full.* If the hand found nobody, there are as many busy keys as there is room for. [`WhenFull::Refuse`] refuses
//! the newcomer with [`Reason::KeyTableFull`](crate::Reason::KeyTableFull). (Some that have recovered may be left where
//! the hand has not come to: with room for n it comes to each within n/6 refusals.) [`WhenFull::Overflow`] lets all who
//! have no place share one more bucket of the same quota. What a key took there must not be forgiven either when it
//! gets a place later, and who took what is not known: so while the overflow state is busy, every newcomer *starts with
//! its word*, as if it had taken all of it. Then each key's own bucket, kept for it alone and for ever, would never
//! have held more than the word it was judged by, and the law holds for each key without exception.
//!
//! **Law.** For each key, in any interval of length T: granted ≤ burst + rate·T, whatever was evicted, refused or
//! shared in between.
//!
//! **Source.** The generic cell rate algorithm; the hand is that of the CLOCK page replacement. Deviations from the
//! keyed limiter of governor: capacity is bounded; keys are dropped while it runs, not by a call that walks over the
//! whole map under its locks; a table of our own that costs one cache miss and does not double.
//!
//! *Deviation from [`AtomicBucket`](super::AtomicBucket):* a bucket that becomes busy has its start rounded up to a
//! whole unit (1 to 2 ns) where a token is no whole number of nanoseconds, and notes that unit in which it may go one
//! higher. Here there is one such note for the whole table, for the key that became busy last. If several keys take
//! their *whole* burst in several calls at the very same instant, the last token of all but one of them comes 1 to 2 ns
//! late. Debt ([`charge`](Keyed::charge)) is counted up to 2⁶⁴ units; who is charged beyond that is refused until the
//! quota is changed with [`Inherit::Reset`].
//!
//! **Stale clocks.** A `now` before the latest one the table has seen counts as the latest.
//!
//! **Invariants.** **I1** at most `capacity` keys are held, each where its hash says, once; **I2** only a
//! recovered key is dropped; **I3** the overflow state is used under `Overflow` only; **I4** a refusal changes no word.
//!
//! **Work** O(1) expected, plus the hash; [`set_quota`](Keyed::set_quota) and
//! [`forget_recovered`](Keyed::forget_recovered) are O(keys). **Memory** 6/5 of an
//! entry (16 bytes for a `u64` key) and a byte for each key of the capacity, reserved at construction: 20.4 bytes. A key that owns memory (a `String`) allocates
//! it when it is inserted; nothing else allocates.
//!
//! **Shared by threads:** [`ShardedKeyed`] (feature `std`).

#[cfg(feature = "std")]
mod sharded;
mod table;

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

#[cfg(feature = "std")]
pub use sharded::ShardedKeyed;

pub use self::table::KeyedReservation;
use self::table::Table;
use super::bucket::Inherit;
use super::quota::Quota;
use super::units::Units;
use crate::DefaultHasher;
use crate::error::{ConfigError, Refused};
use crate::index::hash_of;
use crate::observe::{KeyObserver, NoObserver};
use crate::time::Timestamp;

/// What becomes of a key that is not known while there is no room.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum WhenFull {
    /// It is refused.
    #[default]
    Refuse,
    /// It shares one bucket of the same quota with all others who have no place.
    Overflow,
}

/// What a table has in it and what it did so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct KeyedSnapshot {
    /// Keys held now, recovered ones included that were not dropped yet.
    pub held: u64,
    /// The most keys it can hold.
    pub capacity: u64,
    /// Requests refused, for whatever reason.
    pub refused: u64,
    /// Requests and charges refused because there was no room for their key.
    pub full: u64,
    /// Requests granted, and charges made, out of the overflow state.
    pub overflowed: u64,
    /// Keys dropped after they had recovered.
    pub evicted: u64,
}

impl KeyedSnapshot {
    /// Both together.
    #[cfg(feature = "std")]
    const fn plus(self, other: Self) -> Self {
        Self {
            held: self.held.saturating_add(other.held),
            capacity: self.capacity.saturating_add(other.capacity),
            refused: self.refused.saturating_add(other.refused),
            full: self.full.saturating_add(other.full),
            overflowed: self.overflowed.saturating_add(other.overflowed),
            evicted: self.evicted.saturating_add(other.evicted),
        }
    }
}

/// A token bucket for each of many keys, for one owner; see the [module](self).
///
/// ```
/// use tollgate::rate::{Keyed, Quota, WhenFull};
/// use tollgate::{Reason, Timestamp};
///
/// // 10 requests a second and 2 at once, for each of at most 2 clients at a time.
/// let mut clients: Keyed<String> = Keyed::new(Quota::per_second(10).burst(2), 2, WhenFull::Refuse)?;
/// let now = Timestamp::from_nanos(1);
/// clients.try_acquire(now, "ann", 2)?;
/// clients.try_acquire(now, "bob", 1)?;
///
/// let refused = clients.try_acquire(now, "ann", 1).unwrap_err();
/// assert_eq!(refused.retry_at, Some(Timestamp::from_nanos(100_000_001)));
/// assert_eq!(clients.try_acquire(now, "eve", 1).unwrap_err().reason, Reason::KeyTableFull);
///
/// // By then bob has recovered, and his place is free.
/// clients.try_acquire(refused.retry_at.unwrap(), "eve", 1)?;
/// assert!(!clients.holds("bob"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Keyed<K, S = DefaultHasher, O = NoObserver> {
    table: Table<K, O>,
    hasher: S,
}

#[cfg(feature = "std")]
impl<K: Hash + Eq> Keyed<K> {
    /// An empty table for at most `capacity` keys, with the [default hasher](DefaultHasher).
    ///
    /// # Errors
    /// As [`with_hasher`](Self::with_hasher).
    pub fn new(quota: Quota, capacity: u32, when_full: WhenFull) -> Result<Self, ConfigError> {
        Self::with_hasher(quota, capacity, when_full, DefaultHasher::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher> Keyed<K, S> {
    /// An empty table for at most `capacity` keys. Keys from outside want a hasher that resists chosen keys.
    ///
    /// # Errors
    /// The rules of [`AtomicBucket`](super::AtomicBucket::new) broken by the quota; `capacity` of 0, above 16 777 216,
    /// or more than the allocator can reserve.
    pub fn with_hasher(
        quota: Quota,
        capacity: u32,
        when_full: WhenFull,
        hasher: S,
    ) -> Result<Self, ConfigError> {
        Self::with_observer(quota, capacity, when_full, hasher, NoObserver)
    }
}

impl<K: Hash + Eq, S: BuildHasher, O: KeyObserver<K>> Keyed<K, S, O> {
    /// The same, telling an observer what each key is granted and refused; its dimension is 0.
    ///
    /// # Errors
    /// As [`with_hasher`](Keyed::with_hasher).
    pub fn with_observer(
        quota: Quota,
        capacity: u32,
        when_full: WhenFull,
        hasher: S,
        observer: O,
    ) -> Result<Self, ConfigError> {
        Ok(Self { table: Table::new(quota, capacity, when_full, observer)?, hasher })
    }

    /// Consumes `cost` tokens of `key`'s bucket, all of them or none. A cost of 0 is granted whenever the bucket is not
    /// overdrawn, and makes no entry. O(1).
    ///
    /// # Errors
    /// `RateExceeded` or, after a [`charge`](Self::charge), `InDebt`, with the exact `retry_at`; `ExceedsCapacity` for a
    /// cost above the [`burst`](Self::burst); `KeyTableFull`.
    #[inline]
    pub fn try_acquire<Q>(&mut self, now: Timestamp, key: &Q, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        self.table.try_acquire((&self.hasher, hash), now, key, cost)
    }

    /// Consumes `cost` tokens whatever is left: work that already happened. What exceeds the burst is debt, which time
    /// repays before anything is granted again. O(1).
    ///
    /// # Errors
    /// `KeyTableFull` if the key is not known and there is no room: nothing was charged.
    pub fn charge<Q>(&mut self, now: Timestamp, key: &Q, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_of(&self.hasher, key);
        self.table.charge((&self.hasher, hash), now, key, cost)
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
    /// use tollgate::rate::{Keyed, Quota, WhenFull};
    ///
    /// let mut clients: Keyed<u64> = Keyed::new(Quota::per_second(10).burst(1), 100, WhenFull::Refuse)?;
    /// let first = clients.reserve(Timestamp::ZERO, &7, 1, Duration::MAX)?;
    /// let second = clients.reserve(Timestamp::ZERO, &7, 1, Duration::MAX)?;
    /// assert_eq!((first.ready_at().as_nanos(), second.ready_at().as_nanos()), (0, 100_000_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve<Q>(
        &mut self,
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
        self.table.reserve((&self.hasher, hash), now, key, cost, max_wait)
    }

    /// Gives the latest reservation of `key` back: the bucket is as if it had never been, and the one before is the latest. Of
    /// one after which something was taken, by anybody who shares the overflow state if it does, nothing is given back; nor
    /// of one from before a change of quota. O(1).
    ///
    /// ```
    /// use core::time::Duration;
    /// use tollgate::Timestamp;
    /// use tollgate::rate::{Keyed, Quota, WhenFull};
    ///
    /// let mut clients: Keyed<u64> = Keyed::new(Quota::per_second(10).burst(2), 100, WhenFull::Refuse)?;
    /// let now = Timestamp::from_nanos(5);
    /// clients.try_acquire(now, &7, 2)?;
    /// let waits = clients.reserve(now, &7, 2, Duration::MAX)?;
    /// clients.cancel(now, &7, waits);
    /// assert!(clients.try_acquire(Timestamp::from_nanos(100_000_005), &7, 1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel<Q>(&mut self, now: Timestamp, key: &Q, reservation: KeyedReservation)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.cancel(hash_of(&self.hasher, key), now, key, &reservation);
    }

    /// Whether `cost` would be granted to `key` at `now` after `ahead` more tokens had been taken. Changes nothing. O(1).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// ```
    /// use tollgate::Timestamp;
    /// use tollgate::rate::{Keyed, Quota, WhenFull};
    ///
    /// let clients: Keyed<u64> = Keyed::new(Quota::per_second(10).burst(2), 100, WhenFull::Refuse)?;
    /// let refused = clients.peek_behind(Timestamp::ZERO, &7, 2, 1).unwrap_err();
    /// assert_eq!(refused.retry_at, Some(Timestamp::from_nanos(100_000_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn peek_behind<Q>(&self, now: Timestamp, key: &Q, ahead: u64, cost: u64) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.peek_behind(hash_of(&self.hasher, key), now, key, ahead, cost)
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
        self.table.peek(hash_of(&self.hasher, key), now, key, cost)
    }

    /// The largest cost that would be granted to `key` at `now`, in whole tokens. O(1).
    #[must_use]
    pub fn available<Q>(&self, now: Timestamp, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.available(hash_of(&self.hasher, key), now, key)
    }

    /// Whether there is an entry for `key`. If not, it has recovered, or is one of those that share the overflow state.
    #[must_use]
    pub fn holds<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.table.place_of(hash_of(&self.hasher, key), key).is_some()
    }

    /// Changes the quota of all keys at `now`; what each has consumed is carried over as `inherit` says, rounded up by
    /// less than a unit. O(keys).
    ///
    /// # Errors
    /// As [`with_hasher`](Keyed::with_hasher); nothing is changed.
    pub fn set_quota(&mut self, now: Timestamp, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        self.table.set_quota(now, Units::of(quota)?, inherit);
        Ok(())
    }

    /// Drops all keys that have recovered, and says how many those were. Never needed, since the hand does it by and by.
    /// O(keys).
    pub fn forget_recovered(&mut self, now: Timestamp) -> u32 {
        self.table.forget_recovered(&self.hasher, now)
    }

    /// Keys held now, recovered ones included that were not dropped yet.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.table.len()
    }

    /// Whether no key is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The most keys it can hold.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.table.capacity()
    }

    /// The burst of each key, in tokens; above a token a nanosecond, rounded down to what accrues in a whole number of
    /// units.
    #[must_use]
    pub const fn burst(&self) -> u64 {
        self.table.burst()
    }

    /// What it tells.
    #[must_use]
    pub const fn observer(&self) -> &O {
        self.table.observer()
    }

    /// What it tells, to read it out and begin anew.
    pub const fn observer_mut(&mut self) -> &mut O {
        self.table.observer_mut()
    }

    /// What it holds and what it did so far. O(1).
    #[must_use]
    pub fn snapshot(&self) -> KeyedSnapshot {
        self.table.snapshot()
    }

    /// Asserts I1 and I3. O(keys); for tests and debugging.
    pub fn check_invariants(&self) {
        self.table.check_invariants(&self.hasher);
    }
}

impl<K, S, O> fmt::Debug for Keyed<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed").field("table", &self.table).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(not(tollgate_loom))]
mod tests;
