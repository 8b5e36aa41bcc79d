use super::*;
use crate::permit::AtomicPermits;

/// A gate of which one job runs.
fn busy(settings: Settings) -> Small {
    let mut gate = gate(1, settings);
    submit(&mut gate, 0, Job::new(99));
    assert_eq!(starts(&mut gate, 0).len(), 1);
    gate
}

#[test]
fn each_bound_has_its_own_refusal_which_changes_nothing() {
    let small = Settings {
        max_queued: 4,
        max_queued_bytes: 100,
        max_queued_per_tenant: 2,
        max_bytes_per_tenant: 60,
        max_tenants: 4,
        ..settings()
    };
    let sized = |tenant, bytes| Job { bytes, ..Job::new(tenant) };
    let refused = |taken: &[(u64, u64)], job: Job| {
        let mut gate = busy(small);
        for &(tenant, bytes) in taken {
            submit(&mut gate, 0, sized(tenant, bytes));
        }
        let before = gate.snapshot(ms(0));
        let rejected = gate.submit(ms(0), job).unwrap_err();
        gate.check_invariants();
        let after = gate.snapshot(ms(0));
        assert_eq!(
            (after.queued, after.queued_bytes, after.tenants),
            (before.queued, before.queued_bytes, before.tenants)
        );
        assert_eq!(after.counts.refused(rejected.reason), 1);
        rejected
    };
    let rejected = refused(&[(1, 0), (1, 0), (2, 0), (2, 0)], sized(3, 0));
    assert_eq!((rejected.reason, rejected.position), (Reason::QueueFull, 2), "one round of the two others");
    assert_eq!(refused(&[(1, 50), (2, 30)], sized(3, 21)).reason, Reason::BytesFull);
    assert_eq!(refused(&[(1, 0), (1, 0)], sized(1, 0)).reason, Reason::TenantQueueFull);
    assert_eq!(refused(&[(1, 40)], sized(1, 21)).reason, Reason::TenantBytesFull);
    assert_eq!(refused(&[(1, 0), (2, 0), (3, 0)], sized(4, 0)).reason, Reason::TenantTableFull);
    assert_eq!(refused(&[], sized(1, 61)).reason, Reason::ExceedsCapacity);
    assert_eq!(refused(&[], Job::with_weight(1, 2)).reason, Reason::ExceedsLimit);
    assert_eq!(
        refused(&[], Job { cost: Cost::Learnt(ClassId(0)), ..Job::new(1) }).reason,
        Reason::UnknownClass
    );
}

#[test]
fn a_closed_gate_says_so_before_anything_else() {
    let mut gate = gate(1, settings());
    gate.close(CloseMode::Drain);
    let unknown = Job { cost: Cost::Learnt(ClassId(0)), deadline: Some(ms(0)), ..Job::new(1) };
    assert_eq!(reason(gate.submit(ms(0), unknown)), Reason::Closed);
    assert_eq!(gate.try_start(ms(0), unknown).unwrap_err().reason, Reason::Closed);
}

#[test]
fn bytes_are_exact_at_the_bound() {
    let mut gate = busy(Settings { max_queued_bytes: 100, max_bytes_per_tenant: 60, ..settings() });
    submit(&mut gate, 0, Job { bytes: 60, ..Job::new(1) });
    submit(&mut gate, 0, Job { bytes: 40, ..Job::new(2) });
    assert_eq!(reason(gate.submit(ms(0), Job { bytes: 1, ..Job::new(3) })), Reason::BytesFull);
    submit(&mut gate, 0, Job::new(3));
    assert_eq!(reason(gate.submit(ms(0), Job { bytes: u64::MAX, ..Job::new(3) })), Reason::ExceedsCapacity);
}

#[test]
fn a_starting_job_frees_its_place_and_its_bytes() {
    let mut gate = busy(Settings { max_queued: 1, max_queued_bytes: 10, ..settings() });
    let running = 99;
    let waiting = submit(&mut gate, 0, Job { bytes: 10, ..Job::new(1) });
    assert_eq!(reason(gate.submit(ms(0), Job::new(running))), Reason::QueueFull);
    gate.capacity_mut().set_limit(2);
    assert_eq!(starts(&mut gate, 0), [waiting]);
    submit(&mut gate, 0, Job { bytes: 10, ..Job::new(2) });
}

#[test]
fn weights_are_granted_up_to_the_limit_and_a_lowered_limit_holds_at_once() {
    let mut gate = gate(10, settings());
    let jobs: Vec<_> = [4, 4, 2, 1].map(|weight| submit(&mut gate, 0, Job::with_weight(1, weight))).to_vec();
    assert_eq!(starts(&mut gate, 0), jobs[..3]);
    gate.capacity_mut().set_limit(6);
    done(&mut gate, 1, jobs[0]);
    assert_eq!(starts(&mut gate, 1), [], "6 of 6 in use");
    done(&mut gate, 2, jobs[2]);
    assert_eq!(starts(&mut gate, 2), [jobs[3]]);
    assert_eq!(gate.capacity().in_use(), 5);
}

#[test]
fn jobs_without_weight_are_bounded_by_their_number() {
    let mut gate = gate(1, Settings { max_active: 2, ..settings() });
    let jobs: Vec<_> = (0..3).map(|_| submit(&mut gate, 0, Job::with_weight(1, 0))).collect();
    assert_eq!(starts(&mut gate, 0), jobs[..2]);
    done(&mut gate, 0, jobs[1]);
    assert_eq!(starts(&mut gate, 0), jobs[2..]);
}

#[test]
fn two_dimensions_are_taken_together_or_not_at_all() {
    let capacity = (Budget::new(4), Budget::new(1_000));
    let mut gate: Gate<Heap, _> = Gate::new(settings(), capacity).unwrap();
    let mut submit = |weight| gate.submit(ms(0), Job::with_weight(1, weight)).map(|queued| queued.job);
    let jobs = [(1, 600), (1, 500), (3, 0)].map(|weight| submit(weight).unwrap());
    assert_eq!(submit((5, 0)).unwrap_err().reason, Reason::ExceedsLimit);
    assert_eq!(submit((1, 1_001)).unwrap_err().reason, Reason::ExceedsLimit);
    assert!(matches!(gate.poll(ms(0)), Some(GateEvent::Start { job, .. }) if job == jobs[0]));
    assert_eq!(gate.poll(ms(0)), None, "500 of memory are not there");
    assert_eq!((gate.capacity().0.in_use(), gate.capacity().1.in_use()), (1, 600));
    gate.complete(ms(0), jobs[0], Completion::DONE).unwrap();
    assert!(gate.poll(ms(0)).is_some() && gate.poll(ms(0)).is_some());
    assert_eq!((gate.capacity().0.in_use(), gate.capacity().1.in_use()), (4, 500));
}

#[test]
fn permits_shared_with_others_come_back_when_a_gate_is_dropped() {
    let permits = AtomicPermits::new(3).unwrap();
    let elsewhere = permits.try_acquire().unwrap();
    let mut gate: Gate<Heap, _> = Gate::new(settings(), Permits(&permits)).unwrap();
    let jobs: Vec<_> = (0..3).map(|_| gate.submit(ms(0), Job::with_weight(1, 1)).unwrap().job).collect();
    assert!(gate.poll(ms(0)).is_some() && gate.poll(ms(0)).is_some());
    assert_eq!(gate.poll(ms(0)), None);
    drop(elsewhere);
    assert!(matches!(gate.poll(ms(0)), Some(GateEvent::Start { job, .. }) if job == jobs[2]));
    gate.complete(ms(0), jobs[0], Completion::DONE).unwrap();
    assert_eq!(permits.in_use(), 2);
    permits.close();
    assert_eq!(gate.submit(ms(0), Job::with_weight(1, 1)).unwrap_err().reason, Reason::Closed);
    drop(gate);
    assert_eq!(permits.in_use(), 0);
}

#[test]
fn settings_name_every_broken_rule() {
    let broken = Settings {
        max_tenants: 0,
        max_active: 0,
        max_attempts: 0,
        default_weight: 0,
        order: Order::Deficit { quantum: 0 },
        codel: Some(CoDel { target: Duration::ZERO, interval: Duration::ZERO }),
        cost_smoothing_ppm: 1_000_001,
        max_queued: u32::MAX,
        ..Settings::default()
    };
    let error = Small::new(broken, Budget::new(1)).unwrap_err();
    let fields: Vec<_> = error.violations().iter().map(|violation| violation.field).collect();
    let expected = [
        "max_queued + max_active",
        "max_tenants",
        "max_active",
        "max_attempts",
        "default_weight",
        "order.quantum",
        "codel.target",
        "codel.interval",
        "cost_smoothing_ppm",
    ];
    assert_eq!(fields, expected);
    let inline = Gate::<crate::slots::Inline<4>>::new(Settings::default(), Budget::new(1));
    assert_eq!(inline.unwrap_err().violations()[0].field, "capacity");
}

#[test]
fn starting_at_once_needs_room_and_that_nobody_waits() {
    let mut gate = gate(2, settings());
    let first = gate.try_start(ms(0), Job::new(1)).unwrap();
    gate.check_invariants();
    let waiting = submit(&mut gate, 0, Job::new(2));
    assert_eq!(gate.try_start(ms(0), Job::new(1)).unwrap_err().reason, Reason::NoPermits, "2 waits");
    assert_eq!(starts(&mut gate, 0), [waiting]);
    let full = gate.try_start(ms(0), Job::new(3)).unwrap_err();
    assert_eq!((full.reason, full.position), (Reason::NoPermits, 0));
    assert_eq!(gate.try_start(ms(0), Job::with_weight(3, 3)).unwrap_err().reason, Reason::ExceedsLimit);
    done(&mut gate, 5, first);
    let attempt = gate.try_start(ms(5), Job { attempt: true, bytes: 3, ..Job::new(3) }).unwrap();
    assert_eq!((gate.snapshot(ms(5)).queued, gate.snapshot(ms(5)).queued_bytes), (1, 3));
    assert_eq!(gate.retry(ms(5), attempt, ms(9)), Ok(Retried::Queued));
    gate.check_invariants();
    assert_eq!(
        gate.try_start(ms(5), Job::new(3)).unwrap_err().reason,
        Reason::NoPermits,
        "3's own job is first"
    );
    assert!(gate.try_start(ms(5), Job::new(4)).is_ok(), "nobody who is ready waits");
}

#[test]
fn a_job_that_has_become_ready_comes_first_even_before_the_next_poll() {
    let mut gate = gate(1, settings());
    let waiting = submit(&mut gate, 0, Job { ready_at: Some(ms(5)), ..Job::new(1) });
    assert_eq!(gate.try_start(ms(5), Job::new(2)).unwrap_err().reason, Reason::NoPermits);
    assert_eq!(starts(&mut gate, 5), [waiting]);
}

#[test]
fn a_job_and_a_tenant_take_as_many_bytes_as_the_docs_say() {
    // A job: its record with links and generation, a place on the heap of deadlines, a start.
    let job = size_of::<jobs::Record<Budget>>() + 16 + 4 + 8;
    // A tenant: here, a chain of keys, a place on the heap of the unready; and with the scheduler.
    let tenant = size_of::<crate::gate::tenants::Tenant>() + 4 + 4 + 76;
    assert_eq!((job, tenant), (108, 228));
}
