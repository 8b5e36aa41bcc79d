//! One window: a list of what was taken, counted anew at every question.

/// How a window counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Strategy {
    /// The limit accrues evenly; so much may be used at once.
    Bucket(Option<u64>),
    /// All comes back at the edges.
    Fixed,
    /// In so many slices.
    Sliding(u32),
    /// Nothing comes back.
    Allowance,
}

/// How much is too much.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Terms {
    /// The limit.
    pub limit: u64,
    /// How it counts.
    pub strategy: Strategy,
    /// What may be owed, in millionths of the limit; `None`: nothing may.
    pub debt_ppm: Option<u32>,
}

impl Terms {
    fn debt(&self) -> u128 {
        u128::from(self.debt_ppm.unwrap_or(0)) * u128::from(self.limit) / 1_000_000
    }

    fn capacity(&self) -> u128 {
        match self.strategy {
            Strategy::Bucket(Some(burst)) => burst.into(),
            _ => self.limit.into(),
        }
    }

    fn counts_like(&self, other: Self) -> bool {
        match (self.strategy, other.strategy) {
            (Strategy::Bucket(_), Strategy::Bucket(_)) => true,
            (one, other) => one == other,
        }
    }
}

/// Why a window refuses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// Later.
    Rate,
    /// More is consumed than it holds.
    Debt,
    /// Never.
    Exceeds,
    /// It is used up.
    Exhausted,
}

/// Names one grant of a [`Window`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Take(usize);

#[derive(Clone, Copy, Debug)]
struct Taken {
    at: u64,
    /// What is left of it.
    cost: u64,
    /// What of it stands before those granted later.
    counted: u64,
    /// Whether the terms were the present ones.
    present_terms: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) number: u64,
    pub(super) dimension: usize,
    pub(super) window_ns: u64,
    pub(super) rule: Option<u64>,
    pub(super) terms: Terms,
    taken: Vec<Taken>,
    /// Buckets: consumed at `at`, in parts of which a token has as many as the window nanoseconds. Fixed windows and
    /// allowances: consumed at `at`.
    level: u128,
    at: u64,
}

impl Window {
    pub(super) const fn new(number: u64, dimension: usize, window_ns: u64, terms: Terms, at: u64) -> Self {
        Self { number, dimension, window_ns, rule: None, terms, taken: Vec::new(), level: 0, at }
    }

    pub(super) fn restarted(&self, number: u64, at: u64) -> Self {
        Self { rule: self.rule, ..Self::new(number, self.dimension, self.window_ns, self.terms, at) }
    }

    /// Another rule, or the same: consumption stays.
    pub(super) fn follow(&mut self, at: u64, rule: u64, terms: Terms, number: u64) {
        self.rule = Some(rule);
        if self.terms == terms {
            return;
        }
        if !self.terms.counts_like(terms) {
            let consumed = self.consumed(at);
            *self = Self::new(number, self.dimension, self.window_ns, terms, at);
            self.rule = Some(rule);
            if consumed > 0 {
                self.take(at, consumed);
            }
            return;
        }
        self.advance(at);
        self.terms = terms;
        self.taken.iter_mut().for_each(|taken| taken.present_terms = false);
        if matches!(terms.strategy, Strategy::Bucket(_)) {
            // A rate counts in the parts that it accrues in: what it consumed is rounded up to these.
            let part = u128::from(gcd(terms.limit, self.window_ns));
            self.level = self.level.div_ceil(part) * part;
        }
    }

    pub(super) fn take(&mut self, now: u64, cost: u64) -> Take {
        self.advance(now);
        self.level += u128::from(cost) * self.parts();
        self.taken.push(Taken { at: now, cost, counted: cost, present_terms: true });
        Take(self.taken.len() - 1)
    }

    pub(super) fn give_back(&mut self, now: u64, Take(place): Take, back: u64) {
        self.advance(now);
        let taken = self.taken[place];
        let back = back.min(taken.cost);
        match self.terms.strategy {
            Strategy::Bucket(_) => {
                let w = u128::from(self.window_ns);
                let later: u128 = self.taken[place + 1..].iter().map(|later| u128::from(later.counted)).sum();
                // First in, first out: what is left of the level and not of later grants is of this one; and it is
                // at least what it took less what accrued since.
                let behind = self.level.saturating_sub(later * w).min(u128::from(taken.cost) * w);
                let accrued = u128::from(now - taken.at) * u128::from(self.terms.limit);
                let unpaid = (u128::from(taken.cost) * w).saturating_sub(accrued);
                let outstanding = behind.max(if taken.present_terms { unpaid } else { 0 });
                let comes = (u128::from(back) * w).min(outstanding);
                self.level = self.level.saturating_sub(comes);
                if later == 0 && comes == u128::from(back) * w {
                    self.taken[place].counted -= back;
                }
            }
            Strategy::Fixed if now / self.window_ns == taken.at / self.window_ns => {
                self.level = self.level.saturating_sub(back.into());
            }
            Strategy::Allowance => self.level = self.level.saturating_sub(back.into()),
            Strategy::Fixed | Strategy::Sliding(_) => {}
        }
        self.taken[place].cost -= back;
    }

    /// Consumed, rounded up.
    pub(super) fn consumed(&self, now: u64) -> u64 {
        u64::try_from(self.level_at(now).div_ceil(self.parts())).unwrap_or(u64::MAX)
    }

    /// Left without overshoot, rounded down.
    pub(super) fn remaining(&self, now: u64) -> u64 {
        let left = (self.terms.capacity() * self.parts()).saturating_sub(self.level_at(now)) / self.parts();
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    pub(super) fn answer(&self, now: u64, cost: u64) -> Result<(), Reason> {
        let (level, parts, capacity) = (self.level_at(now), self.parts(), self.terms.capacity());
        let owing = level > capacity * parts;
        if u128::from(cost) > capacity + self.terms.debt() {
            return Err(Reason::Exceeds);
        }
        let fits = level + u128::from(cost) * parts <= (capacity + self.terms.debt()) * parts;
        match self.terms.strategy {
            _ if fits && !owing => Ok(()),
            Strategy::Allowance => Err(Reason::Exhausted),
            _ if owing => Err(Reason::Debt),
            _ => Err(Reason::Rate),
        }
    }

    /// Parts of a token.
    fn parts(&self) -> u128 {
        if matches!(self.terms.strategy, Strategy::Bucket(_)) { self.window_ns.into() } else { 1 }
    }

    fn advance(&mut self, now: u64) {
        if !matches!(self.terms.strategy, Strategy::Sliding(_)) {
            self.level = self.level_at(now);
        }
        self.at = self.at.max(now);
    }

    fn level_at(&self, now: u64) -> u128 {
        let limit = u128::from(self.terms.limit);
        match self.terms.strategy {
            Strategy::Bucket(_) => self.level.saturating_sub(u128::from(now - self.at) * limit),
            Strategy::Fixed => {
                let edges = now / self.window_ns - self.at / self.window_ns;
                self.level.saturating_sub(u128::from(edges) * limit)
            }
            Strategy::Sliding(slices) => {
                let slice = self.window_ns.div_ceil(u64::from(slices));
                let counts = |taken: &&Taken| now / slice - taken.at / slice <= u64::from(slices);
                self.taken.iter().filter(counts).map(|taken| u128::from(taken.cost)).sum()
            }
            Strategy::Allowance => self.level,
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
