//! Waiting, for futures and for threads: look, register, sleep until told to look again.
//!
//! What is waited for is a closure that *looks*: with a waker to leave behind, and an instant that has surely come. It
//! answers that it is over, or until when it need not look again unless it is woken. So there is one way to decide and
//! two to wait, and pending always means a timer or a waker that is registered.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use std::thread::Thread;

use tollgate::Timestamp;

use crate::Runtime;

/// What was seen.
pub(crate) enum Look<T> {
    /// It is over.
    Over(T),
    /// Not yet: look again when woken, or at this instant.
    Until(Option<Timestamp>),
}

/// Waits as a future. Dropping it at any point is up to what `look` owns.
pub(crate) async fn wait<R: Runtime, T>(
    runtime: &R,
    mut look: impl FnMut(&Waker, Timestamp) -> Look<T>,
) -> T {
    let first = poll_fn(|context| Poll::Ready(look(context.waker(), Timestamp::ZERO))).await;
    let mut until = match first {
        Look::Over(value) => return value,
        Look::Until(until) => until,
    };
    loop {
        let mut sleep = pin!(until.map(|at| runtime.sleep_until(at)));
        let mut looked = true;
        let seen = poll_fn(|context| {
            // Whoever polls again may have been woken for any reason, and may come with another waker.
            if !looked {
                match look(context.waker(), Timestamp::ZERO) {
                    Look::Until(same) if same == until => {}
                    seen => return Poll::Ready(seen),
                }
            }
            looked = false;
            let Some(sleep) = sleep.as_mut().as_pin_mut() else { return Poll::Pending };
            // A sleep that is over says that its instant has come, however coarse the clock is.
            sleep.poll(context).map(|()| look(context.waker(), until.unwrap_or(Timestamp::ZERO)))
        });
        match seen.await {
            Look::Over(value) => return value,
            Look::Until(at) => until = at,
        }
    }
}

/// Waits as a thread, which sleeps meanwhile.
pub(crate) fn block<R: Runtime, T>(runtime: &R, mut look: impl FnMut(&Waker, Timestamp) -> Look<T>) -> T {
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    loop {
        match look(&waker, Timestamp::ZERO) {
            Look::Over(value) => return value,
            Look::Until(None) => std::thread::park(),
            Look::Until(Some(at)) => std::thread::park_timeout(at.saturating_since(runtime.now())),
        }
    }
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}
