//! Shares of one limit as a list of what is held, and by whom; everything is added up anew at each question.

use crate::Denied;

/// One, in millionths.
const ONE: u64 = 1_000_000;

/// What a partition gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// Its name.
    pub partition: u32,
    /// Millionths of the limit.
    pub ppm: u32,
    /// How long its refused clients are held back.
    pub pause: u64,
}

/// What a share means at the limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Guarantee {
    /// The total may pass the limit for it; so much for those of no partition.
    Overshoot(u32),
    /// It is kept free.
    Reserved,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    number: u64,
    /// The holder by its number, `None` for the unknown.
    holder: Option<u64>,
    weight: u32,
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Partitions {
    /// The limit in force.
    pub limit: u32,
    guarantee: Guarantee,
    most: usize,
    most_pausing: usize,
    /// Who there is, each with a number that is given once.
    named: Vec<(u64, Share)>,
    ever_named: u64,
    held: Vec<Held>,
    ever_held: u64,
    /// When pauses end.
    pauses: Vec<u64>,
    now: u64,
}

impl Partitions {
    /// Nobody holds anything; `None` if the shares are not valid.
    #[must_use]
    pub fn new(
        limit: u32,
        guarantee: Guarantee,
        shares: &[Share],
        most: usize,
        most_pausing: usize,
    ) -> Option<Self> {
        let mut new = Self {
            limit,
            guarantee,
            most,
            most_pausing,
            named: vec![],
            ever_named: 0,
            held: vec![],
            ever_held: 0,
            pauses: vec![],
            now: 0,
        };
        new.set_shares(guarantee, shares).then_some(new)
    }

    /// Whether these can be the shares, which they are from now on.
    pub fn set_shares(&mut self, guarantee: Guarantee, shares: &[Share]) -> bool {
        let mut names: Vec<_> = shares.iter().map(|share| share.partition).collect();
        names.sort_unstable();
        names.dedup();
        let sum: u64 = shares.iter().map(|share| u64::from(share.ppm)).sum();
        if shares.len() > self.most || names.len() < shares.len() || sum > ONE {
            return false;
        }
        let before = core::mem::take(&mut self.named);
        for &share in shares {
            let known = before.iter().find(|(_, old)| old.partition == share.partition);
            let number = known.map_or(self.ever_named, |&(number, _)| number);
            self.ever_named += u64::from(known.is_none());
            self.named.push((number, share));
        }
        self.guarantee = guarantee;
        true
    }

    /// Somebody comes, for a partition or for none. Names what is held then.
    ///
    /// # Errors
    /// Why not.
    pub fn acquire(&mut self, partition: Option<u32>, weight: u32) -> Result<u64, Denied> {
        if weight > self.limit {
            return Err(Denied::ExceedsLimit);
        }
        if !self.admits(partition, weight) {
            return Err(Denied::NoPermits);
        }
        let holder = self.number(partition);
        self.ever_held += 1;
        self.held.push(Held { number: self.ever_held, holder, weight });
        Ok(self.ever_held)
    }

    /// What was held so comes back.
    ///
    /// # Panics
    /// If nothing is.
    pub fn release(&mut self, number: u64) {
        let place = self.held.iter().position(|held| held.number == number).expect("held");
        self.held.remove(place);
    }

    /// How long somebody is held back who was refused.
    pub fn pause(&mut self, now: u64, partition: Option<u32>) -> Option<u64> {
        let share = self.named.iter().find(|(_, share)| Some(share.partition) == partition)?.1;
        if share.pause == 0 {
            return None;
        }
        self.now = self.now.max(now);
        let now_pausing = self.pauses.iter().filter(|&&ends| ends > self.now).count();
        if now_pausing >= self.most_pausing {
            return None;
        }
        self.pauses.push(self.now.saturating_add(share.pause));
        Some(share.pause)
    }

    /// All that is held.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.held.iter().map(|held| u64::from(held.weight)).sum()
    }

    /// What a partition, or the unknown, holds.
    #[must_use]
    pub fn busy(&self, partition: Option<u32>) -> u64 {
        let holder = self.number(partition);
        self.held.iter().filter(|held| held.holder == holder).map(|held| u64::from(held.weight)).sum()
    }

    /// What a partition, or the unknown, has for sure.
    #[must_use]
    pub fn quota(&self, partition: Option<u32>) -> u32 {
        let place = self.named.iter().position(|(_, share)| Some(share.partition) == partition);
        match (self.guarantee, place) {
            (Guarantee::Overshoot(unknown), None) => unknown,
            (Guarantee::Reserved, None) => 0,
            (Guarantee::Overshoot(_), Some(place)) => {
                let share = f64::from(self.named[place].1.ppm) / 1e6;
                // The reference counts in 31 bits.
                let permits = (f64::from(self.limit) * share).ceil().clamp(1.0, 2_147_483_647.0);
                permits as u32
            }
            (Guarantee::Reserved, Some(place)) => self.quotas()[place],
        }
    }

    /// The shares, in order.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        self.named.iter().map(|&(_, share)| share).collect()
    }

    /// What all have for sure together, the unknown included.
    #[must_use]
    pub fn all_quotas(&self) -> u64 {
        let named = self.named.iter().map(|(_, share)| Some(share.partition));
        named.chain([None]).map(|partition| u64::from(self.quota(partition))).sum()
    }

    fn admits(&self, partition: Option<u32>, weight: u32) -> bool {
        let after = self.in_flight() + u64::from(weight);
        let own = self.busy(partition) + u64::from(weight);
        let (fits, within) = (after <= u64::from(self.limit), own <= u64::from(self.quota(partition)));
        match self.guarantee {
            Guarantee::Overshoot(_) => fits || within,
            Guarantee::Reserved => {
                // If everybody else took the whole of what it has for sure, on top of what is let in now.
                let known = self.number(partition);
                let others = self.named.iter().filter(|&&(number, _)| Some(number) != known);
                let more: u64 = others
                    .map(|(_, share)| Some(share.partition))
                    .map(|other| u64::from(self.quota(other)).saturating_sub(self.busy(other)))
                    .sum();
                fits && (within || after + more <= u64::from(self.limit))
            }
        }
    }

    /// Who is meant, if there is such a partition.
    fn number(&self, partition: Option<u32>) -> Option<u64> {
        self.named.iter().find(|(_, share)| Some(share.partition) == partition).map(|&(number, _)| number)
    }

    /// Whole quotas: everybody's part rounded down, and what is left over to the largest rests, one each.
    fn quotas(&self) -> Vec<u32> {
        let exact: Vec<_> =
            self.named.iter().map(|(_, share)| u64::from(share.ppm) * u64::from(self.limit)).collect();
        let mut quotas: Vec<_> = exact.iter().map(|part| part / ONE).collect();
        let left_over = exact.iter().sum::<u64>() / ONE - quotas.iter().sum::<u64>();
        let mut by_rest: Vec<_> = (0..exact.len()).collect();
        // Stable: of equal rests the first.
        by_rest.sort_by_key(|&place| core::cmp::Reverse(exact[place] % ONE));
        for &place in by_rest.iter().take(left_over as usize) {
            quotas[place] += 1;
        }
        quotas.into_iter().map(|quota| u32::try_from(quota).expect("at most the limit")).collect()
    }
}
