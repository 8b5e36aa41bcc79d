//! The event loop: one run of one scenario behind one gate.
//!
//! A request asks the gate. Refused, it is gone. Admitted, it goes to the server and its client waits until the
//! deadline: whichever comes first, completion or deadline, ends it for the gate ([`Outcome::Success`] or
//! [`Outcome::Dropped`]). After a deadline the server works on, for nobody: that is what makes overload collapse,
//! and what a limit is for. A server at its hard limit refuses [`REFUSAL_NS`] after admission, which is a drop too.
//!
//! The run ends when no more requests come and no client waits; what the server still holds then is for nobody.
//!
//! **Work** O(log slots) per event; requests live in a slab that grows to the most ever held and is then reused.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{Estimator, Outcome, Sample};

use crate::calendar::{Calendar, Event};
use crate::measure::{Gauge, Recorder, Run};
use crate::num;
use crate::policy::{Gate, Ticket};
use crate::scenario::Scenario;
use crate::server::{Offer, Server};
use crate::workload::{Job, Jobs};

/// From admission to a refusal by the server's hard limit, nanoseconds.
const REFUSAL_NS: u64 = 200_000;

/// A request in the server, or whose client waits.
#[derive(Debug)]
struct Request {
    /// Number of its admission: tells it from the others that have had its place.
    serial: u64,
    admitted_ns: u64,
    in_flight: u32,
    /// The permit, while its client waits.
    ticket: Option<Ticket>,
    refused: bool,
}

/// Runs `scenario` behind `gate`.
pub(crate) fn run<E: Estimator>(scenario: &Scenario, gate: Gate<E>) -> Run {
    let mut jobs = scenario.workload.jobs();
    let mut engine = Engine {
        gate,
        server: Server::new(&scenario.server),
        calendar: Calendar::default(),
        recorder: Recorder::new(scenario.span_ns),
        requests: Vec::new(),
        free: Vec::new(),
        deadline_ns: scenario.deadline_ns,
        serial: 0,
        waiting: 0,
        next: None,
    };
    engine.draw(&mut jobs);
    while engine.next.is_some() || engine.waiting > 0 {
        let Some((now_ns, event)) = engine.calendar.pop() else { break };
        match event {
            Event::Arrival => engine.arrival(now_ns, &mut jobs),
            Event::Done { request } => engine.done(now_ns, request),
            Event::Deadline { request, serial } => engine.deadline(now_ns, request, serial),
        }
    }
    let gauge = engine.gauge();
    engine.recorder.finish(gauge)
}

struct Engine<'a, E> {
    gate: Gate<E>,
    server: Server<'a>,
    calendar: Calendar,
    recorder: Recorder,
    requests: Vec<Request>,
    free: Vec<u32>,
    deadline_ns: u64,
    serial: u64,
    /// Clients that wait.
    waiting: u64,
    /// The job whose arrival is in the calendar.
    next: Option<Job>,
}

impl<E: Estimator> Engine<'_, E> {
    #[inline]
    fn draw(&mut self, jobs: &mut Jobs<'_>) {
        self.next = jobs.next();
        self.calendar.schedule_arrival(self.next.map(|job| job.at_ns));
    }

    #[inline]
    fn gauge(&self) -> Gauge {
        Gauge { limit: self.gate.limit(), in_flight: self.gate.in_flight() }
    }

    #[inline]
    fn arrival(&mut self, now_ns: u64, jobs: &mut Jobs<'_>) {
        self.recorder.advance(now_ns, self.gauge());
        self.recorder.offered();
        let job = self.next;
        self.draw(jobs);
        match (self.gate.try_admit(), job) {
            (Some(ticket), Some(job)) => self.admit(now_ns, job.work_ns, ticket),
            _ => self.recorder.refused(),
        }
    }

    #[inline]
    fn admit(&mut self, now_ns: u64, work_ns: u64, ticket: Ticket) {
        let in_flight = self.gate.in_flight();
        let serial = self.serial;
        self.serial += 1;
        self.waiting += 1;
        let request = self.place(Request {
            serial,
            admitted_ns: now_ns,
            in_flight,
            ticket: Some(ticket),
            refused: false,
        });
        match self.server.offer(now_ns, request, work_ns) {
            Offer::Started { done_ns } => self.calendar.schedule_done(done_ns, request),
            Offer::Queued => {}
            Offer::Refused => {
                self.requests[num::index(request)].refused = true;
                self.calendar.schedule_done(now_ns.saturating_add(REFUSAL_NS), request);
            }
        }
        self.calendar.schedule_deadline(now_ns.saturating_add(self.deadline_ns), request, serial);
        self.recorder.admitted(in_flight, self.server.present());
    }

    /// The server is done with a request, or has refused it; its place is free again.
    #[inline]
    fn done(&mut self, now_ns: u64, request: u32) {
        self.recorder.advance(now_ns, self.gauge());
        let Request { admitted_ns, in_flight, ticket, refused, .. } = self.take(request);
        if !refused && let Some((next, done_ns)) = self.server.finish(now_ns) {
            self.calendar.schedule_done(done_ns, next);
        }
        let Some(ticket) = ticket else { return };
        let rtt_ns = now_ns - admitted_ns;
        let outcome = if refused {
            self.recorder.refused_by_server();
            Outcome::Dropped
        } else {
            self.recorder.on_time(rtt_ns);
            Outcome::Success
        };
        self.end(ticket, admitted_ns, rtt_ns, in_flight, outcome);
    }

    /// A client gives up, unless its request was done before.
    #[inline]
    fn deadline(&mut self, now_ns: u64, request: u32, serial: u64) {
        let request = &mut self.requests[num::index(request)];
        if request.serial != serial {
            return;
        }
        let Some(ticket) = request.ticket.take() else { return };
        let (admitted_ns, in_flight) = (request.admitted_ns, request.in_flight);
        // The permit is still held while the time before this instant is accounted for.
        self.recorder.advance(now_ns, self.gauge());
        let rtt_ns = now_ns - admitted_ns;
        self.recorder.timed_out(rtt_ns);
        self.end(ticket, admitted_ns, rtt_ns, in_flight, Outcome::Dropped);
    }

    #[inline]
    fn end(&mut self, ticket: Ticket, started_ns: u64, rtt_ns: u64, in_flight: u32, outcome: Outcome) {
        self.waiting -= 1;
        let (started, rtt) = (Timestamp::from_nanos(started_ns), Duration::from_nanos(rtt_ns));
        self.gate.end(ticket, &Sample { started, rtt, in_flight, outcome });
    }

    #[inline]
    fn place(&mut self, request: Request) -> u32 {
        if let Some(free) = self.free.pop() {
            self.requests[num::index(free)] = request;
            return free;
        }
        let fresh = num::index_u32(self.requests.len());
        self.requests.push(request);
        fresh
    }

    /// What was in this place, which is free from now on.
    #[inline]
    fn take(&mut self, request: u32) -> Request {
        self.free.push(request);
        let place = &mut self.requests[num::index(request)];
        Request { ticket: place.ticket.take(), ..*place }
    }
}

#[cfg(test)]
mod tests;
