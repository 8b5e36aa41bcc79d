//! [`Harness`]: how a test runs tasks on a runtime.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tollgate_async::Runtime;

/// A runtime, for tests.
pub trait Harness {
    /// Its clock and timer.
    type Runtime: Runtime + Default;

    /// Runs a future to its end.
    fn block_on<F: Future>(future: F) -> F::Output;

    /// Runs a future beside others.
    fn spawn(future: impl Future<Output = ()> + Send + 'static);

    /// Waits so long.
    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        let runtime = Self::Runtime::default();
        async move { runtime.sleep_until(runtime.now().saturating_add(duration)).await }
    }
}

/// Starts a task, whose result can be waited for.
pub fn start<H: Harness, T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    let end = Arc::new(Mutex::new((None, None::<Waker>)));
    let shared = Arc::clone(&end);
    H::spawn(async move {
        let value = future.await;
        let mut end = shared.lock().unwrap();
        end.0 = Some(value);
        let waker = end.1.take();
        drop(end);
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    Task(end)
}

/// The result of a task.
#[derive(Debug)]
pub struct Task<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut end = self.0.lock().unwrap();
        end.1 = Some(context.waker().clone());
        end.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Lets others run.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if core::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Polls a future once.
pub(crate) async fn once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Counts how often a future is polled until it is over, or `most` have passed.
pub(crate) async fn polls<F: Future + Unpin>(mut future: F) -> (u32, F::Output) {
    let mut count = 0;
    let value = poll_fn(|context| {
        count += 1;
        Pin::new(&mut future).poll(context)
    })
    .await;
    (count, value)
}

/// A waker of somebody else, which panics.
pub(crate) fn wild() -> Waker {
    struct Wild;
    impl std::task::Wake for Wild {
        fn wake(self: Arc<Self>) {
            panic!("a waker of somebody else");
        }
    }
    Waker::from(Arc::new(Wild))
}
