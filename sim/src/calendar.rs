//! The calendar: what happens next.
//!
//! A general calendar is a heap of everything that will happen, but most of it is known to come in order. Arrivals
//! are generated one at a time, so only the next is held. Every client is as patient as the others, so deadlines
//! fall due in the order of admission: a queue. Only completions overtake each other, and there are never more of
//! them than slots. So the heap stays small however long the server's line grows, and an event costs O(log slots).
//!
//! **Ties.** At the same instant a completion comes before a deadline (a request done at its deadline is on time), a
//! deadline before an arrival (a permit that comes back can be granted at once), and completions come in the order
//! in which they were scheduled. So a run has one order, whatever the machine.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    /// The server is done with this request, or has refused it.
    Done { request: u32 },
    /// The client of this request gives up, if it is still the one with this serial number.
    Deadline { request: u32, serial: u64 },
    /// The next request comes.
    Arrival,
}

/// Events to come.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    /// Instant, order of scheduling, request.
    done: BinaryHeap<Reverse<(u64, u64, u32)>>,
    deadlines: VecDeque<(u64, u32, u64)>,
    arrival_ns: Option<u64>,
    scheduled: u64,
}

impl Calendar {
    #[inline]
    pub(crate) fn schedule_done(&mut self, at_ns: u64, request: u32) {
        self.done.push(Reverse((at_ns, self.scheduled, request)));
        self.scheduled += 1;
    }

    /// Deadlines are scheduled in the order in which they fall due.
    #[inline]
    pub(crate) fn schedule_deadline(&mut self, at_ns: u64, request: u32, serial: u64) {
        debug_assert!(self.deadlines.back().is_none_or(|&(last_ns, _, _)| last_ns <= at_ns));
        self.deadlines.push_back((at_ns, request, serial));
    }

    /// The next arrival; `None` if no more come.
    #[inline]
    pub(crate) const fn schedule_arrival(&mut self, at_ns: Option<u64>) {
        self.arrival_ns = at_ns;
    }

    /// The next event and its instant.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, Event)> {
        const NEVER: u64 = u64::MAX;
        let done_ns = self.done.peek().map_or(NEVER, |&Reverse((at_ns, _, _))| at_ns);
        let deadline_ns = self.deadlines.front().map_or(NEVER, |&(at_ns, _, _)| at_ns);
        let arrival_ns = self.arrival_ns.unwrap_or(NEVER);
        if arrival_ns < done_ns && arrival_ns < deadline_ns {
            self.arrival_ns = None;
            return Some((arrival_ns, Event::Arrival));
        }
        if deadline_ns < done_ns {
            let (at_ns, request, serial) = self.deadlines.pop_front()?;
            return Some((at_ns, Event::Deadline { request, serial }));
        }
        let Reverse((at_ns, _, request)) = self.done.pop()?;
        Some((at_ns, Event::Done { request }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time() {
        let mut calendar = Calendar::default();
        calendar.schedule_done(30, 1);
        calendar.schedule_done(10, 2);
        calendar.schedule_deadline(20, 3, 7);
        calendar.schedule_arrival(Some(5));
        assert_eq!(calendar.pop(), Some((5, Event::Arrival)));
        assert_eq!(calendar.pop(), Some((10, Event::Done { request: 2 })));
        assert_eq!(calendar.pop(), Some((20, Event::Deadline { request: 3, serial: 7 })));
        assert_eq!(calendar.pop(), Some((30, Event::Done { request: 1 })));
        assert_eq!(calendar.pop(), None);
    }

    #[test]
    fn ties_go_to_completions_in_order_then_deadlines_then_arrivals() {
        let mut calendar = Calendar::default();
        calendar.schedule_arrival(Some(10));
        calendar.schedule_deadline(10, 3, 0);
        calendar.schedule_done(10, 2);
        calendar.schedule_done(10, 1);
        let order: Vec<Event> = core::iter::from_fn(|| calendar.pop()).map(|(_, event)| event).collect();
        assert_eq!(
            order,
            [
                Event::Done { request: 2 },
                Event::Done { request: 1 },
                Event::Deadline { request: 3, serial: 0 },
                Event::Arrival,
            ]
        );
    }
}
