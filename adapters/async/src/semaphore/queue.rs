//! What happens under the semaphore's lock: joining the line, leaving it, and granting to its front.

use core::task::{Context, Poll, Waker};

use tollgate::Reason;
use tollgate::permit::AtomicPermits;

use super::{AcquireError, Semaphore, TryAcquireError};
use crate::sync::MutexGuard;
use crate::wait::{Leave, Line, Look, Place, Wakes};

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
    fn give_back(&self, n: u32) {
        if AtomicPermits::adopt(&self.permits, n).release() {
            self.serve(self.queue.lock());
        }
    }

    /// Grants to the front of the line while it fits, and wakes whom it granted to, with the lock released.
    #[cold]
    pub(super) fn serve<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) {
        loop {
            let mut wakes = Wakes::new();
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
