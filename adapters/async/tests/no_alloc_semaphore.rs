//! Once as many have waited as ever will, nothing is allocated and nothing freed.
#![cfg(not(tollgate_loom))]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Waker};

use allocation_counter::measure;
use tollgate_async::{Acquire, Semaphore};

const WAITERS: usize = 100;

fn poll(waiter: &mut Acquire<'_>) -> bool {
    match Pin::new(waiter).poll(&mut Context::from_waker(Waker::noop())) {
        core::task::Poll::Ready(permit) => {
            drop(permit);
            true
        }
        core::task::Poll::Pending => false,
    }
}

/// Free permits, a line that fills up and is served, waiters that leave and that are told, a limit that moves.
fn round<'a>(semaphore: &'a Semaphore, waiters: &mut [Option<Acquire<'a>>; WAITERS]) {
    for _ in 0..100 {
        drop(semaphore.try_acquire());
        assert!(poll(&mut semaphore.acquire_many(2)));
    }
    let held = semaphore.try_acquire_many(2).unwrap();
    for waiter in waiters.iter_mut() {
        assert!(!poll(waiter.insert(semaphore.acquire())));
    }
    waiters.iter_mut().step_by(3).for_each(|waiter| *waiter = None);
    assert_eq!(semaphore.set_limit(3), Ok(2));
    drop(held);
    assert!(waiters.iter_mut().flatten().all(poll));
    assert_eq!(semaphore.set_limit(2), Ok(3));
    // Told that it is too much, and gone without having heard it.
    let held = semaphore.try_acquire().unwrap();
    for waiter in waiters.iter_mut() {
        assert!(!poll(waiter.insert(semaphore.acquire_many(2))));
    }
    assert_eq!(semaphore.set_limit(1), Ok(2));
    assert_eq!(semaphore.num_waiters(), 0);
    assert_eq!(semaphore.set_limit(2), Ok(1));
    drop(held);
    waiters.iter_mut().for_each(|waiter| *waiter = None);
}

#[test]
fn the_steady_state_does_not_allocate() {
    let semaphore = Semaphore::new(2);
    let mut waiters = [const { None }; WAITERS];
    let first = measure(|| round(&semaphore, &mut waiters)).count_total;
    assert!(first > 0, "the counter counts: the line has grown");
    let later = measure(|| (0..100).for_each(|_| round(&semaphore, &mut waiters)));
    assert_eq!((later.count_total, later.count_current), (0, 0));
    assert_eq!(semaphore.available_permits(), 2);
}
