//! What futures over the gate do, by hand and at exact instants.

#[path = "../common/mod.rs"]
mod common;
mod reports;

use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::time::Instant;

use common::{Task, Virtual, at};
use tollgate::observe::NoObserver;
use tollgate_async::gate::{
    Budget, CloseMode, Completion, Gate, GatePermit, GateRefused, Job, Settings, TenantKey,
};
use tollgate_async::{Reason, Runtime, Timestamp};

type Entering<R> = Task<Result<GatePermit<R>, GateRefused>>;

fn gate(limit: u64) -> (Virtual, Gate<Virtual>) {
    with(limit, Settings { max_wait: None, ..Settings::default() })
}

fn with(limit: u64, settings: Settings) -> (Virtual, Gate<Virtual>) {
    let runtime = Virtual::default();
    let gate = Gate::with_observer(runtime.clone(), settings, Budget::new(limit), NoObserver).unwrap();
    (runtime, gate)
}

/// A task that has asked to enter and was told nothing yet.
fn waits<R: Runtime>(gate: &Gate<R>, job: Job) -> Entering<R> {
    let gate = gate.clone();
    let mut task = Task::new(async move { gate.enter(job).await });
    assert!(task.poll().is_none(), "it was told at once");
    task
}

fn heavy(weight: u64) -> Job {
    Job { weight, ..Job::new(9) }
}

fn starts<R: Runtime>(task: &mut Entering<R>) -> GatePermit<R> {
    task.run().expect("it was woken").expect("it was started")
}

fn refused<R: Runtime>(task: &mut Entering<R>) -> Reason {
    task.run().expect("it was woken").expect_err("it was refused").reason
}

fn in_use<R: Runtime>(gate: &Gate<R>) -> u64 {
    gate.with_capacity(Budget::in_use)
}

#[test]
fn everything_can_go_to_other_threads() {
    fn is<T: Send + Sync + 'static>(_: &T) {}
    fn sends<T: Send>(_: &T) {}
    let (_, gate) = gate(2);
    is(&gate);
    sends(&gate.enter(Job::new(1)));
    sends(&gate.drained());
    let permit = gate.try_enter(Job { attempt: true, ..Job::new(1) }).unwrap();
    is(&permit);
    sends(&permit.retry(at(1)));
}

#[test]
fn the_permit_tells_what_was_known_and_how_long_it_took() {
    let settings = Settings { expected_service: Some(Duration::from_nanos(10)), ..Settings::default() };
    let (runtime, gate) = with(1, settings);
    let first = gate.try_enter(Job::new(1)).unwrap();
    let mut second = waits(&gate, Job::new(1));
    let mut third = waits(&gate, Job::new(1));
    runtime.set(at(7));
    first.complete(Completion::DONE);
    let second = starts(&mut second);
    assert_eq!((second.waited(), second.position()), (Duration::from_nanos(7), 0));
    drop(second);
    let third = starts(&mut third);
    assert_eq!((third.position(), third.estimated_wait()), (1, Some(Duration::from_nanos(20))));
}

#[test]
fn a_future_can_be_dropped_at_every_point() {
    let (_, gate) = gate(1);
    let unpolled = gate.enter(Job::new(1));
    drop(unpolled);
    assert_eq!(gate.snapshot().counts.queued, 0, "before its first poll it is nothing");
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut waiting = waits(&gate, Job::new(1));
    waiting.cancel();
    assert_eq!((gate.snapshot().waiting, gate.snapshot().counts.cancelled), (0, 1));
    let mut granted = waits(&gate, Job::new(1));
    let mut next = waits(&gate, Job::new(1));
    drop(running);
    granted.cancel();
    assert_eq!(gate.snapshot().counts.not_started, 1, "started, and given back");
    drop(starts(&mut next));
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut told_off = waits(&gate, Job::new(1));
    gate.remove_tenant(TenantKey(1));
    assert!(told_off.is_woken());
    told_off.cancel();
    drop(running);
    assert_eq!((in_use(&gate), gate.snapshot().counts.stale), (0, 0));
}

#[test]
fn an_attempt_can_be_dropped_at_every_point() {
    let (runtime, gate) = gate(1);
    let attempt = Job { attempt: true, ..Job::new(1) };
    drop(gate.try_enter(attempt).unwrap().retry(at(5)));
    assert_eq!(gate.snapshot().counts.completed, 1, "not polled: dropped as a permit is");
    let mut retrying = Task::new(gate.try_enter(attempt).unwrap().retry(at(5)));
    assert!(retrying.poll().is_none());
    assert_eq!((in_use(&gate), gate.snapshot().queued), (0, 1), "it waits and holds nothing");
    retrying.cancel();
    assert_eq!(gate.snapshot().queued, 0);
    let mut retrying = Task::new(gate.try_enter(attempt).unwrap().retry(at(5)));
    assert!(retrying.poll().is_none());
    runtime.set(at(5));
    let mut permit = starts(&mut retrying);
    permit.confirm().unwrap();
    assert!(permit.confirm().is_err(), "once is enough");
    let mut no_attempt = Task::new(permit.retry(at(9)));
    let permit = no_attempt.poll().expect("at once").unwrap();
    assert_eq!(in_use(&gate), 1, "it stays as it is");
    drop(permit);
    assert_eq!((in_use(&gate), gate.snapshot().counts.completed), (0, 2));
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
fn those_who_wait_are_served_after_a_drain_and_refused_by_a_close() {
    let (_, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut first = waits(&gate, Job::new(1));
    let mut second = waits(&gate, Job::new(2));
    gate.close(CloseMode::Drain);
    let watched = gate.clone();
    let mut drained = Task::new(async move { watched.drained().await });
    assert!(drained.poll().is_none());
    drop(running);
    let first = starts(&mut first);
    gate.close(CloseMode::Immediate);
    assert_eq!(refused(&mut second), Reason::Closed);
    assert!(drained.run().is_none(), "one runs still");
    drop(first);
    assert!(drained.run().is_some());
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
fn a_thousand_who_start_at_once_are_all_woken() {
    let (_, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut waiting: Vec<_> = (0..1_000).map(|n| waits(&gate, Job::new(n % 50))).collect();
    gate.with_capacity_mut(|capacity| capacity.set_limit(1_001));
    let permits: Vec<_> = waiting.iter_mut().map(starts).collect();
    assert_eq!((permits.len(), in_use(&gate)), (1_000, 1_001));
    drop(running);
}

#[test]
fn entering_and_ending_allocates_nothing() {
    let (_, gate) = gate(2);
    let job = Job { deadline: Some(at(1_000)), ..Job::new(1) };
    let cycle = || {
        let mut entering = core::pin::pin!(gate.enter(job));
        match entering.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => permit.unwrap().complete(Completion::DONE),
            Poll::Pending => panic!("there is room"),
        }
    };
    cycle();
    let allocated = allocation_counter::measure(|| (0..1_000).for_each(|_| cycle()));
    assert_eq!(allocated.count_total, 0);
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
