//! The oracle: the same limits and caps, asked one by one, each question undone before the next.

use tollgate::Timestamp;
use tollgate::order::{Rejection, Request};
use tollgate::permit::{InFlight, InFlightTicket};
use tollgate::rate::{Blame, Limits, Session};

pub(crate) struct OneByOne {
    pub(crate) limits: Limits<u64>,
    pub(crate) in_flight: InFlight<u64>,
}

pub(crate) type Held = (Option<Session>, InFlightTicket);

impl OneByOne {
    pub(crate) fn try_admit(
        &mut self,
        now: Timestamp,
        request: &Request<'_, u64>,
    ) -> Result<Held, Rejection> {
        if request.bypass.skips_rates() {
            return Ok((None, self.in_flight.try_acquire(request.slots, request.bypass)?));
        }
        let mut merged: Vec<(_, u64)> = vec![];
        for &(dimension, amount) in request.costs {
            match merged.iter_mut().find(|cost| cost.0 == dimension) {
                Some(cost) => cost.1 += amount,
                None => merged.push((dimension, amount)),
            }
        }
        for &(dimension, amount) in &merged {
            let mut session = self.limits.begin(now, request.owner, request.tier, request.group)?;
            let verdict = self.limits.evaluate(now, &mut session, dimension, amount);
            self.limits.roll_back(now, session, Blame::Nobody);
            verdict?;
        }
        let ticket = self.in_flight.try_acquire(request.slots, request.bypass)?;
        let mut session = self.limits.begin(now, request.owner, request.tier, request.group)?;
        for (dimension, amount) in merged {
            self.limits.evaluate(now, &mut session, dimension, amount).expect("it passed a moment ago");
        }
        Ok((Some(session), ticket))
    }

    pub(crate) fn end(&mut self, now: Timestamp, (session, ticket): Held, blame: Option<Blame>) {
        if let Some(session) = session {
            match blame {
                Some(blame) => self.limits.roll_back(now, session, blame),
                None => self.limits.commit(now, session),
            }
        }
        self.in_flight.release(ticket).expect("its own");
    }
}
