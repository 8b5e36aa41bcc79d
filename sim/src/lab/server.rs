//! The server of the laboratory: slots whose number may change, a FIFO queue, contention, a slow-down that may change.
//!
//! ```text
//! service time = work × (1 + a(N − 1) + bN(N − 1)) × slow-down(now)
//! ```
//!
//! decided when the service starts; N is everybody in the server, waiting or served, itself included. Fewer slots
//! never end a service that runs: they only start none until enough have ended.

use std::collections::VecDeque;

use super::plan::{Phase, ServerPlan};
use super::wave::Wave;
use crate::num;

#[derive(Debug)]
pub(super) struct Server<'a> {
    plan: &'a ServerPlan,
    phase: &'a Phase,
    slots: u32,
    in_service: u32,
    line: VecDeque<(u32, u64)>,
    /// There is contention.
    contended: bool,
}

/// What became of an offered request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Offer {
    /// It is served, and done at this instant.
    Started {
        done_ns: u64,
    },
    Queued,
    /// The server is full.
    Refused,
}

impl<'a> Server<'a> {
    pub(super) fn new(plan: &'a ServerPlan, phase: &'a Phase) -> Self {
        let contended = plan.usl != (0.0, 0.0);
        let mut server = Self { plan, phase, slots: 1, in_service: 0, line: VecDeque::new(), contended };
        server.read_slots(phase.from_ns);
        server
    }

    /// A phase begins.
    pub(super) fn enter(&mut self, phase: &'a Phase) {
        self.phase = phase;
    }

    /// Takes the number of slots from the plan, as it is now.
    pub(super) fn read_slots(&mut self, now_ns: u64) {
        let slots = self.phase.slots.at(now_ns.saturating_sub(self.phase.from_ns), self.phase.length_ns);
        self.slots = num::clamp_u32(num::rounded(slots)).max(1);
    }

    #[inline]
    fn present(&self) -> u32 {
        self.in_service.saturating_add(num::index_u32(self.line.len()))
    }

    #[inline]
    pub(super) fn offer(&mut self, now_ns: u64, request: u32, work_ns: u64) -> Offer {
        if self.plan.hard_limit.is_some_and(|limit| self.present() >= limit) {
            return Offer::Refused;
        }
        if self.in_service >= self.slots {
            self.line.push_back((request, work_ns));
            return Offer::Queued;
        }
        self.in_service += 1;
        Offer::Started { done_ns: self.done_ns(now_ns, work_ns) }
    }

    /// A service ends.
    #[inline]
    pub(super) const fn finish(&mut self) {
        self.in_service -= 1;
    }

    /// Whoever is next in line, if a slot is free, and when it is done.
    #[inline]
    pub(super) fn next(&mut self, now_ns: u64) -> Option<(u32, u64)> {
        if self.in_service >= self.slots {
            return None;
        }
        let (request, work_ns) = self.line.pop_front()?;
        self.in_service += 1;
        Some((request, self.done_ns(now_ns, work_ns)))
    }

    #[inline]
    fn done_ns(&self, now_ns: u64, work_ns: u64) -> u64 {
        let contention = if self.contended { self.plan.contention(self.present()) } else { 1.0 };
        let slow = match self.phase.slow {
            Wave::Constant(slow) => slow,
            wave => wave.at(now_ns.saturating_sub(self.phase.from_ns), self.phase.length_ns),
        };
        let alone = contention == 1.0 && slow == 1.0;
        now_ns.saturating_add(if alone {
            work_ns
        } else {
            num::rounded(num::real(work_ns) * contention * slow)
        })
    }
}
