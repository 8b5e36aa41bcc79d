//! What futures over the gate do, by hand and at exact instants.

#[path = "../common/mod.rs"]
mod common;
mod reports;
mod time;

use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;

use common::{Task, Virtual, at};
use tollgate::observe::NoObserver;
use tollgate_async::gate::{
    Budget, CloseMode, Completion, Gate, GatePermit, GateRefused, Job, Settings, TenantKey,
};
use tollgate_async::{Reason, Runtime};

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
