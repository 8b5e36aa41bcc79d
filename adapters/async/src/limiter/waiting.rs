//! [`Waiting`]: the owner of a place in line.

use core::task::Waker;

use tollgate::Timestamp;
use tollgate::adapt::{Estimator, Refusal, Ticket};

use super::Limiter;
use super::lines::Place;
use crate::Runtime;
use crate::drive::Look;

/// A place in line, given back when its owner goes away.
pub(super) struct Waiting<'a, E: Estimator, R: Runtime> {
    limiter: &'a Limiter<E, R>,
    place: Option<Place>,
}

impl<'a, E: Estimator, R: Runtime> Waiting<'a, E, R> {
    pub(super) const fn new(limiter: &'a Limiter<E, R>, place: Place) -> Self {
        Self { limiter, place: Some(place) }
    }

    pub(super) fn look(&mut self, waker: &Waker, at_least: Timestamp) -> Look<Result<Ticket, Refusal>> {
        let Some(place) = self.place else { return Look::Until(None) };
        let waker = waker.clone();
        let (seen, _dropped_here) =
            self.limiter.with(at_least, |lines, now, wakes| lines.look(now, place, waker, wakes));
        if let Look::Over(_) = seen {
            self.place = None;
        }
        seen
    }
}

impl<E: Estimator, R: Runtime> Drop for Waiting<'_, E, R> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            let _dropped_here =
                self.limiter.with(Timestamp::ZERO, |lines, now, wakes| lines.leave(now, place, wakes));
        }
    }
}
