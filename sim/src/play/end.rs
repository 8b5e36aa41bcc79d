//! How a job ends: refused, replied, over, or abandoned by whoever waited for it.

use super::machine::OffTheBooks;
use super::watch::Watch;
use super::{Flight, Player};
use crate::num;
use crate::plan::{Abandoned, Ends};

impl<W: Watch> Player<'_, W> {
    /// A job that waited is over without having started.
    pub(super) fn refuse(&mut self, now_ns: u64, slot: u32, reason: &'static str) {
        self.watch.refused(now_ns, slot);
        let Some(flight) = self.take(slot) else { return };
        let facts = flight.facts;
        self.ledger.left_queue(facts.tenant, facts.bytes);
        self.ledger.refused(facts.tenant, reason);
        self.after_refusal(now_ns, flight.thread);
    }

    pub(super) fn after_refusal(&mut self, now_ns: u64, thread: Option<u32>) {
        if let Some(thread) = thread
            && let Some(next_ns) = self.threads.call_after_refusal(thread, now_ns)
        {
            self.call_at(next_ns, thread);
        }
    }

    #[inline]
    pub(super) fn reply(&mut self, now_ns: u64, slot: u32) {
        let Some(Some(flight)) = self.flights.get_mut(num::index(slot)) else { return };
        flight.replied = true;
        let Flight { facts, abandoned, load, .. } = *flight;
        let latency_ns = (!abandoned).then(|| now_ns.saturating_sub(facts.submitted_ns));
        let ended_well = self.plan.loads[num::index(load)].job.ends == Ends::Done;
        let good = ended_well && facts.deadline_ns.is_none_or(|deadline_ns| now_ns <= deadline_ns);
        self.ledger.replied(now_ns, facts.tenant, facts.weight, latency_ns, good);
    }

    #[inline]
    pub(super) fn done(&mut self, now_ns: u64, slot: u32, serial: u32) {
        if !self.is_current(slot, serial) {
            return;
        }
        if let Some(Some(Flight { replied: false, .. })) = self.flights.get(num::index(slot)) {
            self.reply(now_ns, slot);
        }
        let Some(flight) = self.take(slot) else { return };
        let ends = self.plan.loads[num::index(flight.load)].job.ends;
        let completed = self.machine.complete(now_ns, flight.id, ends);
        self.on_the_books(now_ns, slot, "complete", completed);
        self.ledger.ended(now_ns, flight.facts.tenant, flight.facts.weight);
        self.watch.ended(now_ns, slot);
    }

    /// Whoever waits for a job goes away.
    pub(super) fn give_up(&mut self, now_ns: u64, slot: u32) {
        let Some(Some(flight)) = self.flights.get_mut(num::index(slot)) else { return };
        if flight.replied {
            return;
        }
        flight.abandoned = true;
        let Flight { id, serial, load, facts, thread, .. } = *flight;
        match self.machine.cancel(now_ns, id) {
            Ok(true) => {
                self.watch.cancelled(now_ns, slot);
                let _gone = self.take(slot);
                self.ledger.left_queue(facts.tenant, facts.bytes);
                self.ledger.cancelled(facts.tenant);
                self.after_refusal(now_ns, thread);
            }
            Ok(false) if self.plan.loads[num::index(load)].job.abandoned == Abandoned::Ends => {
                self.done(now_ns, slot, serial);
            }
            Ok(false) => {}
            Err(OffTheBooks) => self.watch.off_the_books(now_ns, slot, "cancel"),
        }
    }
}
