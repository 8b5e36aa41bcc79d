//! Taking a permit that is free and giving it back, and being refused one because all are taken.
//!
//! The floor is what no counter of permits can do without: one compare-exchange to take, one subtraction to give back;
//! for a refusal one load and one comparison.

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};

use criterion::Criterion;
use tollgate::permit::AtomicPermits;
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "permits";
const LIMIT: u32 = 1_024;
const PERMITS: usize = 1_024;

pub(crate) fn run(criterion: &mut Criterion) {
    for threads in [1, 2] {
        contest(criterion, &[cycle(threads)]);
        contest(criterion, &[refuse(threads)]);
    }
}

fn cycle(threads: u32) -> Case<'static> {
    Case::new(GROUP, "cycle")
        .threads(threads)
        .shared("tollgate", || {
            let permits = AtomicPermits::new(LIMIT).expect("a lawful limit");
            move |_| drop(black_box(permits.try_acquire().expect("one is free")))
        })
        .shared("floor", || {
            let word = AtomicU64::new(0);
            move |_| {
                let mut seen = word.load(Ordering::Relaxed);
                while let Err(now) =
                    word.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed)
                {
                    seen = now;
                }
                word.fetch_sub(black_box(1), Ordering::Release);
            }
        })
        .shared("tokio", || {
            let semaphore = tokio::sync::Semaphore::new(PERMITS);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
        .shared("mea", || {
            let semaphore = mea::semaphore::Semaphore::new(PERMITS);
            move |_| drop(black_box(semaphore.try_acquire(1).expect("one is free")))
        })
        .shared("async-lock", || {
            let semaphore = async_lock::Semaphore::new(PERMITS);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
}

fn refuse(threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse")
        .threads(threads)
        .shared("tollgate", || {
            let permits = AtomicPermits::new(LIMIT).expect("a lawful limit");
            permits.try_acquire_many(LIMIT).expect("all are free").forget();
            move |_| {
                let _refused = black_box(permits.try_acquire().expect_err("none is free"));
            }
        })
        .shared("floor", || {
            let word = AtomicU64::new(LIMIT.into());
            move |_| {
                let _fits = black_box(word.load(Ordering::Acquire) < black_box(LIMIT.into()));
            }
        })
        .shared("tokio", || {
            let semaphore = tokio::sync::Semaphore::new(0);
            move |_| {
                let _refused = black_box(semaphore.try_acquire().expect_err("none is free"));
            }
        })
        .shared("mea", || {
            let semaphore = mea::semaphore::Semaphore::new(0);
            move |_| assert!(black_box(semaphore.try_acquire(1)).is_none())
        })
        .shared("async-lock", || {
            let semaphore = async_lock::Semaphore::new(0);
            move |_| assert!(black_box(semaphore.try_acquire()).is_none())
        })
}
