//! After construction no machine allocates: ten thousand operations of each, and an allocator that counts.
//!
//! A machine that is added gets one function that builds it outside [`allocations`] and drives it inside.
#![cfg(all(feature = "alloc", not(tollgate_loom)))]

mod action;
mod adapt;
mod tables;

use core::time::Duration;

use allocation_counter::measure;
use tollgate::Timestamp;
use tollgate::fair::{Drr, Swrr, TenantId};
use tollgate::gate::{
    Budget, Cancelled, ClassId, CloseMode, CoDel, Completion, Cost, Gate, GateEvent, Job, JobId, Order,
    Overweight, Retried, Settings, TenantKey,
};
use tollgate::permit::{Acquire, AtomicPermits, HeadOfLine, Semaphore, SemaphoreEvent, Ticket};
use tollgate::rate::{
    AtomicBucket, FixedWindow, Inherit, Overshoot, Policy, Quota, RateLimit, SlidingWindow, TokenBucket,
};
use tollgate::slots::{Heap, SlotId, Slots};

const OPERATIONS: u64 = 10_000;

/// Allocations made by ten thousand calls of `operation`, which is told the number of the call.
fn allocations(mut operation: impl FnMut(u64)) -> u64 {
    measure(|| (0..OPERATIONS).for_each(&mut operation)).count_total
}

fn at(number: u64) -> Timestamp {
    Timestamp::from_nanos(number * 7_919)
}

#[test]
fn the_counter_sees_exactly_one_allocation() {
    let mut kept = None;
    let one = allocations(|number| {
        if number == 4_321 {
            kept = Some(Box::new(number));
        }
    });
    assert_eq!((one, kept), (1, Some(Box::new(4_321))));
}

#[test]
fn a_token_bucket_does_not_allocate() {
    let policy = Policy { overshoot: Overshoot::Lock { max_debt: 50 }, ..Policy::default() };
    let mut bucket = TokenBucket::with_policy(Quota::per_second(999_983).burst(20), policy).unwrap();
    let mut results = 0_u64;
    let counted = allocations(|number| {
        let now = at(number);
        match number % 8 {
            0 => bucket.charge(now, 3),
            1 => bucket.refund(now, 2, now),
            2 => {
                let reservation = bucket.reserve(now, 5, Duration::from_secs(1)).unwrap();
                bucket.cancel(now, reservation);
            }
            3 => {
                let reservation = bucket.reserve(now, 5, Duration::from_secs(1)).unwrap();
                bucket.settle(now, reservation, number % 9);
            }
            4 => {
                bucket
                    .set_quota(now, Quota::per_second(1 + number).burst(20), Inherit::Proportional)
                    .unwrap();
            }
            5 => assert!(bucket.set_quota(now, Quota::per_second(0), Inherit::AsIs).is_err()),
            6 => results += bucket.acquire_up_to(now, 4) + bucket.state(now).available,
            _ => results += u64::from(bucket.try_acquire(now, 1).is_ok() || bucket.peek(now, 1).is_ok()),
        }
    });
    assert_eq!(counted, 0);
    assert!(results > 0);
}

#[test]
fn an_atomic_bucket_does_not_allocate() {
    let mut bucket = AtomicBucket::new(Quota::per_second(999_983).burst(20)).unwrap();
    let mut results = 0;
    let counted = allocations(|number| {
        let now = at(number);
        results += u64::from(bucket.try_acquire(now, 5).is_ok()) + bucket.available(now);
        results += u64::from(bucket.peek(now, 21).is_ok());
        if number % 100 == 99 {
            bucket.set_quota(now, Quota::per_second(number).burst(20), Inherit::AsIs).unwrap();
        }
    });
    assert_eq!(counted, 0);
    assert!(results > 0);
}

#[test]
fn windows_do_not_allocate() {
    let mut fixed = FixedWindow::new(20, Duration::from_micros(500), Timestamp::ZERO).unwrap();
    let mut sliding = SlidingWindow::<Heap>::new(20, Duration::from_micros(500), 16).unwrap();
    let mut results = 0;
    let counted = allocations(|number| {
        let now = at(number);
        let windows: [&mut dyn RateLimit; 2] = [&mut fixed, &mut sliding];
        for window in windows {
            match number % 5 {
                0 => window.charge(now, 1),
                1 => window.refund(now, 1, now),
                2 => results += window.available(now),
                _ => results += u64::from(window.peek(now, 2).is_ok() && window.try_acquire(now, 2).is_ok()),
            }
        }
    });
    assert_eq!(counted, 0);
    assert!(results > 0);
}

#[test]
fn atomic_permits_do_not_allocate() {
    let permits = AtomicPermits::new(5).unwrap();
    let counted = allocations(|number| {
        let _before = permits.set_limit(1 + (number % 5) as u32).unwrap();
        let Ok(mut permit) = permits.try_acquire_many(2) else { return };
        let part = permit.split(1).unwrap();
        permit.merge(part).unwrap();
        assert!(
            AtomicPermits::try_acquire_or_announce(&permits, 5).is_ok_and(|got| got.is_none())
                || number % 5 != 4
        );
        let _owed = permit.release();
        drop(AtomicPermits::try_acquire_for_waiter(&permits, 1));
        permits.retract();
    });
    assert_eq!((counted, permits.in_use()), (0, 0));
}

#[test]
fn a_semaphore_does_not_allocate() {
    for head_of_line in [HeadOfLine::Strict, HeadOfLine::Backfill { max_passes: 3 }] {
        let mut semaphore = Semaphore::<Heap>::new(6, 32, head_of_line).unwrap();
        let mut held: Vec<Ticket> = Vec::with_capacity(64);
        let mut granted = 0;
        let counted = allocations(|number| {
            semaphore.set_limit(4 + number % 3);
            match semaphore.acquire(1 + number % 4) {
                Ok(Acquire::Granted(ticket)) => held.push(ticket),
                Ok(Acquire::Queued(id)) if number % 7 == 0 => semaphore.cancel(id).unwrap(),
                Ok(Acquire::Queued(_)) | Err(_) => {}
            }
            if number % 3 != 0
                && let Some(ticket) = held.pop()
            {
                semaphore.release(ticket).unwrap();
            }
            while let Some(event) = semaphore.poll() {
                if let SemaphoreEvent::Granted(_, ticket) = event {
                    granted += 1;
                    held.push(ticket);
                }
            }
        });
        assert_eq!(counted, 0);
        assert!(granted > 0);
    }
}

#[test]
fn slots_do_not_allocate() {
    let mut slots: Slots<u64, Heap> = Slots::new(64).unwrap();
    let mut ids: Vec<SlotId> = Vec::with_capacity(64);
    let counted = allocations(|number| match slots.insert(number) {
        Ok(id) => ids.push(id),
        Err(_) => {
            while let Some(id) = ids.pop() {
                assert!(slots.remove(id).is_ok() && slots.get(id).is_none());
            }
        }
    });
    assert_eq!(counted, 0);
}

#[test]
fn schedulers_do_not_allocate() {
    let tenant = |number: u64| TenantId::new(u32::try_from(number % 50).unwrap());
    let mut drr = Drr::<Heap>::new(50, 3).unwrap();
    let mut swrr = Swrr::<Heap>::new(50).unwrap();
    let counted = allocations(|number| {
        drr.set_head(tenant(number), Some(number % 7)).unwrap();
        drr.set_weight(tenant(number), 1 + u32::try_from(number % 3).unwrap()).unwrap();
        if drr.pick().is_some() {
            drr.serve((number % 4 > 0).then_some(number % 9)).unwrap();
        }
        swrr.join(tenant(number)).unwrap();
        swrr.pick().unwrap();
        if number % 5 == 0 {
            swrr.leave(tenant(number / 5)).unwrap();
        }
    });
    assert_eq!(counted, 0);
}

/// Small enough that every bound is reached, with all that a gate can do switched on.
fn gate_settings(order: Order, newest_first_after: Option<Duration>) -> Settings {
    Settings {
        max_queued: 40,
        max_queued_bytes: 300,
        max_queued_per_tenant: 12,
        max_tenants: 6,
        max_active: 8,
        max_attempts: 3,
        max_wait: Some(Duration::from_micros(300)),
        order,
        head_of_line: HeadOfLine::Backfill { max_passes: 3 },
        overweight: Overweight::RunAlone,
        newest_first_after,
        codel: Some(CoDel { target: Duration::from_micros(40), interval: Duration::from_micros(200) }),
        forgive_after: Duration::from_micros(100),
        classes: 2,
        ..Settings::default()
    }
}

#[test]
fn a_gate_does_not_allocate() {
    let late = Some(Duration::from_micros(80));
    let orders = [Order::Deficit { quantum: 2 }, Order::Smooth];
    for (order, newest_first_after) in orders.into_iter().flat_map(|order| [(order, None), (order, late)]) {
        let mut gate = Gate::<Heap>::new(gate_settings(order, newest_first_after), Budget::new(6)).unwrap();
        let mut running: Vec<(JobId, bool)> = Vec::with_capacity(64);
        let mut waiting: Vec<JobId> = Vec::with_capacity(OPERATIONS as usize);
        let (mut cancelled, mut retried, mut at_once, mut removed) = (0, 0, 0, 0);
        let counted = allocations(|number| {
            let now = at(number);
            // Tenants come and go, deadlines come in no order, every third job asks somebody else first.
            let tenant = number / 50 + number % 5;
            let learnt = Cost::Learnt(ClassId((number % 2) as u32));
            let job = Job {
                cost: if number % 4 == 0 { learnt } else { Cost::Units(number % 9) },
                bytes: number % 13,
                deadline: (number % 3 > 0).then(|| at(number + 40 - number % 31)),
                ready_at: (number % 11 == 0).then(|| at(number + 3)),
                attempt: number % 3 == 0,
                ..Job::with_weight(tenant, number % 5 + 4 * u64::from(number % 37 == 0))
            };
            // Now and then nobody waits.
            if number % 200 > 150 {
                if let Ok(started) = gate.try_start(now, job) {
                    at_once += 1;
                    running.push((started, job.attempt));
                }
            } else if let Ok(queued) = gate.submit(now, job) {
                waiting.push(queued.job);
            }
            if number % 6 == 0
                && let Some(&job) = waiting.last()
            {
                cancelled += u64::from(gate.cancel(now, job) == Ok(Cancelled::Queued));
            }
            if number % 50 == 10 {
                let _full = gate.set_weight(TenantKey(number / 50), 1 + (number % 3) as u32);
            }
            if number % 50 == 40 {
                removed += u64::from(gate.remove_tenant(TenantKey(number / 50)));
            }
            if number % 90 == 0 {
                gate.capacity_mut().set_limit(4 + number % 4);
            }
            while let Some(event) = gate.poll(now) {
                if let GateEvent::Start { job, .. } = event {
                    running.push((job, number % 3 == 0));
                }
            }
            if number % 5 > 1
                && let Some((job, again)) = running.pop()
            {
                let back = again.then(|| gate.retry(now, job, at(number + 2)));
                match back {
                    Some(Ok(Retried::Queued)) => retried += 1,
                    Some(Ok(Retried::Refused(_))) => {}
                    Some(Err(_)) | None => {
                        let _attempt = gate.confirm(now, job);
                        gate.complete(now, job, Completion::costing(number % 23)).unwrap();
                    }
                }
            }
            let _next = gate.poll_timeout();
        });
        gate.close(CloseMode::Immediate);
        let counts = gate.snapshot(at(OPERATIONS)).counts;
        assert_eq!(counted, 0, "{counts:?}");
        let seen =
            [cancelled, retried, at_once, removed, counts.passed, counts.completed, counts.total_refused()];
        assert!(seen.iter().all(|&times| times > 50), "{seen:?} {counts:?}");
    }
}
