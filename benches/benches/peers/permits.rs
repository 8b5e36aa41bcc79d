//! Taking a permit that is free and giving it back.
//!
//! The floor is what no counter of permits can do without: one compare-exchange to take, one subtraction to give back.

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};

use criterion::Criterion;
use tollgate::permit::AtomicPermits;
use tollgate_benches::{Case, run as contest};

const LIMIT: u32 = 1_024;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &[cycle(1)]);
    contest(criterion, &[cycle(2)]);
}

fn cycle(threads: u32) -> Case<'static> {
    Case::new("permits", "cycle")
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
            let semaphore = tokio::sync::Semaphore::new(1_024);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
        .shared("async-lock", || {
            let semaphore = async_lock::Semaphore::new(1_024);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
}
