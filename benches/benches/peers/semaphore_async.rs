//! Semaphores that tasks wait for.
//!
//! `acquire` and `try` are on one thread and find a permit free. In `tasks` so many tasks share 4 permits on a tokio runtime
//! of two workers, and each holds its permit across a yield, so that nearly all of them wait, and each grant is a wake-up.
//! The floor is what the runtime takes for the same tasks without a semaphore: they yield twice as often.

use core::future::Future;
use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tollgate_benches::{Case, run as contest};

const LIMIT: usize = 1_024;
const CONTENDED: usize = 4;
/// Operations of all tasks in one batch.
const OPERATIONS: u32 = 32_000;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &[uncontended()]);
    contest(criterion, &[tries()]);
    let runtime = Builder::new_multi_thread().worker_threads(2).build().expect("threads can be started");
    for size in [64, 1_000] {
        contest(criterion, &[tasks(&runtime, size)]);
    }
}

fn uncontended() -> Case<'static> {
    Case::new("semaphore_async", "acquire")
        .alone("tollgate", || {
            let semaphore = tollgate_async::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire()).expect("it is open")))
        })
        .alone("tokio", || {
            let semaphore = tokio::sync::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire()).expect("it is open")))
        })
        .alone("mea", || {
            let semaphore = mea::semaphore::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire(1))))
        })
        .alone("async-lock", || {
            let semaphore = async_lock::Semaphore::new(LIMIT);
            move |_| drop(black_box(at_once(semaphore.acquire())))
        })
}

fn tries() -> Case<'static> {
    Case::new("semaphore_async", "try")
        .alone("tollgate", || {
            let semaphore = tollgate_async::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
        .alone("tokio", || {
            let semaphore = tokio::sync::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
        .alone("mea", || {
            let semaphore = mea::semaphore::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire(1).expect("one is free")))
        })
        .alone("async-lock", || {
            let semaphore = async_lock::Semaphore::new(LIMIT);
            move |_| drop(black_box(semaphore.try_acquire().expect("one is free")))
        })
}

fn tasks(runtime: &Runtime, size: u32) -> Case<'_> {
    Case::new("semaphore_async", "tasks")
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
    runtime: &Runtime,
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

/// The output of a future that has nothing to wait for.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits although a permit is free"),
    }
}
