//! The agenda: what will happen in a run, in order of time.
//!
//! **Ties.** At one instant a border between windows comes first, so that what happens at it belongs to the window it
//! opens; then ends and replies (what comes back can be granted at once), changes of the limit, clients that go away,
//! and newcomers last. Within a kind, the order of scheduling. So a run has one order, whatever the machine.
//!
//! **Work** O(log n) for n things to come: running jobs, threads that think, one arrival for each source.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    /// A border between windows, or a point of the chart.
    Mark,
    /// The reply of a job that keeps its place for a while yet.
    Reply { slot: u32, serial: u32 },
    /// A job gives its place back.
    Done { slot: u32, serial: u32 },
    /// The limit changes, by script.
    Limit { change: u32 },
    /// Whoever waits for a job goes away.
    GiveUp { slot: u32, serial: u32 },
    /// The next job of a source comes.
    Arrive { source: u32 },
    /// A thread makes its next call.
    Call { thread: u32 },
}

impl Event {
    const fn rank(self) -> u64 {
        match self {
            Self::Mark => 0,
            Self::Reply { .. } | Self::Done { .. } => 1,
            Self::Limit { .. } => 2,
            Self::GiveUp { .. } => 3,
            Self::Arrive { .. } | Self::Call { .. } => 4,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at_ns: u64,
    /// Rank, then order of scheduling.
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// The earliest is the greatest: the heap has its greatest on top.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.order).cmp(&(self.at_ns, self.order))
    }
}

/// Events to come.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BinaryHeap<Entry>,
    scheduled: u64,
}

impl Agenda {
    #[inline]
    pub(crate) fn schedule(&mut self, at_ns: u64, event: Event) {
        let order = (event.rank() << 60) | self.scheduled;
        self.scheduled += 1;
        self.entries.push(Entry { at_ns, order, event });
    }

    /// When the next event is.
    #[inline]
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.entries.peek().map(|entry| entry.at_ns)
    }

    /// The next event and its instant.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, Event)> {
        self.entries.pop().map(|entry| (entry.at_ns, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_ties_by_rank_then_by_order_of_scheduling() {
        let mut agenda = Agenda::default();
        let call = |thread| Event::Call { thread };
        let done = |slot| Event::Done { slot, serial: 0 };
        for (at_ns, event) in [
            (10, call(1)),
            (10, call(0)),
            (10, Event::Limit { change: 0 }),
            (10, done(5)),
            (10, done(4)),
            (10, Event::Mark),
            (5, call(2)),
        ] {
            agenda.schedule(at_ns, event);
        }
        let order: Vec<Event> = core::iter::from_fn(|| agenda.pop()).map(|(_, event)| event).collect();
        assert_eq!(
            order,
            [call(2), Event::Mark, done(5), done(4), Event::Limit { change: 0 }, call(1), call(0)]
        );
    }
}
