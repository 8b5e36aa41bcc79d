//! Admission control as pure state machines: what may run now, what must wait, what must be refused.
//!
//! Servers, libraries and firmware fall over when they accept more than they can finish. tollgate answers a few
//! questions, one module each, and joins the answers:
//!
//! | question | module | machines |
//! | --- | --- | --- |
//! | how fast? | [`rate`] | exact and atomic token buckets, one for each of many keys, windows; rules and sessions in several dimensions |
//! | how many at once? | [`permit`] | permits in one atomic word, a weighted semaphore with a bounded line, caps for each key |
//! | who is next? | [`fair`] | deficit round robin by cost, smooth weighted round robin by turns |
//! | how many is right? | [`adapt`] | `Knee`, Vegas, Gradient2, Gradient, AIMD; limiters around them, by name too; sample windows |
//! | all together | [`gate`] | bounded queues of tenants, deadlines, fair dispatch into a capacity |
//! | and for requests of many owners | [`order`] | request count, budgets and slots in one decision |
//! | who takes most? | [`sketch`] | the heaviest of many keys, in bounded memory |
//! | where are they kept? | [`slots`] | bounded tables with ids that can never be mistaken |
//!
//! # The contract of `now`
//!
//! No machine reads a clock, draws a random number, takes a lock, allocates after construction, wakes a task or logs.
//! `now: `[`Timestamp`] is the first argument after `self`: nanoseconds since any epoch you choose, from a monotonic
//! clock. A `now` before the latest one seen counts as the latest: it never panics, never mints credit, never
//! refuses what the latest would have granted. So the same machine runs on a microcontroller, in a server and in a
//! simulator at millions of events a second, and every run can be replayed.
//!
//! ```
//! use tollgate::Timestamp;
//! use tollgate::permit::AtomicPermits;
//! use tollgate::rate::{AtomicBucket, Quota};
//!
//! // 1 000 requests a second, 50 at once, and never more than 8 in flight. Shared by all threads, no lock.
//! let rate = AtomicBucket::new(Quota::per_second(1_000).burst(50))?;
//! let in_flight = AtomicPermits::new(8)?;
//!
//! let now = Timestamp::from_nanos(1_000_000);
//! rate.try_acquire(now, 1)?; // or `Refused { retry_at, .. }`, exact to the nanosecond
//! let permit = in_flight.try_acquire()?;
//! // … do the work …
//! drop(permit);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What every machine promises
//!
//! * **Bounded.** Storage is reserved at construction; a full table is a typed refusal. No operation's work depends on
//!   elapsed time; each states its bound.
//! * **Right under change.** Limits, weights and quotas can be changed at any time, exactly, while saturated: the state
//!   is what is *consumed* or *in use*, the limit is policy applied when comparing.
//! * **Nothing leaks.** What was granted comes back once. Tickets are move-only; a stale id is a checked refusal.
//! * **No surprises.** Bad configuration is a [`ConfigError`] that lists every broken rule; a refusal is data
//!   ([`Refused`]) with the exact instant to try again. No input panics, wraps or over-grants.
//!
//! # Features
//!
//! All only add. Without any, the crate needs neither an allocator nor an operating system.
//!
//! | feature | adds |
//! | --- | --- |
//! | `std` (default) | `alloc`; [`Timestamp::from_instant`] for `std::time::Instant` |
//! | `alloc` | [`slots::Heap`]: storage on the heap, reserved once |
//! | `serde` | `alloc`; settings of named limiters from any format, their statistics to any |
//! | `portable-atomic` | atomics on targets without 64-bit ones; the final binary chooses how |
#![no_std]
#![cfg_attr(tollgate_docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "alloc"), allow(rustdoc::broken_intra_doc_links))]
#![warn(clippy::arithmetic_side_effects, clippy::as_conversions, clippy::indexing_slicing)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, clippy::as_conversions))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod adapt;
pub mod error;
pub mod fair;
pub mod gate;
#[cfg(feature = "alloc")]
mod hasher;
mod heap;
#[cfg(feature = "alloc")]
mod index;
mod num;
pub mod observe;
#[cfg(feature = "alloc")]
pub mod order;
pub mod permit;
pub mod rate;
#[cfg(feature = "alloc")]
mod robin;
#[cfg(feature = "alloc")]
pub mod sketch;
pub mod slots;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
mod sync;
mod time;

pub use error::{ConfigError, Reason, Refused, Stale};
#[cfg(feature = "alloc")]
pub use hasher::DefaultHasher;
pub use time::Timestamp;

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
