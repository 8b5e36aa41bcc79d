//! What a rate limiter does on every runtime.

use core::future::Future;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Context;
use core::time::Duration;
use std::sync::Arc;

use tollgate_async::rate::{Inherit, Quota};
use tollgate_async::{RateLimiter, Runtime, Timestamp};

use crate::harness::{once, polls, wild};
use crate::{Harness, start, yield_now};

const MS: Duration = Duration::from_millis(1);

fn limiter<H: Harness>(tokens: u64, burst: u64) -> RateLimiter<H::Runtime> {
    RateLimiter::new(Quota::per_second(tokens).burst(burst)).unwrap()
}

pub fn waits_are_as_long_as_the_quota_says<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(100, 1);
        let began = limiter.now();
        for number in 0..4 {
            limiter.until_ready().await.unwrap();
            assert!(limiter.now() >= began.saturating_add(10 * number * MS));
        }
        assert_eq!(limiter.num_waiters(), 0);
    });
}

pub fn what_cannot_be_by_its_deadline_is_refused_at_once_and_passes_at_retry_at<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(3, 1);
        limiter.acquire(1).await.unwrap();
        let now = limiter.now();
        let refused = limiter.acquire_by(1, now.saturating_add(5 * MS)).await.unwrap_err();
        let retry_at = refused.retry_at.unwrap();
        limiter.runtime().sleep_until(retry_at).await;
        limiter.try_acquire(1).unwrap();
    });
}

pub fn report_12_who_is_parked_without_being_polled_holds_up_nobody<H: Harness>() {
    // leaky-bucket#35: all hung behind a waiter that drove the refill and was not polled.
    H::block_on(async {
        let limiter = limiter::<H>(200, 1);
        limiter.acquire(1).await.unwrap();
        let mut parked = Box::pin(limiter.acquire(1));
        if once(&mut parked).await.is_some() {
            return; // the machine is slow today, and it was due
        }
        for _ in 0..3 {
            limiter.acquire(1).await.unwrap();
        }
        assert!(once(&mut parked).await.is_some(), "it has been due for long");
    });
}

pub fn report_13_a_big_request_is_not_starved_by_small_ones_that_keep_coming<H: Harness>() {
    // governor's until_n_ready: 1 200 small grants, no big one.
    H::block_on(async {
        let limiter = limiter::<H>(1_000, 10);
        limiter.acquire(10).await.unwrap();
        let deadline = limiter.now().saturating_add(Duration::from_secs(5));
        let served = Arc::new(AtomicBool::new(false));
        let small: Vec<_> = (0..4)
            .map(|_| {
                let (limiter, served) = (limiter.clone(), Arc::clone(&served));
                start::<H, _>(async move {
                    while !served.load(Ordering::SeqCst) {
                        limiter.acquire_by(1, deadline).await.expect("the big one has been starved for 5 s");
                        yield_now().await;
                    }
                })
            })
            .collect();
        limiter.acquire(10).await.unwrap();
        served.store(true, Ordering::SeqCst);
        for task in small {
            task.await;
        }
    });
}

pub fn nobody_is_served_before_its_turn<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(500, 3);
        let began = limiter.now();
        limiter.acquire(3).await.unwrap();
        let mut ahead = 0;
        let mut tasks = vec![];
        for cost in [3, 1, 2, 1, 3, 2] {
            let limiter = limiter.clone();
            let mut ask = Box::pin(async move {
                limiter.acquire(cost).await.unwrap();
                limiter.now()
            });
            ahead += u32::try_from(cost).unwrap();
            let due = began.saturating_add(2 * ahead * MS);
            match once(&mut ask).await {
                // The machine is slow today.
                Some(time) => assert!(time >= due),
                None => tasks.push((due, start::<H, _>(ask))),
            }
        }
        for (due, task) in tasks.into_iter().rev() {
            assert!(task.await >= due);
        }
    });
}

pub fn report_24_who_is_behind_a_big_one_that_left_is_due_earlier<H: Harness>() {
    // embassy#6964: a cancelled big head leaves those behind it asleep.
    H::block_on(async {
        let limiter = limiter::<H>(10, 100);
        limiter.acquire(100).await.unwrap();
        let began = limiter.now();
        let mut big = Box::pin(limiter.acquire(100));
        assert!(once(&mut big).await.is_none());
        let behind = limiter.clone();
        let behind = start::<H, _>(async move { behind.acquire(1).await });
        while limiter.num_waiters() < 2 {
            yield_now().await;
        }
        drop(big);
        behind.await.unwrap();
        assert!(limiter.now() < began.saturating_add(Duration::from_secs(5)), "not the ten of the big one");
    });
}

pub fn report_26_what_was_due_and_not_fetched_is_not_lost<H: Harness>() {
    H::block_on(async {
        let quota = Quota::per_hour(1).burst(2);
        let limiter = RateLimiter::<H::Runtime>::new(quota).unwrap();
        limiter.acquire(2).await.unwrap();
        let mut due = Box::pin(limiter.acquire(2));
        assert!(once(&mut due).await.is_none());
        limiter.set_quota(quota, Inherit::Reset).unwrap();
        // Under a bucket that is full it is due at once.
        assert_eq!((limiter.num_waiters(), limiter.state().available), (0, 0));
        drop(due);
        assert_eq!(limiter.state().available, 2, "nobody used it");
    });
}

pub fn report_29_who_waits_is_polled_a_few_times_and_no_more<H: Harness>() {
    // async-lock#41, tower-resilience#365.
    H::block_on(async {
        let limiter = limiter::<H>(50, 1);
        limiter.acquire(1).await.unwrap();
        let (polls, answer) = polls(Box::pin(limiter.acquire(1))).await;
        answer.unwrap();
        assert!(polls <= 4, "{polls} polls in 20 ms");
    });
}

pub fn report_31_a_waker_that_panics_hurts_nobody_else<H: Harness>() {
    H::block_on(async {
        // Its timer does not go off before the limiter wakes it: what a runtime makes of such a waker is not ours.
        let limiter = RateLimiter::<H::Runtime>::new(Quota::per_hour(1)).unwrap();
        limiter.acquire(1).await.unwrap();
        let mut first = Box::pin(limiter.acquire(1));
        assert!(first.as_mut().poll(&mut Context::from_waker(&wild())).is_pending());
        let second = limiter.clone();
        let second = start::<H, _>(async move { second.acquire(1).await });
        while limiter.num_waiters() < 2 {
            yield_now().await;
        }
        limiter.set_quota(Quota::per_second(1_000), Inherit::Reset).unwrap();
        second.await.unwrap();
        first.await.unwrap();
    });
}

pub fn a_new_quota_reaches_who_waits<H: Harness>() {
    H::block_on(async {
        let limiter = RateLimiter::<H::Runtime>::new(Quota::per_hour(1).burst(5)).unwrap();
        limiter.acquire(5).await.unwrap();
        let began = limiter.now();
        let (patient, late, big) = (limiter.clone(), limiter.clone(), limiter.clone());
        let patient = start::<H, _>(async move { patient.acquire(2).await });
        let big = start::<H, _>(async move { big.acquire(5).await });
        let late = start::<H, _>(async move {
            late.acquire_by(1, began.saturating_add(Duration::from_secs(360_000))).await
        });
        while limiter.num_waiters() < 3 {
            yield_now().await;
        }
        limiter.set_quota(Quota::per_second(500).burst(4), Inherit::AsIs).unwrap();
        patient.await.unwrap();
        assert!(big.await.is_err(), "more than it can hold now");
        late.await.unwrap();
        assert!(limiter.now() < began.saturating_add(Duration::from_secs(2)));
    });
}

pub fn threads_wait_in_the_same_line<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(100, 1);
        limiter.acquire(1).await.unwrap();
        let began = limiter.now();
        let thread = limiter.clone();
        let thread = std::thread::spawn(move || thread.acquire_blocking(1, Timestamp::MAX));
        while limiter.num_waiters() == 0 && !thread.is_finished() {
            yield_now().await;
        }
        limiter.acquire(1).await.unwrap();
        assert!(limiter.now() >= began.saturating_add(15 * MS), "behind the thread");
        thread.join().unwrap().unwrap();
        assert!(limiter.acquire_blocking(1, limiter.now()).is_err());
    });
}

pub fn many_tasks_get_what_the_quota_allows_and_no_more<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(10_000, 50);
        let began = limiter.now();
        let tasks: Vec<_> = (0..40_u64)
            .map(|number| {
                let limiter = limiter.clone();
                start::<H, _>(async move {
                    let mut granted = 0;
                    for turn in 0..20 {
                        let cost = 1 + (number + turn) % 3;
                        let mut ask = Box::pin(limiter.acquire(cost));
                        match once(&mut ask).await {
                            Some(answer) => granted += answer.map(|()| cost).unwrap(),
                            // Every fifth gives up at once.
                            None if turn % 5 == 4 => drop(ask),
                            None => granted += ask.await.map(|()| cost).unwrap(),
                        }
                    }
                    granted
                })
            })
            .collect();
        let mut granted = 0;
        for task in tasks {
            granted += task.await;
        }
        let took = limiter.now().saturating_since(began);
        let most = 50 + u64::try_from(took.as_nanos()).unwrap() / 100_000 + 1;
        assert!(granted <= most, "{granted} granted, {most} allowed in {took:?}");
        assert_eq!(limiter.num_waiters(), 0);
    });
}
