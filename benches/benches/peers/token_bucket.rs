//! Asking a token bucket that one caller has to itself, at a given time.
//!
//! The floor is a counter that is compared and added to.

use core::hint::black_box;

use criterion::Criterion;
use tollgate::Timestamp;
use tollgate::rate::{Quota, TokenBucket};
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "token_bucket";
const ENOUGH: u64 = 1 << 50;
const NOW_NS: u64 = 3_600_000_000_000;
const DAY_NS: u64 = 86_400_000_000_000;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &[grant()]);
    contest(criterion, &[refuse()]);
}

/// Time goes on by a nanosecond a call, so that every call has something to refill.
fn grant() -> Case<'static> {
    Case::new(GROUP, "grant")
        .alone("tollgate", || {
            let mut bucket =
                TokenBucket::new(Quota::per_second(1_000_000).burst(ENOUGH)).expect("a lawful quota");
            let mut now_ns = NOW_NS;
            move |_| {
                now_ns += 1;
                bucket.try_acquire(Timestamp::from_nanos(now_ns), black_box(1)).expect("granted");
            }
        })
        .alone("floor", || {
            let mut consumed = 0_u64;
            move |_| {
                assert!(black_box(consumed) < ENOUGH);
                consumed += black_box(1);
            }
        })
        .alone("reliakit", || {
            let mut limiter = reliakit_ratelimit::RateLimiter::new(ENOUGH, 1, 1_000);
            let mut now_ns = NOW_NS;
            move |_| {
                now_ns += 1;
                assert!(limiter.try_acquire(now_ns, black_box(1)));
            }
        })
}

/// A refusal that says when to come back.
fn refuse() -> Case<'static> {
    Case::new(GROUP, "refuse")
        .alone("tollgate", || {
            let mut bucket = TokenBucket::new(Quota::per_day(1).burst(1)).expect("a lawful quota");
            bucket.try_acquire(Timestamp::from_nanos(NOW_NS), 1).expect("the first is granted");
            let mut now_ns = NOW_NS;
            move |_| {
                now_ns += 1;
                let _refused = black_box(bucket.try_acquire(Timestamp::from_nanos(now_ns), black_box(1)));
            }
        })
        .alone("floor", || {
            let consumed = 1_u64;
            move |_| {
                let _fits = black_box(black_box(consumed) < black_box(1));
            }
        })
        .alone("reliakit", || {
            let mut limiter = reliakit_ratelimit::RateLimiter::new(1, 1, DAY_NS);
            assert!(limiter.try_acquire(NOW_NS, 1));
            let mut now_ns = NOW_NS;
            move |_| {
                now_ns += 1;
                let _granted = black_box(limiter.try_acquire(now_ns, black_box(1)));
                let _retry = black_box(limiter.retry_after(now_ns, black_box(1)));
            }
        })
}
