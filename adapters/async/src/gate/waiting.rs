//! [`Waiting`]: a job in the queue, owned by the future or the thread that waits for it.

use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::thread::{self, Thread};

use tollgate::gate::{self, Capacity, Job, JobId, Queued, Retried};
use tollgate::observe::Observer;
use tollgate::slots::Heap;
use tollgate::{Reason, Timestamp};

use super::Gate;
use super::permit::{GatePermit, GateRefused};
use super::shared::push;
use super::waiters::{Place, Told};
use crate::Runtime;

/// What is known of a job since it was submitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) job: JobId,
    pub(super) since: Timestamp,
    pub(super) position: u64,
    pub(super) estimated_wait: Option<Duration>,
    pub(super) attempt: bool,
}

impl Entry {
    pub(super) const fn refused(&self, reason: Reason, waited: Duration) -> GateRefused {
        GateRefused { reason, waited, position: self.position, estimated_wait: self.estimated_wait }
    }
}

/// What became of a job at once.
pub(super) enum Begun<'a, R: Runtime, C: Capacity, O: Observer> {
    Runs(GatePermit<R, C, O>),
    Waits(Waiting<'a, R, C, O>),
}

/// A job in the queue; it leaves it when this is dropped.
pub(super) struct Waiting<'a, R: Runtime, C: Capacity, O: Observer> {
    gate: &'a Gate<R, C, O>,
    entry: Entry,
    /// `None` once it knows.
    place: Option<Place>,
    /// Nothing happened since its waker was left where it will be woken.
    fresh: bool,
}

/// Who waits.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Waiter {
    /// In whose polls the gate's timer can be set.
    Future,
    /// That keeps the time itself.
    Thread,
}

/// The waker of the task that polls.
pub(super) async fn waker() -> Waker {
    poll_fn(|context| Poll::Ready(context.waker().clone())).await
}

/// A waker of this thread.
pub(super) fn thread_waker() -> Waker {
    thread_local! {
        static UNPARK: Waker = Waker::from(Arc::new(Unpark(thread::current())));
    }
    UNPARK.with(Waker::clone)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Gate<R, C, O> {
    /// Puts a job into the queue; whoever waits for it is to be woken by `waker`.
    pub(super) fn submit(
        &self,
        job: Job<C::Weight>,
        who: Waiter,
        waker: Waker,
    ) -> Result<Begun<'_, R, C, O>, GateRefused> {
        self.begin(who, waker, |gate, now| {
            let Queued { job: id, position, estimated_wait, displaced, .. } =
                gate.submit(now, job).map_err(GateRefused::from)?;
            let entry = Entry { job: id, since: now, position, estimated_wait, attempt: job.attempt };
            Ok((entry, displaced))
        })
    }

    /// Puts an attempt back into the queue.
    pub(super) fn resubmit(
        &self,
        entry: Entry,
        ready_at: Timestamp,
        waker: Waker,
    ) -> Result<Begun<'_, R, C, O>, GateRefused> {
        self.begin(Waiter::Future, waker, |gate, now| match gate.retry(now, entry.job, ready_at) {
            Ok(Retried::Queued) => Ok((entry, None)),
            Ok(Retried::Refused(reason)) => Err(entry.refused(reason, now.saturating_since(entry.since))),
            Err(_) => {
                debug_assert!(false, "only attempts are put back");
                Err(entry.refused(Reason::Displaced, Duration::ZERO))
            }
        })
    }

    pub(super) fn start(&self, job: Job<C::Weight>) -> Result<GatePermit<R, C, O>, GateRefused> {
        let started = self
            .shared
            .act(|state, now, _| state.gate.try_start(now, job).map(|id| (id, now)), |_, _, started| started);
        let (id, since) = started?;
        let entry =
            Entry { job: id, since, position: 0, estimated_wait: Some(Duration::ZERO), attempt: job.attempt };
        Ok(GatePermit::new(self.clone(), entry, Duration::ZERO))
    }

    fn begin(
        &self,
        who: Waiter,
        waker: Waker,
        submit: impl FnOnce(&mut gate::Gate<Heap, C, O>, Timestamp) -> Result<(Entry, Option<JobId>), GateRefused>,
    ) -> Result<Begun<'_, R, C, O>, GateRefused> {
        // What is not left there is dropped without the lock.
        let mut waker = Some(waker);
        let (entry, place, told, timer) = self.shared.act(
            |state, now, wakes| {
                let (entry, displaced) = submit(&mut state.gate, now)?;
                if let Some(displaced) = displaced {
                    push(wakes, state.waiters.displace(now, displaced).flatten());
                }
                Ok((entry, state.waiters.join(entry.job, entry.since)))
            },
            |state, now, begun: Result<_, GateRefused>| {
                let (entry, place) = begun?;
                let told = state.waiters.told(place);
                let mut timer = None;
                match told {
                    Told::Nothing => {
                        waker = waker.take().and_then(|waker| state.waiters.leave_waker(place, waker));
                        match who {
                            Waiter::Future => timer = state.tend(now),
                            Waiter::Thread => _ = state.keep_time(now, place),
                        }
                    }
                    Told::Started { .. } | Told::Refused { .. } => drop(state.waiters.leave(place)),
                }
                Ok::<_, GateRefused>((entry, place, told, timer))
            },
        )?;
        match told {
            Told::Nothing => {
                let waiting = Waiting { gate: self, entry, place: Some(place), fresh: timer.is_none() };
                self.shared.set_timer(timer);
                Ok(Begun::Waits(waiting))
            }
            Told::Started { waited, .. } => Ok(Begun::Runs(GatePermit::new(self.clone(), entry, waited))),
            Told::Refused { reason, waited } => Err(entry.refused(reason, waited)),
        }
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Waiting<'_, R, C, O> {
    /// Waits as a future.
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<GatePermit<R, C, O>, GateRefused>> {
        if core::mem::take(&mut self.fresh) {
            return Poll::Pending;
        }
        self.look(Waiter::Future, context.waker())
    }

    /// Waits as a thread, which sleeps meanwhile and looks after the gate when something is due.
    pub(super) fn block(mut self, waker: &Waker) -> Result<GatePermit<R, C, O>, GateRefused> {
        let shared = &self.gate.shared;
        loop {
            let place = self.place;
            let due = shared.act(
                |_, _, _| (),
                |state, now, ()| place.map_or(Timestamp::MAX, |place| state.keep_time(now, place)),
            );
            if let Poll::Ready(told) = self.look(Waiter::Thread, waker) {
                return told;
            }
            thread::park_timeout(due.saturating_since(shared.runtime.now()));
        }
    }

    fn look(&mut self, who: Waiter, waker: &Waker) -> Poll<Result<GatePermit<R, C, O>, GateRefused>> {
        let Some(place) = self.place else { return Poll::Pending };
        let shared = &self.gate.shared;
        // What is in here at the end is dropped without the lock.
        let mut unused = None;
        let mut state = shared.state.lock();
        let mut told = state.waiters.told(place);
        if let Told::Nothing = told {
            if state.waiters.wakes(place, waker) {
                return Poll::Pending;
            }
            drop(state);
            unused = Some(waker.clone());
            let now = shared.runtime.now();
            state = shared.state.lock();
            told = state.waiters.told(place);
            if let Told::Nothing = told {
                let before = unused.and_then(|waker| state.waiters.leave_waker(place, waker));
                let timer = if who == Waiter::Future { state.tend(now) } else { None };
                drop(state);
                drop(before);
                shared.set_timer(timer);
                return Poll::Pending;
            }
        }
        self.place = None;
        let (_, waker_left) = state.waiters.leave(place);
        drop(state);
        drop((waker_left, unused));
        Poll::Ready(match told {
            Told::Started { waited, .. } => Ok(GatePermit::new(self.gate.clone(), self.entry, waited)),
            Told::Refused { reason, waited } => Err(self.entry.refused(reason, waited)),
            Told::Nothing => return Poll::Pending,
        })
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Drop for Waiting<'_, R, C, O> {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        let job = self.entry.job;
        let _waker_dropped_here = self.gate.shared.act(
            |state, now, _| {
                let (told, waker) = state.waiters.leave(place);
                match told {
                    // It waits, or so it was told: whatever it does, it is known.
                    Told::Nothing => drop(state.gate.cancel(now, job)),
                    Told::Started { .. } => state.give_back(now, job),
                    Told::Refused { .. } => {}
                }
                waker
            },
            |_, _, waker| waker,
        );
    }
}
