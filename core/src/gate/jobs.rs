//! The table of jobs, waiting and started, and the lists that run through it.

use super::capacity::Capacity;
use super::job::JobId;
use crate::error::ConfigError;
use crate::heap::Keys;
use crate::slots::{Arena, Links, NIL, SlotId, Slots, Storage};
use crate::time::Timestamp;

/// Where a waiting job is among the [deadlines](super::deadline).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Due {
    Nowhere,
    Lane { links: Links },
    Heap { position: u32 },
}

impl Due {
    /// In the lane, not linked yet.
    pub(super) const LANE: Self = Self::Lane { links: Links::NONE };
}

/// What a job is doing.
#[derive(Debug)]
pub(super) enum State<G> {
    /// In its tenant's queue.
    Waiting {
        /// It does not start before.
        ready_at: Timestamp,
        due: Due,
    },
    /// Running, or attempting to.
    Started { grant: G, at: Timestamp },
}

/// One job.
#[derive(Debug)]
pub(super) struct Record<C: Capacity> {
    pub(super) tenant: u32,
    /// The class whose mean its cost was taken from; [`NIL`] if the caller named it.
    pub(super) class: u32,
    /// How often others went before it while it was its turn.
    pub(super) passes: u32,
    pub(super) cost: u64,
    pub(super) weight: C::Weight,
    pub(super) bytes: u64,
    pub(super) submitted: Timestamp,
    /// [`Timestamp::MAX`] for none.
    pub(super) deadline: Timestamp,
    /// Whether it has a place in the queue to go back to when it is started.
    pub(super) attempt: bool,
    pub(super) state: State<C::Grant>,
}

/// All jobs.
#[derive(Debug)]
pub(super) struct Jobs<C: Capacity, S: Storage>(Slots<Record<C>, S>);

impl<C: Capacity, S: Storage> Jobs<C, S> {
    pub(super) fn new(capacity: u32) -> Result<Self, ConfigError> {
        Ok(Self(Slots::new(capacity)?))
    }

    /// `None` if the table is full.
    #[inline]
    pub(super) fn insert(&mut self, record: Record<C>) -> Option<SlotId> {
        self.0.insert(record).ok()
    }

    #[inline]
    pub(super) fn get(&self, id: JobId) -> Option<&Record<C>> {
        self.0.get(id.0)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut Record<C>> {
        self.0.get_mut(id.0)
    }

    #[inline]
    pub(super) fn remove(&mut self, id: JobId) -> Option<Record<C>> {
        self.0.remove(id.0).ok()
    }

    #[inline]
    pub(super) fn at(&self, index: u32) -> Option<&Record<C>> {
        self.0.at(index)
    }

    #[inline]
    pub(super) fn id_at(&self, index: u32) -> Option<JobId> {
        self.0.id_at(index).map(JobId)
    }

    #[inline]
    pub(super) fn deadline(&self, index: u32) -> Timestamp {
        self.0.at(index).map_or(Timestamp::MAX, |record| record.deadline)
    }

    #[inline]
    pub(super) fn due(&self, index: u32) -> Due {
        match self.0.at(index) {
            Some(Record { state: State::Waiting { due, .. }, .. }) => *due,
            _ => Due::Nowhere,
        }
    }

    #[inline]
    pub(super) fn set_due(&mut self, index: u32, to: Due) {
        if let Some(Record { state: State::Waiting { due, .. }, .. }) = self.0.at_mut(index) {
            *due = to;
        }
    }

    /// The jobs as an arena of the links of the queues.
    #[inline]
    pub(super) const fn queue(&mut self) -> &mut impl Arena {
        &mut self.0
    }

    /// The jobs as an arena of the links of the lane of deadlines.
    #[inline]
    pub(super) const fn lane(&mut self) -> Lane<'_, C, S> {
        Lane(&mut self.0)
    }

    /// The job behind another one in its queue.
    #[inline]
    pub(super) fn behind(&mut self, index: u32) -> u32 {
        crate::slots::Chain::next(&mut self.0, index)
    }

    pub(super) const fn len(&self) -> u32 {
        self.0.len()
    }

    /// Every job there is.
    pub(super) fn all(&self) -> impl Iterator<Item = &Record<C>> {
        (0..self.0.capacity()).filter_map(|index| self.0.at(index))
    }

    pub(super) fn check(&self) {
        self.0.check_invariants();
    }
}

/// See [`Jobs::lane`].
pub(super) struct Lane<'a, C: Capacity, S: Storage>(&'a mut Slots<Record<C>, S>);

impl<C: Capacity, S: Storage> Arena for Lane<'_, C, S> {
    #[inline]
    fn links_mut(&mut self, index: u32) -> Option<&mut Links> {
        match self.0.at_mut(index) {
            Some(Record { state: State::Waiting { due: Due::Lane { links }, .. }, .. }) => Some(links),
            _ => None,
        }
    }
}

/// The jobs as keys of the heap of deadlines.
impl<C: Capacity, S: Storage> Keys for Jobs<C, S> {
    type Key = Timestamp;

    fn key(&self, member: u32) -> Timestamp {
        self.deadline(member)
    }

    fn set_position(&mut self, member: u32, position: u32) {
        if self.due(member) != Due::Nowhere {
            self.set_due(member, Due::Heap { position });
        }
    }

    fn position(&self, member: u32) -> u32 {
        match self.due(member) {
            Due::Heap { position } => position,
            _ => NIL,
        }
    }
}
