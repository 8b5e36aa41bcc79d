//! [`Capacity`]: what jobs take up while they run, as a parameter of the gate.
//!
//! A gate decides who is next; a capacity decides whether there is room. They are separate layers: however much credit
//! a tenant has, nothing starts that does not fit. A capacity is anything with "try to take" and "give back": a plain
//! [`Budget`], [`AtomicPermits`] shared with other threads, a pair of capacities that
//! are taken together or not at all, or a type of your own. Its limit may change at any moment.
//!
//! **Invariants** an implementation keeps: **C1** what [`try_take`](Capacity::try_take) granted is taken until
//! [`give_back`](Capacity::give_back) gets that grant, once; **C2** a refusal takes nothing; **C3** `NoPermits` means
//! "not now", any other reason "never, as the limit is".

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
use core::ops::Deref;

use crate::adapt::Outcome;
use crate::error::Reason;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
use crate::num;
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
use crate::permit::{AtomicPermits, Permit};
use crate::time::Timestamp;

/// How many jobs of one weight fit, were they all alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Room {
    /// On top of what is running.
    pub free: u64,
    /// In all.
    pub total: u64,
}

impl Room {
    /// That of a limit of which `in_use` is taken, for jobs of this weight.
    #[must_use]
    pub fn of(limit: u64, in_use: u64, weight: u64) -> Self {
        match core::num::NonZeroU64::new(weight) {
            Some(core::num::NonZeroU64::MIN) => Self { free: limit.saturating_sub(in_use), total: limit },
            Some(weight) => Self { free: limit.saturating_sub(in_use) / weight, total: limit / weight },
            None => Self { free: if in_use <= limit { u64::MAX } else { 0 }, total: u64::MAX },
        }
    }
}

/// What jobs take up while they run; see the [module](self).
pub trait Capacity {
    /// What a job asks for.
    type Weight: Copy + core::fmt::Debug;
    /// What a running job holds.
    type Grant: core::fmt::Debug;

    /// Takes all of `weight`, or nothing.
    ///
    /// # Errors
    /// [`Reason::NoPermits`] if it does not fit now; any other reason if it can never fit as the limit is.
    fn try_take(&mut self, now: Timestamp, weight: Self::Weight) -> Result<Self::Grant, Reason>;

    /// Takes everything there is, if nothing is in use and there is anything: for a job above the limit, which runs
    /// alone.
    fn try_take_all(&mut self, now: Timestamp) -> Option<Self::Grant>;

    /// Gets a grant back. `outcome` is for capacities that learn from it.
    fn give_back(&mut self, now: Timestamp, grant: Self::Grant, outcome: Outcome);

    /// Whether `weight` would fit if nothing were in use.
    ///
    /// # Errors
    /// Why not: the reason that [`try_take`](Self::try_take) would give.
    fn check(&self, weight: Self::Weight) -> Result<(), Reason>;

    /// How many jobs of this weight fit.
    fn room(&self, weight: Self::Weight) -> Room;
}

/// A weighted budget: what is in use may not exceed the limit.
///
/// ```
/// use tollgate::Timestamp;
/// use tollgate::adapt::Outcome;
/// use tollgate::gate::{Budget, Capacity};
///
/// let now = Timestamp::ZERO;
/// let mut budget = Budget::new(10);
/// let grant = budget.try_take(now, 7)?;
/// budget.set_limit(5); // at once: nothing is granted until enough has come back
/// assert!(budget.try_take(now, 1).is_err());
/// budget.give_back(now, grant, Outcome::Success);
/// assert_eq!((budget.in_use(), budget.limit()), (0, 5));
/// # Ok::<(), tollgate::Reason>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u64,
    in_use: u64,
}

impl Budget {
    /// A budget of `limit`, of which nothing is in use. A limit of 0 starts nothing until it is raised.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { limit, in_use: 0 }
    }

    /// Sets the limit, at once and exactly; what was granted stays granted. O(1).
    pub const fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The limit in force.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// What is in use. Above the limit for a while after the limit was lowered.
    #[must_use]
    pub const fn in_use(&self) -> u64 {
        self.in_use
    }
}

impl Capacity for Budget {
    type Weight = u64;
    type Grant = u64;

    #[inline]
    fn try_take(&mut self, _now: Timestamp, weight: u64) -> Result<u64, Reason> {
        self.check(weight)?;
        let in_use = self.in_use.checked_add(weight).filter(|&in_use| in_use <= self.limit);
        self.in_use = in_use.ok_or(Reason::NoPermits)?;
        Ok(weight)
    }

    fn try_take_all(&mut self, _now: Timestamp) -> Option<u64> {
        if self.in_use > 0 || self.limit == 0 {
            return None;
        }
        self.in_use = self.limit;
        Some(self.limit)
    }

    #[inline]
    fn give_back(&mut self, _now: Timestamp, grant: u64, _outcome: Outcome) {
        self.in_use = self.in_use.saturating_sub(grant);
    }

    #[inline]
    fn check(&self, weight: u64) -> Result<(), Reason> {
        if weight > self.limit { Err(Reason::ExceedsLimit) } else { Ok(()) }
    }

    #[inline]
    fn room(&self, weight: u64) -> Room {
        Room::of(self.limit, self.in_use, weight)
    }
}

/// [`AtomicPermits`] as the capacity of a gate, through any pointer to them (`&`, `Arc`, `&'static`).
///
/// The permits may be shared with other gates and threads. They take them when they come: poll the gate after any of
/// them gave permits back. A gate that is dropped gives back what its jobs hold.
#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
#[derive(Clone, Debug)]
pub struct Permits<P>(pub P);

#[cfg(any(target_has_atomic = "64", feature = "portable-atomic"))]
impl<P: Deref<Target = AtomicPermits> + Clone> Capacity for Permits<P> {
    type Weight = u32;
    type Grant = Permit<P>;

    #[inline]
    fn try_take(&mut self, _now: Timestamp, weight: u32) -> Result<Permit<P>, Reason> {
        AtomicPermits::try_acquire_owned(self.0.clone(), weight).map_err(|refused| refused.reason)
    }

    fn try_take_all(&mut self, _now: Timestamp) -> Option<Permit<P>> {
        let limit = self.0.limit();
        if limit == 0 || self.0.in_use() > 0 {
            return None;
        }
        AtomicPermits::try_acquire_owned(self.0.clone(), limit).ok()
    }

    #[inline]
    fn give_back(&mut self, _now: Timestamp, grant: Permit<P>, _outcome: Outcome) {
        drop(grant);
    }

    #[inline]
    fn check(&self, weight: u32) -> Result<(), Reason> {
        if self.0.is_closed() {
            Err(Reason::Closed)
        } else if weight > self.0.limit() {
            Err(Reason::ExceedsLimit)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn room(&self, weight: u32) -> Room {
        let (limit, in_use) = (self.0.limit(), self.0.in_use());
        Room::of(num::from_u32(limit), num::from_u32(in_use), num::from_u32(weight))
    }
}

/// Both, or neither: execution slots and memory, connections and bandwidth.
///
/// If the second has no room, what was taken of the first is given back with [`Outcome::Ignored`]; where the first is
/// shared with other threads, they may see it taken for that moment.
impl<A: Capacity, B: Capacity> Capacity for (A, B) {
    type Weight = (A::Weight, B::Weight);
    type Grant = (A::Grant, B::Grant);

    fn try_take(&mut self, now: Timestamp, weight: Self::Weight) -> Result<Self::Grant, Reason> {
        // What can never fit is known before anything is taken, and is the reason even if the other has no room now.
        self.check(weight)?;
        let first = self.0.try_take(now, weight.0)?;
        match self.1.try_take(now, weight.1) {
            Ok(second) => Ok((first, second)),
            Err(reason) => {
                self.0.give_back(now, first, Outcome::Ignored);
                Err(reason)
            }
        }
    }

    fn try_take_all(&mut self, now: Timestamp) -> Option<Self::Grant> {
        let first = self.0.try_take_all(now)?;
        let Some(second) = self.1.try_take_all(now) else {
            self.0.give_back(now, first, Outcome::Ignored);
            return None;
        };
        Some((first, second))
    }

    fn give_back(&mut self, now: Timestamp, grant: Self::Grant, outcome: Outcome) {
        self.0.give_back(now, grant.0, outcome);
        self.1.give_back(now, grant.1, outcome);
    }

    fn check(&self, weight: Self::Weight) -> Result<(), Reason> {
        self.0.check(weight.0)?;
        self.1.check(weight.1)
    }

    fn room(&self, weight: Self::Weight) -> Room {
        let (first, second) = (self.0.room(weight.0), self.1.room(weight.1));
        Room { free: first.free.min(second.free), total: first.total.min(second.total) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::ZERO;

    #[test]
    fn all_of_a_budget_is_taken_only_if_none_of_it_is_in_use() {
        let mut budget = Budget::new(7);
        assert_eq!(budget.limit(), 7);
        let one = budget.try_take(NOW, 1).unwrap();
        assert!(budget.try_take_all(NOW).is_none());
        budget.give_back(NOW, one, Outcome::Success);
        assert!(budget.try_take_all(NOW).is_some());
        assert_eq!(budget.in_use(), 7);
        assert!(Budget::new(0).try_take_all(NOW).is_none());
    }

    #[test]
    fn all_of_both_is_taken_or_none_of_either() {
        let mut both = (Budget::new(3), Budget::new(5));
        let all = both.try_take_all(NOW).unwrap();
        assert_eq!((both.0.in_use(), both.1.in_use()), (3, 5));
        both.give_back(NOW, all, Outcome::Success);
        let held = both.1.try_take(NOW, 1).unwrap();
        assert!(both.try_take_all(NOW).is_none());
        assert_eq!((both.0.in_use(), both.1.in_use()), (0, 1));
        both.1.give_back(NOW, held, Outcome::Success);
        assert!(both.try_take_all(NOW).is_some());
    }
}
