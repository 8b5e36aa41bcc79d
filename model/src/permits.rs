//! Permits as the list of those that exist.

use crate::Denied;

/// The oracle; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Permits {
    /// The limit in force.
    pub limit: u32,
    /// Whether it is closed.
    pub closed: bool,
    /// Whether waiters are announced.
    pub waiters: bool,
    held: Vec<u32>,
}

impl Permits {
    /// Nobody holds anything.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { limit, ..Self::default() }
    }

    /// What all hold together.
    #[must_use]
    pub fn in_use(&self) -> u64 {
        self.held.iter().map(|&weight| u64::from(weight)).sum()
    }

    /// Somebody comes; a waiter may come past the announcement.
    ///
    /// # Errors
    /// Why not.
    pub fn acquire(&mut self, weight: u32, is_waiter: bool) -> Result<(), Denied> {
        if self.closed {
            Err(Denied::Closed)
        } else if weight > self.limit {
            Err(Denied::ExceedsLimit)
        } else if (self.waiters && !is_waiter) || self.in_use() + u64::from(weight) > u64::from(self.limit) {
            Err(Denied::NoPermits)
        } else {
            self.held.push(weight);
            Ok(())
        }
    }

    /// Somebody comes who announces that it waits, if it has to.
    ///
    /// # Errors
    /// Why waiting is of no use.
    pub fn acquire_or_announce(&mut self, weight: u32) -> Result<bool, Denied> {
        match self.acquire(weight, false) {
            Ok(()) => Ok(true),
            Err(Denied::NoPermits) => {
                self.waiters = true;
                Ok(false)
            }
            Err(denied) => Err(denied),
        }
    }

    /// Whoever holds `weight` gives it back.
    ///
    /// # Panics
    /// If nobody holds just that.
    pub fn release(&mut self, weight: u32) {
        let place = self.held.iter().position(|&held| held == weight).expect("held");
        self.held.swap_remove(place);
    }

    /// Whoever holds `whole` holds it in two parts from now on.
    pub fn split(&mut self, whole: u32, part: u32) {
        self.release(whole);
        self.held.extend([whole - part, part]);
    }

    /// Whoever holds these two holds them as one from now on.
    pub fn merge(&mut self, one: u32, other: u32) {
        self.release(one);
        self.release(other);
        self.held.push(one + other);
    }
}
