//! The suite that all runtimes share, on smol.

use core::future::Future;

use tollgate_smol::Smol;
use tollgate_suite::Harness;

struct OnSmol;

impl Harness for OnSmol {
    type Runtime = Smol;

    fn block_on<F: Future>(future: F) -> F::Output {
        smol::block_on(future)
    }

    fn spawn(future: impl Future<Output = ()> + Send + 'static) {
        smol::spawn(future).detach();
    }
}

tollgate_suite::suite!(OnSmol);
