//! [`Runtime`]: all that is asked of a runtime.

use core::future::Future;

use tollgate::Timestamp;

/// A clock and a timer that agree with each other.
///
/// The clock is monotonic, counts from any epoch, and is the same for all clones. A `Sleep` that is over means that `now` is
/// at or after its instant; one that is dropped wakes nobody.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// Ends at the instant it was made for.
    type Sleep: Future<Output = ()> + Send;

    /// The time.
    fn now(&self) -> Timestamp;

    /// A future that ends at `at`, or at once if that has passed.
    fn sleep_until(&self, at: Timestamp) -> Self::Sleep;
}
