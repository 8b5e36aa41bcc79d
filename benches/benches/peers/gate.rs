//! The whole way of a job through a gate: submit, start, complete, with ten jobs of each tenant waiting; in `cycle-lone`
//! with one, so that nearly every start leaves a tenant without work and nearly every job brings one back.
//!
//! The peer is firq-core's scheduler, which has no capacity: a task is enqueued and dequeued. The floor does what nobody
//! can do without: a queue for each tenant, served in rotation.

use core::hint::black_box;
use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use criterion::Criterion;
use firq_core::{DequeueResult, EnqueueResult, Priority, Scheduler, SchedulerConfig, Task};
use tollgate::Timestamp;
use tollgate::gate::{Budget, Completion, Cost, Gate, GateEvent, Job, Order, Settings};
use tollgate::slots::Heap;
use tollgate_benches::{Case, run as contest};

const SIZES: [u32; 3] = [10, 1_000, 100_000];
const LONE_SIZES: [u32; 4] = [10, 1_000, 100_000, 1_000_000];
/// How many jobs of each tenant wait.
const MANY: u32 = 10;
/// The largest cost, and the quantum: every pick is O(1).
const LARGEST: u32 = 16;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &SIZES.map(|tenants| case("cycle", tenants, MANY, None)));
    // Each job is among the deadlines too.
    let hour = Some(Duration::from_secs(3_600));
    contest(criterion, &SIZES.map(|tenants| case("cycle-deadlines", tenants, MANY, hour)));
    contest(criterion, &LONE_SIZES.map(|tenants| case("cycle-lone", tenants, 1, None)));
    contest(criterion, &SIZES.map(refusal));
}

fn case(name: &'static str, tenants: u32, waiting: u32, max_wait: Option<Duration>) -> Case<'static> {
    Case::new("gate", name)
        .size(tenants)
        .alone("tollgate", move || {
            let mut gate = Gate::<Heap>::new(settings(tenants, waiting, max_wait), Budget::new(4))
                .expect("lawful settings");
            // Four run all the time; those they run for are not measured.
            for ordinal in 0..4 + tenants * waiting {
                gate.submit(Timestamp::ZERO, job(tenants, ordinal)).expect("there is room");
            }
            while gate.poll(Timestamp::ZERO).is_some() {}
            gate.capacity_mut().set_limit(5);
            let mut submitted = 0_u32;
            move |_| {
                submitted = submitted.wrapping_add(1);
                let now = Timestamp::from_nanos(u64::from(submitted) * 100);
                black_box(gate.submit(now, job(tenants, submitted)).expect("as many leave as come"));
                match gate.poll(now) {
                    Some(GateEvent::Start { job, .. }) => {
                        gate.complete(now, black_box(job), Completion::DONE).expect("it runs");
                    }
                    other => panic!("{other:?}"),
                }
            }
        })
        .alone("firq-core", move || {
            let config = SchedulerConfig {
                shards: 1,
                max_global: 20_000_000,
                max_per_tenant: 10_000,
                quantum: LARGEST.into(),
                ..SchedulerConfig::default()
            };
            let scheduler = Scheduler::new(config);
            let start = Instant::now();
            let deadline = max_wait.map(|wait| start + wait);
            let enqueue = move |scheduler: &Scheduler<u32>, ordinal: u32| {
                let cost = cost(ordinal);
                let task =
                    Task { payload: ordinal, enqueue_ts: start, deadline, priority: Priority::Normal, cost };
                let tenant = firq_core::TenantKey::from(u64::from(tenant(tenants, ordinal)));
                assert!(matches!(scheduler.enqueue(tenant, task), EnqueueResult::Enqueued), "there is room");
            };
            for ordinal in 0..tenants * waiting {
                enqueue(&scheduler, ordinal);
            }
            let mut enqueued = 0_u32;
            move |_| {
                enqueued = enqueued.wrapping_add(1);
                enqueue(&scheduler, enqueued);
                // It says that it is empty when it had to grant more credit.
                loop {
                    match scheduler.try_dequeue() {
                        DequeueResult::Task { task, .. } => {
                            black_box(task);
                            break;
                        }
                        DequeueResult::Empty => {}
                        DequeueResult::Closed => panic!("closed"),
                    }
                }
            }
        })
        .alone("floor", move || {
            let room = usize::try_from(6 * waiting).unwrap_or(0);
            let mut queues: Vec<VecDeque<(u64, u32)>> =
                (0..tenants).map(|_| VecDeque::with_capacity(room)).collect();
            let mut rotation = VecDeque::with_capacity(usize::try_from(tenants).unwrap_or(0));
            let mut push = move |enter: Option<u32>| {
                if let Some(ordinal) = enter {
                    let tenant = tenant(tenants, ordinal);
                    let queue = &mut queues[usize::try_from(tenant).unwrap_or(0)];
                    if queue.is_empty() {
                        rotation.push_back(tenant);
                    }
                    queue.push_back((cost(ordinal), ordinal));
                    return None;
                }
                let tenant = rotation.pop_front()?;
                let queue = &mut queues[usize::try_from(tenant).unwrap_or(0)];
                let job = queue.pop_front();
                if !queue.is_empty() {
                    rotation.push_back(tenant);
                }
                job
            };
            for ordinal in 0..tenants * waiting {
                push(Some(ordinal));
            }
            let mut entered = 0_u32;
            move |_| {
                entered = entered.wrapping_add(1);
                push(Some(entered));
                black_box(push(None).expect("work waits"));
            }
        })
}

/// A newcomer at a full queue: the refusal with its position and estimate.
fn refusal(tenants: u32) -> Case<'static> {
    Case::new("gate", "refuse")
        .size(tenants)
        .alone("tollgate", move || {
            let full = Settings { max_queued: tenants * MANY, ..settings(tenants, MANY, None) };
            let mut gate = Gate::<Heap>::new(full, Budget::new(4)).expect("lawful settings");
            for ordinal in 0..tenants * MANY {
                gate.submit(Timestamp::ZERO, job(tenants, ordinal)).expect("there is room");
            }
            move |ordinal| {
                black_box(gate.submit(Timestamp::ZERO, job(tenants, ordinal)).expect_err("it is full"));
            }
        })
        .alone("firq-core", move || {
            let config = SchedulerConfig {
                shards: 1,
                max_global: usize::try_from(tenants * MANY).unwrap_or(0),
                max_per_tenant: 10_000,
                quantum: LARGEST.into(),
                ..SchedulerConfig::default()
            };
            let scheduler = Scheduler::new(config);
            let start = Instant::now();
            let enqueue = move |ordinal: u32| {
                let (priority, cost) = (Priority::Normal, cost(ordinal));
                let task = Task { payload: ordinal, enqueue_ts: start, deadline: None, priority, cost };
                scheduler.enqueue(firq_core::TenantKey::from(u64::from(tenant(tenants, ordinal))), task)
            };
            for ordinal in 0..tenants * MANY {
                assert!(matches!(enqueue(ordinal), EnqueueResult::Enqueued), "there is room");
            }
            move |ordinal| {
                assert!(matches!(black_box(enqueue(ordinal)), EnqueueResult::Rejected(_)), "it is full");
            }
        })
}

fn settings(tenants: u32, waiting: u32, max_wait: Option<Duration>) -> Settings {
    Settings {
        max_queued: 4 + tenants * waiting + 16,
        max_queued_bytes: u64::MAX,
        max_queued_per_tenant: 1_000,
        max_tenants: tenants,
        max_active: 64,
        max_wait,
        refuse_early: false,
        order: Order::Deficit { quantum: LARGEST.into() },
        ..Settings::default()
    }
}

fn job(tenants: u32, ordinal: u32) -> Job {
    Job { cost: Cost::Units(cost(ordinal)), bytes: 100, ..Job::new(tenant(tenants, ordinal).into()) }
}

/// 1 to [`LARGEST`], in no simple order.
fn cost(ordinal: u32) -> u64 {
    u64::from(ordinal.wrapping_mul(2_654_435_769) >> 28) % u64::from(LARGEST) + 1
}

/// All in turn, neighbours in time being no neighbours in memory.
fn tenant(tenants: u32, ordinal: u32) -> u32 {
    // 7 919 is prime and divides none of the sizes.
    let place = u64::from(ordinal) * 7_919 % u64::from(tenants);
    u32::try_from(place).unwrap_or(0)
}
