//! Waiting in a plain thread.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::Instant;

use super::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};

/// For plain threads: in the same line as the tasks, by the same order. They know no runtime: in an async function they
/// block the thread that the runtime needs.
impl Semaphore {
    /// Blocks the thread until it has one permit.
    ///
    /// ```
    /// use std::thread;
    /// use tollgate_async::Semaphore;
    ///
    /// let semaphore = Semaphore::new(2);
    /// thread::scope(|scope| {
    ///     for _ in 0..8 {
    ///         scope.spawn(|| {
    ///             let _permit = semaphore.blocking_acquire().expect("nobody closes it");
    ///             assert!(semaphore.in_use() <= 2);
    ///         });
    ///     }
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }

    /// Blocks the thread until it has `n` permits, all at once.
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_on(self.acquire_many(n))
    }

    /// As [`blocking_acquire`](Self::blocking_acquire), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }

    /// As [`blocking_acquire_many`](Self::blocking_acquire_many), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`acquire_many`](Self::acquire_many).
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_on(self.acquire_many_owned(n))
    }

    /// Blocks the thread until it has `n` permits, but no longer than `timeout`. With none left to wait, it takes what is
    /// free.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_async::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let held = semaphore.try_acquire()?;
    /// let late = semaphore.blocking_acquire_timeout(1, Duration::from_millis(5));
    /// assert_eq!(late.unwrap_err(), TryAcquireError::NoPermits);
    /// assert_eq!(semaphore.num_waiters(), 0, "it has left the line");
    /// # drop(held);
    /// # Ok::<(), TryAcquireError>(())
    /// ```
    ///
    /// # Errors
    /// `NoPermits` if they did not come in time; otherwise as [`acquire_many`](Self::acquire_many).
    pub fn blocking_acquire_timeout(
        &self,
        n: u32,
        timeout: Duration,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        // Too far away to be an instant is for ever.
        in_time(self.acquire_many(n), Instant::now().checked_add(timeout))
    }

    /// As [`blocking_acquire_timeout`](Self::blocking_acquire_timeout), until an instant.
    ///
    /// # Errors
    /// As [`blocking_acquire_timeout`](Self::blocking_acquire_timeout).
    pub fn blocking_acquire_until(
        &self,
        n: u32,
        deadline: Instant,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        in_time(self.acquire_many(n), Some(deadline))
    }

    /// As [`blocking_acquire_timeout`](Self::blocking_acquire_timeout), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`blocking_acquire_timeout`](Self::blocking_acquire_timeout).
    pub fn blocking_acquire_timeout_owned(
        self: Arc<Self>,
        n: u32,
        timeout: Duration,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        in_time(self.acquire_many_owned(n), Instant::now().checked_add(timeout))
    }
}

fn in_time<T>(
    future: impl Future<Output = Result<T, AcquireError>>,
    deadline: Option<Instant>,
) -> Result<T, TryAcquireError> {
    block_until(future, deadline).map_or(Err(TryAcquireError::NoPermits), |answer| answer.map_err(Into::into))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Some(output) = block_until(future.as_mut(), None) {
            return output;
        }
    }
}

/// `None` once the deadline has passed without an answer.
fn block_until<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    UNPARK.with(|waker| {
        let mut context = Context::from_waker(waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Some(output);
            }
            // Others may use up or leave behind a wake-up of this thread; the loop looks again in any case.
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    })
}

/// A waker that unparks its thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static UNPARK: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}
