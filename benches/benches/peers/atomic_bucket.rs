//! Asking a shared token bucket: granted and refused, at a given time and with a clock of its own.
//!
//! Where the time is given, a nanosecond passes from call to call (none on the peers' own fake clocks, which cost more
//! to move than to read); a token takes longer to accrue and the burst is larger than the number of calls, so every
//! call changes the state. A call costs 1, as a request does. The floor is one load and one compare-exchange, for a refusal one load and one comparison. With a clock,
//! ours is compared with a peer on the same clock: reading it costs more than most of the rest.

mod setup;

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};

use criterion::Criterion;
use governor::RateLimiter;
use governor::clock::{FakeRelativeClock, QuantaClock};
use throttle_net::{ManualClock, SystemClock};
use tollgate_benches::{Case, run as contest};

use setup::{
    ENOUGH, NOW_NS, Quanta, Still, System, at, at_duration, better_config, better_full, better_slow, drained,
    full, governor_full, governor_slow, leaky, ratelimit_full, ratelimit_slow, throttle_full, throttle_slow,
};

const GROUP: &str = "atomic_bucket";
/// Tokens per second: 1 000 ns apiece, the easiest of all rates.
const RATE: u32 = 1_000_000;
/// Tokens per second, where a token is no whole number of nanoseconds; some peers round it.
const ODD_RATE: u32 = 3_333_331;

pub(crate) fn run(criterion: &mut Criterion) {
    for threads in [1, 2] {
        contest(criterion, &[grant("grant", threads, RATE)]);
        contest(criterion, &[refuse(threads)]);
        contest(criterion, &[grant_quanta(threads)]);
        contest(criterion, &[refuse_quanta(threads)]);
        contest(criterion, &[grant_instant(threads)]);
        contest(criterion, &[refuse_instant(threads)]);
    }
    contest(criterion, &[grant("grant-odd-rate", 1, ODD_RATE)]);
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
        .shared("throttle-net-manual", move || {
            let limiter = throttle_full(rate, ManualClock::new());
            move |_| assert!(limiter.try_acquire())
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
        .shared("throttle-net-manual", || {
            let limiter = throttle_slow(ManualClock::new());
            move |_| {
                let _refused = black_box(limiter.try_acquire());
            }
        })
}

fn grant_quanta(threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant-quanta")
        .threads(threads)
        .shared("tollgate", || {
            let (bucket, clock) = (full(RATE), Quanta::new());
            move |_| bucket.try_acquire(clock.now(), 1).expect("granted")
        })
        .shared("governor-quanta", || {
            let limiter = RateLimiter::direct_with_clock(governor_full(RATE), QuantaClock::default());
            move |_| limiter.check().expect("granted")
        })
}

fn refuse_quanta(threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse-quanta")
        .threads(threads)
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

fn grant_instant(threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant-instant")
        .threads(threads)
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
        .shared("throttle-net", || {
            let limiter = throttle_full(RATE, SystemClock::new());
            move |_| assert!(limiter.try_acquire())
        })
}

fn refuse_instant(threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse-instant")
        .threads(threads)
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
        .shared("throttle-net", || {
            let limiter = throttle_slow(SystemClock::new());
            move |_| {
                let _refused = black_box(limiter.try_acquire());
            }
        })
}
