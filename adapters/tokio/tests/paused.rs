//! Under tokio's paused clock waits are exact, and take no time.

use core::time::Duration;

use tokio::time::Instant;
use tollgate_tokio::adapt::{Aimd, AimdSettings, LimiterSettings};
use tollgate_tokio::rate::Quota;
use tollgate_tokio::{Limiter, RateLimiter, Reason, Runtime, Tokio};

const fn ms(so_many: u64) -> Duration {
    Duration::from_millis(so_many)
}

#[tokio::test(start_paused = true)]
async fn each_wait_is_as_long_as_it_takes_to_accrue_to_the_nanosecond() {
    let limiter = RateLimiter::new(Quota::per_second(10).burst(2)).unwrap();
    let began = Instant::now();
    let mut waits = vec![];
    for cost in [2, 1, 2, 1] {
        let before = Instant::now();
        limiter.acquire(cost).await.unwrap();
        waits.push(before.elapsed());
    }
    assert_eq!(waits, [ms(0), ms(100), ms(200), ms(100)]);
    assert_eq!(began.elapsed(), ms(400));
    assert_eq!(limiter.now().as_nanos(), 400_000_000);
}

#[tokio::test(start_paused = true)]
async fn tasks_are_served_in_the_order_in_which_they_came_each_at_its_instant() {
    let limiter = RateLimiter::new(Quota::per_second(1).burst(3)).unwrap();
    limiter.acquire(3).await.unwrap();
    let began = Instant::now();
    let tasks: Vec<_> = [3, 1, 2]
        .map(|cost| {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.acquire(cost).await.map(|()| began.elapsed().as_secs()) })
        })
        .into();
    let mut times = vec![];
    for task in tasks {
        times.push(task.await.unwrap().unwrap());
    }
    assert_eq!(times, [3, 4, 6]);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_under_a_timeout_was_never_there() {
    let limiter = RateLimiter::new(Quota::per_hour(1).burst(2)).unwrap();
    limiter.acquire(2).await.unwrap();
    let began = Instant::now();
    let behind = limiter.clone();
    let (gave_up, behind) = tokio::join!(
        tokio::time::timeout(ms(1), limiter.acquire(2)),
        // Joined after the other, and behind it until it gives up.
        async move { behind.acquire(1).await.map(|()| began.elapsed()) }
    );
    assert!(gave_up.is_err());
    assert_eq!(behind.unwrap(), Duration::from_secs(3_600), "its own hour, not three");
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_passes_at_retry_at_and_not_before() {
    let limiter = RateLimiter::new(Quota::per_minute(1).burst(1)).unwrap();
    limiter.acquire(1).await.unwrap();
    let soon = limiter.now().saturating_add(ms(59_999));
    let retry_at = limiter.acquire_by(1, soon).await.unwrap_err().retry_at.unwrap();
    assert_eq!(limiter.now().as_nanos(), 0, "refused at once");
    limiter.runtime().sleep_until(retry_at.saturating_sub(ms(1))).await;
    assert!(limiter.try_acquire(1).is_err());
    tokio::time::sleep(ms(1)).await;
    assert!(limiter.try_acquire(1).is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_limit_measures_the_time_of_the_test() {
    let aimd = Aimd::new(AimdSettings { initial: 1, ..AimdSettings::default() }).unwrap();
    let settings = LimiterSettings { warmup: ms(0), ..LimiterSettings::default() };
    let limiter = Limiter::new(aimd, settings).unwrap();
    let permit = limiter.acquire(None).await.unwrap();
    let deadline = limiter.now().saturating_add(ms(70));
    let refusal = limiter.acquire_by(None, deadline).await.unwrap_err();
    assert_eq!((refusal.reason, limiter.now()), (Reason::DeadlineExceeded, deadline));
    permit.success();
    assert_eq!(limiter.stats().last_rtt, Some(ms(70)));
}

#[tokio::test(start_paused = true)]
async fn instants_of_the_runtime_are_deadlines() {
    let runtime = Tokio::new();
    let at = runtime.timestamp(Instant::now() + ms(5));
    runtime.sleep_until(at).await;
    assert_eq!((runtime.now(), runtime.instant(at)), (at, Instant::now()));
}
