//! Asking a table of token buckets by key, keys in random order, all of them known and none of them idle.
//!
//! Each thread draws its keys from a generator of its own, the same for all entrants, so that at a million keys nearly
//! every call finds its entry out of the cache. A key is granted whenever it asks, and each grant changes its state.
//! `grant` gives the time to ours and lets governor read its own fake clock, which is one load; in `grant-quanta` both
//! read the same clock, governor's default. Hashers are the default of both, which is the same `SipHash`, and so is
//! governor's store, a `DashMap`. In `churn` ours holds a tenth of the keys it is asked for: nearly every call is a
//! newcomer that has somebody evicted. governor, which evicts nobody until told to, has them all.

use core::cell::Cell;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use criterion::Criterion;
use governor::clock::{Clock, FakeRelativeClock, QuantaClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota as GovernorQuota, RateLimiter};
use tollgate::Timestamp;
use tollgate::rate::{Quota, ShardedKeyed, WhenFull};
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "keyed";
/// More than any key will ask for.
const ENOUGH: u32 = 4_000_000_000;
/// An hour past the epoch, where nothing is special.
const NOW_NS: u64 = 3_600_000_000_000;
const SIZES: [u32; 2] = [100_000, 1_000_000];
/// All of it near the processor.
const SMALL: u32 = 1_000;

pub(crate) fn run(criterion: &mut Criterion) {
    for size in SIZES {
        for threads in [1, 2] {
            contest(criterion, &[grant(size, threads)]);
            contest(criterion, &[grant_quanta(size, threads)]);
        }
    }
    contest(criterion, &[grant(SMALL, 1)]);
    contest(criterion, &[churn()]);
}

fn grant(size: u32, threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant")
        .threads(threads)
        .size(size)
        .shared("tollgate", move || {
            let table = ours(size);
            move |ordinal| {
                let now = Timestamp::from_nanos(NOW_NS + u64::from(ordinal));
                table.try_acquire(now, &next_key(size), 1).expect("granted");
            }
        })
        .shared("governor-fake", move || {
            let table = governors(size, FakeRelativeClock::default());
            move |_| {
                table.check_key(&next_key(size)).expect("granted");
            }
        })
}

fn grant_quanta(size: u32, threads: u32) -> Case<'static> {
    Case::new(GROUP, "grant-quanta")
        .threads(threads)
        .size(size)
        .shared("tollgate", move || {
            let (table, clock) = (ours(size), quanta::Clock::new());
            let start = clock.raw();
            move |_| {
                let now = Timestamp::from_nanos(clock.delta_as_nanos(start, clock.raw()));
                table.try_acquire(now, &next_key(size), 1).expect("granted");
            }
        })
        .shared("governor-quanta", move || {
            let table = governors(size, QuantaClock::default());
            move |_| {
                table.check_key(&next_key(size)).expect("granted");
            }
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
            let table = governors(KEYS, FakeRelativeClock::default());
            move |_| {
                table.check_key(&next_key(KEYS)).expect("granted");
            }
        })
}

/// With room for a tenth more, so that no shard is full; a token takes a second, so that nobody recovers.
fn ours(size: u32) -> ShardedKeyed<u64> {
    let quota = Quota::per_second(1).burst(ENOUGH.into());
    let table =
        ShardedKeyed::new(quota, size + (size / 10).max(SMALL), WhenFull::Refuse).expect("a lawful table");
    for number in 0..size {
        table.try_acquire(Timestamp::from_nanos(NOW_NS), &key(number), 1).expect("there is room");
    }
    table
}

type Governor<C> =
    RateLimiter<u64, DashMapStateStore<u64>, C, governor::middleware::NoOpMiddleware<<C as Clock>::Instant>>;

fn governors<C: Clock>(size: u32, clock: C) -> Governor<C> {
    let quota = GovernorQuota::per_second(NonZeroU32::MIN).allow_burst(ENOUGH.try_into().expect("not zero"));
    let table = RateLimiter::dashmap_with_clock(quota, clock);
    for number in 0..size {
        table.check_key(&key(number)).expect("granted");
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
