//! The only place that names an atomic: `core`'s, `portable-atomic`'s (feature), or loom's (`--cfg tollgate_loom`).
//!
//! Models run with `--cfg tollgate_loom`, never `--cfg loom`: flags reach every crate of a build, and `loom` breaks
//! `event-listener`, `concurrent-queue` and tokio.

#[cfg(all(not(tollgate_loom), not(feature = "portable-atomic")))]
pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(tollgate_loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(all(not(tollgate_loom), feature = "portable-atomic"))]
pub(crate) use portable_atomic::{AtomicU64, Ordering};

/// `const fn` where atomics can be built in a constant, a plain `fn` under loom, where they cannot.
macro_rules! atomic_const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(tollgate_loom))]
        $(#[$meta])*
        $vis const fn $($rest)*
        #[cfg(tollgate_loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
pub(crate) use atomic_const_fn;
