//! [`Semaphore`]: tokio's interface, name for name, over permits whose limit can be changed at any moment.
//!
//! **Problem.** A count of *available* permits cannot be lowered while there are none, which is when it matters; it cannot
//! tell a request that is too big from one that is early; and it says neither how many there are in all nor who waits.
//!
//! **Design.** [`AtomicPermits`] holds limit, in use, *closed* and *somebody waits* in one word. While nobody waits, taking
//! is one compare-exchange and giving back one subtraction, and no lock is touched. Those who have to wait stand in a
//! line under a short lock, and whoever gives permits back grants to the front of that line before it lets go of the lock;
//! wakers are called afterwards. So a newcomer never overtakes, and a task that is woken has what it waited for.
//!
//! # Coming from tokio
//!
//! Change the import; what is different is this:
//!
//! | | `tokio::sync::Semaphore` | here |
//! | --- | --- | --- |
//! | asking for more than the limit | waits for ever, and blocks those behind | `ExceedsLimit` at once; see [`growing`](Semaphore::growing) |
//! | [`TryAcquireError`] | two variants | three: a `match` needs an arm for `ExceedsLimit` |
//! | [`MAX_PERMITS`](Semaphore::MAX_PERMITS) | 2⁶¹ − 1 | 2³¹ − 1 |
//! | more than that in one request | panics | `ExceedsLimit` |
//! | granted, then closed, then polled | refused | granted: what was granted stays granted |
//! | many free permits taken in one poll | yields after 128 | never yields: a free permit is `Ready` |
//! | a request whose future waits in front | hoards what is free | takes nothing until all of it is free |
//! | `forget_permits` on a closed semaphore | takes them out of the count | answers 0: no permit is granted any more |
//! | `blocking_*` inside a runtime | panics | blocks the thread; it knows no runtime |
//! | a waker that panics | panics in whoever released | reported by the panic hook, hurts nobody else |
//!
//! A limit of 0 is a pause: requests wait until it is raised. So a semaphore that begins with 0 permits and is fed with
//! [`add_permits`](Semaphore::add_permits) works as it does there, for requests of one permit.
//!
//! # Invariants
//!
//! **I1** permits are granted only if all of them fit below the limit, in one atomic step; **I2** `in_use` is what is held,
//! granted and not yet picked up, or forgotten; **I3** once closed, nothing is granted; **I4** grants to those who wait are
//! in the order in which they first were polled, and while one waits nobody else is granted; **I5** whenever no call is
//! under way, the first in line does not fit, or the limit is 0.

mod acquire;
mod blocking;
mod error;
mod limit;
mod permit;
mod queue;

use core::fmt;
use std::sync::Arc;

use tollgate::permit::{AtomicPermits, Permit};
use tollgate::{Reason, Refused};

use crate::sync::{Mutex, const_unless_loom};
use crate::wait::Turns;
use queue::Queue;

pub use acquire::{Acquire, AcquireOwned};
pub use error::{AcquireError, TryAcquireError};
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

/// Weighted permits that tasks and threads wait for; see the [module](self) for how, and for what differs from tokio's.
///
/// # Fairness
/// First in, first out: a request is granted after exactly those that waited before it. Nobody overtakes, so a big request
/// is not starved by small ones; small ones behind it wait.
///
/// # Cancellation
/// A future that is dropped leaves the line, and if it stood in front the next that fit are granted at once. One that was
/// granted and is dropped unpolled gives its permits back to the next. One that was granted and is *kept* unpolled (the
/// loser of a `select!` that stays alive) holds its permits: drop it, or put a deadline around it.
///
/// # Work
/// While nobody waits, acquire and release are one atomic step each. Otherwise O(1) for each caller under a short lock, and
/// O(1) more for each waiter that it grants to. Nothing is allocated but for more waiters at once than ever before.
///
/// ```
/// use tollgate_async::Semaphore;
///
/// # futures_lite::future::block_on(async {
/// let connections = Semaphore::new(4);
///
/// let one = connections.acquire().await?;
/// let two = connections.acquire_many(2).await?;
/// assert_eq!((connections.in_use(), connections.available_permits()), (3, 1));
///
/// connections.set_limit(2).expect("at most MAX_PERMITS"); // at once, while 3 are held
/// drop(two);
/// assert!(connections.try_acquire().is_ok());
/// assert_eq!(connections.limit(), 2);
/// # drop(one);
/// # Ok::<(), tollgate_async::AcquireError>(())
/// # }).unwrap();
/// ```
pub struct Semaphore {
    permits: AtomicPermits,
    queue: Mutex<Queue>,
    turns: Turns,
    /// Whether requests above the limit wait for it to grow.
    grows: bool,
}

impl Semaphore {
    /// The largest limit: 2³¹ − 1. Budgets in bytes choose a unit that fits.
    pub const MAX_PERMITS: usize = (1 << 31) - 1;

    /// A semaphore of `permits` permits.
    ///
    /// # Panics
    /// More than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[must_use]
    pub fn new(permits: usize) -> Self {
        Self::made_of(checked(permits), false)
    }

    /// A semaphore whose limit only [`add_permits`](Self::add_permits) makes: a request above the limit waits for it to
    /// grow, as with tokio's, instead of being refused. For permits that are produced and used up.
    ///
    /// ```
    /// use tollgate_async::Semaphore;
    ///
    /// # futures_lite::future::block_on(async {
    /// let done = Semaphore::growing(0);
    /// let both = done.acquire_many(2);
    /// done.add_permits(1);
    /// done.add_permits(1);
    /// both.await?.forget();
    /// # Ok::<(), tollgate_async::AcquireError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[must_use]
    pub fn growing(permits: usize) -> Self {
        Self::made_of(checked(permits), true)
    }

    const_unless_loom! {
        /// As [`new`](Self::new), in a constant.
        ///
        /// ```
        /// use tollgate_async::Semaphore;
        ///
        /// static WRITERS: Semaphore = Semaphore::const_new(1);
        /// assert!(WRITERS.try_acquire().is_ok());
        /// ```
        ///
        /// # Panics
        /// As [`new`](Self::new); in a constant it does not compile.
        #[must_use]
        pub fn const_new(permits: usize) -> Self {
            Self::made_of(checked(permits), false)
        }
    }

    const_unless_loom! {
        fn made_of(permits: AtomicPermits, grows: bool) -> Self {
            Self { permits, queue: Mutex::new(Queue::new()), turns: Turns::new(), grows }
        }
    }

    /// Waits for one permit; [`acquire_many`](Self::acquire_many) of 1.
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    #[inline]
    pub const fn acquire(&self) -> Acquire<'_> {
        Acquire::new(self, 1)
    }

    /// Waits for `n` permits, all at once. It takes its place in line when it is first polled. 0 is granted at once.
    ///
    /// # Errors
    /// `Closed`; `ExceedsLimit` for more than the limit, at once, or when the limit was lowered meanwhile and it has come to
    /// the front.
    ///
    /// # Cancellation
    /// Dropping the future gives back whatever it was granted, and loses its place.
    #[inline]
    pub const fn acquire_many(&self, n: u32) -> Acquire<'_> {
        Acquire::new(self, n)
    }

    /// As [`acquire`](Self::acquire), with a permit that keeps the semaphore alive.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tollgate_async::Semaphore;
    ///
    /// # futures_lite::future::block_on(async {
    /// let jobs = Arc::new(Semaphore::new(2));
    /// let permit = Arc::clone(&jobs).acquire_owned().await?;
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(jobs.available_permits(), 2);
    /// # Ok::<(), tollgate_async::AcquireError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    #[inline]
    pub const fn acquire_owned(self: Arc<Self>) -> AcquireOwned {
        AcquireOwned::new(self, 1)
    }

    /// As [`acquire_many`](Self::acquire_many), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    #[inline]
    pub const fn acquire_many_owned(self: Arc<Self>, n: u32) -> AcquireOwned {
        AcquireOwned::new(self, n)
    }

    /// Takes one permit if it is free; [`try_acquire_many`](Self::try_acquire_many) of 1.
    ///
    /// # Errors
    /// As [`try_acquire_many`](Self::try_acquire_many).
    #[inline]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits at once, or none.
    ///
    /// # Errors
    /// `Closed`; `ExceedsLimit` for more than the limit; `NoPermits` if so many are not free, or others wait.
    #[inline]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.take(n).map(|()| SemaphorePermit::of(self, n))
    }

    /// As [`try_acquire`](Self::try_acquire), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`try_acquire_many`](Self::try_acquire_many).
    #[inline]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// As [`try_acquire_many`](Self::try_acquire_many), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`try_acquire_many`](Self::try_acquire_many).
    #[inline]
    pub fn try_acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.take(n)?;
        Ok(OwnedSemaphorePermit::of(self, n))
    }

    /// Closes for good: all who wait are refused, and nothing is granted any more, whatever else is called. Permits that are
    /// held may still be given back. O(waiters).
    pub fn close(&self) {
        let queue = self.queue.lock();
        self.permits.close();
        self.serve(queue);
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    /// How many wait in line now. Takes the lock.
    #[must_use]
    pub fn num_waiters(&self) -> usize {
        self.queue.lock().line.len()
    }

    /// Takes `n` if they are free, for somebody who adopts them.
    #[inline]
    fn take(&self, n: u32) -> Result<(), TryAcquireError> {
        self.permits.try_acquire_many(n).map_or_else(
            |refused| self.explain(refused, n),
            |permit| {
                permit.forget();
                Ok(())
            },
        )
    }

    /// As [`take`](Self::take), for those who ask again under the lock.
    #[inline]
    fn takes(&self, n: u32) -> bool {
        self.permits.try_acquire_many(n).map(Permit::forget).is_ok()
    }

    /// What a refusal by the permits means here. `Ok` for none at all, which are there even if others wait.
    #[cold]
    fn explain(&self, refused: Refused, n: u32) -> Result<(), TryAcquireError> {
        match refused.reason {
            Reason::Closed => Err(TryAcquireError::Closed),
            _ if n == 0 => Ok(()),
            Reason::ExceedsLimit if !self.may_wait(n) => Err(TryAcquireError::ExceedsLimit),
            _ => Err(TryAcquireError::NoPermits),
        }
    }

    /// Whether a request of `n` is one that waiting may help.
    fn may_wait(&self, n: u32) -> bool {
        let limit = self.permits.limit();
        n <= limit || (n <= AtomicPermits::MAX_LIMIT && (limit == 0 || self.grows))
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("limit", &self.limit())
            .field("in_use", &self.in_use())
            .field("waiters", &self.num_waiters())
            .field("closed", &self.is_closed())
            .finish()
    }
}

const_unless_loom! {
    fn checked(permits: usize) -> AtomicPermits {
        assert!(permits <= Semaphore::MAX_PERMITS, "a semaphore has at most MAX_PERMITS permits");
        // Little end first, the upper half of a word that was checked is 0.
        let [a, b, c, d, ..] = permits.to_le_bytes();
        match AtomicPermits::checked(u32::from_le_bytes([a, b, c, d])) {
            Some(permits) => permits,
            None => panic!("MAX_PERMITS is the largest limit"),
        }
    }
}

fn count(permits: u32) -> usize {
    usize::try_from(permits).unwrap_or(usize::MAX)
}

fn narrow(permits: usize) -> u32 {
    u32::try_from(permits).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[cfg(not(tollgate_loom))]
mod tests;
