//! Random streams: one for each source of chance, all from one seed.
//!
//! If arrivals and service times drew from one stream, a policy that refuses one request more would shift the luck
//! of every later one, and two policies could not be compared. `ChaCha` has 2^64 independent streams for each key, so
//! each [`Source`] takes its own.
//!
//! The generator is named (`ChaCha8`), never "the standard one", and its version is pinned by the lock file: a seed
//! written in a report must mean the same numbers next year.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A source of chance.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// When requests come.
    Arrivals,
    /// What they cost.
    Costs,
    /// How the service time of one request strays from its cost.
    Noise,
    /// When jobs of one load of a plan come.
    LoadArrivals(u32),
    /// What jobs of one load of a plan are like.
    LoadJobs(u32),
}

/// The stream of `source` under `seed`.
#[must_use]
pub fn stream(seed: u64, source: Source) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(match source {
        Source::Arrivals => 1,
        Source::Costs => 2,
        Source::Noise => 3,
        Source::LoadArrivals(load) => 16 + 2 * u64::from(load),
        Source::LoadJobs(load) => 17 + 2 * u64::from(load),
    });
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        assert_eq!(stream(1, Source::Arrivals).next_u64(), 15_715_005_604_373_573_095);
        assert_eq!(stream(1, Source::Noise).next_u64(), 10_481_881_765_394_875_549);
    }

    #[test]
    fn streams_of_one_seed_differ_and_so_do_seeds() {
        let firsts = [
            stream(1, Source::Arrivals).next_u64(),
            stream(1, Source::Costs).next_u64(),
            stream(1, Source::Noise).next_u64(),
            stream(1, Source::LoadArrivals(0)).next_u64(),
            stream(1, Source::LoadJobs(0)).next_u64(),
            stream(1, Source::LoadArrivals(1)).next_u64(),
            stream(2, Source::Arrivals).next_u64(),
        ];
        for (i, first) in firsts.iter().enumerate() {
            assert!(!firsts[..i].contains(first), "{firsts:?}");
        }
    }
}
