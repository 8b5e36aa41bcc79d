//! What the examples of this crate's documentation run on; not for use.

use core::future::{Future, Ready, ready};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, PoisonError};

use tollgate::Timestamp;

use crate::Runtime;

/// A runtime whose time passes only by sleeping, at once.
#[derive(Clone, Debug, Default)]
pub struct Sleepless(Arc<Mutex<Timestamp>>);

impl Runtime for Sleepless {
    type Sleep = Ready<()>;

    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep_until(&self, at: Timestamp) -> Ready<()> {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = at.max(*now);
        ready(())
    }
}

/// Runs a future that never has to wait for anybody.
///
/// # Panics
/// If it has to.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("an example waits for somebody else"),
    }
}
