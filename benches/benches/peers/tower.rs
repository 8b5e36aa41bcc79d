//! A request through a service that answers at once, with a limit before it.
//!
//! The peers are tower's own layers, `ConcurrencyLimit`, `RateLimit` and, where requests are refused, `LoadShed` around them:
//! readiness, call, answer. Ours is what one writes by hand with the limiters of the adapters: ask, call, answer, give back. On
//! two threads each request has its own clone of the service, or of what ours shares. Rates are asked on tokio's clock.

use core::future::{Ready, ready};
use core::hint::black_box;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};
use tollgate_async::Semaphore;
use tollgate_async::rate::Quota;
use tollgate_benches::{Case, run as contest};
use tollgate_tokio::RateLimiter;
use tower::Service;
use tower::limit::rate::Rate;
use tower::limit::{ConcurrencyLimit, RateLimit};
use tower::load_shed::LoadShed;

use crate::poll::at_once;

const GROUP: &str = "tower";
const LIMIT: usize = 1_024;
const ENOUGH: u64 = 1 << 40;
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn run(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime of this thread");
    contest(criterion, &[concurrency()]);
    for threads in [1, 2] {
        contest(criterion, &[clones(threads)]);
    }
    contest(criterion, &[concurrency_refused()]);
    contest(criterion, &[rate(&runtime)]);
    contest(criterion, &[rate_refused(&runtime)]);
}

/// What all of them guard.
#[derive(Clone, Copy, Debug)]
struct Echo;

impl Service<u32> for Echo {
    type Response = u32;
    type Error = core::convert::Infallible;
    type Future = Ready<Result<u32, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        ready(Ok(black_box(request)))
    }
}

/// One request of whatever service, from readiness to the answer.
fn serve<S: Service<u32>>(service: &mut S, request: u32) -> Result<S::Response, S::Error> {
    let context = &mut Context::from_waker(Waker::noop());
    match service.poll_ready(context) {
        Poll::Ready(Ok(())) => at_once(service.call(request)),
        Poll::Ready(Err(error)) => Err(error),
        Poll::Pending => panic!("it waits although there is room"),
    }
}

fn answered(request: u32) {
    let Ok(answer) = serve(&mut Echo, request);
    black_box(answer);
}

fn concurrency() -> Case<'static> {
    Case::new(GROUP, "concurrency")
        .alone("tollgate", || {
            let semaphore = Semaphore::new(LIMIT);
            move |request| {
                let permit = at_once(semaphore.acquire()).expect("it is open");
                answered(request);
                drop(permit);
            }
        })
        .alone("tower", || {
            let mut service = ConcurrencyLimit::new(Echo, LIMIT);
            move |request| {
                let Ok(answer) = serve(&mut service, request);
                black_box(answer);
            }
        })
}

fn clones(threads: u32) -> Case<'static> {
    Case::new(GROUP, "concurrency-clones")
        .threads(threads)
        .shared("tollgate", || {
            let semaphore = Arc::new(Semaphore::new(LIMIT));
            move |request| {
                let permit = at_once(Arc::clone(&semaphore).acquire_owned()).expect("it is open");
                answered(request);
                drop(permit);
            }
        })
        .shared("tower", || {
            let service = Cloned(ConcurrencyLimit::new(Echo, LIMIT));
            move |request| {
                let Ok(answer) = serve(&mut service.get(), request);
                black_box(answer);
            }
        })
}

/// A service that threads clone.
struct Cloned<S>(S);

impl<S: Clone> Cloned<S> {
    fn get(&self) -> S {
        self.0.clone()
    }
}

fn concurrency_refused() -> Case<'static> {
    Case::new(GROUP, "concurrency-refuse")
        .alone("tollgate", || {
            let semaphore = Semaphore::new(1);
            semaphore.try_acquire().expect("one is free").forget();
            move |_| assert!(black_box(semaphore.try_acquire()).is_err())
        })
        .alone("tower", || {
            let full = Arc::new(tokio::sync::Semaphore::new(0));
            let mut service = LoadShed::new(ConcurrencyLimit::with_semaphore(Echo, full));
            move |request| assert!(black_box(serve(&mut service, request)).is_err())
        })
}

fn rate(runtime: &Runtime) -> Case<'_> {
    Case::new(GROUP, "rate-instant")
        .alone("tollgate", || {
            let _runtime = runtime.enter();
            let quota = Quota::new(ENOUGH, DAY).burst(ENOUGH);
            let limiter = RateLimiter::new(quota).expect("a lawful quota");
            move |request| {
                at_once(limiter.until_ready()).expect("granted");
                answered(request);
            }
        })
        .alone("tower", || {
            let _runtime = runtime.enter();
            let mut service = RateLimit::new(Echo, Rate::new(ENOUGH, DAY));
            move |request| {
                let Ok(answer) = serve(&mut service, request);
                black_box(answer);
            }
        })
}

fn rate_refused(runtime: &Runtime) -> Case<'_> {
    Case::new(GROUP, "rate-refuse-instant")
        .alone("tollgate", || {
            let _runtime = runtime.enter();
            let limiter = RateLimiter::new(Quota::per_day(1).burst(1)).expect("a lawful quota");
            limiter.try_acquire(1).expect("the first is granted");
            move |_| assert!(black_box(limiter.try_acquire(1)).is_err())
        })
        .alone("tower", move || {
            let _runtime = runtime.enter();
            let mut service = LoadShed::new(RateLimit::new(Echo, Rate::new(1, DAY)));
            assert!(serve(&mut service, 0).is_ok(), "the first is granted");
            move |request| assert!(black_box(serve(&mut service, request)).is_err())
        })
}
