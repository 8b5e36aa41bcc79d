//! A database behind two limits: at most 100 rows a second on average, at most 4 queries at once.
//!
//! Sixty callers come at about the same time. Each says how long it can wait; whoever cannot be served by then is told at once,
//! and takes nothing from the others.

use core::error::Error;
use core::time::Duration;

use tollgate_async_std::adapt::{Aimd, AimdSettings, LimiterSettings};
use tollgate_async_std::rate::{Policy, Quota};
use tollgate_async_std::{AsyncStd, Limiter, RateLimiter, Runtime};

#[derive(Clone)]
struct Database {
    runtime: AsyncStd,
    rows: RateLimiter,
    connections: Limiter<Aimd>,
}

impl Database {
    fn new() -> Result<Self, Box<dyn Error>> {
        // One clock for both, so that one deadline means the same to both.
        let runtime = AsyncStd::new();
        let quota = Quota::per_second(100).burst(20);
        let rows = RateLimiter::with_runtime(runtime.clone(), quota, Policy::default(), 1_000)?;
        // A limit that stays where it is.
        let four = Aimd::new(AimdSettings { min: 4, initial: 4, max: 4, ..AimdSettings::default() })?;
        let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
        let connections = Limiter::with_runtime(runtime.clone(), four, settings, &[], 0, 1_000)?;
        Ok(Self { runtime, rows, connections })
    }

    async fn query(&self, rows: u64, patience: Duration) -> Result<(), Box<dyn Error + Send + Sync>> {
        let deadline = self.runtime.now().saturating_add(patience);
        self.rows.acquire_by(rows, deadline).await?;
        let connection = self.connections.acquire_by(None, deadline).await?;
        // The query itself.
        async_std::task::sleep(Duration::from_millis(15)).await;
        connection.success();
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    async_std::task::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let database = Database::new()?;
    let mut tasks = vec![];
    for caller in 0..60 {
        let database = database.clone();
        tasks.push(async_std::task::spawn(async move {
            let (rows, patience) = (1 + caller % 3, Duration::from_millis(200 * (1 + caller % 4)));
            let answer = database.query(rows, patience).await.map_err(|refused| refused.to_string());
            (rows, answer, database.runtime.now())
        }));
    }
    let (mut served, mut refused, mut last) = (0, 0, Duration::ZERO);
    for (caller, task) in tasks.into_iter().enumerate() {
        let (rows, answer, ended) = task.await;
        match answer {
            Ok(()) => {
                served += rows;
                last = last.max(Duration::from_nanos(ended.as_nanos()));
            }
            Err(why) => {
                refused += rows;
                if refused == rows {
                    println!(
                        "the first that cannot be served in time, caller {caller}, {rows} rows, is {why}"
                    );
                }
            }
        }
    }
    println!(
        "{refused} rows refused at once, {served} served in {last:.0?}; 20 at once and 100 a second make {:.0}",
        20.0 + last.as_secs_f64() * 100.0
    );
    println!(
        "{} connections in use, {} callers waiting",
        database.connections.stats().in_flight,
        database.rows.num_waiters()
    );
    Ok(())
}
