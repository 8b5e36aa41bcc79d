//! Rounds of the adaptive limiter.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use tokio::runtime::Runtime;
use tollgate_tokio::Limiter;
use tollgate_tokio::adapt::{Aimd, AimdSettings, LimiterSettings};

use crate::crowd::{Crowd, add, counters, hold, some_of};
use crate::{Chance, Tally};

const MOST: u32 = 8;

pub(crate) fn round(runtime: &Runtime, seed: u64, until: Instant) -> Result<Tally> {
    let entered = runtime.enter();
    let aimd = Aimd::new(AimdSettings { min: 1, initial: 4, max: MOST, ..AimdSettings::default() })?;
    let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
    let limiter = Limiter::new(aimd, settings)?;
    let counters = counters();
    let (of_tasks, seen) = (limiter.clone(), Arc::clone(&counters));
    let task = move |mut chance: Chance| {
        let (limiter, counters) = (of_tasks.clone(), Arc::clone(&seen));
        async move {
            add(&counters.asked, 1);
            let deadline = limiter.now().saturating_add(chance.micros(5_000));
            match some_of(&mut chance, limiter.acquire_by(None, deadline)).await {
                Some(Ok(permit)) => {
                    counters.enter(1);
                    hold(&mut chance).await;
                    counters.exit(1);
                    match chance.below(8) {
                        0 => permit.dropped(),
                        1 => permit.ignore(),
                        2 => drop(permit),
                        _ => permit.success(),
                    }
                }
                Some(Err(_)) => tokio::task::yield_now().await,
                None => add(&counters.left, 1),
            }
        }
    };
    let (of_threads, seen) = (limiter.clone(), Arc::clone(&counters));
    let thread = move |chance: &mut Chance| {
        add(&seen.asked, 1);
        let deadline = of_threads.now().saturating_add(chance.micros(3_000));
        if let Ok(permit) = of_threads.acquire_blocking(None, 1, deadline) {
            seen.enter(1);
            seen.exit(1);
            permit.success();
        }
    };
    Crowd { tasks: 48, threads: 2, task, thread, seed }.run(runtime, until)?;
    drop(entered);
    let (in_flight, waiters) = (limiter.stats().in_flight, limiter.num_waiters());
    ensure!((in_flight, waiters) == (0, 0), "{in_flight} in flight, {waiters} waiting");
    counters.check(MOST.into())
}
