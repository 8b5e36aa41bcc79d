//! Rounds of the rate limiter.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use tokio::runtime::Runtime;
use tollgate_tokio::RateLimiter;
use tollgate_tokio::rate::{Inherit, Quota};

use crate::crowd::{Crowd, add, counters, some_of};
use crate::{Chance, Tally};

const FASTEST: u64 = 40_000;
const BURST: u64 = 40;

pub(crate) fn round(runtime: &Runtime, seed: u64, until: Instant) -> Result<Tally> {
    let entered = runtime.enter();
    let begin = Instant::now();
    let limiter = RateLimiter::new(Quota::per_second(FASTEST).burst(BURST))?;
    let counters = counters();
    let passed = Arc::new(core::sync::atomic::AtomicU64::new(0));
    let (of_tasks, seen, sum) = (limiter.clone(), Arc::clone(&counters), Arc::clone(&passed));
    let task = move |mut chance: Chance| {
        let (limiter, counters, passed) = (of_tasks.clone(), Arc::clone(&seen), Arc::clone(&sum));
        async move {
            if chance.once_in(60) {
                let quota = Quota::per_second(FASTEST / (1 + chance.below(4))).burst(BURST);
                drop(limiter.set_quota(quota, Inherit::AsIs));
            }
            let cost = 1 + chance.below(9);
            add(&counters.asked, 1);
            let deadline = if chance.once_in(2) { Some(chance.micros(3_000)) } else { None };
            let by =
                deadline.map_or(tollgate_async::Timestamp::MAX, |left| limiter.now().saturating_add(left));
            match some_of(&mut chance, limiter.acquire_by(cost, by)).await {
                Some(Ok(())) => {
                    add(&passed, cost);
                    counters.enter(0);
                }
                Some(Err(_)) => tokio::task::yield_now().await,
                None => add(&counters.left, 1),
            }
        }
    };
    let (of_threads, seen, sum) = (limiter.clone(), Arc::clone(&counters), Arc::clone(&passed));
    let thread = move |chance: &mut Chance| {
        add(&seen.asked, 1);
        let by = of_threads.now().saturating_add(chance.micros(3_000));
        if of_threads.acquire_blocking(1, by).is_ok() {
            add(&sum, 1);
            seen.enter(0);
        }
    };
    Crowd { tasks: 48, threads: 2, task, thread, seed }.run(runtime, until)?;
    drop(entered);
    ensure!(limiter.num_waiters() == 0, "{} waiting", limiter.num_waiters());
    let passed = passed.load(core::sync::atomic::Ordering::SeqCst);
    let most = u128::from(BURST)
        + begin.elapsed().as_nanos() * u128::from(FASTEST) / Duration::from_secs(1).as_nanos();
    ensure!(u128::from(passed) <= most, "{passed} passed, of {most}");
    counters.check(0)
}
