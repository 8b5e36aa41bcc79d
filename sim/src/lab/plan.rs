//! A plan: one behaviour of a server and its load, as a file that anybody can read, run and argue with.
//!
//! **Parts.**
//!
//! | key | holds |
//! | --- | --- |
//! | `about`, `source`, `tuned`, `reason` | what it shows, whence, whether an estimator was tuned with it in sight |
//! | `deadline` | from the first attempt: what comes later is no goodput |
//! | `warm_up` | the first part of the run, not measured |
//! | `target_delay` | told to the variants `NAME+deadline` only; half of the deadline without it |
//! | `seeds` | for the score; nine without it |
//! | `[knee]` | told to `knee`: `target_delay`, `max_healthy_rtt`, `sharers`; none of them without it |
//! | `reserved` | share of the limit that is reserved for what has no low priority; nothing without it |
//! | `[trace]` | `file`, seen from the plan: service times in their order, with the law `recorded`; with `instants` arrivals too |
//! | `limiters`, `stagger` | so many on one server with an equal share of the load each, starting one after another |
//! | `clock` | granularity of the clock an estimator sees |
//! | `[server]` | `slots`, `base`, `law`, `usl`, `hard_limit`, `client_timeout`, `lucky` |
//! | `[retries]` | `most`, `pause` |
//! | `[closed]` | `clients`, `think`; or each phase has a `load` |
//! | `[[phase]]` | `length`, `load`, `low` (priority), `slots`, `slow`, `failures`, `slow_share`, `measured` |
//! | `[bars]` | what `knee` is to reach: at least for goodput, `jain` and `kept`, at most for the rest; without it 0.95 and 1.5 |
//! | `[expect.NAME]` | ranges for the figures of that estimator, over the mean of the seeds |
//!
//! **Load** is a multiple of *capacity*: the greatest throughput of the server before any phase changes it, that is
//! max over n ≤ slots of n ÷ (mean service time · (1 + a(n−1) + bn(n−1))).
//!
//! What has to hold for every plan is no range: it is code ([`Broken`](super::Broken)), and no plan can turn it off.

mod check;

use core::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::LabError;
use super::law::Law;
use super::recorded::Recorded;
use super::roster::Told;
use super::wave::Wave;
use crate::num;
use crate::plan_file;

/// Seeds of a plan that names none: those of the study it is measured against.
pub const SEEDS: [u64; 9] = [4001, 4002, 4003, 5001, 5002, 5003, 6001, 6002, 6003];

/// A goodput ratio that meets a plan.
pub const GOOD: f64 = 0.95;
/// A p99 ratio that meets a plan.
pub const QUICK: f64 = 1.5;

/// A plan, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its file.
    pub path: PathBuf,
    /// Its file's name without the ending.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// Where it is from.
    pub source: String,
    /// Whether parameters of an estimator were chosen with it in sight.
    pub tuned: bool,
    /// Why its ranges are what they are.
    pub reason: Option<String>,
    /// Seeds of its score.
    pub seeds: Vec<u64>,
    /// Ranges, by estimator.
    pub expected: Vec<Expected>,
    /// What `knee` is to reach.
    pub bars: Vec<(Figure, f64)>,
    pub(super) warm_up_ns: u64,
    pub(super) deadline_ns: u64,
    pub(super) told: Told,
    pub(super) recorded: Option<Arc<Recorded>>,
    /// Share of the limit for what has no low priority, millionths.
    pub(super) reserved_ppm: Option<u32>,
    pub(super) limiters: u32,
    pub(super) stagger_ns: u64,
    pub(super) tick_ns: u64,
    pub(super) server: ServerPlan,
    pub(super) retries: Option<Retries>,
    pub(super) closed: Option<Closed>,
    pub(super) phases: Vec<Phase>,
}

#[derive(Clone, Debug)]
pub(super) struct ServerPlan {
    pub(super) slots: u32,
    pub(super) base_ns: u64,
    pub(super) law: Law,
    pub(super) slow_share: f64,
    /// a and b of the universal scalability law.
    pub(super) usl: (f64, f64),
    pub(super) hard_limit: Option<u32>,
    pub(super) client_timeout_ns: Option<u64>,
    /// Share and factor.
    pub(super) lucky: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Retries {
    pub(super) most: u32,
    pub(super) backoff: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    pub(super) clients: u32,
    pub(super) think_ns: u64,
}

/// A part of the run under one rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) from_ns: u64,
    pub(super) length_ns: u64,
    /// Arrivals per second; zero where the load is a closed loop.
    pub(super) load: Wave,
    /// Of low priority, on top of it.
    pub(super) low: Wave,
    pub(super) slots: Wave,
    pub(super) slow: Wave,
    pub(super) failures: f64,
    pub(super) slow_share: f64,
    pub(super) measured: bool,
}

impl Phase {
    pub(super) const fn to_ns(self) -> u64 {
        self.from_ns.saturating_add(self.length_ns)
    }
}

/// A figure that a range can be about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Figure {
    /// Goodput ÷ the oracle's.
    GoodputRatio,
    /// p99 ÷ the oracle's.
    P99Ratio,
    /// Refused ÷ offered while less was offered than the server could do.
    WrongfulRefusals,
    /// Jain's index of the limiters' goodput.
    Jain,
    /// Worst time to recover after a change of phase.
    RecoveryMs,
    /// Completed within the deadline ÷ offered, of what has no low priority.
    Kept,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::GoodputRatio,
        Self::P99Ratio,
        Self::WrongfulRefusals,
        Self::Jain,
        Self::RecoveryMs,
        Self::Kept,
    ];

    /// Whether more of it is better.
    #[must_use]
    pub const fn is_good(self) -> bool {
        matches!(self, Self::GoodputRatio | Self::Jain | Self::Kept)
    }

    /// As plans and reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GoodputRatio => "goodput_ratio",
            Self::P99Ratio => "p99_ratio",
            Self::WrongfulRefusals => "wrongful_refusals",
            Self::Jain => "jain",
            Self::RecoveryMs => "recovery_ms",
            Self::Kept => "kept",
        }
    }
}

/// One range.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Of this estimator.
    pub estimator: String,
    /// This figure.
    pub figure: Figure,
    /// At least.
    pub min: f64,
    /// At most.
    pub max: f64,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`LabError::File`], with the line of the mistake.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        Self::parse(path, &plan_file::read(path)?)
    }

    /// The plan in `content`; `path` is for messages and gives its name.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn parse(path: &Path, content: &str) -> Result<Self, LabError> {
        Ok(check::plan(path, content)?)
    }

    /// All plans of a directory, by name.
    ///
    /// # Errors
    /// Of the first that cannot be used, or that there are none.
    pub fn open_all(directory: &Path) -> Result<Vec<Self>, LabError> {
        plan_file::all(directory)?.iter().map(|path| Self::open(path)).collect()
    }

    /// A shorter run of the same: every length of the script a quarter.
    #[must_use]
    pub fn quick(mut self) -> Self {
        const DIVISOR: u64 = 4;
        self.warm_up_ns /= DIVISOR;
        self.stagger_ns /= DIVISOR;
        let mut from_ns = 0;
        for phase in &mut self.phases {
            phase.from_ns = from_ns;
            phase.length_ns = (phase.length_ns / DIVISOR).max(1);
            from_ns = phase.to_ns();
        }
        self
    }

    /// Everything a run with a fixed limit depends on, as text.
    pub(super) fn identity(&self) -> String {
        let Self { warm_up_ns, deadline_ns, recorded, reserved_ppm, limiters, stagger_ns, server, .. } = self;
        let Self { retries, closed, phases, .. } = self;
        let one = (warm_up_ns, deadline_ns, recorded, reserved_ppm, limiters, stagger_ns, server);
        format!("{:?}", (one, retries, closed, phases))
    }

    /// Length of the run, nanoseconds.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.phases.last().map_or(0, |phase| phase.to_ns())
    }

    /// Limiters in front of the server.
    #[must_use]
    pub const fn limiters(&self) -> u32 {
        self.limiters
    }

    /// How long a client waits, nanoseconds.
    #[must_use]
    pub const fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// What estimators are told that can be told.
    #[must_use]
    pub const fn told(&self) -> Told {
        self.told
    }

    /// The instants at which phases begin, the first one's left out, in seconds.
    pub(crate) fn borders_s(&self) -> impl Iterator<Item = f64> {
        self.phases.iter().skip(1).map(|phase| num::seconds(phase.from_ns))
    }

    /// The warm-up, in seconds.
    pub(crate) const fn warm_up_s(&self) -> f64 {
        num::seconds(self.warm_up_ns)
    }

    /// Measured phases that follow another, with their lengths in nanoseconds.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (usize, u64)> {
        let phases = self.phases.iter().enumerate().skip(1);
        phases.filter(|(_, phase)| phase.measured).map(|(index, phase)| (index, phase.length_ns))
    }

    /// Whether some of what is offered has low priority.
    pub(super) fn is_mixed(&self) -> bool {
        self.phases.iter().any(|phase| phase.low.ends().1 > 0.0)
    }

    /// About so many attempts are made at most: what a run costs.
    #[must_use]
    pub fn expected_attempts(&self) -> u64 {
        let closed =
            self.closed.map_or(0.0, |closed| f64::from(closed.clients) / num::seconds(closed.think_ns));
        let tries = 1.0 + self.retries.map_or(0.0, |retries| f64::from(retries.most));
        let phase = |phase: &Phase| {
            let per_s = closed + (phase.load.ends().1 + phase.low.ends().1) * tries;
            num::rounded(per_s * num::seconds(phase.length_ns))
        };
        self.phases.iter().map(phase).fold(0, u64::saturating_add)
    }

    /// The part of phase `index` that is measured; empty if none is.
    pub(super) fn measured(&self, index: usize) -> Range<u64> {
        self.phases.get(index).map_or(0..0, |phase| {
            let to_ns = phase.to_ns();
            let from_ns = phase.from_ns.max(self.warm_up_ns).min(to_ns);
            if phase.measured { from_ns..to_ns } else { to_ns..to_ns }
        })
    }

    /// Requests a second that the server can do at this instant of a phase.
    #[inline]
    pub(super) fn capacity_per_s(&self, phase: &Phase, now_ns: u64) -> f64 {
        let at_ns = now_ns.saturating_sub(phase.from_ns);
        let slots = num::rounded(phase.slots.at(at_ns, phase.length_ns));
        let slow = phase.slow.at(at_ns, phase.length_ns);
        self.server.capacity_per_s(num::clamp_u32(slots), phase.slow_share) / slow
    }

    /// Whether what is offered at this instant is less than the server can do; never with a closed loop.
    pub(super) fn below_capacity(&self, phase: &Phase, now_ns: u64) -> bool {
        let at_ns = now_ns.saturating_sub(phase.from_ns);
        let offered_per_s = phase.load.at(at_ns, phase.length_ns) + phase.low.at(at_ns, phase.length_ns);
        self.closed.is_none() && offered_per_s < self.capacity_per_s(phase, now_ns)
    }
}

impl ServerPlan {
    /// Greatest throughput with `slots` slots.
    pub(super) fn capacity_per_s(&self, slots: u32, slow_share: f64) -> f64 {
        let alone_s = num::seconds(self.base_ns) * self.law.mean(slow_share);
        let (a, b) = self.usl;
        if a == 0.0 && b == 0.0 {
            return f64::from(slots) / alone_s;
        }
        let throughput = |n: u32| f64::from(n) / (alone_s * self.contention(n));
        (1..=slots).map(throughput).fold(0.0, f64::max)
    }

    /// How many times as long a service takes with `present` in the server.
    #[inline]
    pub(super) fn contention(&self, present: u32) -> f64 {
        let (a, b) = self.usl;
        let n = f64::from(present);
        1.0 + a * (n - 1.0) + b * n * (n - 1.0)
    }
}

#[cfg(test)]
pub(super) mod tests;
