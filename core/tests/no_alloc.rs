//! After construction no machine allocates: ten thousand operations of each, and an allocator that counts.
//!
//! A machine that is added gets one function that builds it outside [`allocations`] and drives it inside.
#![cfg(all(feature = "alloc", not(tollgate_loom)))]

use core::time::Duration;

use allocation_counter::measure;
use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Settings, GradientSettings, Outcome, Sample,
    Vegas, VegasSettings,
};
use tollgate::fair::{Drr, Swrr, TenantId};
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

#[test]
fn estimators_do_not_allocate() {
    let mut aimd = Aimd::new(AimdSettings::default()).unwrap();
    let mut vegas = Vegas::new(VegasSettings::default()).unwrap();
    let mut gradient2 = Gradient2::new(Gradient2Settings::default()).unwrap();
    let mut gradient = Gradient::new(GradientSettings::default()).unwrap();
    let counted = allocations(|number| {
        let outcome = if number % 40 == 0 { Outcome::Dropped } else { Outcome::Success };
        let rtt = Duration::from_micros(5_000 + number % 977);
        for estimator in [&mut aimd as &mut dyn Estimator, &mut vegas, &mut gradient2, &mut gradient] {
            let in_flight = estimator.limit();
            estimator.on_sample(&Sample { started: at(number), rtt, in_flight, outcome });
        }
    });
    assert_eq!(counted, 0);
}
