//! What a gate does on every runtime.

use core::pin::pin;
use core::time::Duration;

use tollgate_async::Reason;
use tollgate_async::gate::{Budget, CloseMode, Completion, Gate, Job, Settings, TenantKey};
use tollgate_async::observe::NoObserver;

use crate::harness::once;
use crate::{Harness, start, yield_now};

const MS: Duration = Duration::from_millis(1);

type Of<H> = Gate<<H as Harness>::Runtime>;

fn gate<H: Harness>(limit: u64) -> Of<H> {
    let settings = Settings { refuse_early: false, ..Settings::default() };
    Gate::with_observer(H::Runtime::default(), settings, Budget::new(limit), NoObserver).unwrap()
}

async fn waiting<H: Harness>(gate: &Of<H>, so_many: u32) {
    while gate.snapshot().waiting != so_many {
        yield_now().await;
    }
}

pub fn report_12_who_is_parked_without_being_polled_expires_and_holds_up_nobody<H: Harness>() {
    H::block_on(async {
        let gate = gate::<H>(2);
        let running = gate.try_enter(Job::new(1)).unwrap();
        // Heavy, first in line, polled once and never again.
        let deadline = gate.now().saturating_add(30 * MS);
        let mut parked = pin!(gate.enter(Job { weight: 2, deadline: Some(deadline), ..Job::new(1) }));
        assert!(once(&mut parked).await.is_none());
        // No task of this gate is polled meanwhile.
        H::sleep(5 * MS).await;
        assert_eq!(gate.snapshot().counts.started, 1);
        let behind = start::<H, _>({
            let gate = gate.clone();
            async move { gate.enter(Job::new(2)).await.unwrap().waited() }
        });
        behind.await;
        assert!(gate.now() >= deadline);
        assert_eq!(gate.snapshot().counts.refused(Reason::DeadlineExceeded), 1);
        assert_eq!(parked.await.unwrap_err().reason, Reason::DeadlineExceeded);
        drop(running);
    });
}

pub fn report_32_a_start_that_is_not_fetched_is_taken_back<H: Harness>() {
    H::block_on(async {
        let gate = gate::<H>(1);
        gate.set_pick_up_within(Some(20 * MS));
        let running = gate.try_enter(Job::new(1)).unwrap();
        let mut forgotten = pin!(gate.enter(Job::new(1)));
        assert!(once(&mut forgotten).await.is_none());
        let next = start::<H, _>({
            let gate = gate.clone();
            async move { gate.enter(Job::new(1)).await.map(|permit| permit.complete(Completion::DONE)) }
        });
        waiting::<H>(&gate, 2).await;
        // From a thread that knows no runtime.
        std::thread::spawn(move || drop(running)).join().unwrap();
        let since = gate.now();
        next.await.unwrap();
        assert!(gate.now() >= since.saturating_add(15 * MS), "it had its time");
        assert_eq!(forgotten.await.unwrap_err().reason, Reason::DeadlineExceeded);
        assert_eq!(gate.snapshot().counts.not_started, 1);
    });
}

pub fn a_job_starts_when_it_is_ready<H: Harness>() {
    H::block_on(async {
        let gate = gate::<H>(1);
        let ready_at = gate.now().saturating_add(20 * MS);
        let permit =
            gate.enter(Job { ready_at: Some(ready_at), attempt: true, ..Job::new(1) }).await.unwrap();
        assert!(gate.now() >= ready_at);
        let again = gate.now().saturating_add(10 * MS);
        let permit = permit.retry(again).await.unwrap();
        assert!(gate.now() >= again && permit.waited() >= 30 * MS);
    });
}

pub fn threads_wait_in_the_same_queue<H: Harness>() {
    H::block_on(async {
        let gate = gate::<H>(1);
        let running = gate.try_enter(Job::new(1)).unwrap();
        let threads: Vec<_> = (0..4)
            .map(|tenant| {
                let gate = gate.clone();
                std::thread::spawn(move || {
                    gate.enter_blocking(Job::new(tenant)).unwrap().complete(Completion::DONE);
                })
            })
            .collect();
        waiting::<H>(&gate, 4).await;
        let task = start::<H, _>({
            let gate = gate.clone();
            async move { gate.enter(Job::new(9)).await.unwrap().complete(Completion::DONE) }
        });
        waiting::<H>(&gate, 5).await;
        drop(running);
        task.await;
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(gate.snapshot().counts.completed, 6);
    });
}

pub fn many_tasks_of_many_tenants_are_all_served_and_leave_nothing<H: Harness>() {
    H::block_on(async {
        let gate = gate::<H>(4);
        gate.set_weight(TenantKey(3), 2).unwrap();
        let tasks: Vec<_> = (0..200)
            .map(|number| {
                let gate = gate.clone();
                start::<H, _>(async move {
                    for _ in 0..20 {
                        let permit = gate.enter(Job::new(number % 10)).await.unwrap();
                        yield_now().await;
                        permit.complete(Completion::DONE);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await;
        }
        gate.close(CloseMode::Drain);
        gate.drained().await;
        let counts = gate.snapshot().counts;
        assert_eq!((counts.started, counts.completed, counts.stale), (4_000, 4_000, 0));
    });
}
