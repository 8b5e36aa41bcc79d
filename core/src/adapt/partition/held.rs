//! [`Held`]: what was let in, and by whom it is held.

use crate::adapt::partition::PartitionId;

/// What [`Partitions::try_acquire`](super::Partitions::try_acquire) let in. Give it to
/// [`Partitions::release`](super::Partitions::release).
#[derive(Debug, Eq, PartialEq)]
#[must_use = "what is not given back is in flight for good"]
pub struct Held {
    /// The partition and its number; `None` for the unknown.
    pub(super) holder: Option<(PartitionId, u64)>,
    pub(super) weight: u32,
}

impl Held {
    /// By whom it is held; `None` for the unknown.
    #[must_use]
    pub fn partition(&self) -> Option<PartitionId> {
        self.holder.map(|(partition, _)| partition)
    }

    /// How many permits it stands for.
    #[must_use]
    pub const fn weight(&self) -> u32 {
        self.weight
    }
}
