//! A bounded table as a list of named values, whose names are never used twice.

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Table<T> {
    capacity: usize,
    live: Vec<(u64, T)>,
    next: u64,
}

impl<T> Table<T> {
    /// Nothing in it.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { capacity, live: Vec::new(), next: 0 }
    }

    /// Names a value, unless it is full.
    pub fn insert(&mut self, value: T) -> Option<u64> {
        if self.live.len() == self.capacity {
            return None;
        }
        let name = self.next;
        self.next += 1;
        self.live.push((name, value));
        Some(name)
    }

    /// Takes out what was named so.
    pub fn remove(&mut self, name: u64) -> Option<T> {
        let place = self.live.iter().position(|(live, _)| *live == name)?;
        Some(self.live.swap_remove(place).1)
    }

    /// What is named so.
    #[must_use]
    pub fn get(&self, name: u64) -> Option<&T> {
        self.live.iter().find(|(live, _)| *live == name).map(|(_, value)| value)
    }

    /// Replaces what is named so. `false` if nothing is.
    pub fn set(&mut self, name: u64, value: T) -> bool {
        let found = self.live.iter_mut().find(|(live, _)| *live == name);
        found.map(|(_, old)| *old = value).is_some()
    }

    /// How many it holds.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
}
