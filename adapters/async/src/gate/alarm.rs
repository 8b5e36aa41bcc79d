//! The gate's own timer: what is due happens on time, whoever is polled.
//!
//! **Problem.** Jobs expire and become ready as time passes, and starts that nobody fetches are taken back. A background
//! task would have to be spawned, on a runtime that is not known. If one of those who wait kept the time, it would have to
//! be polled; parked in a `select!` it would hold up everybody. If all did, all would be woken for each.
//!
//! **Design.** The gate has one timer of its runtime, whose waker wakes *the gate*: it polls the core, wakes those
//! concerned and sets the timer anew, in the thread that drives the runtime's timers. The timer is only ever made in
//! futures of those who wait, and there: plain threads may know no runtime. So it is set for as long as somebody waits,
//! at most [`pick_up_within`](super::Gate::set_pick_up_within) ahead.
//!
//! The timer is taken out of the state to be made, polled and dropped, which is foreign code, without the lock. What
//! happens meanwhile is seen when it is put back.
//!
//! Somebody else may bring nearer what is due: who leaves from the head of a queue, a completion, a changed limit. They may
//! know no runtime, so one of those who wait is woken to see to the timer, and has thereby [promised](Promise) to. A
//! promise ends when its maker is told or leaves; then another is woken. (A future that is not polled though it was woken
//! is the one that can make such a thing late.) Threads that wait sleep until what is due, and promise that.
//!
//! **Invariants.** **I1** while somebody waits, the timer is set for the instant at which something is [due](State::due) or
//! an earlier one, or is in somebody's hands who will see to that, or is promised to be; **I2** it is in the state or in
//! the hands of one.

use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::Context;
use std::panic::catch_unwind;
use std::sync::{Arc, Weak};
use std::task::Wake;

use tollgate::Timestamp;
use tollgate::gate::{Capacity, JobId};
use tollgate::observe::Observer;

use super::shared::{Shared, State, push};
use super::waiters::Place;
use crate::Runtime;
use crate::wait::Wakes;

/// The timer, while it is in nobody's hands.
pub(super) struct Timer<S> {
    sleep: Option<Pin<Box<Option<S>>>>,
    /// When it goes off; [`Timestamp::MAX`] while it is not set.
    at: Timestamp,
    /// It went off.
    rang: bool,
}

impl<S> Timer<S> {
    pub(super) fn new() -> Self {
        Self { sleep: Some(Box::pin(None)), at: Timestamp::MAX, rang: false }
    }
}

/// One of those who wait will look by then, or sooner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    by: Place,
    job: JobId,
    at: Timestamp,
}

/// The timer in the hands of one, who puts it back.
pub(super) struct Tending<'a, R: Runtime, C: Capacity, O: Observer> {
    shared: &'a Shared<R, C, O>,
    sleep: Option<Pin<Box<Option<R::Sleep>>>>,
    at: Timestamp,
}

/// Wakes a gate, if it is still there.
pub(super) struct Alarm<R: Runtime, C: Capacity, O: Observer>(pub(super) Weak<Shared<R, C, O>>);

impl<R: Runtime, C, O> Wake for Alarm<R, C, O>
where
    C: Capacity<Weight: Send, Grant: Send> + Send + 'static,
    O: Observer + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.ring();
        }
    }
}

impl<R: Runtime, C: Capacity, O: Observer> State<R, C, O> {
    /// Takes the timer if it has to be set for an earlier instant. To be called whenever a future begins to wait, or goes on.
    pub(super) fn tend(&mut self, now: Timestamp) -> Option<Pin<Box<Option<R::Sleep>>>> {
        self.promise = None;
        if self.due(now) < self.timer.at { self.timer.sleep.take() } else { None }
    }

    /// A thread that waits will look when something is due: when that is.
    pub(super) fn keep_time(&mut self, now: Timestamp, place: Place) -> Timestamp {
        let due = self.due(now);
        if due < self.looked_at(now) {
            self.promised(place, due);
        }
        due
    }

    /// Wakes one of those who wait, if something is due before anybody will look.
    pub(super) fn call(&mut self, now: Timestamp, wakes: &mut Wakes) {
        if self.waiters.waiting() == 0 || self.timer.sleep.is_none() {
            return;
        }
        let due = self.due(now);
        if due >= self.looked_at(now) {
            return;
        }
        if let Some((waker, place)) = self.waiters.any_waker(0) {
            self.promised(place, due);
            push(wakes, Some(waker));
        }
    }

    fn promised(&mut self, by: Place, at: Timestamp) {
        self.promise = self.waiters.waits(by).map(|job| Promise { by, job, at });
    }

    /// When somebody will look at the latest.
    fn looked_at(&self, now: Timestamp) -> Timestamp {
        let stands =
            |promise: &Promise| promise.at > now && self.waiters.waits(promise.by) == Some(promise.job);
        self.promise.filter(stands).map_or(self.timer.at, |promise| promise.at.min(self.timer.at))
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Shared<R, C, O> {
    /// Sets a timer that was taken to be set.
    pub(super) fn set_timer(&self, sleep: Option<Pin<Box<Option<R::Sleep>>>>) {
        if let Some(sleep) = sleep {
            let at = self.state.lock().timer.at;
            Tending { shared: self, sleep: Some(sleep), at }.run();
        }
    }

    /// The timer went off.
    fn ring(&self) {
        let mut state = self.state.lock();
        state.timer.rang = true;
        let (sleep, at) = (state.timer.sleep.take(), state.timer.at);
        drop(state);
        let Some(sleep) = sleep else { return };
        let tending = Tending { shared: self, sleep: Some(sleep), at };
        if catch_unwind(AssertUnwindSafe(|| tending.run())).is_err() {
            // No timer can be made here, of a runtime that is being shut down perhaps: whoever waits makes one where
            // they are.
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        let (mut wakes, mut from, mut more) = (Wakes::new(), 0, true);
        while more {
            let mut state = self.state.lock();
            while !wakes.is_full() && more {
                match state.waiters.any_waker(from) {
                    Some((waker, place)) => {
                        push(&mut wakes, Some(waker));
                        from = place + 1;
                    }
                    None => more = false,
                }
            }
            drop(state);
            wakes.wake();
        }
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Tending<'_, R, C, O> {
    /// Looks at the timer, does what is due, and sets it for what is due next.
    fn run(mut self) {
        loop {
            self.poll();
            let Some(due) = self.put_back() else { return };
            if due < self.at {
                let sleep = self.shared.runtime.sleep_until(due);
                if let Some(timer) = &mut self.sleep {
                    timer.set(Some(sleep));
                }
                self.at = due;
            }
        }
    }

    fn poll(&mut self) {
        let Some(timer) = &mut self.sleep else { return };
        let Some(sleep) = timer.as_mut().as_pin_mut() else { return };
        if sleep.poll(&mut Context::from_waker(&self.shared.alarm)).is_ready() {
            timer.set(None);
            self.at = Timestamp::MAX;
        }
    }

    /// Does what is due, and puts the timer back if it is set for what is due next; else tells when that is.
    fn put_back(&mut self) -> Option<Timestamp> {
        let (shared, at) = (self.shared, self.at);
        shared.act(
            |_, _, _| (),
            |state, now, ()| {
                let due = state.due(now);
                if core::mem::take(&mut state.timer.rang) || due < at {
                    return Some(due);
                }
                state.timer.at = at;
                state.timer.sleep = self.sleep.take();
                None
            },
        )
    }
}

impl<R: Runtime, C: Capacity, O: Observer> Drop for Tending<'_, R, C, O> {
    fn drop(&mut self) {
        // Something panicked.
        if let Some(sleep) = self.sleep.take() {
            let mut state = self.shared.state.lock();
            state.timer.at = self.at;
            state.timer.sleep = Some(sleep);
        }
    }
}
