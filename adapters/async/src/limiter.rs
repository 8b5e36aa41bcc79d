//! [`Limiter`]: as many at once as is right, for those who can wait for it.
//!
//! The core's [adaptive limiter](tollgate::adapt::Limiter) decides; who does not fit may take a place in the line of its class
//! instead. How the lines work is told in their own module.
mod lines;
mod permit;
mod waiting;

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate::adapt::{
    self, Estimator, LimiterSettings, LimiterStats, Outcome, PartitionId, Refusal, Share, Ticket,
};
use tollgate::{ConfigError, Timestamp};

use self::lines::Lines;
pub use self::permit::LimiterPermit;
use self::waiting::Waiting;
use crate::Runtime;
use crate::drive;
use crate::wait::WakeList;

/// As many may wait, unless it is said otherwise.
const MAX_WAITERS: usize = 1_024;

/// An adaptive concurrency limit that can be waited for. Clones share it.
///
/// A *class* is a partition of the limit, [`PartitionId`], with a guaranteed share; `None`, and a class that there is not, is
/// traffic that has none.
///
/// # Fairness
/// Within a class first come, first served: a request takes its place when its future is first polled. Across classes the
/// oldest is next; while it does not fit, younger ones of other classes pass it only within their own guaranteed share.
///
/// # Cancellation
/// Dropping a future that waits frees its place; whoever fits then is granted at once. One that was granted and is
/// dropped before it was polled again gives the permit back. One that was granted and is *never polled again* keeps its permit:
/// until its deadline, where it has one ([`acquire_by`](Self::acquire_by)); the permit goes back at the first call after
/// that, or by the timer of whoever waits the longest. So what may be forgotten wants a deadline.
///
/// # Work
/// O(classes) under a mutex for each call and each grant that it makes, plus that of the estimator; O(classes²) where the limit
/// changes. No lock is held while anybody is woken or waits.
///
/// ```
/// # use tollgate_async::doc::{Sleepless, block_on};
/// use tollgate_async::Limiter;
/// use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
///
/// # block_on(async {
/// let aimd = Aimd::new(AimdSettings { initial: 2, ..AimdSettings::default() })?;
/// let settings = LimiterSettings { warmup: std::time::Duration::ZERO, ..LimiterSettings::default() };
/// // `Sleepless` stands for a runtime here.
/// let limiter = Limiter::<_, Sleepless>::new(aimd, settings)?;
/// let first = limiter.acquire(None).await?;
/// let second = limiter.acquire(None).await?;
/// assert!(limiter.try_acquire(None).is_err());
/// first.success();
/// second.dropped();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Limiter<E, R> {
    runtime: R,
    shared: Arc<Mutex<Lines<E>>>,
}

impl<E: Estimator, R: Runtime + Default> Limiter<E, R> {
    /// A limiter without classes, for at most 1 024 who wait. Its warm-up begins now.
    ///
    /// # Errors
    /// Those of [`tollgate::adapt::Limiter::new`].
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::Limiter;
    /// use tollgate_async::adapt::{Knee, KneeSettings, LimiterSettings};
    ///
    /// let knee = Knee::new(KneeSettings::default())?;
    /// let limiter = Limiter::<_, Sleepless>::new(knee, LimiterSettings::default())?;
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn new(estimator: E, settings: LimiterSettings) -> Result<Self, ConfigError> {
        Self::with_runtime(R::default(), estimator, settings, &[], 0, MAX_WAITERS)
    }
}

impl<E: Estimator, R: Runtime> Limiter<E, R> {
    /// A limiter with these classes, room for `max_classes`, and for `max_waiters` who wait.
    ///
    /// # Errors
    /// Those of [`tollgate::adapt::Limiter::new`].
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use core::time::Duration;
    /// use tollgate_async::Limiter;
    /// use tollgate_async::adapt::{Knee, KneeSettings, LimiterSettings, PartitionId, Share};
    ///
    /// let knee = Knee::new(KneeSettings::default())?;
    /// let live = Share { partition: PartitionId(1), share_ppm: 700_000, pause: Duration::ZERO };
    /// let runtime = Sleepless::default();
    /// let limiter = Limiter::with_runtime(runtime, knee, LimiterSettings::default(), &[live], 4, 100)?;
    /// assert!(limiter.try_acquire(Some(PartitionId(1))).is_ok());
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn with_runtime(
        runtime: R,
        estimator: E,
        settings: LimiterSettings,
        shares: &[Share],
        max_classes: u32,
        max_waiters: usize,
    ) -> Result<Self, ConfigError> {
        let limiter = adapt::Limiter::new(runtime.now(), estimator, settings, shares, max_classes)?;
        Ok(Self { runtime, shared: Arc::new(Mutex::new(Lines::new(limiter, max_waiters))) })
    }

    /// Waits until a request of this class is let in.
    ///
    /// # Errors
    /// `QueueFull`; `ExceedsLimit` if the limit is 0.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # block_on(async {
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let permit = limiter.acquire(None).await?;
    /// // … do the work …
    /// permit.success();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire(&self, class: Option<PartitionId>) -> Result<LimiterPermit<E, R>, Refusal> {
        self.acquire_many(class, 1, Timestamp::MAX).await
    }

    /// Waits until a request of this class is let in, at most until `deadline` in the runtime's [time](Self::now).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); `DeadlineExceeded`, also if it was let in by then and not polled: the permit went back.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::{Limiter, Reason};
    /// # use core::time::Duration;
    /// # block_on(async {
    /// # let aimd = Aimd::new(AimdSettings { initial: 1, ..AimdSettings::default() })?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let held = limiter.acquire(None).await?; // one at a time, for now
    /// let soon = limiter.now().saturating_add(Duration::from_millis(20));
    /// let refusal = limiter.acquire_by(None, soon).await.unwrap_err();
    /// assert_eq!(refusal.reason, Reason::DeadlineExceeded);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire_by(
        &self,
        class: Option<PartitionId>,
        deadline: Timestamp,
    ) -> Result<LimiterPermit<E, R>, Refusal> {
        self.acquire_many(class, 1, deadline).await
    }

    /// Waits until a request that weighs `weight` permits is let in; `Timestamp::MAX` is no deadline.
    ///
    /// # Errors
    /// As [`acquire_by`](Self::acquire_by); `ExceedsLimit` if it weighs more than the limit, now or when it would be its turn.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::{Limiter, Timestamp};
    /// # block_on(async {
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let permit = limiter.acquire_many(None, 3, Timestamp::MAX).await?;
    /// assert_eq!(limiter.stats().in_flight, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn acquire_many(
        &self,
        class: Option<PartitionId>,
        weight: u32,
        deadline: Timestamp,
    ) -> Result<LimiterPermit<E, R>, Refusal> {
        let ticket = match self
            .with(Timestamp::ZERO, |lines, now, wakes| lines.join(now, class, weight, deadline, wakes))?
        {
            Ok(ticket) => ticket,
            Err(place) => {
                let mut waiting = Waiting::new(self, place);
                drive::wait(&self.runtime, |waker, at_least| waiting.look(waker, at_least)).await?
            }
        };
        Ok(LimiterPermit::new(self.clone(), ticket))
    }

    /// [`acquire_many`](Self::acquire_many) for a thread, which sleeps meanwhile: not for a task of a runtime, and not under
    /// a clock that stands still.
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::{Limiter, Timestamp};
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let permit = limiter.acquire_blocking(None, 1, Timestamp::MAX)?;
    /// permit.success();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire_blocking(
        &self,
        class: Option<PartitionId>,
        weight: u32,
        deadline: Timestamp,
    ) -> Result<LimiterPermit<E, R>, Refusal> {
        let ticket = match self
            .with(Timestamp::ZERO, |lines, now, wakes| lines.join(now, class, weight, deadline, wakes))?
        {
            Ok(ticket) => ticket,
            Err(place) => {
                let mut waiting = Waiting::new(self, place);
                drive::block(&self.runtime, |waker, at_least| waiting.look(waker, at_least))?
            }
        };
        Ok(LimiterPermit::new(self.clone(), ticket))
    }

    /// Lets a request of this class in now, or not.
    ///
    /// # Errors
    /// `NoPermits`, also if somebody waits whom it must not pass, with an estimate of when coming back may be worth it where
    /// there is one; `ExceedsLimit` if the limit is 0.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings { initial: 1, ..AimdSettings::default() })?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let held = limiter.try_acquire(None)?; // one at a time, for now
    /// assert!(limiter.try_acquire(None).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire(&self, class: Option<PartitionId>) -> Result<LimiterPermit<E, R>, Refusal> {
        let ticket = self.with(Timestamp::ZERO, |lines, now, _| lines.try_acquire(now, class, 1))?;
        Ok(LimiterPermit::new(self.clone(), ticket))
    }

    /// Changes settings and classes at once; see [`tollgate::adapt::Limiter::reconfigure`]. Those who wait keep their order.
    ///
    /// # Errors
    /// Those of the constructor; nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings, Mode};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// limiter.reconfigure(LimiterSettings { mode: Mode::MonitorOnly, ..LimiterSettings::netflix() }, &[])?;
    /// assert_eq!(limiter.stats().mode, Mode::MonitorOnly);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn reconfigure(&self, settings: LimiterSettings, shares: &[Share]) -> Result<(), ConfigError> {
        self.with(Timestamp::ZERO, |lines, now, wakes| {
            let done = lines.limiter.reconfigure(now, settings, shares);
            lines.settle(now, wakes);
            done
        })
    }

    /// Puts another estimator in the place of this one, and takes over its limit.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// limiter.replace_estimator(Aimd::new(AimdSettings { initial: 7, ..AimdSettings::default() })?);
    /// assert_eq!(limiter.limit(), 7);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn replace_estimator(&self, estimator: E) {
        self.with(Timestamp::ZERO, |lines, now, wakes| {
            lines.limiter.replace_estimator(estimator);
            lines.settle(now, wakes);
        });
    }

    /// The limit in force.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings { initial: 5, ..AimdSettings::default() })?;
    /// let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// assert_eq!(limiter.limit(), 5);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.with(Timestamp::ZERO, |lines, _, _| lines.limiter.limit())
    }

    /// What it has seen and thinks. Who waits is not among the refused.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let permit = limiter.try_acquire(None)?;
    /// assert_eq!(limiter.stats().in_flight, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> LimiterStats {
        self.with(Timestamp::ZERO, |lines, now, _| lines.limiter.stats(now))
    }

    /// How many wait now.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// assert_eq!(limiter.num_waiters(), 0);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn num_waiters(&self) -> usize {
        self.with(Timestamp::ZERO, |lines, _, _| lines.len())
    }

    /// The runtime's time, in which deadlines are told.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let deadline = limiter.now().saturating_add(std::time::Duration::from_secs(1));
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.runtime.now()
    }

    fn complete(&self, ticket: Ticket, outcome: Outcome) {
        self.with(Timestamp::ZERO, |lines, now, wakes| {
            lines.complete(now, ticket, outcome);
            lines.settle(now, wakes);
        });
    }

    /// Under the lock, at an instant that is not before `at_least`, with lines that are settled. Whoever was answered is woken
    /// afterwards.
    fn with<T>(
        &self,
        at_least: Timestamp,
        act: impl FnOnce(&mut Lines<E>, Timestamp, &mut WakeList) -> T,
    ) -> T {
        let now = self.runtime.now().max(at_least);
        let mut wakes = WakeList::default();
        let mut lines = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        lines.settle(now, &mut wakes);
        let done = act(&mut lines, now, &mut wakes);
        drop(lines);
        wakes.wake();
        done
    }
}

impl<E, R: Clone> Clone for Limiter<E, R> {
    fn clone(&self) -> Self {
        Self { runtime: self.runtime.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<E, R> fmt::Debug for Limiter<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").finish_non_exhaustive()
    }
}
