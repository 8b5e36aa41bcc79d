//! The buckets of all entrants, full or used up, and their clocks.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use better_bucket::{BucketConfig, BucketCore};
use governor::Quota as GovernorQuota;
use throttle_net::Throttle;
use tollgate::Timestamp;
use tollgate::rate::{AtomicBucket, Quota};

/// More than will be asked for; u32, because that is what most peers take.
pub(super) const ENOUGH: u32 = 4_000_000_000;
/// An hour past the epoch, where nothing is special.
pub(super) const NOW_NS: u64 = 3_600_000_000_000;
const DAY: Duration = Duration::from_secs(86_400);

/// The time of one call: a nanosecond after that of the call before.
pub(super) fn at(ordinal: u32) -> Timestamp {
    Timestamp::from_nanos(NOW_NS + u64::from(ordinal))
}

/// The same for who counts in seconds and nanoseconds.
pub(super) const fn at_duration(ordinal: u32) -> Duration {
    Duration::new(NOW_NS / 1_000_000_000, ordinal)
}

pub(super) fn full(rate: u32) -> AtomicBucket {
    let quota = Quota::per_second(rate.into()).burst(ENOUGH.into());
    AtomicBucket::new(quota).expect("a lawful quota")
}

/// Grants once a day, and has done so.
pub(super) fn drained() -> AtomicBucket {
    let bucket = AtomicBucket::new(Quota::per_day(1).burst(1)).expect("a lawful quota");
    bucket.try_acquire(at(0), 1).expect("the first is granted");
    bucket
}

pub(super) fn governor_full(rate: u32) -> GovernorQuota {
    GovernorQuota::per_second(rate.try_into().expect("not zero"))
        .allow_burst(ENOUGH.try_into().expect("not zero"))
}

pub(super) fn governor_slow() -> GovernorQuota {
    GovernorQuota::with_period(DAY).expect("not zero")
}

pub(super) fn better_config(per_second: u32, burst: u32) -> BucketConfig {
    BucketConfig::new(burst, per_second, if burst == 1 { DAY } else { Duration::from_secs(1) }, burst)
        .expect("a lawful config")
}

pub(super) fn better_full(rate: u32) -> BucketCore {
    BucketCore::new(better_config(rate, ENOUGH), Duration::from_nanos(NOW_NS))
}

pub(super) fn better_slow() -> BucketCore {
    let bucket = BucketCore::new(better_config(1, 1), Duration::from_nanos(NOW_NS));
    assert!(bucket.try_acquire_at(1, Duration::from_nanos(NOW_NS)));
    bucket
}

pub(super) fn ratelimit_full<C: ratelimit::Clock>(rate: u32, clock: C) -> ratelimit::Ratelimiter<C> {
    ratelimit::Builder::with_clock(rate.into(), clock)
        .max_tokens(ENOUGH.into())
        .initial_available(ENOUGH.into())
        .build()
        .expect("a lawful config")
}

pub(super) fn ratelimit_slow<C: ratelimit::Clock>(clock: C) -> ratelimit::Ratelimiter<C> {
    ratelimit::Builder::with_clock(1, clock).period(DAY).max_tokens(1).build().expect("a lawful config")
}

pub(super) fn leaky(initial: usize, max: usize) -> leaky_bucket::RateLimiter {
    leaky_bucket::RateLimiter::builder().initial(initial).max(max).refill(1).interval(DAY).build()
}

pub(super) fn throttle_full<C: throttle_net::Clock>(rate: u32, clock: C) -> Throttle<C> {
    Throttle::builder().per_second(rate).burst(ENOUGH).clock(clock).build()
}

pub(super) fn throttle_slow<C: throttle_net::Clock>(clock: C) -> Throttle<C> {
    let limiter = Throttle::builder().rate(1, DAY).burst(1).clock(clock).build();
    assert!(limiter.try_acquire());
    limiter
}

/// A clock that stands still.
#[derive(Clone, Copy)]
pub(super) struct Still;

impl ratelimit::Clock for Still {
    fn elapsed(&self) -> Duration {
        black_box(Duration::from_nanos(NOW_NS))
    }
}

/// The processor's time stamp counter, as `quanta` reads it.
pub(super) struct Quanta {
    clock: quanta::Clock,
    start: u64,
}

impl Quanta {
    pub(super) fn new() -> Self {
        let clock = quanta::Clock::new();
        let start = clock.raw();
        Self { clock, start }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.clock.delta_as_nanos(self.start, self.clock.raw()))
    }
}

/// The system's monotonic clock.
pub(super) struct System {
    start: Instant,
}

impl System {
    pub(super) fn new() -> Self {
        Self { start: Instant::now() }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::ZERO.saturating_add(self.start.elapsed())
    }
}
