//! [`KeyedRateLimiter`]: so much per time for each of many keys, for those who can wait for it.
mod lines;

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Waker;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate::rate::{Inherit, KeyedSnapshot, Quota, ShardedKeyed, WhenFull};
use tollgate::{ConfigError, DefaultHasher, Refused, Timestamp};

use self::lines::Lines;
use super::MAX_WAITERS;
use crate::Runtime;
use crate::drive::{self, Look};
use crate::wait::Seat;
use crate::wait::WakeList;

/// A token bucket for each of many keys, that can be waited for. Clones share it.
///
/// The buckets are a [`ShardedKeyed`]: bounded memory, and nobody is forgiven by being forgotten. Who has to wait takes a place in
/// the line of its key; the lines are behind one mutex, which nobody touches while nobody waits.
///
/// # Fairness
/// For each key first come, first served, as [`RateLimiter`](crate::RateLimiter) has it; keys do not wait for each other.
/// Except under [`WhenFull::Overflow`], for those who share the overflow state: of them everybody is due in the order in which
/// the first of each line came to be first, and may be due later than it was told.
///
/// # Cancellation
/// As [`RateLimiter`](crate::RateLimiter) has it: who waits and is dropped was never there. For those who share the
/// overflow state, what was reserved before others took theirs stays taken.
///
/// # Work
/// O(1) under the mutex of a shard while nobody waits; otherwise under that of the lines too, plus what has become due.
/// [`set_quota`](Self::set_quota) is O(keys + waiters).
///
/// ```
/// # use tollgate_async::doc::{Sleepless, block_on};
/// use tollgate_async::KeyedRateLimiter;
/// use tollgate_async::rate::{Quota, WhenFull};
///
/// # block_on(async {
/// // 10 a second for each of at most 10 000 clients at a time. `Sleepless` stands for a runtime here.
/// let quota = Quota::per_second(10).burst(1);
/// let limiter = KeyedRateLimiter::<String, Sleepless>::new(quota, 10_000, WhenFull::Refuse)?;
/// limiter.until_ready(&"ann".into()).await?;
/// limiter.until_ready(&"bob".into()).await?;
/// assert_eq!(limiter.now().as_nanos(), 0, "each has its own");
/// limiter.until_ready(&"ann".into()).await?;
/// assert_eq!(limiter.now().as_nanos(), 100_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct KeyedRateLimiter<K, R, S = DefaultHasher> {
    runtime: R,
    shared: Arc<Shared<K, S>>,
}

struct Shared<K, S> {
    table: ShardedKeyed<K, S>,
    /// How many lines there are, as of the last call that had the lock.
    in_lines: AtomicUsize,
    lines: Mutex<Lines<K>>,
}

impl<K: Hash + Eq + Clone, R: Runtime + Default> KeyedRateLimiter<K, R> {
    /// A bucket for each of about `capacity` keys, for at most 65 536 who wait.
    ///
    /// # Errors
    /// Those of [`ShardedKeyed::new`].
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::KeyedRateLimiter;
    /// use tollgate_async::rate::{Quota, WhenFull};
    ///
    /// let quota = Quota::per_second(10).burst(1);
    /// let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn new(quota: Quota, capacity: u32, when_full: WhenFull) -> Result<Self, ConfigError> {
        Ok(Self::with_runtime(R::default(), ShardedKeyed::new(quota, capacity, when_full)?, MAX_WAITERS))
    }
}

impl<K: Hash + Eq + Clone, R: Runtime, S: BuildHasher> KeyedRateLimiter<K, R, S> {
    /// These buckets, for at most `max_waiters` who wait.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::KeyedRateLimiter;
    /// use tollgate_async::rate::{Quota, ShardedKeyed, WhenFull};
    ///
    /// let table = ShardedKeyed::<u64>::new(Quota::per_second(10), 100, WhenFull::Refuse)?;
    /// let limiter = KeyedRateLimiter::with_runtime(Sleepless::default(), table, 500);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn with_runtime(runtime: R, table: ShardedKeyed<K, S>, max_waiters: usize) -> Self {
        let lines = Mutex::new(Lines::new(max_waiters));
        Self { runtime, shared: Arc::new(Shared { table, in_lines: AtomicUsize::new(0), lines }) }
    }

    /// Waits until `cost` tokens of `key`'s are granted, all of them at once.
    ///
    /// # Errors
    /// As [`acquire_by`](Self::acquire_by) without a deadline.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # block_on(async {
    /// # let quota = Quota::per_second(10).burst(5);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// limiter.acquire(&7, 5).await?;
    /// assert!(limiter.acquire(&7, 6).await.is_err(), "more than it can ever hold");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire(&self, key: &K, cost: u64) -> Result<(), Refused> {
        self.acquire_by(key, cost, Timestamp::MAX).await
    }

    /// Waits until a token of `key`'s is granted.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # block_on(async {
    /// # let quota = Quota::per_second(10).burst(5);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// limiter.until_ready(&7).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn until_ready(&self, key: &K) -> Result<(), Refused> {
        self.acquire(key, 1).await
    }

    /// Waits until `cost` tokens of `key`'s are granted, but not beyond `deadline` in the runtime's [time](Self::now): what
    /// cannot be granted by then is refused at once, and takes nothing.
    ///
    /// # Errors
    /// `RateExceeded` or `InDebt`, with the exact instant at which the request would be granted if nobody else came;
    /// `ExceedsCapacity` if that can never be; `KeyTableFull`; `QueueFull`.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # block_on(async {
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// limiter.until_ready(&7).await?;
    /// let refused = limiter.acquire_by(&7, 1, limiter.now()).await.unwrap_err();
    /// assert_eq!(refused.retry_at.unwrap().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire_by(&self, key: &K, cost: u64, deadline: Timestamp) -> Result<(), Refused> {
        let Some(mut waiting) = self.ask(key, cost, deadline)? else { return Ok(()) };
        drive::wait(&self.runtime, |waker, at_least| waiting.look(waker, at_least)).await
    }

    /// [`acquire_by`](Self::acquire_by) for a thread, which sleeps meanwhile: not for a task of a runtime, and not under a
    /// clock that stands still. `Timestamp::MAX` is no deadline.
    ///
    /// # Errors
    /// As [`acquire_by`](Self::acquire_by).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::{KeyedRateLimiter, Timestamp};
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// limiter.acquire_blocking(&7, 1, Timestamp::MAX)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_blocking(&self, key: &K, cost: u64, deadline: Timestamp) -> Result<(), Refused> {
        let Some(mut waiting) = self.ask(key, cost, deadline)? else { return Ok(()) };
        drive::block(&self.runtime, |waker, at_least| waiting.look(waker, at_least))
    }

    /// Takes `cost` tokens of `key`'s now, all of them or nothing, behind all who wait for it.
    ///
    /// # Errors
    /// As [`acquire_by`](Self::acquire_by), but for `QueueFull`.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// assert!(limiter.try_acquire(&7, 1).is_ok());
    /// assert!(limiter.try_acquire(&7, 1).is_err());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn try_acquire(&self, key: &K, cost: u64) -> Result<(), Refused> {
        let now = self.runtime.now();
        self.peek_line(now, key, cost)?;
        self.shared.table.try_acquire(now, key, cost)
    }

    /// Whether [`try_acquire`](Self::try_acquire) would grant `cost` now. Takes nothing.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// assert!(limiter.peek(&7, 1).is_ok() && limiter.peek(&7, 1).is_ok());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn peek(&self, key: &K, cost: u64) -> Result<(), Refused> {
        let now = self.runtime.now();
        self.peek_line(now, key, cost)?;
        self.shared.table.peek(now, key, cost)
    }

    /// Changes the quota of all keys; those who wait keep their order, and wait as long as it takes under the new quota.
    ///
    /// # Errors
    /// Those of [`ShardedKeyed::set_quota`]; nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Inherit, Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// limiter.set_quota(Quota::per_second(10).burst(5), Inherit::AsIs)?;
    /// assert!(limiter.try_acquire(&7, 5).is_ok());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn set_quota(&self, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        let Shared { table, .. } = &*self.shared;
        self.with(self.runtime.now(), |lines, now, wakes| {
            lines.set_quota(table, now, (quota, inherit), wakes)
        })
    }

    /// What the buckets hold and what they did so far. Who waits is not among the refused.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// limiter.try_acquire(&7, 1)?;
    /// assert_eq!(limiter.snapshot().held, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> KeyedSnapshot {
        self.shared.table.snapshot()
    }

    /// How many wait; whose time has come meanwhile is counted until somebody asks for its key.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// assert_eq!(limiter.num_waiters(), 0);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn num_waiters(&self) -> usize {
        self.with(Timestamp::ZERO, |lines, _, _| lines.len())
    }

    /// The runtime's time, in which deadlines and `retry_at` are told.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::KeyedRateLimiter;
    /// # use tollgate_async::rate::{Quota, WhenFull};
    /// # let quota = Quota::per_second(10).burst(1);
    /// # let limiter = KeyedRateLimiter::<u64, Sleepless>::new(quota, 100, WhenFull::Refuse)?;
    /// let deadline = limiter.now().saturating_add(core::time::Duration::from_secs(1));
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.runtime.now()
    }

    /// Asks: granted (`None`), or waiting.
    fn ask(&self, key: &K, cost: u64, deadline: Timestamp) -> Result<Option<Waiting<'_, K, R, S>>, Refused> {
        let now = self.runtime.now();
        let Shared { table, .. } = &*self.shared;
        // While nobody waits, whoever passes needs no line.
        if self.nobody_waits() && table.try_acquire(now, key, cost).is_ok() {
            return Ok(None);
        }
        let seat =
            self.with(now, |lines, now, wakes| lines.join(table, now, key, (cost, deadline), wakes))?;
        Ok(seat.map(|seat| Waiting { limiter: self, key: key.clone(), seat: Some(seat) }))
    }

    /// Whether `cost` would pass behind all who wait for `key`.
    fn peek_line(&self, now: Timestamp, key: &K, cost: u64) -> Result<(), Refused> {
        if self.nobody_waits() {
            return Ok(());
        }
        let Shared { table, .. } = &*self.shared;
        let behind = self.with(now, |lines, now, wakes| {
            lines.on(table, now, key, wakes, |line, bucket, _| line.peek(&bucket, now, cost))
        });
        behind.unwrap_or(Ok(()))
    }

    fn nobody_waits(&self) -> bool {
        // ORDERING: a hint only. Who waits has reserved in the table, under the lock of a shard that decides for the others
        // too; who missed that somebody came to wait while it asked, asked at the same time.
        self.shared.in_lines.load(Ordering::Relaxed) == 0
    }

    fn with<T>(&self, now: Timestamp, act: impl FnOnce(&mut Lines<K>, Timestamp, &mut WakeList) -> T) -> T {
        let mut wakes = WakeList::default();
        let mut lines = self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut lines, now, &mut wakes);
        // ORDERING: see `nobody_waits`.
        self.shared.in_lines.store(usize::from(!lines.is_empty()), Ordering::Relaxed);
        drop(lines);
        wakes.wake();
        done
    }
}

impl<K, R: Clone, S> Clone for KeyedRateLimiter<K, R, S> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<K, R, S> fmt::Debug for KeyedRateLimiter<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedRateLimiter").field("table", &self.shared.table).finish_non_exhaustive()
    }
}

/// A place in the line of a key, given back when its owner goes away.
struct Waiting<'a, K: Hash + Eq + Clone, R: Runtime, S: BuildHasher> {
    limiter: &'a KeyedRateLimiter<K, R, S>,
    key: K,
    seat: Option<Seat>,
}

impl<K: Hash + Eq + Clone, R: Runtime, S: BuildHasher> Waiting<'_, K, R, S> {
    fn look(&mut self, waker: &Waker, at_least: Timestamp) -> Look<Result<(), Refused>> {
        let Some(seat) = self.seat else { return Look::Until(None) };
        let waker = waker.clone();
        let now = self.limiter.runtime.now().max(at_least);
        let table = &self.limiter.shared.table;
        let seen = self.limiter.with(now, |lines, now, wakes| {
            lines.on(table, now, &self.key, wakes, |line, _, _| line.look(now, seat, waker))
        });
        // There is a line as long as there is a place in it.
        let Some((seen, _dropped_here)) = seen else { return Look::Until(None) };
        match seen {
            Look::Over(answer) => {
                self.seat = None;
                Look::Over(answer.map(|_taken| ()))
            }
            Look::Until(at) => Look::Until(at),
        }
    }
}

impl<K: Hash + Eq + Clone, R: Runtime, S: BuildHasher> Drop for Waiting<'_, K, R, S> {
    fn drop(&mut self) {
        if let Some(seat) = self.seat {
            let table = &self.limiter.shared.table;
            let _dropped_here = self.limiter.with(self.limiter.runtime.now(), |lines, now, wakes| {
                lines.on(table, now, &self.key, wakes, |line, mut bucket, wakes| {
                    line.leave(&mut bucket, now, seat, wakes)
                })
            });
        }
    }
}
