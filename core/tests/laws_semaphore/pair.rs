//! A [`Semaphore`] and two lists, driven by the same operations.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::Reason;
use tollgate::permit::{Acquire, HeadOfLine, Semaphore, SemaphoreEvent, Ticket, WaiterId};
use tollgate::slots::Heap;
use tollgate_model::Denied;
use tollgate_model::ops::SemaphoreOp;
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
pub(crate) struct Pair {
    pub(crate) machine: Semaphore<Heap>,
    pub(crate) oracle: Oracle,
    tickets: Vec<Ticket>,
    forgotten: u128,
    waiters: Vec<(WaiterId, u64)>,
    /// For each waiter in line, who was ahead when it came, and how often others passed it since.
    pub(crate) ahead: HashMap<u64, (usize, u32)>,
}

impl Pair {
    pub(crate) fn new(limit: u64, room: u32, rule: Rule) -> Self {
        let head_of_line = match rule {
            Rule::Strict => HeadOfLine::Strict,
            Rule::Backfill(max_passes) => HeadOfLine::Backfill { max_passes },
        };
        let machine = Semaphore::new(limit, room, head_of_line).unwrap();
        let oracle = Oracle::new(limit, room as usize, rule);
        Self { machine, oracle, tickets: vec![], forgotten: 0, waiters: vec![], ahead: HashMap::new() }
    }

    pub(crate) fn apply(&mut self, op: SemaphoreOp) -> TestCaseResult {
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
    pub(crate) fn poll(&mut self) -> Result<bool, TestCaseError> {
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
    pub(crate) fn drain(&mut self) -> TestCaseResult {
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
