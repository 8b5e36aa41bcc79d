//! [`LimiterPermit`]: a request that was let in, until it has ended.

use core::fmt;

use tollgate::adapt::{Estimator, Outcome, Ticket};

use super::Limiter;
use crate::Runtime;

/// A request that was let in. Say how it ended; dropping it says nothing, which is what a request that was cancelled, or
/// failed for its own reasons, has to say about load. Never blocks, but for the limiter's mutex; wakes who fits now.
///
/// Its round-trip time counts from the instant at which it was granted.
///
/// ```
/// # use tollgate_async::doc::Sleepless;
/// use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
/// use tollgate_async::Limiter;
///
/// let aimd = Aimd::new(AimdSettings::default())?;
/// let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
/// let permit = limiter.try_acquire(None)?;
/// permit.success();
/// drop(limiter.try_acquire(None)?);
/// assert_eq!(limiter.stats().outcomes, [1, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping a permit gives it back"]
pub struct LimiterPermit<E: Estimator, R: Runtime> {
    limiter: Limiter<E, R>,
    ticket: Option<Ticket>,
}

impl<E: Estimator, R: Runtime> LimiterPermit<E, R> {
    pub(super) const fn new(limiter: Limiter<E, R>, ticket: Ticket) -> Self {
        Self { limiter, ticket: Some(ticket) }
    }

    /// It did its work: its time is a measurement.
    ///
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// limiter.try_acquire(None)?.success();
    /// assert_eq!(limiter.stats().outcomes, [1, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn success(mut self) {
        self.end(Outcome::Success);
    }

    /// It was lost to overload: a timeout, or a refusal by the server.
    ///
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// let before = limiter.limit();
    /// limiter.try_acquire(None)?.dropped();
    /// assert!(limiter.limit() < before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dropped(mut self) {
        self.end(Outcome::Dropped);
    }

    /// It says nothing about load: cancelled, or failed for its own reasons. Dropping it says the same.
    ///
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// # use tollgate_async::adapt::{Aimd, AimdSettings, LimiterSettings};
    /// # use tollgate_async::Limiter;
    /// # let aimd = Aimd::new(AimdSettings::default())?;
    /// # let limiter = Limiter::<_, Sleepless>::new(aimd, LimiterSettings::netflix())?;
    /// limiter.try_acquire(None)?.ignore();
    /// assert_eq!(limiter.stats().outcomes, [0, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ignore(mut self) {
        self.end(Outcome::Ignored);
    }

    fn end(&mut self, outcome: Outcome) {
        if let Some(ticket) = self.ticket.take() {
            self.limiter.complete(ticket, outcome);
        }
    }
}

impl<E: Estimator, R: Runtime> Drop for LimiterPermit<E, R> {
    fn drop(&mut self) {
        self.end(Outcome::Ignored);
    }
}

impl<E: Estimator, R: Runtime> fmt::Debug for LimiterPermit<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimiterPermit").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
