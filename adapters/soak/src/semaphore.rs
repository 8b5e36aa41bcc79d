//! Rounds of the semaphore.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use tokio::runtime::Runtime;
use tollgate_async::Semaphore;

use crate::crowd::{Crowd, add, counters, hold, some_of};
use crate::{Chance, Tally};

const MOST: u32 = 6;

pub(crate) fn round(runtime: &Runtime, seed: u64, until: Instant) -> Result<Tally> {
    let semaphore = Arc::new(Semaphore::growing(4));
    let counters = counters();
    let closes = Chance::new(seed).once_in(2);
    let (of_tasks, seen) = (Arc::clone(&semaphore), Arc::clone(&counters));
    let task = move |mut chance: Chance| {
        let (semaphore, counters) = (Arc::clone(&of_tasks), Arc::clone(&seen));
        async move {
            if chance.once_in(40) {
                // Hardly ever below the largest request, behind which all others wait then.
                let least = if chance.once_in(20) { 1 } else { 3 };
                let limit = least + chance.below(u64::from(MOST) - least + 1);
                drop(semaphore.set_limit(usize::try_from(limit).unwrap_or(1)));
            }
            let n = 1 + chance.small(3);
            add(&counters.asked, 1);
            match some_of(&mut chance, semaphore.acquire_many(n)).await {
                Some(Ok(permit)) => {
                    counters.enter(n.into());
                    hold(&mut chance).await;
                    counters.exit(n.into());
                    drop(permit);
                }
                Some(Err(_)) => hold(&mut chance).await,
                None => add(&counters.left, 1),
            }
            end(&semaphore, until, closes);
        }
    };
    let (of_threads, seen) = (Arc::clone(&semaphore), Arc::clone(&counters));
    let thread = move |chance: &mut Chance| {
        add(&seen.asked, 1);
        if let Ok(permit) = of_threads.blocking_acquire_timeout(1, chance.micros(3_000)) {
            seen.enter(1);
            seen.exit(1);
            drop(permit);
        }
        end(&of_threads, until, closes);
    };
    Crowd { tasks: 48, threads: 2, task, thread, seed }.run(runtime, until)?;
    let (in_use, waiters) = (semaphore.in_use(), semaphore.num_waiters());
    ensure!((in_use, waiters) == (0, 0), "{in_use} in use, {waiters} waiting");
    counters.check(MOST.into())
}

/// At the end nobody may wait for a limit that nobody will raise.
fn end(semaphore: &Semaphore, until: Instant, closes: bool) {
    if Instant::now() < until {
        return;
    }
    if closes {
        semaphore.close();
    }
    drop(semaphore.set_limit(usize::try_from(MOST).unwrap_or(1)));
}
