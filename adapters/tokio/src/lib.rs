//! tollgate's admission control as futures on tokio.
//!
//! [`Tokio`] is the clock and the timer; everything else is [`tollgate_async`], under names that have it filled in. Futures
//! that wait need a tokio runtime with its time driver (`enable_time`); constructors, the `try_*` methods and the blocking ones do
//! not.
//!
//! ```
//! use tollgate_tokio::RateLimiter;
//! use tollgate_tokio::rate::Quota;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let limiter = RateLimiter::new(Quota::per_second(1_000).burst(10))?;
//!     limiter.acquire(10).await?;
//!     limiter.until_ready().await?; // a millisecond later
//!     Ok(())
//! }
//! ```
//!
//! # The paused clock
//!
//! Time is [`tokio::time::Instant`], so a test whose clock is paused waits for nothing and sees exact waits. tokio's timer
//! counts whole milliseconds and rounds up; what is due in between goes at the next one.
//!
//! ```
//! use tollgate_tokio::RateLimiter;
//! use tollgate_tokio::rate::Quota;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // #[tokio::test(start_paused = true)]
//! let limiter = RateLimiter::new(Quota::per_hour(1).burst(1))?;
//! limiter.acquire(1).await?;
//! limiter.acquire(1).await?;
//! assert_eq!(limiter.now().as_nanos(), 3_600_000_000_000, "an hour later");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

use core::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
pub use tollgate_async::*;

/// [`tollgate_async::RateLimiter`] on tokio.
pub type RateLimiter = tollgate_async::RateLimiter<Tokio>;
/// [`tollgate_async::KeyedRateLimiter`] on tokio.
pub type KeyedRateLimiter<K> = tollgate_async::KeyedRateLimiter<K, Tokio>;
/// [`tollgate_async::Limiter`] on tokio.
pub type Limiter<E> = tollgate_async::Limiter<E, Tokio>;
/// [`tollgate_async::LimiterPermit`] on tokio.
pub type LimiterPermit<E> = tollgate_async::LimiterPermit<E, Tokio>;

/// [`tollgate_async::Gate`] on tokio.
pub type Gate<C = gate::Budget, O = observe::NoObserver> = tollgate_async::Gate<Tokio, C, O>;
/// [`tollgate_async::GatePermit`] on tokio.
pub type GatePermit<C = gate::Budget, O = observe::NoObserver> = tollgate_async::GatePermit<Tokio, C, O>;

/// [`tollgate_async::Admission`] on tokio.
pub type Admission<K> = tollgate_async::Admission<K, Tokio>;
/// [`tollgate_async::InFlight`] on tokio.
pub type InFlight<K> = tollgate_async::InFlight<K, Tokio>;

/// What is beyond the clock's range is so far away.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// tokio's clock and timer. Instants are counted from when it was made; clones count from the same.
///
/// Make it, or the limiter that makes it, in the runtime whose clock it is to follow: where that is paused, the time outside
/// is another.
///
/// ```
/// use tollgate_tokio::{Runtime, Tokio};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let runtime = Tokio::new();
/// let deadline = tokio::time::Instant::now() + std::time::Duration::from_millis(1);
/// let at = runtime.timestamp(deadline);
/// runtime.sleep_until(at).await;
/// assert!(runtime.now() >= at && runtime.instant(at) == deadline);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tokio {
    epoch: Instant,
}

impl Tokio {
    /// A clock that begins now.
    ///
    /// ```
    /// use tollgate_tokio::{Runtime, Tokio};
    ///
    /// let runtime = Tokio::new();
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
    /// use tokio::time::Instant;
    /// use tollgate_tokio::{Timestamp, Tokio};
    ///
    /// let before = Instant::now();
    /// assert_eq!(Tokio::new().timestamp(before), Timestamp::ZERO);
    /// ```
    #[must_use]
    pub fn timestamp(&self, instant: Instant) -> Timestamp {
        Timestamp::from_instant(instant.into_std(), self.epoch.into_std())
    }

    /// A time of this clock as an instant, in 30 years if it is beyond what the system can name.
    ///
    /// ```
    /// use tollgate_tokio::{Timestamp, Tokio};
    ///
    /// let runtime = Tokio::new();
    /// let at = Timestamp::from_nanos(5);
    /// assert_eq!(runtime.timestamp(runtime.instant(at)), at);
    /// ```
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        let since = at.saturating_since(Timestamp::ZERO);
        self.epoch.checked_add(since).unwrap_or_else(|| Instant::now() + FAR)
    }
}

impl Default for Tokio {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for Tokio {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        self.timestamp(Instant::now())
    }

    /// # Panics
    /// Outside of a tokio runtime, and in one without its time driver.
    fn sleep_until(&self, at: Timestamp) -> Sleep {
        sleep_until(self.instant(at))
    }
}

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
