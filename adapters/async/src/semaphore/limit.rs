//! How many permits there are, and changing that.

use tollgate::ConfigError;
use tollgate::permit::AtomicPermits;

use super::{Semaphore, count, narrow};

impl Semaphore {
    /// How many permits could be taken now: 0 while others wait.
    #[must_use]
    pub fn available_permits(&self) -> usize {
        if self.permits.has_waiters() {
            return 0;
        }
        self.limit().saturating_sub(self.in_use())
    }

    /// The limit in force.
    #[must_use]
    pub fn limit(&self) -> usize {
        count(self.permits.limit())
    }

    /// How many permits are held, or forgotten. Above the limit for a while after that was lowered.
    #[must_use]
    pub fn in_use(&self) -> usize {
        count(self.permits.in_use())
    }

    /// Sets the limit and returns the one before. It takes effect at once, however many are in use or waiting: after this
    /// returns, nothing is granted until `in_use` has come below it. What was granted stays granted. 0 is a pause.
    ///
    /// Those in line who ask for more than a lowered limit are refused when they come to the front. O(waiters granted).
    ///
    /// ```
    /// use tollgate_async::Semaphore;
    ///
    /// let semaphore = Semaphore::new(4);
    /// let held = semaphore.try_acquire_many(4)?;
    /// assert_eq!(semaphore.set_limit(1), Ok(4));
    /// assert_eq!((semaphore.in_use(), semaphore.available_permits()), (4, 0));
    /// drop(held);
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), tollgate_async::TryAcquireError>(())
    /// ```
    ///
    /// # Errors
    /// More than [`MAX_PERMITS`](Self::MAX_PERMITS); nothing is changed.
    pub fn set_limit(&self, limit: usize) -> Result<usize, ConfigError> {
        let queue = self.queue.lock();
        let before = self.permits.set_limit(u32::try_from(limit).unwrap_or(u32::MAX))?;
        self.serve(queue);
        Ok(count(before))
    }

    /// Adds `n` permits: first those that were forgotten come back, then the limit is raised by the rest.
    ///
    /// # Panics
    /// The limit would be more than [`MAX_PERMITS`](Self::MAX_PERMITS); nothing is changed.
    pub fn add_permits(&self, n: usize) {
        let mut queue = self.queue.lock();
        let back = n.min(count(queue.forgotten));
        let limit = self.limit().saturating_add(n - back);
        if limit > Self::MAX_PERMITS {
            drop(queue);
            panic!("adding {n} permits would raise the limit above MAX_PERMITS ({})", Self::MAX_PERMITS);
        }
        let back = narrow(back);
        queue.forgotten -= back;
        drop(AtomicPermits::adopt(&self.permits, back));
        // A limit that is at most MAX_PERMITS is taken.
        let _before = self.permits.set_limit(narrow(limit));
        self.serve(queue);
    }

    /// Takes up to `n` of the free permits away, and answers how many: they are in use, by nobody, until
    /// [`add_permits`](Self::add_permits) brings them back. 0 while others wait, and once closed.
    ///
    /// To lower the limit under load, use [`set_limit`](Self::set_limit).
    pub fn forget_permits(&self, n: usize) -> usize {
        loop {
            let some = self.permits.available().min(narrow(n));
            if some == 0 {
                return 0;
            }
            match self.permits.try_acquire_many(some) {
                Ok(permit) => {
                    permit.forget();
                    self.note_forgotten(some);
                    return count(some);
                }
                // Others were faster: there may be fewer.
                Err(_) => continue,
            }
        }
    }

    pub(super) fn note_forgotten(&self, weight: u32) {
        self.queue.lock().forgotten += weight;
    }
}
