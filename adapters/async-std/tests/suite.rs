//! The suite that all runtimes share, on async-std.

use core::future::Future;

use tollgate_async_std::AsyncStd;
use tollgate_suite::Harness;

struct OnAsyncStd;

impl Harness for OnAsyncStd {
    type Runtime = AsyncStd;

    fn block_on<F: Future>(future: F) -> F::Output {
        async_std::task::block_on(future)
    }

    fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        // Dropping the handle lets it run.
        drop(async_std::task::spawn(future));
    }
}

tollgate_suite::suite!(OnAsyncStd);
