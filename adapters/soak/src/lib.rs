//! Threads and tasks that wait, leave, close and resize at random; and what has to hold when all are gone.
//!
//! Each round makes one machine, lets tasks on a runtime of four workers and plain threads use it for about a second, and then looks
//! whether everything that was granted came back, and nothing was granted beyond the limit. A task that is not over long
//! after the others is a lost wake-up. Rounds are drawn from a seed; what threads make of them is not repeatable.
#![forbid(unsafe_code)]

mod chance;
mod crowd;
mod gate;
mod limiter;
mod rate_limiter;
mod semaphore;

use core::time::Duration;
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

pub use chance::Chance;

/// What a round did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Times that somebody asked.
    pub asked: u64,
    /// Of these, granted.
    pub granted: u64,
    /// Futures dropped while they waited, or after they were granted.
    pub left: u64,
}

/// A machine, and a round of it.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// As it is called.
    pub name: &'static str,
    round: fn(&Runtime, u64, Instant) -> Result<Tally>,
}

/// All machines.
pub const MACHINES: [Machine; 4] = [
    Machine { name: "semaphore", round: semaphore::round },
    Machine { name: "rate limiter", round: rate_limiter::round },
    Machine { name: "limiter", round: limiter::round },
    Machine { name: "gate", round: gate::round },
];

impl Machine {
    /// One round of so long.
    ///
    /// # Errors
    /// What does not hold, or who is not over.
    pub fn round(&self, seed: u64, length: Duration) -> Result<Tally> {
        let runtime = Builder::new_multi_thread().worker_threads(4).enable_time().build()?;
        let told = (self.round)(&runtime, seed, Instant::now() + length);
        runtime.shutdown_background();
        told.with_context(|| format!("{}, seed {seed}", self.name))
    }
}
