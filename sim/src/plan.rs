//! A plan: one experiment with a gate, as a file that anybody can read, run and argue with.
//!
//! **Problem.** "It is fair", "it recovers" are claims. A plan states one of them with everything it depends on: the
//! gate's settings, the server, who sends what, and the ranges in which the figures have to be. It is a TOML file;
//! unknown keys and values out of range are refused with their place.
//!
//! **Parts.**
//!
//! | table | holds |
//! | --- | --- |
//! | (top) | `about`, `source`, `reason`, `accepted`, `duration`, `seed` |
//! | `[gate]` | `limit` and every setting of [`tollgate::gate::Settings`] but cost classes |
//! | `[server]` | `unit` (time of a cost unit), `slow` spans, changes of the `limit` |
//! | `[limiter]` | a token bucket that every start has to pass |
//! | `[[rule]]` | a bucket of each tenant's own that its jobs have to pass before the gate, by `request_count` or `cost` |
//! | `[[tenant]]` | `name`, `count`, `weight`, loads: `closed`, `open`, `burst` |
//! | `[trace]` | a recorded trace instead of tenants |
//! | `[[window]]` | a part of the run that ranges can name |
//! | `[[expect]]` | one range: `what`, of which `tenant` and `window`, and what is allowed |
//!
//! **Rules.** A run lasts `duration`: no load sends anything after it, and every figure over time is of it. Then
//! the run drains, and what has to be true at the end is looked at. A range is `min` and `max`, or `value` with a
//! relative `margin`; a margin wider than the `source_margin` needs a `reason`, as does an `accepted` snapshot.
//! What has to hold for *every* plan is no range: it is code (`judge`), and no plan can turn it off.

mod error;
mod file;
mod gate;
mod ranges;
mod resolve;
pub(crate) mod value;

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tollgate::gate::Settings;
use tollgate::rate::Quota;

use crate::arrivals::Law;
use crate::plan_file;
use crate::trace::Trace;

pub use self::error::PlanError;
pub(crate) use self::file::{Abandoned, Counted, Ends, WhenRefused};
pub(crate) use self::ranges::Number;
pub use self::ranges::{Allowed, Range, Whom};
use self::value::Draw;

/// What can be measured. Over time, where a window can be given; of the whole run with its drain otherwise.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Figure {
    /// Mean weight held: ∫ weight dt ÷ length of the window.
    Seats,
    /// Mean weight held by jobs that have not replied yet: seats without pad time.
    Executing,
    /// Jobs submitted.
    Submitted,
    /// Jobs started.
    Started,
    /// Jobs refused, at the door or while they waited.
    Refused,
    /// Jobs whose client went away while they waited.
    Cancelled,
    /// Replies a second: in time, and to somebody who still waited.
    GoodputPerS,
    /// Cost of the jobs started.
    Cost,
    /// Its part of the cost of all jobs started.
    CostShare,
    /// Longest wait of a job that was started in the window.
    LongestWaitMs,
    /// Median wait.
    P50WaitMs,
    /// 95 % of the waits are at most this.
    P95WaitMs,
    /// 99 % of the waits are at most this.
    P99WaitMs,
    /// Median time from submission to reply.
    P50LatencyMs,
    /// 95 % of these times are at most this.
    P95LatencyMs,
    /// Jain's index of cost ÷ weight over all tenants: 1 is equal, 1/n is one tenant has it all.
    Jain,
    /// Jain's index of cost ÷ max-min fair share: 1 where everybody has what is fair, given what they asked for.
    JainMaxMin,
    /// Most jobs running at once.
    PeakActive,
    /// Most weight in use at once.
    PeakInUse,
    /// Most jobs waiting at once.
    PeakQueued,
    /// Most bytes waiting at once.
    PeakQueuedBytes,
}

impl Figure {
    /// As a plan calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seats => "seats",
            Self::Executing => "executing",
            Self::Submitted => "submitted",
            Self::Started => "started",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::GoodputPerS => "goodput_per_s",
            Self::Cost => "cost",
            Self::CostShare => "cost_share",
            Self::LongestWaitMs => "longest_wait_ms",
            Self::P50WaitMs => "p50_wait_ms",
            Self::P95WaitMs => "p95_wait_ms",
            Self::P99WaitMs => "p99_wait_ms",
            Self::P50LatencyMs => "p50_latency_ms",
            Self::P95LatencyMs => "p95_latency_ms",
            Self::Jain => "jain",
            Self::JainMaxMin => "jain_max_min",
            Self::PeakActive => "peak_active",
            Self::PeakInUse => "peak_in_use",
            Self::PeakQueued => "peak_queued",
            Self::PeakQueuedBytes => "peak_queued_bytes",
        }
    }

    /// Whether it is of the whole run, and of all tenants.
    const fn is_peak(self) -> bool {
        matches!(self, Self::PeakActive | Self::PeakInUse | Self::PeakQueued | Self::PeakQueuedBytes)
    }

    /// Whether it is of all tenants, by what it means.
    const fn is_index(self) -> bool {
        matches!(self, Self::Jain | Self::JainMaxMin)
    }
}

/// A part of the run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Window {
    /// As ranges call it.
    pub name: String,
    /// First instant.
    pub from_ns: u64,
    /// First instant after.
    pub to_ns: u64,
}

/// One who shares.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tenant {
    /// For a person.
    pub name: String,
    /// Its weight.
    pub weight: u32,
}

/// Whether jobs may wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Entry {
    Queue,
    StartOrRefuse,
}

/// Jobs that start in it take `factor` times as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slow {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) factor: f64,
}

/// What each tenant may use in jobs that come to the gate; see [`file::RuleFile`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoorRule {
    pub(crate) counted: Counted,
    pub(crate) limit: u64,
    pub(crate) window: Duration,
    pub(crate) burst: Option<u64>,
}

/// What a job costs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CostLaw {
    Units(Draw),
    /// Input + 2 · output.
    Tokens {
        input: Draw,
        output: Draw,
    },
}

/// What jobs of a load are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobLaw {
    pub(crate) cost: CostLaw,
    pub(crate) weight: Draw,
    pub(crate) bytes: Draw,
    /// `None` for cost times `unit_ns`.
    pub(crate) exec: Option<Draw>,
    pub(crate) unit_ns: u64,
    pub(crate) deadline: Option<Draw>,
    pub(crate) ready_after: Option<Draw>,
    pub(crate) patience_ns: Option<u64>,
    pub(crate) abandoned: Abandoned,
    pub(crate) pad_ns: u64,
    pub(crate) ends: Ends,
}

/// When jobs of a load come.
#[derive(Clone, Debug)]
pub(crate) enum Coming {
    Closed(Closed),
    Open { law: Law, per_s: f64, poisson: bool, from_ns: u64, to_ns: u64 },
    Burst { at_ns: u64, jobs: u32 },
    Trace { trace: Arc<Trace>, speed: f64, loops: u64 },
}

/// See [`file::ClosedFile`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    pub(crate) threads: u32,
    pub(crate) calls: u64,
    pub(crate) think_ns: i64,
    pub(crate) start_ns: u64,
    pub(crate) stagger_ns: u64,
    pub(crate) when_refused: WhenRefused,
}

/// One source of jobs.
#[derive(Clone, Debug)]
pub(crate) struct LoadPlan {
    /// Whose; a trace says itself.
    pub(crate) tenant: u32,
    pub(crate) job: JobLaw,
    pub(crate) coming: Coming,
}

/// A plan in which everything fits together.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's name without `.toml`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it shows.
    pub about: String,
    /// Where it is from.
    pub source: String,
    /// What a reader has to know to judge the ranges.
    pub reason: Option<String>,
    /// Why the snapshot is what it is; `None` if there is to be none.
    pub accepted: Option<String>,
    /// The seed of all chance.
    pub seed: u64,
    /// How long loads send.
    pub duration_ns: u64,
    /// The tenants.
    pub tenants: Vec<Tenant>,
    /// The parts of the run; the first is all of it.
    pub windows: Vec<Window>,
    /// What is expected.
    pub ranges: Vec<Range>,
    /// The limit at the start.
    pub limit: u64,
    /// The gate's settings.
    pub settings: Settings,
    pub(crate) entry: Entry,
    pub(crate) slow: Vec<Slow>,
    /// Instants and the limit from then on.
    pub(crate) limits: Vec<(u64, u64)>,
    pub(crate) limiter: Option<Quota>,
    pub(crate) rules: Vec<DoorRule>,
    pub(crate) loads: Vec<LoadPlan>,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`PlanError`], with the place of the first mistake.
    pub fn open(path: &Path) -> Result<Self, PlanError> {
        Self::parse(path, &plan_file::read(path)?)
    }

    /// Understands a plan's text as that of the file `path`, beside which its trace is.
    ///
    /// # Errors
    /// [`PlanError`], with the place of the first mistake.
    pub fn parse(path: &Path, content: &str) -> Result<Self, PlanError> {
        Ok(resolve::plan(path, content)?)
    }

    /// The snapshot's file.
    #[must_use]
    pub fn snapshot_path(&self) -> PathBuf {
        self.path.with_extension("snapshot")
    }

    /// Whether the order promises equal cost for equal weights at every instant, so that the judge can hold it to that:
    /// deficit order, nobody passes a blocked head, whoever waits is ready, and what is charged is what was served.
    pub(crate) fn quantum_to_judge(&self) -> Option<u64> {
        gate::judged_quantum(&self.settings)
            .filter(|_| self.limiter.is_none())
            .filter(|_| self.loads.iter().all(|load| load.job.ready_after.is_none()))
            .filter(|_| self.loads.iter().all(|load| load.job.ends != Ends::NotStarted))
    }
}

#[cfg(test)]
mod tests;
