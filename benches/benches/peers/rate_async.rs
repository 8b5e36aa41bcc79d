//! Waiting for a token of which there are enough: what an async rate limiter costs when nobody has to wait.
//!
//! Polled by hand, once. governor reads the processor's counter, all others the clock of the system. `blocked` begins to wait for
//! a token that comes tomorrow, and gives up: a place in line and a timer set, and both given back. It is measured in the runtime
//! whose timer that is; governor, which sleeps on a timer of its own in a thread of its own, is left out there.

use core::hint::black_box;
use core::num::NonZeroU32;
use core::pin::pin;
use core::time::Duration;

use criterion::Criterion;
use governor::{Quota as GovernorQuota, RateLimiter as Governor};
use tokio::runtime::{Builder, Runtime};
use tollgate_async::rate::Quota;
use tollgate_benches::{Case, run as contest};
use tollgate_tokio::RateLimiter;

use crate::poll::{at_once, ready};

const GROUP: &str = "rate_async";
const ENOUGH: u32 = 4_000_000_000;
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn run(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime of this thread");
    for threads in [1, 2] {
        contest(criterion, &[acquire(&runtime, threads)]);
    }
    contest(criterion, &[blocked(&runtime)]);
}

fn acquire(runtime: &Runtime, threads: u32) -> Case<'_> {
    Case::new(GROUP, "acquire-instant")
        .threads(threads)
        .shared("tollgate", || {
            let _runtime = runtime.enter();
            let quota = Quota::per_second(1_000_000).burst(ENOUGH.into());
            let limiter = RateLimiter::new(quota).expect("a lawful quota");
            move |_| at_once(limiter.until_ready()).expect("granted")
        })
        .shared("governor-quanta", || {
            let rate = NonZeroU32::new(1_000_000).expect("not zero");
            let limiter = Governor::direct(
                GovernorQuota::per_second(rate).allow_burst(ENOUGH.try_into().expect("not zero")),
            );
            move |_| at_once(limiter.until_ready())
        })
        .shared("throttle-net", || {
            let limiter = throttle_net::Throttle::builder().per_second(1_000_000).burst(ENOUGH).build();
            move |_| at_once(limiter.acquire()).expect("granted")
        })
        .shared("leaky-bucket", || {
            let _runtime = runtime.enter();
            let plenty = usize::MAX / 2;
            let limiter = leaky_bucket::RateLimiter::builder()
                .initial(plenty)
                .max(plenty)
                .refill(1)
                .interval(DAY)
                .build();
            move |_| at_once(limiter.acquire_one())
        })
}

fn blocked(runtime: &Runtime) -> Case<'_> {
    Case::new(GROUP, "blocked-instant")
        .alone("tollgate", move || {
            let entered = runtime.enter();
            let limiter = RateLimiter::new(Quota::per_day(1).burst(1)).expect("a lawful quota");
            limiter.try_acquire(1).expect("the first is granted");
            drop(entered);
            move |_| {
                let _runtime = runtime.enter();
                assert!(black_box(ready(pin!(limiter.until_ready()))).is_none());
            }
        })
        .alone("leaky-bucket", move || {
            let entered = runtime.enter();
            let limiter =
                leaky_bucket::RateLimiter::builder().initial(0).max(1).refill(1).interval(DAY).build();
            drop(entered);
            move |_| {
                let _runtime = runtime.enter();
                assert!(black_box(ready(pin!(limiter.acquire_one()))).is_none());
            }
        })
        .alone("throttle-net", move || {
            let limiter = throttle_net::Throttle::builder().rate(1, DAY).burst(1).build();
            assert!(limiter.try_acquire());
            move |_| {
                let _runtime = runtime.enter();
                assert!(black_box(ready(pin!(limiter.acquire()))).is_none());
            }
        })
}
