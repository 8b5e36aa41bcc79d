//! [`Wakes`]: who is to be woken once the lock is free.

use core::panic::AssertUnwindSafe;
use core::task::Waker;
use std::panic::catch_unwind;

/// Wakers collected under a lock, to be woken and dropped outside of it: a waker is somebody else's code, and may take the
/// same lock, or panic.
#[derive(Default)]
#[must_use = "whoever is in here waits until it is woken"]
pub(crate) struct Wakes(Vec<Waker>);

impl Wakes {
    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        self.0.extend(waker);
    }

    /// Wakes all of them. One that panics keeps nobody else from being woken, and does not disturb the caller, who only
    /// gave something back.
    pub(crate) fn wake(self) {
        for waker in self.0 {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                // What was thrown may throw when it is dropped.
                let _thrown_again = catch_unwind(AssertUnwindSafe(|| drop(panic)));
            }
        }
    }
}
