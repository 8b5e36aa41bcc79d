//! Reports of defects elsewhere, as tests of the gate.

use super::*;

#[test]
fn report_12_who_is_parked_without_being_polled_holds_up_nobody() {
    let (runtime, gate) = gate(2);
    let running = gate.try_enter(Job::new(1)).unwrap();
    // It does not fit, is first in line, and nobody ever polls it again.
    let parked = waits(&gate, Job { deadline: Some(at(50)), ..heavy(2) });
    let mut behind = waits(&gate, Job::new(2));
    runtime.set(at(50));
    assert_eq!(starts(&mut behind).waited(), Duration::from_nanos(50));
    assert!(parked.is_woken());
    drop(running);
}

#[test]
fn report_13_a_big_job_is_not_starved_by_small_ones_that_keep_coming() {
    let (_, gate) = gate(3);
    let mut small: Vec<_> = (0..3).map(|_| gate.try_enter(Job::new(1)).unwrap()).collect();
    let mut big = waits(&gate, heavy(3));
    let mut after = vec![];
    for _ in 0..3 {
        after.push(waits(&gate, Job::new(1)));
        small.pop();
    }
    assert!(after.iter().all(|task| !task.is_woken()));
    drop(starts(&mut big));
    for task in &mut after {
        drop(starts(task));
    }
}

#[test]
fn report_21_closed_stays_closed_whatever_is_called() {
    let (_, gate) = gate(1);
    gate.close(CloseMode::Immediate);
    gate.close(CloseMode::Drain);
    gate.with_capacity_mut(|capacity| capacity.set_limit(9));
    gate.set_weight(TenantKey(1), 3).unwrap();
    gate.recheck();
    assert!(gate.is_closed() && gate.is_drained());
    assert_eq!(gate.try_enter(Job::new(1)).unwrap_err().reason, Reason::Closed);
    let again = gate.clone();
    let told = Task::new(async move { again.enter(Job::new(1)).await }).poll().expect("at once");
    assert_eq!(told.unwrap_err().reason, Reason::Closed);
}

#[test]
fn reports_22_and_23_a_lowered_limit_holds_while_somebody_waits_and_a_raised_one_gives_the_difference() {
    let (_, gate) = gate(4);
    let mut running: Vec<_> = (0..4).map(|_| gate.try_enter(Job::new(1)).unwrap()).collect();
    let mut waiting: Vec<_> = (0..6).map(|_| waits(&gate, Job::new(1))).collect();
    gate.with_capacity_mut(|capacity| capacity.set_limit(1));
    for left in [3, 2, 1] {
        running.pop();
        assert_eq!((in_use(&gate), gate.snapshot().waiting), (left, 6));
    }
    gate.with_capacity_mut(|capacity| capacity.set_limit(3));
    let woken = waiting.iter().filter(|task| task.is_woken()).count();
    assert_eq!((woken, in_use(&gate)), (2, 3));
    running.extend(waiting.iter_mut().take(2).map(starts));
}

#[test]
fn report_24_who_is_behind_a_big_one_that_left_starts() {
    let (_, gate) = gate(2);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut big = waits(&gate, heavy(2));
    let mut small = waits(&gate, Job::new(2));
    big.cancel();
    drop(starts(&mut small));
    drop(running);
}

#[test]
fn report_25_who_leaves_frees_its_place_at_once() {
    let (_, gate) = with(1, Settings { max_queued: 1, ..Settings::default() });
    let _running = gate.try_enter(Job::new(1)).unwrap();
    for _ in 0..100 {
        let mut only = waits(&gate, Job::new(1));
        let full = gate.clone();
        let told = Task::new(async move { full.enter(Job::new(2)).await }).poll().expect("at once");
        assert_eq!(told.unwrap_err().reason, Reason::QueueFull);
        only.cancel();
    }
}

#[test]
fn report_26_a_future_dropped_after_its_start_gives_it_back() {
    let (_, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut all: Vec<_> = (0..5).map(|_| waits(&gate, Job::new(1))).collect();
    drop(running);
    for task in &mut all {
        assert!(task.is_woken(), "its turn has come");
        task.cancel();
    }
    assert_eq!((in_use(&gate), gate.snapshot().counts.not_started), (0, 5));
}

#[test]
fn report_27_two_completions_wake_two() {
    let (_, gate) = gate(2);
    let running = [1, 2].map(|tenant| gate.try_enter(Job::new(tenant)).unwrap());
    let mut waiting = [1, 2, 3].map(|tenant| waits(&gate, Job::new(tenant)));
    drop(running);
    assert_eq!(waiting.each_ref().map(Task::is_woken), [true, true, false]);
    let permits: Vec<_> = waiting.iter_mut().take(2).map(starts).collect();
    assert_eq!(in_use(&gate), 2);
    drop(permits);
}

#[test]
fn report_28_nobody_takes_what_somebody_who_waits_is_owed() {
    let (_, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut woken = waits(&gate, Job::new(1));
    drop(running);
    assert_eq!(gate.try_enter(Job::new(2)).unwrap_err().reason, Reason::NoPermits);
    drop(starts(&mut woken));
}

#[test]
fn report_29_who_waits_is_woken_once_and_for_a_reason() {
    let (runtime, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut task = waits(&gate, Job::new(1));
    let woken = task.woken();
    for step in 1..100 {
        assert!(task.poll().is_none());
        runtime.set(at(step));
    }
    let others: Vec<_> = (0..50).map(|_| waits(&gate, Job::new(2))).collect();
    drop(others);
    assert_eq!(woken.times(), 1, "that is how a task begins");
    drop(running);
    assert_eq!(woken.times(), 2);
    drop(starts(&mut task));
}

#[test]
fn report_30_what_weighs_more_than_the_limit_is_refused_at_once() {
    let (_, gate) = gate(2);
    let ask = gate.clone();
    let told = Task::new(async move { ask.enter(heavy(3)).await }).poll().expect("at once");
    assert_eq!(told.unwrap_err().reason, Reason::ExceedsLimit);
}

struct Wild;

impl Wake for Wild {
    fn wake(self: Arc<Self>) {
        panic!("a waker of somebody else");
    }
}

#[test]
fn report_31_a_waker_that_panics_hurts_nobody_else() {
    let (runtime, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let waker = Waker::from(Arc::new(Wild));
    let mut context = Context::from_waker(&waker);
    let mut wild: Vec<_> = (0..3)
        .map(|n| {
            let gate = gate.clone();
            let job = Job { deadline: Some(at(10)), ..Job::new(n) };
            let mut future = Box::pin(async move { gate.enter(job).await });
            assert!(future.as_mut().poll(&mut context).is_pending());
            future
        })
        .collect();
    let mut tame = waits(&gate, Job::new(7));
    drop(running);
    let granted = wild.iter_mut().position(|future| future.as_mut().poll(&mut context).is_ready());
    assert!(granted.is_some(), "it was started, though its waker panicked");
    // The timer's thread is not hurt either, nor those who expire with it.
    runtime.set(at(10));
    assert_eq!(gate.snapshot().waiting, 1);
    drop(wild);
    drop(starts(&mut tame));
    assert_eq!(in_use(&gate), 0);
}

#[test]
fn report_32_a_start_that_is_not_fetched_is_taken_back_in_time() {
    let (runtime, gate) = gate(1);
    gate.set_pick_up_within(Some(Duration::from_millis(1)));
    let millis = |millis: u64| at(millis * 1_000_000);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut forgotten = waits(&gate, Job::new(1));
    let mut next = waits(&gate, Job::new(1));
    // Started between two instants at which the gate looks.
    runtime.set(millis(7));
    runtime.set(at(7_300_000));
    drop(running);
    assert!(forgotten.is_woken());
    runtime.set(millis(8));
    runtime.set(at(8_299_999));
    assert!(!next.is_woken());
    runtime.set(at(8_300_000));
    drop(starts(&mut next));
    assert_eq!(refused(&mut forgotten), Reason::DeadlineExceeded);
    assert_eq!((in_use(&gate), gate.snapshot().counts.not_started), (0, 1));
    assert_eq!(gate.snapshot().counts.stale, 0);
}

#[test]
fn starts_that_are_fetched_do_not_hide_those_that_are_not() {
    let (runtime, gate) = gate(3);
    gate.set_pick_up_within(Some(Duration::from_millis(1)));
    let running: Vec<_> = (0..3).map(|_| gate.try_enter(Job::new(1)).unwrap()).collect();
    let mut granted: Vec<_> = (0..3).map(|_| waits(&gate, Job::new(1))).collect();
    let mut next = waits(&gate, Job::new(1));
    drop(running);
    let fetched = [starts(&mut granted[0]), starts(&mut granted[2])];
    runtime.set(at(1_000_000));
    drop(starts(&mut next));
    assert_eq!(refused(&mut granted[1]), Reason::DeadlineExceeded);
    drop(fetched);
    assert_eq!(in_use(&gate), 0);
}

#[test]
fn report_33_a_tenant_whose_job_does_not_fit_yet_is_waited_for_without_a_lock() {
    let (_, gate) = gate(1);
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut waiting = waits(&gate, Job::new(1));
    // While it is pending everything answers.
    assert!(gate.try_enter(Job::new(2)).is_err());
    assert_eq!(gate.tenant(TenantKey(1)).map(|tenant| (tenant.waiting, tenant.active)), Some((1, 1)));
    assert_eq!(gate.tenants().len(), 1);
    gate.set_weight(TenantKey(2), 2).unwrap();
    drop(running);
    drop(starts(&mut waiting));
}
