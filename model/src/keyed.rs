//! A bucket for each key, none of them ever forgotten unless somebody says so, and one that those without a place share.
//!
//! Whether a key may be forgotten is not the oracle's to choose: it is told whom the machine forgot and says whether
//! that one had recovered. Whoever gets a place while the shared bucket is in use begins with a copy of it.

use std::collections::BTreeMap;

use crate::bucket::{Answer, Bucket, Policy, Quota};

/// What the table says to a cost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The bucket's own answer.
    Bucket(Answer),
    /// There is no place for the key.
    Full,
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Keyed {
    quota: Quota,
    capacity: usize,
    held: BTreeMap<u64, Bucket>,
    shared: Option<Bucket>,
    latest: u64,
}

impl Keyed {
    /// Nobody in it; `shares` is whether those without a place share a bucket.
    #[must_use]
    pub fn new(quota: Quota, capacity: usize, shares: bool) -> Self {
        let shared = shares.then(|| Bucket::new(quota, Policy::default()));
        Self { quota, capacity, held: BTreeMap::new(), shared, latest: 0 }
    }

    /// Somebody told it the time: it never goes back. Returns the instant that counts.
    pub fn observe(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// The bucket that decides for `key` at `now`.
    #[must_use]
    pub fn bucket(&self, now: u64, key: u64) -> Option<Bucket> {
        if let Some(bucket) = self.held.get(&key) {
            return Some(bucket.clone());
        }
        match &self.shared {
            Some(shared) if !shared.is_full(now) => Some(shared.clone()),
            _ if self.held.len() < self.capacity || self.shared.is_some() => {
                Some(Bucket::new(self.quota, Policy::default()))
            }
            _ => None,
        }
    }

    /// What it would say to `cost` for `key` at `now`.
    #[must_use]
    pub fn answer(&self, now: u64, key: u64, cost: u64) -> Verdict {
        if cost > self.quota.burst {
            return Verdict::Bucket(Answer::Never);
        }
        self.bucket(now, key).map_or(Verdict::Full, |bucket| Verdict::Bucket(bucket.answer(now, cost)))
    }

    /// Writes down that `cost` was taken for `key` at `now`. `false` if there was no place for it.
    pub fn take(&mut self, now: u64, key: u64, cost: u64) -> bool {
        let now = self.observe(now);
        let Some(mut bucket) = self.bucket(now, key) else { return false };
        if cost == 0 {
            return true;
        }
        bucket.take(now, cost);
        if self.held.contains_key(&key) || self.held.len() < self.capacity {
            self.held.insert(key, bucket);
        } else {
            self.shared = Some(bucket);
        }
        true
    }

    /// Whether `key` has a place.
    #[must_use]
    pub fn holds(&self, key: u64) -> bool {
        self.held.contains_key(&key)
    }

    /// Takes the place of `key` away. Whether it had recovered by `now`.
    pub fn forget(&mut self, now: u64, key: u64) -> bool {
        self.held.remove(&key).is_none_or(|bucket| bucket.is_full(now))
    }

    /// How many have a place.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nobody has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How many that have a place have recovered by `now`.
    #[must_use]
    pub fn recovered(&self, now: u64) -> usize {
        self.held.values().filter(|bucket| bucket.is_full(now)).count()
    }
}
