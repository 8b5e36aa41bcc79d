//! [`Permit`]: permits of [`AtomicPermits`] that are held.

use core::fmt;
use core::ops::Deref;

use super::AtomicPermits;

/// Permits that are held; they come back when this is dropped.
#[must_use = "the permits come back as soon as this is dropped"]
pub struct Permit<P: Deref<Target = AtomicPermits>> {
    pub(super) permits: P,
    pub(super) weight: u32,
}

impl<P: Deref<Target = AtomicPermits>> Permit<P> {
    /// Gives the permits back and tells whether waiters are announced, to whom they should now be granted. Dropping
    /// gives them back too, but tells nobody.
    #[must_use = "if waiters are announced, somebody has to grant to them"]
    pub fn release(mut self) -> bool {
        let weight = core::mem::take(&mut self.weight);
        self.permits.give_back(weight)
    }

    /// Never gives the permits back: they stay in use for good.
    pub fn forget(mut self) {
        self.weight = 0;
    }

    /// How many permits this holds.
    #[must_use]
    pub fn num_permits(&self) -> u32 {
        self.weight
    }

    /// Splits `weight` permits off, or `None` if it holds fewer.
    #[must_use = "what is split off comes back as soon as it is dropped"]
    pub fn split(&mut self, weight: u32) -> Option<Self>
    where
        P: Clone,
    {
        self.weight = self.weight.checked_sub(weight)?;
        Some(Self { permits: self.permits.clone(), weight })
    }

    /// Adds the permits of `other` to this.
    ///
    /// # Errors
    /// `other` itself, if it is of other [`AtomicPermits`].
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !core::ptr::eq(&*self.permits, &*other.permits) {
            return Err(other);
        }
        // No overflow: both are part of one `in_use`.
        self.weight = self.weight.saturating_add(core::mem::take(&mut other.weight));
        Ok(())
    }
}

impl<P: Deref<Target = AtomicPermits>> Drop for Permit<P> {
    #[inline]
    fn drop(&mut self) {
        if self.weight != 0 {
            self.permits.give_back(self.weight);
        }
    }
}

impl<P: Deref<Target = AtomicPermits>> fmt::Debug for Permit<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("weight", &self.weight).finish()
    }
}
