//! The plan file, word for word: which keys there are and what each may be.

use serde::Deserialize;
use toml::Spanned;

use super::value::{Amount, Numbers, Real, Shift, Span, Spans};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanFile {
    /// What it shows, in a sentence.
    pub(super) about: String,
    /// Where it is from.
    pub(super) source: String,
    /// What a reader has to know to judge the ranges.
    pub(super) reason: Option<String>,
    /// Why the snapshot is what it is; without it there is none.
    pub(super) accepted: Option<String>,
    #[serde(default = "one")]
    pub(super) seed: u64,
    pub(super) duration: Spanned<Span>,
    pub(super) gate: Spanned<GateFile>,
    #[serde(default)]
    pub(super) server: ServerFile,
    pub(super) limiter: Option<Spanned<LimiterFile>>,
    #[serde(default)]
    pub(super) rule: Vec<Spanned<RuleFile>>,
    #[serde(default)]
    pub(super) tenant: Vec<Spanned<TenantFile>>,
    pub(super) trace: Option<Spanned<TraceFile>>,
    #[serde(default)]
    pub(super) window: Vec<Spanned<WindowFile>>,
    #[serde(default)]
    pub(super) expect: Vec<Spanned<ExpectFile>>,
}

const fn one() -> u64 {
    1
}

/// The settings of the gate; those left out have its own defaults.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GateFile {
    pub(super) limit: Amount,
    #[serde(default)]
    pub(super) entry: EntryFile,
    pub(super) max_queued: Option<u32>,
    pub(super) max_queued_bytes: Option<Amount>,
    pub(super) max_queued_per_tenant: Option<u32>,
    pub(super) max_bytes_per_tenant: Option<Amount>,
    pub(super) max_tenants: Option<u32>,
    pub(super) max_active: Option<u32>,
    pub(super) max_attempts: Option<u32>,
    pub(super) max_wait: Option<OrNone>,
    pub(super) order: Option<OrderFile>,
    pub(super) default_weight: Option<u32>,
    pub(super) head_of_line: Option<HeadOfLineFile>,
    pub(super) reserve_after: Option<Span>,
    pub(super) overweight: Option<OverweightFile>,
    pub(super) refuse_early: Option<bool>,
    pub(super) expected_service: Option<Span>,
    pub(super) newest_first_after: Option<Span>,
    pub(super) codel: Option<CoDelFile>,
    pub(super) forgive_after: Option<Span>,
}

/// Whether jobs may wait at all.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryFile {
    /// A job that cannot start yet waits.
    #[default]
    Queue,
    /// A job that cannot start at once is refused.
    StartOrRefuse,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "a length of time like \"30s\", or \"none\"")]
pub(super) enum OrNone {
    None(NoneWord),
    Span(Span),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoneWord {
    None,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum OrderFile {
    Smooth,
    Deficit { quantum: u64 },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum HeadOfLineFile {
    Strict,
    Backfill { max_passes: u32 },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OverweightFile {
    Refuse,
    RunAlone,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CoDelFile {
    pub(super) target: Span,
    pub(super) interval: Span,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerFile {
    /// Time that a cost unit takes, for jobs that do not say how long they take.
    pub(super) unit: Option<Span>,
    /// Jobs that start in this span take so many times as long.
    #[serde(default)]
    pub(super) slow: Vec<Spanned<SlowFile>>,
    /// The limit changes at an instant.
    #[serde(default)]
    pub(super) limit: Vec<LimitFile>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlowFile {
    pub(super) from: Span,
    pub(super) to: Span,
    pub(super) factor: Real,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitFile {
    pub(super) at: Span,
    pub(super) to: Amount,
}

/// A token bucket that every start has to pass: starts are attempts then.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimiterFile {
    pub(super) tokens: u64,
    pub(super) per: Span,
    pub(super) burst: u64,
}

/// What each tenant may use, asked before the gate: a bucket. All of a plan's rules have to pass.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    pub(super) dimension: Counted,
    pub(super) limit: u64,
    pub(super) window: Span,
    /// At once; the limit if left out.
    pub(super) burst: Option<u64>,
}

/// What a rule counts of a job.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Counted {
    /// That it is one.
    RequestCount,
    /// Its cost.
    Cost,
}

impl Counted {
    /// As a plan calls it, and the reason under which its refusals are counted.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RequestCount => "request_count",
            Self::Cost => "cost",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantFile {
    pub(super) name: String,
    /// So many tenants alike, called `name-1`, `name-2`, ….
    pub(super) count: Option<u32>,
    pub(super) weight: Option<u32>,
    #[serde(default)]
    pub(super) closed: Vec<ClosedFile>,
    #[serde(default)]
    pub(super) open: Vec<Spanned<OpenFile>>,
    #[serde(default)]
    pub(super) burst: Vec<BurstFile>,
}

/// Threads that submit, wait until it is over, think, and submit again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClosedFile {
    pub(super) threads: u32,
    /// Calls of each thread; as many as there is time for if left out.
    pub(super) calls: Option<u64>,
    /// From the reply to the next call; negative for a call that comes before the reply.
    #[serde(default)]
    pub(super) think: Shift,
    #[serde(default)]
    pub(super) start: Span,
    /// Each thread starts this much after the one before it.
    #[serde(default)]
    pub(super) stagger: Span,
    #[serde(default)]
    pub(super) when_refused: WhenRefused,
    pub(super) job: Spanned<JobFile>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WhenRefused {
    /// The thread thinks, at least a millisecond, and makes its next call.
    #[default]
    Think,
    /// The thread makes no more calls.
    Stop,
}

/// Jobs that come whether or not others have ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenFile {
    pub(super) per_s: Real,
    #[serde(default)]
    pub(super) arrivals: ArrivalsFile,
    /// The rate reaches this in a straight line by the end.
    pub(super) ramp_to_per_s: Option<Real>,
    /// Jobs come for this long, then none for `off`, and so on.
    pub(super) on: Option<Span>,
    pub(super) off: Option<Span>,
    #[serde(default)]
    pub(super) from: Span,
    pub(super) to: Option<Span>,
    pub(super) job: Spanned<JobFile>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArrivalsFile {
    /// Evenly.
    #[default]
    Constant,
    Poisson,
}

/// So many jobs at one instant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstFile {
    pub(super) at: Span,
    pub(super) jobs: u32,
    pub(super) job: Spanned<JobFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobFile {
    /// Default 1, or input + 2 · output where tokens are given.
    pub(super) cost: Option<Numbers>,
    pub(super) input: Option<Numbers>,
    pub(super) output: Option<Numbers>,
    pub(super) weight: Option<Numbers>,
    pub(super) bytes: Option<Numbers>,
    /// Default: cost times the server's unit.
    pub(super) exec: Option<Spans>,
    /// It does not start at or after this long after it came.
    pub(super) deadline: Option<Spans>,
    /// It does not start before this long after it came.
    pub(super) ready_after: Option<Spans>,
    /// Whoever waits for it goes away after this long.
    pub(super) patience: Option<Span>,
    #[serde(default)]
    pub(super) abandoned: Abandoned,
    /// It keeps its place for this long after the reply.
    #[serde(default)]
    pub(super) pad: Span,
    #[serde(default)]
    pub(super) ends: Ends,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Abandoned {
    /// A running job that nobody waits for any more runs on.
    #[default]
    RunsOn,
    /// It ends at that instant.
    Ends,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ends {
    /// Well.
    #[default]
    Done,
    /// With a failure that says "overload".
    Dropped,
    /// It turns out that it never started.
    NotStarted,
}

/// A recorded trace; its tenants are the tenants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceFile {
    /// Beside the plan.
    pub(super) file: String,
    /// So many times as fast as recorded.
    pub(super) speed: Option<Real>,
    /// Cost units of an output token.
    pub(super) output_weight: Option<u32>,
    pub(super) job: Spanned<JobFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WindowFile {
    pub(super) name: String,
    pub(super) from: Span,
    pub(super) to: Span,
}

/// One range. Of a group of tenants each has to be in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectFile {
    pub(super) what: super::Figure,
    /// A tenant, a group, or `"each"`; without it, all of them together.
    pub(super) tenant: Option<Spanned<String>>,
    /// Default the whole duration.
    pub(super) window: Option<Spanned<String>>,
    /// The figure is divided by that of this window.
    pub(super) over: Option<Spanned<String>>,
    /// Of `refused`: only those for this reason.
    pub(super) by: Option<Spanned<String>>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) value: Option<f64>,
    /// Relative to `value`; default 0.
    pub(super) margin: Option<Real>,
    /// What the source of the plan allows, where `margin` is another.
    pub(super) source_margin: Option<Real>,
    pub(super) reason: Option<String>,
}
