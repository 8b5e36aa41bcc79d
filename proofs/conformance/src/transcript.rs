//! All that a machine answered, as one number.

use core::fmt::{self, Write};

/// A hash of answers, FNV-1a with 64 bits. What is hashed is their `Debug` text, which names every field and is the same
/// whatever the width of a `usize`.
#[derive(Clone, Debug)]
pub struct Transcript {
    hash: u64,
}

impl Transcript {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    /// Nothing was answered yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { hash: Self::OFFSET }
    }

    /// Adds an answer.
    pub fn note(&mut self, answer: &dyn fmt::Debug) {
        // What a derived `Debug` writes to something that never fails is written.
        let _: fmt::Result = write!(self, "{answer:?};");
    }

    /// Adds what a constructor answered, and returns what it made.
    pub fn made<T, E: fmt::Debug>(&mut self, made: Result<T, E>) -> Option<T> {
        made.map_err(|error| self.note(&error)).ok()
    }

    /// The hash of all answers so far.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for Transcript {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(Self::PRIME);
        }
        Ok(())
    }
}
