//! The laws of [`AtomicPermits`]: against a list by one thread, and conservation by many.
#![cfg(not(tollgate_loom))]

mod common;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use common::cases;
use proptest::prelude::*;
use tollgate::permit::{AtomicPermits, Permit};
use tollgate::{Reason, Refused};
use tollgate_model::Denied;
use tollgate_model::ops::{self, PermitsOp};
use tollgate_model::permits::Permits as Oracle;

fn denied(refused: Refused) -> Denied {
    match refused.reason {
        Reason::Closed => Denied::Closed,
        Reason::ExceedsLimit => Denied::ExceedsLimit,
        Reason::NoPermits => Denied::NoPermits,
        other => panic!("{other:?} from permits"),
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// Reports 15, 21 (tokio#8020), 22, 23 (Vector: down four, up five), 26, 28 (async-lock#23), 30.
    #[test]
    fn every_decision_is_that_of_a_naive_list_and_all_permits_come_back(
        limit in prop_oneof![8 => 0..=8_u32, 1 => AtomicPermits::MAX_LIMIT - 2..=AtomicPermits::MAX_LIMIT],
        run in ops::permits(60),
    ) {
        let permits = AtomicPermits::new(limit).unwrap();
        let mut oracle = Oracle::new(limit);
        let mut held: Vec<Permit<&AtomicPermits>> = vec![];
        let mut forgotten = 0;
        for op in run {
            match op {
                PermitsOp::Acquire(weight) => {
                    let got = permits.try_acquire_many(weight).map(|permit| held.push(permit));
                    prop_assert_eq!(got.map_err(denied), oracle.acquire(weight, false));
                }
                PermitsOp::ForWaiter(weight) => {
                    let got = AtomicPermits::try_acquire_for_waiter(&permits, weight);
                    let got = got.map(|permit| held.push(permit));
                    prop_assert_eq!(got.map_err(denied), oracle.acquire(weight, true));
                }
                PermitsOp::Announce(weight) => {
                    let got = AtomicPermits::try_acquire_or_announce(&permits, weight);
                    let got = got.map(|permit| permit.map(|permit| held.push(permit)).is_some());
                    prop_assert_eq!(got.map_err(denied), oracle.acquire_or_announce(weight));
                }
                PermitsOp::Retract => {
                    permits.retract();
                    oracle.waiters = false;
                }
                PermitsOp::Release(which, say) if !held.is_empty() => {
                    let permit = held.swap_remove(which % held.len());
                    oracle.release(permit.num_permits());
                    if say {
                        prop_assert_eq!(permit.release(), oracle.waiters);
                    }
                }
                PermitsOp::Forget(which) if !held.is_empty() => {
                    let permit = held.swap_remove(which % held.len());
                    forgotten += u64::from(permit.num_permits());
                    permit.forget();
                }
                PermitsOp::Split(which, weight) if !held.is_empty() => {
                    let number = which % held.len();
                    let whole = held[number].num_permits();
                    match held[number].split(weight) {
                        Some(part) => {
                            oracle.split(whole, weight);
                            held.push(part);
                        }
                        None => prop_assert!(weight > whole),
                    }
                }
                PermitsOp::Merge(which) if held.len() > 1 => {
                    let other = held.swap_remove(which % held.len());
                    let number = which % held.len();
                    oracle.merge(held[number].num_permits(), other.num_permits());
                    prop_assert!(held[number].merge(other).is_ok());
                }
                PermitsOp::SetLimit(limit) => {
                    let before = oracle.limit;
                    match permits.set_limit(limit) {
                        Ok(replaced) => {
                            prop_assert_eq!(replaced, before);
                            oracle.limit = limit;
                        }
                        Err(_) => prop_assert!(limit > AtomicPermits::MAX_LIMIT),
                    }
                }
                PermitsOp::Close => {
                    prop_assert_eq!(permits.close(), oracle.waiters);
                    oracle.closed = true;
                }
                _ => {}
            }
            let sum: u64 = held.iter().map(|permit| u64::from(permit.num_permits())).sum();
            prop_assert_eq!(u64::from(permits.in_use()), sum + forgotten, "I2: conservation");
            prop_assert_eq!(u64::from(permits.in_use()), oracle.in_use());
            prop_assert_eq!((permits.limit(), permits.is_closed()), (oracle.limit, oracle.closed));
            let free = u64::from(oracle.limit).saturating_sub(oracle.in_use());
            let expected = if oracle.closed || oracle.waiters { 0 } else { free };
            prop_assert_eq!(u64::from(permits.available()), expected);
        }
        drop(held);
        prop_assert_eq!(u64::from(permits.in_use()), forgotten);
    }
}

#[test]
fn a_permit_of_others_is_not_merged() {
    let (ours, theirs) = (AtomicPermits::new(2).unwrap(), AtomicPermits::new(2).unwrap());
    let mut permit = ours.try_acquire().unwrap();
    let other = permit.merge(theirs.try_acquire().unwrap()).unwrap_err();
    assert_eq!((ours.in_use(), theirs.in_use()), (1, 1));
    drop(other);
    assert_eq!(theirs.in_use(), 0);
}

/// Reports 15, 22: while threads take, split, merge, give back and one moves the limit, never more is held than the
/// largest limit; and in the end nothing is.
#[test]
fn threads_conserve_every_permit_while_the_limit_moves() {
    const MOST: u32 = 9;
    let permits = AtomicPermits::new(MOST).unwrap();
    // What is held, counted by the holders: added after a grant, subtracted before it is given back.
    let held = AtomicU32::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u32)
            .map(|seed| {
                let (permits, held) = (&permits, &held);
                scope.spawn(move || {
                    let mut granted = 0_u32;
                    for number in 0..100_000_u32 {
                        let weight = 1 + (number.wrapping_mul(7) + seed) % 4;
                        // Nobody sleeps: the more they collide, the better.
                        let Ok(mut permit) = permits.try_acquire_many(weight) else { continue };
                        granted += 1;
                        let before = held.fetch_add(weight, Ordering::Relaxed);
                        assert!(before + weight <= MOST, "{} held", before + weight);
                        let mut rest = weight;
                        if let Some(part) = permit.split(1) {
                            if number % 3 == 0 {
                                permit.merge(part).unwrap();
                            } else {
                                rest -= 1;
                                held.fetch_sub(1, Ordering::Relaxed);
                                drop(part);
                            }
                        }
                        held.fetch_sub(rest, Ordering::Relaxed);
                        drop(permit);
                    }
                    granted
                })
            })
            .collect();
        let (permits, done) = (&permits, &done);
        let mover = scope.spawn(move || {
            let mut number = 0_u32;
            while !done.load(Ordering::Relaxed) {
                number = number.wrapping_add(5);
                let _before = permits.set_limit(number % (MOST + 1)).unwrap();
                core::hint::spin_loop();
            }
        });
        let granted: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        done.store(true, Ordering::Relaxed);
        mover.join().unwrap();
        assert!(granted > 0);
    });
    assert_eq!((permits.in_use(), held.load(Ordering::Relaxed)), (0, 0));
}

/// The protocol of the module: lock the queue, announce, wait; who releases and is told grants from the head. Nobody
/// sleeps for ever (report 27, throttle-net TN2-001; e2b-dev/infra#3629).
#[test]
fn nobody_who_announced_is_left_waiting() {
    type Queue = Mutex<VecDeque<(u32, Sender<Permit<Arc<AtomicPermits>>>)>>;
    fn release(permit: Permit<Arc<AtomicPermits>>, permits: &Arc<AtomicPermits>, queue: &Queue) {
        if !permit.release() {
            return;
        }
        let mut queue = queue.lock().unwrap();
        while let Some((weight, place)) = queue.front() {
            let Ok(permit) = AtomicPermits::try_acquire_for_waiter(Arc::clone(permits), *weight) else {
                return;
            };
            place.send(permit).unwrap();
            queue.pop_front();
        }
        permits.retract();
    }

    let permits = Arc::new(AtomicPermits::new(3).unwrap());
    let queue: Queue = Mutex::new(VecDeque::new());
    let waited = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for seed in 0..4_u32 {
            let (permits, queue, waited) = (&permits, &queue, &waited);
            scope.spawn(move || {
                for number in 0..3_000_u32 {
                    let weight = 1 + (number + seed) % 3;
                    let mut line = queue.lock().unwrap();
                    let arrived =
                        AtomicPermits::try_acquire_or_announce(Arc::clone(permits), weight).unwrap();
                    let permit = if let Some(permit) = arrived {
                        drop(line);
                        permit
                    } else {
                        let (place, granted) = channel();
                        line.push_back((weight, place));
                        drop(line);
                        waited.fetch_add(1, Ordering::Relaxed);
                        granted.recv_timeout(Duration::from_secs(60)).expect("nobody woke a waiter")
                    };
                    std::thread::yield_now();
                    release(permit, permits, queue);
                }
            });
        }
    });
    assert!(waited.load(Ordering::Relaxed) > 0);
    assert_eq!((permits.in_use(), permits.available()), (0, 3));
}
