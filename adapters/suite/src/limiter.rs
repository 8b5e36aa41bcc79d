//! What an adaptive limiter does on every runtime.

use core::future::Future;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Context;
use core::time::Duration;
use std::sync::Arc;

use tollgate_async::adapt::{Estimator, LimiterSettings, PartitionId, Sample, Share};
use tollgate_async::{Limiter, LimiterPermit, Reason, Timestamp};

use crate::harness::{once, polls, wild};
use crate::{Harness, start, yield_now};

const MS: Duration = Duration::from_millis(1);

/// A limit that learns nothing.
#[derive(Clone, Copy, Debug)]
struct Fixed(u32);

impl Estimator for Fixed {
    fn on_sample(&mut self, _: &Sample) -> u32 {
        self.0
    }

    fn limit(&self) -> u32 {
        self.0
    }
}

type Of<H> = Limiter<Fixed, <H as Harness>::Runtime>;

fn limiter<H: Harness>(limit: u32, shares: &[Share], max_waiters: usize) -> Of<H> {
    let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
    Limiter::with_runtime(H::Runtime::default(), Fixed(limit), settings, shares, 4, max_waiters).unwrap()
}

async fn waiting<H: Harness>(limiter: &Of<H>, so_many: usize) {
    while limiter.num_waiters() != so_many {
        yield_now().await;
    }
}

pub fn report_22_a_lowered_limit_holds_while_somebody_waits<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(3, &[], 9);
        let mut held: Vec<_> = (0..3).map(|_| limiter.try_acquire(None).unwrap()).collect();
        let next = limiter.clone();
        let next = start::<H, _>(async move { next.acquire(None).await });
        waiting::<H>(&limiter, 1).await;
        limiter.replace_estimator(Fixed(1));
        held.pop().unwrap().success();
        held.pop().unwrap().success();
        H::sleep(5 * MS).await;
        assert_eq!((limiter.num_waiters(), limiter.stats().in_flight), (1, 1));
        held.pop().unwrap().success();
        drop(next.await.unwrap());
    });
}

pub fn report_24_who_is_behind_a_big_one_that_left_is_granted<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(3, &[], 9);
        let _held = limiter.try_acquire(None).unwrap();
        let mut big = Box::pin(limiter.acquire_many(None, 3, Timestamp::MAX));
        assert!(once(&mut big).await.is_none());
        let behind = limiter.clone();
        let behind = start::<H, _>(async move { behind.acquire(None).await.map(LimiterPermit::success) });
        waiting::<H>(&limiter, 2).await;
        drop(big);
        behind.await.unwrap();
    });
}

pub fn report_25_who_leaves_frees_its_place_at_once<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 1);
        let _held = limiter.try_acquire(None).unwrap();
        for _ in 0..9 {
            let mut ask = Box::pin(limiter.acquire(None));
            assert!(once(&mut ask).await.is_none());
            assert_eq!(limiter.acquire(None).await.unwrap_err().reason, Reason::QueueFull);
        }
    });
}

pub fn report_26_a_future_dropped_after_its_grant_gives_the_permit_back<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 9);
        let held = limiter.try_acquire(None).unwrap();
        let mut granted = Box::pin(limiter.acquire(None));
        assert!(once(&mut granted).await.is_none());
        held.success();
        assert_eq!((limiter.num_waiters(), limiter.stats().in_flight), (0, 1));
        drop(granted);
        limiter.try_acquire(None).unwrap().success();
    });
}

pub fn report_27_two_releases_wake_two<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(2, &[], 9);
        let held: Vec<_> = (0..2).map(|_| limiter.try_acquire(None).unwrap()).collect();
        let ask = || {
            let limiter = limiter.clone();
            start::<H, _>(async move { limiter.acquire(None).await })
        };
        let (first, second) = (ask(), ask());
        waiting::<H>(&limiter, 2).await;
        held.into_iter().for_each(LimiterPermit::success);
        let _both = (first.await.unwrap(), second.await.unwrap());
    });
}

pub fn report_28_nobody_takes_what_a_woken_waiter_is_owed<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 9);
        let held = limiter.try_acquire(None).unwrap();
        let mut owed = Box::pin(limiter.acquire(None));
        assert!(once(&mut owed).await.is_none());
        held.success();
        for _ in 0..9 {
            assert!(limiter.try_acquire(None).is_err());
            yield_now().await;
        }
        owed.await.unwrap().success();
    });
}

pub fn report_29_who_waits_is_polled_a_few_times_and_no_more<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 9);
        let held = limiter.try_acquire(None).unwrap();
        let ask = limiter.clone();
        let ask = start::<H, _>(async move { polls(Box::pin(ask.acquire(None))).await });
        waiting::<H>(&limiter, 1).await;
        H::sleep(20 * MS).await;
        held.success();
        let (polls, permit) = ask.await;
        permit.unwrap().success();
        assert_eq!(polls, 2, "once to ask, once to be told");
    });
}

pub fn report_30_what_weighs_more_than_the_limit_is_refused_at_once<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(3, &[], 9);
        let refusal = limiter.acquire_many(None, 4, Timestamp::MAX).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::ExceedsLimit);
    });
}

pub fn report_31_a_waker_that_panics_hurts_nobody_else<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(2, &[], 9);
        let held: Vec<_> = (0..2).map(|_| limiter.try_acquire(None).unwrap()).collect();
        let mut first = Box::pin(limiter.acquire(None));
        assert!(first.as_mut().poll(&mut Context::from_waker(&wild())).is_pending());
        let second = limiter.clone();
        let second = start::<H, _>(async move { second.acquire(None).await.map(LimiterPermit::success) });
        waiting::<H>(&limiter, 2).await;
        limiter.replace_estimator(Fixed(4));
        second.await.unwrap();
        first.await.unwrap().success();
        drop(held);
        assert_eq!(limiter.stats().in_flight, 0);
    });
}

pub fn report_32_a_grant_that_is_not_fetched_goes_back_at_its_deadline<H: Harness>() {
    // tokio#6450: handed to a future that is not polled again, for good.
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 9);
        let held = limiter.try_acquire(None).unwrap();
        let deadline = limiter.now().saturating_add(400 * MS);
        let mut asleep = Box::pin(limiter.acquire_by(None, deadline));
        assert!(once(&mut asleep).await.is_none());
        let next = limiter.clone();
        let next = start::<H, _>(async move { next.acquire(None).await.map(LimiterPermit::success) });
        waiting::<H>(&limiter, 2).await;
        held.success();
        assert_eq!((limiter.num_waiters(), limiter.stats().in_flight), (1, 1), "the one that sleeps has it");
        next.await.unwrap();
        assert!(limiter.now() > deadline);
        assert_eq!(asleep.await.unwrap_err().reason, Reason::DeadlineExceeded);
    });
}

pub fn report_33_a_class_over_its_share_holds_up_nobody_else<H: Harness>() {
    H::block_on(async {
        let share =
            |name, share_ppm| Share { partition: PartitionId(name), share_ppm, pause: Duration::ZERO };
        let limiter = limiter::<H>(2, &[share(1, 500_000), share(2, 500_000)], 9);
        let _held = limiter.acquire(Some(PartitionId(1))).await.unwrap();
        let over = limiter.clone();
        let over = start::<H, _>(async move { over.acquire(Some(PartitionId(1))).await });
        waiting::<H>(&limiter, 1).await;
        limiter.acquire(Some(PartitionId(2))).await.unwrap().success();
        drop(_held);
        drop(over.await.unwrap());
    });
}

pub fn who_waits_with_a_deadline_is_refused_then<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 9);
        let _held = limiter.try_acquire(None).unwrap();
        let deadline = limiter.now().saturating_add(10 * MS);
        let refusal = limiter.acquire_by(None, deadline).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::DeadlineExceeded);
        assert!(limiter.now() >= deadline);
        assert_eq!(limiter.num_waiters(), 0);
    });
}

pub fn threads_wait_in_the_same_line<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(1, &[], 9);
        let held = limiter.try_acquire(None).unwrap();
        let thread = limiter.clone();
        let thread = std::thread::spawn(move || {
            thread.acquire_blocking(None, 1, Timestamp::MAX).map(LimiterPermit::success)
        });
        waiting::<H>(&limiter, 1).await;
        let soon = limiter.now().saturating_add(5 * MS);
        assert_eq!(limiter.acquire_blocking(None, 1, soon).unwrap_err().reason, Reason::DeadlineExceeded);
        held.success();
        limiter.acquire(None).await.unwrap().success();
        thread.join().unwrap().unwrap();
    });
}

pub fn never_more_at_once_than_the_limit_whoever_is_cancelled<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(4, &[], 1_000);
        let running = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..60_u32)
            .map(|number| {
                let (limiter, running) = (limiter.clone(), Arc::clone(&running));
                start::<H, _>(async move {
                    let mut served = 0;
                    for turn in 0..30 {
                        let soon = limiter.now().saturating_add(Duration::from_micros(300));
                        let deadline = if (number + turn) % 4 == 0 { soon } else { Timestamp::MAX };
                        let mut ask = Box::pin(limiter.acquire_by(None, deadline));
                        let answer = match once(&mut ask).await {
                            Some(answer) => answer,
                            None if (number + turn) % 7 == 0 => continue,
                            None => ask.await,
                        };
                        let Ok(permit) = answer else { continue };
                        assert!(running.fetch_add(1, Ordering::SeqCst) < 4);
                        yield_now().await;
                        running.fetch_sub(1, Ordering::SeqCst);
                        served += 1;
                        if turn % 2 == 0 { permit.success() } else { drop(permit) }
                    }
                    served
                })
            })
            .collect();
        let mut served = 0;
        for task in tasks {
            served += task.await;
        }
        assert!(served > 0);
        let stats = limiter.stats();
        assert_eq!((stats.in_flight, limiter.num_waiters()), (0, 0));
    });
}
