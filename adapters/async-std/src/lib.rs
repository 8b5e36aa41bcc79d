//! tollgate's admission control as futures on async-std.
//!
//! **async-std is discontinued.** Its authors recommend smol, and so do we: `tollgate-smol` has the same names. This crate
//! is for programs that are still on async-std. It is a leaf: nothing else of tollgate depends on it, and it is kept working as
//! long as async-std 1.13 builds.
//!
//! [`AsyncStd`] is the clock and the timer; everything else is [`tollgate_async`], under names that have it filled in.
//!
//! ```
//! use tollgate_async_std::RateLimiter;
//! use tollgate_async_std::rate::Quota;
//!
//! async_std::task::block_on(async {
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
use core::time::Duration;
use std::time::Instant;

pub use tollgate_async::*;

/// [`tollgate_async::RateLimiter`] on async-std.
pub type RateLimiter = tollgate_async::RateLimiter<AsyncStd>;
/// [`tollgate_async::KeyedRateLimiter`] on async-std.
pub type KeyedRateLimiter<K> = tollgate_async::KeyedRateLimiter<K, AsyncStd>;
/// [`tollgate_async::Limiter`] on async-std.
pub type Limiter<E> = tollgate_async::Limiter<E, AsyncStd>;
/// [`tollgate_async::LimiterPermit`] on async-std.
pub type LimiterPermit<E> = tollgate_async::LimiterPermit<E, AsyncStd>;

/// [`tollgate_async::Gate`] on async-std.
pub type Gate<C = gate::Budget, O = observe::NoObserver> = tollgate_async::Gate<AsyncStd, C, O>;
/// [`tollgate_async::GatePermit`] on async-std.
pub type GatePermit<C = gate::Budget, O = observe::NoObserver> = tollgate_async::GatePermit<AsyncStd, C, O>;

/// [`tollgate_async::Admission`] on async-std.
pub type Admission<K> = tollgate_async::Admission<K, AsyncStd>;
/// [`tollgate_async::InFlight`] on async-std.
pub type InFlight<K> = tollgate_async::InFlight<K, AsyncStd>;

/// What is beyond the clock's range is so far away.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// The system's monotonic clock and async-std's timer. Instants are counted from when it was made; clones count from the
/// same.
///
/// ```
/// use tollgate_async_std::{AsyncStd, Runtime};
///
/// let runtime = AsyncStd::new();
/// let deadline = std::time::Instant::now() + std::time::Duration::from_millis(1);
/// let at = runtime.timestamp(deadline);
/// async_std::task::block_on(runtime.sleep_until(at));
/// assert!(runtime.now() >= at && runtime.instant(at) == deadline);
/// ```
#[derive(Clone, Debug)]
pub struct AsyncStd {
    epoch: Instant,
}

impl AsyncStd {
    /// A clock that begins now.
    ///
    /// ```
    /// use tollgate_async_std::{AsyncStd, Runtime};
    ///
    /// let runtime = AsyncStd::new();
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
    /// use tollgate_async_std::{AsyncStd, Timestamp};
    ///
    /// let before = Instant::now();
    /// assert_eq!(AsyncStd::new().timestamp(before), Timestamp::ZERO);
    /// ```
    #[must_use]
    pub fn timestamp(&self, instant: Instant) -> Timestamp {
        Timestamp::from_instant(instant, self.epoch)
    }

    /// A time of this clock as an instant, in 30 years if it is beyond what the system can name.
    ///
    /// ```
    /// use tollgate_async_std::{AsyncStd, Timestamp};
    ///
    /// let runtime = AsyncStd::new();
    /// let at = Timestamp::from_nanos(5);
    /// assert_eq!(runtime.timestamp(runtime.instant(at)), at);
    /// ```
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        let since = at.saturating_since(Timestamp::ZERO);
        self.epoch.checked_add(since).unwrap_or_else(|| Instant::now() + FAR)
    }
}

impl Default for AsyncStd {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for AsyncStd {
    /// Boxed: async-std's own timer has no name.
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        self.timestamp(Instant::now())
    }

    fn sleep_until(&self, at: Timestamp) -> Self::Sleep {
        let at = self.instant(at);
        Box::pin(async move {
            // It counts from when it is first polled, so what is left is worked out then.
            while let Some(left) = at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                async_std::task::sleep(left).await;
            }
        })
    }
}

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
