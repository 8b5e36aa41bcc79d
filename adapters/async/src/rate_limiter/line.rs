//! [`Line`]: who waits for a bucket, and when each is due.
//!
//! **Problem.** Reservations in a bucket are in order and exact, but once told they do not move: whoever is behind one that
//! is cancelled waits for nothing, and what is cancelled out of order comes back only in part.
//!
//! **Design.** Only the first in line has a reservation; of the others the line knows the cost. So a reservation that is
//! cancelled is always the latest of the bucket, which is the case in which the bucket gives back exactly; and whoever
//! leaves from further behind never took anything. When the first becomes due, the next one reserves *as of then*, late
//! as it may be noticed, so nothing accrues to nobody: a nanosecond before, to be exact, since instants are rounded up and
//! within the last of them the level may have fallen to nothing.
//!
//! So while anybody waits the level never falls to nothing, is linear in time and cost, and an instant worked out on arrival (all that is ahead, then this) is the same to the nanosecond as the one that is reserved in the end.
//! That instant, `told`, is what a waiter sets its timer to. Nothing but a change of quota can make it later, and
//! that tells everybody anew. Whoever is due earlier, because somebody ahead has left, learns of it when it becomes the first.
//!
//! So nobody needs anybody else to be polled: at `told` at the latest it is due by its own timer, and whoever comes by
//! first settles what is due for all.
//!
//! **Invariants.** **I1** the first in line, and nobody else, has a reservation; **I2** `ahead` is the cost of the others
//! in line; **I3** everybody in line is told an instant at which it is due or later.
//!
//! **Work** O(1) and what becomes due; [`retell`](Line::retell) O(waiters).

use core::task::Waker;
use core::time::Duration;

use tollgate::{Reason, Refused, Timestamp};

use crate::drive::Look;
use crate::wait::WakeList;
use crate::wait::{Roster, Seat};

/// A bucket as a line sees it. All of it O(1).
pub(crate) trait Bucket {
    /// What was taken ahead of its time.
    type Taken;

    /// Takes `cost`, and says when it is due.
    fn reserve(&mut self, now: Timestamp, cost: u64) -> Result<(Timestamp, Self::Taken), Refused>;
    /// Gives back what was taken: all of it if it is the latest that was taken and not due, else what time has not.
    fn give_back(&mut self, now: Timestamp, taken: Self::Taken);
    /// Whether `cost` would pass at `now` after `ahead` was taken.
    fn peek_behind(&self, now: Timestamp, ahead: u64, cost: u64) -> Result<(), Refused>;
}

struct Waiter<T> {
    cost: u64,
    /// It need not be due any later than this.
    deadline: Timestamp,
    told: Timestamp,
    waker: Option<Waker>,
    answer: Option<Result<T, Refused>>,
}

/// The line of a bucket of which `T` is taken.
pub(crate) struct Line<T> {
    roster: Roster<Waiter<T>>,
    /// When the first in line is due, and what it has reserved.
    first: Option<(Timestamp, T)>,
    ahead: u64,
    most: usize,
}

impl<T> Line<T> {
    /// An empty line for at most so many.
    pub(crate) const fn new(most: usize) -> Self {
        Self { roster: Roster::new(), first: None, ahead: 0, most }
    }

    /// Time has come to `now`: whoever is due by then is granted.
    pub(crate) fn settle(
        &mut self,
        bucket: &mut impl Bucket<Taken = T>,
        now: Timestamp,
        wakes: &mut WakeList,
    ) {
        while let Some((due, taken)) = self.first.take_if(|&mut (due, _)| due <= now) {
            self.answer_first(Ok(taken), now, wakes);
            self.promote(bucket, due.saturating_sub(Duration::from_nanos(1)), wakes);
        }
    }

    /// Asks for `cost` by `deadline`: granted (`None`), or a place in line. The line is settled.
    pub(crate) fn join(
        &mut self,
        bucket: &mut impl Bucket<Taken = T>,
        now: Timestamp,
        cost: u64,
        deadline: Timestamp,
    ) -> Result<Option<Seat>, Refused> {
        let told = match self.peek(bucket, now, cost) {
            Ok(()) => now,
            Err(Refused { retry_at: Some(due), .. }) if due <= deadline => due,
            Err(refused) => return Err(refused),
        };
        let at_once = told <= now && self.roster.len() == 0;
        if !at_once && self.roster.len() >= self.most {
            return Err(Refused::because(Reason::QueueFull));
        }
        if self.roster.len() > 0 {
            let first = self.first_cost().unwrap_or(0);
            let ahead = self.ahead.checked_add(cost).filter(|ahead| ahead.checked_add(first).is_some());
            self.ahead = ahead.ok_or(Refused::because(Reason::RateExceeded))?;
        } else {
            let first = bucket.reserve(now, cost)?;
            if at_once {
                return Ok(None);
            }
            self.first = Some(first);
        }
        Ok(Some(self.roster.join(Waiter { cost, deadline, told, waker: None, answer: None })))
    }

    /// Whether `cost` would be granted at `now`, behind all who wait. The line is settled.
    pub(crate) fn peek(
        &self,
        bucket: &impl Bucket<Taken = T>,
        now: Timestamp,
        cost: u64,
    ) -> Result<(), Refused> {
        bucket.peek_behind(now, self.ahead, cost)
    }

    /// How it stands with one who waits; its place is free once it has been told. The line is settled. What is returned
    /// beside is to be dropped outside of the lock.
    pub(crate) fn look(
        &mut self,
        now: Timestamp,
        seat: Seat,
        waker: Waker,
    ) -> (Look<Result<T, Refused>>, [Option<Waker>; 2]) {
        let is_first = self.roster.first() == Some(seat);
        let first = self.first.as_ref().map(|&(due, _)| due);
        if self.roster.get(seat).is_some_and(|waiter| waiter.answer.is_some())
            && let Some(Waiter { answer: Some(answer), waker: old, .. }) = self.roster.remove(seat)
        {
            return (Look::Over(answer), [old, Some(waker)]);
        }
        // Always there: only its owner gives the place back, and looks no more.
        let Some(waiter) = self.roster.get_mut(seat) else { return (Look::Until(None), [None, Some(waker)]) };
        // Who was told too early, which a bucket that others take from may do, looks again when the first is due.
        waiter.told = first.filter(|_| is_first || waiter.told <= now).unwrap_or(waiter.told);
        (Look::Until(Some(waiter.told)), [waiter.waker.replace(waker), None])
    }

    /// One who waits, or has not fetched what it was granted, goes away. The line is settled. What is returned is to be
    /// dropped outside of the lock.
    pub(crate) fn leave(
        &mut self,
        bucket: &mut impl Bucket<Taken = T>,
        now: Timestamp,
        seat: Seat,
        wakes: &mut WakeList,
    ) -> Option<Waker> {
        if self.roster.first() == Some(seat) {
            self.unreserve(bucket, now);
        }
        let waiter = self.roster.remove(seat)?;
        match waiter.answer {
            None => self.ahead = self.ahead.saturating_sub(waiter.cost),
            Some(Ok(taken)) => {
                // What was taken later must not stand between.
                self.unreserve(bucket, now);
                bucket.give_back(now, taken);
            }
            Some(Err(_)) => {}
        }
        self.promote(bucket, now, wakes);
        self.settle(bucket, now, wakes);
        waiter.waker
    }

    /// Changes the bucket under those who wait, and tells all of them anew when they are due; who can never be, or not by
    /// its deadline, is refused. The line is settled. O(waiters).
    pub(crate) fn retell<B: Bucket<Taken = T>, E>(
        &mut self,
        bucket: &mut B,
        now: Timestamp,
        wakes: &mut WakeList,
        change: impl FnOnce(&mut B) -> Result<(), E>,
    ) -> Result<(), E> {
        self.unreserve(bucket, now);
        let changed = change(bucket);
        self.ahead = 0;
        let mut next = self.roster.first();
        while let Some(seat) = next {
            next = self.roster.after(seat);
            let Some(waiter) = self.roster.get_mut(seat) else { break };
            let due = match bucket.peek_behind(now, self.ahead, waiter.cost) {
                Ok(()) => now,
                Err(Refused { retry_at: Some(due), .. }) if due <= waiter.deadline => due,
                Err(refused) => {
                    waiter.answer = Some(Err(refused));
                    wakes.push(waiter.waker.take());
                    self.roster.leave_line(seat);
                    continue;
                }
            };
            self.ahead = self.ahead.saturating_add(waiter.cost);
            if due != waiter.told {
                waiter.told = due;
                wakes.push(waiter.waker.take());
            }
        }
        self.promote(bucket, now, wakes);
        self.settle(bucket, now, wakes);
        changed
    }

    /// How many wait.
    pub(crate) const fn len(&self) -> usize {
        self.roster.len()
    }

    /// Whether nobody waits, nor has an answer to fetch.
    pub(crate) const fn is_unused(&self) -> bool {
        self.roster.is_unused()
    }

    /// The first in line reserves, as of `at` (I1). One for whom that is impossible is refused, and the next is first.
    fn promote(&mut self, bucket: &mut impl Bucket<Taken = T>, at: Timestamp, wakes: &mut WakeList) {
        while self.first.is_none()
            && let Some(waiter) = self.roster.first().and_then(|seat| self.roster.get_mut(seat))
        {
            self.ahead = self.ahead.saturating_sub(waiter.cost);
            match bucket.reserve(at, waiter.cost) {
                Ok((due, taken)) => {
                    if due != waiter.told {
                        // Its timer is set to another instant.
                        wakes.push(waiter.waker.take());
                    }
                    self.first = Some((due, taken));
                }
                Err(refused) => self.answer_first(Err(refused), Timestamp::ZERO, wakes),
            }
        }
    }

    /// The first in line gives back what it has reserved, until it [is promoted](Self::promote) again.
    pub(crate) fn unreserve(&mut self, bucket: &mut impl Bucket<Taken = T>, now: Timestamp) {
        if let Some((_, taken)) = self.first.take() {
            bucket.give_back(now, taken);
            self.ahead = self.ahead.saturating_add(self.first_cost().unwrap_or(0));
        }
    }

    /// The first in line leaves it with an answer. Its own timer wakes it, if that has gone off by `now`.
    fn answer_first(&mut self, answer: Result<T, Refused>, now: Timestamp, wakes: &mut WakeList) {
        let Some(seat) = self.roster.first() else { return };
        self.roster.leave_line(seat);
        if let Some(waiter) = self.roster.get_mut(seat) {
            waiter.answer = Some(answer);
            if waiter.told > now {
                wakes.push(waiter.waker.take());
            }
        }
    }

    fn first_cost(&self) -> Option<u64> {
        self.roster.first().and_then(|seat| self.roster.get(seat)).map(|waiter| waiter.cost)
    }
}
