//! [`Chance`]: numbers to decide by.

use core::time::Duration;

/// A sequence of numbers that looks random (Marsaglia's xorshift with the multiplier of Vigna, 2014).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// A sequence for each seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end.max(1)
    }

    /// The next below `end`.
    pub fn small(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(u64::from(end))).unwrap_or(0)
    }

    /// Whether it happens, once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A while of less than so many microseconds.
    pub fn micros(&mut self, end: u64) -> Duration {
        Duration::from_micros(self.below(end))
    }
}
