//! What all three have in common: requests of one permit, and no close.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use futures_lite::future::block_on;

use super::{Polled, Single, behaviours};

behaviours! {
    tokio = ::tokio::sync::Semaphore,
    async_lock = ::async_lock::Semaphore,
    ours = tollgate_async::Semaphore;
    as_many_are_granted_as_there_are
    none_is_granted_of_none
    a_free_permit_is_granted_at_the_first_poll
    a_release_wakes_one_who_waits_and_that_one_gets_it
    permits_that_are_added_can_be_taken
    permits_that_are_added_wake_those_who_wait
    a_forgotten_permit_does_not_come_back
    forgetting_and_adding_can_go_on_for_ever
    one_who_goes_away_while_waiting_takes_nothing
    one_who_is_granted_and_goes_away_hands_it_to_the_next
    those_who_wait_are_served_as_they_came
    one_permit_is_a_mutex
    threads_never_hold_more_than_there_are
    pending_does_not_wake_itself
}

fn as_many_are_granted_as_there_are<S: Single>() {
    let semaphore = S::new(2);
    let (one, two) = (semaphore.try_acquire().unwrap(), semaphore.try_acquire().unwrap());
    assert!(semaphore.try_acquire().is_none());
    drop(one);
    let one = semaphore.try_acquire().unwrap();
    assert!(semaphore.try_acquire().is_none());
    drop((one, two));
    assert!(semaphore.try_acquire().is_some());
}

fn none_is_granted_of_none<S: Single>() {
    let semaphore = S::new(0);
    assert!(semaphore.try_acquire().is_none());
    let mut waiting = Polled::waiting(semaphore.acquire());
    assert!(waiting.poll().is_pending() && !waiting.woken());
}

fn a_free_permit_is_granted_at_the_first_poll<S: Single>() {
    let semaphore = S::new(100);
    let mut polled = Polled::new(semaphore.acquire());
    drop(polled.ready());
    assert!(!polled.woken());
}

fn a_release_wakes_one_who_waits_and_that_one_gets_it<S: Single>() {
    let semaphore = S::new(1);
    let held = semaphore.try_acquire().unwrap();
    let mut waiting = Polled::waiting(semaphore.acquire());
    assert!(!waiting.woken());
    drop(held);
    assert!(waiting.woken());
    let permit = waiting.ready();
    assert!(semaphore.try_acquire().is_none());
    drop(permit);
    assert!(semaphore.try_acquire().is_some());
}

fn permits_that_are_added_can_be_taken<S: Single>() {
    let semaphore = S::new(0);
    semaphore.add_permits(3);
    let three = [(); 3].map(|()| semaphore.try_acquire().unwrap());
    assert!(semaphore.try_acquire().is_none());
    drop(three);
    assert!(semaphore.try_acquire().is_some());
}

fn permits_that_are_added_wake_those_who_wait<S: Single>() {
    let semaphore = S::new(0);
    let mut waiting = [(); 2].map(|()| Polled::waiting(semaphore.acquire()));
    semaphore.add_permits(2);
    // A wake-up may be passed on by the first who is served.
    let permits = waiting.each_mut().map(|waiting| {
        assert!(waiting.woken());
        waiting.ready()
    });
    assert!(semaphore.try_acquire().is_none());
    drop(permits);
}

fn a_forgotten_permit_does_not_come_back<S: Single>() {
    let semaphore = S::new(1);
    S::forget(semaphore.try_acquire().unwrap());
    assert!(semaphore.try_acquire().is_none());
    let mut waiting = Polled::waiting(semaphore.acquire());
    semaphore.add_permits(1);
    assert!(waiting.woken());
    drop(waiting.ready());
    assert!(semaphore.try_acquire().is_some());
}

fn forgetting_and_adding_can_go_on_for_ever<S: Single>() {
    // A bucket of tokens is made so: each is forgotten, and a timer adds them again.
    let semaphore = S::new(2);
    for _ in 0..5_000 {
        S::forget(semaphore.try_acquire().unwrap());
        S::forget(semaphore.try_acquire().unwrap());
        assert!(semaphore.try_acquire().is_none());
        semaphore.add_permits(2);
    }
}

fn one_who_goes_away_while_waiting_takes_nothing<S: Single>() {
    let semaphore = S::new(1);
    let held = semaphore.try_acquire().unwrap();
    let gone = Polled::waiting(semaphore.acquire());
    let mut next = Polled::waiting(semaphore.acquire());
    drop(gone);
    assert!(next.poll().is_pending());
    drop(held);
    assert!(next.woken());
    drop(next.ready());
    assert!(semaphore.try_acquire().is_some());
}

fn one_who_is_granted_and_goes_away_hands_it_to_the_next<S: Single>() {
    let semaphore = S::new(1);
    let held = semaphore.try_acquire().unwrap();
    let gone = Polled::waiting(semaphore.acquire());
    let mut next = Polled::waiting(semaphore.acquire());
    drop(held);
    assert!(gone.woken());
    drop(gone);
    assert!(next.woken());
    drop(next.ready());
    assert!(semaphore.try_acquire().is_some());
}

fn those_who_wait_are_served_as_they_came<S: Single>() {
    let semaphore = S::new(1);
    let mut held = Some(semaphore.try_acquire().unwrap());
    let mut waiting: Vec<_> = (0..10).map(|_| Polled::waiting(semaphore.acquire())).collect();
    for at in 0..waiting.len() {
        drop(held.take());
        assert!(waiting[at].woken());
        assert!(waiting[at + 1..].iter().all(|later| !later.woken()));
        held = Some(waiting[at].ready());
    }
}

fn one_permit_is_a_mutex<S: Single>() {
    let semaphore = S::new(1);
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let permit = block_on(semaphore.acquire());
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    drop(permit);
                }
            });
        }
    });
}

fn threads_never_hold_more_than_there_are<S: Single>() {
    let (semaphore, inside) = (Arc::new(S::new(5)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..10)
        .map(|_| {
            let (semaphore, inside) = (Arc::clone(&semaphore), Arc::clone(&inside));
            thread::spawn(move || {
                for _ in 0..100 {
                    let permit = block_on(semaphore.acquire());
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 5);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let all = [(); 5].map(|()| semaphore.try_acquire().unwrap());
    assert!(semaphore.try_acquire().is_none());
    drop(all);
}

fn pending_does_not_wake_itself<S: Single>() {
    // Report 29 (async-lock#41, tower-resilience#365).
    let semaphore = S::new(1);
    let held = semaphore.try_acquire().unwrap();
    let mut waiting = Polled::waiting(semaphore.acquire());
    for _ in 0..100 {
        assert!(waiting.poll().is_pending());
    }
    assert!(!waiting.woken());
    drop(held);
    assert!(waiting.woken());
}
