//! Jobs through a gate in which 1 000 or 10 000 tasks wait, ten of each tenant, on a tokio runtime of two workers.
//!
//! The gate is full until all tasks wait. Then each that starts ends at once, so that another starts, and enters again, behind
//! all others: every start is a wake-up of another task, and nearly all of them wait all the time. Spawning the tasks is part of it.
//! The peers do less: tokio's semaphore is
//! fair by turn of arrival alone, mea's share by permits held, and neither knows costs or deadlines.
//! mea's looks at all keys that wait for each start, and is measured with few. The floor is what the runtime takes
//! for as many wake-ups: the tasks yield.

use core::cell::LazyCell;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::sleep;
use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
use tollgate_benches::{Case, run as contest};
use tollgate_tokio::Tokio;

const SIZES: [u32; 2] = [FEW, 10_000];
const FEW: u32 = 1_000;
const TASKS_OF_A_TENANT: u32 = 10;
const LIMIT: u64 = 64;
const PERMITS: usize = 64;

pub(crate) fn run(criterion: &mut Criterion) {
    // Its workers would be counted with any other case.
    let runtime: LazyCell<Runtime> = LazyCell::new(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
        runtime.expect("threads can be started")
    });
    contest(criterion, &SIZES.map(|tasks| starts(&runtime, tasks)));
}

fn starts(runtime: &LazyCell<Runtime>, tasks: u32) -> Case<'_> {
    let tenants = tasks / TASKS_OF_A_TENANT;
    // So many that waiting for all to wait is a small part of it.
    let of_a_task = if tasks > FEW { 10 } else { 40 };
    let case = Case::new("gate_async", "starts")
        .size(tasks)
        .batches_of(tasks * of_a_task)
        .batch("tollgate", move || {
            let gate = Gate::<Tokio>::new(settings(tasks), Budget::new(LIMIT)).expect("lawful settings");
            move || {
                let full: Vec<_> =
                    (0..LIMIT).map(|_| gate.try_enter(Job::new(0)).expect("there is room")).collect();
                let waiting = || gate.snapshot().waiting == tasks;
                all(runtime, tasks, full, waiting, |task| {
                    let gate = gate.clone();
                    async move {
                        for _ in 0..of_a_task {
                            let job = Job::new(u64::from(task % tenants));
                            let permit = gate.enter(job).await.expect("there is room for all");
                            permit.complete(Completion::DONE);
                        }
                    }
                });
            }
        })
        .batch("floor", move || {
            move || {
                all(
                    runtime,
                    tasks,
                    (),
                    || true,
                    move |_| async move {
                        for _ in 0..of_a_task {
                            yield_now().await;
                        }
                    },
                );
            }
        })
        .batch("tokio", move || {
            let semaphore = Arc::new(tokio::sync::Semaphore::new(PERMITS));
            move || {
                let full = Arc::clone(&semaphore).try_acquire_many_owned(64).expect("there is room");
                let asked = Arc::new(AtomicU32::new(0));
                let waiting = || asked.load(Ordering::SeqCst) == tasks;
                all(runtime, tasks, full, waiting, |_| {
                    let (semaphore, asked) = (Arc::clone(&semaphore), Arc::clone(&asked));
                    async move {
                        asked.fetch_add(1, Ordering::SeqCst);
                        for _ in 0..of_a_task {
                            drop(semaphore.acquire().await.expect("it is open"));
                        }
                    }
                });
            }
        });
    if tasks > FEW {
        return case;
    }
    case.batch("mea-fair-share", move || {
        let share = Arc::new(mea::admission::FairShare::<u32>::new(PERMITS));
        move || {
            let full: Vec<_> = (0..PERMITS)
                .map(|_| Arc::clone(&share).try_acquire_owned(0).expect("there is room"))
                .collect();
            let waiting = || share.num_waiters() == tasks as usize;
            all(runtime, tasks, full, waiting, |task| {
                let share = Arc::clone(&share);
                async move {
                    for _ in 0..of_a_task {
                        drop(share.acquire(task % tenants).await);
                    }
                }
            });
        }
    })
}

fn settings(tasks: u32) -> Settings {
    Settings {
        max_queued: tasks,
        max_queued_per_tenant: tasks,
        max_tenants: tasks / TASKS_OF_A_TENANT,
        max_wait: Some(Duration::from_secs(30)),
        refuse_early: false,
        ..Settings::default()
    }
}

/// Lets all tasks begin, what is `full` go once they wait, and waits for their end.
fn all<F: Future<Output = ()> + Send + 'static>(
    runtime: &LazyCell<Runtime>,
    tasks: u32,
    full: impl Sized,
    waiting: impl Fn() -> bool,
    task: impl Fn(u32) -> F,
) {
    runtime.block_on(async {
        let tasks: Vec<_> = (0..tasks).map(|number| runtime.spawn(task(number))).collect();
        while !waiting() {
            sleep(Duration::from_millis(1)).await;
        }
        drop(full);
        for task in tasks {
            task.await.expect("no task panics");
        }
    });
}
