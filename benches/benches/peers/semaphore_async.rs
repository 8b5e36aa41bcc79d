//! Semaphores that tasks wait for.
//!
//! `acquire` and `try` find a permit free, `refuse` does not; with two threads they share one semaphore. In `tasks` so
//! many tasks share 4 permits on a tokio runtime of two workers, and each holds its permit across a yield, so that nearly
//! all of them wait, and each grant is a wake-up.
//! The floor is what the runtime takes for the same tasks without a semaphore: they yield twice as often.

use core::cell::LazyCell;
use core::hint::black_box;
use std::sync::Arc;

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tollgate_benches::{Case, run as contest};

use crate::poll::at_once;

const GROUP: &str = "semaphore_async";
const LIMIT: usize = 1_024;
const CONTENDED: usize = 4;
/// Operations of all tasks in one batch.
const OPERATIONS: u32 = 32_000;

pub(crate) fn run(criterion: &mut Criterion) {
    for threads in [1, 2] {
        contest(criterion, &[uncontended(threads)]);
        contest(criterion, &[tries(threads)]);
        contest(criterion, &[refusals(threads)]);
    }
    // Its workers would be counted with any other case.
    let runtime: LazyCell<Runtime> = LazyCell::new(|| {
        Builder::new_multi_thread().worker_threads(2).build().expect("threads can be started")
    });
    for size in [64, 1_000] {
        contest(criterion, &[tasks(&runtime, size)]);
    }
}

fn uncontended(threads: u32) -> Case<'static> {
    Case::new(GROUP, "acquire")
        .threads(threads)
        .shared("tollgate", || {
            let semaphore = tollgate_async::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire()).expect("it is open")))
        })
        .shared("tokio", || {
            let semaphore = tokio::sync::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire()).expect("it is open")))
        })
        .shared("mea", || {
            let semaphore = mea::semaphore::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire(1))))
        })
        .shared("async-lock", || {
            let semaphore = async_lock::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire())))
        })
}

fn tries(threads: u32) -> Case<'static> {
    Case::new(GROUP, "try")
        .threads(threads)
        .shared("tollgate", || {
            let semaphore = tollgate_async::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
        .shared("tokio", || {
            let semaphore = tokio::sync::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
        .shared("mea", || {
            let semaphore = mea::semaphore::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire(1).expect("one is free")))
        })
        .shared("async-lock", || {
            let semaphore = async_lock::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
}

fn refusals(threads: u32) -> Case<'static> {
    Case::new(GROUP, "refuse")
        .threads(threads)
        .shared("tollgate", || {
            let semaphore = tollgate_async::Semaphore::new(1);
            semaphore.try_acquire().expect("one is free").forget();
            move |_| {
                let _refused = black_box(semaphore.try_acquire().expect_err("none is free"));
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

fn tasks(runtime: &LazyCell<Runtime>, size: u32) -> Case<'_> {
    Case::new(GROUP, "tasks")
        .size(size)
        .batches_of(OPERATIONS)
        .batch("tollgate", move || {
            let semaphore = Arc::new(tollgate_async::Semaphore::new(CONTENDED));
            all(runtime, size, move || {
                let semaphore = Arc::clone(&semaphore);
                async move {
                    for _ in 0..OPERATIONS / size {
                        let permit = semaphore.acquire().await.expect("it is open");
                        yield_now().await;
                        drop(permit);
                    }
                }
            })
        })
        .batch("floor", move || {
            all(runtime, size, move || async move {
                for _ in 0..OPERATIONS / size {
                    yield_now().await;
                    yield_now().await;
                }
            })
        })
        .batch("tokio", move || {
            let semaphore = Arc::new(tokio::sync::Semaphore::new(CONTENDED));
            all(runtime, size, move || {
                let semaphore = Arc::clone(&semaphore);
                async move {
                    for _ in 0..OPERATIONS / size {
                        let permit = semaphore.acquire().await.expect("it is open");
                        yield_now().await;
                        drop(permit);
                    }
                }
            })
        })
        .batch("mea", move || {
            let semaphore = Arc::new(mea::semaphore::Semaphore::new(CONTENDED));
            all(runtime, size, move || {
                let semaphore = Arc::clone(&semaphore);
                async move {
                    for _ in 0..OPERATIONS / size {
                        let permit = semaphore.acquire(1).await;
                        yield_now().await;
                        drop(permit);
                    }
                }
            })
        })
        .batch("async-lock", move || {
            let semaphore = Arc::new(async_lock::Semaphore::new(CONTENDED));
            all(runtime, size, move || {
                let semaphore = Arc::clone(&semaphore);
                async move {
                    for _ in 0..OPERATIONS / size {
                        let permit = semaphore.acquire().await;
                        yield_now().await;
                        drop(permit);
                    }
                }
            })
        })
}

/// Runs so many tasks to their end.
fn all<F: Future<Output = ()> + Send + 'static>(
    runtime: &LazyCell<Runtime>,
    size: u32,
    task: impl Fn() -> F,
) -> impl FnMut() {
    move || {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..size).map(|_| runtime.spawn(task())).collect();
            for task in tasks {
                task.await.expect("no task panics");
            }
        });
    }
}
