//! What is meant to be different, on both sides: each test says what the peer does and what ours does instead.

use core::task::Poll;

use tollgate_async::{AcquireError, Semaphore, TryAcquireError};

use super::Polled;

#[test]
fn tokio_waits_for_ever_for_more_than_there_are_and_blocks_the_rest_and_we_refuse_at_once() {
    // Report 30 (golang#56910, polars#27924).
    let theirs = tokio::sync::Semaphore::new(4);
    let held = theirs.try_acquire().unwrap();
    let stuck = Polled::waiting(theirs.acquire_many(5));
    drop(held);
    assert!(!stuck.woken() && theirs.try_acquire().is_err(), "all are free, and nobody gets one");

    let ours = Semaphore::new(4);
    let held = ours.try_acquire().unwrap();
    assert_eq!(Polled::new(ours.acquire_many(5)).ready().unwrap_err(), AcquireError::ExceedsLimit);
    assert_eq!(ours.try_acquire_many(5).unwrap_err(), TryAcquireError::ExceedsLimit);
    drop(held);
    assert!(ours.try_acquire().is_ok());
}

#[test]
fn tokio_panics_at_a_request_above_max_permits_and_we_refuse_it() {
    let ours = Semaphore::new(Semaphore::MAX_PERMITS);
    assert_eq!(ours.try_acquire_many(u32::MAX).unwrap_err(), TryAcquireError::ExceedsLimit);
    let growing = Semaphore::growing(1);
    let answer = Polled::new(growing.acquire_many(u32::MAX)).ready();
    assert_eq!(answer.unwrap_err(), AcquireError::ExceedsLimit, "it can never grow to that");
}

#[test]
fn tokio_counts_up_to_a_request_and_so_does_one_that_grows() {
    let theirs = tokio::sync::Semaphore::new(0);
    let ours = Semaphore::growing(0);
    let mut theirs_waiting = Polled::waiting(theirs.acquire_many(3));
    let mut ours_waiting = Polled::waiting(ours.acquire_many(3));
    for _ in 0..3 {
        assert!(!theirs_waiting.woken() && !ours_waiting.woken());
        theirs.add_permits(1);
        ours.add_permits(1);
    }
    assert!(theirs_waiting.woken() && ours_waiting.woken());
    theirs_waiting.ready().unwrap().forget();
    ours_waiting.ready().unwrap().forget();
    assert_eq!((theirs.available_permits(), ours.available_permits()), (0, 0));
}

#[test]
fn tokio_refuses_what_was_granted_before_the_close_and_not_seen_and_we_keep_it() {
    let theirs = tokio::sync::Semaphore::new(1);
    let held = theirs.try_acquire().unwrap();
    let mut waiting = Polled::waiting(theirs.acquire());
    drop(held);
    theirs.close();
    assert!(waiting.ready().is_err());

    let ours = Semaphore::new(1);
    let held = ours.try_acquire().unwrap();
    let mut waiting = Polled::waiting(ours.acquire());
    drop(held);
    ours.close();
    assert!(waiting.ready().is_ok(), "what was granted stays granted");
}

#[test]
fn tokio_takes_permits_out_of_a_closed_one_and_we_leave_the_count_alone() {
    let theirs = tokio::sync::Semaphore::new(3);
    theirs.close();
    assert_eq!((theirs.forget_permits(2), theirs.available_permits()), (2, 1));

    let ours = Semaphore::new(3);
    ours.close();
    assert_eq!((ours.forget_permits(2), ours.available_permits()), (0, 3));
}

#[test]
fn tokio_cannot_shrink_while_somebody_waits_and_we_can() {
    // Reports 22 and 23 (materialize#38509, megaeth#188, Vector).
    let theirs = tokio::sync::Semaphore::new(2);
    let held = theirs.try_acquire_many(2).unwrap();
    let waiting = Polled::waiting(theirs.acquire());
    assert_eq!(theirs.forget_permits(1), 0);
    drop((waiting, held));
    assert_eq!(theirs.available_permits(), 2);

    let ours = Semaphore::new(2);
    let mut held = ours.try_acquire_many(2).unwrap();
    let mut waiting = Polled::waiting(ours.acquire());
    assert_eq!(ours.set_limit(1), Ok(2));
    drop(held.split(1));
    assert!(waiting.poll().is_pending(), "1 of 1 is in use");
    drop(held);
    assert!(waiting.ready().is_ok());
    assert_eq!(ours.available_permits(), 1);
}

#[test]
fn async_lock_lets_a_newcomer_take_what_somebody_was_woken_for_and_we_do_not() {
    // Report 28 (async-lock#23).
    let theirs = async_lock::Semaphore::new(1);
    let held = theirs.try_acquire().unwrap();
    let waiting = Polled::waiting(theirs.acquire());
    drop(held);
    let newcomer = theirs.try_acquire();
    assert!(waiting.woken() && newcomer.is_some());

    let ours = Semaphore::new(1);
    let held = ours.try_acquire().unwrap();
    let mut waiting = Polled::waiting(ours.acquire());
    drop(held);
    assert!(waiting.woken() && ours.try_acquire().is_err());
    assert!(waiting.ready().is_ok());
}

#[test]
fn tokio_makes_a_task_yield_that_takes_many_free_permits_and_we_do_not() {
    // Report 35 (apollo router#9034): `Pending` means that somebody else has to act first.
    let ours = Semaphore::new(1);
    let mut many = Polled::new(async {
        for _ in 0..1_000 {
            drop(ours.acquire().await.unwrap());
        }
    });
    assert!(matches!(many.poll(), Poll::Ready(())));
}
