//! tollgate's admission control as futures on smol, and on whatever else is built on [`async_io`].
//!
//! [`Smol`] is the clock and the timer; everything else is [`tollgate_async`], under names that have it filled in. The timer
//! is async-io's, which runs a thread of its own where no `block_on` of smol's drives it: so futures may be polled anywhere.
//!
//! ```
//! use tollgate_smol::RateLimiter;
//! use tollgate_smol::rate::Quota;
//!
//! smol::block_on(async {
//!     let limiter = RateLimiter::new(Quota::per_second(1_000).burst(10))?;
//!     limiter.acquire(10).await?;
//!     limiter.until_ready().await?; // a millisecond later
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::time::Instant;

use async_io::Timer;
pub use tollgate_async::*;

/// [`tollgate_async::RateLimiter`] on smol.
pub type RateLimiter = tollgate_async::RateLimiter<Smol>;
/// [`tollgate_async::KeyedRateLimiter`] on smol.
pub type KeyedRateLimiter<K> = tollgate_async::KeyedRateLimiter<K, Smol>;
/// [`tollgate_async::Limiter`] on smol.
pub type Limiter<E> = tollgate_async::Limiter<E, Smol>;
/// [`tollgate_async::LimiterPermit`] on smol.
pub type LimiterPermit<E> = tollgate_async::LimiterPermit<E, Smol>;

/// [`tollgate_async::Gate`] on smol.
pub type Gate<C = gate::Budget, O = observe::NoObserver> = tollgate_async::Gate<Smol, C, O>;
/// [`tollgate_async::GatePermit`] on smol.
pub type GatePermit<C = gate::Budget, O = observe::NoObserver> = tollgate_async::GatePermit<Smol, C, O>;

/// [`tollgate_async::Admission`] on smol.
pub type Admission<K> = tollgate_async::Admission<K, Smol>;
/// [`tollgate_async::InFlight`] on smol.
pub type InFlight<K> = tollgate_async::InFlight<K, Smol>;

/// What is beyond the clock's range is so far away.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// The system's monotonic clock and async-io's timer. Instants are counted from when it was made; clones count from the
/// same.
///
/// ```
/// use tollgate_smol::{Runtime, Smol};
///
/// let runtime = Smol::new();
/// let deadline = std::time::Instant::now() + std::time::Duration::from_millis(1);
/// let at = runtime.timestamp(deadline);
/// smol::block_on(runtime.sleep_until(at));
/// assert!(runtime.now() >= at && runtime.instant(at) == deadline);
/// ```
#[derive(Clone, Debug)]
pub struct Smol {
    epoch: Instant,
}

impl Smol {
    /// A clock that begins now.
    ///
    /// ```
    /// use tollgate_smol::{Runtime, Smol};
    ///
    /// let runtime = Smol::new();
    /// let earlier = runtime.now();
    /// assert!(runtime.now() >= earlier);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self { epoch: Instant::now() }
    }

    /// `instant` in this clock's time; zero if it was before it began.
    ///
    /// ```
    /// use std::time::Instant;
    /// use tollgate_smol::{Smol, Timestamp};
    ///
    /// let before = Instant::now();
    /// assert_eq!(Smol::new().timestamp(before), Timestamp::ZERO);
    /// ```
    #[must_use]
    pub fn timestamp(&self, instant: Instant) -> Timestamp {
        Timestamp::from_instant(instant, self.epoch)
    }

    /// A time of this clock as an instant, in 30 years if it is beyond what the system can name.
    ///
    /// ```
    /// use tollgate_smol::{Smol, Timestamp};
    ///
    /// let runtime = Smol::new();
    /// let at = Timestamp::from_nanos(5);
    /// assert_eq!(runtime.timestamp(runtime.instant(at)), at);
    /// ```
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        let since = at.saturating_since(Timestamp::ZERO);
        self.epoch.checked_add(since).unwrap_or_else(|| Instant::now() + FAR)
    }
}

impl Default for Smol {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for Smol {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        self.timestamp(Instant::now())
    }

    fn sleep_until(&self, at: Timestamp) -> Sleep {
        Sleep(Timer::at(self.instant(at)))
    }
}

/// Ends at an instant. Made by [`Smol`].
///
/// ```
/// use tollgate_smol::{Runtime, Sleep, Smol, Timestamp};
///
/// let sleep: Sleep = Smol::new().sleep_until(Timestamp::ZERO);
/// smol::block_on(sleep);
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Sleep(Timer);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let _at: Instant = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(())
    }
}

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
