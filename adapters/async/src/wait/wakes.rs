//! [`Wakes`] and [`WakeList`]: wakers collected under a lock, to be woken without it.

use core::mem::ManuallyDrop;
use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::catch_unwind;

/// So many are woken for each time the lock is taken.
const BATCH: usize = 32;

/// A batch of wakers, on the stack.
#[derive(Debug)]
pub(crate) struct Wakes(heapless::Vec<Waker, BATCH>);

impl Wakes {
    pub(crate) const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    /// A batch that begins with this one.
    pub(crate) fn of(first: Waker) -> Self {
        let mut batch = Self::new();
        // There is room.
        let _pushed = batch.push(first);
        batch
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Takes one more, or hands it back when the batch is full.
    pub(crate) fn push(&mut self, waker: Waker) -> Result<(), Waker> {
        self.0.push(waker)
    }

    /// Wakes all, in the order in which they came, [one](wake) like the other.
    #[inline]
    pub(crate) fn wake(&mut self) {
        self.0.reverse();
        while let Some(waker) = self.0.pop() {
            wake(waker);
        }
    }
}

/// Any number of wakers, where all that is to be done is done under one lock.
#[derive(Debug, Default)]
#[must_use = "whoever is in here waits until it is woken"]
pub(crate) struct WakeList(Vec<Waker>);

impl WakeList {
    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }

    /// Wakes all, in the order in which they came.
    pub(crate) fn wake(self) {
        self.0.into_iter().for_each(wake);
    }
}

/// Wakes one. If it panics, it does not keep others asleep, nor does it hurt the caller, who has nothing to do with it: the
/// panic hook has reported it.
#[inline]
pub(crate) fn wake(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping it may panic again, so it is not.
        let _leaked = ManuallyDrop::new(payload);
    }
}
