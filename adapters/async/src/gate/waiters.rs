//! [`Waiters`]: who waits for which job, and what they have been told.
//!
//! The core names a job by an index that is free again as soon as the job is over; whoever waits may come much later to be
//! told so. So a future has a place of its own, from the moment it waits until it knows, and a table says which place
//! belongs to a job that is not over.
//!
//! **Invariants.** **I1** a job's index leads to the place whose job it is, as long as somebody there waits for it;
//! **I2** in line are exactly those that were told of a start and have not fetched it, in the order of their starts.
//!
//! **Work** O(1) for each call. **Memory** 4 bytes for each job there can be, and 120 for each of the most that ever waited at
//! once; nothing is allocated below that mark.

use core::task::Waker;
use core::time::Duration;

use tollgate::gate::JobId;
use tollgate::{Reason, Timestamp};

/// A place.
pub(super) type Place = usize;

const NOWHERE: Place = usize::MAX;
const NOBODY: u32 = u32::MAX;

/// What somebody who waits has been told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    Nothing,
    /// It runs since `at`.
    Started {
        at: Timestamp,
        waited: Duration,
    },
    /// It never will.
    Refused {
        reason: Reason,
        waited: Duration,
    },
}

#[derive(Debug)]
struct Waiter {
    job: JobId,
    since: Timestamp,
    told: Told,
    waker: Option<Waker>,
    before: Place,
    after: Place,
}

#[derive(Debug)]
pub(super) struct Waiters {
    places: Vec<Option<Waiter>>,
    free: Vec<Place>,
    of_job: Box<[u32]>,
    /// How many have been told nothing.
    waiting: usize,
    /// Those who have a start to fetch.
    first: Place,
    last: Place,
}

impl Waiters {
    pub(super) fn new(jobs: usize) -> Self {
        let of_job = vec![NOBODY; jobs].into_boxed_slice();
        Self { places: Vec::new(), free: Vec::new(), of_job, waiting: 0, first: NOWHERE, last: NOWHERE }
    }

    /// Somebody waits for a job, who needs no waking until a waker is [left](Self::leave_waker).
    pub(super) fn join(&mut self, job: JobId, since: Timestamp) -> Place {
        let place = self.free.pop().unwrap_or(self.places.len());
        let waiter = Waiter { job, since, told: Told::Nothing, waker: None, before: NOWHERE, after: NOWHERE };
        match self.places.get_mut(place) {
            Some(free) => *free = Some(waiter),
            None => self.places.push(Some(waiter)),
        }
        if let Some(of_job) = self.of_job.get_mut(job.index()) {
            *of_job = u32::try_from(place).unwrap_or(NOBODY);
        }
        self.waiting += 1;
        place
    }

    /// Tells whoever waits for a job, and hands out their waker. `None` for a job for which nobody waits.
    pub(super) fn tell(&mut self, job: JobId, told: Told) -> Option<Option<Waker>> {
        let place = usize::try_from(*self.of_job.get(job.index())?).ok()?;
        let waiter = self.places.get_mut(place)?.as_mut().filter(|waiter| waiter.job == job)?;
        if let Some(of_job) = self.of_job.get_mut(job.index()) {
            *of_job = NOBODY;
        }
        waiter.told = told;
        let waker = waiter.waker.take();
        self.waiting -= 1;
        if let Told::Started { .. } = told {
            self.line_up(place);
        }
        Some(waker)
    }

    /// Tells whoever waits for a job that it made way for a newer one.
    pub(super) fn displace(&mut self, now: Timestamp, job: JobId) -> Option<Option<Waker>> {
        let place = usize::try_from(*self.of_job.get(job.index())?).ok()?;
        let waited = now.saturating_since(self.get(place)?.since);
        self.tell(job, Told::Refused { reason: Reason::Displaced, waited })
    }

    /// The start that has been waiting the longest to be fetched, and since when.
    pub(super) fn oldest_start(&self) -> Option<(Place, JobId, Timestamp)> {
        let waiter = self.get(self.first)?;
        match waiter.told {
            Told::Started { at, .. } => Some((self.first, waiter.job, at)),
            Told::Nothing | Told::Refused { .. } => None,
        }
    }

    /// A start that nobody fetched is taken back.
    pub(super) fn take_back(&mut self, place: Place, now: Timestamp) {
        self.leave_line(place);
        if let Some(waiter) = self.get_mut(place) {
            let waited = now.saturating_since(waiter.since);
            waiter.told = Told::Refused { reason: Reason::DeadlineExceeded, waited };
        }
    }

    /// What somebody has been told.
    pub(super) fn told(&self, place: Place) -> Told {
        self.get(place).map_or(Told::Nothing, |waiter| waiter.told)
    }

    /// Whether waking whoever waits here wakes `waker`.
    pub(super) fn wakes(&self, place: Place, waker: &Waker) -> bool {
        self.get(place).and_then(|waiter| waiter.waker.as_ref()).is_some_and(|left| left.will_wake(waker))
    }

    /// Whoever waits here is woken by this from now on. What woke them until now, to be dropped without the lock.
    pub(super) fn leave_waker(&mut self, place: Place, waker: Waker) -> Option<Waker> {
        match self.get_mut(place) {
            Some(waiter) => waiter.waker.replace(waker),
            None => Some(waker),
        }
    }

    /// Somebody goes away: what they had been told, and a waker to be dropped without the lock.
    pub(super) fn leave(&mut self, place: Place) -> (Told, Option<Waker>) {
        self.leave_line(place);
        let Some(waiter) = self.places.get_mut(place).and_then(Option::take) else {
            return (Told::Nothing, None);
        };
        self.free.push(place);
        if let Told::Nothing = waiter.told {
            self.waiting -= 1;
            if let Some(of_job) = self.of_job.get_mut(waiter.job.index()) {
                *of_job = NOBODY;
            }
        }
        (waiter.told, waiter.waker)
    }

    /// The job for which whoever has this place waits, if they have been told nothing.
    pub(super) fn waits(&self, place: Place) -> Option<JobId> {
        let waiter = self.get(place)?;
        matches!(waiter.told, Told::Nothing).then_some(waiter.job)
    }

    /// Hands out some waker of those who have been told nothing, beginning at a place; and whose it was.
    pub(super) fn any_waker(&mut self, from: Place) -> Option<(Waker, Place)> {
        let (place, waker) = (from..).zip(self.places.get_mut(from..)?).find_map(|(place, waiter)| {
            waiter.as_mut().and_then(|waiter| waiter.waker.take()).map(|waker| (place, waker))
        })?;
        Some((waker, place))
    }

    /// How many have been told nothing.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    fn get(&self, place: Place) -> Option<&Waiter> {
        self.places.get(place)?.as_ref()
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut Waiter> {
        self.places.get_mut(place)?.as_mut()
    }

    fn line_up(&mut self, place: Place) {
        let last = core::mem::replace(&mut self.last, place);
        match self.get_mut(last) {
            Some(last) => last.after = place,
            None => self.first = place,
        }
        if let Some(waiter) = self.get_mut(place) {
            waiter.before = last;
        }
    }

    /// Does nothing for who has no start to fetch.
    fn leave_line(&mut self, place: Place) {
        let Some(waiter) = self.get_mut(place) else { return };
        let Told::Started { .. } = waiter.told else { return };
        let (before, after) = (waiter.before, waiter.after);
        (waiter.before, waiter.after) = (NOWHERE, NOWHERE);
        match self.get_mut(before) {
            Some(before) => before.after = after,
            None => self.first = after,
        }
        match self.get_mut(after) {
            Some(after) => after.before = before,
            None => self.last = before,
        }
    }
}
