//! Caps on what is in flight, by a list of who holds what: everything is counted anew at each question.

use std::collections::{BTreeMap, BTreeSet};

/// A dimension and a key.
pub type Pair = (u8, u64);

/// Why a request may not go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Blocked {
    /// A pair is at its cap: which of the request's, its cap, what it holds.
    AtCap(usize, u32, u32),
    /// There is no room for a pair that nobody holds: which of the request's.
    Full(usize),
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct InFlight {
    capacity: usize,
    caps: BTreeMap<u8, u32>,
    overrides: BTreeMap<Pair, Option<u32>>,
    holders: Vec<(u64, Vec<Pair>)>,
    next: u64,
}

impl InFlight {
    /// Nothing in flight, no caps, room for so many pairs.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self { capacity, caps: BTreeMap::new(), overrides: BTreeMap::new(), holders: Vec::new(), next: 0 }
    }

    /// The cap of a pair, `None` if it has none.
    #[must_use]
    pub fn cap(&self, pair: Pair) -> Option<u32> {
        let common = || self.caps.get(&pair.0).copied();
        self.overrides.get(&pair).copied().unwrap_or_else(common)
    }

    /// How often a pair is held.
    #[must_use]
    pub fn held(&self, pair: Pair) -> u32 {
        let all = self.holders.iter().flat_map(|(_, pairs)| pairs);
        all.filter(|held| **held == pair).count() as u32
    }

    /// All pairs that are held, with how often.
    #[must_use]
    pub fn gauges(&self) -> BTreeMap<Pair, u32> {
        let all: BTreeSet<Pair> = self.holders.iter().flat_map(|(_, pairs)| pairs.iter().copied()).collect();
        all.into_iter().map(|pair| (pair, self.held(pair))).collect()
    }

    /// Whether a request may go, and if not, its first pair that is in the way.
    #[must_use]
    pub fn blocked(&self, pairs: &[Pair]) -> Option<Blocked> {
        let mut distinct: BTreeSet<Pair> = self.gauges().into_keys().collect();
        for (number, &pair) in pairs.iter().enumerate() {
            let before = pairs[..number].iter().filter(|earlier| **earlier == pair).count() as u32;
            let held = self.held(pair);
            if let Some(cap) = self.cap(pair)
                && held + before >= cap
            {
                return Some(Blocked::AtCap(number, cap, held));
            }
            distinct.insert(pair);
            if distinct.len() > self.capacity {
                return Some(Blocked::Full(number));
            }
        }
        None
    }

    /// Writes down that a request holds its pairs, under a name.
    pub fn hold(&mut self, pairs: &[Pair]) -> u64 {
        self.next += 1;
        self.holders.push((self.next, pairs.to_vec()));
        self.next
    }

    /// Strikes out what a name holds.
    pub fn release(&mut self, name: u64) {
        self.holders.retain(|(holder, _)| *holder != name);
    }

    /// Writes down the cap of a dimension.
    pub fn set_cap(&mut self, dimension: u8, cap: Option<u32>) {
        match cap {
            Some(cap) => self.caps.insert(dimension, cap),
            None => self.caps.remove(&dimension),
        };
    }

    /// Writes down the cap of a pair, or that it has none of its own.
    pub fn set_override(&mut self, pair: Pair, cap: Option<Option<u32>>) {
        match cap {
            Some(cap) => self.overrides.insert(pair, cap),
            None => self.overrides.remove(&pair),
        };
    }

    /// How many pairs have a cap of their own.
    #[must_use]
    pub fn overrides(&self) -> usize {
        self.overrides.len()
    }

    /// Whether a pair has a cap of its own.
    #[must_use]
    pub fn has_override(&self, pair: Pair) -> bool {
        self.overrides.contains_key(&pair)
    }
}
