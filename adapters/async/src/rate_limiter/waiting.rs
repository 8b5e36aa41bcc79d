//! [`Waiting`]: the owner of a place in line; and the line's view of a [`TokenBucket`].

use core::task::Waker;
use core::time::Duration;

use tollgate::rate::{Reservation, TokenBucket};
use tollgate::{Refused, Timestamp};

use super::line::Bucket;
use super::{RateLimiter, State};
use crate::Runtime;
use crate::drive::Look;
use crate::wait::Seat;

/// A place in line, given back when its owner goes away.
pub(super) struct Waiting<'a, R: Runtime> {
    limiter: &'a RateLimiter<R>,
    seat: Option<Seat>,
}

impl<'a, R: Runtime> Waiting<'a, R> {
    pub(super) const fn new(limiter: &'a RateLimiter<R>, seat: Seat) -> Self {
        Self { limiter, seat: Some(seat) }
    }

    pub(super) fn look(&mut self, waker: &Waker, at_least: Timestamp) -> Look<Result<(), Refused>> {
        let Some(seat) = self.seat else { return Look::Until(None) };
        let waker = waker.clone();
        let (seen, _dropped_here) =
            self.limiter.with(at_least, |state, now, _| state.line.look(now, seat, waker));
        match seen {
            Look::Over(answer) => {
                self.seat = None;
                Look::Over(answer.map(|_taken| ()))
            }
            Look::Until(at) => Look::Until(at),
        }
    }
}

impl<R: Runtime> Drop for Waiting<'_, R> {
    fn drop(&mut self) {
        if let Some(seat) = self.seat {
            let _dropped_here = self.limiter.with(Timestamp::ZERO, |State { bucket, line }, now, wakes| {
                line.leave(bucket, now, seat, wakes)
            });
        }
    }
}

impl Bucket for TokenBucket {
    type Taken = Reservation;

    fn reserve(&mut self, now: Timestamp, cost: u64) -> Result<(Timestamp, Reservation), Refused> {
        let taken = Self::reserve(self, now, cost, Duration::MAX)?;
        Ok((taken.ready_at(), taken))
    }

    fn give_back(&mut self, now: Timestamp, taken: Reservation) {
        self.cancel(now, taken);
    }

    fn peek_behind(&self, now: Timestamp, ahead: u64, cost: u64) -> Result<(), Refused> {
        if ahead == 0 {
            return self.peek(now, cost);
        }
        let mut then = self.clone();
        then.charge(now, ahead);
        then.peek(now, cost)
    }
}
