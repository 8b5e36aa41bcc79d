//! [`Shared`]: the core's gate behind a mutex, and who waits for what.

use core::task::Waker;
use core::time::Duration;

use tollgate::Timestamp;
use tollgate::gate::{self, Capacity, Completion, GateEvent, JobId};
use tollgate::observe::Observer;
use tollgate::slots::Heap;

use super::alarm::{Promise, Timer};
use super::waiters::{Told, Waiters};
use crate::Runtime;
use crate::sync::Mutex;
use crate::wait::Wakes;

pub(super) struct Shared<R: Runtime, C: Capacity, O: Observer> {
    pub(super) runtime: R,
    pub(super) state: Mutex<State<R, C, O>>,
    /// Wakes the gate itself.
    pub(super) alarm: Waker,
}

/// What the mutex guards.
pub(super) struct State<R: Runtime, C: Capacity, O: Observer> {
    pub(super) gate: gate::Gate<Heap, C, O>,
    pub(super) waiters: Waiters,
    pub(super) timer: Timer<R::Sleep>,
    pub(super) promise: Option<Promise>,
    /// A start that is not fetched so long after it was made is taken back.
    pub(super) pick_up_within: Option<Duration>,
    /// Who waits for the last job to end.
    pub(super) draining: Vec<Waker>,
}

impl<R: Runtime, C: Capacity, O: Observer> Shared<R, C, O> {
    /// Does something to the gate; then tells everybody whom the gate has something to say to; then looks what came of it,
    /// all at one instant. The lock is free while anybody is woken, and whoever is woken by one change is woken in batches.
    #[inline]
    pub(super) fn act<A, T>(
        &self,
        change: impl FnOnce(&mut State<R, C, O>, Timestamp, &mut Wakes) -> A,
        look: impl FnOnce(&mut State<R, C, O>, Timestamp, A) -> T,
    ) -> T {
        let now = self.runtime.now();
        let mut wakes = Wakes::new();
        let mut state = self.state.lock();
        let changed = change(&mut state, now, &mut wakes);
        while state.settle(now, &mut wakes) {
            drop(state);
            wakes.wake();
            state = self.state.lock();
        }
        let looked = look(&mut state, now, changed);
        if wakes.is_full() {
            drop(state);
            wakes.wake();
            state = self.state.lock();
        }
        state.call(now, &mut wakes);
        drop(state);
        wakes.wake();
        looked
    }
}

impl<R: Runtime, C: Capacity, O: Observer> State<R, C, O> {
    /// Takes back what was not fetched, and polls the gate until it has nothing to say, or the batch is full: then there
    /// may be more.
    fn settle(&mut self, now: Timestamp, wakes: &mut Wakes) -> bool {
        self.take_back(now);
        while !wakes.is_full() {
            let Some(event) = self.gate.poll(now) else { return self.tell_drained(wakes) };
            let waker = match event {
                GateEvent::Start { job, waited, .. } => {
                    let waker = self.waiters.tell(job, Told::Started { at: now, waited });
                    if waker.is_none() {
                        debug_assert!(false, "whoever leaves cancels their job");
                        self.give_back(now, job);
                    }
                    waker
                }
                GateEvent::Refuse { job, reason, waited, .. } => {
                    self.waiters.tell(job, Told::Refused { reason, waited })
                }
            };
            push(wakes, waker.flatten());
        }
        true
    }

    /// A job that was started and will not run.
    pub(super) fn give_back(&mut self, now: Timestamp, job: JobId) {
        let given_back = self.gate.complete(now, job, Completion::NotStarted);
        debug_assert!(given_back.is_ok(), "it was started and is not over");
    }

    /// When the gate has to be looked at again if nobody calls. A start that is not fetched is seen by then, so that the
    /// instant at which it is to be taken back is known in time.
    pub(super) fn due(&self, now: Timestamp) -> Timestamp {
        let waits = self.waiters.waiting() > 0;
        let seen = self.pick_up_within.filter(|_| waits).map(|within| now.saturating_add(within));
        let expires = if waits { self.gate.poll_timeout() } else { None };
        [seen, expires, self.taken_back_at()].into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    fn taken_back_at(&self) -> Option<Timestamp> {
        let (_, _, at) = self.waiters.oldest_start()?;
        Some(at.saturating_add(self.pick_up_within?))
    }

    fn take_back(&mut self, now: Timestamp) {
        while self.taken_back_at().is_some_and(|at| at <= now) {
            let Some((place, job, _)) = self.waiters.oldest_start() else { return };
            self.waiters.take_back(place, now);
            self.give_back(now, job);
        }
    }

    /// Whether the batch was too small.
    fn tell_drained(&mut self, wakes: &mut Wakes) -> bool {
        if self.draining.is_empty() || !self.gate.is_drained() {
            return false;
        }
        while let Some(waker) = if wakes.is_full() { None } else { self.draining.pop() } {
            push(wakes, Some(waker));
        }
        !self.draining.is_empty()
    }
}

/// The batch has room: it was asked.
pub(super) fn push(wakes: &mut Wakes, waker: Option<Waker>) {
    if let Some(waker) = waker {
        let pushed = wakes.push(waker);
        debug_assert!(pushed.is_ok(), "a batch is looked at before anybody is put into it");
    }
}
