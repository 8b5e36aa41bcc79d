//! A [`TokenBucket`] and its oracle side by side.

use core::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::rate::{Reservation, TokenBucket};
use tollgate::{Reason, Refused};
use tollgate_model::bucket::{Answer, Bucket, Entry, Inherit as ModelInherit, Policy, Quota as ModelQuota};
use tollgate_model::ops::{RateOp, Step};

use super::common::{at, inherit, policy, quota};

#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) when: u64,
    pub(crate) waited: bool,
    pub(crate) cost: u64,
    pub(crate) entry: Entry,
}

#[derive(Clone, Copy)]
pub(crate) struct Grant {
    pub(crate) entry: Entry,
    pub(crate) at: u64,
    pub(crate) left: u64,
    pub(crate) work: usize,
}

/// A machine and its oracle side by side, and the callers' memory.
pub(crate) struct Pair {
    pub(crate) machine: TokenBucket,
    pub(crate) oracle: Bucket,
    pub(crate) now: u64,
    pub(crate) retry_at: Option<u64>,
    /// More was charged than 128 bits can count: nothing is granted any more.
    pub(crate) lost: bool,
    /// Grants to the caller and what is left of them.
    pub(crate) grants: Vec<Grant>,
    pub(crate) open: Vec<(Reservation, usize)>,
    /// Something was given back while a later reservation waited: that one keeps the instant it was told.
    pub(crate) overtaken: bool,
    /// Every grant, when it may act and at what cost. A reservation that has to wait is due at a fraction of a
    /// nanosecond and told the next whole one: an interval that begins with one is longer by that.
    pub(crate) work: Vec<Work>,
}

impl Pair {
    pub(crate) fn new(first: ModelQuota, how: Policy) -> Option<Self> {
        let machine = TokenBucket::with_policy(quota(first), policy(how)).ok()?;
        let oracle = Bucket::new(first, how);
        let (now, retry_at) = (0, None);
        Some(Self {
            machine,
            oracle,
            now,
            retry_at,
            lost: false,
            grants: vec![],
            open: vec![],
            overtaken: false,
            work: vec![],
        })
    }

    pub(crate) fn step(&mut self, step: Step) {
        self.now = step.apply(self.now, self.retry_at);
    }

    /// The machine's answer to an oracle's question; a refusal has to say exactly until when.
    pub(crate) fn judge(&mut self, cost: u64, got: Result<(), Refused>) -> TestCaseResult {
        let latest = self.oracle.clone().observe(self.now);
        if self.lost {
            prop_assert_eq!(got.unwrap_err().retry_at, None);
            return Ok(());
        }
        match (self.oracle.answer(self.now, cost), got) {
            (Answer::Pass, Ok(())) => Ok(()),
            (Answer::Never, Err(refused)) => {
                prop_assert_eq!((refused.reason, refused.retry_at), (Reason::ExceedsCapacity, None));
                Ok(())
            }
            (Answer::Wait, Err(refused)) => {
                prop_assert!(refused.reason.waiting_helps());
                match refused.retry_at.map(|at| at.as_nanos()) {
                    Some(at) => {
                        prop_assert!(at > latest);
                        prop_assert_eq!(self.oracle.answer(at - 1, cost), Answer::Wait, "1 ns before {}", at);
                        prop_assert_eq!(self.oracle.answer(at, cost), Answer::Pass, "at {}", at);
                        self.retry_at = Some(at);
                    }
                    None => prop_assert_eq!(self.oracle.answer(u64::MAX, cost), Answer::Wait),
                }
                Ok(())
            }
            (expected, got) => {
                Err(TestCaseError::fail(format!("cost {cost} at {}: {got:?} for {expected:?}", self.now)))
            }
        }
    }

    pub(crate) fn granted(&mut self, cost: u64) {
        let latest = self.oracle.observe(self.now);
        let entry = self.oracle.take(self.now, cost);
        self.grants.push(Grant { entry, at: self.now, left: cost, work: self.work.len() });
        self.work.push(Work { when: latest, waited: false, cost, entry });
    }

    /// One operation, on both; only those that give nothing back.
    pub(crate) fn grant(&mut self, op: RateOp) -> TestCaseResult {
        let now = at(self.now);
        match op {
            RateOp::Acquire(cost) => {
                let got = self.machine.try_acquire(now, cost);
                self.judge(cost, got)?;
                self.oracle.observe(self.now);
                if got.is_ok() {
                    self.granted(cost);
                }
            }
            RateOp::UpTo(most) => {
                let expected = if self.lost { 0 } else { self.oracle.available(self.now).min(most) };
                prop_assert_eq!(self.machine.acquire_up_to(now, most), expected);
                self.granted(expected);
            }
            RateOp::Peek(cost) => {
                let before = self.machine.clone();
                let got = self.machine.peek(now, cost);
                self.judge(cost, got)?;
                prop_assert_eq!(&self.machine, &before);
            }
            RateOp::Charge(cost) => {
                self.machine.charge(now, cost);
                self.oracle.take(self.now, cost);
                self.lost |= !self.oracle.fits_128_bits();
            }
            RateOp::Reserve(cost, wait) => {
                self.oracle.observe(self.now);
                if let Some((reservation, entry)) = self.reserve(cost, Duration::from_nanos(wait))? {
                    let when = reservation.ready_at().as_nanos();
                    let waited = when > self.oracle.observe(0);
                    self.open.push((reservation, self.work.len()));
                    self.work.push(Work { when, waited, cost, entry });
                }
            }
            _ => unreachable!("{op:?}"),
        }
        self.agrees()
    }

    pub(crate) fn reserve(
        &mut self,
        cost: u64,
        max_wait: Duration,
    ) -> Result<Option<(Reservation, Entry)>, TestCaseError> {
        let now = at(self.now);
        let latest = self.oracle.observe(self.now);
        let mut ahead = self.machine.clone();
        match self.machine.reserve(now, cost, max_wait) {
            Ok(reservation) => {
                let ready = reservation.ready_at().as_nanos();
                prop_assert_eq!(self.oracle.answer(ready, cost), Answer::Pass);
                prop_assert!(ready == latest || self.oracle.answer(ready - 1, cost) == Answer::Wait);
                prop_assert!(u128::from(ready - latest) <= max_wait.as_nanos());
                Ok(Some((reservation, self.oracle.take(self.now, cost))))
            }
            Err(refused) => {
                // golang/go#52584: a refused reserve changes nothing but the clock.
                prop_assert!(ahead.acquire_up_to(now, 0) == 0 && ahead == self.machine);
                let mut granted = self.oracle.clone();
                granted.take(self.now, cost);
                if self.lost || !granted.fits_128_bits() {
                    return Ok(None);
                }
                let as_acquire = self.machine.peek(now, cost).unwrap_err();
                prop_assert_eq!(refused.reason, as_acquire.reason);
                match refused.retry_at {
                    Some(retry_at) => {
                        let mut late = self.machine.clone();
                        let mut early = self.machine.clone();
                        let before = at(retry_at.as_nanos() - 1);
                        prop_assert!(early.reserve(before, cost, max_wait).is_err());
                        prop_assert!(late.reserve(retry_at, cost, max_wait).is_ok());
                        self.retry_at = Some(retry_at.as_nanos());
                    }
                    None => prop_assert_eq!(as_acquire.retry_at, None),
                }
                Ok(None)
            }
        }
    }

    /// One operation, on both; those that give something back may do less than they should, never more.
    pub(crate) fn any(&mut self, op: RateOp) -> TestCaseResult {
        let now = at(self.now);
        match op {
            RateOp::Acquire(cost) => {
                let got = self.machine.try_acquire(now, cost);
                self.judge_leniently(cost, got)?;
                self.oracle.observe(self.now);
                if got.is_ok() {
                    self.granted(cost);
                }
            }
            RateOp::UpTo(most) => {
                let taken = self.machine.acquire_up_to(now, most);
                prop_assert!(taken <= self.oracle.available(self.now));
                self.granted(taken);
            }
            RateOp::Peek(cost) => {
                let got = self.machine.peek(now, cost);
                self.judge_leniently(cost, got)?;
            }
            RateOp::Charge(cost) => {
                self.machine.charge(now, cost);
                self.oracle.take(self.now, cost);
                self.lost |= !self.oracle.fits_128_bits();
            }
            RateOp::Reserve(cost, wait) => {
                let latest = self.oracle.observe(self.now);
                if let Ok(reservation) = self.machine.reserve(now, cost, Duration::from_nanos(wait)) {
                    let when = reservation.ready_at().as_nanos();
                    prop_assert_eq!(self.oracle.answer(when, cost), Answer::Pass);
                    let entry = self.oracle.take(self.now, cost);
                    self.open.push((reservation, self.work.len()));
                    self.work.push(Work { when, waited: when > latest, cost, entry });
                }
            }
            RateOp::Cancel(which) => self.settle(which, 0),
            RateOp::Settle(which, actual) => self.settle(which, actual),
            RateOp::Refund(which, most) => self.refund(which, most),
            RateOp::SetQuota(new, how) => {
                if self.machine.set_quota(now, quota(new), inherit(how)).is_ok() {
                    self.oracle.set_quota(self.now, new, how);
                    self.lost &= how != ModelInherit::Reset;
                    self.lost |= !self.oracle.fits_128_bits();
                }
            }
        }
        Ok(())
    }

    pub(crate) fn settle(&mut self, which: usize, actual: u64) {
        if self.open.is_empty() {
            return;
        }
        let (reservation, work) = self.open.remove(which % self.open.len());
        let latest = self.oracle.observe(self.now);
        let cost = reservation.cost();
        self.machine.settle(at(self.now), reservation, actual);
        self.oracle.amend(self.work[work].entry, actual.min(cost));
        self.work[work].cost = actual.min(cost);
        if actual > cost {
            self.oracle.take(self.now, actual - cost);
            self.lost |= !self.oracle.fits_128_bits();
        }
        self.overtaken |= actual < cost && self.work[work..].iter().any(|later| later.when > latest);
    }

    pub(crate) fn refund(&mut self, which: usize, most: u64) {
        if self.grants.is_empty() {
            return;
        }
        let number = which % self.grants.len();
        let grant = &mut self.grants[number];
        let cost = most.min(grant.left);
        grant.left -= cost;
        self.machine.refund(at(self.now), cost, at(grant.at));
        self.oracle.amend(grant.entry, grant.left);
        self.work[grant.work].cost = grant.left;
        let latest = self.oracle.observe(self.now);
        self.overtaken |= cost > 0 && self.work.iter().any(|later| later.when > latest);
    }

    /// The machine may refuse what the oracle would grant, never the other way; and what it says of its own retry
    /// holds.
    pub(crate) fn judge_leniently(&mut self, cost: u64, got: Result<(), Refused>) -> TestCaseResult {
        if let Err(Refused { retry_at, .. }) = got {
            if let Some(retry_at) = retry_at {
                prop_assert!(self.machine.peek(retry_at, cost).is_ok());
                prop_assert!(self.machine.peek(at(retry_at.as_nanos() - 1), cost).is_err());
            }
            self.retry_at = retry_at.map(|at| at.as_nanos());
            return Ok(());
        }
        prop_assert_eq!(self.oracle.answer(self.now, cost), Answer::Pass, "cost {} at {}", cost, self.now);
        Ok(())
    }

    /// What the machine says of itself is what the oracle says of it.
    pub(crate) fn agrees(&self) -> TestCaseResult {
        let state = self.machine.state(at(self.now));
        if self.lost {
            prop_assert_eq!((state.available, state.full_at), (0, None));
            return Ok(());
        }
        prop_assert_eq!(state.available, self.oracle.available(self.now));
        prop_assert_eq!(state.available, self.machine.available(at(self.now)));
        let consumed = u64::try_from(self.oracle.consumed(self.now)).unwrap_or(u64::MAX);
        prop_assert_eq!(state.consumed, consumed);
        match state.full_at.map(|at| at.as_nanos()) {
            Some(full) => {
                prop_assert!(self.oracle.is_full(full));
                let latest = self.oracle.clone().observe(self.now);
                prop_assert!(full == latest || !self.oracle.is_full(full - 1));
            }
            None => prop_assert!(!self.oracle.is_full(u64::MAX)),
        }
        Ok(())
    }

    /// In every interval from one grant to another, no more was granted than burst + rate · time + allowed debt, or,
    /// where a request larger than all that was let through by a full bucket, than that request instead.
    pub(crate) fn rate_law(&self) -> TestCaseResult {
        let mut work: Vec<_> = self.work.iter().filter(|work| work.cost > 0).copied().collect();
        work.sort_by_key(|work| work.when);
        for (number, first) in work.iter().enumerate() {
            // An interval from the beginning holds even for those who keep an instant that could be earlier by now.
            let from = if self.overtaken { 0 } else { first.when - u64::from(first.waited) };
            let (mut sum, mut largest) = (0_u128, 0);
            let beginning = if self.overtaken { 0 } else { number };
            for &Work { when, cost, entry, .. } in &work[beginning..] {
                sum += u128::from(cost);
                largest = largest.max(cost);
                let (mut allowed, scale) = self.oracle.allowed(from, when, entry);
                let alone = &allowed - self.oracle.ceiling(entry) * &scale + &scale * largest;
                allowed = allowed.max(alone);
                prop_assert!(
                    &scale * sum <= allowed,
                    "{sum} from {from} to {when}, allowed are {allowed}/{scale}"
                );
            }
        }
        Ok(())
    }
}
