//! The only place that names a lock or an atomic: the standard library's, or loom's (`--cfg tollgate_loom`).

#[cfg(not(tollgate_loom))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(tollgate_loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

#[cfg(tollgate_loom)]
use loom::sync as imp;
#[cfg(not(tollgate_loom))]
use std::sync as imp;
use std::sync::PoisonError;

pub(crate) use imp::MutexGuard;

/// `const fn` where locks and atomics can be built in a constant, a plain `fn` under loom, where they cannot.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(tollgate_loom))]
        $(#[$meta])*
        $vis const fn $($rest)*
        #[cfg(tollgate_loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
pub(crate) use const_unless_loom;

/// A mutex that a panic does not poison: no foreign code runs under it, so what it guards is whole.
#[derive(Debug)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    const_unless_loom! {
        pub(crate) fn new(value: T) -> Self {
            Self(imp::Mutex::new(value))
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
