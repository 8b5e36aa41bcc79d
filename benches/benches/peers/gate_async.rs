//! Jobs of 1 000 tenants through a gate in which 10 000 tasks wait, on a tokio runtime of two workers.
//!
//! Each task enters, ends at once, and enters again, so that every start is a wake-up of another task. The floor is what
//! the runtime takes for as many wake-ups: the tasks yield. The peers are fair by turn of arrival alone: they know no tenants,
//! costs or deadlines.

use core::time::Duration;
use std::sync::Arc;

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
use tollgate_benches::{Case, run as contest};
use tollgate_tokio::Tokio;

const TENANTS: u32 = 1_000;
const TASKS: u32 = 10_000;
const STARTS: u32 = 200_000;
const LIMIT: u64 = 64;

pub(crate) fn run(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let runtime = runtime.expect("threads can be started");
    contest(criterion, &[starts(&runtime)]);
}

fn starts(runtime: &Runtime) -> Case<'_> {
    Case::new("gate_async", "starts")
        .size(TASKS)
        .batches_of(STARTS)
        .batch("tollgate", move || {
            let gate = Gate::<Tokio>::new(settings(), Budget::new(LIMIT)).expect("lawful settings");
            move || {
                all(runtime, |task| {
                    let gate = gate.clone();
                    async move {
                        for _ in 0..STARTS / TASKS {
                            let job = Job::new(u64::from(task % TENANTS));
                            let permit = gate.enter(job).await.expect("there is room for all");
                            permit.complete(Completion::DONE);
                        }
                    }
                });
            }
        })
        .batch("floor", move || {
            move || {
                all(runtime, |_| async {
                    for _ in 0..STARTS / TASKS {
                        yield_now().await;
                    }
                });
            }
        })
        .batch("tokio", move || {
            let semaphore = Arc::new(tokio::sync::Semaphore::new(64));
            move || {
                all(runtime, |_| {
                    let semaphore = Arc::clone(&semaphore);
                    async move {
                        for _ in 0..STARTS / TASKS {
                            drop(semaphore.acquire().await.expect("it is open"));
                        }
                    }
                });
            }
        })
}

fn settings() -> Settings {
    Settings {
        max_queued: TASKS,
        max_queued_per_tenant: TASKS,
        max_tenants: TENANTS,
        max_wait: Some(Duration::from_secs(30)),
        refuse_early: false,
        ..Settings::default()
    }
}

/// Runs all tasks to their end.
fn all<F: Future<Output = ()> + Send + 'static>(runtime: &Runtime, task: impl Fn(u32) -> F) {
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS).map(|number| runtime.spawn(task(number))).collect();
        for task in tasks {
            task.await.expect("no task panics");
        }
    });
}
