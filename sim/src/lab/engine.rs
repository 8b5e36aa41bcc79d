//! The event loop: one run of one plan behind its limiters.
//!
//! A request asks its limiter, whose permits are the core's own: see `door`. Refused, it is gone, or comes
//! back. Admitted, it may fail at once; otherwise it goes to the server, and its client waits until it is done or gives
//! up; then the server works on, for nobody. Each end of an attempt is told to the limiter that admitted it, with the
//! times its clock would have shown.
//!
//! Most events of an overloaded run are refusals. Those of an open load change nothing in the calendar, so the list of
//! requests is walked up to the next event without looking at the calendar again.
//!
//! **Work** O(log in service) an event; a refusal of an open load O(1).

mod clients;
mod door;
mod ends;

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use tollgate::Timestamp;

use self::door::{Attempt, Door, Held};
use super::calendar::{Calendar, Event, Script};
use super::chance::{Purpose, stream};
use super::curve::Curve;
use super::limiter::Seat;
use super::plan::{Phase, Plan};
use super::requests::{Request, Requests, What};
use super::server::{Offer, Server};
use super::tally::Tally;
use super::watch::Broken;
use crate::num;

/// From admission to a refusal by the server, or to a failure of its own, nanoseconds.
const FAST_NS: u64 = 200_000;
/// Between two ticks told to limiters, nanoseconds.
const TICK_NS: u64 = 100_000_000;

/// What a run came to, and the first rule that did not hold in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcomes {
    /// The counts.
    pub tally: Tally,
    /// The first rule that did not hold.
    pub broken: Option<Broken>,
}

struct Engine<'a> {
    plan: &'a Plan,
    phase: &'a Phase,
    doors: Vec<Door>,
    server: Server<'a>,
    calendar: Calendar,
    tally: Tally,
    curve: Option<&'a mut Curve>,
    attempts: Vec<Attempt>,
    free: Vec<u32>,
    serial: u64,
    followers: ChaCha8Rng,
    pauses: ChaCha8Rng,
    /// Sum of the limits, and since when.
    limit: u64,
    limit_since_ns: u64,
}

/// Runs `plan` under `seed` behind one limiter for each of the plan's; `requests` are those [`Requests::draw`] gave for
/// the two. `curve` takes down what happened over time.
#[must_use]
pub fn run(
    plan: &Plan,
    seed: u64,
    requests: &Requests,
    seats: Vec<Seat>,
    curve: Option<&mut Curve>,
) -> Outcomes {
    let Some(phase) = plan.phases.first() else {
        return Outcomes { tally: Tally::new(plan), broken: None };
    };
    let opens = (0..).map(|index: u64| index.saturating_mul(plan.stagger_ns));
    let doors: Vec<Door> = seats
        .into_iter()
        .zip(opens)
        .map(|(seat, opens_ns)| Door::new(seat, opens_ns, plan.reserved_ppm))
        .collect();
    let limit = doors.iter().map(|door| u64::from(door.limit())).sum();
    let mut engine = Engine {
        plan,
        phase,
        doors,
        server: Server::new(&plan.server, phase),
        calendar: Calendar::new(script(plan, curve.as_deref()), TICK_NS),
        tally: Tally::new(plan),
        curve,
        attempts: Vec::new(),
        free: Vec::new(),
        serial: 0,
        followers: stream(seed, Purpose::Followers),
        pauses: stream(seed, Purpose::Pauses),
        limit,
        limit_since_ns: 0,
    };
    if let Some(closed) = plan.closed {
        for limiter in (0..plan.limiters).cycle().take(num::index(closed.clients)) {
            engine.think(0, limiter);
        }
    }
    engine.walk(requests);
    engine.close()
}

/// Everything the plan says will happen, in order.
fn script(plan: &Plan, curve: Option<&Curve>) -> VecDeque<(u64, Script)> {
    let mut script = vec![(plan.warm_up_ns, Script::Measured)];
    for (index, phase) in plan.phases.iter().enumerate() {
        if index > 0 {
            script.push((phase.from_ns, Script::Phase(index)));
        }
        let jumps = phase.slots.jumps(phase.length_ns).skip(1);
        script.extend(jumps.map(|at_ns| (phase.from_ns + at_ns, Script::Slots)));
    }
    script.extend(curve.into_iter().flat_map(Curve::ends).map(|at_ns| (at_ns, Script::Cell)));
    script.sort_by_key(|&(at_ns, _)| at_ns);
    script.into()
}

impl Engine<'_> {
    fn walk(&mut self, requests: &Requests) {
        let span_ns = self.plan.span_ns();
        // Whoever is refused is gone, all are alike and there is one limiter: until something happens all others are
        // refused too.
        let alike = self.plan.limiters == 1 && self.plan.retries.is_none() && !self.plan.is_mixed();
        let mut rest = &requests.0[..];
        'events: loop {
            let next_ns = self.calendar.next_ns().min(span_ns);
            while let Some((request, after)) = rest.split_first()
                && request.at_ns < next_ns
            {
                rest = after;
                self.tally.events += 1;
                if self.ask(request.at_ns, request.what, request.below, request.at_ns, 0) {
                    continue 'events;
                }
                if alike {
                    rest = self.refuse_all(rest, next_ns);
                }
            }
            if next_ns >= span_ns {
                return;
            }
            let (now_ns, event) = self.calendar.pop();
            self.tally.events += 1;
            self.handle(now_ns, event);
        }
    }

    /// Refuses those who come before `next_ns`, after one was refused and nothing has happened since; up to the first
    /// who makes the limiter change its mind.
    fn refuse_all<'r>(&mut self, rest: &'r [Request], next_ns: u64) -> &'r [Request] {
        let Some((first, door)) = rest.first().zip(self.doors.first_mut()) else { return rest };
        let limit = door.limit();
        let (mut below, mut count) = (0, 0);
        let mut changed = None;
        for request in rest.iter().take_while(|request| request.at_ns < next_ns) {
            below += u64::from(request.below);
            count += 1;
            let answer = door.limiter.on_reject(seen(request.at_ns, self.plan.tick_ns));
            if answer != limit {
                changed = Some((request.at_ns, answer));
                break;
            }
        }
        if count > 0 {
            self.tally.refused(first.at_ns, num::count(count), below);
        }
        if let Some((now_ns, answer)) = changed {
            self.enforce(now_ns, 0, answer);
        }
        rest.get(count..).unwrap_or_default()
    }

    #[inline]
    fn handle(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Done { request } => self.done(now_ns, request),
            Event::Fast { request } => self.failed(now_ns, request),
            Event::GivesUp { request, serial } => self.gives_up(now_ns, request, serial),
            Event::Tick => {
                for index in 0..self.doors.len() {
                    let door = &mut self.doors[index];
                    let limit = door.limiter.on_tick(seen(now_ns, self.plan.tick_ns));
                    self.enforce(now_ns, index, limit);
                }
            }
            Event::Back(back) => self.comes_back(now_ns, back),
            Event::Script(script) => self.script(now_ns, script),
        }
    }

    fn script(&mut self, now_ns: u64, script: Script) {
        match script {
            Script::Phase(index) => {
                self.account(now_ns);
                let Some(phase) = self.plan.phases.get(index) else { return };
                self.phase = phase;
                self.server.enter(phase);
                self.tally.enter(self.plan, index, phase);
                for door in 0..self.doors.len() {
                    let limit = self.doors[door].limiter.on_phase(index);
                    self.enforce(now_ns, door, limit);
                }
                self.fill(now_ns);
            }
            Script::Slots => self.fill(now_ns),
            Script::Measured => {}
            Script::Cell => {
                let in_flight = self.doors.iter().map(|door| u64::from(door.in_use())).sum();
                if let Some(curve) = &mut self.curve {
                    curve.close_cell(self.limit, in_flight);
                }
            }
        }
    }

    /// The number of slots may have changed.
    fn fill(&mut self, now_ns: u64) {
        self.server.read_slots(now_ns);
        while let Some((request, done_ns)) = self.server.next(now_ns) {
            self.calendar.done(done_ns, request);
        }
    }

    /// An attempt asks to be let in. Says whether something is in the calendar that was not.
    #[inline]
    fn ask(&mut self, now_ns: u64, what: What, below: bool, first_ns: u64, tries: u32) -> bool {
        let door = &mut self.doors[num::index(what.limiter)];
        if now_ns < door.opens_ns {
            return false;
        }
        match door.enter(what.low) {
            Some(held) => {
                let in_flight = door.in_use();
                door.watch.admitted(in_flight, door.limit());
                self.tally.offered(now_ns, below, false);
                let counts = self.tally.came(now_ns, what.low);
                self.admit(now_ns, what, (held, in_flight, counts), first_ns, tries);
                true
            }
            None => {
                door.watch.refused(door.in_use() + door.kept_from(what.low), door.limit());
                let limit = door.limiter.on_reject(seen(now_ns, self.plan.tick_ns));
                self.tally.offered(now_ns, below, true);
                self.tally.came(now_ns, what.low);
                self.enforce(now_ns, num::index(what.limiter), limit);
                self.follow(now_ns, what.limiter, first_ns, tries, false)
            }
        }
    }

    #[inline]
    fn admit(
        &mut self,
        now_ns: u64,
        what: What,
        (held, in_flight, counts): (Held, u32, bool),
        first_ns: u64,
        tries: u32,
    ) {
        self.serial += 1;
        let serial = self.serial;
        let attempt = Attempt {
            serial,
            held: Some(held),
            admitted_ns: now_ns,
            first_ns,
            in_flight,
            limiter: what.limiter,
            tries,
            at_once: false,
            counts,
        };
        let request = self.place(attempt);
        let offer =
            if what.fails { Offer::Refused } else { self.server.offer(now_ns, request, what.work_ns) };
        match offer {
            Offer::Started { done_ns } => {
                self.attempts[num::index(request)].at_once = true;
                self.calendar.done(done_ns, request);
            }
            Offer::Queued => {}
            Offer::Refused => {
                self.calendar.fast(now_ns.saturating_add(FAST_NS), request);
                return;
            }
        }
        if let Some(timeout_ns) = self.plan.server.client_timeout_ns {
            self.calendar.gives_up(now_ns.saturating_add(timeout_ns), request, serial);
        }
    }

    /// `limit` is in force from now on.
    #[inline]
    fn enforce(&mut self, now_ns: u64, index: usize, limit: u32) {
        let door = &mut self.doors[index];
        let before = door.limit();
        if limit == before {
            return;
        }
        door.watch.limit_is(limit);
        door.set_limit(limit);
        let after = door.limit();
        self.account(now_ns);
        self.limit = self.limit - u64::from(before) + u64::from(after);
    }

    fn account(&mut self, now_ns: u64) {
        self.tally.limit_was(self.limit, self.limit_since_ns, now_ns);
        self.limit_since_ns = now_ns;
    }

    /// The end of the run: the books are closed.
    fn close(mut self) -> Outcomes {
        self.account(self.plan.span_ns());
        let in_flight: u64 = self.doors.iter().map(|door| u64::from(door.in_use())).sum();
        let broken = self.doors.iter().find_map(|door| door.watch.broken());
        let broken = broken.or_else(|| self.tally.books.check(in_flight));
        let open = self.attempts.iter().filter(|attempt| attempt.held.is_some() && attempt.counts);
        self.tally.undecided(num::count(open.count()));
        Outcomes { tally: self.tally, broken }
    }
}

/// An instant as the clock of a limiter shows it.
#[inline]
const fn seen(at_ns: u64, tick_ns: u64) -> Timestamp {
    Timestamp::from_nanos(if tick_ns > 1 { at_ns - at_ns % tick_ns } else { at_ns })
}

#[cfg(test)]
mod tests;
