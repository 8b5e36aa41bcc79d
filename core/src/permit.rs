//! How many at once? Weighted permits whose limit can be changed at any moment, exactly.
//!
//! | machine | shared by | waits | weights |
//! | --- | --- | --- | --- |
//! | [`AtomicPermits`] | threads, `&self`, lock-free | never: it grants or refuses | `u32`, to 2³¹ − 1 |
//! | [`Semaphore`] | one owner, `&mut self` | bounded FIFO queue, policy for the head of the line | `u64` |
//! | [`InFlight`] | one owner, `&mut self` | never | one of each of up to eight pairs (dimension, key), all or none |
//! | [`SharedInFlight`] | threads, `&self`, a lock for each shard | never | the same |
//!
//! The first two keep *limit* and *in use* as their state and derive the rest. There is no stored "available" to keep in step
//! and no "debt to shrink": lowering the limit below what is in use just means that nothing is granted until enough
//! has come back.

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub mod atomic;
#[cfg(feature = "alloc")]
pub mod inflight;
pub mod semaphore;

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
pub use atomic::{AtomicPermits, Permit};
#[cfg(feature = "alloc")]
pub use inflight::{
    Bypass, Cap, Dimension, Gauge, InFlight, InFlightRefused, InFlightSnapshot, InFlightTicket,
};
#[cfg(feature = "std")]
pub use inflight::{SharedInFlight, Slot};
pub use semaphore::{Acquire, HeadOfLine, Semaphore, SemaphoreEvent, Ticket, WaiterId};
