//! [`InFlight`]: how much each key may have in flight at once, in several dimensions, all of them or none.
//!
//! **Problem.** A request belongs to an API key, a user, a team, a client, and each of these may have so many requests in
//! flight. It may go when *all* its dimensions have room, and must hold nothing if one has not, or a refused request
//! keeps others out. There are as many keys as clients think of, so a key that holds nothing may cost nothing. Caps are
//! changed while the server is full of requests. And what a request holds comes back exactly once, however it ends.
//!
//! **Design.** The state of a pair (dimension, key) is how much it *holds*; caps are policy, looked up when somebody
//! asks: the override of the pair, else the cap of the dimension. A request takes its pairs in the order given; the
//! first that has no room gives back what was taken and names itself. A pair is an entry from its first holder to its
//! last, and gone with it. Pairs without a cap are counted too, so that a cap that is set later counts those who came
//! before it, and gauges show everybody. No cap is said explicitly, [`Cap::Unlimited`]; a cap of 0 lets nobody in.
//!
//! **Constants.** At most eight dimensions, and eight pairs to a request (a pair that is given twice is taken twice): so
//! a ticket is a value. The hint of a refusal is one second unless [set](InFlight::set_hint), for nobody knows when a
//! request will end.
//!
//! **Source.** The in-flight caps this product was asked to cover: order of checks, fixed hint, names in refusals, gauges
//! that vanish at zero. Deviation: 0 is not "unlimited".
//!
//! **Invariants.** **I1** what a pair holds is the number of times it is in tickets that exist; **I2** a pair has an entry
//! iff it holds something; **I3** a grant leaves each of its pairs at or below its cap; **I4** a refusal changes nothing.
//!
//! **Work** O(pairs) expected for a request, O(1) for a change of a cap. **Memory** 40 bytes, a key and 5 bytes of index
//! for each entry of the capacity, and 24, a key and 5 for each override, reserved at construction. A key that owns
//! memory allocates it when its entry is made.
//!
//! **Shared by threads:** [`SharedInFlight`] (feature `std`).

mod pairs;
#[cfg(feature = "std")]
mod shared;
mod terms;

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

#[cfg(feature = "std")]
pub use shared::{SharedInFlight, Slot};
pub use terms::{Bypass, Cap, Dimension};

use self::pairs::{Pairs, refusal};
use crate::DefaultHasher;
use crate::error::{ConfigError, Reason, Refused, Stale};
use crate::index::{hash_of, number_of};
use crate::num;
use crate::observe::{KeyObserver, NoObserver};
use crate::slots::SlotId;

/// A refusal for what is in flight: which dimension, and the numbers of its key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct InFlightRefused {
    /// The first of the request's dimensions that had no room.
    pub dimension: Dimension,
    /// `NoPermits`; `ExceedsLimit` where the cap is 0; `KeyTableFull` if it was no cap but the table; `ExceedsCapacity`
    /// for a request of more than eight pairs.
    pub reason: Reason,
    /// The cap in force.
    pub cap: Cap,
    /// What its key holds, what this request would have held before not included.
    pub held: u32,
    /// When to try again, if waiting helps: a fixed hint.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for InFlightRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by dimension {}: {}, {} in flight", self.dimension.0, self.reason, self.held)?;
        match self.cap {
            Cap::Unlimited => Ok(()),
            Cap::At(cap) => write!(f, " of {cap}"),
        }
    }
}

impl core::error::Error for InFlightRefused {}

impl From<InFlightRefused> for Refused {
    fn from(refused: InFlightRefused) -> Self {
        Self::because(refused.reason)
    }
}

/// What one request holds; [`InFlight::release`] takes it back.
#[derive(Debug)]
#[must_use = "what it holds stays held until it is released"]
pub struct InFlightTicket {
    pairs: heapless::Vec<SlotId, { Dimension::COUNT }>,
}

/// A request on its way: gives back what it took unless it got all, also where a key panics.
struct Taking<'a, K, O> {
    pairs: &'a mut Pairs<K, O>,
    taken: &'a mut heapless::Vec<SlotId, { Dimension::COUNT }>,
    all: bool,
}

impl<K, O> Drop for Taking<'_, K, O> {
    fn drop(&mut self) {
        if !self.all {
            while let Some(id) = self.taken.pop() {
                drop(self.pairs.undo(id));
            }
        }
    }
}

/// What one pair holds; only pairs that hold something have one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Gauge<'a, K> {
    /// The dimension.
    pub dimension: Dimension,
    /// The key.
    pub key: &'a K,
    /// Requests in flight, 1 or more.
    pub held: u32,
}

/// What a table of pairs has in it and what it did so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct InFlightSnapshot {
    /// Pairs that hold something now.
    pub pairs: u64,
    /// The most there is room for.
    pub capacity: u64,
    /// Caps of single pairs.
    pub overrides: u64,
    /// Requests refused, by a cap or for want of room.
    pub refused: u64,
}

impl InFlightSnapshot {
    /// The sum of two shards.
    #[cfg(feature = "std")]
    const fn plus(self, other: Self) -> Self {
        Self {
            pairs: self.pairs.saturating_add(other.pairs),
            capacity: self.capacity.saturating_add(other.capacity),
            overrides: self.overrides.saturating_add(other.overrides),
            refused: self.refused.saturating_add(other.refused),
        }
    }
}

/// Caps on what each key has in flight, for one owner; see the [module](self).
///
/// ```
/// use tollgate::permit::{Bypass, Cap, Dimension, InFlight};
///
/// const USER: Dimension = Dimension::new(0).unwrap();
/// const TEAM: Dimension = Dimension::new(1).unwrap();
///
/// let mut flying: InFlight<String> = InFlight::new(1_000, 10)?;
/// flying.set_cap(USER, Cap::At(1));
/// flying.set_cap(TEAM, Cap::At(2));
///
/// let ann = flying.try_acquire(&[(USER, "ann"), (TEAM, "blue")], Bypass::None)?;
/// let bob = flying.try_acquire(&[(USER, "bob"), (TEAM, "blue")], Bypass::None)?;
/// let refused = flying.try_acquire(&[(USER, "eve"), (TEAM, "blue")], Bypass::None).unwrap_err();
/// assert_eq!((refused.dimension, refused.cap, refused.held), (TEAM, Cap::At(2), 2));
/// assert_eq!(flying.held(USER, "eve"), 0, "all or nothing");
///
/// flying.release(ann)?;
/// assert_eq!(flying.gauges().count(), 2, "ann is gone; bob and the team are not");
/// # flying.release(bob)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InFlight<K, S = DefaultHasher, O = NoObserver> {
    pairs: Pairs<K, O>,
    hasher: S,
}

#[cfg(feature = "std")]
impl<K: Hash + Eq> InFlight<K> {
    /// Nothing in flight and no caps, for at most `capacity` pairs that hold something and `overrides` caps of single
    /// pairs, with the [default hasher](DefaultHasher).
    ///
    /// # Errors
    /// As [`with_hasher`](Self::with_hasher).
    pub fn new(capacity: u32, overrides: u32) -> Result<Self, ConfigError> {
        Self::with_hasher(capacity, overrides, DefaultHasher::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher> InFlight<K, S> {
    /// Nothing in flight and no caps, for at most `capacity` pairs that hold something and `overrides` caps of single
    /// pairs. Unless the hasher is keyed anew for each table, as the default is, tickets of another may be taken for its own.
    ///
    /// # Errors
    /// Either of them 0, above 16 777 216, or more than the allocator can reserve.
    pub fn with_hasher(capacity: u32, overrides: u32, hasher: S) -> Result<Self, ConfigError> {
        Self::with_observer(capacity, overrides, hasher, NoObserver)
    }
}

impl<K: Hash + Eq, S: BuildHasher, O: KeyObserver<K>> InFlight<K, S, O> {
    /// The same, telling an observer what each key is granted, refused and gives back: 1 of the
    /// [dimension](Dimension::index), once the whole request is decided.
    ///
    /// # Errors
    /// As [`with_hasher`](InFlight::with_hasher).
    pub fn with_observer(capacity: u32, overrides: u32, hasher: S, observer: O) -> Result<Self, ConfigError> {
        Ok(Self { pairs: Pairs::new(capacity, overrides, number_of(&hasher), observer)?, hasher })
    }

    /// Takes one of each pair, or nothing. With a bypass that skips in-flight caps nothing is taken nor counted.
    /// O(pairs).
    ///
    /// # Errors
    /// The first pair that has no room, with its numbers.
    pub fn try_acquire<Q>(
        &mut self,
        pairs: &[(Dimension, &Q)],
        bypass: Bypass,
    ) -> Result<InFlightTicket, InFlightRefused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut ticket = InFlightTicket { pairs: heapless::Vec::new() };
        if bypass.skips_in_flight() {
            return Ok(ticket);
        }
        let mut taking = Taking { pairs: &mut self.pairs, taken: &mut ticket.pairs, all: false };
        for &(dimension, key) in pairs {
            let hash = hash_pair(&self.hasher, dimension, key);
            let taken = if taking.taken.is_full() {
                Err(refusal(dimension, Reason::ExceedsCapacity, Cap::Unlimited, 0, None))
            } else {
                taking.pairs.take(hash, dimension, key)
            };
            match taken {
                // It was asked whether it is full.
                Ok(id) => drop(taking.taken.push(id)),
                Err(mut refused) => {
                    let own = taking.taken.iter().filter(|&&id| taking.pairs.is(id, dimension, key)).count();
                    refused.held = refused.held.saturating_sub(num::index_u32(own));
                    return Err(refused);
                }
            }
        }
        taking.all = true;
        drop(taking);
        ticket.pairs.iter().for_each(|&id| self.pairs.granted(id));
        Ok(ticket)
    }

    /// Takes back what a request held. O(pairs).
    ///
    /// # Errors
    /// [`Stale`] if the ticket is not from here: what of it is unknown was left alone.
    pub fn release(&mut self, mut ticket: InFlightTicket) -> Result<(), Stale> {
        let mut result = Ok(());
        while let Some(id) = ticket.pairs.pop() {
            if let Err(stale) = self.pairs.release(id) {
                result = Err(stale);
            }
        }
        result
    }

    /// Sets the cap of a single pair, `None` for that of its dimension. Takes effect at once; what is held stays held.
    /// O(1).
    ///
    /// # Errors
    /// `KeyTableFull` if there are as many as there is room for.
    pub fn set_override<Q>(&mut self, dimension: Dimension, key: &Q, cap: Option<Cap>) -> Result<(), Refused>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash_pair(&self.hasher, dimension, key);
        self.pairs.set_override(hash, dimension, key, cap)
    }

    /// The cap in force for a pair.
    #[must_use]
    pub fn cap<Q>(&self, dimension: Dimension, key: &Q) -> Cap
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.pairs.cap(hash_pair(&self.hasher, dimension, key), dimension, key)
    }

    /// What a pair holds.
    #[must_use]
    pub fn held<Q>(&self, dimension: Dimension, key: &Q) -> u32
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.pairs.held(hash_pair(&self.hasher, dimension, key), dimension, key)
    }
}

impl<K, S, O> InFlight<K, S, O> {
    /// Sets the cap of all pairs of a dimension that have no override. Takes effect at once: what is held stays held,
    /// and nothing is granted to who is at or above the cap. O(1).
    pub const fn set_cap(&mut self, dimension: Dimension, cap: Cap) {
        self.pairs.set_cap(dimension, cap);
    }

    /// What refusals say about when to try again, where waiting helps. One second until it is set.
    pub const fn set_hint(&mut self, hint: Option<Duration>) {
        self.pairs.set_hint(hint);
    }

    /// All pairs that hold something, in no order.
    pub fn gauges(&self) -> impl Iterator<Item = Gauge<'_, K>> {
        self.pairs.gauges()
    }

    /// What it tells.
    #[must_use]
    pub const fn observer(&self) -> &O {
        self.pairs.observer()
    }

    /// What it tells, to read it out and begin anew.
    pub const fn observer_mut(&mut self) -> &mut O {
        self.pairs.observer_mut()
    }

    /// What it holds and what it did so far. O(1).
    #[must_use]
    pub fn snapshot(&self) -> InFlightSnapshot {
        self.pairs.snapshot()
    }

    /// Pairs that hold something.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.pairs.len()
    }

    /// Whether nothing is in flight.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pairs.len() == 0
    }
}

/// The hash of a pair: that of its key, in another place for each dimension.
#[inline]
fn hash_pair<Q: Hash + ?Sized>(hasher: &impl BuildHasher, dimension: Dimension, key: &Q) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    hash_of(hasher, key).wrapping_add(u64::from(dimension.0).wrapping_mul(GOLDEN))
}

impl<K, S, O> fmt::Debug for InFlight<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("pairs", &self.pairs.len()).finish_non_exhaustive()
    }
}
