//! Instants and numbers at the edges.

use super::*;

#[test]
fn what_accrues_within_the_nanosecond_in_which_one_is_due_is_the_next_ones() {
    // Four a nanosecond: three that wait behind five are all due in the second nanosecond. The next reserved as of the
    // end of it, when the level had fallen to nothing: a nanosecond late, its timer gone off, and never again set.
    let runtime = Virtual::default();
    let policy = Policy { oversize: Oversize::WhenFull, ..Policy::default() };
    let quota = Quota::new(4, Duration::from_nanos(1)).burst(1);
    let limiter = RateLimiter::with_runtime(runtime.clone(), quota, policy, usize::MAX).unwrap();
    limiter.try_acquire(5).unwrap();
    let mut tasks: Vec<_> = (0..3)
        .map(|_| {
            let limiter = limiter.clone();
            Task::new(async move { limiter.acquire(1).await })
        })
        .collect();
    assert!(tasks.iter_mut().all(|task| task.run().is_none()));
    runtime.set(at(2));
    assert!(tasks.iter_mut().all(|task| task.run() == Some(Ok(()))));
}

#[test]
fn report_26_what_was_due_and_is_not_fetched_comes_back() {
    let runtime = Virtual::default();
    let quota = Quota::per_second(1).burst(2);
    let limiter = RateLimiter::with_runtime(runtime.clone(), quota, Policy::default(), 9).unwrap();
    limiter.try_acquire(2).unwrap();
    let asleep = limiter.clone();
    let mut asleep = Task::new(async move { asleep.acquire(2).await });
    assert!(asleep.run().is_none());
    runtime.set(at(2_000_000_000));
    assert_eq!((limiter.state().available, limiter.num_waiters()), (0, 0), "it has them");
    asleep.cancel();
    assert_eq!(limiter.state().available, 2);
}

#[test]
fn a_new_quota_tells_everybody_a_new_instant_whoever_is_polled() {
    let runtime = Virtual::default();
    let quota = Quota::per_second(1).burst(1);
    let limiter = RateLimiter::with_runtime(runtime.clone(), quota, Policy::default(), 9).unwrap();
    limiter.try_acquire(1).unwrap();
    let mut tasks: Vec<_> = (0..3)
        .map(|_| {
            let limiter = limiter.clone();
            Task::new(async move { limiter.acquire(1).await })
        })
        .collect();
    assert!(tasks.iter_mut().all(|task| task.run().is_none()));
    limiter.set_quota(Quota::new(1, Duration::from_nanos(10)).burst(1), Inherit::AsIs).unwrap();
    // Only the last one is polled from here on.
    assert!(tasks[2].is_woken());
    assert!(tasks[2].run().is_none());
    runtime.set(at(29));
    assert!(tasks[2].run().is_none());
    runtime.set(at(30));
    assert_eq!(tasks[2].run(), Some(Ok(())));
}

#[test]
fn who_waits_sets_one_timer_and_is_woken_once() {
    let runtime = Virtual::default();
    let limiter =
        RateLimiter::with_runtime(runtime.clone(), Quota::per_second(1), Policy::default(), 9).unwrap();
    limiter.try_acquire(1).unwrap();
    let mut tasks: Vec<_> = (0..4)
        .map(|_| {
            let limiter = limiter.clone();
            Task::new(async move { limiter.acquire(1).await })
        })
        .collect();
    assert!(tasks.iter_mut().all(|task| task.run().is_none()));
    assert_eq!(runtime.timers(), 4);
    for (number, task) in tasks.iter_mut().enumerate() {
        runtime.set(at((number as u64 + 1) * 1_000_000_000));
        assert_eq!(task.run(), Some(Ok(())));
        // It counts from 1, for the first poll.
        assert_eq!(task.woken().times(), 2);
    }
}

#[test]
fn a_line_that_is_full_refuses() {
    let runtime = Virtual::default();
    let quota = Quota::per_second(10).burst(1);
    let limiter = RateLimiter::with_runtime(runtime, quota, Policy::default(), 1).unwrap();
    let task = || {
        let limiter = limiter.clone();
        Task::new(async move { limiter.acquire(1).await })
    };
    assert_eq!(task().run(), Some(Ok(())));
    let mut first = task();
    assert_eq!(first.run(), None);
    assert_eq!(task().run(), Some(Err(Refused::because(Reason::QueueFull))));
    first.cancel();
    let mut next = task();
    assert_eq!(next.run(), None);
    assert_eq!(limiter.num_waiters(), 1);
}

#[test]
fn limiters_and_their_futures_go_to_other_threads() {
    fn good<T: Send + Sync>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let limiter = RateLimiter::<Virtual>::new(Quota::per_second(1)).unwrap();
    good(&limiter);
    sent(&limiter.acquire(1));
    sent(&limiter.acquire_by(1, Timestamp::MAX));
    sent(&limiter.until_ready());
}
