//! The judge: what has to hold at every event of every run, whatever the plan says.
//!
//! **Problem.** Ranges are part of a plan, and whoever writes the plan may widen them. These rules are code: a plan can
//! neither name nor relax them. The judge keeps books of its own, only from what the simulator did and was told, and
//! compares them with what the gate says of itself.
//!
//! | rule | holds at every event |
//! | --- | --- |
//! | `limit` | in use ≤ limit, or ≤ what was in use when the limit was lowered; a job above the limit starts alone; in use is the sum of what runs |
//! | `bounds` | jobs and bytes waiting, in all and of each tenant, and jobs running are within the settings |
//! | `time` | no job starts at or after its deadline or its longest wait, nor before it is ready |
//! | `once` | each job is started at most once and ends exactly once; no number stands for two jobs |
//! | `books` | for each tenant, submitted = turned away + started + refused + cancelled + waiting; the gate says the same of it |
//! | `fair` | see [`pairs`]; where the order promises it, to tenants with work that is ready |
//! | `progress` | the gate's timeouts come to something, and nothing waits for ever |
//! | `drained` | after the run everything counts 0 |
//!
//! In debug builds the gate's own `check_invariants` is asked too, in full at every hundredth event and at the end.
//!
//! **Work** O(tenants) an event.

pub(crate) mod books;
pub(crate) mod pairs;

use serde::Serialize;
use tollgate::gate::Settings;

use self::books::{Books, State};
use self::pairs::Pairs;
use crate::plan::{Entry, Plan};
use crate::play::machine::Machine;
use crate::play::{Facts, Watch};

/// Violations that are kept; the rest is counted.
const KEPT: usize = 8;
/// The gate's own check in full is O(jobs): not at every event.
#[cfg(debug_assertions)]
const CHECK_EVERY: u64 = 100;

/// One rule was broken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// When.
    pub at_ns: u64,
    /// What was found and what is allowed.
    pub detail: String,
}

/// Watches a run and holds it to the rules.
#[derive(Debug)]
pub(crate) struct Judge {
    settings: Settings,
    /// Without a queue a job that is accepted runs: it never takes up a place.
    queue: bool,
    books: Books,
    pairs: Option<Pairs>,
    limit: u64,
    /// What may be in use: more than the limit for as long as what was in use when it was lowered has not come back.
    allowed: u64,
    #[cfg(debug_assertions)]
    events: u64,
    violations: Vec<Violation>,
    count: u64,
}

impl Judge {
    /// For the tenants of a plan and what its order promises.
    pub(crate) fn of(plan: &Plan) -> Self {
        let weights: Vec<u32> = plan.tenants.iter().map(|tenant| tenant.weight).collect();
        Self {
            queue: plan.entry == Entry::Queue,
            ..Self::new(plan.settings, plan.limit, &weights, plan.quantum_to_judge())
        }
    }

    /// For tenants of these weights; `quantum` if the order promises equal cost for equal weights.
    pub(crate) fn new(settings: Settings, limit: u64, weights: &[u32], quantum: Option<u64>) -> Self {
        Self {
            settings,
            queue: true,
            books: Books::new(weights.len()),
            pairs: quantum.map(|quantum| Pairs::new(quantum, weights)),
            limit,
            allowed: limit,
            #[cfg(debug_assertions)]
            events: 0,
            violations: Vec::new(),
            count: 0,
        }
    }

    /// What was found, and how often in all.
    pub(crate) fn verdict(self) -> (Vec<Violation>, u64) {
        (self.violations, self.count)
    }

    fn violate(&mut self, rule: &'static str, at_ns: u64, detail: impl FnOnce() -> String) {
        self.count += 1;
        if self.violations.len() < KEPT {
            self.violations.push(Violation { rule, at_ns, detail: detail() });
        }
    }

    fn require(&mut self, holds: bool, rule: &'static str, at_ns: u64, detail: impl FnOnce() -> String) {
        if !holds {
            self.violate(rule, at_ns, detail);
        }
    }

    /// A job leaves the state `from`; answers it, if it was in it.
    fn step(&mut self, now_ns: u64, slot: u32, from: State, to: Option<State>, call: &str) -> Option<Facts> {
        match self.books.step(slot, from, to) {
            Ok(facts) => Some(facts),
            Err(found) => {
                self.violate("once", now_ns, || {
                    format!("job {slot} {call} while {found}, allowed is while {from:?}")
                });
                None
            }
        }
    }

    /// A job does not wait any more, and was not started.
    fn gone(&mut self, now_ns: u64, slot: u32, call: &str) -> Option<Facts> {
        let facts = self.step(now_ns, slot, State::Waiting, None, call)?;
        if let Some(pairs) = &mut self.pairs {
            pairs.left(facts.tenant);
        }
        Some(facts)
    }

    /// The bounds on what waits, of which nothing may be passed even for a moment.
    fn check_queue(&mut self, now_ns: u64, tenant: u32) {
        let (all, own) = (self.books.waiting, self.books.tenant(tenant).clone());
        let settings = self.settings;
        for (what, found, most) in [
            ("jobs waiting", all.jobs, settings.max_queued.into()),
            ("bytes waiting", all.bytes, settings.max_queued_bytes),
            ("jobs waiting of one tenant", own.waiting.jobs, settings.max_queued_per_tenant.into()),
            ("bytes waiting of one tenant", own.waiting.bytes, settings.max_bytes_per_tenant),
        ] {
            self.require(found <= most, "bounds", now_ns, || {
                format!("{what}: {found} (tenant {tenant}), allowed is up to {most}")
            });
        }
    }
}

impl Watch for Judge {
    fn submitted(&mut self, tenant: u32) {
        self.books.tenant(tenant).submitted += 1;
    }

    fn turned_away(&mut self, tenant: u32) {
        self.books.tenant(tenant).turned_away += 1;
    }

    fn accepted(&mut self, now_ns: u64, slot: u32, facts: &Facts) {
        if !self.books.enter(slot, *facts) {
            self.violate("once", now_ns, || format!("job {slot} is two jobs, allowed is one at a time"));
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.joined(facts.tenant, facts.cost);
        }
        if self.queue {
            self.check_queue(now_ns, facts.tenant);
        }
    }

    fn attempted(&mut self, now_ns: u64, slot: u32) {
        if let Some(facts) = self.books.facts(slot) {
            let in_time = now_ns < facts.latest_ns && now_ns >= facts.ready_ns;
            self.require(in_time, "time", now_ns, || {
                format!(
                    "an attempt, allowed is from {} ns until before {} ns",
                    facts.ready_ns, facts.latest_ns
                )
            });
        }
    }

    fn sent_back(&mut self, slot: u32, ready_ns: u64) {
        self.books.ready_from(slot, ready_ns);
    }

    fn started(&mut self, now_ns: u64, slot: u32) {
        let Some(facts) = self.step(now_ns, slot, State::Waiting, Some(State::Running), "started") else {
            return;
        };
        let in_time = now_ns < facts.latest_ns && now_ns >= facts.ready_ns;
        self.require(in_time, "time", now_ns, || {
            format!("a start, allowed is from {} ns until before {} ns", facts.ready_ns, facts.latest_ns)
        });
        let (running, most) = (self.books.running, self.settings.max_active);
        self.require(facts.weight <= self.limit || running == 1, "limit", now_ns, || {
            format!("a job of weight {} is one of {running} that run, allowed is alone", facts.weight)
        });
        self.books.take(slot, facts.weight.min(self.limit));
        self.require(running <= u64::from(most), "bounds", now_ns, || {
            format!("jobs running: {running}, allowed is up to {most}")
        });
        if let Some(pairs) = &mut self.pairs
            && let Some(unfair) = pairs.served(facts.tenant, facts.cost)
        {
            self.violate("fair", now_ns, || unfair.to_string());
        }
    }

    fn refused(&mut self, now_ns: u64, slot: u32) {
        if let Some(facts) = self.gone(now_ns, slot, "refused") {
            self.books.tenant(facts.tenant).refused += 1;
        }
    }

    fn cancelled(&mut self, now_ns: u64, slot: u32) {
        if let Some(facts) = self.gone(now_ns, slot, "cancelled") {
            self.books.tenant(facts.tenant).cancelled += 1;
        }
    }

    fn ended(&mut self, now_ns: u64, slot: u32) {
        if self.step(now_ns, slot, State::Running, None, "ended").is_some() {
            self.books.give_back(slot);
        }
    }

    fn limit(&mut self, _now_ns: u64, limit: u64) {
        self.limit = limit;
        self.allowed = limit.max(self.books.in_use);
    }

    fn off_the_books(&mut self, now_ns: u64, slot: u32, call: &'static str) {
        self.violate("once", now_ns, || {
            format!("{call} of job {slot}: the gate or the simulator knows no such job")
        });
    }

    fn overdue(&mut self, now_ns: u64, timeout_ns: u64) {
        self.violate("progress", now_ns, || {
            format!(
                "the timeout {timeout_ns} ns is due and the gate had nothing to say, allowed is a later one"
            )
        });
    }

    fn settled(&mut self, now_ns: u64, machine: &Machine) {
        let (in_use, own) = (machine.in_use(), self.books.in_use);
        self.require(in_use == own, "limit", now_ns, || {
            format!("the gate has {in_use} in use, allowed is what runs: {own}")
        });
        self.allowed = self.limit.max(self.allowed.min(own));
        let allowed = self.allowed;
        self.require(own <= allowed, "limit", now_ns, || {
            format!("in use: {own}, allowed is up to {allowed}")
        });
        if let Some(wrong) = self.books.compare(now_ns, machine) {
            self.violate("books", now_ns, || wrong);
        }
        #[cfg(debug_assertions)]
        {
            self.events += 1;
            if self.events.is_multiple_of(CHECK_EVERY) {
                machine.check_invariants();
            }
        }
    }

    fn drained(&mut self, now_ns: u64, machine: &Machine) {
        #[cfg(debug_assertions)]
        machine.check_invariants();
        let own = self.books.waiting.jobs;
        self.require(own == 0, "progress", now_ns, || {
            format!("{own} jobs wait and nothing will happen, allowed is that everything ends")
        });
        let gate = machine.snapshot(now_ns);
        for (what, left) in [
            ("queued", u64::from(gate.queued)),
            ("queued_bytes", gate.queued_bytes),
            ("waiting", gate.waiting.into()),
            ("active", gate.active.into()),
            ("attempts", gate.attempts.into()),
            ("in use", machine.in_use()),
            ("running", self.books.running),
        ] {
            self.require(left == 0, "drained", now_ns, || format!("{what} is {left}, allowed is 0"));
        }
    }
}

#[cfg(test)]
mod tests;
