//! [`RateLimiter`]: so much per time, for those who can wait for it.
//!
//! A [`TokenBucket`] decides; who is refused may take a place in line instead, first in, first out. How a line works, why
//! the instants it tells are exact, and what they cost is told in its own module, in short: each waiter sets one timer to
//! the instant at which it is due, is woken there, and needs nobody else to be polled.

mod keyed;
mod line;
mod waiting;

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate::rate::{BucketState, Inherit, Policy, Quota, Reservation, TokenBucket};
use tollgate::{ConfigError, Refused, Timestamp};

pub use self::keyed::KeyedRateLimiter;
use self::line::Line;
use self::waiting::Waiting;
use crate::Runtime;
use crate::drive;
use crate::wait::Seat;
use crate::wait::WakeList;

/// As many may wait, unless it is said otherwise.
pub(crate) const MAX_WAITERS: usize = 65_536;

/// A token bucket that can be waited for. Clones share it.
///
/// # Fairness
/// First come, first served: a request takes its place when its future is first polled, and nobody is granted anything
/// while somebody waits who came before. A big request is due after what was granted ahead of it and its own accrual,
/// whoever else keeps asking; small ones wait behind it.
///
/// # Cancellation
/// Dropping a future that waits gives everything back: all others are granted at the very instants at which they would be
/// if it had never asked. One that was due, and is dropped before it was polled again, gives back what time has not given
/// back meanwhile. A future that is due and never polled again has taken its tokens, holds nobody up, and keeps nothing
/// else; nobody behind it waits for it.
///
/// # Law
/// In any interval of length T at most burst + rate·T is granted, counted from when requests were *due*: a runtime that
/// stands still lets all who became due meanwhile go at once when it goes on.
///
/// # Work
/// O(1) under a mutex for each call, plus what has become due; [`reconfigure`](Self::reconfigure) O(waiters). No lock is
/// held while anybody is woken or waits.
///
/// ```
/// # use tollgate_async::doc::{Sleepless, block_on};
/// use core::time::Duration;
/// use tollgate_async::RateLimiter;
/// use tollgate_async::rate::Quota;
///
/// # block_on(async {
/// // 10 a second, 2 at once. `Sleepless` stands for a runtime here: its sleeps are over at once.
/// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(2))?;
/// limiter.acquire(2).await?;
///
/// // There is nothing left before 100 ms have passed, and two more take 200 ms.
/// let soon = limiter.now().saturating_add(Duration::from_millis(150));
/// let refused = limiter.acquire_by(2, soon).await.unwrap_err();
/// assert_eq!(refused.retry_at.unwrap().as_nanos(), 200_000_000);
///
/// limiter.acquire(2).await?;
/// assert_eq!(limiter.now(), refused.retry_at.unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct RateLimiter<R> {
    runtime: R,
    shared: Arc<Mutex<State>>,
}

struct State {
    bucket: TokenBucket,
    line: Line<Reservation>,
}

impl<R: Runtime + Default> RateLimiter<R> {
    /// A full bucket that denies what does not fit, for at most 65 536 who wait.
    ///
    /// # Errors
    /// Those of [`TokenBucket::new`].
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(100).burst(10))?;
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn new(quota: Quota) -> Result<Self, ConfigError> {
        Self::with_runtime(R::default(), quota, Policy::default(), MAX_WAITERS)
    }
}

impl<R: Runtime> RateLimiter<R> {
    /// A full bucket that treats what does not fit in its own way, for at most `max_waiters` who wait.
    ///
    /// # Errors
    /// Those of [`TokenBucket::with_policy`].
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::rate::{Oversize, Policy, Quota};
    /// use tollgate_async::RateLimiter;
    ///
    /// // What is larger than the bucket passes when it is full, and is repaid afterwards.
    /// let policy = Policy { oversize: Oversize::WhenFull, ..Policy::default() };
    /// let limiter =
    ///     RateLimiter::with_runtime(Sleepless::default(), Quota::per_second(10), policy, 1_000)?;
    /// assert!(limiter.try_acquire(25).is_ok());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn with_runtime(
        runtime: R,
        quota: Quota,
        policy: Policy,
        max_waiters: usize,
    ) -> Result<Self, ConfigError> {
        let bucket = TokenBucket::with_policy(quota, policy)?;
        let shared = Arc::new(Mutex::new(State { bucket, line: Line::new(max_waiters) }));
        Ok(Self { runtime, shared })
    }

    /// Waits until `cost` tokens are granted, all of them at once.
    ///
    /// # Errors
    /// `ExceedsCapacity` if that can never be, also when the quota is changed while it waits; `QueueFull`; `RateExceeded`
    /// if it would be after the end of time.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// # block_on(async {
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10))?;
    /// limiter.acquire(10).await?;
    /// assert!(limiter.acquire(11).await.is_err(), "more than it can ever hold");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire(&self, cost: u64) -> Result<(), Refused> {
        self.acquire_by(cost, Timestamp::MAX).await
    }

    /// Waits until a token is granted.
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
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// # block_on(async {
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// limiter.until_ready().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn until_ready(&self) -> Result<(), Refused> {
        self.acquire(1).await
    }

    /// Waits until `cost` tokens are granted, but not beyond `deadline` in the runtime's [time](Self::now): what cannot be
    /// granted by then is refused at once, and takes nothing. A future that is polled late finds what it was granted in time.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); `RateExceeded` or `InDebt` with the exact instant at which the request would be
    /// granted if nobody else came, at once, or when the quota is changed while it waits.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// # block_on(async {
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// limiter.acquire(1).await?;
    /// let refused = limiter.acquire_by(1, limiter.now()).await.unwrap_err();
    /// assert_eq!(refused.retry_at.unwrap().as_nanos(), 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire_by(&self, cost: u64, deadline: Timestamp) -> Result<(), Refused> {
        let Some(seat) = self.join(cost, deadline)? else { return Ok(()) };
        let mut waiting = Waiting::new(self, seat);
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
    /// use tollgate_async::rate::Quota;
    /// use tollgate_async::{RateLimiter, Timestamp};
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// limiter.acquire_blocking(1, Timestamp::MAX)?;
    /// assert!(limiter.acquire_blocking(1, limiter.now()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_blocking(&self, cost: u64, deadline: Timestamp) -> Result<(), Refused> {
        let Some(seat) = self.join(cost, deadline)? else { return Ok(()) };
        let mut waiting = Waiting::new(self, seat);
        drive::block(&self.runtime, |waker, at_least| waiting.look(waker, at_least))
    }

    /// Takes `cost` tokens now, all of them or nothing, behind all who wait.
    ///
    /// # Errors
    /// With the exact instant at which the same request passes if nobody else comes.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// assert!(limiter.try_acquire(1).is_ok());
    /// assert_eq!(limiter.try_acquire(1).unwrap_err().retry_at.unwrap().as_nanos(), 100_000_000);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn try_acquire(&self, cost: u64) -> Result<(), Refused> {
        self.with(Timestamp::ZERO, |State { bucket, line }, now, _| {
            line.peek(bucket, now, cost)?;
            bucket.try_acquire(now, cost)
        })
    }

    /// Whether [`try_acquire`](Self::try_acquire) would grant `cost` now. Takes nothing.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// assert!(limiter.peek(1).is_ok() && limiter.peek(1).is_ok());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn peek(&self, cost: u64) -> Result<(), Refused> {
        self.with(Timestamp::ZERO, |State { bucket, line }, now, _| line.peek(bucket, now, cost))
    }

    /// Changes the quota; what accrued until now did so at the old rate. Those who wait keep their order, and wait as long
    /// as it takes under the new quota; who asks for more than it can ever hold, or cannot be granted by its deadline any
    /// more, is refused. O(waiters).
    ///
    /// # Errors
    /// Those of [`TokenBucket::set_quota`]; nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::{Inherit, Quota};
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// limiter.set_quota(Quota::per_second(10).burst(5), Inherit::AsIs)?;
    /// assert_eq!(limiter.state().available, 5);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn set_quota(&self, quota: Quota, inherit: Inherit) -> Result<(), ConfigError> {
        self.change(|bucket, now| bucket.set_quota(now, quota, inherit))
    }

    /// Changes quota and policy at once, as [`set_quota`](Self::set_quota) does.
    ///
    /// # Errors
    /// Those of [`TokenBucket::reconfigure`]; nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::{Inherit, Overshoot, Policy, Quota};
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(1))?;
    /// let policy = Policy { overshoot: Overshoot::Lock { max_debt: 4 }, ..Policy::default() };
    /// limiter.reconfigure(Quota::per_second(10).burst(1), policy, Inherit::AsIs)?;
    /// assert!(limiter.try_acquire(5).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconfigure(&self, quota: Quota, policy: Policy, inherit: Inherit) -> Result<(), ConfigError> {
        self.change(|bucket, now| bucket.reconfigure(now, quota, policy, inherit))
    }

    /// The bucket as it stands now; what the first in line has reserved counts as consumed.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10).burst(3))?;
    /// limiter.try_acquire(1)?;
    /// assert_eq!(limiter.state().available, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> BucketState {
        self.with(Timestamp::ZERO, |state, now, _| state.bucket.state(now))
    }

    /// How many wait now.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10))?;
    /// assert_eq!(limiter.num_waiters(), 0);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn num_waiters(&self) -> usize {
        self.with(Timestamp::ZERO, |state, _, _| state.line.len())
    }

    /// The runtime's time, in which deadlines and `retry_at` are told.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use core::time::Duration;
    /// use tollgate_async::RateLimiter;
    /// use tollgate_async::rate::Quota;
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10))?;
    /// let deadline = limiter.now().saturating_add(Duration::from_millis(50));
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.runtime.now()
    }

    /// The runtime it takes its time from.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::rate::Quota;
    /// use tollgate_async::{RateLimiter, Runtime};
    ///
    /// let limiter = RateLimiter::<Sleepless>::new(Quota::per_second(10))?;
    /// assert_eq!(limiter.runtime().now(), limiter.now());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub const fn runtime(&self) -> &R {
        &self.runtime
    }

    fn join(&self, cost: u64, deadline: Timestamp) -> Result<Option<Seat>, Refused> {
        self.with(Timestamp::ZERO, |State { bucket, line }, now, _| line.join(bucket, now, cost, deadline))
    }

    fn change(
        &self,
        change: impl FnOnce(&mut TokenBucket, Timestamp) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        self.with(Timestamp::ZERO, |State { bucket, line }, now, wakes| {
            line.retell(bucket, now, wakes, |bucket| change(bucket, now))
        })
    }

    /// Under the lock, at an instant that is not before `at_least`, with a line that is settled. Whoever became due is woken
    /// afterwards.
    fn with<T>(&self, at_least: Timestamp, act: impl FnOnce(&mut State, Timestamp, &mut WakeList) -> T) -> T {
        let now = self.runtime.now().max(at_least);
        let mut wakes = WakeList::default();
        let mut state = lock(&self.shared);
        let State { bucket, line } = &mut *state;
        line.settle(bucket, now, &mut wakes);
        let done = act(&mut state, now, &mut wakes);
        drop(state);
        wakes.wake();
        done
    }
}

impl<R: Clone> Clone for RateLimiter<R> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<R> fmt::Debug for RateLimiter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.shared);
        f.debug_struct("RateLimiter")
            .field("bucket", &state.bucket)
            .field("waiters", &state.line.len())
            .finish_non_exhaustive()
    }
}

/// A lock that a panic does not close: nothing that is done under it can leave it half done.
fn lock(shared: &Mutex<State>) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
