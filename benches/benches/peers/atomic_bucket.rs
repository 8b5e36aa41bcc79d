//! Asking a shared token bucket: granted and refused, at a given time and with a clock of its own.
//!
//! Where the time is given, it stands still and the burst is larger than the number of calls, so every call changes the
//! state. The floor is one load and one compare-exchange, for a refusal one load and one comparison. With a clock,
//! ours is compared with a peer on the same clock: reading it costs more than most of the rest.

use core::hint::black_box;
use core::num::NonZeroU32;
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
/// Tokens per second where tokens are granted: 1 000 ns apiece, so no peer rounds it.
const RATE: u32 = 1_000_000;
/// An hour past the epoch, where nothing is special.
const NOW_NS: u64 = 3_600_000_000_000;

pub(crate) fn run(criterion: &mut Criterion) {
    for threads in [1, 2] {
        contest(criterion, &[grant(threads)]);
        contest(criterion, &[refuse(threads)]);
    }
    contest(criterion, &[grant_quanta()]);
    contest(criterion, &[refuse_quanta()]);
    contest(criterion, &[grant_instant()]);
    contest(criterion, &[refuse_instant()]);
}

fn grant(threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant at a given time")
        .threads(threads)
        .shared("tollgate", || {
            let bucket = full();
            move || bucket.try_acquire(black_box(now()), black_box(1)).expect("granted")
        })
        .shared("floor", || {
            let word = AtomicU64::new(0);
            move || {
                let now = black_box(NOW_NS);
                let mut seen = word.load(Ordering::Relaxed);
                while let Err(other) = word.compare_exchange_weak(
                    seen,
                    seen.max(now) + black_box(1),
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                ) {
                    seen = other;
                }
            }
        })
        .shared("governor", || {
            let limiter = RateLimiter::direct_with_clock(governor_full(), FakeRelativeClock::default());
            move || limiter.check_n(black_box(ONE)).expect("fits").expect("granted")
        })
        .shared("better-bucket", || {
            let bucket = better_full();
            move || assert!(bucket.acquire_at(black_box(1), black_box(Duration::from_nanos(NOW_NS))).is_allowed())
        })
        .shared("ratelimit", || {
            let limiter = ratelimit_full(Still);
            move || limiter.try_wait_n(black_box(1)).expect("granted")
        })
}

fn refuse(threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse at a given time")
        .threads(threads)
        .shared("tollgate", || {
            let bucket = drained();
            move || {
                let _refused = black_box(bucket.try_acquire(black_box(now()), black_box(1)));
            }
        })
        .shared("floor", || {
            let word = AtomicU64::new(NOW_NS + 1);
            move || {
                let _fits = black_box(word.load(Ordering::Acquire) < black_box(NOW_NS));
            }
        })
        .shared("governor", || {
            let limiter = RateLimiter::direct_with_clock(governor_slow(), FakeRelativeClock::default());
            limiter.check().expect("the first is granted");
            move || {
                let _refused = black_box(limiter.check_n(black_box(ONE)));
            }
        })
        .shared("better-bucket", || {
            let bucket = better_slow();
            move || {
                let _refused = black_box(bucket.acquire_at(black_box(1), black_box(Duration::from_nanos(NOW_NS))));
            }
        })
        .shared("ratelimit", || {
            let limiter = ratelimit_slow(Still);
            move || {
                let _refused = black_box(limiter.try_wait_n(black_box(1)));
            }
        })
}

fn grant_quanta() -> Case<'static> {
    Case::new(GROUP, "grant by quanta's clock")
        .shared("tollgate", || {
            let (bucket, clock) = (full(), Quanta::new());
            move || bucket.try_acquire(clock.now(), black_box(1)).expect("granted")
        })
        .shared("governor", || {
            let limiter = RateLimiter::direct_with_clock(governor_full(), QuantaClock::default());
            move || limiter.check_n(black_box(ONE)).expect("fits").expect("granted")
        })
}

fn refuse_quanta() -> Case<'static> {
    Case::new(GROUP, "refuse by quanta's clock")
        .shared("tollgate", || {
            let (bucket, clock) = (drained(), Quanta::new());
            move || {
                let _refused = black_box(bucket.try_acquire(clock.now(), black_box(1)));
            }
        })
        .shared("governor", || {
            let limiter = RateLimiter::direct_with_clock(governor_slow(), QuantaClock::default());
            limiter.check().expect("the first is granted");
            move || {
                let _refused = black_box(limiter.check_n(black_box(ONE)));
            }
        })
}

fn grant_instant() -> Case<'static> {
    Case::new(GROUP, "grant by the system's clock")
        .shared("tollgate", || {
            let (bucket, clock) = (full(), System::new());
            move || bucket.try_acquire(clock.now(), black_box(1)).expect("granted")
        })
        .shared("better-bucket", || {
            let bucket = better_bucket::Bucket::from_config(better_config(RATE, ENOUGH));
            move || assert!(bucket.acquire(black_box(1)).is_allowed())
        })
        .shared("ratelimit", || {
            let limiter = ratelimit_full(ratelimit::StdClock::new());
            move || limiter.try_wait_n(black_box(1)).expect("granted")
        })
        .shared("leaky-bucket", || {
            let limiter = leaky(usize::MAX / 2, usize::MAX / 2);
            move || assert!(limiter.try_acquire(black_box(1)))
        })
}

fn refuse_instant() -> Case<'static> {
    Case::new(GROUP, "refuse by the system's clock")
        .shared("tollgate", || {
            let (bucket, clock) = (drained(), System::new());
            move || {
                let _refused = black_box(bucket.try_acquire(clock.now(), black_box(1)));
            }
        })
        .shared("better-bucket", || {
            let bucket = better_bucket::Bucket::from_config(better_config(1, 1));
            assert!(bucket.acquire(1).is_allowed());
            move || {
                let _refused = black_box(bucket.acquire(black_box(1)));
            }
        })
        .shared("ratelimit", || {
            let limiter = ratelimit_slow(ratelimit::StdClock::new());
            move || {
                let _refused = black_box(limiter.try_wait_n(black_box(1)));
            }
        })
        .shared("leaky-bucket", || {
            let limiter = leaky(0, 1);
            move || {
                let _refused = black_box(limiter.try_acquire(black_box(1)));
            }
        })
}

const ONE: NonZeroU32 = NonZeroU32::MIN;

const fn now() -> Timestamp {
    Timestamp::from_nanos(NOW_NS)
}

fn full() -> AtomicBucket {
    let quota = Quota::per_second(RATE.into()).burst(ENOUGH.into());
    AtomicBucket::new(quota).expect("a lawful quota")
}

/// Grants once a day, and has done so.
fn drained() -> AtomicBucket {
    let bucket = AtomicBucket::new(Quota::per_day(1).burst(1)).expect("a lawful quota");
    bucket.try_acquire(now(), 1).expect("the first is granted");
    bucket
}

fn governor_full() -> GovernorQuota {
    GovernorQuota::per_second(RATE.try_into().expect("not zero")).allow_burst(ENOUGH.try_into().expect("not zero"))
}

fn governor_slow() -> GovernorQuota {
    GovernorQuota::with_period(DAY).expect("not zero")
}

const DAY: Duration = Duration::from_secs(86_400);

fn better_config(per_second: u32, burst: u32) -> BucketConfig {
    BucketConfig::new(burst, per_second, if burst == 1 { DAY } else { Duration::from_secs(1) }, burst)
        .expect("a lawful config")
}

fn better_full() -> BucketCore {
    BucketCore::new(better_config(RATE, ENOUGH), Duration::from_nanos(NOW_NS))
}

fn better_slow() -> BucketCore {
    let bucket = BucketCore::new(better_config(1, 1), Duration::from_nanos(NOW_NS));
    assert!(bucket.try_acquire_at(1, Duration::from_nanos(NOW_NS)));
    bucket
}

fn ratelimit_full<C: ratelimit::Clock>(clock: C) -> ratelimit::Ratelimiter<C> {
    ratelimit::Builder::with_clock(RATE.into(), clock)
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
    start: quanta::Instant,
}

impl Quanta {
    fn new() -> Self {
        let clock = quanta::Clock::new();
        let start = clock.now();
        Self { clock, start }
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO.saturating_add(self.clock.now().duration_since(self.start))
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
