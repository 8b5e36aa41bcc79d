//! [`HeavyHitters`]: who consumes most, in memory that is bounded, with an error that is known.
//!
//! **Problem.** An operator wants to see the heaviest consumers and the keys refused most before somebody complains.
//! Counting exactly takes a counter for each key there ever was; the interesting ones are few.
//!
//! **Derivation.** There are m counters, each with a key. A key that has one adds to it. One that has none takes over
//! the least counter, of count c, and goes on from there: what it is counted is what it brings plus c, of which c may
//! never have been its own; that is noted as its *error*. Every weight goes into exactly one counter, so m counters
//! hold the total N together, and the least of them at most N/m. Hence, for every key that is held,
//!
//! ```text
//! count − error ≤ true ≤ count,     error ≤ N/m
//! ```
//!
//! and a key that is not held has brought at most the least count: whoever brought more than N/m is held.
//!
//! **Source.** Space-saving (Metwally, Agrawal, El Abbadi 2005). Deviation: weights, so a heap stands in for the list of
//! equal counts, and adding costs O(log m) in place of O(1).
//!
//! **Invariants.** **I1** the counts add up to the total; **I2** an error is less than its count, or 0; **I3** each key is
//! held once.
//!
//! [`Watch`] is an observer that counts with two of them what a limiter does.
//!
//! **Work** O(log m) for each weight, plus the hash. **Memory** a key, 24 bytes and 9 of indices for each counter,
//! reserved at construction. Totals saturate at 2⁶⁴ − 1, from where on the counts of newcomers are too low.

mod watch;

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

pub use watch::Watch;

use crate::DefaultHasher;
use crate::error::ConfigError;
use crate::heap::{IndexedHeap, Keys};
use crate::index::{Index, hash_of};
use crate::num;
use crate::slots::{Buffer, Heap, Storage};

/// What is known of a key that is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Heavy<'a, K> {
    /// Who.
    pub key: &'a K,
    /// At most this was brought.
    pub count: u64,
    /// At least `count − error` was.
    pub error: u64,
}

#[derive(Debug)]
struct Counter<K> {
    key: K,
    count: u64,
    error: u64,
    /// Where it stands in the heap.
    position: u32,
}

#[derive(Debug)]
struct Counters<K>(Vec<Counter<K>>);

impl<K> Keys for Counters<K> {
    type Key = u64;

    fn key(&self, member: u32) -> u64 {
        self.0.get(num::index(member)).map_or(0, |counter| counter.count)
    }

    fn set_position(&mut self, member: u32, position: u32) {
        if let Some(counter) = self.0.get_mut(num::index(member)) {
            counter.position = position;
        }
    }

    fn position(&self, member: u32) -> u32 {
        self.0.get(num::index(member)).map_or(0, |counter| counter.position)
    }
}

/// The heaviest of many keys; see the [module](self).
///
/// ```
/// use tollgate::sketch::HeavyHitters;
///
/// let mut tokens: HeavyHitters<String> = HeavyHitters::new(100)?;
/// for _ in 0..50 {
///     tokens.add("ann", 2_000);
///     tokens.add("bob", 30);
/// }
/// let top = tokens.top(1);
/// assert_eq!((top[0].key.as_str(), top[0].count, top[0].error), ("ann", 100_000, 0));
/// # Ok::<(), tollgate::ConfigError>(())
/// ```
pub struct HeavyHitters<K, S = DefaultHasher> {
    counters: Counters<K>,
    heap: IndexedHeap<Heap>,
    index: Index,
    hasher: S,
    capacity: u32,
    total: u64,
}

#[cfg(feature = "std")]
impl<K: Hash + Eq> HeavyHitters<K> {
    /// So many counters, with the [default hasher](DefaultHasher).
    ///
    /// # Errors
    /// As [`with_hasher`](Self::with_hasher).
    pub fn new(capacity: u32) -> Result<Self, ConfigError> {
        Self::with_hasher(capacity, DefaultHasher::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher> HeavyHitters<K, S> {
    /// So many counters: errors are at most the total divided by that.
    ///
    /// # Errors
    /// `capacity` of 0, above 16 777 216, or more than the allocator can reserve.
    pub fn with_hasher(capacity: u32, hasher: S) -> Result<Self, ConfigError> {
        let index = Index::new(capacity)?;
        let heap = IndexedHeap::new(Heap::buffer(capacity)?);
        let counters = Counters(Heap::buffer(capacity)?);
        Ok(Self { counters, heap, index, hasher, capacity, total: 0 })
    }

    /// Counts `weight` for `key`; a weight of 0 counts nothing. O(log capacity).
    pub fn add<Q>(&mut self, key: &Q, weight: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if weight == 0 {
            return;
        }
        self.total = self.total.saturating_add(weight);
        let hash = hash_of(&self.hasher, key);
        if let Some(place) = self.place_of(hash, key) {
            self.grow(place, weight);
        } else if self.len() < self.capacity {
            self.insert(hash, key.to_owned(), weight);
        } else if let Some(least) = self.heap.top() {
            self.take_over(least, hash, key.to_owned());
            self.grow(least, weight);
        }
    }

    /// What is known of `key`; if it is not held, it brought at most [`error_bound`](Self::error_bound). O(1).
    #[must_use]
    pub fn get<Q>(&self, key: &Q) -> Option<Heavy<'_, K>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let place = self.place_of(hash_of(&self.hasher, key), key)?;
        self.counters.0.get(num::index(place)).map(Heavy::of)
    }

    /// Forgets all. O(capacity).
    pub fn clear(&mut self) {
        while let Some(place) = self.heap.top() {
            self.heap.remove(&mut self.counters, place);
            self.unindex(place);
        }
        self.counters.0.clear();
        self.total = 0;
    }

    fn insert(&mut self, hash: u64, key: K, weight: u64) {
        let place = self.len();
        if Buffer::push(&mut self.counters.0, Counter { key, count: weight, error: 0, position: 0 }).is_ok() {
            self.enter(hash, place);
            self.heap.push(&mut self.counters, place);
        }
    }

    /// Gives the counter at a place to another key.
    fn take_over(&mut self, place: u32, hash: u64, key: K) {
        self.unindex(place);
        if let Some(counter) = self.counters.0.get_mut(num::index(place)) {
            counter.error = counter.count;
            counter.key = key;
        }
        self.enter(hash, place);
    }

    fn grow(&mut self, place: u32, weight: u64) {
        if let Some(counter) = self.counters.0.get_mut(num::index(place)) {
            counter.count = counter.count.saturating_add(weight);
        }
        self.heap.sink(&mut self.counters, place);
    }

    fn place_of<Q>(&self, hash: u64, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let is_it =
            |place| self.counters.0.get(num::index(place)).is_some_and(|counter| counter.key.borrow() == key);
        self.index.find(hash, is_it)
    }

    fn enter(&mut self, hash: u64, place: u32) {
        let (counters, hasher) = (&self.counters.0, &self.hasher);
        self.index.insert(hash, place, |place| {
            counters.get(num::index(place)).map_or(0, |counter| hash_of(hasher, &counter.key))
        });
    }

    fn unindex(&mut self, place: u32) {
        let (counters, hasher) = (&self.counters.0, &self.hasher);
        let hash = |place| counters.get(num::index(place)).map_or(0, |counter| hash_of(hasher, &counter.key));
        self.index.remove(hash(place), place, hash);
    }
}

impl<K, S> HeavyHitters<K, S> {
    /// The `n` of the largest counts, largest first. O(capacity · log capacity), and it allocates: it is for people.
    #[must_use]
    pub fn top(&self, n: usize) -> Vec<Heavy<'_, K>> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by_key(|heavy| core::cmp::Reverse(heavy.count));
        all.truncate(n);
        all
    }

    /// All that are held, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Heavy<'_, K>> {
        self.counters.0.iter().map(Heavy::of)
    }

    /// The sum of all weights.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// What nobody's error is above, and what nobody brought more than who is not held: the least count, 0 while there
    /// are counters to spare. At most the total divided by the capacity. O(1).
    #[must_use]
    pub fn error_bound(&self) -> u64 {
        if self.len() < self.capacity {
            return 0;
        }
        self.heap.top().map_or(0, |least| self.counters.key(least))
    }

    /// Keys held now.
    #[must_use]
    pub fn len(&self) -> u32 {
        num::index_u32(self.counters.0.len())
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters there are.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }
}

impl<'a, K> Heavy<'a, K> {
    const fn of(counter: &'a Counter<K>) -> Self {
        Self { key: &counter.key, count: counter.count, error: counter.error }
    }
}

impl<K, S> core::fmt::Debug for HeavyHitters<K, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeavyHitters")
            .field("held", &self.len())
            .field("capacity", &self.capacity)
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}
