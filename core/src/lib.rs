//! Admission control as pure state machines.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects, clippy::as_conversions, clippy::indexing_slicing)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod adapt;
pub mod error;
pub mod fair;
mod num;
pub mod observe;
pub mod permit;
pub mod rate;
pub mod slots;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod sync;
mod time;

pub use error::{ConfigError, Reason, Refused, Stale};
pub use time::Timestamp;
