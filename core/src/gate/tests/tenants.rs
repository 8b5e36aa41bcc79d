use super::*;

/// Tenants in the order in which their jobs start, one at a time, until nothing waits.
fn order(gate: &mut Small, at: u64) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(ms(at)) {
        order.push(tenant.0);
        done(gate, at, job);
    }
    order
}

#[test]
fn cost_is_shared_by_weight_whatever_single_jobs_cost() {
    let fair = Settings {
        order: Order::Deficit { quantum: 20 },
        max_queued: 500,
        max_queued_per_tenant: 250,
        ..settings()
    };
    let mut gate = gate(1, fair);
    gate.set_weight(TenantKey(2), 3).unwrap();
    for _ in 0..200 {
        submit(&mut gate, 0, Job { cost: Cost::Units(1), ..Job::new(1) });
        submit(&mut gate, 0, Job { cost: Cost::Units(10), ..Job::new(2) });
    }
    let mut cost = [0_u64, 0];
    for _ in 0..100 {
        let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(ms(0)) else { panic!("work waits") };
        cost[usize::from(tenant.0 == 2)] += if tenant.0 == 2 { 10 } else { 1 };
        done(&mut gate, 0, job);
    }
    assert!((3 * cost[0]).abs_diff(cost[1]) <= 3 * (20 + 1) + 10, "{cost:?}");
}

#[test]
fn turns_are_shared_by_weight_and_smoothly() {
    let mut gate = gate(1, Settings { order: Order::Smooth, ..settings() });
    for (tenant, weight) in [(1, 5), (2, 1), (3, 1)] {
        gate.set_weight(TenantKey(tenant), weight).unwrap();
        for _ in 0..7 {
            submit(&mut gate, 0, Job::new(tenant));
        }
    }
    assert_eq!(order(&mut gate, 0)[..7], [1, 1, 2, 1, 3, 1, 1]);
}

#[test]
fn a_changed_weight_counts_for_jobs_that_wait() {
    let mut gate = gate(1, settings());
    for _ in 0..8 {
        submit(&mut gate, 0, Job::new(1));
        submit(&mut gate, 0, Job::new(2));
    }
    gate.set_weight(TenantKey(1), 3).unwrap();
    gate.check_invariants();
    let order = order(&mut gate, 0);
    let ones = order[..8].iter().filter(|&&tenant| tenant == 1).count();
    assert!((5..=6).contains(&ones), "{order:?}");
    assert!(gate.set_weight(TenantKey(1), 0).is_err());
}

#[test]
fn one_job_at_a_time_gains_no_turns() {
    // A tenant that leaves after each job and comes back: as somebody new, if it were forgotten at once.
    let mut gate = gate(1, settings());
    for _ in 0..30 {
        submit(&mut gate, 0, Job::new(1));
        submit(&mut gate, 0, Job::new(2));
    }
    submit(&mut gate, 0, Job::new(3));
    let mut served = [0; 4];
    for _ in 0..45 {
        let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(ms(0)) else { panic!("work waits") };
        served[usize::try_from(tenant.0).unwrap()] += 1;
        done(&mut gate, 0, job);
        if tenant.0 == 3 {
            submit(&mut gate, 0, Job::new(3));
        }
    }
    assert_eq!(served, [0, 15, 15, 15]);
}

#[test]
fn an_idle_tenant_goes_when_its_place_is_needed_the_longest_idle_first() {
    let mut gate = gate(1, Settings { max_tenants: 3, ..settings() });
    for tenant in 1..=3 {
        let job = submit(&mut gate, tenant, Job::new(tenant));
        assert_eq!(starts(&mut gate, tenant), [job]);
        done(&mut gate, tenant, job);
    }
    let known = |gate: &Small| gate.tenants(ms(9)).map(|tenant| tenant.key.0).collect::<Vec<_>>();
    assert_eq!((known(&gate), gate.snapshot(ms(9)).tenants), ([1, 2, 3].to_vec(), 0));
    submit(&mut gate, 9, Job::new(2));
    submit(&mut gate, 9, Job::new(4));
    assert_eq!(known(&gate), [4, 2, 3]);
    submit(&mut gate, 9, Job::new(5));
    assert_eq!(known(&gate), [4, 2, 5]);
    assert_eq!(reason(gate.submit(ms(9), Job::new(6))), Reason::TenantTableFull);
}

#[test]
fn a_tenant_visited_in_this_round_is_not_forgotten_while_others_wait() {
    let mut gate = gate(1, Settings { max_tenants: 2, ..settings() });
    submit(&mut gate, 0, Job::new(1));
    submit(&mut gate, 0, Job::new(2));
    let Some(GateEvent::Start { job, .. }) = gate.poll(ms(0)) else { panic!("work waits") };
    done(&mut gate, 0, job);
    assert_eq!(reason(gate.submit(ms(0), Job::new(3))), Reason::TenantTableFull);
    assert_eq!(order(&mut gate, 0), [2]);
    submit(&mut gate, 0, Job::new(3));
}

#[test]
fn a_configured_tenant_stays_known_until_it_is_removed() {
    let mut gate = gate(1, Settings { max_tenants: 1, ..settings() });
    gate.set_weight(TenantKey(1), 4).unwrap();
    gate.check_invariants();
    assert_eq!(reason(gate.submit(ms(0), Job::new(2))), Reason::TenantTableFull);
    assert_eq!(gate.set_weight(TenantKey(2), 1).unwrap_err().violations()[0].field, "tenants");
    assert!(gate.remove_tenant(TenantKey(1)) && !gate.remove_tenant(TenantKey(1)));
    gate.check_invariants();
    submit(&mut gate, 0, Job::new(2));
    assert_eq!(gate.tenants(ms(0)).next().unwrap().weight, 1);
}

#[test]
fn a_tenant_that_is_removed_while_it_runs_ends_in_order_and_its_key_is_free_at_once() {
    // kubernetes#140885: a queue was removed while a request still held its seats.
    let mut gate = gate(1, settings());
    gate.set_weight(TenantKey(1), 7).unwrap();
    let jobs: Vec<_> = (0..4).map(|_| submit(&mut gate, 0, Job { bytes: 3, ..Job::new(1) })).collect();
    assert_eq!(starts(&mut gate, 0), [jobs[0]]);
    assert!(gate.remove_tenant(TenantKey(1)));
    gate.check_invariants();
    let fresh = submit(&mut gate, 0, Job::new(1));
    assert_eq!(gate.cancel(ms(0), jobs[2]), Ok(Cancelled::Queued));
    let (started, refused) = drain(&mut gate, 0);
    assert_eq!(
        (started, refused),
        (Vec::new(), [1, 3].map(|n: usize| (jobs[n], Reason::TenantRemoved)).to_vec())
    );
    assert_eq!(gate.snapshot(ms(0)).queued_bytes, 0);
    let weights: Vec<_> =
        gate.tenants(ms(0)).map(|tenant| (tenant.weight, tenant.active, tenant.waiting)).collect();
    assert_eq!(weights, [(7, 1, 0), (1, 0, 1)]);
    done(&mut gate, 5, jobs[0]);
    assert_eq!(starts(&mut gate, 5), [fresh]);
    assert_eq!(gate.tenants(ms(5)).count(), 1);
}

#[test]
fn an_attempt_of_a_removed_tenant_does_not_come_back() {
    let mut gate = gate(1, settings());
    let job = submit(&mut gate, 0, Job { attempt: true, ..Job::new(1) });
    assert_eq!(starts(&mut gate, 0), [job]);
    gate.remove_tenant(TenantKey(1));
    assert_eq!(gate.retry(ms(0), job, ms(5)), Ok(Retried::Refused(Reason::TenantRemoved)));
    gate.check_invariants();
    assert_eq!((gate.tenants(ms(0)).count(), gate.capacity().in_use()), (0, 0));
}

#[test]
fn only_tenants_whose_next_job_is_ready_have_turns() {
    let mut gate = gate(1, Settings { order: Order::Smooth, ..settings() });
    let later = submit(&mut gate, 0, Job { ready_at: Some(ms(30)), ..Job::new(1) });
    let behind = submit(&mut gate, 0, Job::new(1));
    for _ in 0..3 {
        submit(&mut gate, 0, Job::new(2));
    }
    assert_eq!(order(&mut gate, 0), [2, 2, 2]);
    assert_eq!(gate.poll_timeout(), Some(ms(30)));
    assert_eq!(gate.cancel(ms(10), later), Ok(Cancelled::Queued));
    gate.check_invariants();
    assert_eq!(starts(&mut gate, 10), [behind], "the next is ready");
    assert_eq!(gate.poll_timeout(), None);
}

#[test]
fn weight_three_is_attempted_three_times_as_often() {
    let mut gate = gate(8, Settings { order: Order::Smooth, max_attempts: 1, ..settings() });
    gate.set_weight(TenantKey(1), 3).unwrap();
    let mut attempts = [0, 0];
    for tenant in [1, 2] {
        submit(&mut gate, 0, Job { attempt: true, ..Job::new(tenant) });
    }
    for _ in 0..400 {
        let started = gate.poll(ms(0)).unwrap();
        let GateEvent::Start { job, tenant, .. } = started else { panic!("{started:?}") };
        attempts[usize::from(tenant.0 == 2)] += 1;
        assert_eq!(gate.retry(ms(0), job, ms(0)), Ok(Retried::Queued));
    }
    assert_eq!(attempts, [300, 100]);
}

/// Jobs admitted of each tenant where one token comes each nanosecond and all others are sent back to the next.
fn shares_of_a_token_bucket(order: Order, weights: [u32; 2]) -> [u32; 2] {
    let many = Settings { order, max_queued: 1_000, max_queued_per_tenant: 500, ..settings() };
    let mut gate = gate(u64::MAX, many);
    for (tenant, weight) in (0..).zip(weights) {
        gate.set_weight(TenantKey(tenant), weight).unwrap();
        for _ in 0..450 {
            submit(&mut gate, 0, Job { attempt: true, ..Job::new(tenant) });
        }
    }
    let mut admitted = [0, 0];
    for ns in 1..=400 {
        let (now, next) = (Timestamp::from_nanos(ns), Timestamp::from_nanos(ns + 1));
        let mut token = true;
        while let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(now) {
            if core::mem::take(&mut token) {
                admitted[usize::from(tenant.0 == 1)] += 1;
                gate.complete(now, job, Completion::DONE).unwrap();
            } else {
                assert_eq!(gate.retry(now, job, next), Ok(Retried::Queued));
            }
        }
        gate.check_invariants();
    }
    admitted
}

#[test]
fn tenants_sent_back_to_the_same_instant_share_what_there_is_by_weight() {
    // All came back as newcomers, in the order of their indices: the first of them got every token.
    for order in [Order::Smooth, Order::Deficit { quantum: 1 }, Order::Deficit { quantum: 10 }] {
        let [one, other] = shares_of_a_token_bucket(order, [1, 1]);
        assert!(one.abs_diff(other) <= 20, "{order:?}: {one}, {other}");
        let [three, one] = shares_of_a_token_bucket(order, [3, 1]);
        assert!(three.abs_diff(3 * one) <= 40, "{order:?}: {three}, {one}");
    }
}
