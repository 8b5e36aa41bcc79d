//! The plan file, word for word: which keys there are and what each may be.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::value::Span;
use super::wave::Wave;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanFile {
    pub(super) about: String,
    pub(super) source: String,
    /// Parameters of an estimator were chosen with this plan in sight.
    #[serde(default)]
    pub(super) tuned: bool,
    /// Why the ranges are what they are.
    pub(super) reason: Option<String>,
    pub(super) seeds: Option<Spanned<Vec<u64>>>,
    #[serde(default)]
    pub(super) warm_up: Span,
    pub(super) deadline: Spanned<Span>,
    /// What a variant with a deadline is told; half of the deadline without it.
    pub(super) target_delay: Option<Span>,
    pub(super) limiters: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) stagger: Span,
    pub(super) clock: Option<Spanned<Span>>,
    pub(super) trace: Option<Spanned<TraceFile>>,
    /// Share of the limit that is reserved for what has no low priority.
    pub(super) reserved: Option<Spanned<f64>>,
    /// What `knee` is told.
    pub(super) knee: Option<Spanned<KneeFile>>,
    pub(super) server: Spanned<ServerFile>,
    pub(super) retries: Option<Spanned<RetriesFile>>,
    pub(super) closed: Option<Spanned<ClosedFile>>,
    #[serde(default)]
    pub(super) phase: Vec<Spanned<PhaseFile>>,
    #[serde(default)]
    pub(super) bars: BarsFile,
    #[serde(default)]
    pub(super) expect: BTreeMap<Spanned<String>, ExpectFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceFile {
    /// Seen from the plan.
    pub(super) file: PathBuf,
    /// Requests come when they came; without it their order is recorded, and when they come is chance.
    #[serde(default)]
    pub(super) instants: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KneeFile {
    pub(super) target_delay: Option<Span>,
    pub(super) max_healthy_rtt: Option<Span>,
    pub(super) sharers: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerFile {
    pub(super) slots: u32,
    pub(super) base: Span,
    pub(super) law: LawFile,
    pub(super) usl: Option<UslFile>,
    pub(super) hard_limit: Option<u32>,
    pub(super) client_timeout: Option<Span>,
    pub(super) lucky: Option<LuckyFile>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LawFile {
    Constant,
    Exponential,
    /// Log-normal with σ 0.2.
    Low,
    Lognormal(f64),
    Pareto,
    Bimodal(BimodalFile),
    /// Proportional to the costs of `[trace]`.
    Recorded,
}

/// Multiples of the base.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BimodalFile {
    pub(super) fast: f64,
    pub(super) slow: f64,
    pub(super) share: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UslFile {
    pub(super) a: f64,
    pub(super) b: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LuckyFile {
    pub(super) share: f64,
    pub(super) factor: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetriesFile {
    pub(super) most: u32,
    pub(super) pause: PauseFile,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PauseFile {
    /// 0.5 ms.
    Immediate,
    /// 20 ms, doubled each time, times 0.5 to 1.5.
    Backoff,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClosedFile {
    pub(super) clients: u32,
    pub(super) think: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseFile {
    pub(super) length: Span,
    /// A multiple of the server's capacity before anything happens to it.
    pub(super) load: Option<Wave>,
    /// Of low priority, on top of it.
    pub(super) low: Option<Wave>,
    pub(super) slots: Option<Wave>,
    pub(super) slow: Option<Wave>,
    #[serde(default)]
    pub(super) failures: f64,
    pub(super) slow_share: Option<f64>,
    #[serde(default = "yes")]
    pub(super) measured: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BarsFile {
    pub(super) goodput_ratio: Option<f64>,
    pub(super) p99_ratio: Option<f64>,
    pub(super) wrongful_refusals: Option<f64>,
    pub(super) jain: Option<f64>,
    pub(super) kept: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectFile {
    pub(super) goodput_ratio: Option<RangeFile>,
    pub(super) p99_ratio: Option<RangeFile>,
    pub(super) wrongful_refusals: Option<RangeFile>,
    pub(super) jain: Option<RangeFile>,
    pub(super) recovery_ms: Option<RangeFile>,
    pub(super) kept: Option<RangeFile>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeFile {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}
