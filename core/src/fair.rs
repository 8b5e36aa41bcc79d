//! Who is next? Schedulers that share one server between tenants.
//!
//! | machine | shares | one pick costs |
//! | --- | --- | --- |
//! | [`Drr`] deficit round robin | *cost* in proportion to weights, whatever single jobs cost | O(1) while no job costs more than a quantum, else O(log n) |
//! | [`Swrr`] smooth weighted round robin | *turns* in proportion to weights, spread evenly | O(n) |
//!
//! Schedulers hold no jobs and no queues. They work on dense [`TenantId`]s, 0 up to a capacity given at construction;
//! the caller keeps the queues and tells what is at their heads. So they are arrays of numbers and links, and the same
//! scheduler serves threads, tasks, simulations and tests.

pub mod drr;
pub mod swrr;

pub use drr::Drr;
pub use swrr::Swrr;

use core::fmt;

use crate::num;

/// A tenant of a scheduler: its index, below the scheduler's capacity.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TenantId(u32);

impl TenantId {
    /// The tenant with this index.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Its index.
    #[must_use]
    pub const fn index(self) -> usize {
        num::index(self.0)
    }
}

impl From<u32> for TenantId {
    fn from(index: u32) -> Self {
        Self(index)
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenant {}", self.0)
    }
}

/// A scheduler was told something it cannot do; nothing was changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FairError {
    /// The tenant's index is not below the capacity.
    UnknownTenant {
        /// Who was named.
        tenant: TenantId,
        /// How many tenants there are.
        capacity: u32,
    },
    /// A weight of 0: a tenant that shall get nothing is not made active.
    ZeroWeight {
        /// Whose weight it was.
        tenant: TenantId,
    },
    /// There is no turn to serve: pick first.
    NoTurn,
}

impl fmt::Display for FairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTenant { tenant, capacity } => {
                write!(f, "{tenant} is unknown, the scheduler has tenants 0 up to, not including, {capacity}")
            }
            Self::ZeroWeight { tenant } => {
                write!(f, "the weight of {tenant} is 0, allowed is 1 to 4294967295")
            }
            Self::NoTurn => f.write_str("nobody's turn to serve: pick first, once for each served job"),
        }
    }
}

impl core::error::Error for FairError {}
