//! A semaphore as two lists: who holds what, and who waits for what.

use crate::Denied;

/// What happens while the first in line does not fit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
    /// Everybody waits for the first.
    Strict,
    /// Others that fit may go before the first, this often, as long as any permit is free.
    Backfill(u32),
}

/// What somebody is told who comes and may wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Came {
    /// Granted at once.
    Granted,
    /// In line, under this number.
    Queued(u64),
    /// Refused.
    Denied(Denied),
}

/// Who leaves the line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Left {
    /// Granted this weight.
    Granted(u64, u64),
    /// Refused.
    Denied(u64, Denied),
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    number: u64,
    weight: u64,
    passed: u32,
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Semaphore {
    /// The limit in force.
    pub limit: u64,
    /// Whether it is closed.
    pub closed: bool,
    rule: Rule,
    room: usize,
    held: Vec<u64>,
    line: Vec<Waiter>,
    next: u64,
}

impl Semaphore {
    /// Nobody holds anything and nobody waits.
    #[must_use]
    pub const fn new(limit: u64, room: usize, rule: Rule) -> Self {
        Self { limit, closed: false, rule, room, held: Vec::new(), line: Vec::new(), next: 0 }
    }

    /// What all hold together.
    #[must_use]
    pub fn in_use(&self) -> u128 {
        self.held.iter().map(|&weight| u128::from(weight)).sum()
    }

    /// The numbers of those who wait, in order.
    #[must_use]
    pub fn line(&self) -> Vec<u64> {
        self.line.iter().map(|waiter| waiter.number).collect()
    }

    /// Somebody comes who will not wait.
    ///
    /// # Errors
    /// Why not.
    pub fn try_acquire(&mut self, weight: u64) -> Result<(), Denied> {
        self.fits(weight)?;
        if !self.line.is_empty() {
            return Err(Denied::NoPermits);
        }
        self.held.push(weight);
        Ok(())
    }

    /// Somebody comes who will wait.
    pub fn acquire(&mut self, weight: u64) -> Came {
        match self.try_acquire(weight) {
            Ok(()) => Came::Granted,
            Err(Denied::NoPermits) if self.line.len() == self.room => Came::Denied(Denied::QueueFull),
            Err(Denied::NoPermits) => {
                let number = self.next;
                self.next += 1;
                self.line.push(Waiter { number, weight, passed: 0 });
                Came::Queued(number)
            }
            Err(denied) => Came::Denied(denied),
        }
    }

    /// Who leaves the line next.
    pub fn poll(&mut self) -> Option<Left> {
        let first = *self.line.first()?;
        match self.fits(first.weight) {
            Ok(()) => Some(self.serve(0)),
            Err(Denied::NoPermits) => {
                let Rule::Backfill(times) = self.rule else { return None };
                if first.passed == times || self.in_use() >= u128::from(self.limit) {
                    return None;
                }
                let place = (1..self.line.len()).find(|&at| self.fits(self.line[at].weight).is_ok())?;
                self.line[0].passed += 1;
                Some(self.serve(place))
            }
            Err(denied) => {
                self.line.remove(0);
                Some(Left::Denied(first.number, denied))
            }
        }
    }

    /// Whoever holds `weight` gives it back. `false` if nobody holds just that.
    pub fn release(&mut self, weight: u64) -> bool {
        let place = self.held.iter().position(|&held| held == weight);
        place.map(|place| self.held.swap_remove(place)).is_some()
    }

    /// Whoever holds `whole` holds it in two parts from now on.
    pub fn split(&mut self, whole: u64, part: u64) {
        assert!(self.release(whole));
        self.held.extend([whole - part, part]);
    }

    /// A waiter leaves. `false` if it does not wait.
    pub fn cancel(&mut self, number: u64) -> bool {
        let place = self.line.iter().position(|waiter| waiter.number == number);
        place.map(|place| self.line.remove(place)).is_some()
    }

    fn fits(&self, weight: u64) -> Result<(), Denied> {
        if self.closed {
            Err(Denied::Closed)
        } else if weight > self.limit {
            Err(Denied::ExceedsLimit)
        } else if self.in_use() + u128::from(weight) > u128::from(self.limit) {
            Err(Denied::NoPermits)
        } else {
            Ok(())
        }
    }

    fn serve(&mut self, place: usize) -> Left {
        let waiter = self.line.remove(place);
        self.held.push(waiter.weight);
        Left::Granted(waiter.number, waiter.weight)
    }
}
