//! How a clock moves between operations.

use tollgate_model::ops::Step;

use crate::bytes::Bytes;

/// What numbers of a run look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scale {
    /// All collides.
    Small,
    /// Among them the ends of every type.
    Extreme,
}

impl Scale {
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Self {
        if bytes.once_in(3) { Self::Extreme } else { Self::Small }
    }

    /// A number of this scale.
    pub(crate) fn number(self, bytes: &mut Bytes<'_>, most: u64) -> u64 {
        match self {
            Self::Small => bytes.within(0, most),
            Self::Extreme => bytes.mostly(most),
        }
    }

    /// The same in 32 bits.
    pub(crate) fn number_u32(self, bytes: &mut Bytes<'_>, most: u32) -> u32 {
        match self {
            Self::Small => bytes.within_u32(0, most),
            Self::Extreme => bytes.mostly_u32(most),
        }
    }

    /// A step, forward mostly.
    pub(crate) fn step(self, bytes: &mut Bytes<'_>) -> Step {
        let kind = bytes.byte();
        match kind % 16 {
            0..=5 => Step::Stay,
            6..=10 => Step::Forward((kind >> 4).into()),
            11 => Step::Forward(self.number(bytes, 60)),
            12 => Step::Back(self.number(bytes, 20)),
            13 => Step::ToRetry,
            14 => Step::ShortOfRetry,
            _ if self == Self::Extreme => Step::To(bytes.edge()),
            _ => Step::Stay,
        }
    }
}
