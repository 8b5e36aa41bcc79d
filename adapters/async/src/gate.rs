//! [`Gate`]: a bounded, fair queue of many tenants that tasks and threads wait in.
//!
//! **Problem.** The core's [gate](tollgate::gate) decides who runs now, who waits and who is refused, for jobs of many tenants
//! that share a capacity. It is pulled: whoever drives it has to poll it after each change and at each deadline, and to
//! tell those concerned. With tasks that come and go, are cancelled, or are never polled again, that is where jobs are lost,
//! started twice, or hold their capacity for ever.
//!
//! **Design.** The gate stands behind a mutex that is held for one change and what follows from it:
//!
//! * whoever changes it polls it once, and wakes all that start or are refused, in batches, after the lock;
//! * the gate has a timer of its own, whose waker wakes the gate: what expires or becomes ready does so on time, though
//!   nobody but waiting futures exist, and though none of these is polled (how, and the one exception, is told in `alarm`);
//! * each future has a place that tells it what became of its job (why is told in `waiters`);
//! * [`GatePermit`] stands for a job that runs: it is completed once, at the latest when it is dropped.
//!
//! **Never polled again.** A start that its future does not fetch within [`pick_up_within`](Gate::set_pick_up_within) of it is
//! taken back, as if the job had not run; the future is refused with `DeadlineExceeded`, should it ever be polled. So
//! what a forgotten future keeps from others is bounded by that time, to the precision of the runtime's timer.
//!
//! **Work** of each call: that of the core's call and of a poll for each job that starts or ends by it, under the mutex.
//! **Memory** that of the core, 4 bytes a job, and 120 bytes for each of the most that ever waited at once; nothing is allocated
//! below that mark.

mod alarm;
mod control;
mod permit;
mod shared;
mod waiters;
mod waiting;

use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};
use core::time::Duration;
use std::sync::Arc;

use tollgate::observe::{NoObserver, Observer};
use tollgate::slots::Heap;
use tollgate::{ConfigError, Timestamp};

pub use tollgate::gate::{
    Budget, Capacity, ClassId, CloseMode, CoDel, Completion, Cost, CostClass, Counts, Job, JobId, Order,
    Overweight, Permits, Room, Settings, Snapshot, TenantKey, TenantSnapshot,
};

use self::alarm::{Alarm, Timer};
pub use self::permit::{GatePermit, GateRefused};
use self::shared::{Shared, State};
use self::waiters::Waiters;
use self::waiting::{Begun, Waiter, Waiting};
use crate::Runtime;
use crate::sync::Mutex;

/// A start is taken back when it was not fetched for so long, unless it is said otherwise: long for a task that is about
/// to be polled, short for a capacity.
const PICK_UP_WITHIN: Duration = Duration::from_secs(5);

/// Bounded queues of many tenants in front of a capacity that they share; see the [module](self). Clones are the same gate.
///
/// # Fairness
/// That of the core's [gate](tollgate::gate): by cost or by turns across tenants, first come, first served within one. A
/// job takes its place when its future is first polled.
///
/// # Cancellation
/// Dropping a future that waits takes its job out of the queue. If it was started already, it is given back as
/// [`NotStarted`](Completion::NotStarted): its tenant is not charged. Whoever can start then is started at once.
///
/// ```
/// # use tollgate_async::doc::{Sleepless, block_on};
/// use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
///
/// # block_on(async {
/// // Four at once. `Sleepless` stands for a runtime here.
/// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(4))?;
/// let permit = gate.enter(Job::new(42)).await?;
/// println!("waited {:?}, behind {} others", permit.waited(), permit.position());
/// // … do the work …
/// permit.complete(Completion::costing(3)); // it cost more than the 1 it was charged: settled in its tenant's next turns
/// assert_eq!(gate.snapshot().counts.completed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Gate<R: Runtime, C: Capacity = Budget, O: Observer = NoObserver> {
    shared: Arc<Shared<R, C, O>>,
}

impl<R, C> Gate<R, C>
where
    R: Runtime + Default,
    C: Capacity<Weight: Send, Grant: Send> + Send + 'static,
{
    /// An open gate.
    ///
    /// # Errors
    /// Those of [`tollgate::gate::Gate::new`].
    pub fn new(settings: Settings, capacity: C) -> Result<Self, ConfigError> {
        Self::with_observer(R::default(), settings, capacity, NoObserver)
    }
}

impl<R, C, O> Gate<R, C, O>
where
    R: Runtime,
    C: Capacity<Weight: Send, Grant: Send> + Send + 'static,
    O: Observer + Send + 'static,
{
    /// An open gate on a runtime, telling `observer` what happens. Capacity and observer are called with the gate locked:
    /// they must not call it, nor panic.
    ///
    /// # Errors
    /// Those of [`tollgate::gate::Gate::new`].
    ///
    /// # Examples
    /// ```
    /// use tollgate::observe::NoObserver;
    /// use tollgate_async::doc::Sleepless;
    /// use tollgate_async::gate::{Budget, Gate, Settings};
    ///
    /// // Slots and memory, taken together or not at all.
    /// let both = (Budget::new(8), Budget::new(1 << 30));
    /// let gate = Gate::with_observer(Sleepless::default(), Settings::default(), both, NoObserver)?;
    /// assert_eq!(gate.with_capacity(|(slots, _)| slots.limit()), 8);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn with_observer(
        runtime: R,
        settings: Settings,
        capacity: C,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let gate = tollgate::gate::Gate::<Heap, C, O>::with_observer(settings, capacity, observer)?;
        let jobs = u64::from(settings.max_queued) + u64::from(settings.max_active);
        let state = State {
            gate,
            waiters: Waiters::new(usize::try_from(jobs).unwrap_or(0)),
            timer: Timer::new(),
            promise: None,
            pick_up_within: Some(PICK_UP_WITHIN),
            draining: Vec::new(),
        };
        let shared = Arc::new_cyclic(|shared| Shared {
            runtime,
            state: Mutex::new(state),
            alarm: Waker::from(Arc::new(Alarm(shared.clone()))),
        });
        Ok(Self { shared })
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Gate<R, C, O> {
    /// Waits until a job runs.
    ///
    /// # Errors
    /// At once, what [`submit`](tollgate::gate::Gate::submit) says; while it waits: `DeadlineExceeded`, `QueueDelay`,
    /// `Displaced`, `TenantRemoved`, `Closed`, and what the capacity says can never be.
    ///
    /// # Panics
    /// Where the runtime's timer cannot be used: on tokio, outside of a runtime with time. Then the job is out again.
    ///
    /// # Cancellation
    /// Safe; see the [type](Self).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::{Sleepless, block_on};
    /// # use core::time::Duration;
    /// use tollgate_async::Reason;
    /// use tollgate_async::gate::{Budget, Gate, Job, Settings};
    ///
    /// # block_on(async {
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(1))?;
    /// let running = gate.enter(Job::new(1)).await?;
    /// let soon = gate.now().saturating_add(Duration::from_millis(5));
    /// let late = gate.enter(Job { deadline: Some(soon), ..Job::new(2) }).await.unwrap_err();
    /// assert_eq!(late.reason, Reason::DeadlineExceeded);
    /// # drop(running);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn enter(
        &self,
        job: Job<C::Weight>,
    ) -> impl Future<Output = Result<GatePermit<R, C, O>, GateRefused>> {
        // By hand, since many of these wait at once, and one that the compiler makes is more than twice as large.
        let (mut job, mut waiting) = (Some(job), None::<Waiting<'_, R, C, O>>);
        poll_fn(move |context| {
            if let Some(job) = job.take() {
                match self.submit(job, Waiter::Future, context.waker().clone()) {
                    Ok(Begun::Runs(permit)) => return Poll::Ready(Ok(permit)),
                    Ok(Begun::Waits(begun)) => waiting = Some(begun),
                    Err(refused) => return Poll::Ready(Err(refused)),
                }
            }
            waiting.as_mut().map_or(Poll::Pending, |waiting| waiting.poll(context))
        })
    }

    /// Blocks the thread until a job runs. In an async function it blocks the thread that the runtime needs.
    ///
    /// The thread keeps the time itself, by the gate's clock: it needs no runtime.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use std::thread;
    /// use tollgate_async::gate::{Budget, Completion, Gate, Job, Settings};
    ///
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(2))?;
    /// thread::scope(|scope| {
    ///     for tenant in 0..8 {
    ///         let gate = &gate;
    ///         scope.spawn(move || gate.enter_blocking(Job::new(tenant)).unwrap().complete(Completion::DONE));
    ///     }
    /// });
    /// assert_eq!(gate.snapshot().counts.completed, 8);
    /// # Ok::<(), tollgate_async::ConfigError>(())
    /// ```
    pub fn enter_blocking(&self, job: Job<C::Weight>) -> Result<GatePermit<R, C, O>, GateRefused> {
        let waker = waiting::thread_waker();
        match self.submit(job, Waiter::Thread, waker.clone())? {
            Begun::Runs(permit) => Ok(permit),
            Begun::Waits(waiting) => waiting.block(&waker),
        }
    }

    /// Starts a job now, past the queue's bounds, if there is room and nobody who is ready waits.
    ///
    /// # Errors
    /// What [`try_start`](tollgate::gate::Gate::try_start) says; `NoPermits` if it cannot start now.
    ///
    /// # Examples
    /// ```
    /// # use tollgate_async::doc::Sleepless;
    /// use tollgate_async::Reason;
    /// use tollgate_async::gate::{Budget, Gate, Job, Settings};
    ///
    /// let gate = Gate::<Sleepless>::new(Settings::default(), Budget::new(1))?;
    /// let running = gate.try_enter(Job::new(1))?;
    /// assert_eq!(gate.try_enter(Job::new(2)).unwrap_err().reason, Reason::NoPermits);
    /// drop(running);
    /// assert!(gate.try_enter(Job::new(2)).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_enter(&self, job: Job<C::Weight>) -> Result<GatePermit<R, C, O>, GateRefused> {
        self.start(job)
    }

    /// The time, by the clock of its runtime: what deadlines are counted in.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.runtime.now()
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Clone for Gate<R, C, O> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<R: Runtime, C: Capacity, O: Observer> fmt::Debug for Gate<R, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.state.lock().gate.fmt(f)
    }
}
