//! Plays a plan: the event loop with a gate in it.
//!
//! A job is submitted and either waits, starts, or is refused. A job that starts takes its exec time, times the factor
//! of the slow span it starts in; then it replies, and after its pad time, if any, it gives its place back. With a
//! limiter each start is an attempt: the bucket is asked, and what it refuses goes back with the instant at which the
//! bucket says to try again. With rules each job passes the door before it is submitted, or is refused there. A thread makes its next call its think time after the reply.
//!
//! After every event the gate is polled until it has nothing to say, so between events nothing is left undone. When
//! nothing will happen but by time, the next event is the gate's own timeout.
//!
//! The run ends when no load has more to send and everything has ended. Whoever watches ([`Watch`]) hears of every
//! step; [`Unwatched`] compiles to nothing, for the benchmark.
//!
//! **Work** O(log n) an event and what the gate does; **memory** one entry for each job that waits or runs, and what the
//! ledger keeps.

mod agenda;
pub(crate) mod door;
mod end;
pub(crate) mod ledger;
pub(crate) mod machine;
pub(crate) mod source;
mod start;
mod threads;
mod watch;

use core::error::Error;

use rand_chacha::ChaCha8Rng;
use tollgate::gate::JobId;
use tollgate::rate::TokenBucket;

use self::agenda::{Agenda, Event};
use self::door::Door;
use self::ledger::{Ledger, POINTS};
use self::machine::{Decision, Machine, OffTheBooks};
use self::source::{Arrival, Source};
use self::threads::Threads;
pub(crate) use self::watch::{Facts, Unwatched, Watch};
use crate::num;
use crate::plan::Plan;
use crate::rng::{Source as Chance, stream};

/// What a run leaves behind.
#[derive(Debug)]
pub(crate) struct Played<W> {
    pub(crate) ledger: Ledger,
    pub(crate) watch: W,
    /// Events handled.
    pub(crate) events: u64,
    /// Instant of the last of them.
    pub(crate) end_ns: u64,
}

/// A job that waits or runs.
#[derive(Clone, Copy, Debug)]
struct Flight {
    id: JobId,
    serial: u32,
    load: u32,
    thread: Option<u32>,
    facts: Facts,
    exec_ns: u64,
    running: bool,
    replied: bool,
    abandoned: bool,
}

/// Plays `plan` and tells `watch` of every step; `progress` hears the simulated time now and then.
///
/// # Errors
/// The core's, if it refuses the settings or the rules.
pub(crate) fn play<W: Watch>(
    plan: &Plan,
    watch: W,
    mut progress: impl FnMut(u64),
) -> Result<Played<W>, Box<dyn Error + Send + Sync>> {
    let mut player = Player::new(plan, watch)?;
    let mut events = 0_u64;
    let mut now_ns = 0;
    loop {
        let timeout = player.machine.poll_timeout();
        let event = match (player.agenda.next_at(), timeout) {
            // What is due by time alone is found by the polls after the event, if there is one at that instant.
            (Some(at_ns), Some(timeout_ns)) if timeout_ns < at_ns => Err(timeout_ns),
            (None, Some(timeout_ns)) => Err(timeout_ns),
            (Some(_), _) => Ok(()),
            (None, None) => break,
        };
        events += 1;
        if events.is_multiple_of(4096) {
            progress(now_ns);
        }
        match event {
            Err(timeout_ns) => {
                if timeout_ns <= now_ns {
                    player.watch.overdue(now_ns, timeout_ns);
                    break;
                }
                now_ns = timeout_ns;
            }
            Ok(()) => {
                let Some((at_ns, event)) = player.agenda.pop() else { break };
                now_ns = at_ns;
                player.handle(now_ns, event);
            }
        }
        player.settle(now_ns);
    }
    let Player { ledger, mut watch, machine, .. } = player;
    watch.drained(now_ns, &machine);
    Ok(Played { ledger, watch, events, end_ns: now_ns })
}

struct Player<'a, W> {
    plan: &'a Plan,
    machine: Machine,
    watch: W,
    ledger: Ledger,
    agenda: Agenda,
    sources: Vec<(Source<'a>, Option<Arrival>)>,
    threads: Threads,
    chances: Vec<ChaCha8Rng>,
    /// By [`JobId::index`].
    flights: Vec<Option<Flight>>,
    door: Option<Door>,
    bucket: Option<TokenBucket>,
    serial: u32,
}

impl<'a, W: Watch> Player<'a, W> {
    fn new(plan: &'a Plan, watch: W) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let bucket = plan.limiter.map(TokenBucket::new).transpose()?;
        let loads = || (0_u32..).zip(&plan.loads);
        let sources = loads().filter_map(|(number, load)| Source::new(number, load, plan.seed));
        let mut player = Self {
            plan,
            machine: Machine::new(plan.settings, plan.limit, &plan.tenants, bucket.is_some())?,
            watch,
            ledger: Ledger::new(plan.tenants.len()),
            agenda: Agenda::default(),
            sources: sources.map(|source| (source, None)).collect(),
            threads: Threads::new(&plan.loads),
            chances: loads().map(|(number, _)| stream(plan.seed, Chance::LoadJobs(number))).collect(),
            flights: Vec::new(),
            door: Door::new(&plan.rules, plan.tenants.len())?,
            bucket,
            serial: 0,
        };
        player.schedule();
        Ok(player)
    }

    /// What is known from the start.
    fn schedule(&mut self) {
        let grid = (0..=POINTS).map(|point| {
            num::narrow(u128::from(self.plan.duration_ns) * u128::from(point) / u128::from(POINTS))
        });
        let borders = self.plan.windows.iter().flat_map(|window| [window.from_ns, window.to_ns]);
        let mut marks: Vec<u64> = grid.chain(borders).collect();
        marks.sort_unstable();
        marks.dedup();
        for at_ns in marks {
            self.agenda.schedule(at_ns, Event::Mark);
        }
        for (change, &(at_ns, _)) in (0_u32..).zip(&self.plan.limits) {
            self.agenda.schedule(at_ns, Event::Limit { change });
        }
        for (thread, at_ns) in self.threads.starts() {
            self.call_at(at_ns, thread);
        }
        for source in 0..num::index_u32(self.sources.len()) {
            self.draw(source);
            self.schedule_arrival(source);
        }
    }

    /// Makes the next job of a source, if it comes while the run lasts.
    #[inline]
    fn draw(&mut self, source: u32) {
        let Some((jobs, next)) = self.sources.get_mut(num::index(source)) else { return };
        let load = num::index(jobs.load);
        *next = jobs.next(&self.plan.loads[load].job, &mut self.chances[load]);
        *next = next.filter(|arrival| arrival.at_ns < self.plan.duration_ns);
    }

    #[inline]
    fn schedule_arrival(&mut self, source: u32) {
        if let Some((_, Some(arrival))) = self.sources.get(num::index(source)) {
            self.agenda.schedule(arrival.at_ns, Event::Arrive { source });
        }
    }

    #[inline]
    fn call_at(&mut self, at_ns: u64, thread: u32) {
        if at_ns < self.plan.duration_ns {
            self.agenda.schedule(at_ns, Event::Call { thread });
        }
    }

    #[inline]
    fn handle(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Arrive { source } => {
                // What one source sends at one instant comes together, before what others send then.
                while let Some((jobs, next)) = self.sources.get_mut(num::index(source))
                    && let load = jobs.load
                    && let Some(Arrival { tenant, work, .. }) = next.take_if(|next| next.at_ns <= now_ns)
                {
                    self.submit(now_ns, tenant, load, None, &work);
                    self.poll(now_ns);
                    self.draw(source);
                }
                self.schedule_arrival(source);
            }
            Event::Call { thread } => {
                let Some(load) = self.threads.call(thread) else { return };
                let plan = &self.plan.loads[num::index(load)];
                let work = plan.job.draw(&mut self.chances[num::index(load)]);
                self.submit(now_ns, plan.tenant, load, Some(thread), &work);
            }
            Event::Done { slot, serial } => self.done(now_ns, slot, serial),
            Event::Reply { slot, serial } => {
                if self.is_current(slot, serial) {
                    self.reply(now_ns, slot);
                }
            }
            Event::GiveUp { slot, serial } => {
                if self.is_current(slot, serial) {
                    self.give_up(now_ns, slot);
                }
            }
            Event::Limit { change } => {
                if let Some(&(_, limit)) = self.plan.limits.get(num::index(change)) {
                    self.machine.set_limit(limit);
                    self.watch.limit(now_ns, limit);
                }
            }
            Event::Mark => {
                let border = self.plan.windows.iter().any(|w| w.from_ns == now_ns || w.to_ns == now_ns);
                self.ledger.mark(now_ns, border, self.machine.in_use(), self.machine.limit());
            }
        }
    }

    /// Nothing is left undone at this instant.
    #[inline]
    fn settle(&mut self, now_ns: u64) {
        self.poll(now_ns);
        self.ledger.settled(self.machine.in_use());
        self.watch.settled(now_ns, &self.machine);
    }

    /// Until the gate has nothing to say.
    #[inline]
    fn poll(&mut self, now_ns: u64) {
        while let Some(decision) = self.machine.poll(now_ns) {
            match decision {
                Decision::Start(job) => self.start(now_ns, job),
                Decision::Refuse(job, reason) => self.refuse(now_ns, slot_of(job), reason),
            }
        }
    }

    #[inline]
    fn on_the_books(&mut self, now_ns: u64, slot: u32, call: &'static str, answer: Result<(), OffTheBooks>) {
        if answer.is_err() {
            self.watch.off_the_books(now_ns, slot, call);
        }
    }

    #[inline]
    fn is_current(&self, slot: u32, serial: u32) -> bool {
        matches!(self.flights.get(num::index(slot)), Some(Some(flight)) if flight.serial == serial)
    }

    #[inline]
    fn place(&mut self, slot: u32, flight: Flight) {
        let slot = num::index(slot);
        if self.flights.len() <= slot {
            self.flights.resize(slot + 1, None);
        }
        self.flights[slot] = Some(flight);
    }

    #[inline]
    fn take(&mut self, slot: u32) -> Option<Flight> {
        self.flights.get_mut(num::index(slot)).and_then(Option::take)
    }
}

#[inline]
fn slot_of(job: JobId) -> u32 {
    num::index_u32(job.index())
}

#[cfg(test)]
mod tests;
