use super::*;

#[test]
fn a_completion_inside_the_start_callback_is_safe() {
    let mut gate = gate(1, settings());
    for _ in 0..5 {
        submit(&mut gate, 0, Job::new(1));
    }
    let mut ran = 0;
    while let Some(GateEvent::Start { job, .. }) = gate.poll(ms(0)) {
        // What is started here ends at once and calls back, twice.
        gate.complete(ms(0), job, Completion::DONE).unwrap();
        assert!(gate.complete(ms(0), job, Completion::DONE).is_err());
        gate.check_invariants();
        ran += 1;
    }
    assert_eq!((ran, gate.capacity().in_use(), gate.snapshot(ms(0)).counts.stale), (5, 0, 5));
}

#[test]
fn every_call_for_a_job_in_another_state_is_refused_counted_and_without_effect() {
    let mut gate = gate(1, settings());
    let (first, second) = (submit(&mut gate, 0, Job::new(1)), submit(&mut gate, 0, Job::new(1)));
    let wait = |gate: &mut Small, job| {
        assert_eq!(gate.complete(ms(0), job, Completion::NotStarted), Err(Stale));
        assert_eq!(gate.confirm(ms(0), job), Err(Stale));
        assert_eq!(gate.retry(ms(0), job, ms(0)), Err(Stale));
        gate.check_invariants();
    };
    wait(&mut gate, first);
    assert_eq!(starts(&mut gate, 0), [first]);
    assert_eq!(
        (gate.confirm(ms(0), first), gate.retry(ms(0), first, ms(0))),
        (Err(Stale), Err(Stale)),
        "no attempt"
    );
    assert_eq!(gate.cancel(ms(0), second), Ok(Cancelled::Queued));
    wait(&mut gate, second);
    done(&mut gate, 0, first);
    wait(&mut gate, first);
    assert_eq!((gate.cancel(ms(0), first), gate.cancel(ms(0), second)), (Err(Stale), Err(Stale)));
    assert_eq!(gate.snapshot(ms(0)).counts.stale, 13);
    let third = submit(&mut gate, 0, Job::new(1));
    assert_eq!(third.index(), first.index(), "its place is taken again");
    assert!(gate.cancel(ms(0), first).is_err());
    assert_eq!(starts(&mut gate, 0), [third]);
}

#[test]
fn a_job_that_definitely_never_started_gives_its_slot_back_once_and_costs_nothing() {
    let mut gate = gate(1, Settings { order: Order::Deficit { quantum: 10 }, ..settings() });
    let jobs: Vec<_> = [1, 1, 2, 2]
        .map(|tenant| submit(&mut gate, 0, Job { cost: Cost::Units(10), ..Job::new(tenant) }))
        .to_vec();
    assert_eq!(starts(&mut gate, 0), [jobs[0]]);
    gate.complete(ms(0), jobs[0], Completion::NotStarted).unwrap();
    assert!(gate.complete(ms(0), jobs[0], Completion::NotStarted).is_err());
    gate.check_invariants();
    let order = [2, 1, 3].map(|_: usize| {
        let started = starts(&mut gate, 0);
        done(&mut gate, 0, started[0]);
        jobs.iter().position(|&job| job == started[0]).unwrap()
    });
    assert_eq!(order, [2, 1, 3], "tenant 1 has its refunded 10 and its quantum for its next turn");
    let served: Vec<_> = gate.tenants(ms(0)).map(|tenant| tenant.served_cost).collect();
    assert_eq!(served, [10, 20]);
    assert_eq!(gate.snapshot(ms(0)).counts.not_started, 1);
}

#[test]
fn an_under_estimate_is_debt_that_keeps_the_tenant_known_until_it_is_repaid() {
    let small = Settings { order: Order::Deficit { quantum: 10 }, max_tenants: 2, ..settings() };
    let mut gate = gate(1, small);
    let cheap = submit(&mut gate, 0, Job { cost: Cost::Units(10), ..Job::new(1) });
    assert_eq!(starts(&mut gate, 0), [cheap]);
    gate.complete(ms(100), cheap, Completion::costing(40)).unwrap();
    let debt = |gate: &Small| {
        gate.tenants(ms(0)).find(|tenant| tenant.key == TenantKey(1)).map(|tenant| tenant.debt)
    };
    assert_eq!(debt(&gate), Some(30));

    let ten = |tenant| Job { cost: Cost::Units(10), ..Job::new(tenant) };
    for _ in 0..6 {
        submit(&mut gate, 100, ten(2));
    }
    assert_eq!(reason(gate.submit(ms(100), ten(3))), Reason::TenantTableFull, "1 owes");
    submit(&mut gate, 100, ten(1));
    let mut order = Vec::new();
    while let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(ms(100)) {
        order.push(tenant.0);
        done(&mut gate, 100, job);
    }
    assert_eq!(order, [2, 2, 2, 2, 1, 2, 2], "three turns repay 30, the fourth pays for its job");
    assert_eq!(debt(&gate), Some(0));
    submit(&mut gate, 100, ten(3));
}

#[test]
fn a_debt_is_forgiven_after_the_time_set_when_its_place_is_needed() {
    let small = Settings { max_tenants: 1, forgive_after: millis(50), ..settings() };
    let mut gate = gate(1, small);
    let job = submit(&mut gate, 0, Job::new(1));
    starts(&mut gate, 0);
    gate.complete(ms(10), job, Completion::costing(1_000_000)).unwrap();
    assert_eq!(reason(gate.submit(ms(60), Job::new(2))), Reason::TenantTableFull);
    let job = submit(&mut gate, 61, Job::new(2));
    assert_eq!(starts(&mut gate, 61), [job]);
}

#[test]
fn costs_are_learnt_by_class_and_charged() {
    let mut gate = gate(1, Settings { classes: 1, ..settings() });
    let class = ClassId(0);
    gate.configure_class(class, CostClass { initial: 4, floor: 2, ceiling: 6 }).unwrap();
    let learnt = Job { cost: Cost::Learnt(class), ..Job::new(1) };
    let mut charged = Vec::new();
    for actual in [8, 100, 0, 0] {
        charged.push(gate.estimated_cost(class).unwrap());
        let job = submit(&mut gate, 0, learnt);
        assert_eq!(starts(&mut gate, 0), [job]);
        gate.complete(ms(0), job, Completion::costing(actual)).unwrap();
    }
    assert_eq!(charged, [4, 5, 6, 6]);
    assert_eq!(gate.tenants(ms(0)).next().unwrap().served_cost, 108);
    assert!(gate.configure_class(ClassId(1), CostClass::default()).is_err());
}

#[test]
fn an_attempt_keeps_its_place_and_goes_back_to_the_head_uncharged() {
    let mut gate = gate(8, Settings { max_attempts: 1, max_queued: 3, ..settings() });
    let attempt = |deadline| Job { attempt: true, bytes: 7, deadline, ..Job::new(1) };
    let first = submit(&mut gate, 0, attempt(Some(ms(100))));
    let second = submit(&mut gate, 0, attempt(None));
    let other = submit(&mut gate, 0, Job { attempt: true, ..Job::new(2) });
    assert_eq!(starts(&mut gate, 0), [first], "one attempt at a time");
    assert_eq!((gate.snapshot(ms(0)).queued, gate.snapshot(ms(0)).queued_bytes), (3, 14));
    assert_eq!(reason(gate.submit(ms(0), Job::new(3))), Reason::QueueFull, "its place is kept");

    assert_eq!(gate.retry(ms(5), first, ms(40)), Ok(Retried::Queued));
    gate.check_invariants();
    assert_eq!(starts(&mut gate, 5), [other], "1 is not ready");
    gate.confirm(ms(6), other).unwrap();
    assert_eq!((gate.confirm(ms(6), other), gate.retry(ms(6), other, ms(9))), (Err(Stale), Err(Stale)));
    assert_eq!(gate.poll_timeout(), Some(ms(40)));
    assert_eq!(starts(&mut gate, 39), []);
    assert_eq!(starts(&mut gate, 40), [first], "before the one that came later");
    assert_eq!(gate.retry(ms(50), first, ms(100)), Ok(Retried::Refused(Reason::WaitExceedsBudget)));
    assert_eq!(starts(&mut gate, 50), [second]);
    done(&mut gate, 60, second);
    done(&mut gate, 60, other);
    let end = gate.snapshot(ms(60));
    assert_eq!((end.queued, end.queued_bytes, end.active, end.attempts), (0, 0, 0, 0));
    assert_eq!((gate.capacity().in_use(), end.counts.retried, end.counts.started), (0, 1, 4));
}

#[test]
fn an_attempt_that_expired_meanwhile_is_over_when_it_comes_back() {
    let mut gate = gate(1, settings());
    let job = submit(&mut gate, 0, Job { attempt: true, deadline: Some(ms(10)), ..Job::new(1) });
    assert_eq!(starts(&mut gate, 9), [job]);
    assert_eq!(gate.retry(ms(10), job, ms(10)), Ok(Retried::Refused(Reason::DeadlineExceeded)));
    gate.check_invariants();
    assert!(gate.complete(ms(10), job, Completion::DONE).is_err());
}

#[test]
fn draining_serves_those_who_wait_and_immediate_refuses_them() {
    for mode in [CloseMode::Drain, CloseMode::Immediate] {
        let mut gate = gate(1, settings());
        let jobs: Vec<_> = [1, 1, 2].map(|tenant| submit(&mut gate, 0, Job::new(tenant))).to_vec();
        assert_eq!(starts(&mut gate, 0), [jobs[0]]);
        gate.close(mode);
        assert_eq!(reason(gate.submit(ms(0), Job::new(1))), Reason::Closed);
        assert_eq!(gate.try_start(ms(0), Job::new(1)).unwrap_err().reason, Reason::Closed);
        let (started, refused) = drain(&mut gate, 0);
        assert_eq!(started, []);
        assert!(!gate.is_drained());
        done(&mut gate, 5, jobs[0]);
        if mode == CloseMode::Immediate {
            assert_eq!(refused, [(jobs[1], Reason::Closed), (jobs[2], Reason::Closed)]);
        } else {
            assert_eq!(refused, []);
            for (at, job) in [(5, jobs[2]), (6, jobs[1])] {
                assert_eq!(starts(&mut gate, at), [job]);
                done(&mut gate, at, job);
            }
        }
        assert!(gate.is_drained());
    }
}

#[test]
fn an_attempt_that_comes_back_to_a_closed_gate_is_over() {
    let mut gate = gate(2, settings());
    let jobs: Vec<_> = (0..2).map(|_| submit(&mut gate, 0, Job { attempt: true, ..Job::new(1) })).collect();
    assert_eq!(starts(&mut gate, 0), jobs);
    gate.close(CloseMode::Drain);
    assert_eq!(gate.retry(ms(0), jobs[0], ms(1)), Ok(Retried::Queued), "it was in before");
    gate.close(CloseMode::Immediate);
    gate.close(CloseMode::Drain);
    assert_eq!(gate.retry(ms(0), jobs[1], ms(1)), Ok(Retried::Refused(Reason::Closed)), "immediate stays");
    assert_eq!(drain(&mut gate, 0).1, [(jobs[0], Reason::Closed)]);
    assert!(gate.is_drained());
}

#[test]
fn jobs_that_live_at_the_same_time_have_numbers_of_their_own_within_the_bound() {
    let settings = Settings { max_queued: 4, max_active: 2, ..settings() };
    let mut gate = gate(2, settings);
    assert!(!gate.is_closed());
    let mut live: Vec<JobId> = (0..2).map(|at| submit(&mut gate, at, Job::new(1))).collect();
    assert_eq!(starts(&mut gate, 2), live);
    live.extend((0..4).map(|at| submit(&mut gate, at, Job::new(1))));
    let mut numbers: Vec<usize> = live.iter().map(|job| job.index()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((numbers.len(), numbers.last().is_some_and(|last| *last < 6)), (6, true));
    done(&mut gate, 5, live[0]);
    let next = starts(&mut gate, 5);
    let again = submit(&mut gate, 5, Job::new(1));
    assert_eq!((again.index(), next.len()), (live[0].index(), 1), "a place that is free is taken again");
}
