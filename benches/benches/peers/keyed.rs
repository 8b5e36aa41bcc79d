//! Asking a table of token buckets by key, keys in random order, all of them known and none of them idle.
//!
//! Each thread draws its keys from a generator of its own, the same for all entrants, so that at a million keys nearly
//! every call finds its entry out of the cache. A key is granted whenever it asks, and each grant changes its state.
//! `grant` gives the time to ours and lets governor read its own fake clock, which is one load; in `grant-quanta` both
//! read the same clock, governor's default. Hashers are the default of both, which is the same `SipHash`, and so is
//! governor's store, a `DashMap`; throttle-net hashes with `ahash`, which is faster and resists chosen keys less. In `churn` ours holds a tenth of the keys it is asked for: nearly every call is a
//! newcomer that has somebody evicted. governor, which evicts nobody until told to, has them all.

use core::cell::Cell;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::time::Instant;

use criterion::Criterion;
use governor::clock::{Clock, FakeRelativeClock, QuantaClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota as GovernorQuota, RateLimiter};
use throttle_net::{Eviction, ManualClock, PerKey, SystemClock};
use tollgate::Timestamp;
use tollgate::rate::{Quota, ShardedKeyed, WhenFull};
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "keyed";
/// More than any key will ask for.
const ENOUGH: u32 = 4_000_000_000;
/// An hour past the epoch, where nothing is special.
const NOW_NS: u64 = 3_600_000_000_000;
/// From all of it near the processor to hardly any of it.
const SIZES: [u32; 4] = [10, 1_000, 100_000, 1_000_000];
/// What is looked at more closely.
const LARGE: [u32; 2] = [100_000, 1_000_000];
/// Shards of ours fill up unevenly: at least so much room more than keys.
const SPARE: u32 = 1_000;
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn run(criterion: &mut Criterion) {
    for size in SIZES {
        contest(criterion, &[grant(size, 1)]);
    }
    for size in LARGE {
        contest(criterion, &[grant(size, 2)]);
        for threads in [1, 2] {
            contest(criterion, &[grant_quanta(size, threads)]);
            contest(criterion, &[refuse(size, threads)]);
        }
        contest(criterion, &[grant_instant(size)]);
    }
    contest(criterion, &[churn()]);
}

fn grant(size: u32, threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant")
        .threads(threads)
        .size(size)
        .shared("tollgate", move || {
            let table = ours(size, plenty());
            move |ordinal| {
                let now = Timestamp::from_nanos(NOW_NS + u64::from(ordinal));
                table.try_acquire(now, &next_key(size), 1).expect("granted");
            }
        })
        .shared("governor-fake", move || {
            let table = governors(size, governors_plenty(), FakeRelativeClock::default());
            move |_| {
                table.check_key(&next_key(size)).expect("granted");
            }
        })
        .shared("throttle-net-manual", move || {
            let table = throttles(size, 1, ENOUGH, ManualClock::new());
            move |_| assert!(table.try_acquire(&next_key(size)))
        })
}

/// Every key was granted its one token of the day.
fn refuse(size: u32, threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse")
        .threads(threads)
        .size(size)
        .shared("tollgate", move || {
            let table = ours(size, Quota::per_day(1).burst(1));
            move |ordinal| {
                let now = Timestamp::from_nanos(NOW_NS + u64::from(ordinal));
                table.try_acquire(now, &next_key(size), 1).expect_err("refused");
            }
        })
        .shared("governor-fake", move || {
            let quota = GovernorQuota::with_period(DAY).expect("not zero");
            let table = governors(size, quota, FakeRelativeClock::default());
            move |_| {
                table.check_key(&next_key(size)).expect_err("refused");
            }
        })
        .shared("throttle-net-manual", move || {
            let table = throttles(size, 1, 1, ManualClock::new());
            move |_| assert!(!table.try_acquire(&next_key(size)))
        })
}

fn grant_quanta(size: u32, threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant-quanta")
        .threads(threads)
        .size(size)
        .shared("tollgate", move || {
            let (table, clock) = (ours(size, plenty()), quanta::Clock::new());
            let start = clock.raw();
            move |_| {
                let now = Timestamp::from_nanos(clock.delta_as_nanos(start, clock.raw()));
                table.try_acquire(now, &next_key(size), 1).expect("granted");
            }
        })
        .shared("governor-quanta", move || {
            let table = governors(size, governors_plenty(), QuantaClock::default());
            move |_| {
                table.check_key(&next_key(size)).expect("granted");
            }
        })
}

/// With the clock of the system, which throttle-net reads.
fn grant_instant(size: u32) -> Case<'static> {
    Case::new(GROUP, "grant-instant")
        .size(size)
        .shared("tollgate", move || {
            let (table, epoch) = (ours(size, plenty()), Instant::now());
            move |_| {
                let now = Timestamp::from_instant(Instant::now(), epoch);
                table.try_acquire(now, &next_key(size), 1).expect("granted");
            }
        })
        .shared("throttle-net", move || {
            let table = throttles(size, 1, ENOUGH, SystemClock::new());
            move |_| assert!(table.try_acquire(&next_key(size)))
        })
}

fn churn() -> Case<'static> {
    const KEYS: u32 = 1_000_000;
    Case::new(GROUP, "churn")
        .size(KEYS)
        .shared("tollgate", || {
            // A token takes a nanosecond: whoever was granted has recovered by the next call.
            let quota = Quota::new(1, Duration::from_nanos(1));
            let table = ShardedKeyed::<u64>::new(quota, KEYS / 10, WhenFull::Refuse).expect("a lawful table");
            let clock = AtomicU64::new(NOW_NS);
            move |_| {
                let now = Timestamp::from_nanos(clock.fetch_add(1_000, Ordering::Relaxed));
                table.try_acquire(now, &next_key(KEYS), 1).expect("granted");
            }
        })
        .shared("governor-fake", || {
            let table = governors(KEYS, governors_plenty(), FakeRelativeClock::default());
            move |_| {
                table.check_key(&next_key(KEYS)).expect("granted");
            }
        })
}

/// A token takes a second, so that nobody recovers.
const fn plenty() -> Quota {
    Quota::per_second(1).burst(ENOUGH as u64)
}

fn governors_plenty() -> GovernorQuota {
    GovernorQuota::per_second(NonZeroU32::MIN).allow_burst(ENOUGH.try_into().expect("not zero"))
}

/// With room for a tenth more, so that no shard is full.
fn ours(size: u32, quota: Quota) -> ShardedKeyed<u64> {
    let table =
        ShardedKeyed::new(quota, size + (size / 10).max(SPARE), WhenFull::Refuse).expect("a lawful table");
    for number in 0..size {
        table.try_acquire(Timestamp::from_nanos(NOW_NS), &key(number), 1).expect("there is room");
    }
    table
}

type Governor<C> =
    RateLimiter<u64, DashMapStateStore<u64>, C, governor::middleware::NoOpMiddleware<<C as Clock>::Instant>>;

fn governors<C: Clock>(size: u32, quota: GovernorQuota, clock: C) -> Governor<C> {
    let table = RateLimiter::dashmap_with_clock(quota, clock);
    for number in 0..size {
        table.check_key(&key(number)).expect("granted");
    }
    table
}

/// So many tokens a day, which is too few for anybody to recover.
fn throttles<C: throttle_net::Clock>(size: u32, a_day: u32, burst: u32, clock: C) -> PerKey<u64, C> {
    let eviction = Eviction::unbounded();
    let table = PerKey::builder().rate(a_day, DAY).burst(burst).eviction(eviction).clock(clock).build();
    for number in 0..size {
        assert!(table.try_acquire(&key(number)));
    }
    table
}

/// The keys are numbers from all of `u64`.
const fn key(number: u32) -> u64 {
    mixed(number as u64)
}

thread_local! {
    static DRAWN: Cell<u64> = {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        Cell::new(mixed(THREADS.fetch_add(1, Ordering::Relaxed)))
    };
}

/// One of the keys, each as likely.
fn next_key(size: u32) -> u64 {
    DRAWN.with(|drawn| {
        let next = drawn.get().wrapping_add(1);
        drawn.set(next);
        key((((mixed(next) >> 32) * u64::from(size)) >> 32) as u32)
    })
}

/// splitmix64.
const fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
