//! Streams of chance for the laboratory, one for each purpose, so that no limit can shift the luck of another.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What chance is for. The numbers keep clear of those of [`crate::rng`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// When requests come.
    Arrivals,
    /// How long they take.
    Work,
    /// Which limiter they meet.
    Limiter,
    /// Whether they fail at once.
    Failure,
    /// All of the above for retries and for closed loops, in the order in which they happen.
    Followers,
    /// How long clients think and retries wait.
    Pauses,
}

impl Purpose {
    const fn stream(self) -> u64 {
        match self {
            Self::Arrivals => 1001,
            Self::Work => 1002,
            Self::Limiter => 1003,
            Self::Failure => 1004,
            Self::Followers => 1005,
            Self::Pauses => 1006,
        }
    }
}

/// The stream for `purpose` under `seed`.
pub(super) fn stream(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    numbered(seed, purpose.stream())
}

/// The same for requests of low priority.
pub(super) fn low_stream(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    numbered(seed, purpose.stream() + 100)
}

fn numbered(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}
