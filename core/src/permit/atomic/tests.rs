use std::sync::Arc;

use super::*;

fn reason<P>(result: Result<P, Refused>) -> Reason {
    match result {
        Ok(_) => panic!("granted"),
        Err(refused) => refused.reason,
    }
}

#[test]
fn grants_up_to_the_limit_and_not_one_more() {
    let permits = AtomicPermits::new(3).unwrap();
    let two = permits.try_acquire_many(2).unwrap();
    let one = permits.try_acquire().unwrap();
    assert_eq!(reason(permits.try_acquire()), Reason::NoPermits);
    drop(two);
    assert_eq!(permits.available(), 2);
    drop(one);
    assert_eq!(permits.in_use(), 0);
}

#[test]
fn a_weight_above_the_limit_is_refused_at_once_even_when_all_is_free() {
    // Reports 30 (tokio, golang/go#56910): such a request must not wait for ever.
    let permits = AtomicPermits::new(4).unwrap();
    assert_eq!(reason(permits.try_acquire_many(5)), Reason::ExceedsLimit);
    assert_eq!(reason(permits.try_acquire_many(u32::MAX)), Reason::ExceedsLimit);
    assert_eq!(permits.in_use(), 0);
}

#[test]
fn a_lowered_limit_holds_at_once_while_saturated() {
    // Report 22 (materialize#38509 and others): shrinking must not be inert when it matters.
    let permits = AtomicPermits::new(8).unwrap();
    let mut held: std::vec::Vec<_> = (0..8).map(|_| permits.try_acquire().unwrap()).collect();
    assert_eq!(permits.set_limit(3).unwrap(), 8);
    while permits.in_use() >= 3 {
        assert_eq!(reason(permits.try_acquire()), Reason::NoPermits);
        held.pop();
    }
    held.push(permits.try_acquire().unwrap());
    assert_eq!(permits.in_use(), 3);
}

#[test]
fn down_four_then_up_five_is_up_one() {
    // Report 23 (Vector's debt arithmetic): there is no debt to get wrong.
    let permits = AtomicPermits::new(10).unwrap();
    let held: std::vec::Vec<_> = (0..10).map(|_| permits.try_acquire().unwrap()).collect();
    permits.set_limit(6).unwrap();
    permits.set_limit(11).unwrap();
    let extra = permits.try_acquire().unwrap();
    assert_eq!(reason(permits.try_acquire()), Reason::NoPermits);
    drop((held, extra));
    assert_eq!(permits.available(), 11);
}

#[test]
fn closed_is_absorbing_under_every_operation() {
    // Report 21 (tokio#8020): forgetting on a closed semaphore reopened it.
    let permits = AtomicPermits::new(4).unwrap();
    let a = permits.try_acquire().unwrap();
    let b = permits.try_acquire().unwrap();
    assert!(!permits.close());
    a.forget();
    drop(b);
    permits.set_limit(100).unwrap();
    permits.retract();
    assert!(permits.is_closed());
    assert_eq!(permits.available(), 0);
    assert_eq!(reason(permits.try_acquire()), Reason::Closed);
    assert_eq!(reason(AtomicPermits::try_acquire_for_waiter(&permits, 1)), Reason::Closed);
    assert_eq!(AtomicPermits::try_acquire_or_announce(&permits, 1).unwrap_err().reason, Reason::Closed);
}

#[test]
fn nobody_overtakes_announced_waiters() {
    // Report 28 (async-lock#23): release, then a newcomer stole from the woken waiter.
    let permits = AtomicPermits::new(1).unwrap();
    let held = permits.try_acquire().unwrap();
    assert!(AtomicPermits::try_acquire_or_announce(&permits, 1).unwrap().is_none());
    assert!(held.release(), "the releaser is told of the waiter");
    assert_eq!(reason(permits.try_acquire()), Reason::NoPermits);
    assert_eq!(permits.available(), 0);
    let waiter = AtomicPermits::try_acquire_for_waiter(&permits, 1).unwrap();
    permits.retract();
    assert!(!waiter.release());
    drop(permits.try_acquire().unwrap());
}

#[test]
fn an_announcement_grants_instead_where_it_can() {
    let permits = AtomicPermits::new(1).unwrap();
    let granted = AtomicPermits::try_acquire_or_announce(&permits, 1).unwrap();
    assert!(granted.is_some());
    assert!(!granted.unwrap().release(), "nothing was announced");
}

#[test]
fn split_and_merge_conserve_and_refuse_what_they_must() {
    let permits = AtomicPermits::new(5).unwrap();
    let other = AtomicPermits::new(5).unwrap();
    let mut whole = permits.try_acquire_many(5).unwrap();
    let part = whole.split(2).unwrap();
    assert_eq!((whole.num_permits(), part.num_permits()), (3, 2));
    assert!(whole.split(4).is_none());
    let foreign = other.try_acquire().unwrap();
    let foreign = whole.merge(foreign).unwrap_err();
    assert_eq!(foreign.num_permits(), 1);
    whole.merge(part).unwrap();
    assert_eq!(whole.num_permits(), 5);
    drop(whole);
    assert_eq!((permits.in_use(), other.in_use()), (0, 1));
}

#[test]
fn forgotten_permits_stay_in_use() {
    let permits = AtomicPermits::new(2).unwrap();
    permits.try_acquire().unwrap().forget();
    assert_eq!(permits.in_use(), 1);
}

#[test]
fn the_extremes_of_the_word_do_not_touch_each_other() {
    let permits = AtomicPermits::new(AtomicPermits::MAX_LIMIT).unwrap();
    let all = permits.try_acquire_many(AtomicPermits::MAX_LIMIT).unwrap();
    assert_eq!(permits.in_use(), AtomicPermits::MAX_LIMIT);
    permits.set_limit(0).unwrap();
    assert_eq!((permits.limit(), permits.in_use()), (0, AtomicPermits::MAX_LIMIT));
    assert!(!permits.is_closed());
    drop(all);
    assert_eq!((permits.limit(), permits.in_use()), (0, 0));
    assert_eq!(reason(permits.try_acquire()), Reason::ExceedsLimit);
    assert!(AtomicPermits::new(AtomicPermits::MAX_LIMIT + 1).is_err());
    assert!(permits.set_limit(u32::MAX).is_err());
}

#[test]
fn a_permit_may_outlive_the_borrow_through_an_arc() {
    let permits = Arc::new(AtomicPermits::new(1).unwrap());
    let permit = AtomicPermits::try_acquire_owned(Arc::clone(&permits), 1).unwrap();
    std::thread::spawn(move || drop(permit)).join().unwrap();
    assert_eq!(permits.available(), 1);
}

#[test]
fn a_panicking_holder_gives_its_permit_back() {
    let permits = Arc::new(AtomicPermits::new(1).unwrap());
    let shared = Arc::clone(&permits);
    let panicked = std::thread::spawn(move || {
        let _permit = AtomicPermits::try_acquire_owned(shared, 1).unwrap();
        panic!("the guarded work fails");
    })
    .join();
    assert!(panicked.is_err());
    assert_eq!(permits.in_use(), 0);
}

#[test]
fn a_weight_of_zero_is_not_granted_above_a_lowered_limit() {
    let permits = AtomicPermits::new(2).unwrap();
    let _held = permits.try_acquire_many(2).unwrap();
    assert!(permits.try_acquire_many(0).is_ok(), "0 fits where nothing is free");
    permits.set_limit(1).unwrap();
    assert_eq!(reason(permits.try_acquire_many(0)), Reason::NoPermits);
}

#[test]
fn what_is_adopted_is_what_was_forgotten() {
    let permits = AtomicPermits::new(4).unwrap();
    permits.try_acquire_many(3).unwrap().forget();
    assert_eq!(permits.in_use(), 3);
    let mut adopted = AtomicPermits::adopt(&permits, 3);
    let one = adopted.split(1).unwrap();
    drop(adopted);
    assert_eq!(permits.in_use(), 1);
    drop(one);
    assert_eq!(permits.available(), 4);
}

#[test]
fn an_announcement_stands_whatever_is_free_until_it_is_retracted() {
    let permits = AtomicPermits::new(4).unwrap();
    assert!(!permits.has_waiters());
    permits.announce();
    assert!(permits.has_waiters());
    assert_eq!(reason(permits.try_acquire()), Reason::NoPermits);
    assert!(AtomicPermits::try_acquire_for_waiter(&permits, 2).unwrap().release(), "the releaser is told");
    permits.retract();
    assert!(!permits.has_waiters() && permits.try_acquire().is_ok());
}

#[test]
fn a_limit_is_checked_in_a_constant_too() {
    static SMALL: AtomicPermits = AtomicPermits::checked(2).unwrap();
    assert_eq!(SMALL.limit(), 2);
    assert!(AtomicPermits::checked(AtomicPermits::MAX_LIMIT).is_some());
    assert!(AtomicPermits::checked(AtomicPermits::MAX_LIMIT + 1).is_none());
}
