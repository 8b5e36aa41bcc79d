//! The suite that all runtimes share, on tokio.

use core::future::Future;

use tollgate_suite::Harness;
use tollgate_tokio::Tokio;

struct OnTokio;

impl Harness for OnTokio {
    type Runtime = Tokio;

    fn block_on<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
        runtime.unwrap().block_on(future)
    }

    fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(future);
    }
}

tollgate_suite::suite!(OnTokio);
