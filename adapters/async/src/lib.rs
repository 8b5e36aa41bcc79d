//! tollgate's machines as futures, on any runtime.
//!
//! The core decides and never waits; here callers wait, and are woken when it is their turn. Nothing in this crate knows a
//! runtime: what it needs of one is the time, [`Runtime`]. The crates for tokio, async-std and smol give it.
#![forbid(unsafe_code)]

mod runtime;
pub mod semaphore;
mod sync;
mod wait;

pub use runtime::Runtime;
pub use semaphore::{
    Acquire, AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use tollgate::Timestamp;
