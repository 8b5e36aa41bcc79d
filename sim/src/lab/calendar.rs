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

use crate::num;

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
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
    done: Agenda,
    fast: VecDeque<(u64, u32)>,
    patience: VecDeque<(u64, u32, u64)>,
    back: Agenda,
    /// Those who come back, by the number under which they are in the agenda, and the numbers that are free.
    away: Vec<Back>,
    free: Vec<u32>,
    tick_at_ns: u64,
    tick_every_ns: u64,
    /// The instant at which anything but a completion comes next.
    other_ns: u64,
}

const NEVER: u64 = u64::MAX;

impl Calendar {
    /// `script` in order of time.
    pub(super) fn new(script: VecDeque<(u64, Script)>, tick_every_ns: u64) -> Self {
        let mut calendar = Self {
            script,
            done: Agenda::default(),
            fast: VecDeque::new(),
            patience: VecDeque::new(),
            back: Agenda::default(),
            away: Vec::new(),
            free: Vec::new(),
            tick_at_ns: tick_every_ns,
            tick_every_ns,
            other_ns: NEVER,
        };
        calendar.look();
        calendar
    }

    #[inline]
    pub(super) fn done(&mut self, at_ns: u64, request: u32) {
        self.done.push(at_ns, request);
    }

    /// In order of time.
    #[inline]
    pub(super) fn fast(&mut self, at_ns: u64, request: u32) {
        self.fast.push_back((at_ns, request));
        self.other_ns = self.other_ns.min(at_ns);
    }

    /// In order of time.
    #[inline]
    pub(super) fn gives_up(&mut self, at_ns: u64, request: u32, serial: u64) {
        self.patience.push_back((at_ns, request, serial));
        self.other_ns = self.other_ns.min(at_ns);
    }

    #[inline]
    pub(super) fn back(&mut self, at_ns: u64, who: Back) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.away.push(who);
            num::index_u32(self.away.len() - 1)
        });
        self.away[num::index(number)] = who;
        self.back.push(at_ns, number);
        self.other_ns = self.other_ns.min(at_ns);
    }

    /// The instants at which something of each kind but completions comes next, in the order of ties.
    #[inline]
    fn others(&self) -> [u64; 5] {
        [
            self.script.front().map_or(NEVER, |&(at_ns, _)| at_ns),
            self.fast.front().map_or(NEVER, |&(at_ns, _)| at_ns),
            self.patience.front().map_or(NEVER, |&(at_ns, _, _)| at_ns),
            self.tick_at_ns,
            self.back.next_ns(),
        ]
    }

    /// Something of another kind than completions was taken out.
    #[inline]
    fn look(&mut self) {
        self.other_ns = self.others().into_iter().fold(NEVER, u64::min);
    }

    /// The instant of the next event.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.done.next_ns().min(self.other_ns)
    }

    /// The next event and its instant. There is always one: ticks never end.
    #[inline]
    pub(super) fn pop(&mut self) -> (u64, Event) {
        let at_ns = self.done.next_ns();
        let script = || self.script.front().is_some_and(|&(script_ns, _)| script_ns == at_ns);
        if (at_ns < self.other_ns || at_ns == self.other_ns && !script())
            && let Some(request) = self.done.pop()
        {
            return (at_ns, Event::Done { request });
        }
        let other = self.pop_other();
        self.look();
        other
    }

    fn pop_other(&mut self) -> (u64, Event) {
        let at_ns = self.other_ns;
        let [script, fast, patience, tick, back] = self.others().map(|next_ns| next_ns == at_ns);
        if script && let Some((_, what)) = self.script.pop_front() {
            return (at_ns, Event::Script(what));
        }
        if fast && let Some((_, request)) = self.fast.pop_front() {
            return (at_ns, Event::Fast { request });
        }
        if patience && let Some((_, request, serial)) = self.patience.pop_front() {
            return (at_ns, Event::GivesUp { request, serial });
        }
        if !tick
            && back
            && let Some(number) = self.back.pop()
        {
            self.free.push(number);
            return (at_ns, Event::Back(self.away[num::index(number)]));
        }
        self.tick_at_ns = self.tick_at_ns.saturating_add(self.tick_every_ns);
        (at_ns, Event::Tick)
    }
}

/// Numbers by instant, and within one in the order in which they came.
///
/// Instant, place in that order and number are one integer, so that the heap compares without a branch. The place has 32
/// bits: two at one instant are in order unless four thousand million others came between them.
#[derive(Debug, Default)]
struct Agenda {
    heap: BinaryHeap<Reverse<u128>>,
    came: u32,
}

impl Agenda {
    #[inline]
    fn push(&mut self, at_ns: u64, number: u32) {
        self.came = self.came.wrapping_add(1);
        let entry = u128::from(at_ns) << 64 | u128::from(self.came) << 32 | u128::from(number);
        self.heap.push(Reverse(entry));
    }

    #[inline]
    fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |&Reverse(entry)| num::high(entry))
    }

    #[inline]
    fn pop(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse(entry)| num::low(entry))
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

    #[test]
    fn within_an_instant_completions_and_clients_come_in_the_order_of_scheduling() {
        let mut calendar = Calendar::new(VecDeque::new(), 100);
        let back = |tries| Back::Retry { limiter: 0, tries, first_ns: 7 };
        for (done, tries) in [(9, 3), (2, 1), (5, 2)] {
            calendar.done(10, done);
            calendar.back(20, back(tries));
        }
        calendar.back(15, back(0));
        let order: Vec<Event> = (0..4).map(|_| calendar.pop().1).collect();
        let done = |request| Event::Done { request };
        assert_eq!(order, [done(9), done(2), done(5), Event::Back(back(0))]);
        calendar.back(20, back(4));
        let order: Vec<Event> = (0..4).map(|_| calendar.pop().1).collect();
        assert_eq!(order, [3, 1, 2, 4].map(|tries| Event::Back(back(tries))));
    }
}
