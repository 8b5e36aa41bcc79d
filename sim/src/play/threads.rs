//! Closed loops: threads that call, wait for the reply, think, and call again.
//!
//! After Kubernetes' uniform clients: thread j of a load makes its first call at `start + j · stagger`, and each next
//! one its think time after the reply of the one before, also if the server keeps its place for a pad time after the
//! reply. A think time below zero makes the next call so much *before* the reply, so that a thread always has a job in
//! the queue when it frees a place.
//!
//! A call that is refused takes no time; a thread that does not stop then waits its think time, a millisecond at least,
//! or a thread without think time would try again for ever at one instant.

use crate::num;
use crate::plan::{Closed, Coming, LoadPlan, WhenRefused};

/// The least time from a refusal to the next call.
const PAUSE_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Thread {
    load: u32,
    calls_left: u64,
    closed: Closed,
    number: u32,
}

/// The threads of all loads.
#[derive(Debug)]
pub(super) struct Threads {
    threads: Vec<Thread>,
}

impl Threads {
    pub(super) fn new(loads: &[LoadPlan]) -> Self {
        let mut threads = Vec::new();
        for (load, plan) in (0_u32..).zip(loads) {
            if let Coming::Closed(closed) = plan.coming {
                let thread = |number| Thread { load, calls_left: closed.calls, closed, number };
                threads.extend((0..closed.threads).map(thread));
            }
        }
        Self { threads }
    }

    /// Every thread and its first call.
    pub(super) fn starts(&self) -> Vec<(u32, u64)> {
        let first = |thread: &Thread| {
            let stagger_ns = thread.closed.stagger_ns.saturating_mul(thread.number.into());
            thread.closed.start_ns.saturating_add(stagger_ns)
        };
        (0_u32..).zip(&self.threads).map(|(index, thread)| (index, first(thread))).collect()
    }

    /// A thread is about to call; answers its load, `None` if it has made all its calls.
    #[inline]
    pub(super) fn call(&mut self, thread: u32) -> Option<u32> {
        let thread = self.threads.get_mut(num::index(thread))?;
        thread.calls_left = thread.calls_left.checked_sub(1)?;
        Some(thread.load)
    }

    /// When a thread that gets its reply at `reply_ns` calls again.
    #[inline]
    pub(super) fn next_call(&self, thread: u32, reply_ns: u64) -> u64 {
        let think_ns = self.threads.get(num::index(thread)).map_or(0, |thread| thread.closed.think_ns);
        reply_ns.saturating_add_signed(think_ns)
    }

    /// When a thread that was refused calls again, if it does.
    pub(super) fn call_after_refusal(&self, thread: u32, now_ns: u64) -> Option<u64> {
        let closed = self.threads.get(num::index(thread))?.closed;
        match closed.when_refused {
            WhenRefused::Stop => None,
            WhenRefused::Think => {
                let think_ns = u64::try_from(closed.think_ns).unwrap_or(0);
                Some(now_ns.saturating_add(think_ns.max(PAUSE_NS)))
            }
        }
    }
}
