//! Futures polled by hand, where a runtime would only add its own cost.

use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

/// The output of a future that has nothing to wait for.
///
/// Many cases call it; inlined in each, it adds to none of them more than it has to.
#[inline(always)]
pub(crate) fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits although a permit is free"),
    }
}

/// What a future is ready with, if it is.
#[inline(always)]
pub(crate) fn ready<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
