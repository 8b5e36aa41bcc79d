//! [`Partitions`]: shares of one limit, guaranteed when it is reached.
//!
//! **Problem.** One limit for all traffic lets the least important take what the most important needs. Separate limits
//! waste what one of them does not use. So traffic is divided into partitions, each with a share of one limit.
//!
//! **Rules.** Two, by [`Guarantee`]:
//!
//! * `Overshoot` (the references): below the limit everybody is let in, whatever a partition holds. At the limit a
//!   partition is let in while it holds less than its share, max(1, ⌈limit·share⌉), so the total may pass the limit: by
//!   at most the sum of the shares, if others had filled it first. What belongs to no partition (*unknown*) has `unknown_reserve`
//!   permits at the limit, none in the references' code, one in OpenSearch's documentation.
//! * `Reserved`: the shares are whole quotas that sum to at most the limit (by largest remainder), and what of them is
//!   not used is kept free: i is let in with weight w iff `in_flight` + w ≤ limit, and it stays within its quota, busyᵢ + w ≤
//!   quotaᵢ, or leaves the others theirs, `in_flight` + w + Σⱼ≠ᵢ max(0, quotaⱼ − busyⱼ) ≤ limit. The total never
//!   passes the limit, and nobody who stays within its quota is ever refused for others; what is reserved and idle is the price.
//!   When the limit is lowered or the shares change, what runs is not stopped: until enough of it has ended, quotas are
//!   served first come, first served, below the limit.
//!
//! **Delayed refusal.** A partition may ask that its refused clients be held back for a while before they are told. That
//! costs the server a held request each, so at most `max_pausing` at once; the rest are told at once.
//!
//! **Source.** `AbstractPartitionedLimiter` of Netflix concurrency-limits, with the unknown pool as in OpenSearch; `Overshoot`
//! equals it operation for operation. The shares are in millionths, so that sums can be compared; a product with the
//! limit is taken in `f64` as the reference does, for ⌈100·0.07⌉ is 8 there.
//!
//! **What is held** names its holder by a number that is given once. A partition that is removed and comes back is another
//! one: what was let in before still counts in the total, and comes back there.
//!
//! **Invariants.** **I1** `in_flight` is the sum of what the partitions, those that are gone and the unknown hold; **I2** with `Reserved`, quotas sum to at most the limit; **I3** with `Reserved`, nothing is
//! let in beyond the limit.
//!
//! **Work** O(partitions) to be let in and out, O(partitions²) for a new limit. **Memory** some 40 bytes a partition.

mod held;
mod pauses;

use core::time::Duration;

pub use self::held::Held;
use self::pauses::Pauses;
use crate::error::{ConfigError, Reason, Rules, Stale};
use crate::num;
use crate::slots::{Buffer, Storage};
use crate::time::Timestamp;

/// One, in millionths.
const ONE_PPM: u32 = 1_000_000;

/// A partition: any number that stands for it, chosen by the caller.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PartitionId(pub u32);

/// What a partition gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Which partition.
    pub partition: PartitionId,
    /// Its share of the limit, millionths.
    pub share_ppm: u32,
    /// How long its refused clients are to be held back; zero to tell them at once.
    pub pause: Duration,
}

/// What a share means when the limit is reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Guarantee {
    /// It is kept by letting the total pass the limit; at least one permit each.
    Overshoot {
        /// Permits that traffic of no partition has at the limit.
        unknown_reserve: u32,
    },
    /// It is kept free, and the total never passes the limit.
    Reserved,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    share: Share,
    /// Its own for good, whatever partition of this name comes after it.
    number: u64,
    busy: u64,
    /// Permits it has for sure.
    quota: u32,
}

/// Shares of one limit; see the [module](self).
///
/// ```
/// use core::time::Duration;
/// use tollgate::Timestamp;
/// use tollgate::adapt::{Guarantee, PartitionId, Partitions, Share};
/// use tollgate::slots::Inline;
///
/// let (live, batch) = (PartitionId(1), PartitionId(2));
/// let share = |partition, share_ppm| Share { partition, share_ppm, pause: Duration::ZERO };
/// let shares = [share(live, 700_000), share(batch, 300_000)];
/// let mut partitions = Partitions::<Inline<4>>::new(10, Guarantee::Reserved, &shares, 4, 4)?;
///
/// for _ in 0..3 {
///     assert!(partitions.try_acquire(Some(batch), 1).is_ok());
/// }
/// assert!(partitions.try_acquire(Some(batch), 1).is_err(), "the other seven are live's");
/// for _ in 0..7 {
///     assert!(partitions.try_acquire(Some(live), 1).is_ok());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Partitions<S: Storage> {
    limit: u32,
    guarantee: Guarantee,
    parts: S::Buffer<Part>,
    max_partitions: u32,
    /// Partitions that there ever were.
    numbers: u64,
    unknown: u64,
    /// Permits held by partitions that are gone.
    gone: u64,
    in_flight: u64,
    pauses: Pauses<S>,
}

impl<S: Storage> Partitions<S> {
    /// Partitions of `limit` permits, at most `max_partitions` at any time, with at most `max_pausing` pauses at once. No shares: one
    /// limit for all.
    ///
    /// # Errors
    /// As [`set_shares`](Self::set_shares); more than the storage can hold.
    pub fn new(
        limit: u32,
        guarantee: Guarantee,
        shares: &[Share],
        max_partitions: u32,
        max_pausing: u32,
    ) -> Result<Self, ConfigError> {
        let (parts, pauses) = (S::buffer(max_partitions)?, Pauses::new(max_pausing)?);
        let (numbers, unknown, gone, in_flight) = (0, 0, 0, 0);
        let mut new =
            Self { limit, guarantee, parts, max_partitions, numbers, unknown, gone, in_flight, pauses };
        new.set_shares(guarantee, shares)?;
        Ok(new)
    }

    /// Changes the shares and what they mean, at once. What is held stays held: by its partition, if that is among the
    /// new ones; else only the total remembers it. O(partitions²).
    ///
    /// # Errors
    /// More partitions than there is room for, one named twice, shares that sum to more than one. Nothing is changed.
    pub fn set_shares(&mut self, guarantee: Guarantee, shares: &[Share]) -> Result<(), ConfigError> {
        let count = num::index_u32(shares.len());
        let sum = shares.iter().fold(0_u64, |sum, share| sum.saturating_add(share.share_ppm.into()));
        let twice = shares.iter().enumerate().any(|(place, share)| {
            shares.iter().skip(place.saturating_add(1)).any(|other| other.partition == share.partition)
        });
        let mut rules = Rules::new();
        rules.require(count <= self.max_partitions, "partitions", count, "at most max_partitions");
        rules.require(!twice, "partitions", count, "each named once");
        rules.require(
            sum <= ONE_PPM.into(),
            "partitions.share_ppm",
            sum,
            "at most 1000000 millionths together",
        );
        rules.verdict()?;
        self.drop_all_but(shares);
        for (place, share) in shares.iter().enumerate() {
            let at = self.find(Some(share.partition)).unwrap_or_else(|| {
                // There is room: those that are gone are not there any more.
                self.numbers = self.numbers.saturating_add(1);
                let number = self.numbers;
                let _full = self.parts.push(Part { share: *share, number, busy: 0, quota: 0 });
                self.parts.as_ref().len().saturating_sub(1)
            });
            let parts = self.parts.as_mut();
            if place < parts.len() && at < parts.len() {
                parts.swap(place, at);
            }
            if let Some(part) = parts.get_mut(place) {
                part.share = *share;
            }
        }
        self.guarantee = guarantee;
        self.share_out();
        Ok(())
    }

    /// Sets the limit, at once; what was let in stays. O(1) if it is the same, else O(partitions²).
    pub fn set_limit(&mut self, limit: u32) {
        if self.limit != limit {
            self.limit = limit;
            self.share_out();
        }
    }

    /// Lets `weight` in, for a partition or, with `None` or one that there is not, for the unknown.
    ///
    /// # Errors
    /// [`Reason::ExceedsLimit`] above the limit, whatever is free; [`Reason::NoPermits`] if it does not fit now.
    pub fn try_acquire(&mut self, partition: Option<PartitionId>, weight: u32) -> Result<Held, Reason> {
        self.peek(partition, weight)?;
        let place = self.find(partition);
        let permits = num::from_u32(weight);
        self.in_flight = self.in_flight.saturating_add(permits);
        let Some(part) = place.and_then(|place| self.parts.as_mut().get_mut(place)) else {
            self.unknown = self.unknown.saturating_add(permits);
            return Ok(Held { holder: None, weight });
        };
        part.busy = part.busy.saturating_add(permits);
        Ok(Held { holder: Some((part.share.partition, part.number)), weight })
    }

    /// Whether [`try_acquire`](Self::try_acquire) would let `weight` in. Changes nothing. O(partitions).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn peek(&self, partition: Option<PartitionId>, weight: u32) -> Result<(), Reason> {
        if weight > self.limit {
            return Err(Reason::ExceedsLimit);
        }
        let fits = self.admits(self.find(partition), num::from_u32(weight));
        if fits { Ok(()) } else { Err(Reason::NoPermits) }
    }

    /// What was let in comes back.
    ///
    /// # Errors
    /// [`Stale`] if its holder here has not got as much, so it is of others; nothing is changed.
    pub fn release(&mut self, held: Held) -> Result<(), Stale> {
        let Held { holder, weight } = held;
        let permits = num::from_u32(weight);
        let busy = match holder {
            None => &mut self.unknown,
            Some((_, number)) => {
                let part = self.parts.as_mut().iter_mut().find(|part| part.number == number);
                part.map_or(&mut self.gone, |part| &mut part.busy)
            }
        };
        *busy = busy.checked_sub(permits).ok_or(Stale)?;
        self.in_flight = self.in_flight.saturating_sub(permits);
        Ok(())
    }

    /// How long a client of this partition that was refused at `now` is to be held back before it is told; `None` for not at
    /// all, or because too many are. A `now` earlier than one before counts as that. O(`max_pausing`) where there is a
    /// pause.
    pub fn pause(&mut self, now: Timestamp, partition: Option<PartitionId>) -> Option<Duration> {
        let pause = self.find(partition).and_then(|place| self.parts.as_ref().get(place))?.share.pause;
        (!pause.is_zero() && self.pauses.begin(now, pause)).then_some(pause)
    }

    /// The limit in force.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Permits held now.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Permits that a partition, or with `None` or one that there is not the unknown, holds.
    #[must_use]
    pub fn busy_of(&self, partition: Option<PartitionId>) -> u64 {
        self.busy(self.find(partition))
    }

    /// Permits that a partition, or the unknown, has for sure.
    #[must_use]
    pub fn quota_of(&self, partition: Option<PartitionId>) -> u32 {
        self.quota(self.find(partition))
    }

    /// The shares, in the order in which they were given.
    pub fn shares(&self) -> impl Iterator<Item = Share> {
        self.parts.as_ref().iter().map(|part| part.share)
    }

    /// Whether there is room for `weight` at this place.
    fn admits(&self, place: Option<usize>, weight: u64) -> bool {
        let limit = num::from_u32(self.limit);
        let after = self.in_flight.saturating_add(weight);
        let within = self.busy(place).saturating_add(weight) <= num::from_u32(self.quota(place));
        match self.guarantee {
            Guarantee::Overshoot { .. } => after <= limit || within,
            Guarantee::Reserved => after <= limit && (within || self.others_keep(place, after) <= limit),
        }
    }

    /// What is taken, and what the quotas of all but one keep free on top.
    fn others_keep(&self, place: Option<usize>, taken: u64) -> u64 {
        let free = self.parts.as_ref().iter().enumerate().map(|(other, part)| {
            if Some(other) == place { 0 } else { num::from_u32(part.quota).saturating_sub(part.busy) }
        });
        free.fold(taken, u64::saturating_add)
    }

    fn find(&self, partition: Option<PartitionId>) -> Option<usize> {
        let partition = partition?;
        self.parts.as_ref().iter().position(|part| part.share.partition == partition)
    }

    fn busy(&self, place: Option<usize>) -> u64 {
        place.and_then(|place| self.parts.as_ref().get(place)).map_or(self.unknown, |part| part.busy)
    }

    fn quota(&self, place: Option<usize>) -> u32 {
        let unknown = match self.guarantee {
            Guarantee::Overshoot { unknown_reserve } => unknown_reserve,
            Guarantee::Reserved => 0,
        };
        place.and_then(|place| self.parts.as_ref().get(place)).map_or(unknown, |part| part.quota)
    }

    /// Forgets the partitions that are not among these.
    fn drop_all_but(&mut self, shares: &[Share]) {
        let mut place = 0;
        while let Some(part) = self.parts.as_ref().get(place) {
            if shares.iter().any(|share| share.partition == part.share.partition) {
                place = place.saturating_add(1);
                continue;
            }
            self.gone = self.gone.saturating_add(part.busy);
            let last = self.parts.pop();
            if let (Some(last), Some(gone)) = (last, self.parts.as_mut().get_mut(place)) {
                *gone = last;
            }
        }
    }

    /// Works the quotas out anew.
    fn share_out(&mut self) {
        let limit = self.limit;
        match self.guarantee {
            Guarantee::Overshoot { .. } => {
                for part in self.parts.as_mut() {
                    // As the reference: in f64, rounded up, at least 1.
                    let share = f64::from(part.share.share_ppm) / f64::from(ONE_PPM);
                    let permits = num::ceil_i32(f64::from(limit) * share);
                    part.quota = permits.unsigned_abs().max(1);
                }
            }
            Guarantee::Reserved => self.share_out_whole(),
        }
    }

    /// Largest remainder: everybody gets its share rounded down, then those with the largest rests one more each, until
    /// the shares together, rounded down, are given out. Of equal rests the first given.
    fn share_out_whole(&mut self) {
        let whole = core::num::NonZeroU64::new(ONE_PPM.into()).unwrap_or(core::num::NonZeroU64::MIN);
        let limit = num::from_u32(self.limit);
        let parts = self.parts.as_mut();
        let share = |part: &Part| limit.saturating_mul(part.share.share_ppm.into());
        let total = parts.iter().map(share).fold(0, u64::saturating_add) / whole;
        let mut given = 0_u64;
        for part in parts.iter_mut() {
            part.quota = num::clamp_u32(share(part) / whole);
            given = given.saturating_add(part.quota.into());
        }
        let rounded_down = |part: &Part| u64::from(part.quota).saturating_mul(whole.get()) <= share(part);
        while given < total {
            let rest =
                |part: &Part| share(part).saturating_sub(u64::from(part.quota).saturating_mul(whole.get()));
            let waiting = parts.iter().enumerate().filter(|(_, part)| rounded_down(part));
            let next = waiting.max_by_key(|&(place, part)| (rest(part), core::cmp::Reverse(place)));
            let Some((place, _)) = next else { return };
            if let Some(part) = parts.get_mut(place) {
                part.quota = part.quota.saturating_add(1);
            }
            given = given.saturating_add(1);
        }
    }

    /// Asserts I1 and I2. O(partitions); for tests and debugging.
    pub fn check_invariants(&self) {
        let parts = self.parts.as_ref();
        let others = self.unknown.saturating_add(self.gone);
        let held = parts.iter().fold(others, |sum, part| sum.saturating_add(part.busy));
        assert_eq!(held, self.in_flight, "I1: what all hold and what is in flight");
        if self.guarantee == Guarantee::Reserved {
            let quotas = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.quota.into()));
            assert!(
                quotas <= num::from_u32(self.limit),
                "I2: quotas of {quotas} at a limit of {}",
                self.limit
            );
        }
    }
}

impl<S: Storage> core::fmt::Debug for Partitions<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Partitions")
            .field("limit", &self.limit)
            .field("in_flight", &self.in_flight)
            .field("parts", &self.parts.as_ref())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
