//! Where sequences come from: numbers drawn by a xorshift generator, and a clock that mostly goes forward.

use core::time::Duration;

use tollgate::Timestamp;

/// A source of numbers that are the same on every target. Marsaglia, *Xorshift RNGs* (2003): the triple 13, 7, 17.
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
    now: Timestamp,
}

impl Draw {
    /// The source of one sequence. Its clock starts at 0.
    #[must_use]
    pub fn new(sequence: u32) -> Self {
        // Any state but 0 will do; the odd factor sends different numbers to different states.
        let state = u64::from(sequence).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut draw = Self { state, now: Timestamp::ZERO };
        for _ in 0..8 {
            draw.number();
        }
        draw
    }

    /// Any number but 0.
    pub fn number(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.number() % u64::from(end)).unwrap_or(0)
    }

    /// A number from 1 to `most`.
    pub fn up_to(&mut self, most: u32) -> u32 {
        self.below(most).saturating_add(1)
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A number of any magnitude: of no bits as often as of 64.
    pub fn wild(&mut self) -> u64 {
        let bits = self.below(65);
        self.number().checked_shr(bits).unwrap_or(0)
    }

    /// A length of time below two to the power of `bits` nanoseconds, of any magnitude; `bits` is below 64.
    pub fn span(&mut self, bits: u32) -> Duration {
        let spare = 64_u32.saturating_sub(bits).saturating_add(self.below(bits));
        Duration::from_nanos(self.number().checked_shr(spare).unwrap_or(0))
    }

    /// The next instant: usually later by less than two to the power of `bits` nanoseconds, at times the same, at times one
    /// before.
    pub fn now(&mut self, bits: u32) -> Timestamp {
        let span = self.span(bits);
        match self.below(8) {
            0 => return self.now,
            1 => return self.now.saturating_sub(span),
            _ => self.now = self.now.saturating_add(span),
        }
        self.now
    }
}
