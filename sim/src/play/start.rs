//! How a job comes in, and how it starts.

use tollgate::Timestamp;
use tollgate::gate::JobId;

use super::agenda::Event;
use super::machine::{Machine, OffTheBooks, Submitted};
use super::source::Work;
use super::watch::{Facts, Watch};
use super::{Flight, Player, slot_of};
use crate::num;
use crate::plan::{Ends, Entry};

/// The reason under which a job is counted that had to go for a newer one of its tenant.
const DISPLACED: &str = "displaced";
/// The reason under which a job is counted that was to start when the bucket can never grant it.
const NEVER: &str = "never";

impl<W: Watch> Player<'_, W> {
    /// Somebody submits a job.
    #[inline]
    pub(super) fn submit(&mut self, now_ns: u64, tenant: u32, load: u32, thread: Option<u32>, work: &Work) {
        self.ledger.submitted(tenant, work.cost);
        self.watch.submitted(tenant);
        let outcome = self.at_the_door(now_ns, tenant, work);
        let (id, starts) = match outcome {
            Submitted::Queued { job, displaced } => {
                if let Some(displaced) = displaced {
                    self.refuse(now_ns, slot_of(displaced), DISPLACED);
                }
                (job, false)
            }
            Submitted::Started(job) => (job, true),
            Submitted::Refused(reason) => {
                self.ledger.refused(tenant, reason);
                self.watch.turned_away(tenant);
                self.after_refusal(now_ns, thread);
                return;
            }
        };
        let facts = Facts {
            tenant,
            cost: work.cost,
            weight: work.weight,
            bytes: work.bytes,
            submitted_ns: now_ns,
            deadline_ns: work.deadline_ns.map(|after| now_ns.saturating_add(after)),
            latest_ns: Machine::latest_start(&self.plan.settings, now_ns, work.deadline_ns),
            ready_ns: work.ready_ns.map_or(0, |after| now_ns.saturating_add(after)),
        };
        let serial = self.serial;
        self.serial = serial.wrapping_add(1);
        let slot = slot_of(id);
        self.place(
            slot,
            Flight {
                id,
                serial,
                load,
                thread,
                facts,
                exec_ns: work.exec_ns,
                running: false,
                replied: false,
                abandoned: false,
            },
        );
        if self.plan.entry == Entry::Queue {
            self.ledger.queued(tenant, work.bytes);
        }
        self.watch.accepted(now_ns, slot, &facts);
        if let Some(patience_ns) = self.plan.loads[num::index(load)].job.patience_ns {
            self.agenda.schedule(now_ns.saturating_add(patience_ns), Event::GiveUp { slot, serial });
        }
        if starts {
            self.start(now_ns, id);
        }
    }

    /// The door, if there is one, then the gate.
    #[inline]
    fn at_the_door(&mut self, now_ns: u64, tenant: u32, work: &Work) -> Submitted {
        let session = match &mut self.door {
            None => None,
            Some(door) => match door.enter(now_ns, tenant, work.cost) {
                Ok(session) => Some(session),
                Err(reason) => return Submitted::Refused(reason),
            },
        };
        let outcome = match self.plan.entry {
            Entry::Queue => self.machine.submit(now_ns, tenant, work),
            Entry::StartOrRefuse => self.machine.try_start(now_ns, tenant, work),
        };
        if let (Some(door), Some(session)) = (&mut self.door, session) {
            door.answered(now_ns, session, !matches!(outcome, Submitted::Refused(_)));
        }
        outcome
    }

    /// The gate starts a job; with a limiter that is an attempt.
    #[inline]
    pub(super) fn start(&mut self, now_ns: u64, id: JobId) {
        let slot = slot_of(id);
        if let Some(bucket) = &mut self.bucket {
            self.watch.attempted(now_ns, slot);
            match bucket.try_acquire(Timestamp::from_nanos(now_ns), 1) {
                Ok(()) => {
                    let confirmed = self.machine.confirm(now_ns, id);
                    self.on_the_books(now_ns, slot, "confirm", confirmed);
                }
                Err(refused) => return self.send_back(now_ns, id, refused.retry_at),
            }
        }
        let Some(Some(flight)) = self.flights.get_mut(num::index(slot)) else {
            self.watch.off_the_books(now_ns, slot, "start");
            return;
        };
        flight.running = true;
        let Flight { facts, serial, thread, load, exec_ns, .. } = *flight;
        self.watch.started(now_ns, slot);
        if self.plan.entry == Entry::Queue {
            self.ledger.left_queue(facts.tenant, facts.bytes);
        }
        let waited_ns = now_ns.saturating_sub(facts.submitted_ns);
        self.ledger.started(now_ns, facts.tenant, facts.weight, facts.cost, waited_ns);
        let reply_ns = now_ns.saturating_add(self.slowed(now_ns, exec_ns));
        let pad_ns = self.plan.loads[num::index(load)].job.pad_ns;
        if pad_ns > 0 {
            self.agenda.schedule(reply_ns, Event::Reply { slot, serial });
        }
        self.agenda.schedule(reply_ns.saturating_add(pad_ns), Event::Done { slot, serial });
        if let Some(thread) = thread {
            let next_ns = self.threads.next_call(thread, reply_ns).max(now_ns);
            self.call_at(next_ns, thread);
        }
    }

    /// The exec time of a job that starts now.
    #[inline]
    fn slowed(&self, now_ns: u64, exec_ns: u64) -> u64 {
        let slow = self.plan.slow.iter().find(|slow| (slow.from_ns..slow.to_ns).contains(&now_ns));
        slow.map_or(exec_ns, |slow| num::rounded(num::real(exec_ns) * slow.factor))
    }

    /// The limiter refused an attempt.
    fn send_back(&mut self, now_ns: u64, id: JobId, retry_at: Option<Timestamp>) {
        let slot = slot_of(id);
        let Some(ready_at) = retry_at else {
            // It can never pass: it never started.
            let completed = self.machine.complete(now_ns, id, Ends::NotStarted);
            self.on_the_books(now_ns, slot, "complete", completed);
            return self.refuse(now_ns, slot, NEVER);
        };
        match self.machine.retry(now_ns, id, ready_at) {
            Ok(None) => {
                if let Some(Some(flight)) = self.flights.get_mut(num::index(slot)) {
                    flight.facts.ready_ns = ready_at.as_nanos();
                }
                self.watch.sent_back(slot, ready_at.as_nanos());
            }
            Ok(Some(reason)) => self.refuse(now_ns, slot, reason),
            Err(OffTheBooks) => self.watch.off_the_books(now_ns, slot, "retry"),
        }
    }
}
