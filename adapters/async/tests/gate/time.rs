//! What happens by the passing of time alone, and who sees to it.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use tollgate::observe::NoObserver;
use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
use tollgate_async::{Reason, Runtime, Timestamp};

use crate::common::{self, Task, Virtual, at};
use crate::{gate, in_use, refused, starts, waits, with};

fn later(tenant: u64, ready_at: u64) -> Job {
    Job { ready_at: Some(at(ready_at)), ..Job::new(tenant) }
}

#[test]
fn a_job_that_is_ready_later_starts_then() {
    let (runtime, gate) = gate(2);
    let mut later = waits(&gate, Job { ready_at: Some(at(30)), ..Job::new(1) });
    let mut behind = waits(&gate, Job { ready_at: Some(at(40)), ..Job::new(1) });
    runtime.set(at(29));
    assert!(later.run().is_none());
    runtime.set(at(30));
    assert_eq!(starts(&mut later).waited(), Duration::from_nanos(30));
    assert!(behind.run().is_none());
    runtime.set(at(40));
    starts(&mut behind).complete(Completion::DONE);
}

#[test]
fn what_expires_expires_on_time_although_only_waiting_futures_are_there_and_none_is_polled() {
    let (runtime, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut late: Vec<_> =
        (1..=9).map(|n| waits(&gate, Job { deadline: Some(at(n * 10)), ..Job::new(n) })).collect();
    for n in 1..=9_u32 {
        runtime.set(at(u64::from(n) * 10 - 1));
        assert_eq!(gate.snapshot().waiting, 10 - n);
        runtime.set(at(u64::from(n) * 10));
        assert_eq!(gate.snapshot().waiting, 9 - n, "the gate's own timer went off");
    }
    for task in &mut late {
        assert_eq!(refused(task), Reason::DeadlineExceeded);
    }
    drop(running);
}

#[test]
fn an_earlier_deadline_sets_the_timer_anew() {
    let (runtime, gate) = gate(1);
    let _running = gate.try_enter(Job::new(1)).unwrap();
    let _long = waits(&gate, Job { deadline: Some(at(1_000)), ..Job::new(1) });
    assert_eq!((runtime.next(), runtime.timers()), (Some(at(1_000)), 1));
    let _short = waits(&gate, Job { deadline: Some(at(10)), ..Job::new(2) });
    assert_eq!((runtime.next(), runtime.timers()), (Some(at(10)), 1), "one timer, whoever waits");
    runtime.set(at(10));
    assert_eq!(runtime.next(), Some(at(1_000)));
}

#[test]
fn what_is_due_sooner_since_somebody_left_happens_then() {
    let (runtime, gate) = gate(1);
    let head = waits(&gate, later(1, 1_000));
    let mut behind = waits(&gate, later(1, 30));
    assert_eq!(runtime.next(), Some(at(1_000)), "nobody passes who is not ready yet");
    drop(head);
    assert!(behind.is_woken() && behind.run().is_none(), "it sets the timer");
    assert_eq!(runtime.next(), Some(at(30)));
    runtime.set(at(30));
    drop(starts(&mut behind));
}

#[test]
fn who_was_woken_to_set_the_timer_and_leaves_is_replaced() {
    let (runtime, gate) = gate(1);
    let head = waits(&gate, later(1, 1_000));
    let (mut second, mut third) = (waits(&gate, later(1, 30)), waits(&gate, later(1, 40)));
    drop(head);
    gate.recheck();
    assert_eq!((second.is_woken(), third.is_woken()), (true, false), "one is enough");
    second.cancel();
    assert!(third.is_woken() && third.run().is_none());
    assert_eq!(runtime.next(), Some(at(40)));
}

#[test]
fn who_was_asked_in_vain_is_asked_again() {
    let (runtime, gate) = gate(1);
    let mut asked = waits(&gate, later(9, 2_000));
    let (head, mut second) = (waits(&gate, later(1, 1_000)), waits(&gate, later(1, 30)));
    drop(head);
    second.cancel();
    assert!(asked.is_woken() && asked.run().is_none());
    assert_eq!(runtime.next(), Some(at(1_000)), "that was early enough");
    let (head, _third) = (waits(&gate, later(1, 3_000)), waits(&gate, later(1, 500)));
    drop(head);
    assert!(asked.is_woken() && asked.run().is_none());
    assert_eq!(runtime.next(), Some(at(500)));
}

#[test]
fn who_was_asked_and_is_not_polled_in_time_is_not_counted_on_any_more() {
    let (runtime, gate) = gate(1);
    let asked = waits(&gate, later(9, 4_000));
    let (head, mut late) = (waits(&gate, later(1, 1_000)), waits(&gate, later(1, 30)));
    let (other, mut behind) = (waits(&gate, later(2, 3_000)), waits(&gate, later(2, 500)));
    drop(head);
    assert!(asked.is_woken());
    runtime.set(at(31));
    drop(other);
    drop(starts(&mut late));
    assert!(behind.is_woken() && behind.run().is_none());
    assert_eq!(runtime.next(), Some(at(500)));
}

#[test]
fn a_queue_turns_to_newest_first_on_time_though_no_job_comes_or_ends() {
    let newest_first_after = Some(Duration::from_nanos(6));
    let (runtime, gate) = with(2, Settings { newest_first_after, max_wait: None, ..Settings::default() });
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut big = waits(&gate, Job { weight: 2, ..Job::new(2) });
    runtime.set(at(2));
    let mut small = waits(&gate, Job::new(2));
    runtime.set(at(5));
    assert!(small.run().is_none() && big.run().is_none());
    runtime.set(at(6));
    assert_eq!(starts(&mut small).waited(), Duration::from_nanos(4));
    drop(running);
}

/// The system's clock, for threads; a timer here is a mistake.
#[derive(Clone, Debug)]
struct Threads(Instant);

impl Runtime for Threads {
    type Sleep = core::future::Ready<()>;

    fn now(&self) -> Timestamp {
        Timestamp::from_instant(Instant::now(), self.0)
    }

    fn sleep_until(&self, _: Timestamp) -> core::future::Ready<()> {
        panic!("threads know no runtime");
    }
}

#[test]
fn threads_wait_without_a_runtime_and_expire_on_time() {
    let runtime = Threads(Instant::now());
    let gate = Gate::with_observer(runtime, Settings::default(), Budget::new(1), NoObserver).unwrap();
    let running = gate.try_enter(Job::new(1)).unwrap();
    let deadline = gate.now().saturating_add(Duration::from_millis(20));
    let late = gate.enter_blocking(Job { deadline: Some(deadline), ..Job::new(1) }).unwrap_err();
    assert_eq!(late.reason, Reason::DeadlineExceeded);
    assert!(gate.now() >= deadline);
    std::thread::scope(|scope| {
        for tenant in 0..8 {
            let gate = &gate;
            scope.spawn(move || {
                for _ in 0..100 {
                    let permit = gate.enter_blocking(Job::new(tenant)).unwrap();
                    assert!(in_use(gate) <= 1);
                    permit.complete(Completion::DONE);
                }
            });
        }
        drop(running);
    });
    assert_eq!((in_use(&gate), gate.snapshot().counts.completed), (0, 801));
}

/// The system's clock, and timers that never go off.
#[derive(Clone, Debug)]
struct Deaf(Instant);

impl Runtime for Deaf {
    type Sleep = core::future::Pending<()>;

    fn now(&self) -> Timestamp {
        Timestamp::from_instant(Instant::now(), self.0)
    }

    fn sleep_until(&self, _: Timestamp) -> core::future::Pending<()> {
        core::future::pending()
    }
}

#[test]
fn a_thread_whose_job_starts_sooner_since_somebody_left_is_on_time() {
    let settings = Settings { max_wait: None, ..Settings::default() };
    let gate = Gate::with_observer(Deaf(Instant::now()), settings, Budget::new(1), NoObserver).unwrap();
    gate.set_pick_up_within(None);
    let after = |millis| Some(gate.now().saturating_add(Duration::from_millis(millis)));
    let head = waits(&gate, Job { ready_at: after(8_000), ..Job::new(1) });
    let job = Job { ready_at: after(50), ..Job::new(1) };
    std::thread::scope(|scope| {
        let behind = scope.spawn(|| gate.enter_blocking(job).unwrap().waited());
        while gate.snapshot().waiting < 2 {
            std::thread::yield_now();
        }
        drop(head);
        assert!(behind.join().unwrap() < Duration::from_secs(4));
    });
}

#[test]
fn a_thread_that_waits_keeps_the_time_and_wakes_nobody_for_it() {
    let gate =
        Gate::with_observer(Deaf(Instant::now()), Settings::default(), Budget::new(1), NoObserver).unwrap();
    gate.set_pick_up_within(None);
    let after = |millis| Some(gate.now().saturating_add(Duration::from_millis(millis)));
    let far = waits(&gate, Job { ready_at: after(8_000), ..Job::new(1) });
    let soon = Job { ready_at: after(50), ..Job::new(2) };
    std::thread::scope(|scope| drop(scope.spawn(|| gate.enter_blocking(soon).unwrap()).join().unwrap()));
    assert!(!far.is_woken());
}

/// A runtime that shuts down: from then on nobody can make a timer.
#[derive(Clone, Debug)]
struct ShutDown(Virtual, Arc<AtomicBool>);

impl Runtime for ShutDown {
    type Sleep = common::Sleep;

    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep_until(&self, at: Timestamp) -> common::Sleep {
        assert!(!self.1.load(Ordering::SeqCst), "it is shut down");
        self.0.sleep_until(at)
    }
}

#[test]
fn where_the_gate_cannot_set_its_timer_those_who_wait_do() {
    let (runtime, down) = (Virtual::default(), Arc::new(AtomicBool::new(false)));
    let of = ShutDown(runtime.clone(), Arc::clone(&down));
    let settings = Settings { max_wait: None, ..Settings::default() };
    let gate = Gate::with_observer(of, settings, Budget::new(1), NoObserver).unwrap();
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut early = waits(&gate, Job { deadline: Some(at(10)), ..Job::new(1) });
    let mut late = waits(&gate, Job { deadline: Some(at(20)), ..Job::new(1) });
    down.store(true, Ordering::SeqCst);
    runtime.set(at(10));
    assert_eq!(refused(&mut early), Reason::DeadlineExceeded);
    assert_eq!(runtime.timers(), 0);
    down.store(false, Ordering::SeqCst);
    assert!(late.is_woken() && late.run().is_none(), "it sets the timer where it is polled");
    runtime.set(at(20));
    assert_eq!(refused(&mut late), Reason::DeadlineExceeded);
    drop(running);
}

#[test]
fn outside_of_a_runtime_entering_panics_and_leaves_nothing_behind() {
    let (runtime, down) = (Virtual::default(), Arc::new(AtomicBool::new(true)));
    let of = ShutDown(runtime.clone(), Arc::clone(&down));
    let gate = Gate::with_observer(of, Settings::default(), Budget::new(1), NoObserver).unwrap();
    let running = gate.try_enter(Job::new(1)).unwrap();
    let asking = gate.clone();
    let outside = core::panic::AssertUnwindSafe(move || {
        Task::new(async move { asking.enter(Job::new(1)).await }).poll().is_none()
    });
    assert!(std::panic::catch_unwind(outside).is_err());
    assert_eq!(gate.snapshot().waiting, 0);
    down.store(false, Ordering::SeqCst);
    let mut inside = waits(&gate, Job::new(1));
    drop(running);
    drop(starts(&mut inside));
}
