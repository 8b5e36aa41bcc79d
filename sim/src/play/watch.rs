//! Who watches a run: every step, as the simulator sees it, for a judge that keeps books of its own.

use super::machine::Machine;

/// What is known of a job when it is accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Facts {
    pub(crate) tenant: u32,
    pub(crate) cost: u64,
    pub(crate) weight: u64,
    pub(crate) bytes: u64,
    pub(crate) submitted_ns: u64,
    /// Of its own.
    pub(crate) deadline_ns: Option<u64>,
    /// The first instant at which it may not start any more: the earlier of its deadline and the gate's `max_wait`.
    pub(crate) latest_ns: u64,
    /// It may not start before.
    pub(crate) ready_ns: u64,
}

/// Hears of every step, in order.
pub(crate) trait Watch {
    /// Somebody submits a job.
    fn submitted(&mut self, tenant: u32);
    /// It was refused at the door.
    fn turned_away(&mut self, tenant: u32);
    /// It waits, in this slot.
    fn accepted(&mut self, now_ns: u64, slot: u32, facts: &Facts);
    /// The gate lets an attempt to start it be made.
    fn attempted(&mut self, now_ns: u64, slot: u32);
    /// The attempt failed; it may be tried again from then on.
    fn sent_back(&mut self, slot: u32, ready_ns: u64);
    /// It runs.
    fn started(&mut self, now_ns: u64, slot: u32);
    /// It waited and was refused.
    fn refused(&mut self, now_ns: u64, slot: u32);
    /// It waited and nobody waits for it any more.
    fn cancelled(&mut self, now_ns: u64, slot: u32);
    /// It ran and is over.
    fn ended(&mut self, now_ns: u64, slot: u32);
    /// The limit has changed.
    fn limit(&mut self, now_ns: u64, limit: u64);
    /// The gate knows nothing of a job that the simulator knows, or the other way round.
    fn off_the_books(&mut self, now_ns: u64, slot: u32, call: &'static str);
    /// The gate's timeout has passed and it had nothing to say.
    fn overdue(&mut self, now_ns: u64, timeout_ns: u64);
    /// An event is done with.
    fn settled(&mut self, now_ns: u64, machine: &Machine);
    /// The run is over.
    fn drained(&mut self, now_ns: u64, machine: &Machine);
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    #[inline]
    fn submitted(&mut self, _: u32) {}
    #[inline]
    fn turned_away(&mut self, _: u32) {}
    #[inline]
    fn accepted(&mut self, _: u64, _: u32, _: &Facts) {}
    #[inline]
    fn attempted(&mut self, _: u64, _: u32) {}
    #[inline]
    fn sent_back(&mut self, _: u32, _: u64) {}
    #[inline]
    fn started(&mut self, _: u64, _: u32) {}
    #[inline]
    fn refused(&mut self, _: u64, _: u32) {}
    #[inline]
    fn cancelled(&mut self, _: u64, _: u32) {}
    #[inline]
    fn ended(&mut self, _: u64, _: u32) {}
    #[inline]
    fn limit(&mut self, _: u64, _: u64) {}
    #[inline]
    fn off_the_books(&mut self, _: u64, _: u32, _: &'static str) {}
    #[inline]
    fn overdue(&mut self, _: u64, _: u64) {}
    #[inline]
    fn settled(&mut self, _: u64, _: &Machine) {}
    #[inline]
    fn drained(&mut self, _: u64, _: &Machine) {}
}
