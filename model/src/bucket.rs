//! A token bucket that remembers everything and stores no level.
//!
//! What is consumed and not accrued again at an instant is, by definition, the most that any stretch of history up
//! to that instant took beyond what accrued over it. So every question scans the whole history backwards and takes
//! that maximum, in big integers counted in a fraction of a token that every quota of the history divides. A
//! reservation that is cancelled is struck from the history: it never happened.

use num_bigint::BigInt;

/// A rate and a burst.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quota {
    /// Tokens in each period, above 0.
    pub tokens: u64,
    /// The period in nanoseconds, above 0.
    pub per_ns: u64,
    /// What a full bucket holds, above 0.
    pub burst: u64,
}

/// How requests that do not fit are treated.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Policy {
    /// What may be owed after a grant, `None` if nothing may be and a request has to fit what is left.
    pub max_debt: Option<u64>,
    /// Whether a request that could never fit passes a full bucket.
    pub when_full: bool,
}

/// What becomes of the level when the quota changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Inherit {
    /// It stays.
    AsIs,
    /// Its share of the burst stays.
    Proportional,
    /// It is forgotten.
    Reset,
}

/// What a bucket says to a cost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// It passes.
    Pass,
    /// It does not pass now.
    Wait,
    /// It can never pass.
    Never,
}

#[derive(Clone, Copy, Debug)]
struct Era {
    from: u64,
    quota: Quota,
    inherit: Inherit,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    at: u64,
    era: usize,
    cost: u64,
}

/// Names one grant or charge of a [`Bucket`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Entry(usize);

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Bucket {
    policy: Policy,
    eras: Vec<Era>,
    taken: Vec<Taken>,
    latest: u64,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn new(quota: Quota, policy: Policy) -> Self {
        let eras = vec![Era { from: 0, quota, inherit: Inherit::Reset }];
        Self { policy, eras, taken: Vec::new(), latest: 0 }
    }

    /// Somebody told it the time: it never goes back. Returns the instant that counts.
    pub fn observe(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Writes down that `cost` was taken at `now`, granted or charged.
    pub fn take(&mut self, now: u64, cost: u64) -> Entry {
        let at = self.observe(now);
        self.taken.push(Taken { at, era: self.eras.len() - 1, cost });
        Entry(self.taken.len() - 1)
    }

    /// Writes down that the entry cost `cost`; 0 strikes it out.
    pub fn amend(&mut self, entry: Entry, cost: u64) {
        self.taken[entry.0].cost = cost;
    }

    /// Writes down a new quota.
    pub fn set_quota(&mut self, now: u64, quota: Quota, inherit: Inherit) {
        let from = self.observe(now);
        self.eras.push(Era { from, quota, inherit });
    }

    /// The quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.eras[self.eras.len() - 1].quota
    }

    /// What it would say to `cost` at `now`.
    #[must_use]
    pub fn answer(&self, now: u64, cost: u64) -> Answer {
        self.answer_with(now, cost, 0)
    }

    /// What it would say if one token more were consumed.
    #[must_use]
    pub fn answer_with_token_more(&self, now: u64, cost: u64) -> Answer {
        self.answer_with(now, cost, 1)
    }

    fn answer_with(&self, now: u64, cost: u64, more: u64) -> Answer {
        let scale = self.scale();
        let level = self.level(now) + &scale * more;
        let (cost, burst) = (BigInt::from(cost), BigInt::from(self.quota().burst));
        let debt = BigInt::from(self.policy.max_debt.unwrap_or(0));
        let passes = if cost <= &burst + &debt {
            let fits = &level + &cost * &scale <= (&burst + &debt) * &scale;
            fits && (self.policy.max_debt.is_none() || level <= &burst * &scale)
        } else if self.policy.when_full {
            level == BigInt::ZERO
        } else {
            return Answer::Never;
        };
        if passes { Answer::Pass } else { Answer::Wait }
    }

    /// The largest whole number of tokens left at `now`.
    #[must_use]
    pub fn available(&self, now: u64) -> u64 {
        let left = BigInt::from(self.quota().burst) * self.scale() - self.level(now);
        let left = left.max(BigInt::ZERO) / self.scale();
        u64::try_from(left).expect("at most the burst")
    }

    /// The level at `now` in whole tokens, rounded up.
    #[must_use]
    pub fn consumed(&self, now: u64) -> BigInt {
        let scale = self.scale();
        (self.level(now) + &scale - 1) / scale
    }

    /// Whether nothing is left to accrue at `now`.
    #[must_use]
    pub fn is_full(&self, now: u64) -> bool {
        self.level(now) == BigInt::ZERO
    }

    /// The level in units of which the current quota's reduced period makes a token, rounded up: does it fit 128 bits?
    #[must_use]
    pub fn fits_128_bits(&self) -> bool {
        let quota = self.quota();
        let period = quota.per_ns / gcd(quota.tokens, quota.per_ns);
        self.level(self.latest) * period / self.scale() < BigInt::from(u128::MAX)
    }

    /// What the law allows to be granted in `from..=until`, `last` being the last grant in it: the burst in force at
    /// that grant, what may be owed, and what accrued meanwhile, each under its own quota.
    ///
    /// Returned as (allowed, scale): a sum of costs is lawful iff sum · scale ≤ allowed. Holds as long as every change
    /// of the quota carried the level over as it was.
    #[must_use]
    pub fn allowed(&self, from: u64, until: u64, last: Entry) -> (BigInt, BigInt) {
        let scale = self.scale();
        let mut allowed = self.ceiling(last) * &scale;
        for (number, era) in self.eras.iter().enumerate() {
            let end = self.eras.get(number + 1).map_or(until, |next| next.from.min(until));
            allowed += accrued(&scale, era.quota, end.saturating_sub(era.from.max(from)));
        }
        (allowed, scale)
    }

    /// The most that can be consumed just after the grant `last`, in tokens: burst and allowed debt.
    #[must_use]
    pub fn ceiling(&self, last: Entry) -> BigInt {
        BigInt::from(self.eras[self.taken[last.0].era].quota.burst) + self.policy.max_debt.unwrap_or(0)
    }

    /// What is consumed and not accrued again, in parts of which [`scale`](Self::scale) make a token.
    fn level(&self, now: u64) -> BigInt {
        let (now, scale) = (now.max(self.latest), self.scale());
        let mut level = BigInt::ZERO;
        let mut before = None;
        for (number, era) in self.eras.iter().enumerate() {
            match (era.inherit, before) {
                (Inherit::Reset, _) | (_, None) => level = BigInt::ZERO,
                (Inherit::AsIs, _) => {}
                (Inherit::Proportional, Some(Quota { burst, .. })) => level = level * era.quota.burst / burst,
            }
            let until = self.eras.get(number + 1).map_or(now, |next| next.from);
            level = self.worst_stretch(number, level, until, &scale);
            before = Some(era.quota);
        }
        level
    }

    /// The most that any stretch of one era took beyond what accrued, `carried` being taken at its beginning.
    fn worst_stretch(&self, number: usize, carried: BigInt, until: u64, scale: &BigInt) -> BigInt {
        let era = self.eras[number];
        let mut worst = BigInt::ZERO;
        let mut sum = BigInt::ZERO;
        for taken in self.taken.iter().rev().filter(|taken| taken.era == number) {
            sum += scale * taken.cost;
            worst = worst.max(&sum - accrued(scale, era.quota, until - taken.at));
        }
        worst.max(sum + carried - accrued(scale, era.quota, until - era.from))
    }

    /// Parts to a token: what every period divides, and every burst that was scaled by.
    fn scale(&self) -> BigInt {
        let mut scale = BigInt::from(1);
        for (number, era) in self.eras.iter().enumerate() {
            scale *= era.quota.per_ns;
            if era.inherit == Inherit::Proportional && number > 0 {
                scale *= self.eras[number - 1].quota.burst;
            }
        }
        scale
    }
}

fn accrued(scale: &BigInt, quota: Quota, elapsed_ns: u64) -> BigInt {
    scale / quota.per_ns * quota.tokens * elapsed_ns
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
