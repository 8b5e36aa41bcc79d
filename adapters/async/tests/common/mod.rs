//! Time that is set by hand, and tasks that are polled by hand.
#![allow(dead_code, unreachable_pub)]

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use proptest::prelude::*;
use tollgate_async::{Runtime, Timestamp};

pub fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// So many cases, `TOLLGATE_LAWS_TIMES` as many where that is set.
pub fn cases(cases: u32) -> ProptestConfig {
    let times = std::env::var("TOLLGATE_LAWS_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    ProptestConfig {
        cases: cases.saturating_mul(times),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A runtime whose time is what it is set to.
#[derive(Clone, Debug, Default)]
pub struct Virtual(Arc<Mutex<Timers>>);

#[derive(Debug, Default)]
struct Timers {
    now: Timestamp,
    made: u64,
    set: BTreeMap<(Timestamp, u64), Waker>,
}

impl Virtual {
    /// The next instant at which a timer goes off.
    pub fn next(&self) -> Option<Timestamp> {
        self.0.lock().unwrap().set.keys().next().map(|&(at, _)| at)
    }

    /// How many timers are set.
    pub fn timers(&self) -> usize {
        self.0.lock().unwrap().set.len()
    }

    /// It is `now`, and the timers that were set until then go off.
    pub fn set(&self, now: Timestamp) {
        let mut timers = self.0.lock().unwrap();
        timers.now = now;
        let later = timers.set.split_off(&(now, u64::MAX));
        let over = core::mem::replace(&mut timers.set, later);
        drop(timers);
        over.into_values().for_each(Waker::wake);
    }
}

impl Runtime for Virtual {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().now
    }

    fn sleep_until(&self, at: Timestamp) -> Sleep {
        let mut timers = self.0.lock().unwrap();
        timers.made += 1;
        Sleep { of: self.clone(), key: (at, timers.made) }
    }
}

#[derive(Debug)]
pub struct Sleep {
    of: Virtual,
    key: (Timestamp, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        let mut timers = self.of.0.lock().unwrap();
        if timers.now >= self.key.0 {
            return Poll::Ready(());
        }
        timers.set.insert(self.key, waker);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let waker = self.of.0.lock().unwrap().set.remove(&self.key);
        drop(waker);
    }
}

/// Counts how often it was woken.
#[derive(Debug, Default)]
pub struct Woken(AtomicUsize);

impl Woken {
    pub fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A future that is polled when it was woken, and only then.
pub struct Task<T> {
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    woken: Arc<Woken>,
    seen: usize,
}

impl<T> Task<T> {
    /// Not polled yet.
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        let woken = Arc::new(Woken::default());
        woken.0.store(1, Ordering::SeqCst);
        Self { future: Some(Box::pin(future)), woken, seen: 0 }
    }

    pub fn is_woken(&self) -> bool {
        self.future.is_some() && self.woken.times() > self.seen
    }

    pub fn woken(&self) -> Arc<Woken> {
        Arc::clone(&self.woken)
    }

    /// Polls it once, woken or not.
    pub fn poll(&mut self) -> Option<T> {
        self.seen = self.woken.times();
        let future = self.future.as_mut()?;
        let waker = Waker::from(Arc::clone(&self.woken));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => {
                self.future = None;
                Some(value)
            }
            Poll::Pending => None,
        }
    }

    /// Polls it as long as it is woken.
    pub fn run(&mut self) -> Option<T> {
        while self.is_woken() {
            if let Some(value) = self.poll() {
                return Some(value);
            }
        }
        None
    }

    /// Drops the future where it is.
    pub fn cancel(&mut self) {
        self.future = None;
    }
}
