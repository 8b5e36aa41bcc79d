//! tollgate's machines as futures, on any runtime.
//!
//! The core decides and never waits; here callers wait, and are woken when it is their turn. Nothing in this crate knows a
//! runtime: what it needs of one is the time, [`Runtime`]. The crates for tokio, async-std and smol give it.
//!
//! | question | type |
//! | --- | --- |
//! | how fast? | [`RateLimiter`], [`KeyedRateLimiter`] |
//! | how many is right? | [`Limiter`] |
//! | who is next, of many tenants? | [`Gate`] |
//! | and for requests of many owners | [`Admission`], [`InFlight`] |
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod doc;
pub mod door;
mod drive;
pub mod gate;
mod limiter;
mod rate_limiter;
mod runtime;
pub mod semaphore;
mod sync;
mod wait;

pub use door::{Admission, Admitted, InFlight, InFlightSlot};
pub use gate::{Gate, GatePermit, GateRefused};
pub use limiter::{Limiter, LimiterPermit};
pub use rate_limiter::{KeyedRateLimiter, RateLimiter};
pub use runtime::Runtime;
pub use semaphore::{
    Acquire, AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use tollgate::{ConfigError, Reason, Refused, Timestamp, adapt, observe, order, permit, rate};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
