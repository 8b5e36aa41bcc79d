//! [`AtomicPermits`]: weighted permits in one atomic word.
//!
//! **Problem.** A concurrency limit sits in front of everything a server does, so taking a permit must cost about
//! what two atomic instructions cost; and the limit must be changeable while the server is saturated, which is
//! exactly when counters of "permits available" get it wrong (there are none to take away).
//!
//! **Design.** One 64-bit word holds the whole state, so each change is one atomic step and every operation is
//! linearizable:
//!
//! ```text
//! bit 63   bit 62    bits 31..=61   bits 0..=30
//! closed   waiters   limit          in use
//! ```
//!
//! A grant is one load and one compare-exchange, a release one subtraction. Because limit and in-use change in the
//! same word, once [`set_limit`](AtomicPermits::set_limit) has returned no grant happens until `in_use < limit`.
//!
//! *Waiters* belong to whoever keeps a queue outside (an async adapter). The flag makes newcomers refuse instead of
//! overtaking, and tells a releaser that somebody is owed:
//!
//! 1. to wait, lock the queue, call [`try_acquire_or_announce`](AtomicPermits::try_acquire_or_announce), and queue
//!    if it did not grant;
//! 2. to release, call [`Permit::release`]; if it answers `true`, lock the queue, grant from its head with
//!    [`try_acquire_for_waiter`](AtomicPermits::try_acquire_for_waiter) while that succeeds, and call
//!    [`retract`](AtomicPermits::retract) when the queue is empty.
//!
//! A grant to a waiter that is elsewhere is [forgotten](Permit::forget) here and [adopted](AtomicPermits::adopt) there.
//!
//! A release before the announcement is seen by the announcement (it grants), one after it sees the flag: no wake-up
//! is lost.
//!
//! **Invariants.** **I1** a grant of weight w happens only if `in_use + w ≤ limit` in the same atomic step; **I2**
//! `in_use` is the sum of the weights of all permits that exist (forgotten ones included); **I3** once closed, no
//! grant; **I4** while waiters are announced, only [`try_acquire_for_waiter`](AtomicPermits::try_acquire_for_waiter)
//! grants.
//!
//! **Work** O(1); a compare-exchange is repeated only when another thread changed the word, so some thread always
//! advances (lock-free). **Memory** 8 bytes. **Fairness** none among threads that race for a free permit; see above
//! for waiters.
//!
//! **Shown by** `core/tests/loom_permits.rs`: the data a permit guards lives in a loom `UnsafeCell`, and each ordering
//! below names the model that fails when it is weakened.

mod held;

use core::fmt;
use core::ops::Deref;

use crate::error::{ConfigError, Reason, Refused, Rules};
use crate::num;
use crate::sync::{AtomicU64, Ordering, atomic_const_fn};

pub use held::Permit;

const CLOSED: u64 = 1 << 63;
const WAITERS: u64 = 1 << 62;
const LIMIT_SHIFT: u32 = 31;
/// The largest limit and the largest weight: 31 bits.
const MAX: u32 = (1 << 31) - 1;

/// One state of the word. All decisions are made here, on a copy, by pure functions.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    const fn new(limit: u32) -> Self {
        Self((num::from_u32(limit)) << LIMIT_SHIFT)
    }

    const fn in_use(self) -> u32 {
        num::low_u32(self.0) & MAX
    }

    const fn limit(self) -> u32 {
        num::low_u32(self.0 >> LIMIT_SHIFT) & MAX
    }

    const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    const fn with_limit(self, limit: u32) -> Self {
        let keep = self.0 & !(num::from_u32(MAX) << LIMIT_SHIFT);
        Self(keep | (num::from_u32(limit) << LIMIT_SHIFT))
    }

    /// The word with `weight` more in use, or why not. `overtake` ignores announced waiters.
    #[inline]
    const fn take(self, weight: u32, overtake: bool) -> Result<Self, Reason> {
        // Neither sum nor addition can overflow: both summands are at most 31 bits wide once weight ≤ limit.
        if self.has(CLOSED) {
            Err(Reason::Closed)
        } else if weight > self.limit() {
            Err(Reason::ExceedsLimit)
        } else if (self.has(WAITERS) && !overtake) || self.in_use().wrapping_add(weight) > self.limit() {
            Err(Reason::NoPermits)
        } else {
            Ok(Self(self.0.wrapping_add(num::from_u32(weight))))
        }
    }
}

/// Weighted permits shared by threads without a lock; see the [module](self).
///
/// ```
/// use tollgate::permit::AtomicPermits;
///
/// static DATABASE: AtomicPermits = AtomicPermits::with_limit::<4>();
///
/// let report = DATABASE.try_acquire_many(3)?;
/// let lookup = DATABASE.try_acquire()?;
/// assert!(DATABASE.try_acquire().is_err(), "4 of 4 in use");
///
/// DATABASE.set_limit(2)?; // takes effect at once, while saturated
/// drop(report);
/// assert_eq!((DATABASE.in_use(), DATABASE.limit()), (1, 2));
/// # drop(lookup);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AtomicPermits {
    word: AtomicU64,
}

impl AtomicPermits {
    /// The largest limit, and so the largest weight: 2³¹ − 1. Budgets in bytes choose a unit that fits, or use
    /// [`Semaphore`](crate::permit::Semaphore).
    pub const MAX_LIMIT: u32 = MAX;

    atomic_const_fn! {
        /// Permits with a limit known when the program is compiled; a limit above [`MAX_LIMIT`](Self::MAX_LIMIT) does
        /// not compile. For a `static`.
        #[must_use]
        pub fn with_limit<const LIMIT: u32>() -> Self {
            const { assert!(LIMIT <= MAX, "the limit is at most 2^31 - 1 permits") };
            Self { word: AtomicU64::new(Word::new(LIMIT).0) }
        }
    }

    atomic_const_fn! {
        /// As [`new`](Self::new), where a constant is wanted and the limit is an argument; `None` for a limit that it
        /// would not take.
        #[must_use]
        pub fn checked(limit: u32) -> Option<Self> {
            if limit <= MAX { Some(Self { word: AtomicU64::new(Word::new(limit).0) }) } else { None }
        }
    }

    /// Permits with `limit` of them. A limit of 0 grants nothing until it is raised.
    ///
    /// # Errors
    /// `limit` above [`MAX_LIMIT`](Self::MAX_LIMIT).
    pub fn new(limit: u32) -> Result<Self, ConfigError> {
        check_limit(limit)?;
        Ok(Self { word: AtomicU64::new(Word::new(limit).0) })
    }

    /// Takes one permit; [`try_acquire_many`](Self::try_acquire_many) of 1.
    ///
    /// # Errors
    /// As [`try_acquire_many`](Self::try_acquire_many).
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<&Self>, Refused> {
        self.try_acquire_many(1)
    }

    /// Takes `weight` permits at once, or none. A weight of 0 is granted whenever the others fit.
    ///
    /// # Errors
    /// `Closed`; `ExceedsLimit` if `weight` is above the limit, at once, however much is free; `NoPermits` if it does
    /// not fit now or waiters are owed.
    #[inline]
    pub fn try_acquire_many(&self, weight: u32) -> Result<Permit<&Self>, Refused> {
        Self::try_acquire_owned(self, weight)
    }

    /// Takes `weight` permits through any pointer to them (`Arc`, `Rc`, `&'static`), so that the permit may outlive
    /// the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate::permit::AtomicPermits;
    ///
    /// let permits = Arc::new(AtomicPermits::new(1)?);
    /// let permit = AtomicPermits::try_acquire_owned(Arc::clone(&permits), 1)?;
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(permits.in_use(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_acquire_many`](Self::try_acquire_many).
    #[inline]
    pub fn try_acquire_owned<P: Deref<Target = Self>>(permits: P, weight: u32) -> Result<Permit<P>, Refused> {
        match permits.take(weight, false) {
            Ok(()) => Ok(Permit { permits, weight }),
            Err(reason) => Err(Refused::because(reason)),
        }
    }

    /// Takes `weight` permits or, in the same atomic step, announces that somebody waits: from then on every
    /// [`Permit::release`] answers `true` and newcomers are refused, until [`retract`](Self::retract).
    /// `Ok(None)` is "announced".
    ///
    /// # Errors
    /// `Closed`, `ExceedsLimit`: nothing was announced, for nothing is worth waiting for.
    pub fn try_acquire_or_announce<P: Deref<Target = Self>>(
        permits: P,
        weight: u32,
    ) -> Result<Option<Permit<P>>, Refused> {
        let mut seen = permits.word.load(Ordering::Relaxed);
        loop {
            let (next, granted) = match Word(seen).take(weight, false) {
                Ok(next) => (next.0, true),
                Err(Reason::NoPermits) => (seen | WAITERS, false),
                Err(reason) => return Err(Refused::because(reason)),
            };
            // ORDERING: as in `take`.
            match permits.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if granted => return Ok(Some(Permit { permits, weight })),
                Ok(_) => return Ok(None),
                Err(now) => seen = now,
            }
        }
    }

    /// Takes `weight` permits for a waiter at the head of the caller's queue, past the announcement.
    ///
    /// # Errors
    /// `Closed`, `ExceedsLimit` (the limit was lowered meanwhile: tell the waiter), `NoPermits` (not yet).
    pub fn try_acquire_for_waiter<P: Deref<Target = Self>>(
        permits: P,
        weight: u32,
    ) -> Result<Permit<P>, Refused> {
        match permits.take(weight, true) {
            Ok(()) => Ok(Permit { permits, weight }),
            Err(reason) => Err(Refused::because(reason)),
        }
    }

    /// Takes charge of `weight` permits that were [forgotten](Permit::forget), so that a grant can travel to its waiter
    /// as a number, through a queue that cannot hold the permit itself.
    ///
    /// I2 rests on the caller: what is forgotten is adopted once at most, and what was never forgotten not at all.
    ///
    /// ```
    /// use tollgate::permit::AtomicPermits;
    ///
    /// let permits = AtomicPermits::new(4)?;
    /// permits.try_acquire_many(3)?.forget(); // … and the queue notes that its head was granted 3
    /// let permit = AtomicPermits::adopt(&permits, 3);
    /// assert_eq!((permit.num_permits(), permits.in_use()), (3, 3));
    /// drop(permit);
    /// assert_eq!(permits.in_use(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn adopt<P: Deref<Target = Self>>(permits: P, weight: u32) -> Permit<P> {
        Permit { permits, weight }
    }

    /// Announces that somebody waits, whatever is free: for a queue that keeps those who wait for the limit to be
    /// raised. Call it with the queue locked.
    pub fn announce(&self) {
        // ORDERING: as in `retract`.
        self.word.fetch_or(WAITERS, Ordering::Relaxed);
    }

    /// Nobody waits any more. Call it with the queue locked and empty.
    pub fn retract(&self) {
        // ORDERING: the flag guards no data; the queue's own lock orders the queue.
        self.word.fetch_and(!WAITERS, Ordering::Relaxed);
    }

    /// Sets the limit and returns the one before. Takes effect at once: after this returns, nothing is granted until
    /// `in_use` has come below the new limit. What was granted stays granted. After raising it, grant to waiters.
    ///
    /// # Errors
    /// `limit` above [`MAX_LIMIT`](Self::MAX_LIMIT); nothing is changed.
    pub fn set_limit(&self, limit: u32) -> Result<u32, ConfigError> {
        check_limit(limit)?;
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let next = Word(seen).with_limit(limit).0;
            // ORDERING: the limit guards no data. That no later grant exceeds it follows from there being one word.
            match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(Word(seen).limit()),
                Err(now) => seen = now,
            }
        }
    }

    /// Closes for good: nothing is granted any more, whatever else is called. Permits that exist may still come back.
    /// Returns whether waiters are announced, who then have to be told.
    pub fn close(&self) -> bool {
        // ORDERING: the flag guards no data.
        Word(self.word.fetch_or(CLOSED, Ordering::Relaxed)).has(WAITERS)
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.read().has(CLOSED)
    }

    /// Whether waiters are announced. Only a hint, unless the queue is locked.
    #[inline]
    #[must_use]
    pub fn has_waiters(&self) -> bool {
        self.read().has(WAITERS)
    }

    /// The limit in force.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.read().limit()
    }

    /// Permits held now. Above the limit for a while after the limit was lowered.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.read().in_use()
    }

    /// Permits a newcomer could take now: 0 while closed or while waiters are owed.
    #[must_use]
    pub fn available(&self) -> u32 {
        let word = self.read();
        if word.has(CLOSED | WAITERS) { 0 } else { word.limit().saturating_sub(word.in_use()) }
    }

    #[inline]
    fn take(&self, weight: u32, overtake: bool) -> Result<(), Reason> {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let next = Word(seen).take(weight, overtake)?.0;
            // ORDERING: Acquire pairs with the Release of `give_back`: whoever gets a permit sees all that its earlier
            // holders did. Every change of the word is a read-modify-write, so the release sequence is never broken.
            // Model `a_permit_hands_its_data_over`.
            match self.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Returns whether waiters are announced.
    #[inline]
    fn give_back(&self, weight: u32) -> bool {
        // ORDERING: Release pairs with the Acquire of `take`. Model `a_permit_hands_its_data_over`.
        // No underflow: only a `Permit` gives back, once, what it took (I2).
        Word(self.word.fetch_sub(num::from_u32(weight), Ordering::Release)).has(WAITERS)
    }

    fn read(&self) -> Word {
        Word(self.word.load(Ordering::Relaxed))
    }
}

fn check_limit(limit: u32) -> Result<(), ConfigError> {
    let mut rules = Rules::new();
    rules.require(limit <= MAX, "limit", limit, "0 to 2147483647 permits");
    rules.verdict()
}

impl fmt::Debug for AtomicPermits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.read();
        f.debug_struct("AtomicPermits")
            .field("limit", &word.limit())
            .field("in_use", &word.in_use())
            .field("waiters", &word.has(WAITERS))
            .field("closed", &word.has(CLOSED))
            .finish()
    }
}

#[cfg(test)]
#[cfg(not(tollgate_loom))]
mod tests;
