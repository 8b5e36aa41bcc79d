//! [`GatePermit`]: a job that runs, until it has ended; [`GateRefused`]: one that never will.

use core::fmt;
use core::future::poll_fn;
use core::time::Duration;

use tollgate::adapt::Outcome;
use tollgate::gate::{Capacity, Completion, JobId, Rejected};
use tollgate::observe::{NoObserver, Observer};
use tollgate::{Reason, Stale};

use super::waiting::{self, Begun, Entry};
use super::{Budget, Gate};
use crate::Runtime;

/// A job that runs. Say how it [ended](Self::complete).
///
/// **Dropped**, it ended as if it had run, cost what it was charged, and said nothing about load: what a job that was
/// cancelled or panicked part-way has to say. So nothing is free by being cancelled. What definitely never ran is completed as
/// [`NotStarted`](Completion::NotStarted).
///
/// Completing and dropping block on nothing but the gate's mutex, and start whoever can start then.
#[must_use = "dropping a permit ends its job"]
pub struct GatePermit<R: Runtime, C: Capacity = Budget, O: Observer = NoObserver> {
    gate: Gate<R, C, O>,
    entry: Entry,
    waited: Duration,
    running: bool,
}

impl<R: Runtime, C: Capacity, O: Observer> GatePermit<R, C, O> {
    pub(super) const fn new(gate: Gate<R, C, O>, entry: Entry, waited: Duration) -> Self {
        Self { gate, entry, waited, running: true }
    }

    /// The job has really ended. O(1), or O(log n), and a poll for each job that starts by it.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
    ///
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(2))?;
    /// gate.try_enter(Job::new(1))?.complete(Completion::DONE);
    /// gate.try_enter(Job::new(1))?.complete(Completion::NotStarted);
    /// let counts = gate.snapshot().counts;
    /// assert_eq!((counts.completed, counts.not_started), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn complete(mut self, completion: Completion) {
        self.end(completion);
    }

    /// An [attempt](tollgate::gate::Job::attempt) has passed: it runs from now on, and its place in the queue is free. O(1).
    ///
    /// # Errors
    /// `Stale` if it is no attempt, or was confirmed already. Nothing is changed.
    pub fn confirm(&mut self) -> Result<(), Stale> {
        let job = self.entry.job;
        self.gate.shared.act(|state, now, _| state.gate.confirm(now, job), |_, _, confirmed| confirmed)?;
        self.entry.attempt = false;
        Ok(())
    }

    /// An attempt was told "not yet": goes back to the head of its tenant's queue, and waits until it runs again, not before
    /// `ready_at` and not past its deadline. It is not charged for this one, unless it may try again at once. A permit
    /// that is no attempt, or was confirmed, stays as it is, and is handed back at once.
    ///
    /// # Errors
    /// As [`enter`](Gate::enter); `WaitExceedsBudget` at once if it cannot wait until `ready_at`.
    ///
    /// # Cancellation
    /// As [`enter`](Gate::enter). Dropped before its first poll, the permit is dropped.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// use core::time::Duration;
    /// use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
    ///
    /// # block_on(async {
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(2))?;
    /// # gate.set_pick_up_within(None); // the clock of this example jumps ahead
    /// let asking = gate.enter(Job { attempt: true, ..Job::new(1) }).await?;
    /// // … somebody else says: not before 20 ms from now …
    /// let then = gate.now().saturating_add(Duration::from_millis(20));
    /// let mut asking = asking.retry(then).await?;
    /// assert!(gate.now() >= then);
    /// // … and now: yes.
    /// asking.confirm()?;
    /// asking.complete(Completion::DONE);
    /// assert_eq!(gate.snapshot().counts.retried, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn retry(mut self, ready_at: tollgate::Timestamp) -> Result<Self, GateRefused> {
        let waker = waiting::waker().await;
        if !self.entry.attempt {
            return Ok(self);
        }
        // From here on the job is in the queue, or over.
        self.running = false;
        match self.gate.resubmit(self.entry, ready_at, waker)? {
            Begun::Runs(permit) => Ok(permit),
            Begun::Waits(mut waiting) => poll_fn(|context| waiting.poll(context)).await,
        }
    }

    /// The gate it entered.
    #[must_use]
    pub const fn gate(&self) -> &Gate<R, C, O> {
        &self.gate
    }

    /// The job's name, for logs.
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.entry.job
    }

    /// How long it waited, earlier attempts included.
    #[must_use]
    pub const fn waited(&self) -> Duration {
        self.waited
    }

    /// How many jobs were expected to start before it when it was submitted.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.entry.position
    }

    /// How long it was expected to wait when it was submitted; `None` if nothing was known about service times.
    #[must_use]
    pub const fn estimated_wait(&self) -> Option<Duration> {
        self.entry.estimated_wait
    }

    fn end(&mut self, completion: Completion) {
        if core::mem::take(&mut self.running) {
            let job = self.entry.job;
            let ended = self
                .gate
                .shared
                .act(|state, now, _| state.gate.complete(now, job, completion), |_, _, ended| ended);
            debug_assert!(ended.is_ok(), "a permit's job runs until the permit ends it");
        }
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Drop for GatePermit<R, C, O> {
    fn drop(&mut self) {
        self.end(Completion::Ran { outcome: Outcome::Ignored, cost: None });
    }
}

impl<R: Runtime, C: Capacity, O: Observer> fmt::Debug for GatePermit<R, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatePermit")
            .field("job", &self.entry.job)
            .field("waited", &self.waited)
            .field("position", &self.entry.position)
            .finish_non_exhaustive()
    }
}

/// A job that was refused, at once or after it had waited. Nothing of it is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct GateRefused {
    /// Why.
    pub reason: Reason,
    /// How long it waited; zero if it was refused at once.
    pub waited: Duration,
    /// Jobs that were, or would have been, expected to start before it when it was submitted.
    pub position: u64,
    /// How long it was, or would have been, expected to wait; `None` if nothing was known about service times.
    pub estimated_wait: Option<Duration>,
}

impl From<Rejected> for GateRefused {
    fn from(rejected: Rejected) -> Self {
        let Rejected { reason, position, estimated_wait, .. } = rejected;
        Self { reason, waited: Duration::ZERO, position, estimated_wait }
    }
}

impl fmt::Display for GateRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused after {:?}: {}; {} jobs were ahead", self.waited, self.reason, self.position)?;
        match self.estimated_wait {
            Some(wait) => write!(f, ", estimated wait {wait:?}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for GateRefused {}
