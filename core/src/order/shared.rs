//! [`SharedAdmission`]: the same door for threads.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Rejection, Request, admit};
use crate::DefaultHasher;
use crate::error::{ConfigError, Rules};
use crate::index::hash_of;
use crate::num;
use crate::observe::{KeyObserver, NoObserver};
use crate::permit::{SharedInFlight, Slot};
use crate::rate::rules::{Dimension, RuleSet};
use crate::rate::{Blame, Denied, Limits, LimitsSettings, Session};
use crate::time::Timestamp;

/// More than threads that meet.
const SHARDS: u32 = 32;
const MOST_SHARDS: u32 = 1 << 16;

#[repr(align(64))] // one cache line at least, so that locking one shard does not slow another
struct Shard<K, S, O>(Mutex<Limits<K, S, O>>);

impl<K, S, O> Shard<K, S, O> {
    fn lock(&self) -> MutexGuard<'_, Limits<K, S, O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Inner<K, S, O> {
    /// There is always one.
    first: Shard<K, S, O>,
    others: Box<[Shard<K, S, O>]>,
    mask: u32,
    hasher: S,
    in_flight: SharedInFlight<K, S, O>,
}

/// Limits and caps behind one door, shared by threads; see the [module](super). Clones are the same door.
///
/// Owners are spread by their hash over a power of two of shards, each with [`Limits`] of its own behind a mutex. A request
/// holds its owner's shard while it is decided, the slots included, so admissions are linearizable, as are ends; locks are
/// taken in one order, so there is no deadlock. Capacities are divided among the shards, and each has a copy of the rules.
///
/// ```
/// # use core::time::Duration;
/// # use tollgate::Timestamp;
/// # use tollgate::order::{Request, SharedAdmission};
/// # use tollgate::permit::{self, Cap, SharedInFlight};
/// # use tollgate::rate::LimitsSettings;
/// # use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
/// # let mut dimensions = Dimensions::new();
/// # let requests = dimensions.add("request_count", "requests")?;
/// # let group = GroupId(0);
/// # let rule = Rule::new(RuleId(1), Target::Default, group, requests, 60, Duration::from_secs(60));
/// # let rules = RuleSet::new(dimensions, vec![rule])?;
/// const USER: permit::Dimension = permit::Dimension::new(0).unwrap();
/// let in_flight = SharedInFlight::<String>::new(1_000, 10)?;
/// in_flight.set_cap(USER, Cap::At(1));
/// let door = SharedAdmission::new(LimitsSettings::for_rules(100, &rules), rules, in_flight)?;
///
/// let now = Timestamp::ZERO;
/// let (costs, slots) = ([(requests, 1)], [(USER, "ann")]);
/// let request = Request::of("ann", group).costs(&costs).slots(&slots);
/// let pass = door.try_admit(now, &request)?;
/// assert!(door.try_admit(now, &request).is_err());
/// // It goes where the body goes.
/// std::thread::spawn(move || pass.complete(now)).join().unwrap();
/// assert!(door.try_admit(now, &request).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedAdmission<K, S = DefaultHasher, O = NoObserver> {
    inner: Arc<Inner<K, S, O>>,
}

impl<K: Eq + Hash + Clone> SharedAdmission<K> {
    /// No account yet, in 32 shards or fewer if there is room for few accounts, with the [default hasher](DefaultHasher).
    ///
    /// # Errors
    /// As [`with_observers`](Self::with_observers).
    pub fn new(
        settings: LimitsSettings,
        rules: RuleSet<K>,
        in_flight: SharedInFlight<K>,
    ) -> Result<Self, ConfigError> {
        let shards = SHARDS.min((settings.accounts / 64).max(1).next_power_of_two());
        Self::with_observers(settings, rules, in_flight, shards, DefaultHasher::new(), |_| NoObserver)
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher + Clone, O: KeyObserver<K>> SharedAdmission<K, S, O> {
    /// The same in so many shards, with a hasher of your own, each shard telling an observer of its own while it is locked.
    ///
    /// # Errors
    /// What [`Limits`] say of each shard's part of the sizes; `shards` that are no power of two up to 65 536 or more than the
    /// accounts.
    pub fn with_observers(
        settings: LimitsSettings,
        rules: RuleSet<K, S>,
        in_flight: SharedInFlight<K, S, O>,
        shards: u32,
        hasher: S,
        mut observer: impl FnMut(u32) -> O,
    ) -> Result<Self, ConfigError> {
        let mut broken = Rules::new();
        broken.require(
            shards.is_power_of_two() && shards <= MOST_SHARDS.min(settings.accounts.max(1)),
            "shards",
            shards,
            "a power of two, at most 65536 and at most the accounts",
        );
        broken.verdict()?;
        let part = |whole: u32| whole.div_ceil(shards.max(1));
        let settings = LimitsSettings {
            accounts: part(settings.accounts),
            sheets: part(settings.sheets),
            meters: part(settings.meters),
            ..settings
        };
        let mut limits = |number| {
            Limits::with_observer(settings, rules.clone(), hasher.clone(), observer(number))
                .map(|limits| Shard(Mutex::new(limits)))
        };
        let first = limits(0)?;
        let others: Result<Vec<_>, _> = (1..shards).map(limits).collect();
        let (others, mask) = (others?.into_boxed_slice(), shards.wrapping_sub(1));
        Ok(Self { inner: Arc::new(Inner { first, others, mask, hasher, in_flight }) })
    }

    /// Puts another set of rules in place of the present one, for everybody at once: no request is decided while it is done.
    /// What is consumed stays consumed. O(shards · rules).
    pub fn replace_rules(&self, now: Timestamp, rules: &RuleSet<K, S>) {
        let mut locked: Vec<_> = self.inner.shards().map(Shard::lock).collect();
        for limits in &mut locked {
            drop(limits.replace_rules(now, rules.clone()));
        }
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> SharedAdmission<K, S, O> {
    /// Takes all that a request costs and needs, or nothing. O(windows + pairs).
    ///
    /// # Errors
    /// The first limit that refuses.
    pub fn try_admit<Q>(&self, now: Timestamp, request: &Request<'_, Q>) -> Result<Pass<K, S, O>, Rejection>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let (number, mut limits) = self.inner.of(request.owner);
        let acquire = || self.inner.in_flight.try_acquire(request.slots, request.bypass);
        let (session, slot) = admit(&mut limits, now, request, acquire)?;
        Ok(Pass { inner: Arc::clone(&self.inner), shard: number, session, slot: Some(slot) })
    }

    /// What the limits of an owner's shard say, the shard locked meanwhile: reports, prechecks, resets. `look` must not use the
    /// door, nor drop a pass of it.
    pub fn with_owner<Q, T>(&self, owner: &Q, look: impl FnOnce(&mut Limits<K, S, O>) -> T) -> T
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        look(&mut self.inner.of(owner).1)
    }

    /// Hands out the limits of each shard in turn, locked meanwhile: for snapshots, owners and observers. `look` must not use
    /// the door, nor drop a pass of it.
    pub fn each_shard(&self, mut look: impl FnMut(&mut Limits<K, S, O>)) {
        self.inner.shards().for_each(|shard| look(&mut shard.lock()));
    }

    /// A rejection as one line a person can read; see [`Limits::explain`]. It allocates.
    #[must_use]
    pub fn explain(&self, rejection: &Rejection) -> String {
        match rejection {
            Rejection::Limit(denied) => self.inner.shard(0).explain(denied).to_string(),
            other => other.to_string(),
        }
    }

    /// The caps on what is in flight.
    #[must_use]
    pub fn in_flight(&self) -> &SharedInFlight<K, S, O> {
        &self.inner.in_flight
    }
}

impl<K, S, O> Inner<K, S, O> {
    fn shards(&self) -> impl Iterator<Item = &Shard<K, S, O>> {
        core::iter::once(&self.first).chain(&self.others)
    }

    fn shard(&self, number: u32) -> MutexGuard<'_, Limits<K, S, O>> {
        let other = number.checked_sub(1).and_then(|place| self.others.get(num::index(place)));
        other.unwrap_or(&self.first).lock()
    }

    /// The shard of an owner, and its number, by bits that the index does not use.
    fn of<Q: Hash + ?Sized>(&self, owner: &Q) -> (u32, MutexGuard<'_, Limits<K, S, O>>)
    where
        S: BuildHasher,
    {
        let number = num::low_u32(hash_of(&self.hasher, owner) >> 32) & self.mask;
        (number, self.shard(number))
    }
}

/// What one request took and holds of a [`SharedAdmission`].
///
/// Dropped before its end, it is rolled back as if its client had left, at the latest instant its shard has seen: the slots
/// come back, and of what was taken what the dimension refunds [after a client's error](crate::rate::rules::Refund).
#[must_use = "dropped, it is rolled back"]
pub struct Pass<K: Eq + Hash + Clone, S: BuildHasher = DefaultHasher, O: KeyObserver<K> = NoObserver> {
    inner: Arc<Inner<K, S, O>>,
    shard: u32,
    session: Option<Session>,
    slot: Option<Slot<K, S, O>>,
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Pass<K, S, O> {
    /// Takes more of a dimension, from all of its windows or none: a cost that has become known. O(windows).
    ///
    /// # Errors
    /// As [`Limits::evaluate`]. The pass is as it was.
    pub fn evaluate(&mut self, now: Timestamp, dimension: Dimension, amount: u64) -> Result<(), Denied> {
        let Some(session) = &mut self.session else { return Ok(()) };
        self.inner.shard(self.shard).evaluate(now, session, dimension, amount)
    }

    /// Says what it really used of a dimension; see [`Limits::settle`].
    pub fn settle(&mut self, now: Timestamp, dimension: Dimension, actual: u64) {
        if let Some(session) = &mut self.session {
            self.inner.shard(self.shard).settle(now, session, dimension, actual);
        }
    }

    /// Ends a request that succeeded: what it took stays consumed, what it holds comes back. O(pairs).
    pub fn complete(mut self, now: Timestamp) {
        self.commit(now);
    }

    /// Ends its session as one that succeeded, and keeps its slots: they come back when what is returned is dropped, with the
    /// last byte of the body.
    pub fn commit(&mut self, now: Timestamp) -> Option<Slot<K, S, O>> {
        if let Some(session) = self.session.take() {
            self.inner.shard(self.shard).commit(now, session);
        }
        self.slot.take()
    }

    /// Ends a request that did not succeed: what it holds comes back, and what it took, as [`Limits::roll_back`] says, both at
    /// once for everybody. O(records + pairs).
    pub fn roll_back(mut self, now: Timestamp, blame: Blame) {
        self.end(now, blame);
    }

    fn end(&mut self, now: Timestamp, blame: Blame) {
        let Some(session) = self.session.take() else { return };
        let mut limits = self.inner.shard(self.shard);
        limits.roll_back(now, session, blame);
        drop(self.slot.take());
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> Drop for Pass<K, S, O> {
    fn drop(&mut self) {
        // Before the latest instant is at the latest instant.
        self.end(Timestamp::ZERO, Blame::Client);
    }
}

impl<K, S, O> Clone for SharedAdmission<K, S, O> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<K, S, O> fmt::Debug for SharedAdmission<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedAdmission").field("in_flight", &self.inner.in_flight).finish_non_exhaustive()
    }
}

impl<K: Eq + Hash + Clone, S: BuildHasher, O: KeyObserver<K>> fmt::Debug for Pass<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("session", &self.session).finish_non_exhaustive()
    }
}
