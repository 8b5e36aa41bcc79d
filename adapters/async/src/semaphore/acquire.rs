//! The futures that wait for permits.

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use super::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use crate::wait::Place;

/// Waits for permits; made by [`Semaphore::acquire`] and [`acquire_many`](Semaphore::acquire_many).
///
/// It is `Unpin`, so it can be polled in place. After it was ready it must not be polled again.
///
/// ```
/// use std::future::Future;
/// use std::pin::Pin;
/// use std::task::{Context, Poll, Waker};
/// use tollgate_async::Semaphore;
///
/// let semaphore = Semaphore::new(1);
/// let held = semaphore.try_acquire()?;
/// let mut waiting = semaphore.acquire();
/// let mut context = Context::from_waker(Waker::noop());
/// assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
/// drop(held); // handed over before anybody is woken
/// assert!(Pin::new(&mut waiting).poll(&mut context).is_ready());
/// # Ok::<(), tollgate_async::TryAcquireError>(())
/// ```
#[derive(Debug)]
#[must_use = "it does nothing until it is polled"]
pub struct Acquire<'a>(Waiting<&'a Semaphore>);

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) const fn new(semaphore: &'a Semaphore, n: u32) -> Self {
        Self(Waiting::new(semaphore, n))
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = Result<SemaphorePermit<'a>, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiting = &mut self.get_mut().0;
        let (semaphore, n) = ready!(waiting.poll(context))?;
        Poll::Ready(Ok(SemaphorePermit::of(semaphore, n)))
    }
}

/// Waits for permits that keep the semaphore alive; made by [`Semaphore::acquire_owned`] and
/// [`acquire_many_owned`](Semaphore::acquire_many_owned).
///
/// It is `Unpin` and `'static`, so a service can keep it. After it was ready it must not be polled again.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_async::Semaphore;
///
/// # futures_lite::future::block_on(async {
/// let semaphore = Arc::new(Semaphore::new(3));
/// let permit = Arc::clone(&semaphore).acquire_many_owned(2).await?;
/// assert_eq!(permit.num_permits(), 2);
/// # Ok::<(), tollgate_async::AcquireError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "it does nothing until it is polled"]
pub struct AcquireOwned(Waiting<Arc<Semaphore>>);

impl AcquireOwned {
    #[inline]
    pub(super) const fn new(semaphore: Arc<Semaphore>, n: u32) -> Self {
        Self(Waiting::new(semaphore, n))
    }
}

impl Future for AcquireOwned {
    type Output = Result<OwnedSemaphorePermit, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiting = &mut self.get_mut().0;
        let (semaphore, n) = ready!(waiting.poll(context))?;
        Poll::Ready(Ok(OwnedSemaphorePermit::of(semaphore, n)))
    }
}

/// Both of them, over the pointer to the semaphore.
struct Waiting<P: Deref<Target = Semaphore>> {
    /// `None` once it was ready.
    semaphore: Option<P>,
    n: u32,
    /// Where it stands in line, unless it does not.
    place: Option<Place>,
}

impl<P: Deref<Target = Semaphore>> Waiting<P> {
    #[inline]
    const fn new(semaphore: P, n: u32) -> Self {
        Self { semaphore: Some(semaphore), n, place: None }
    }

    /// The semaphore, of which so many permits were taken, to be adopted.
    #[inline]
    fn poll(&mut self, context: &Context<'_>) -> Poll<Result<(P, u32), AcquireError>> {
        let semaphore = self.semaphore.as_deref().unwrap_or_else(|| polled_again());
        let answer = if self.place.is_none() && semaphore.takes(self.n) {
            Ok(())
        } else {
            ready!(wait(semaphore, self.n, &mut self.place, context))
        };
        let semaphore = self.semaphore.take().unwrap_or_else(|| polled_again());
        Poll::Ready(answer.map(|()| (semaphore, self.n)))
    }
}

/// The part that takes the lock.
#[inline(never)]
fn wait(
    semaphore: &Semaphore,
    n: u32,
    place: &mut Option<Place>,
    context: &Context<'_>,
) -> Poll<Result<(), AcquireError>> {
    if let Some(place) = place {
        return semaphore.look(place, context);
    }
    *place = match semaphore.join(n, context.waker().clone()) {
        Ok(None) => return Poll::Ready(Ok(())),
        Ok(queued) => queued,
        Err(error) => return Poll::Ready(Err(error)),
    };
    Poll::Pending
}

#[cold]
fn polled_again() -> ! {
    panic!("polled after it was ready")
}

impl<P: Deref<Target = Semaphore>> Drop for Waiting<P> {
    #[inline]
    fn drop(&mut self) {
        if let (Some(semaphore), Some(place)) = (&self.semaphore, self.place.take()) {
            semaphore.leave(&place, self.n);
        }
    }
}

impl<P: Deref<Target = Semaphore>> fmt::Debug for Waiting<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("permits", &self.n).field("in_line", &self.place.is_some()).finish()
    }
}
