//! The guards that hold permits.

use core::fmt;
use core::mem;
use core::ops::Deref;
use core::ptr;
use std::sync::Arc;

use super::{Semaphore, count};

/// Permits of a borrowed semaphore; they come back when this is dropped, and go to those who wait.
///
/// Dropping it never blocks for longer than the semaphore's short lock, and never panics.
///
/// ```
/// use tollgate_async::Semaphore;
///
/// let semaphore = Semaphore::new(5);
/// let mut all = semaphore.try_acquire_many(5)?;
/// let two = all.split(2).expect("it holds 5");
/// assert_eq!((all.num_permits(), two.num_permits()), (3, 2));
/// drop(all);
/// assert_eq!(two.semaphore().available_permits(), 3);
/// two.forget();
/// assert_eq!(semaphore.in_use(), 2, "for good, or until `add_permits`");
/// # Ok::<(), tollgate_async::TryAcquireError>(())
/// ```
#[must_use = "the permits come back as soon as this is dropped"]
pub struct SemaphorePermit<'a>(Held<&'a Semaphore>);

impl<'a> SemaphorePermit<'a> {
    /// Adopts `n` that were taken.
    #[inline]
    pub(super) const fn of(semaphore: &'a Semaphore, n: u32) -> Self {
        Self(Held::of(semaphore, n))
    }

    /// Never gives the permits back: they stay in use, by nobody, until [`Semaphore::add_permits`] brings them back.
    pub fn forget(self) {
        self.0.forget();
    }

    /// Adds the permits of `other` to this.
    ///
    /// # Panics
    /// They are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// Splits `n` permits off, or `None` if it holds fewer.
    #[must_use = "what is split off comes back as soon as it is dropped"]
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.0.split(n).map(Self)
    }

    /// The semaphore that these are of.
    #[must_use]
    pub const fn semaphore(&self) -> &'a Semaphore {
        self.0.semaphore
    }

    /// How many permits this holds.
    #[must_use]
    pub fn num_permits(&self) -> usize {
        count(self.0.n)
    }
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemaphorePermit").field("permits", &self.num_permits()).finish()
    }
}

/// Permits that keep their semaphore alive; they come back when this is dropped, and go to those who wait.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_async::Semaphore;
///
/// let semaphore = Arc::new(Semaphore::new(2));
/// let mut permit = Arc::clone(&semaphore).try_acquire_owned()?;
/// permit.merge(Arc::clone(&semaphore).try_acquire_owned()?);
/// assert!(Arc::ptr_eq(permit.semaphore(), &semaphore));
/// std::thread::spawn(move || drop(permit)).join().unwrap();
/// assert_eq!(semaphore.available_permits(), 2);
/// # Ok::<(), tollgate_async::TryAcquireError>(())
/// ```
#[must_use = "the permits come back as soon as this is dropped"]
pub struct OwnedSemaphorePermit(Held<Arc<Semaphore>>);

impl OwnedSemaphorePermit {
    /// Adopts `n` that were taken.
    #[inline]
    pub(super) const fn of(semaphore: Arc<Semaphore>, n: u32) -> Self {
        Self(Held::of(semaphore, n))
    }

    /// As [`SemaphorePermit::forget`].
    pub fn forget(self) {
        self.0.forget();
    }

    /// As [`SemaphorePermit::merge`].
    ///
    /// # Panics
    /// They are of different semaphores.
    #[track_caller]
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// As [`SemaphorePermit::split`].
    #[must_use = "what is split off comes back as soon as it is dropped"]
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.0.split(n).map(Self)
    }

    /// The semaphore that these are of.
    #[must_use]
    pub const fn semaphore(&self) -> &Arc<Semaphore> {
        &self.0.semaphore
    }

    /// How many permits this holds.
    #[must_use]
    pub fn num_permits(&self) -> usize {
        count(self.0.n)
    }
}

impl fmt::Debug for OwnedSemaphorePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedSemaphorePermit").field("permits", &self.num_permits()).finish()
    }
}

/// Both guards, over the pointer to the semaphore.
struct Held<P: Deref<Target = Semaphore>> {
    semaphore: P,
    n: u32,
}

impl<P: Deref<Target = Semaphore>> Held<P> {
    #[inline]
    const fn of(semaphore: P, n: u32) -> Self {
        Self { semaphore, n }
    }

    fn forget(mut self) {
        let n = mem::take(&mut self.n);
        self.semaphore.note_forgotten(n);
    }

    #[track_caller]
    fn merge(&mut self, mut other: Self) {
        assert!(
            ptr::eq::<Semaphore>(&*self.semaphore, &*other.semaphore),
            "permits of different semaphores cannot be merged"
        );
        // No overflow: both are part of one `in_use`.
        self.n += mem::take(&mut other.n);
    }

    fn split(&mut self, n: usize) -> Option<Self>
    where
        P: Clone,
    {
        let n = u32::try_from(n).ok()?;
        self.n = self.n.checked_sub(n)?;
        Some(Self::of(self.semaphore.clone(), n))
    }
}

impl<P: Deref<Target = Semaphore>> Drop for Held<P> {
    #[inline]
    fn drop(&mut self) {
        if self.n != 0 {
            self.semaphore.give_back(self.n);
        }
    }
}
