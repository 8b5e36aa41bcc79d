//! [`Admitted`] and [`InFlightSlot`]: what was let in, until it ends.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::sync::Arc;

use tollgate::DefaultHasher;
use tollgate::observe::{KeyObserver, NoObserver};
use tollgate::order::Pass;
use tollgate::permit::Slot;
use tollgate::rate::rules::Dimension;
use tollgate::rate::{Blame, Denied};

use super::bell::Bell;
use crate::Runtime;

/// What one request took and holds of an [`Admission`](super::Admission).
///
/// Dropped before its end, it is rolled back as if its client had left: its slots come back, and of what it took what the
/// dimension refunds [after a client's error](tollgate::rate::rules::Refund). No end blocks on anything but short mutexes, nor
/// panics; each wakes those who wait for a cap.
#[must_use = "dropped, it is rolled back"]
pub struct Admitted<K, R, S = DefaultHasher, O = NoObserver>
where
    K: Eq + Hash + Clone,
    R: Runtime,
    S: BuildHasher,
    O: KeyObserver<K>,
{
    /// Before what wakes those who wait for it.
    pass: Option<Pass<K, S, O>>,
    runtime: R,
    bell: Arc<Bell>,
}

impl<K, R, S, O> Admitted<K, R, S, O>
where
    K: Eq + Hash + Clone,
    R: Runtime,
    S: BuildHasher,
    O: KeyObserver<K>,
{
    pub(super) const fn new(pass: Pass<K, S, O>, runtime: R, bell: Arc<Bell>) -> Self {
        Self { pass: Some(pass), runtime, bell }
    }

    /// Takes more of a dimension, from all of its windows or none: a cost that has become known. O(windows).
    ///
    /// # Errors
    /// What refused it. It is as it was.
    pub fn evaluate(&mut self, dimension: Dimension, amount: u64) -> Result<(), Denied> {
        let now = self.runtime.now();
        self.pass.as_mut().map_or(Ok(()), |pass| pass.evaluate(now, dimension, amount))
    }

    /// Says what it really used of a dimension: what it took too much comes back.
    pub fn settle(&mut self, dimension: Dimension, actual: u64) {
        let now = self.runtime.now();
        if let Some(pass) = &mut self.pass {
            pass.settle(now, dimension, actual);
        }
    }

    /// It succeeded: what it took stays consumed, what it holds comes back. O(pairs).
    pub fn complete(mut self) {
        let now = self.runtime.now();
        if let Some(pass) = self.pass.take() {
            pass.complete(now);
        }
    }

    /// Its session succeeded; its slots come back when what is returned is dropped, with the last byte of the body.
    pub fn commit(mut self) -> Option<InFlightSlot<K, S, O>> {
        let now = self.runtime.now();
        let slot = self.pass.take().and_then(|mut pass| pass.commit(now))?;
        Some(InFlightSlot::new(slot, Arc::clone(&self.bell)))
    }

    /// It did not succeed: what it holds comes back, and of what it took as much as its dimensions refund for that blame.
    pub fn roll_back(mut self, blame: Blame) {
        let now = self.runtime.now();
        if let Some(pass) = self.pass.take() {
            pass.roll_back(now, blame);
        }
    }
}

impl<K, R, S, O> Drop for Admitted<K, R, S, O>
where
    K: Eq + Hash + Clone,
    R: Runtime,
    S: BuildHasher,
    O: KeyObserver<K>,
{
    fn drop(&mut self) {
        drop(self.pass.take());
        self.bell.ring();
    }
}

impl<K, R, S, O> fmt::Debug for Admitted<K, R, S, O>
where
    K: Eq + Hash + Clone,
    R: Runtime,
    S: BuildHasher,
    O: KeyObserver<K>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("pass", &self.pass).finish_non_exhaustive()
    }
}

/// What one request holds of the caps: it comes back when this is dropped, once, and wakes those who wait for that.
#[must_use = "what it holds comes back as soon as this is dropped"]
pub struct InFlightSlot<K, S = DefaultHasher, O: KeyObserver<K> = NoObserver> {
    slot: Option<Slot<K, S, O>>,
    bell: Arc<Bell>,
}

impl<K, S, O: KeyObserver<K>> InFlightSlot<K, S, O> {
    pub(super) const fn new(slot: Slot<K, S, O>, bell: Arc<Bell>) -> Self {
        Self { slot: Some(slot), bell }
    }
}

impl<K, S, O: KeyObserver<K>> Drop for InFlightSlot<K, S, O> {
    fn drop(&mut self) {
        drop(self.slot.take());
        self.bell.ring();
    }
}

impl<K, S, O: KeyObserver<K>> fmt::Debug for InFlightSlot<K, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightSlot").field("slot", &self.slot).finish_non_exhaustive()
    }
}
