//! Reports of defects in other libraries' semaphores and wait lists, replayed; and what must hold whatever foreign code
//! does. Runtime-neutral: futures are polled by hand. Reports 21 to 30 that are about what is granted when are in
//! `semaphore_peers`, beside the peers that they are about.
#![cfg(not(tollgate_loom))]

use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex, Weak};
use std::task::Wake;
use std::thread;
use std::time::Instant;

use tollgate_async::{AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// A waker that does what it is told.
struct Doing<F: Fn() + Send + Sync + 'static>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Doing<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn waker(doing: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Doing(doing)))
}

/// A waker that counts its calls.
fn counting() -> (Waker, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    (waker(count), calls)
}

type Answer = Poll<Result<OwnedSemaphorePermit, AcquireError>>;

fn poll(future: &mut AcquireOwned, waker: &Waker) -> Answer {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

fn semaphore(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits))
}

/// A request that waits, to wake `waker`.
fn waiting(semaphore: &Arc<Semaphore>, n: u32, waker: &Waker) -> AcquireOwned {
    let mut future = Arc::clone(semaphore).acquire_many_owned(n);
    assert!(poll(&mut future, waker).is_pending());
    future
}

fn hold(semaphore: &Arc<Semaphore>, n: u32) -> OwnedSemaphorePermit {
    Arc::clone(semaphore).try_acquire_many_owned(n).unwrap()
}

#[test]
fn report_12_a_waiter_that_is_never_polled_again_does_not_hold_up_those_before_it_or_after_it_goes() {
    // leaky-bucket#35: one waiter drove the refill for all, and hung them when it was parked.
    let semaphore = semaphore(1);
    let (noop, calls) = (Waker::noop(), counting());
    let held = hold(&semaphore, 1);
    let mut first = waiting(&semaphore, 1, &calls.0);
    let parked = waiting(&semaphore, 1, noop);
    let mut last = waiting(&semaphore, 1, &calls.0);
    drop(held);
    let Poll::Ready(Ok(permit)) = poll(&mut first, noop) else { panic!("the parked one is behind it") };
    drop(parked);
    drop(permit);
    assert!(poll(&mut last, noop).is_ready());
}

#[test]
fn report_13_a_big_request_is_served_after_those_before_it_however_many_small_ones_come() {
    // governor's `until_n_ready` starves behind small ones.
    let semaphore = semaphore(10);
    let (noop, calls) = (Waker::noop(), counting());
    let mut held: Vec<_> = (0..10).map(|_| hold(&semaphore, 1)).collect();
    let mut big = waiting(&semaphore, 10, &calls.0);
    let mut small = Vec::new();
    for _ in 0..1_000 {
        small.push(waiting(&semaphore, 1, noop));
        assert!(semaphore.try_acquire().is_err());
    }
    while let Some(permit) = held.pop() {
        drop(permit);
    }
    assert_eq!(calls.1.load(Ordering::Relaxed), 1);
    assert!(poll(&mut big, noop).is_ready());
}

#[test]
fn report_25_those_who_left_the_line_leave_no_place_behind() {
    // embassy's cancelled waiters kept their slots.
    let semaphore = semaphore(1);
    let held = hold(&semaphore, 1);
    let front = waiting(&semaphore, 1, Waker::noop());
    for _ in 0..10_000 {
        drop(waiting(&semaphore, 1, Waker::noop()));
        assert_eq!(semaphore.num_waiters(), 1);
    }
    drop((front, held));
    assert_eq!((semaphore.num_waiters(), semaphore.available_permits()), (0, 1));
}

#[test]
fn report_26_dropping_a_future_in_any_state_gives_back_exactly_what_it_was_given() {
    // ranked-semaphore, tokio#1898, #1902.
    let semaphore = semaphore(3);
    drop(Arc::clone(&semaphore).acquire_many_owned(2));
    assert_eq!(semaphore.in_use(), 0, "never polled");
    let held = hold(&semaphore, 2);
    drop(waiting(&semaphore, 2, Waker::noop()));
    assert_eq!((semaphore.in_use(), semaphore.num_waiters()), (2, 0), "waiting");
    let granted = waiting(&semaphore, 3, Waker::noop());
    drop(held);
    assert_eq!(semaphore.in_use(), 3);
    drop(granted);
    assert_eq!(semaphore.in_use(), 0, "granted");
    let held = hold(&semaphore, 3);
    let refused = waiting(&semaphore, 3, Waker::noop());
    semaphore.set_limit(1).unwrap();
    drop(held);
    assert_eq!(semaphore.num_waiters(), 0, "told that it is too much now");
    drop(refused);
    let mut done = Arc::clone(&semaphore).acquire_owned();
    let answer = poll(&mut done, Waker::noop());
    drop(done);
    assert_eq!(semaphore.in_use(), 1, "ready: the permit is the caller's");
    drop(answer);
    assert_eq!((semaphore.in_use(), semaphore.available_permits()), (0, 1));
}

#[test]
fn report_27_each_grant_wakes_its_waiter_though_none_has_run_yet() {
    let semaphore = semaphore(2);
    let (a, b) = (counting(), counting());
    let held = [hold(&semaphore, 1), hold(&semaphore, 1)];
    let waiters = [waiting(&semaphore, 1, &a.0), waiting(&semaphore, 1, &b.0)];
    for permit in held {
        drop(permit);
    }
    assert_eq!((a.1.load(Ordering::Relaxed), b.1.load(Ordering::Relaxed)), (1, 1));
    drop(waiters);
}

#[test]
fn report_31_a_waker_that_panics_keeps_nobody_asleep_and_hurts_nobody() {
    // tokio#8542, #8529. More than one batch of them, in a drop, in a close and in a change of the limit.
    let semaphore = semaphore(100);
    for way in 0..3 {
        semaphore.set_limit(100).unwrap();
        let held = hold(&semaphore, 100);
        let (good, calls) = counting();
        let bad = waker(|| panic!("a waker that panics: part of the test"));
        let mut waiters: Vec<_> =
            (0..100).map(|at| waiting(&semaphore, 1, if at % 3 == 0 { &bad } else { &good })).collect();
        match way {
            0 => drop(held),
            1 => {
                semaphore.set_limit(200).unwrap();
                drop(held);
            }
            _ => {
                semaphore.close();
                drop(held);
            }
        }
        assert_eq!(calls.load(Ordering::Relaxed), 66);
        let answers: Vec<_> = waiters.iter_mut().map(|waiter| poll(waiter, Waker::noop())).collect();
        assert!(answers.iter().all(Poll::is_ready), "those whose waker panicked have their answer too");
        drop(answers);
        assert_eq!((semaphore.in_use(), semaphore.num_waiters()), (0, 0));
    }
}

#[test]
fn a_waker_that_panics_while_a_panic_unwinds_does_not_abort() {
    let semaphore = semaphore(1);
    let held = hold(&semaphore, 1);
    let mut waiter = waiting(&semaphore, 1, &waker(|| panic!("the second: part of the test")));
    let first = catch_unwind(AssertUnwindSafe(move || {
        let _held = held;
        panic!("the first: part of the test");
    }));
    assert!(first.is_err());
    assert!(poll(&mut waiter, Waker::noop()).is_ready());
}

#[test]
fn report_31_a_waker_may_call_back_into_the_semaphore() {
    let semaphore = semaphore(2);
    let held = hold(&semaphore, 2);
    let (noop, seen) = (Waker::noop(), Arc::new(Mutex::new(Vec::new())));
    let inside = (Arc::downgrade(&semaphore), Arc::clone(&seen));
    let back = waker(move || {
        let semaphore = Weak::upgrade(&inside.0).expect("it is alive");
        // All that takes the lock.
        let _before = semaphore.set_limit(3).unwrap();
        drop(waiting(&semaphore, 3, Waker::noop()));
        inside.1.lock().unwrap().push((semaphore.in_use(), semaphore.num_waiters()));
    });
    // The first is handed permits as they are, while the next has to wait: until the waker itself raises the limit.
    let mut waiters = [2, 1, 2].map(|n| waiting(&semaphore, n, &back));
    drop(held);
    let calls = seen.lock().unwrap().clone();
    assert_eq!(calls, [(3, 1), (3, 1)]);
    let answers = waiters.each_mut().map(|waiter| poll(waiter, &back));
    assert!(matches!(answers, [Poll::Ready(Ok(_)), Poll::Ready(Ok(_)), Poll::Pending]));
    drop(answers);
    let calls = seen.lock().unwrap().clone();
    assert_eq!(calls[2..], [(3, 0)]);
    assert!(poll(&mut waiters[2], noop).is_ready());
}

#[test]
fn report_31_a_waker_that_is_replaced_or_left_behind_is_dropped_without_the_lock() {
    struct OnDrop(Arc<Semaphore>, Arc<AtomicUsize>);
    impl Wake for OnDrop {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for OnDrop {
        fn drop(&mut self) {
            // It would not return if the lock were held.
            self.1.fetch_add(1 + self.0.num_waiters(), Ordering::Relaxed);
        }
    }
    let (semaphore, dropped) = (semaphore(1), Arc::new(AtomicUsize::new(0)));
    let new = || Waker::from(Arc::new(OnDrop(Arc::clone(&semaphore), Arc::clone(&dropped))));
    let held = hold(&semaphore, 1);
    let mut waiter = waiting(&semaphore, 1, &new());
    assert!(poll(&mut waiter, &new()).is_pending());
    assert_eq!(dropped.swap(0, Ordering::Relaxed), 2, "replaced, with one in line");
    let behind = waiting(&semaphore, 1, &new());
    drop(behind);
    assert_eq!(dropped.swap(0, Ordering::Relaxed), 2, "left behind the front");
    assert!(poll(&mut Arc::clone(&semaphore).acquire_many_owned(0), &new()).is_ready());
    assert_eq!(dropped.swap(0, Ordering::Relaxed), 2, "not needed for none");
    drop(waiter);
    assert_eq!(dropped.swap(0, Ordering::Relaxed), 1, "left in front, with none in line");
    drop(held);
    assert!(poll(&mut Arc::clone(&semaphore).acquire_owned(), &new()).is_ready());
    assert_eq!(dropped.swap(0, Ordering::Relaxed), 1, "not needed");
}

#[test]
fn report_32_a_granted_future_that_nobody_polls_holds_its_permit_until_it_is_dropped() {
    // tokio#6450: any semaphore that hands over can be held up so. `try_*` and deadlines tell the others.
    let semaphore = semaphore(1);
    let held = hold(&semaphore, 1);
    let forgotten = waiting(&semaphore, 1, Waker::noop());
    drop(held);
    assert_eq!(semaphore.in_use(), 1);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    let late = semaphore.blocking_acquire_timeout(1, Duration::from_millis(1));
    assert_eq!(late.unwrap_err(), TryAcquireError::NoPermits);
    let mut next = waiting(&semaphore, 1, Waker::noop());
    drop(forgotten);
    assert!(poll(&mut next, Waker::noop()).is_ready());
}

#[test]
fn report_33_no_lock_is_held_while_a_future_waits() {
    // congestion-limiter held a guard across an await. Here everything can be called while futures are parked.
    let semaphore = semaphore(1);
    let held = hold(&semaphore, 1);
    let parked = [waiting(&semaphore, 1, Waker::noop()), waiting(&semaphore, 1, Waker::noop())];
    assert_eq!((semaphore.num_waiters(), semaphore.set_limit(1)), (2, Ok(1)));
    assert_eq!(format!("{semaphore:?}"), "Semaphore { limit: 1, in_use: 1, waiters: 2, closed: false }");
    drop((parked, held));
}

#[test]
fn a_pause_keeps_those_who_wait_in_their_order() {
    let semaphore = semaphore(2);
    let held = hold(&semaphore, 2);
    let mut waiters = [1, 2, 1].map(|n| waiting(&semaphore, n, Waker::noop()));
    semaphore.set_limit(0).unwrap();
    drop(held);
    assert_eq!((semaphore.num_waiters(), semaphore.in_use()), (3, 0));
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    semaphore.set_limit(2).unwrap();
    let first = poll(&mut waiters[0], Waker::noop());
    assert!(first.is_ready() && poll(&mut waiters[1], Waker::noop()).is_pending());
    drop(first);
    assert!(poll(&mut waiters[1], Waker::noop()).is_ready());
    assert!(poll(&mut waiters[2], Waker::noop()).is_ready());
}

#[test]
fn one_who_waits_for_more_than_a_lowered_limit_is_told_at_the_front() {
    let semaphore = semaphore(4);
    let held = hold(&semaphore, 4);
    let (told, calls) = counting();
    let mut waiters = [1, 3, 1].map(|n| waiting(&semaphore, n, &told));
    semaphore.set_limit(2).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 0, "the one before it fits, but not yet");
    drop(held);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    let [a, b, c] = waiters.each_mut().map(|waiter| poll(waiter, Waker::noop()));
    assert!(matches!((a, c), (Poll::Ready(Ok(_)), Poll::Ready(Ok(_)))));
    assert!(matches!(b, Poll::Ready(Err(AcquireError::ExceedsLimit))));
}

#[test]
fn one_who_is_too_big_is_told_as_soon_as_the_one_before_it_is_handed_a_permit() {
    let semaphore = semaphore(3);
    let mut held: Vec<_> = (0..3).map(|_| hold(&semaphore, 1)).collect();
    let (told, calls) = counting();
    let mut waiters = [1, 3, 1].map(|n| waiting(&semaphore, n, &told));
    semaphore.set_limit(2).unwrap();
    held.pop();
    assert_eq!(calls.load(Ordering::Relaxed), 0, "2 of 2 are in use");
    held.pop();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let [a, b, c] = waiters.each_mut().map(|waiter| poll(waiter, Waker::noop()));
    assert!(matches!((a, c), (Poll::Ready(Ok(_)), Poll::Pending)));
    assert!(matches!(b, Poll::Ready(Err(AcquireError::ExceedsLimit))));
}

#[test]
fn a_blocked_thread_is_woken_in_time_and_gives_up_in_time() {
    let semaphore = semaphore(1);
    let held = hold(&semaphore, 1);
    let began = Instant::now();
    let late = Arc::clone(&semaphore).blocking_acquire_timeout_owned(1, Duration::from_millis(20));
    assert_eq!(late.unwrap_err(), TryAcquireError::NoPermits);
    assert!(began.elapsed() >= Duration::from_millis(20));
    assert_eq!(semaphore.blocking_acquire_until(1, began).unwrap_err(), TryAcquireError::NoPermits);
    let waiter = {
        let semaphore = Arc::clone(&semaphore);
        thread::spawn(move || semaphore.blocking_acquire_timeout(1, Duration::MAX).map(drop))
    };
    while semaphore.num_waiters() == 0 {
        thread::yield_now();
    }
    drop(held);
    assert_eq!(waiter.join().unwrap(), Ok(()));
    assert!(semaphore.blocking_acquire_until(1, began).is_ok(), "what is free needs no time");
    let refused = semaphore.blocking_acquire_many(2);
    assert_eq!(refused.unwrap_err(), AcquireError::ExceedsLimit);
    let owned = Arc::clone(&semaphore).blocking_acquire_owned().unwrap();
    semaphore.close();
    assert_eq!(semaphore.blocking_acquire().unwrap_err(), AcquireError::Closed);
    drop(owned);
}

#[test]
fn threads_and_tasks_stand_in_one_line() {
    let semaphore = semaphore(1);
    let held = hold(&semaphore, 1);
    let mut task = waiting(&semaphore, 1, Waker::noop());
    let done = Arc::new(AtomicBool::new(false));
    let blocked = {
        let (semaphore, done) = (Arc::clone(&semaphore), Arc::clone(&done));
        thread::spawn(move || {
            let permit = semaphore.blocking_acquire();
            done.store(true, Ordering::Release);
            permit.map(drop)
        })
    };
    while semaphore.num_waiters() < 2 {
        thread::yield_now();
    }
    drop(held);
    let first = poll(&mut task, Waker::noop());
    assert!(first.is_ready() && !done.load(Ordering::Acquire));
    drop(first);
    assert_eq!(blocked.join().unwrap(), Ok(()));
}

#[test]
#[should_panic = "polled after it was ready"]
fn a_future_that_was_ready_says_so_when_it_is_polled_again() {
    let semaphore = semaphore(1);
    let mut future = Arc::clone(&semaphore).acquire_owned();
    let answer = poll(&mut future, Waker::noop());
    assert!(answer.is_ready());
    let _again = poll(&mut future, Waker::noop());
}

#[test]
fn futures_and_guards_are_small_and_can_be_sent_shared_and_moved() {
    fn all<T: Send + Sync + Unpin>() {}
    all::<Semaphore>();
    all::<tollgate_async::Acquire<'_>>();
    all::<AcquireOwned>();
    all::<tollgate_async::SemaphorePermit<'_>>();
    all::<OwnedSemaphorePermit>();
    assert!(size_of::<AcquireOwned>() <= 32 && size_of::<OwnedSemaphorePermit>() <= 16);
    assert!(size_of::<Semaphore>() <= 112);
}
