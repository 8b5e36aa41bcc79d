//! A client that finds out how many requests at once a server can do with.
//!
//! The server works on eight at a time and makes the rest wait; nobody has told the client. Forty callers keep asking for a
//! second and a half, some of them important: they have half of the limit for sure.

use core::error::Error;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tollgate_async_std::adapt::{LimiterSettings, PartitionId, Share, Vegas, VegasSettings};
use tollgate_async_std::{AsyncStd, Limiter, Runtime};

const IMPORTANT: PartitionId = PartitionId(1);

#[derive(Clone)]
struct Client {
    runtime: AsyncStd,
    limiter: Limiter<Vegas>,
    /// The server, as far as we pretend to have one: how many requests are there.
    server: Arc<AtomicU32>,
}

impl Client {
    async fn request(&self, class: Option<PartitionId>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let patience = self.runtime.now().saturating_add(Duration::from_millis(300));
        let permit = self.limiter.acquire_by(class, patience).await?;
        let there = self.server.fetch_add(1, Ordering::Relaxed) + 1;
        let takes = Duration::from_micros(5_000 * u64::from(there.max(8)) / 8);
        let in_time = async_std::future::timeout(Duration::from_millis(100), async_std::task::sleep(takes))
            .await
            .is_ok();
        self.server.fetch_sub(1, Ordering::Relaxed);
        // How it ended is what the limit is learnt from. Dropping the permit would say nothing.
        if in_time {
            permit.success();
        } else {
            permit.dropped();
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    async_std::task::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let runtime = AsyncStd::new();
    let vegas = Vegas::new(VegasSettings::default())?;
    let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
    let half = Share { partition: IMPORTANT, share_ppm: 500_000, pause: Duration::ZERO };
    let limiter = Limiter::with_runtime(runtime.clone(), vegas, settings, &[half], 1, 1_000)?;
    let client = Client { runtime, limiter, server: Arc::default() };

    let until = client.runtime.now().saturating_add(Duration::from_millis(1_500));
    let mut tasks = vec![];
    for caller in 0..40 {
        let client = client.clone();
        tasks.push(async_std::task::spawn(async move {
            let class = (caller < 10).then_some(IMPORTANT);
            let (mut served, mut refused) = (0, 0);
            while client.runtime.now() < until {
                match client.request(class).await {
                    Ok(()) => served += 1,
                    Err(_) => refused += 1,
                }
            }
            (class, served, refused)
        }));
    }
    while client.runtime.now() < until {
        async_std::task::sleep(Duration::from_millis(250)).await;
        let stats = client.limiter.stats();
        println!(
            "limit {:3}, in flight {:3}, waiting {:3}, mean {:.1?}",
            stats.limit,
            stats.in_flight,
            client.limiter.num_waiters(),
            stats.mean_rtt.unwrap_or_default(),
        );
    }
    let (mut important, mut others) = ((0, 0), (0, 0));
    for task in tasks {
        let (class, served, refused) = task.await;
        let sum = if class.is_some() { &mut important } else { &mut others };
        *sum = (sum.0 + served, sum.1 + refused);
    }
    println!("ten important callers: {} served, {} refused", important.0, important.1);
    println!("thirty others:         {} served, {} refused", others.0, others.1);
    Ok(())
}
