//! Why a semaphore does not grant.

use core::fmt;

/// Why [`acquire`](crate::Semaphore::acquire) and its kin did not wait any longer.
///
/// ```
/// use tollgate_async::{AcquireError, Semaphore};
///
/// # futures_lite::future::block_on(async {
/// let semaphore = Semaphore::new(4);
/// assert_eq!(semaphore.acquire_many(5).await.unwrap_err(), AcquireError::ExceedsLimit);
/// semaphore.close();
/// assert_eq!(semaphore.acquire().await.unwrap_err(), AcquireError::Closed);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The semaphore is closed, for good.
    Closed,
    /// More permits were asked for than the limit. Waiting would not have helped unless the limit is raised.
    ExceedsLimit,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the semaphore is closed",
            Self::ExceedsLimit => "more permits were asked for than the limit of the semaphore",
        })
    }
}

impl core::error::Error for AcquireError {}

/// Why [`try_acquire`](crate::Semaphore::try_acquire) and its kin did not grant at once, or those with a timeout in time.
///
/// ```
/// use tollgate_async::{Semaphore, TryAcquireError};
///
/// let semaphore = Semaphore::new(1);
/// let held = semaphore.try_acquire()?;
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// assert_eq!(semaphore.try_acquire_many(2).unwrap_err(), TryAcquireError::ExceedsLimit);
/// # drop(held);
/// # Ok::<(), TryAcquireError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TryAcquireError {
    /// The semaphore is closed, for good.
    Closed,
    /// So many are not free now, or others wait for them.
    NoPermits,
    /// More permits were asked for than the limit. tokio's semaphore would answer `NoPermits`.
    ExceedsLimit,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => AcquireError::Closed.fmt(f),
            Self::NoPermits => f.write_str("no permits are free"),
            Self::ExceedsLimit => AcquireError::ExceedsLimit.fmt(f),
        }
    }
}

impl core::error::Error for TryAcquireError {}

impl From<AcquireError> for TryAcquireError {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Closed => Self::Closed,
            AcquireError::ExceedsLimit => Self::ExceedsLimit,
        }
    }
}
