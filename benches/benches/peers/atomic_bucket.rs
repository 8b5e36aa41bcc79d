//! Asking a shared token bucket: granted and refused, at a given time and with a clock of its own.
//!
//! Where the time is given, a nanosecond passes from call to call (none on the peers' own fake clocks, which cost more
//! to move than to read); a token takes longer to accrue and the burst is larger than the number of calls, so every
//! call changes the state. A call costs 1, as a request does. The floor is one load and one compare-exchange, for a refusal one load and one comparison. With a clock,
//! ours is compared with a peer on the same clock: reading it costs more than most of the rest.

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::Instant;

use better_bucket::{BucketConfig, BucketCore};
use criterion::Criterion;
use governor::clock::{FakeRelativeClock, QuantaClock};
use governor::{Quota as GovernorQuota, RateLimiter};
use tollgate::Timestamp;
use tollgate::rate::{AtomicBucket, Quota};
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "atomic_bucket";
/// More than will be asked for; u32, because that is what most peers take.
const ENOUGH: u32 = 4_000_000_000;
/// Tokens per second: 1 000 ns apiece, the easiest of all rates.
const RATE: u32 = 1_000_000;
/// Tokens per second, where a token is no whole number of nanoseconds; some peers round it.
const ODD_RATE: u32 = 3_333_331;
/// An hour past the epoch, where nothing is special.
const NOW_NS: u64 = 3_600_000_000_000;

pub(crate) fn run(criterion: &mut Criterion) {
    for threads in [1, 2] {
        contest(criterion, &[grant("grant", threads, RATE)]);
        contest(criterion, &[refuse(threads)]);
    }
    contest(criterion, &[grant("grant-odd-rate", 1, ODD_RATE)]);
    contest(criterion, &[grant_quanta()]);
    contest(criterion, &[refuse_quanta()]);
    contest(criterion, &[grant_instant()]);
    contest(criterion, &[refuse_instant()]);
}

fn grant(name: &'static str, threads: u32, rate: u32) -> Case<'static> {
    Case::new(GROUP, name)
        .threads(threads)
        .shared("tollgate", move || {
            let bucket = full(rate);
            move |ordinal| bucket.try_acquire(at(ordinal), 1).expect("granted")
        })
        .shared("floor", move || {
            let word = AtomicU64::new(0);
            move |ordinal| {
                let now = at(ordinal).as_nanos();
                let mut seen = word.load(Ordering::Relaxed);
                while let Err(other) = word.compare_exchange_weak(
                    seen,
                    seen.max(now) + 1_000,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                ) {
                    seen = other;
                }
            }
        })
        .shared("governor-fake", move || {
            let limiter = RateLimiter::direct_with_clock(governor_full(rate), FakeRelativeClock::default());
            move |_| limiter.check().expect("granted")
        })
        .shared("better-bucket-core", move || {
            let bucket = better_full(rate);
            move |ordinal| {
                assert!(bucket.acquire_at(1, at_duration(ordinal)).is_allowed());
            }
        })
        .shared("ratelimit-fake", move || {
            let limiter = ratelimit_full(rate, Still);
            move |_| limiter.try_wait().expect("granted")
        })
}

fn refuse(threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse")
        .threads(threads)
        .shared("tollgate", || {
            let bucket = drained();
            move |ordinal| {
                let _refused = black_box(bucket.try_acquire(at(ordinal), 1));
            }
        })
        .shared("floor", || {
            let word = AtomicU64::new(NOW_NS + 1);
            move |ordinal| {
                let _fits = black_box(word.load(Ordering::Acquire) < at(ordinal).as_nanos());
            }
        })
        .shared("governor-fake", || {
            let limiter = RateLimiter::direct_with_clock(governor_slow(), FakeRelativeClock::default());
            limiter.check().expect("the first is granted");
            move |_| {
                let _refused = black_box(limiter.check());
            }
        })
        .shared("better-bucket-core", || {
            let bucket = better_slow();
            move |ordinal| {
                let _refused = black_box(bucket.acquire_at(1, at_duration(ordinal)));
            }
        })
        .shared("ratelimit-fake", || {
            let limiter = ratelimit_slow(Still);
            move |_| {
                let _refused = black_box(limiter.try_wait());
            }
        })
}

fn grant_quanta() -> Case<'static> {
    Case::new(GROUP, "grant-quanta")
        .shared("tollgate", || {
            let (bucket, clock) = (full(RATE), Quanta::new());
            move |_| bucket.try_acquire(clock.now(), 1).expect("granted")
        })
        .shared("governor-quanta", || {
            let limiter = RateLimiter::direct_with_clock(governor_full(RATE), QuantaClock::default());
            move |_| limiter.check().expect("granted")
        })
}

fn refuse_quanta() -> Case<'static> {
    Case::new(GROUP, "refuse-quanta")
        .shared("tollgate", || {
            let (bucket, clock) = (drained(), Quanta::new());
            move |_| {
                let _refused = black_box(bucket.try_acquire(clock.now(), 1));
            }
        })
        .shared("governor-quanta", || {
            let limiter = RateLimiter::direct_with_clock(governor_slow(), QuantaClock::default());
            limiter.check().expect("the first is granted");
            move |_| {
                let _refused = black_box(limiter.check());
            }
        })
}

fn grant_instant() -> Case<'static> {
    Case::new(GROUP, "grant-instant")
        .shared("tollgate", || {
            let (bucket, clock) = (full(RATE), System::new());
            move |_| bucket.try_acquire(clock.now(), 1).expect("granted")
        })
        .shared("better-bucket", || {
            let bucket = better_bucket::Bucket::from_config(better_config(RATE, ENOUGH));
            move |_| assert!(bucket.acquire(1).is_allowed())
        })
        .shared("ratelimit", || {
            let limiter = ratelimit_full(RATE, ratelimit::StdClock::new());
            move |_| limiter.try_wait().expect("granted")
        })
        .shared("leaky-bucket", || {
            let limiter = leaky(usize::MAX / 2, usize::MAX / 2);
            move |_| assert!(limiter.try_acquire(1))
        })
}

fn refuse_instant() -> Case<'static> {
    Case::new(GROUP, "refuse-instant")
        .shared("tollgate", || {
            let (bucket, clock) = (drained(), System::new());
            move |_| {
                let _refused = black_box(bucket.try_acquire(clock.now(), 1));
            }
        })
        .shared("better-bucket", || {
            let bucket = better_bucket::Bucket::from_config(better_config(1, 1));
            assert!(bucket.acquire(1).is_allowed());
            move |_| {
                let _refused = black_box(bucket.acquire(1));
            }
        })
        .shared("ratelimit", || {
            let limiter = ratelimit_slow(ratelimit::StdClock::new());
            move |_| {
                let _refused = black_box(limiter.try_wait());
            }
        })
        .shared("leaky-bucket", || {
            let limiter = leaky(0, 1);
            move |_| {
                let _refused = black_box(limiter.try_acquire(1));
            }
        })
}

/// The time of one call: a nanosecond after that of the call before.
fn at(ordinal: u32) -> Timestamp {
    Timestamp::from_nanos(NOW_NS + u64::from(ordinal))
}

/// The same for who counts in seconds and nanoseconds.
const fn at_duration(ordinal: u32) -> Duration {
    Duration::new(NOW_NS / 1_000_000_000, ordinal)
}

fn full(rate: u32) -> AtomicBucket {
    let quota = Quota::per_second(rate.into()).burst(ENOUGH.into());
    AtomicBucket::new(quota).expect("a lawful quota")
}

/// Grants once a day, and has done so.
fn drained() -> AtomicBucket {
    let bucket = AtomicBucket::new(Quota::per_day(1).burst(1)).expect("a lawful quota");
    bucket.try_acquire(at(0), 1).expect("the first is granted");
    bucket
}

fn governor_full(rate: u32) -> GovernorQuota {
    GovernorQuota::per_second(rate.try_into().expect("not zero"))
        .allow_burst(ENOUGH.try_into().expect("not zero"))
}

fn governor_slow() -> GovernorQuota {
    GovernorQuota::with_period(DAY).expect("not zero")
}

const DAY: Duration = Duration::from_secs(86_400);

fn better_config(per_second: u32, burst: u32) -> BucketConfig {
    BucketConfig::new(burst, per_second, if burst == 1 { DAY } else { Duration::from_secs(1) }, burst)
        .expect("a lawful config")
}

fn better_full(rate: u32) -> BucketCore {
    BucketCore::new(better_config(rate, ENOUGH), Duration::from_nanos(NOW_NS))
}

fn better_slow() -> BucketCore {
    let bucket = BucketCore::new(better_config(1, 1), Duration::from_nanos(NOW_NS));
    assert!(bucket.try_acquire_at(1, Duration::from_nanos(NOW_NS)));
    bucket
}

fn ratelimit_full<C: ratelimit::Clock>(rate: u32, clock: C) -> ratelimit::Ratelimiter<C> {
    ratelimit::Builder::with_clock(rate.into(), clock)
        .max_tokens(ENOUGH.into())
        .initial_available(ENOUGH.into())
        .build()
        .expect("a lawful config")
}

fn ratelimit_slow<C: ratelimit::Clock>(clock: C) -> ratelimit::Ratelimiter<C> {
    ratelimit::Builder::with_clock(1, clock).period(DAY).max_tokens(1).build().expect("a lawful config")
}

fn leaky(initial: usize, max: usize) -> leaky_bucket::RateLimiter {
    leaky_bucket::RateLimiter::builder().initial(initial).max(max).refill(1).interval(DAY).build()
}

/// A clock that stands still.
#[derive(Clone, Copy)]
struct Still;

impl ratelimit::Clock for Still {
    fn elapsed(&self) -> Duration {
        black_box(Duration::from_nanos(NOW_NS))
    }
}

/// The processor's time stamp counter, as `quanta` reads it.
struct Quanta {
    clock: quanta::Clock,
    start: u64,
}

impl Quanta {
    fn new() -> Self {
        let clock = quanta::Clock::new();
        let start = clock.raw();
        Self { clock, start }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.clock.delta_as_nanos(self.start, self.clock.raw()))
    }
}

/// The system's monotonic clock.
struct System {
    start: Instant,
}

impl System {
    fn new() -> Self {
        Self { start: Instant::now() }
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO.saturating_add(self.start.elapsed())
    }
}
