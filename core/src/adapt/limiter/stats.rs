//! What a [`Limiter`](super::Limiter) counts and tells.

use core::time::Duration;

use crate::adapt::limiter::settings::Mode;

/// What a [`Limiter`](super::Limiter) has seen and thinks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LimiterStats {
    /// Mode in force.
    pub mode: Mode,
    /// Limit in force, with the room for bursts.
    pub limit: u32,
    /// Limit that was learnt.
    pub base_limit: u32,
    /// Whether there is room for bursts.
    pub burst_open: bool,
    /// Permits held within the limit.
    pub in_flight: u64,
    /// These, and what was let in past it.
    pub in_flight_all: u64,
    /// Requests let in within the limit.
    pub admitted: u64,
    /// Requests refused because it did not fit.
    pub rejected: u64,
    /// Requests refused because they weigh more than the limit.
    pub rejected_overweight: u64,
    /// Requests that were let in and would be refused if the limit were enforced.
    pub would_reject: u64,
    /// Requests let in past the limit during the warm-up.
    pub passed_in_warmup: u64,
    /// Refusals that were held back.
    pub paused: u64,
    /// Requests that ended well, were dropped, and said nothing.
    pub outcomes: [u64; 3],
    /// Round-trip time of the last request that ended well.
    pub last_rtt: Option<Duration>,
    /// Mean round-trip time lately.
    pub mean_rtt: Option<Duration>,
    /// Round-trip time without a queue, as far as the estimator knows; where it does not ask, the shortest seen.
    pub no_load_rtt: Option<Duration>,
    /// How long nothing will be refused yet.
    pub warmup_left: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) admitted: u64,
    pub(super) rejected: u64,
    pub(super) rejected_overweight: u64,
    pub(super) would_reject: u64,
    pub(super) passed_in_warmup: u64,
    pub(super) paused: u64,
    pub(super) outcomes: [u64; 3],
}
