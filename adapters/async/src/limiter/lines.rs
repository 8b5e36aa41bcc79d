//! [`Lines`]: an adaptive limiter, and a line for each of its classes.
//!
//! **Order.** Within a class first come, first served. Across classes the one that came first is first; while it does not fit, a
//! class may pass it only within its own guaranteed share, which is nobody else's. So traffic that has used up its share holds up
//! nobody who has not, and a request of many permits is not starved by small ones of other classes.
//!
//! **Grants are handed out**, not fetched: once somebody is told that it is its turn, the permit is its own and cannot be taken by
//! who comes by in between. If it had a deadline and does not fetch the permit by then, the permit goes back.
//!
//! **The alarm.** Two things happen without anybody releasing anything: the estimator gives up waiting for samples, and a permit
//! that was not fetched goes back. Whoever waits the longest sets its timer to the first of them, and is woken to set it anew
//! when there is an earlier one.
//!
//! **Invariants.** **I1** after each call nobody who waits fits, by the order above; **I2** what is owed, by deadline, is what was
//! granted and not fetched.
//!
//! **Work** O(classes) for each call and for each grant that it makes.

use core::task::Waker;
use core::time::Duration;
use std::collections::BTreeSet;

use tollgate::adapt::{Estimator, Limiter, Outcome, PartitionId, Refusal, Share, Ticket};
use tollgate::slots::Heap;
use tollgate::{Reason, Timestamp};

use crate::drive::Look;
use crate::wait::WakeList;
use crate::wait::{Roster, Seat};

/// A place in the line of a class.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Place {
    class: usize,
    seat: Seat,
}

struct Waiter {
    /// Which it was among all that ever waited.
    number: u64,
    weight: u32,
    deadline: Timestamp,
    /// What its timer is set to.
    alarm: Timestamp,
    waker: Option<Waker>,
    answer: Option<Result<Ticket, Refusal>>,
}

struct Class {
    partition: Option<PartitionId>,
    roster: Roster<Waiter>,
    /// Its first was looked at in this round, and does not fit.
    blocked: bool,
}

pub(crate) struct Lines<E> {
    pub(crate) limiter: Limiter<E, Heap>,
    classes: Vec<Class>,
    waiting: usize,
    most: usize,
    numbers: u64,
    /// Granted and not fetched, by the deadline until which they may be.
    owed: BTreeSet<(Timestamp, Place)>,
}

impl<E: Estimator> Lines<E> {
    pub(crate) const fn new(limiter: Limiter<E, Heap>, most: usize) -> Self {
        Self { limiter, classes: Vec::new(), waiting: 0, most, numbers: 0, owed: BTreeSet::new() }
    }

    /// Time has come to `now`, or something has changed: what has to happen by itself does, and who fits is granted (I1).
    pub(crate) fn settle(&mut self, now: Timestamp, wakes: &mut WakeList) {
        if self.limiter.poll_timeout().is_some_and(|at| at <= now) {
            self.limiter.tick(now);
        }
        while let Some(&owed) = self.owed.first().filter(|&&(deadline, _)| deadline < now) {
            self.owed.remove(&owed);
            self.take_back(now, owed.1, wakes);
        }
        self.grant(now, wakes);
        self.set_alarm(now, wakes);
    }

    /// Asks for a permit now, behind those who wait. The lines are settled.
    pub(crate) fn try_acquire(
        &mut self,
        now: Timestamp,
        partition: Option<PartitionId>,
        weight: u32,
    ) -> Result<Ticket, Refusal> {
        if self.may_pass(partition, weight) {
            return self.limiter.try_admit(now, partition, weight);
        }
        self.limiter.on_wait(now);
        Err(Refusal::because(Reason::NoPermits))
    }

    /// Asks for a permit by `deadline`: granted, or a place in line. The lines are settled.
    pub(crate) fn join(
        &mut self,
        now: Timestamp,
        partition: Option<PartitionId>,
        weight: u32,
        deadline: Timestamp,
        wakes: &mut WakeList,
    ) -> Result<Result<Ticket, Place>, Refusal> {
        let fits = self.limiter.peek(now, partition, weight);
        if fits == Err(Reason::ExceedsLimit) || fits.is_ok() && self.may_pass(partition, weight) {
            return self.limiter.try_admit(now, partition, weight).map(Ok);
        }
        self.limiter.on_wait(now);
        if deadline <= now {
            return Err(Refusal::because(Reason::DeadlineExceeded));
        }
        if self.waiting >= self.most {
            return Err(Refusal::because(Reason::QueueFull));
        }
        let number = self.numbers;
        self.numbers += 1;
        self.waiting += 1;
        let class = self.class(partition);
        let alarm = Timestamp::MAX;
        let waiter = Waiter { number, weight, deadline, alarm, waker: None, answer: None };
        let Some(line) = self.classes.get_mut(class) else {
            return Err(Refusal::because(Reason::UnknownClass));
        };
        let place = Place { class, seat: line.roster.join(waiter) };
        // The estimator may have answered with another limit.
        self.settle(now, wakes);
        Ok(Err(place))
    }

    /// How it stands with one who waits; its place is free once it has been told. The lines are settled. What is returned
    /// beside is to be dropped outside of the lock.
    pub(crate) fn look(
        &mut self,
        now: Timestamp,
        place: Place,
        waker: Waker,
        wakes: &mut WakeList,
    ) -> (Look<Result<Ticket, Refusal>>, [Option<Waker>; 2]) {
        let alarm = if self.oldest() == Some(place) { self.alarm(now) } else { None };
        let Some(waiter) = self.waiter(place) else { return (Look::Until(None), [None, Some(waker)]) };
        let deadline = waiter.deadline;
        if waiter.answer.is_some() || deadline <= now {
            let Some(waiter) = self.remove(place) else { return (Look::Until(None), [None, Some(waker)]) };
            let answer = waiter.answer.unwrap_or_else(|| {
                // Whoever is behind it may fit.
                self.settle(now, wakes);
                Err(Refusal::because(Reason::DeadlineExceeded))
            });
            return (Look::Over(answer), [waiter.waker, Some(waker)]);
        }
        waiter.alarm = alarm.unwrap_or(Timestamp::MAX).min(deadline);
        let until = (waiter.alarm < Timestamp::MAX).then_some(waiter.alarm);
        (Look::Until(until), [waiter.waker.replace(waker), None])
    }

    /// One who waits, or has not fetched its permit, goes away. What is returned is to be dropped outside of the lock.
    pub(crate) fn leave(&mut self, now: Timestamp, place: Place, wakes: &mut WakeList) -> Option<Waker> {
        let waiter = self.remove(place)?;
        if let Some(Ok(ticket)) = waiter.answer {
            self.complete(now, ticket, Outcome::Ignored);
        }
        self.settle(now, wakes);
        waiter.waker
    }

    /// A permit comes back. To be settled.
    pub(crate) fn complete(&mut self, now: Timestamp, ticket: Ticket, outcome: Outcome) {
        let done = self.limiter.complete(now, ticket, outcome);
        debug_assert!(done.is_ok(), "a ticket of another limiter");
    }

    /// How many wait.
    pub(crate) const fn len(&self) -> usize {
        self.waiting
    }

    /// Whether a newcomer passes nobody whom it may not pass.
    fn may_pass(&self, partition: Option<PartitionId>, weight: u32) -> bool {
        if self.waiting == 0 {
            return true;
        }
        let partition = self.known(partition);
        let line = self.classes.iter().find(|class| class.partition == partition);
        line.is_none_or(|line| line.roster.len() == 0) && self.is_within_share(partition, weight)
    }

    fn is_within_share(&self, partition: Option<PartitionId>, weight: u32) -> bool {
        let shares = self.limiter.partitions();
        let after = shares.busy_of(partition).saturating_add(weight.into());
        after <= shares.quota_of(partition).into()
    }

    /// Hands out what fits: the oldest first, and past one that does not fit only what is within its own share.
    fn grant(&mut self, now: Timestamp, wakes: &mut WakeList) {
        self.classes.iter_mut().for_each(|class| class.blocked = false);
        let mut passing = false;
        while let Some(place) = self.first_unblocked() {
            let Some(class) = self.classes.get_mut(place.class) else { return };
            let (partition, Some(waiter)) = (class.partition, class.roster.get(place.seat)) else { return };
            let (weight, deadline) = (waiter.weight, waiter.deadline);
            let answer = if deadline < now {
                Err(Refusal::because(Reason::DeadlineExceeded))
            } else if passing && !self.is_within_share(partition, weight)
                || self.limiter.peek(now, partition, weight) == Err(Reason::NoPermits)
            {
                passing = true;
                self.classes.get_mut(place.class).into_iter().for_each(|class| class.blocked = true);
                continue;
            } else {
                self.limiter.try_admit(now, partition, weight)
            };
            if answer.is_ok() && deadline < Timestamp::MAX {
                self.owed.insert((deadline, place));
            }
            self.waiting -= 1;
            let Some(class) = self.classes.get_mut(place.class) else { return };
            class.roster.leave_line(place.seat);
            if let Some(waiter) = class.roster.get_mut(place.seat) {
                waiter.answer = Some(answer);
                wakes.push(waiter.waker.take());
            }
        }
    }

    /// What was granted and not fetched in time goes back.
    fn take_back(&mut self, now: Timestamp, place: Place, wakes: &mut WakeList) {
        let Some(waiter) = self.waiter(place) else { return };
        let late = Err(Refusal::because(Reason::DeadlineExceeded));
        let granted = waiter.answer.replace(late);
        wakes.push(waiter.waker.take());
        if let Some(Ok(ticket)) = granted {
            self.complete(now, ticket, Outcome::Ignored);
        }
    }

    /// The next instant at which something happens by itself.
    fn alarm(&self, now: Timestamp) -> Option<Timestamp> {
        // What an estimator asked for and did not use when it came is not waited for again.
        let tick = self.limiter.poll_timeout().filter(|&at| at > now);
        let late = self.owed.first().map(|&(deadline, _)| deadline.saturating_add(Duration::from_nanos(1)));
        tick.into_iter().chain(late).min()
    }

    /// Whoever waits the longest is woken if it has not set its timer early enough.
    fn set_alarm(&mut self, now: Timestamp, wakes: &mut WakeList) {
        let Some(alarm) = self.alarm(now) else { return };
        if let Some(waiter) = self.oldest().and_then(|place| self.waiter(place))
            && alarm < waiter.alarm
        {
            wakes.push(waiter.waker.take());
        }
    }

    fn first_unblocked(&self) -> Option<Place> {
        self.oldest_of(|class| !class.blocked)
    }

    fn oldest(&self) -> Option<Place> {
        self.oldest_of(|_| true)
    }

    fn oldest_of(&self, which: impl Fn(&Class) -> bool) -> Option<Place> {
        let firsts = self.classes.iter().enumerate().filter(|(_, class)| which(class));
        let firsts = firsts.filter_map(|(number, class)| {
            let seat = class.roster.first()?;
            Some((class.roster.get(seat)?.number, Place { class: number, seat }))
        });
        firsts.min().map(|(_, place)| place)
    }

    fn waiter(&mut self, place: Place) -> Option<&mut Waiter> {
        self.classes.get_mut(place.class)?.roster.get_mut(place.seat)
    }

    fn remove(&mut self, place: Place) -> Option<Waiter> {
        let waiter = self.classes.get_mut(place.class)?.roster.remove(place.seat)?;
        if waiter.answer.is_none() {
            self.waiting -= 1;
        }
        self.owed.remove(&(waiter.deadline, place));
        Some(waiter)
    }

    /// Whoever is of no class that there is, is of none.
    fn known(&self, partition: Option<PartitionId>) -> Option<PartitionId> {
        partition.filter(|&name| self.limiter.partitions().shares().any(|share| share.partition == name))
    }

    /// The line of a class; one of a class that is gone is used again when nobody is in it.
    fn class(&mut self, partition: Option<PartitionId>) -> usize {
        let partition = self.known(partition);
        if let Some(class) = self.classes.iter().position(|class| class.partition == partition) {
            return class;
        }
        let shares: Vec<Share> = self.limiter.partitions().shares().collect();
        let gone = |class: &Class| {
            class.partition.is_some_and(|name| shares.iter().all(|share| share.partition != name))
        };
        let free = self.classes.iter().position(|class| gone(class) && class.roster.is_unused());
        let new = Class { partition, roster: Roster::new(), blocked: false };
        match free.and_then(|free| Some((free, self.classes.get_mut(free)?))) {
            Some((free, class)) => {
                *class = new;
                free
            }
            None => {
                self.classes.push(new);
                self.classes.len() - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate::adapt::{Aimd, AimdSettings, LimiterSettings, PartitionId};

    use super::*;

    #[test]
    fn classes_that_come_and_go_leave_no_lines_behind() {
        let now = Timestamp::ZERO;
        let aimd = Aimd::new(AimdSettings { initial: 1, ..AimdSettings::default() }).unwrap();
        let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
        let mut lines = Lines::new(Limiter::new(now, aimd, settings, &[], 1).unwrap(), 9);
        let mut wakes = WakeList::default();
        let _held = lines.try_acquire(now, None, 1).unwrap();
        for number in 0..99 {
            let name = PartitionId(number);
            let share = Share { partition: name, share_ppm: 1, pause: Duration::ZERO };
            lines.limiter.reconfigure(now, settings, &[share]).unwrap();
            for who in [Some(name), Some(PartitionId(1_000)), None] {
                let Ok(Err(place)) = lines.join(now, who, 1, Timestamp::MAX, &mut wakes) else {
                    panic!("there is one permit, and it is held");
                };
                let _waker = lines.leave(now, place, &mut wakes);
            }
        }
        assert_eq!(lines.classes.len(), 2, "that of the day, and that of who has none");
    }
}
