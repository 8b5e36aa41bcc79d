//! `AtomicPermits` under every interleaving of a few threads, with the data that permits guard in a loom cell, so that a
//! weakened ordering is a race and not only a wrong count.
//!
//! `RUSTFLAGS="--cfg tollgate_loom" cargo test -p tollgate --profile loom --test 'loom_*'`. Which mutant of the source
//! each model kills is listed, and checked, by `cargo xtask mutants-loom`.
#![cfg(tollgate_loom)]

use std::collections::VecDeque;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use tollgate::Reason;
use tollgate::permit::{AtomicPermits, Permit};

type Owned = Permit<Arc<AtomicPermits>>;

fn permits(limit: u32) -> Arc<AtomicPermits> {
    Arc::new(AtomicPermits::new(limit).unwrap())
}

fn try_owned(permits: &Arc<AtomicPermits>, weight: u32) -> Option<Owned> {
    AtomicPermits::try_acquire_owned(Arc::clone(permits), weight).ok()
}

/// Data that only the holder of the one permit may touch.
struct Guarded(UnsafeCell<u32>);

// Sharing is what the permit makes safe; loom checks that it does.
unsafe impl Sync for Guarded {}
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

#[test]
fn a_permit_hands_its_data_over() {
    loom::model(|| {
        let (permits, data) = (permits(1), Guarded::new());
        let other = {
            let (permits, data) = (Arc::clone(&permits), Arc::clone(&data));
            thread::spawn(move || {
                if let Some(_permit) = try_owned(&permits, 1) {
                    data.touch();
                }
            })
        };
        if let Some(permit) = try_owned(&permits, 1) {
            data.touch();
            let _told = permit.release();
        }
        if let Some(_permit) = try_owned(&permits, 1) {
            data.touch();
        }
        other.join().unwrap();
        assert_eq!(permits.in_use(), 0);
    });
}

#[test]
fn an_announcement_that_grants_hands_the_data_over_too() {
    loom::model(|| {
        let (permits, data) = (permits(1), Guarded::new());
        let other = {
            let (permits, data) = (Arc::clone(&permits), Arc::clone(&data));
            thread::spawn(move || {
                if let Ok(Some(_permit)) = AtomicPermits::try_acquire_or_announce(Arc::clone(&permits), 1) {
                    data.touch();
                }
            })
        };
        if let Some(_permit) = try_owned(&permits, 1) {
            data.touch();
        }
        other.join().unwrap();
        assert_eq!(permits.in_use(), 0);
    });
}

#[test]
fn never_more_than_the_limit_is_held() {
    loom::model(|| {
        let permits = permits(2);
        let held = Arc::new(AtomicU32::new(0));
        let hold = |permits: Arc<AtomicPermits>, held: Arc<AtomicU32>, weight: u32| {
            move || {
                if let Some(_permit) = try_owned(&permits, weight) {
                    let now = held.fetch_add(weight, Ordering::Relaxed) + weight;
                    assert!(now <= 2, "{now} held of 2");
                    held.fetch_sub(weight, Ordering::Relaxed);
                }
            }
        };
        let threads = [1, 2].map(|w| thread::spawn(hold(Arc::clone(&permits), Arc::clone(&held), w)));
        hold(Arc::clone(&permits), held, 1)();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(permits.in_use(), 0);
    });
}

#[test]
fn a_lowered_limit_holds_from_the_moment_it_returns() {
    loom::model(|| {
        let permits = permits(2);
        let held = try_owned(&permits, 1).unwrap();
        let other = {
            let permits = Arc::clone(&permits);
            thread::spawn(move || try_owned(&permits, 1))
        };
        permits.set_limit(1).unwrap();
        assert!(try_owned(&permits, 1).is_none(), "one of one is held");
        let other = other.join().unwrap();
        assert_eq!((permits.limit(), permits.in_use()), (1, 1 + u32::from(other.is_some())));
        drop((held, other));
        assert_eq!(permits.in_use(), 0);
    });
}

#[test]
fn resizing_against_acquire_and_release_loses_nothing() {
    loom::model(|| {
        let permits = permits(1);
        let held = try_owned(&permits, 1).unwrap();
        let threads = [
            {
                let permits = Arc::clone(&permits);
                thread::spawn(move || assert_eq!(permits.set_limit(3).unwrap(), 1))
            },
            {
                let permits = Arc::clone(&permits);
                thread::spawn(move || drop(try_owned(&permits, 1)))
            },
        ];
        drop(held);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!((permits.limit(), permits.in_use()), (3, 0));
    });
}

#[test]
fn closed_is_absorbing_against_every_other_change() {
    loom::model(|| {
        let permits = permits(1);
        let held = try_owned(&permits, 1).unwrap();
        let closed = Arc::new(AtomicBool::new(false));
        let closer = {
            let (permits, closed) = (Arc::clone(&permits), Arc::clone(&closed));
            thread::spawn(move || {
                let _told = permits.close();
                closed.store(true, Ordering::Release);
            })
        };
        drop(held);
        permits.set_limit(2).unwrap();
        permits.retract();
        let after = closed.load(Ordering::Acquire);
        let granted = try_owned(&permits, 1).is_some();
        assert!(!(after && granted), "granted after close returned");
        closer.join().unwrap();
        assert!(permits.is_closed());
        assert_eq!(permits.try_acquire().unwrap_err().reason, Reason::Closed);
    });
}

/// A queue as an adapter keeps it: the protocol of the module docs.
struct Line {
    permits: Arc<AtomicPermits>,
    queue: Mutex<VecDeque<Arc<AtomicBool>>>,
}

impl Line {
    fn new(limit: u32) -> Arc<Self> {
        Arc::new(Self { permits: permits(limit), queue: Mutex::new(VecDeque::new()) })
    }

    /// Takes a permit, or queues and answers what will be set when it is granted.
    fn acquire(&self) -> Result<Owned, Arc<AtomicBool>> {
        let mut queue = self.queue.lock().unwrap();
        match AtomicPermits::try_acquire_or_announce(Arc::clone(&self.permits), 1).unwrap() {
            Some(permit) => Ok(permit),
            None => {
                let granted = Arc::new(AtomicBool::new(false));
                queue.push_back(Arc::clone(&granted));
                Err(granted)
            }
        }
    }

    fn release(&self, permit: Owned) {
        if !permit.release() {
            return;
        }
        let mut queue = self.queue.lock().unwrap();
        while !queue.is_empty() {
            match AtomicPermits::try_acquire_for_waiter(Arc::clone(&self.permits), 1) {
                Ok(permit) => {
                    queue.pop_front().unwrap().store(true, Ordering::Relaxed);
                    permit.forget();
                }
                Err(_) => return,
            }
        }
        self.permits.retract();
    }
}

#[test]
fn no_wake_up_is_lost_between_announcing_and_releasing() {
    loom::model(|| {
        let line = Line::new(1);
        let held = line.acquire().unwrap();
        let waiter = {
            let line = Arc::clone(&line);
            thread::spawn(move || line.acquire())
        };
        line.release(held);
        match waiter.join().unwrap() {
            Ok(permit) => drop(permit),
            Err(granted) => assert!(granted.load(Ordering::Relaxed), "released, and the waiter sleeps on"),
        }
        assert!(line.queue.lock().unwrap().is_empty());
    });
}

#[test]
fn two_releases_grant_two_waiters() {
    // Report 27: two releases before the first woken waiter runs.
    loom::model(|| {
        let line = Line::new(2);
        let (a, b) = (line.acquire().unwrap(), line.acquire().unwrap());
        let waiters = [line.acquire().unwrap_err(), line.acquire().unwrap_err()];
        let other = {
            let line = Arc::clone(&line);
            thread::spawn(move || line.release(a))
        };
        line.release(b);
        other.join().unwrap();
        assert!(waiters.iter().all(|granted| granted.load(Ordering::Relaxed)));
        assert_eq!(line.permits.in_use(), 2);
    });
}

#[test]
fn a_newcomer_never_overtakes_an_announced_waiter() {
    // Report 28: between the release and the waiter's grant, a newcomer must not take the permit.
    loom::model(|| {
        let line = Line::new(1);
        let held = line.acquire().unwrap();
        let granted = line.acquire().unwrap_err();
        let newcomer = {
            let line = Arc::clone(&line);
            thread::spawn(move || try_owned(&line.permits, 1).is_some())
        };
        line.release(held);
        assert!(granted.load(Ordering::Relaxed));
        assert!(!newcomer.join().unwrap(), "overtaken");
    });
}
