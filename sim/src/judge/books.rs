//! The judge's own books: each job that waits or runs, and what it adds up to.

use core::fmt;

use crate::num;
use crate::play::Facts;
use crate::play::machine::Machine;

/// Where a job is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    Waiting,
    Running,
}

/// Where a job was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found(Option<State>);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(state) => write!(f, "{state:?}"),
            None => f.write_str("over"),
        }
    }
}

/// Jobs and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Load {
    pub(crate) jobs: u64,
    pub(crate) bytes: u64,
}

/// What has become of one tenant's jobs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Column {
    pub(crate) submitted: u64,
    pub(crate) turned_away: u64,
    pub(crate) started: u64,
    pub(crate) refused: u64,
    pub(crate) cancelled: u64,
    pub(crate) waiting: Load,
    pub(crate) running: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    facts: Facts,
    state: State,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Books {
    entries: Vec<Option<Entry>>,
    tenants: Vec<Column>,
    pub(crate) waiting: Load,
    pub(crate) running: u64,
    pub(crate) in_use: u64,
    /// What the job of each slot takes up while it runs.
    held: Vec<u64>,
}

impl Books {
    pub(crate) fn new(tenants: usize) -> Self {
        Self {
            entries: Vec::new(),
            tenants: vec![Column::default(); tenants],
            waiting: Load::default(),
            running: 0,
            in_use: 0,
            held: Vec::new(),
        }
    }

    pub(crate) fn tenant(&mut self, tenant: u32) -> &mut Column {
        &mut self.tenants[num::index(tenant)]
    }

    pub(crate) fn facts(&self, slot: u32) -> Option<Facts> {
        self.entries.get(num::index(slot)).and_then(|entry| entry.as_ref()).map(|entry| entry.facts)
    }

    pub(crate) fn ready_from(&mut self, slot: u32, ready_ns: u64) {
        if let Some(Some(entry)) = self.entries.get_mut(num::index(slot)) {
            entry.facts.ready_ns = ready_ns;
        }
    }

    /// A new job, waiting; false if its slot is taken.
    pub(crate) fn enter(&mut self, slot: u32, facts: Facts) -> bool {
        let index = num::index(slot);
        if self.entries.len() <= index {
            self.entries.resize(index + 1, None);
            self.held.resize(index + 1, 0);
        }
        let free = self.entries[index].is_none();
        self.entries[index] = Some(Entry { facts, state: State::Waiting });
        self.wait(&facts, 1);
        free
    }

    fn wait(&mut self, facts: &Facts, by: i64) {
        let bytes = |held: u64| {
            if by > 0 { held.saturating_add(facts.bytes) } else { held.saturating_sub(facts.bytes) }
        };
        self.waiting.jobs = self.waiting.jobs.saturating_add_signed(by);
        self.waiting.bytes = bytes(self.waiting.bytes);
        let own = &mut self.tenants[num::index(facts.tenant)].waiting;
        own.jobs = own.jobs.saturating_add_signed(by);
        own.bytes = bytes(own.bytes);
    }

    /// A job goes from one state to another, or ends.
    pub(crate) fn step(&mut self, slot: u32, from: State, to: Option<State>) -> Result<Facts, Found> {
        let entry = self.entries.get_mut(num::index(slot)).ok_or(Found(None))?;
        let Some(job) = entry.as_mut() else { return Err(Found(None)) };
        if job.state != from {
            return Err(Found(Some(job.state)));
        }
        let facts = job.facts;
        match to {
            Some(state) => job.state = state,
            None => *entry = None,
        }
        let tenant = num::index(facts.tenant);
        if from == State::Waiting {
            self.wait(&facts, -1);
        } else {
            self.running -= 1;
            self.tenants[tenant].running -= 1;
        }
        if to == Some(State::Running) {
            self.running += 1;
            self.tenants[tenant].running += 1;
            self.tenants[tenant].started += 1;
        }
        Ok(facts)
    }

    /// A job that was started takes up so much.
    pub(crate) fn take(&mut self, slot: u32, weight: u64) {
        if let Some(held) = self.held.get_mut(num::index(slot)) {
            *held = weight;
            self.in_use = self.in_use.saturating_add(weight);
        }
    }

    /// A job that ended gives back what it took.
    pub(crate) fn give_back(&mut self, slot: u32) {
        if let Some(held) = self.held.get_mut(num::index(slot)) {
            self.in_use = self.in_use.saturating_sub(core::mem::take(held));
        }
    }

    /// What does not add up, by these books or by what the gate says.
    pub(crate) fn compare(&self, now_ns: u64, machine: &Machine) -> Option<String> {
        for (tenant, own) in self.tenants.iter().enumerate() {
            let accounted = own.turned_away + own.started + own.refused + own.cancelled + own.waiting.jobs;
            if own.submitted != accounted {
                return Some(format!(
                    "tenant {tenant} submitted {}, allowed is what became of them: {accounted} ({own:?})",
                    own.submitted
                ));
            }
        }
        let gate = machine.snapshot(now_ns);
        let says = (u64::from(gate.queued), gate.queued_bytes, u64::from(gate.active));
        let own = (self.waiting.jobs, self.waiting.bytes, self.running);
        if says != own {
            return Some(format!("(queued, bytes, active) are {says:?} to the gate, allowed is {own:?}"));
        }
        let mut told = Load::default();
        for tenant in machine.tenants(now_ns) {
            let says = (u64::from(tenant.queued), tenant.bytes, u64::from(tenant.active));
            let index = usize::try_from(tenant.key.0).unwrap_or(usize::MAX);
            let Some(own) = self.tenants.get(index) else { continue };
            if says != (own.waiting.jobs, own.waiting.bytes, own.running) {
                return Some(format!(
                    "(queued, bytes, active) of {} are {says:?} to the gate, allowed is ({}, {}, {})",
                    tenant.key, own.waiting.jobs, own.waiting.bytes, own.running
                ));
            }
            told.jobs += says.0;
            told.bytes = told.bytes.saturating_add(says.1);
        }
        // A tenant that has jobs and that the gate does not mention.
        (told != self.waiting).then(|| {
            format!("the gate's tenants have {told:?} waiting in all, allowed is {:?}", self.waiting)
        })
    }
}
