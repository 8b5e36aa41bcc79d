//! Bytes read as numbers and choices.
//!
//! One byte for nearly everything, so that a change of one byte changes one thing; past the end everything is 0, so any
//! input makes sense.

/// What is left of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    /// Whether anything is left.
    pub(crate) fn any_left(&self) -> bool {
        !self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Any number.
    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes([(); 8].map(|()| self.byte()))
    }

    /// From a small number to another, at most 255 above it.
    pub(crate) fn within(&mut self, least: u64, most: u64) -> u64 {
        least + u64::from(self.byte()) % (most - least + 1)
    }

    /// The same in 32 bits.
    pub(crate) fn within_u32(&mut self, least: u32, most: u32) -> u32 {
        least + u32::from(self.byte()) % (most - least + 1)
    }

    /// A place in a list that is taken modulo its length.
    pub(crate) fn place(&mut self) -> usize {
        self.byte().into()
    }

    /// In one of so many cases.
    pub(crate) fn once_in(&mut self, cases: u8) -> bool {
        self.byte() % cases == cases - 1
    }

    pub(crate) fn choose<T: Copy>(&mut self, those: &[T]) -> T {
        those[self.place() % those.len()]
    }

    /// Something in one of so many cases.
    pub(crate) fn maybe<T>(&mut self, cases: u8, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.once_in(cases).then(|| read(self))
    }

    /// Near an end of `u64`, `u63` or `u32`, a power of two, small, or anything.
    pub(crate) fn edge(&mut self) -> u64 {
        let kind = self.byte();
        let low = u64::from(kind >> 4);
        match kind % 16 {
            0..=5 => low,
            6..=8 => u64::MAX - low,
            9 => (1 << 32) - 8 + low,
            10 => (1 << 63) - 8 + low,
            11 => 1 << self.within(0, 63),
            12 => self.word() >> 32,
            13 => low << 8 | u64::from(self.byte()),
            _ => self.word(),
        }
    }

    /// Mostly at most this, else anything.
    pub(crate) fn mostly(&mut self, most: u64) -> u64 {
        if self.once_in(8) { self.edge() } else { self.within(0, most) }
    }

    /// The same in 32 bits, the ends of 31 among them.
    pub(crate) fn mostly_u32(&mut self, most: u32) -> u32 {
        if !self.once_in(8) {
            return self.within_u32(0, most);
        }
        let kind = self.byte();
        let low = u32::from(kind >> 4);
        match kind % 4 {
            0 => u32::MAX - low,
            1 => (1 << 31) - 8 + low,
            2 => 1 << self.within(0, 31),
            _ => u32::from_le_bytes([(); 4].map(|()| self.byte())),
        }
    }
}
