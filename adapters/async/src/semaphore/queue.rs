//! What happens under the semaphore's lock: joining the line, leaving it, and granting to its front.

use core::task::{Context, Poll, Waker};

use tollgate::Reason;
use tollgate::permit::AtomicPermits;

use super::{AcquireError, Semaphore, TryAcquireError};
use crate::sync::MutexGuard;
use crate::wait::{Leave, Line, Look, Place, Wakes, wake};

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) line: Line<u32, AcquireError>,
    /// Permits in use that nobody holds.
    pub(super) forgotten: u32,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self { line: Line::new(), forgotten: 0 }
    }
}

impl Semaphore {
    /// Takes `n` permits, for somebody who adopts them, or queues. `None` is "taken".
    pub(super) fn join(&self, n: u32, waker: Waker) -> Result<Option<Place>, AcquireError> {
        let mut queue = self.queue.lock();
        let joined = self.join_locked(&mut queue, n);
        match joined {
            Ok(false) => Ok(Some(queue.line.push_back(&self.turns, n, waker))),
            Ok(true) => {
                drop(queue);
                drop(waker);
                Ok(None)
            }
            Err(error) => {
                drop(queue);
                drop(waker);
                Err(error)
            }
        }
    }

    /// Whether it was taken. The second look, with the line locked: what came back since the first one is seen, and what
    /// comes back from now on is announced to.
    fn join_locked(&self, queue: &mut Queue, n: u32) -> Result<bool, AcquireError> {
        if n == 0 {
            // None are there even if others wait.
            return if self.is_closed() { Err(AcquireError::Closed) } else { Ok(true) };
        }
        if !queue.line.is_empty() {
            // Announced already.
            return if self.is_closed() {
                Err(AcquireError::Closed)
            } else if self.may_wait(n) {
                Ok(false)
            } else {
                Err(AcquireError::ExceedsLimit)
            };
        }
        match AtomicPermits::try_acquire_or_announce(&self.permits, n) {
            Ok(Some(permit)) => {
                permit.forget();
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(refused) => match self.explain(refused, n) {
                Ok(()) => Ok(true),
                Err(TryAcquireError::Closed) => Err(AcquireError::Closed),
                Err(TryAcquireError::ExceedsLimit) => Err(AcquireError::ExceedsLimit),
                Err(TryAcquireError::NoPermits) => {
                    self.permits.announce();
                    Ok(false)
                }
            },
        }
    }

    /// What has become of somebody in line.
    pub(super) fn look(&self, place: &Place, context: &Context<'_>) -> Poll<Result<(), AcquireError>> {
        loop {
            if self.turns.passed(place) {
                return Poll::Ready(Ok(()));
            }
            let found = self.queue.lock().line.look(&self.turns, place, context.waker());
            match found {
                Look::Granted => return Poll::Ready(Ok(())),
                Look::Told(error) => return Poll::Ready(Err(error)),
                Look::Parked => return Poll::Pending,
                Look::Moved => {}
            }
            // Cloned and dropped without the lock; if it was granted or told meanwhile, look again.
            let waker = context.waker().clone();
            let parked = self.queue.lock().line.park(place, waker);
            if parked.is_ok() {
                return Poll::Pending;
            }
        }
    }

    /// Somebody who queued for `n` permits goes away without having seen what became of it.
    #[cold]
    pub(super) fn leave(&self, place: &Place, n: u32) {
        if self.turns.passed(place) {
            return self.give_back(n);
        }
        let mut queue = self.queue.lock();
        match queue.line.leave(&self.turns, place) {
            Leave::Granted => {
                drop(queue);
                self.give_back(n);
            }
            Leave::Told => {}
            Leave::Waited { waker, was_front } => {
                if was_front {
                    // The next may fit where this one did not.
                    self.serve(queue);
                } else {
                    drop(queue);
                }
                drop(waker);
            }
        }
    }

    /// Gives back `n` permits that nobody holds any more.
    #[inline]
    pub(super) fn give_back(&self, n: u32) {
        if self.permits.has_waiters() {
            self.hand_over(n);
        } else if AtomicPermits::adopt(&self.permits, n).release() {
            self.serve(self.queue.lock());
        }
    }

    /// Gives `n` permits to the front of the line as they are, if it waits for so many, or else back.
    #[cold]
    fn hand_over(&self, n: u32) {
        let mut queue = self.queue.lock();
        // Within the limit it would be granted them as soon as they are back; the lock keeps the limit as it is.
        let fits = self.permits.in_use() <= self.permits.limit() && !self.is_closed();
        let handed =
            if fits && queue.line.front() == Some(&n) { queue.line.grant_front(&self.turns) } else { None };
        match handed {
            Some((_, waker)) if self.has_to_wait(queue.line.front()) => {
                drop(queue);
                wake(waker);
            }
            Some((_, waker)) => self.serve_after(queue, Wakes::of(waker)),
            None => {
                drop(AtomicPermits::adopt(&self.permits, n));
                self.serve(queue);
            }
        }
    }

    /// Whether somebody is in front, and stays there.
    fn has_to_wait(&self, front: Option<&u32>) -> bool {
        front.is_some_and(|&n| {
            self.may_wait(n) && self.permits.in_use().saturating_add(n) > self.permits.limit()
        })
    }

    /// Grants to the front of the line while it fits, and wakes whom it granted to, with the lock released.
    #[cold]
    pub(super) fn serve<'a>(&'a self, queue: MutexGuard<'a, Queue>) {
        self.serve_after(queue, Wakes::new());
    }

    fn serve_after<'a>(&'a self, mut queue: MutexGuard<'a, Queue>, mut wakes: Wakes) {
        loop {
            let more = self.grant(&mut queue, &mut wakes);
            drop(queue);
            wakes.wake();
            if !more {
                return;
            }
            queue = self.queue.lock();
        }
    }

    /// Fills a batch. Whether there may be more to do.
    fn grant(&self, queue: &mut Queue, wakes: &mut Wakes) -> bool {
        while let Some(&n) = queue.line.front() {
            if wakes.is_full() {
                return true;
            }
            let out = match AtomicPermits::try_acquire_for_waiter(&self.permits, n) {
                Ok(permit) => {
                    permit.forget();
                    queue.line.grant_front(&self.turns)
                }
                Err(refused) => match refused.reason {
                    Reason::Closed => queue.line.tell_front(AcquireError::Closed),
                    Reason::ExceedsLimit if !self.may_wait(n) => {
                        queue.line.tell_front(AcquireError::ExceedsLimit)
                    }
                    _ => return false,
                },
            };
            if let Some((_, waker)) = out {
                // There is room.
                let _pushed = wakes.push(waker);
            }
        }
        self.permits.retract();
        false
    }
}
