//! What happens next in a run.
//!
//! As in [`crate::calendar`], what is known to come in order is kept in queues: refusals by the server all take the
//! same time, clients are all as patient as each other, the script of the plan is known beforehand. Only completions,
//! and clients who come back, need a heap. Arrivals of an open load are not in here at all: they are a list, and the
//! engine walks it up to the next event.
//!
//! **Ties**, in this order: script, completions, refusals by the server, clients who give up, ticks, clients who come
//! back, arrivals. Within each, the order of scheduling.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What the plan says will happen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Script {
    Phase(usize),
    Slots,
    /// The warm-up ends: what is refused in one go is measured or not.
    Measured,
    /// A cell of the curve ends.
    Cell,
}

/// Somebody who comes back.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Back {
    Retry { limiter: u32, tries: u32, first_ns: u64 },
    Client { limiter: u32 },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Event {
    Script(Script),
    Done { request: u32 },
    Fast { request: u32 },
    GivesUp { request: u32, serial: u64 },
    Tick,
    Back(Back),
}

#[derive(Debug)]
pub(super) struct Calendar {
    script: VecDeque<(u64, Script)>,
    done: BinaryHeap<Reverse<(u64, u64, u32)>>,
    fast: VecDeque<(u64, u32)>,
    patience: VecDeque<(u64, u32, u64)>,
    back: BinaryHeap<Reverse<(u64, u64, Back)>>,
    tick_at_ns: u64,
    tick_every_ns: u64,
    scheduled: u64,
}

const NEVER: u64 = u64::MAX;

impl Calendar {
    /// `script` in order of time.
    pub(super) const fn new(script: VecDeque<(u64, Script)>, tick_every_ns: u64) -> Self {
        Self {
            script,
            done: BinaryHeap::new(),
            fast: VecDeque::new(),
            patience: VecDeque::new(),
            back: BinaryHeap::new(),
            tick_at_ns: tick_every_ns,
            tick_every_ns,
            scheduled: 0,
        }
    }

    #[inline]
    pub(super) fn done(&mut self, at_ns: u64, request: u32) {
        self.scheduled += 1;
        self.done.push(Reverse((at_ns, self.scheduled, request)));
    }

    /// In order of time.
    #[inline]
    pub(super) fn fast(&mut self, at_ns: u64, request: u32) {
        self.fast.push_back((at_ns, request));
    }

    /// In order of time.
    #[inline]
    pub(super) fn gives_up(&mut self, at_ns: u64, request: u32, serial: u64) {
        self.patience.push_back((at_ns, request, serial));
    }

    #[inline]
    pub(super) fn back(&mut self, at_ns: u64, who: Back) {
        self.scheduled += 1;
        self.back.push(Reverse((at_ns, self.scheduled, who)));
    }

    /// The instants at which something of each kind comes next, in the order of ties.
    #[inline]
    fn nexts(&self) -> [u64; 6] {
        [
            self.script.front().map_or(NEVER, |&(at_ns, _)| at_ns),
            self.done.peek().map_or(NEVER, |&Reverse((at_ns, _, _))| at_ns),
            self.fast.front().map_or(NEVER, |&(at_ns, _)| at_ns),
            self.patience.front().map_or(NEVER, |&(at_ns, _, _)| at_ns),
            self.tick_at_ns,
            self.back.peek().map_or(NEVER, |&Reverse((at_ns, _, _))| at_ns),
        ]
    }

    /// The instant of the next event.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.nexts().into_iter().fold(NEVER, u64::min)
    }

    /// The next event and its instant. There is always one: ticks never end.
    #[inline]
    pub(super) fn pop(&mut self) -> (u64, Event) {
        let nexts = self.nexts();
        let at_ns = nexts.into_iter().fold(NEVER, u64::min);
        let [script, done, fast, patience, _, back] = nexts.map(|next_ns| next_ns == at_ns);
        if script && let Some((_, what)) = self.script.pop_front() {
            return (at_ns, Event::Script(what));
        }
        if done && let Some(Reverse((_, _, request))) = self.done.pop() {
            return (at_ns, Event::Done { request });
        }
        if fast && let Some((_, request)) = self.fast.pop_front() {
            return (at_ns, Event::Fast { request });
        }
        if patience && let Some((_, request, serial)) = self.patience.pop_front() {
            return (at_ns, Event::GivesUp { request, serial });
        }
        if self.tick_at_ns > at_ns
            && back
            && let Some(Reverse((_, _, who))) = self.back.pop()
        {
            return (at_ns, Event::Back(who));
        }
        self.tick_at_ns = self.tick_at_ns.saturating_add(self.tick_every_ns);
        (at_ns, Event::Tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_ties_in_the_order_of_kinds() {
        let mut calendar = Calendar::new(VecDeque::from([(10, Script::Slots)]), 10);
        let back = Back::Client { limiter: 0 };
        calendar.back(10, back);
        calendar.gives_up(10, 3, 7);
        calendar.fast(10, 2);
        calendar.done(10, 1);
        calendar.done(5, 9);
        let order: Vec<(u64, Event)> = (0..7).map(|_| calendar.pop()).collect();
        assert_eq!(
            order,
            [
                (5, Event::Done { request: 9 }),
                (10, Event::Script(Script::Slots)),
                (10, Event::Done { request: 1 }),
                (10, Event::Fast { request: 2 }),
                (10, Event::GivesUp { request: 3, serial: 7 }),
                (10, Event::Tick),
                (10, Event::Back(back)),
            ]
        );
        assert_eq!(calendar.pop(), (20, Event::Tick));
    }
}
