//! Waiting jobs by deadline.
//!
//! Most jobs wait equally long at most, so a newcomer's deadline is the latest there is: those stand in a *lane*, a
//! list sorted by the order of arrival, and cost O(1) to add and to take out. A job whose deadline is before that of
//! the last in the lane goes to a heap, O(log n). The next to expire is the first of either; nothing is ever scanned.

use super::capacity::Capacity;
use super::jobs::{Due, Jobs};
use crate::error::ConfigError;
use crate::heap::IndexedHeap;
use crate::slots::{Chain, NIL, Storage};
use crate::time::Timestamp;

pub(super) struct Deadlines<S: Storage> {
    lane: Chain,
    heap: IndexedHeap<S>,
}

impl<S: Storage> Deadlines<S> {
    pub(super) fn new(jobs: u32) -> Result<Self, ConfigError> {
        Ok(Self { lane: Chain::EMPTY, heap: IndexedHeap::new(S::buffer(jobs)?) })
    }

    /// A job waits. Without a deadline it is nowhere.
    #[inline]
    pub(super) fn insert<C: Capacity>(&mut self, jobs: &mut Jobs<C, S>, index: u32) {
        let deadline = jobs.deadline(index);
        if deadline == Timestamp::MAX {
            return;
        }
        let last = self.lane.tail();
        if last == NIL || deadline >= jobs.deadline(last) {
            jobs.set_due(index, Due::LANE);
            self.lane.push_back(&mut jobs.lane(), index);
        } else {
            jobs.set_due(index, Due::Heap { position: NIL });
            self.heap.push(jobs, index);
        }
    }

    /// A job waits no more.
    #[inline]
    pub(super) fn remove<C: Capacity>(&mut self, jobs: &mut Jobs<C, S>, index: u32) {
        match jobs.due(index) {
            Due::Nowhere => return,
            Due::Lane { .. } => self.lane.remove(&mut jobs.lane(), index),
            Due::Heap { .. } => self.heap.remove(jobs, index),
        }
        jobs.set_due(index, Due::Nowhere);
    }

    /// The job that expires next, and when.
    #[inline]
    pub(super) fn next<C: Capacity>(&self, jobs: &Jobs<C, S>) -> Option<(u32, Timestamp)> {
        let first = self.lane.head();
        let listed = (first != NIL).then(|| (first, jobs.deadline(first)));
        let heaped = self.heap.top().map(|top| (top, jobs.deadline(top)));
        match (listed, heaped) {
            (Some(listed), Some(heaped)) => Some(if heaped.1 < listed.1 { heaped } else { listed }),
            (one, other) => one.or(other),
        }
    }

    /// Jobs in it.
    pub(super) fn len(&self) -> usize {
        crate::num::index(self.lane.len()).saturating_add(self.heap.len())
    }
}
