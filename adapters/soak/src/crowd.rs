//! Tasks and threads that do the same until it is over, futures that are left part-way, and who is inside at once.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use crate::{Chance, Tally};

/// Whoever is not over so long after the end never will be.
const PATIENCE: Duration = Duration::from_secs(20);

/// What all of a round count, by all of them.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) asked: AtomicU64,
    pub(crate) granted: AtomicU64,
    pub(crate) left: AtomicU64,
    inside: AtomicU64,
    most: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::SeqCst);
}

impl Counters {
    /// So much is inside, besides what was.
    pub(crate) fn enter(&self, weight: u64) {
        add(&self.granted, 1);
        let inside = self.inside.fetch_add(weight, Ordering::SeqCst) + weight;
        self.most.fetch_max(inside, Ordering::SeqCst);
    }

    /// So much is about to come back.
    pub(crate) fn exit(&self, weight: u64) {
        self.inside.fetch_sub(weight, Ordering::SeqCst);
    }

    /// Nobody is inside, and there were never more than `limit`.
    pub(crate) fn check(&self, limit: u64) -> Result<Tally> {
        let (inside, most) = (self.inside.load(Ordering::SeqCst), self.most.load(Ordering::SeqCst));
        ensure!(inside == 0, "{inside} are inside at the end");
        ensure!(most <= limit, "{most} were inside at once, of {limit}");
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Ok(Tally { asked: read(&self.asked), granted: read(&self.granted), left: read(&self.left) })
    }
}

/// What everybody does.
pub(crate) struct Crowd<T, H> {
    pub(crate) tasks: u64,
    pub(crate) threads: u64,
    pub(crate) task: T,
    pub(crate) thread: H,
    /// Done once near the end: closing, or waking who waits for ever.
    pub(crate) seed: u64,
}

impl<T, H> Crowd<T, H> {
    /// Runs until `until`, and waits for all.
    pub(crate) fn run<F>(self, runtime: &Runtime, until: Instant) -> Result<()>
    where
        T: Fn(Chance) -> F + Clone + Send + 'static,
        F: Future<Output = ()> + Send,
        H: Fn(&mut Chance) + Clone + Send + 'static,
    {
        let seed = self.seed;
        let chance = |number: u64| Chance::new(seed.wrapping_mul(1_000).wrapping_add(number));
        let tasks: Vec<_> = (0..self.tasks)
            .map(|number| {
                let (task, mut chance) = (self.task.clone(), chance(number));
                runtime.spawn(async move {
                    while Instant::now() < until {
                        task(Chance::new(chance.below(u64::MAX))).await;
                    }
                })
            })
            .collect();
        let threads: Vec<_> = (0..self.threads)
            .map(|number| {
                let (thread, mut chance) = (self.thread.clone(), chance(500 + number));
                thread::spawn(move || {
                    while Instant::now() < until {
                        thread(&mut chance);
                    }
                })
            })
            .collect();
        let mut stuck = 0;
        runtime.block_on(async {
            let end = until + PATIENCE;
            for task in tasks {
                let left = end.saturating_duration_since(Instant::now());
                match timeout(left, task).await {
                    Ok(Ok(())) => {}
                    Ok(Err(panicked)) => bail!("a task panicked: {panicked}"),
                    Err(_) => stuck += 1,
                }
            }
            Ok(())
        })?;
        ensure!(stuck == 0, "{stuck} tasks wait for ever");
        for thread in threads {
            while !thread.is_finished() {
                ensure!(Instant::now() < until + PATIENCE, "a thread waits for ever");
                thread::sleep(Duration::from_millis(1));
            }
            ensure!(thread.join().is_ok(), "a thread panicked");
        }
        Ok(())
    }
}

/// Polls a future as most do; or leaves it, after a few polls, or when it has been parked for a while; `None` if it left.
pub(crate) async fn some_of<F: Future>(chance: &mut Chance, future: F) -> Option<F::Output> {
    match chance.below(8) {
        0 => {
            let mut left = 1 + chance.below(3);
            let mut future = pin!(future);
            poll_fn(|context| {
                left -= 1;
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => Poll::Ready(Some(value)),
                    Poll::Pending if left == 0 => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await
        }
        1 => timeout(chance.micros(2_000), future).await.ok(),
        2 => {
            let mut future = pin!(future);
            let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            sleep(chance.micros(4_000)).await;
            match first {
                Poll::Ready(value) => Some(value),
                Poll::Pending => None,
            }
        }
        _ => Some(future.await),
    }
}

/// Holds what it has for a moment.
pub(crate) async fn hold(chance: &mut Chance) {
    match chance.below(10) {
        0 => sleep(chance.micros(1_500)).await,
        1..=5 => tokio::task::yield_now().await,
        _ => {}
    }
}

/// Counters that all share.
pub(crate) fn counters() -> Arc<Counters> {
    Arc::default()
}
