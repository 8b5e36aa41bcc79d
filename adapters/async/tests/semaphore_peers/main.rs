//! What tokio's and async-lock's semaphores promise, as one suite for theirs and ours.
//!
//! `single` holds for all three, `weighted` for tokio's and ours, and `differences` names what is meant to be different,
//! on both sides. Futures are polled by hand; wakers count.
#![cfg(not(tollgate_loom))]

mod differences;
mod single;
mod weighted;

use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;

/// A semaphore of single permits.
trait Single: Send + Sync + 'static {
    type Permit<'a>: Send;

    fn new(permits: usize) -> Self;
    fn try_acquire(&self) -> Option<Self::Permit<'_>>;
    fn acquire(&self) -> impl Future<Output = Self::Permit<'_>> + Send;
    fn add_permits(&self, n: usize);
    fn forget(permit: Self::Permit<'_>);
}

/// With requests of several, and an end.
trait Weighted: Single {
    type Error: core::fmt::Debug;

    fn try_many(&self, n: u32) -> Option<Self::Permit<'_>>;
    fn many(&self, n: u32) -> impl Future<Output = Result<Self::Permit<'_>, Self::Error>> + Send;
    fn available(&self) -> usize;
    fn forget_permits(&self, n: usize) -> usize;
    fn close(&self);
    fn is_closed(&self) -> bool;
    fn merge<'a>(one: &mut Self::Permit<'a>, other: Self::Permit<'a>);
    fn split<'a>(permit: &mut Self::Permit<'a>, n: usize) -> Option<Self::Permit<'a>>;
    fn num(permit: &Self::Permit<'_>) -> usize;
}

/// The code that a program which swaps the import keeps, once for each.
macro_rules! like_tokio {
    ($semaphore:ty, $permit:ident, $error:ty) => {
        impl Single for $semaphore {
            type Permit<'a> = $permit<'a>;

            fn new(permits: usize) -> Self {
                Self::new(permits)
            }
            fn try_acquire(&self) -> Option<Self::Permit<'_>> {
                self.try_acquire().ok()
            }
            async fn acquire(&self) -> Self::Permit<'_> {
                self.acquire().await.expect("it is open")
            }
            fn add_permits(&self, n: usize) {
                self.add_permits(n);
            }
            fn forget(permit: Self::Permit<'_>) {
                permit.forget();
            }
        }

        impl Weighted for $semaphore {
            type Error = $error;

            fn try_many(&self, n: u32) -> Option<Self::Permit<'_>> {
                self.try_acquire_many(n).ok()
            }
            fn many(&self, n: u32) -> impl Future<Output = Result<Self::Permit<'_>, Self::Error>> + Send {
                self.acquire_many(n)
            }
            fn available(&self) -> usize {
                self.available_permits()
            }
            fn forget_permits(&self, n: usize) -> usize {
                self.forget_permits(n)
            }
            fn close(&self) {
                self.close();
            }
            fn is_closed(&self) -> bool {
                self.is_closed()
            }
            fn merge<'a>(one: &mut Self::Permit<'a>, other: Self::Permit<'a>) {
                one.merge(other);
            }
            fn split<'a>(permit: &mut Self::Permit<'a>, n: usize) -> Option<Self::Permit<'a>> {
                permit.split(n)
            }
            fn num(permit: &Self::Permit<'_>) -> usize {
                permit.num_permits()
            }
        }
    };
}

use tokio::sync::SemaphorePermit as TokioPermit;
use tollgate_async::SemaphorePermit;
like_tokio!(tokio::sync::Semaphore, TokioPermit, tokio::sync::AcquireError);
like_tokio!(tollgate_async::Semaphore, SemaphorePermit, tollgate_async::AcquireError);

impl Single for async_lock::Semaphore {
    type Permit<'a> = async_lock::SemaphoreGuard<'a>;

    fn new(permits: usize) -> Self {
        Self::new(permits)
    }
    fn try_acquire(&self) -> Option<Self::Permit<'_>> {
        self.try_acquire()
    }
    async fn acquire(&self) -> Self::Permit<'_> {
        self.acquire().await
    }
    fn add_permits(&self, n: usize) {
        self.add_permits(n);
    }
    fn forget(permit: Self::Permit<'_>) {
        permit.forget();
    }
}

/// Each behaviour as a test for each implementation.
macro_rules! behaviours {
    ($($of:ident = $semaphore:ty),+; $($behaviour:ident)+) => {
        behaviours!(@each [$($of = $semaphore),+] [$($behaviour)+]);
    };
    (@each [$($of:ident = $semaphore:ty),+] $behaviours:tt) => {
        $(behaviours!(@one $of, $semaphore, $behaviours);)+
    };
    (@one $of:ident, $semaphore:ty, [$($behaviour:ident)+]) => {
        mod $of {
            $(#[test]
            fn $behaviour() {
                super::$behaviour::<$semaphore>();
            })+
        }
    };
}
use behaviours;

#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A future that is polled by hand, and how often it was woken.
struct Polled<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    calls: Arc<Calls>,
}

impl<'a, T> Polled<'a, T> {
    fn new(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self { future: Box::pin(future), calls: Arc::default() }
    }

    /// One that was polled and waits.
    fn waiting(future: impl Future<Output = T> + Send + 'a) -> Self {
        let mut polled = Self::new(future);
        assert!(polled.poll().is_pending());
        polled
    }

    fn poll(&mut self) -> Poll<T> {
        let waker = Waker::from(Arc::clone(&self.calls));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    #[track_caller]
    fn ready(&mut self) -> T {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it still waits"),
        }
    }

    fn woken(&self) -> bool {
        self.calls.0.load(Ordering::Relaxed) > 0
    }
}
