//! The laws of [`Semaphore`], against two lists.
#![cfg(feature = "alloc")]

mod common;

use std::collections::HashMap;

use common::cases;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::Reason;
use tollgate::permit::{Acquire, HeadOfLine, Semaphore, SemaphoreEvent, Ticket, WaiterId};
use tollgate::slots::Heap;
use tollgate_model::Denied;
use tollgate_model::ops::{self, SemaphoreOp};
use tollgate_model::semaphore::{Came, Left, Rule, Semaphore as Oracle};

fn denied(reason: Reason) -> Denied {
    match reason {
        Reason::Closed => Denied::Closed,
        Reason::ExceedsLimit => Denied::ExceedsLimit,
        Reason::NoPermits => Denied::NoPermits,
        Reason::QueueFull => Denied::QueueFull,
        other => panic!("{other:?} from a semaphore"),
    }
}

/// A machine, its oracle, and what the callers hold.
struct Pair {
    machine: Semaphore<Heap>,
    oracle: Oracle,
    tickets: Vec<Ticket>,
    forgotten: u128,
    waiters: Vec<(WaiterId, u64)>,
    /// For each waiter in line, who was ahead when it came, and how often others passed it since.
    ahead: HashMap<u64, (usize, u32)>,
}

impl Pair {
    fn new(limit: u64, room: u32, rule: Rule) -> Self {
        let head_of_line = match rule {
            Rule::Strict => HeadOfLine::Strict,
            Rule::Backfill(max_passes) => HeadOfLine::Backfill { max_passes },
        };
        let machine = Semaphore::new(limit, room, head_of_line).unwrap();
        let oracle = Oracle::new(limit, room as usize, rule);
        Self { machine, oracle, tickets: vec![], forgotten: 0, waiters: vec![], ahead: HashMap::new() }
    }

    fn apply(&mut self, op: SemaphoreOp) -> TestCaseResult {
        match op {
            SemaphoreOp::TryAcquire(weight) => {
                let got = self.machine.try_acquire(weight);
                let expected = self.oracle.try_acquire(weight);
                match got {
                    Ok(ticket) => self.holds(ticket)?,
                    Err(refused) => prop_assert_eq!(Err(denied(refused.reason)), expected),
                }
            }
            SemaphoreOp::Acquire(weight) => {
                let line = self.oracle.line().len();
                match (self.machine.acquire(weight), self.oracle.acquire(weight)) {
                    (Ok(Acquire::Granted(ticket)), Came::Granted) => self.holds(ticket)?,
                    (Ok(Acquire::Queued(id)), Came::Queued(number)) => {
                        self.waiters.push((id, number));
                        self.ahead.insert(number, (line, 0));
                    }
                    (Err(refused), Came::Denied(why)) => prop_assert_eq!(denied(refused.reason), why),
                    (got, expected) => prop_assert!(false, "{got:?} for {expected:?}"),
                }
            }
            SemaphoreOp::Poll => {
                self.poll()?;
            }
            SemaphoreOp::Release(which) if !self.tickets.is_empty() => {
                let ticket = self.tickets.swap_remove(which % self.tickets.len());
                prop_assert!(self.oracle.release(ticket.num_permits()));
                prop_assert!(self.machine.release(ticket).is_ok());
            }
            SemaphoreOp::Split(which, weight) if !self.tickets.is_empty() => {
                let number = which % self.tickets.len();
                let whole = self.tickets[number].num_permits();
                match self.tickets[number].split(weight) {
                    Some(part) => {
                        prop_assert_eq!(part.num_permits(), weight);
                        self.oracle.split(whole, weight);
                        self.tickets.push(part);
                    }
                    None => prop_assert!(weight > whole),
                }
            }
            SemaphoreOp::Forget(which) if !self.tickets.is_empty() => {
                let ticket = self.tickets.swap_remove(which % self.tickets.len());
                self.forgotten += u128::from(ticket.num_permits());
                self.machine.forget(ticket);
            }
            SemaphoreOp::Cancel(which) if !self.waiters.is_empty() => {
                let (id, number) = self.waiters[which % self.waiters.len()];
                prop_assert_eq!(self.machine.cancel(id).is_ok(), self.oracle.cancel(number));
                self.ahead.remove(&number);
            }
            SemaphoreOp::SetLimit(limit) => {
                self.machine.set_limit(limit);
                self.oracle.limit = limit;
            }
            SemaphoreOp::Close => {
                self.machine.close();
                self.oracle.closed = true;
            }
            _ => {}
        }
        self.agrees()
    }

    /// Names the next to leave the line, on both; answers whether there was one.
    fn poll(&mut self) -> Result<bool, TestCaseError> {
        let line = self.oracle.line();
        match (self.machine.poll(), self.oracle.poll()) {
            (None, None) => return Ok(false),
            (Some(SemaphoreEvent::Granted(id, ticket)), Some(Left::Granted(number, weight))) => {
                prop_assert_eq!(self.number(id), number);
                prop_assert_eq!(ticket.num_permits(), weight);
                for passed in line.iter().take_while(|&&waiting| waiting != number) {
                    self.ahead.get_mut(passed).unwrap().1 += 1;
                }
                self.ahead.remove(&number);
                self.holds(ticket)?;
            }
            (Some(SemaphoreEvent::Refused(id, refused)), Some(Left::Denied(number, why))) => {
                prop_assert_eq!(self.number(id), number);
                prop_assert_eq!(denied(refused.reason), why);
                self.ahead.remove(&number);
            }
            (got, expected) => prop_assert!(false, "{got:?} for {expected:?}"),
        }
        Ok(true)
    }

    /// Somebody was granted this: not above the limit (I1), not once closed (I4).
    fn holds(&mut self, ticket: Ticket) -> TestCaseResult {
        self.tickets.push(ticket);
        prop_assert!(self.machine.in_use() <= self.machine.limit());
        prop_assert!(!self.machine.is_closed());
        Ok(())
    }

    fn number(&self, id: WaiterId) -> u64 {
        self.waiters.iter().find(|(waiter, _)| *waiter == id).expect("a waiter of ours").1
    }

    fn agrees(&self) -> TestCaseResult {
        self.machine.check_invariants();
        let held: u128 = self.tickets.iter().map(|ticket| u128::from(ticket.num_permits())).sum();
        prop_assert_eq!(u128::from(self.machine.in_use()), held + self.forgotten, "I2: conservation");
        prop_assert_eq!(u128::from(self.machine.in_use()), self.oracle.in_use());
        prop_assert_eq!(self.machine.num_waiters() as usize, self.oracle.line().len());
        prop_assert_eq!(self.machine.limit(), self.oracle.limit);
        prop_assert_eq!(self.machine.is_closed(), self.oracle.closed);
        let free = u128::from(self.oracle.limit).saturating_sub(self.oracle.in_use());
        let nobody = self.oracle.closed || !self.oracle.line().is_empty();
        prop_assert_eq!(u128::from(self.machine.available()), if nobody { 0 } else { free });
        Ok(())
    }

    /// Everybody gives everything back and asks until nobody is left in line.
    fn drain(&mut self) -> TestCaseResult {
        while self.machine.num_waiters() > 0 || !self.tickets.is_empty() {
            let mut moved = self.poll()?;
            if let Some(ticket) = self.tickets.pop() {
                self.oracle.release(ticket.num_permits());
                prop_assert!(self.machine.release(ticket).is_ok());
                moved = true;
            }
            if !moved {
                // Only permits that were forgotten can keep anybody waiting.
                prop_assert!(self.forgotten > 0);
                return Ok(());
            }
        }
        Ok(())
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![Just(Rule::Strict), (0..=4_u32).prop_map(Rule::Backfill)]
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Reports 21 (tokio#8020), 22 (materialize#38509, megaeth#188), 23 (Vector), 24 (embassy#6964, golang/go#37852,
    /// dotnet/runtime#77180), 25 (embassy tombstones), 26, 28 (async-lock#23), 30 (tokio, golang/go#56910).
    #[test]
    fn every_decision_is_that_of_two_naive_lists_and_all_permits_come_back(
        limit in prop_oneof![8 => 0..=8_u64, 1 => ops::edge()],
        room in 0..=6_u32,
        rule in rule(),
        run in ops::semaphore(60),
    ) {
        let mut pair = Pair::new(limit, room, rule);
        for op in run {
            pair.apply(op)?;
        }
        pair.drain()?;
    }

    /// Golang/go#56910: small ones pass a big one, at most (k + 1) · max_passes times for k others ahead when it
    /// came; under Strict never.
    #[test]
    fn nobody_is_passed_more_often_than_the_bound(
        limit in 1..=6_u64,
        rule in rule(),
        run in ops::semaphore(80),
    ) {
        let mut pair = Pair::new(limit, 16, rule);
        let max_passes = match rule {
            Rule::Strict => 0,
            Rule::Backfill(max_passes) => max_passes,
        };
        for op in run {
            pair.apply(op)?;
            for &(ahead, passed) in pair.ahead.values() {
                prop_assert!(passed as usize <= (ahead + 1) * max_passes as usize, "{passed} for {ahead} ahead");
            }
        }
    }

    /// Reports 22, 23: up and down while saturated and queued, never a grant before enough has come back.
    #[test]
    fn after_any_resizing_nothing_is_granted_until_it_fits(
        limits in prop::collection::vec(0..=12_u64, 1..12),
        weights in prop::collection::vec(1..=4_u64, 1..24),
        rule in rule(),
    ) {
        let mut pair = Pair::new(12, 32, rule);
        for weight in weights {
            pair.apply(SemaphoreOp::Acquire(weight))?;
        }
        for limit in limits {
            let before = pair.machine.in_use();
            pair.apply(SemaphoreOp::SetLimit(limit))?;
            while pair.poll()? {}
            prop_assert!(pair.machine.in_use() <= limit.max(before));
            pair.apply(SemaphoreOp::Release(0))?;
            while pair.poll()? {}
            prop_assert!(pair.machine.in_use() <= limit.max(before));
        }
    }
}

#[test]
fn closed_is_absorbing_under_every_operation() {
    // Report 21 (tokio#8020): forgetting permits of a closed semaphore opened it again.
    let mut semaphore = Semaphore::<Heap>::new(3, 8, HeadOfLine::Backfill { max_passes: 9 }).unwrap();
    let (one, two) = (semaphore.try_acquire(1).unwrap(), semaphore.try_acquire(2).unwrap());
    let (Ok(Acquire::Queued(first)), Ok(Acquire::Queued(second))) =
        (semaphore.acquire(3), semaphore.acquire(1))
    else {
        panic!("all are in use")
    };
    semaphore.close();
    semaphore.forget(one);
    semaphore.set_limit(u64::MAX);
    semaphore.cancel(first).unwrap();
    semaphore.release(two).unwrap();
    let Some(SemaphoreEvent::Refused(id, refused)) = semaphore.poll() else { panic!("granted") };
    assert_eq!((id, refused.reason), (second, Reason::Closed));
    assert!(semaphore.poll().is_none() && semaphore.is_closed());
    for weight in [0, 1, u64::MAX] {
        assert_eq!(semaphore.acquire(weight).unwrap_err().reason, Reason::Closed);
        assert_eq!(semaphore.try_acquire(weight).unwrap_err().reason, Reason::Closed);
    }
}
