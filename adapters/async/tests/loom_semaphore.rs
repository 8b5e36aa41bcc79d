//! `Semaphore` under every interleaving of a few threads.
//!
//! Futures are polled by hand. Each waker counts its calls, so that a wake-up that is lost or given twice is seen when all
//! is quiet; and what a permit guards lives in a loom cell, so that a weakened ordering is a race and not only a wrong
//! count. `RUSTFLAGS="--cfg tollgate_loom" cargo test -p tollgate-async --profile loom --test 'loom_*'`. Which mutant
//! of the source each model kills is listed, and checked, by `cargo xtask mutants-loom`.
#![cfg(tollgate_loom)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc as Shared;
use std::task::Wake;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Notify};
use loom::thread;
use tollgate_async::{AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore};

/// A waker that counts.
struct Calls(AtomicU32);

impl Calls {
    fn new() -> Shared<Self> {
        Shared::new(Self(AtomicU32::new(0)))
    }

    fn seen(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Calls {
    fn wake(self: Shared<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

type Answer = Poll<Result<OwnedSemaphorePermit, AcquireError>>;

/// A future that is polled by hand.
struct Waiter {
    future: AcquireOwned,
    calls: Shared<Calls>,
}

impl Waiter {
    fn new(semaphore: &Shared<Semaphore>, n: u32) -> Self {
        Self { future: Shared::clone(semaphore).acquire_many_owned(n), calls: Calls::new() }
    }

    /// One that has been polled, and waits.
    fn queued(semaphore: &Shared<Semaphore>, n: u32) -> Self {
        let mut waiter = Self::new(semaphore, n);
        assert!(waiter.poll().is_pending());
        waiter
    }

    fn poll(&mut self) -> Answer {
        let waker = Waker::from(Shared::clone(&self.calls));
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }

    /// When all is quiet: it was woken once if it is ready, and not if it waits.
    fn settled(&mut self) -> Answer {
        let answer = self.poll();
        assert_eq!(self.calls.seen(), u32::from(answer.is_ready()), "{answer:?}");
        answer
    }
}

fn semaphore(permits: usize) -> Shared<Semaphore> {
    Shared::new(Semaphore::new(permits))
}

fn hold(semaphore: &Shared<Semaphore>) -> OwnedSemaphorePermit {
    Shared::clone(semaphore).try_acquire_owned().unwrap()
}

fn on_thread<T: 'static>(act: impl FnOnce() -> T + 'static) -> thread::JoinHandle<T> {
    thread::spawn(act)
}

/// Data that only the holder of the one permit may touch.
struct Guarded(UnsafeCell<u32>);

// SAFETY: sharing is what the permit makes safe; loom checks that it does.
unsafe impl Sync for Guarded {}
// SAFETY: as above.
unsafe impl Send for Guarded {}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn touch(&self) {
        // SAFETY: the caller holds the only permit.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

/// Polls until it is ready, and sleeps in between; loom reports a sleep that nobody ends.
fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    struct Bell(Notify);
    impl Wake for Bell {
        fn wake(self: Shared<Self>) {
            self.0.notify();
        }
    }
    let bell = Shared::new(Bell(Notify::new()));
    let waker = Waker::from(Shared::clone(&bell));
    loop {
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        bell.0.wait();
    }
}

#[test]
fn no_wake_up_is_lost_between_queuing_and_releasing() {
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let other = semaphore.clone();
        let waiter = on_thread(move || drop(block_on(other.acquire_owned()).unwrap()));
        drop(held);
        waiter.join().unwrap();
        assert_eq!((semaphore.in_use(), semaphore.num_waiters(), semaphore.available_permits()), (0, 0, 1));
    });
}

#[test]
fn a_grant_seen_without_the_lock_hands_the_data_over() {
    loom::model(|| {
        let (semaphore, data) = (semaphore(1), Guarded::new());
        let held = hold(&semaphore);
        let mut waiter = Waiter::queued(&semaphore, 1);
        let other = {
            let data = Arc::clone(&data);
            on_thread(move || {
                // Not woken: it looks, at any moment.
                if let Poll::Ready(permit) = waiter.poll() {
                    data.touch();
                    drop(permit);
                }
            })
        };
        data.touch();
        drop(held);
        other.join().unwrap();
        assert_eq!((semaphore.in_use(), semaphore.num_waiters()), (0, 0));
    });
}

#[test]
fn two_releases_before_the_first_woken_waiter_runs_wake_both() {
    // Report 27: wake-ups are per grant, not per release.
    loom::model(|| {
        let semaphore = semaphore(2);
        let (a, b) = (hold(&semaphore), hold(&semaphore));
        let mut waiters = [Waiter::queued(&semaphore, 1), Waiter::queued(&semaphore, 1)];
        let other = on_thread(move || drop(a));
        drop(b);
        other.join().unwrap();
        let granted = waiters.each_mut().map(|waiter| waiter.settled());
        assert!(granted.iter().all(|granted| matches!(granted, Poll::Ready(Ok(_)))));
        assert_eq!(semaphore.in_use(), 2);
        drop(granted);
        assert_eq!(semaphore.available_permits(), 2);
    });
}

#[test]
fn one_release_of_two_grants_both_or_the_second_release_does() {
    loom::model(|| {
        let semaphore = semaphore(3);
        let (two, one) = (Shared::clone(&semaphore).try_acquire_many_owned(2).unwrap(), hold(&semaphore));
        let mut waiters = [Waiter::queued(&semaphore, 1), Waiter::queued(&semaphore, 1)];
        let other = on_thread(move || drop(two));
        drop(one);
        other.join().unwrap();
        let granted = waiters.each_mut().map(|waiter| waiter.settled());
        assert!(granted.iter().all(|granted| matches!(granted, Poll::Ready(Ok(_)))));
        assert_eq!((semaphore.in_use(), semaphore.num_waiters()), (2, 0));
        drop(granted);
        assert_eq!(semaphore.available_permits(), 3);
    });
}

#[test]
fn permits_that_are_handed_over_leave_the_next_what_was_free_before() {
    loom::model(|| {
        let semaphore = semaphore(3);
        let two = Shared::clone(&semaphore).try_acquire_many_owned(2).unwrap();
        let mut waiters = [Waiter::queued(&semaphore, 2), Waiter::queued(&semaphore, 1)];
        let other = on_thread(move || drop(two));
        let early = waiters[1].poll();
        other.join().unwrap();
        let last = if early.is_ready() { early } else { waiters[1].settled() };
        assert!(matches!((waiters[0].settled(), last), (Poll::Ready(Ok(_)), Poll::Ready(Ok(_)))));
        assert_eq!(semaphore.available_permits(), 3);
    });
}

#[test]
fn a_newcomer_never_overtakes_one_who_waits() {
    // Report 28.
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let mut first = Waiter::queued(&semaphore, 1);
        let mut second = Waiter::queued(&semaphore, 1);
        let other = semaphore.clone();
        let newcomer = on_thread(move || other.try_acquire().is_ok());
        drop(held);
        assert!(!newcomer.join().unwrap(), "overtaken");
        assert!(second.settled().is_pending());
        assert!(first.settled().is_ready());
        assert!(second.settled().is_ready());
    });
}

#[test]
fn one_who_leaves_before_during_or_after_its_grant_lets_the_next_go() {
    // Reports 24 and 26.
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let first = Waiter::queued(&semaphore, 1);
        let mut second = Waiter::queued(&semaphore, 1);
        let other = on_thread(move || drop(first));
        drop(held);
        other.join().unwrap();
        let granted = second.settled();
        assert!(granted.is_ready());
        assert_eq!((semaphore.in_use(), semaphore.num_waiters()), (1, 0));
        drop(granted);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn a_big_one_that_leaves_the_front_lets_a_small_one_go() {
    // Report 24: 1 of 2 is free all the time, and enough for the second.
    loom::model(|| {
        let semaphore = semaphore(2);
        let held = hold(&semaphore);
        let big = Waiter::queued(&semaphore, 2);
        let mut small = Waiter::queued(&semaphore, 1);
        let other = on_thread(move || drop(big));
        let early = small.poll();
        other.join().unwrap();
        let granted = if early.is_ready() { early } else { small.settled() };
        assert!(matches!(granted, Poll::Ready(Ok(_))));
        assert_eq!(semaphore.in_use(), 2);
        drop((granted, held));
        assert_eq!(semaphore.available_permits(), 2);
    });
}

#[test]
fn everyone_is_told_of_the_close() {
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let other = semaphore.clone();
        let waiter = on_thread(move || block_on(other.acquire_owned()).map(drop));
        let other = semaphore.clone();
        let closer = on_thread(move || other.close());
        drop(held);
        closer.join().unwrap();
        let answer = waiter.join().unwrap();
        assert!(matches!(answer, Ok(()) | Err(AcquireError::Closed)));
        assert!(semaphore.is_closed() && semaphore.try_acquire().is_err());
        assert_eq!((semaphore.in_use(), semaphore.num_waiters(), semaphore.available_permits()), (0, 0, 1));
    });
}

#[test]
fn two_who_close_at_once_tell_each_waiter_once() {
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let mut waiters = [Waiter::queued(&semaphore, 1), Waiter::queued(&semaphore, 1)];
        let other = semaphore.clone();
        let closer = on_thread(move || other.close());
        semaphore.close();
        // Whoever returns first, all are told by then, if not woken.
        let answers = waiters.each_mut().map(Waiter::poll);
        assert!(answers.iter().all(|answer| matches!(answer, Poll::Ready(Err(AcquireError::Closed)))));
        closer.join().unwrap();
        assert!(waiters.iter().all(|waiter| waiter.calls.seen() == 1));
        drop(held);
        assert_eq!((semaphore.in_use(), semaphore.num_waiters()), (0, 0));
    });
}

#[test]
fn a_limit_set_against_a_release_against_one_who_leaves() {
    // Report 22.
    loom::model(|| {
        let semaphore = semaphore(2);
        let (a, b) = (hold(&semaphore), hold(&semaphore));
        let first = Waiter::queued(&semaphore, 1);
        let mut second = Waiter::queued(&semaphore, 1);
        let other = on_thread(move || drop(first));
        let resizer = {
            let semaphore = semaphore.clone();
            on_thread(move || assert_eq!(semaphore.set_limit(1), Ok(2)))
        };
        drop(a);
        other.join().unwrap();
        resizer.join().unwrap();
        // Before the limit was lowered the second was granted, or it has to wait for the other one that is held.
        let early = second.settled();
        assert_eq!(semaphore.in_use(), 1 + usize::from(early.is_ready()));
        drop(b);
        let granted = if early.is_ready() { early } else { second.settled() };
        assert!(matches!(granted, Poll::Ready(Ok(_))));
        assert_eq!((semaphore.in_use(), semaphore.limit(), semaphore.num_waiters()), (1, 1, 0));
        drop(granted);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn nothing_is_granted_above_a_lowered_limit_once_that_returned() {
    loom::model(|| {
        let semaphore = semaphore(2);
        let (a, b) = (hold(&semaphore), hold(&semaphore));
        let mut waiter = Waiter::queued(&semaphore, 1);
        let other = on_thread(move || drop(a));
        semaphore.set_limit(1).unwrap();
        let before = waiter.poll();
        other.join().unwrap();
        if before.is_pending() {
            assert!(waiter.settled().is_pending(), "granted as the second of one");
            assert_eq!(semaphore.in_use(), 1);
        }
        drop((before, b));
        drop(waiter);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn a_pause_that_ends_while_somebody_queues_strands_nobody() {
    loom::model(|| {
        let semaphore = semaphore(0);
        let other = semaphore.clone();
        let waiter = on_thread(move || drop(block_on(other.acquire_owned()).unwrap()));
        assert_eq!(semaphore.set_limit(1), Ok(0));
        waiter.join().unwrap();
        assert_eq!((semaphore.in_use(), semaphore.num_waiters(), semaphore.available_permits()), (0, 0, 1));
    });
}

#[test]
fn nobody_overtakes_one_who_waits_for_a_pause_to_end() {
    loom::model(|| {
        let semaphore = semaphore(0);
        let mut waiter = Waiter::queued(&semaphore, 1);
        let other = semaphore.clone();
        let newcomer = on_thread(move || other.try_acquire().is_ok());
        // Here and not on the other thread: loom would not try all orders of a load there before a load and a change here.
        assert_eq!(semaphore.set_limit(1), Ok(0));
        assert!(!newcomer.join().unwrap(), "overtaken");
        assert!(matches!(waiter.settled(), Poll::Ready(Ok(_))));
    });
}

#[test]
fn what_was_forgotten_comes_back_once_to_one_who_waits() {
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let mut waiter = Waiter::queued(&semaphore, 1);
        let other = semaphore.clone();
        let adder = on_thread(move || other.add_permits(1));
        held.forget();
        adder.join().unwrap();
        let granted = waiter.settled();
        assert!(matches!(granted, Poll::Ready(Ok(_))), "there is one more than those that are forgotten");
        // Forgotten first, it came back; otherwise there are two, one of which is lost.
        assert!(matches!((semaphore.limit(), semaphore.in_use()), (1, 1) | (2, 2)));
        drop(granted);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn the_task_that_polled_last_is_the_one_that_is_woken() {
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let mut waiter = Waiter::queued(&semaphore, 1);
        let first = core::mem::replace(&mut waiter.calls, Calls::new());
        let other = on_thread(move || drop(held));
        let moved = waiter.poll();
        other.join().unwrap();
        if moved.is_pending() {
            assert!(waiter.settled().is_ready(), "the task it moved to sleeps on");
            assert_eq!(first.seen(), 0);
        }
    });
}

#[test]
fn the_line_grows_while_somebody_looks_without_the_lock() {
    loom::model(|| {
        let semaphore = semaphore(1);
        let held = hold(&semaphore);
        let mut first = Waiter::queued(&semaphore, 1);
        let second = Waiter::queued(&semaphore, 1);
        let other = {
            let semaphore = semaphore.clone();
            on_thread(move || {
                // The first words are two under loom: this one is in the next block.
                let mut third = Waiter::queued(&semaphore, 1);
                assert!(third.poll().is_pending());
                drop(third);
            })
        };
        drop(held);
        let granted = first.poll();
        assert!(granted.is_ready());
        other.join().unwrap();
        drop((second, granted));
        assert_eq!((semaphore.num_waiters(), semaphore.available_permits()), (0, 1));
    });
}
