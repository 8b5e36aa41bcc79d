//! What a run of a plan showed: its figures, which ranges they are in, which rules were broken.

use serde::Serialize;

use crate::judge::{Judge, Violation};
use crate::num;
use crate::plan::{Allowed, Figure, Plan, PlanError, Range, Whom};
use crate::play::ledger::{Ledger, Totals};
use crate::play::{Played, play};
use crate::shares;

/// One tenant over the duration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Jobs submitted.
    pub submitted: f64,
    /// Jobs started.
    pub started: f64,
    /// Jobs refused.
    pub refused: f64,
    /// Cost of the jobs started.
    pub cost: f64,
    /// Its part of the cost of all.
    pub cost_share: f64,
    /// Mean weight held.
    pub seats: f64,
    /// Longest wait of a job that started, milliseconds.
    pub longest_wait_ms: f64,
    /// 95 % of the waits, milliseconds.
    pub p95_wait_ms: f64,
}

/// All tenants together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Jain's index of cost ÷ weight.
    pub jain: f64,
    /// Jain's index of cost ÷ max-min fair share.
    pub jain_max_min: f64,
    /// Longest wait of a job that started, milliseconds.
    pub longest_wait_ms: f64,
    /// Replies in time, per second.
    pub goodput_per_s: f64,
    /// Most jobs running at once.
    pub peak_active: f64,
    /// Most weight in use at once.
    pub peak_in_use: f64,
    /// Most jobs waiting at once.
    pub peak_queued: f64,
    /// Most bytes waiting at once.
    pub peak_queued_bytes: f64,
    /// When the last job was over, seconds.
    pub drained_s: f64,
    /// Refusals by reason, of the whole run.
    pub refused: Vec<(String, u64)>,
}

/// One range, and whether it held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Line in the plan.
    pub line: usize,
    /// What was measured, in words.
    pub what: String,
    /// What was found; of several tenants, the one that is worst off. `NaN` where there is no such figure.
    pub found: f64,
    /// What is allowed.
    pub allowed: String,
    /// Whether it is.
    pub pass: bool,
    /// Why the range is not that of the plan's source.
    pub reason: Option<String>,
}

/// Series of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    pub(crate) at_s: Vec<f64>,
    /// For each tenant: cost served ÷ weight, up to then.
    pub(crate) served: Vec<Vec<f64>>,
    /// For each tenant: jobs waiting.
    pub(crate) queued: Vec<Vec<f64>>,
    pub(crate) in_use: Vec<f64>,
    pub(crate) limit: Vec<f64>,
    /// Spans in which jobs take longer by script, seconds.
    pub(crate) slow: Vec<(f64, f64)>,
}

/// Everything a run showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// The plan's name.
    pub plan: String,
    /// What it shows.
    pub about: String,
    /// Where it is from.
    pub source: String,
    /// What a reader has to know to judge the ranges.
    pub reason: Option<String>,
    /// The seed.
    pub seed: u64,
    /// How long loads sent, seconds.
    pub duration_s: f64,
    /// The limit at the start; `None` for none.
    pub limit: Option<u64>,
    /// The most bytes that may wait.
    pub max_queued_bytes: u64,
    /// By tenant.
    pub tenants: Vec<Row>,
    /// All together.
    pub summary: Summary,
    /// The ranges.
    pub checks: Vec<Check>,
    /// The first few broken rules.
    pub violations: Vec<Violation>,
    /// Broken rules in all.
    pub violation_count: u64,
    /// Whether the order promises fairness between every two tenants, so that it was judged.
    pub pairs_judged: bool,
    #[serde(skip)]
    pub(crate) series: Series,
}

impl Findings {
    /// Runs a plan under the judge. `progress` hears the simulated time, nanoseconds, now and then.
    ///
    /// # Errors
    /// [`PlanError`] if the gate refuses its settings.
    pub fn of(plan: &Plan, progress: impl FnMut(u64)) -> Result<Self, PlanError> {
        let played =
            play(plan, Judge::of(plan), progress).map_err(|error| PlanError::settings(&plan.path, error))?;
        Ok(Self::new(plan, played))
    }

    fn new(plan: &Plan, played: Played<Judge>) -> Self {
        let Played { ledger, watch, end_ns, .. } = played;
        let (violations, violation_count) = watch.verdict();
        let figures = Figures { plan, ledger: &ledger };
        Self {
            plan: plan.name.clone(),
            about: plan.about.clone(),
            source: plan.source.clone(),
            reason: plan.reason.clone(),
            seed: plan.seed,
            duration_s: num::seconds(plan.duration_ns),
            limit: (plan.limit != u64::MAX).then_some(plan.limit),
            max_queued_bytes: plan.settings.max_queued_bytes,
            tenants: (0..num::index_u32(plan.tenants.len())).map(|tenant| figures.row(tenant)).collect(),
            summary: figures.summary(end_ns),
            checks: plan.ranges.iter().map(|range| figures.check(range)).collect(),
            violations,
            violation_count,
            pairs_judged: plan.quantum_to_judge().is_some(),
            series: figures.series(),
        }
    }

    /// Whether every rule and every range held.
    #[must_use]
    pub fn pass(&self) -> bool {
        self.violation_count == 0 && self.checks.iter().all(|check| check.pass)
    }
}

/// Figures of a run, on demand.
struct Figures<'a> {
    plan: &'a Plan,
    ledger: &'a Ledger,
}

impl Figures<'_> {
    /// A tenant's totals at the two ends of a window.
    fn ends(&self, tenant: usize, window: usize) -> (Totals, Totals) {
        let window = &self.plan.windows[window];
        let at = |at_ns: u64| {
            let found = self.ledger.marks.binary_search_by_key(&at_ns, |mark| mark.at_ns);
            found.map_or_else(|_| Totals::default(), |index| self.ledger.marks[index].totals[tenant])
        };
        (at(window.from_ns), at(window.to_ns))
    }

    fn tenants(&self, tenant: Option<u32>) -> core::ops::Range<usize> {
        match tenant {
            Some(tenant) => num::index(tenant)..num::index(tenant) + 1,
            None => 0..self.plan.tenants.len(),
        }
    }

    fn count(&self, tenant: Option<u32>, window: usize, of: fn(&Totals) -> u64) -> f64 {
        self.sum(tenant, window, |totals| u128::from(of(totals)))
    }

    fn sum(&self, tenant: Option<u32>, window: usize, of: impl Fn(&Totals) -> u128) -> f64 {
        let one = |tenant: usize| {
            let (from, to) = self.ends(tenant, window);
            of(&to) - of(&from)
        };
        num::real_wide(self.tenants(tenant).map(one).sum())
    }

    /// Cost started ÷ something of each tenant, and its index.
    fn jain(&self, window: usize, by: impl Fn(usize) -> f64) -> f64 {
        let costs = self.tenants(None).map(|tenant| {
            let cost = self.sum(Some(num::index_u32(tenant)), window, |totals| totals.cost_started);
            (cost, by(tenant))
        });
        shares::jain(costs.filter(|&(_, by)| by > 0.0).map(|(cost, by)| cost / by))
    }

    fn max_min(&self, window: usize) -> Vec<f64> {
        let demands: Vec<(f64, f64)> = (0_u32..)
            .zip(&self.plan.tenants)
            .map(|(index, tenant)| {
                (self.sum(Some(index), window, |totals| totals.cost_submitted), f64::from(tenant.weight))
            })
            .collect();
        shares::max_min(&demands, self.sum(None, window, |totals| totals.cost_started))
    }

    /// Waits or latencies of a window, in order.
    fn sorted(&self, tenant: Option<u32>, window: usize, waits: bool) -> Vec<u64> {
        let mut all = Vec::new();
        for tenant in self.tenants(tenant) {
            let (from, to) = self.ends(tenant, window);
            let account = &self.ledger.accounts[tenant];
            let slice = if waits {
                account.waits_ns.get(from.waits..to.waits)
            } else {
                account.latencies_ns.get(from.latencies..to.latencies)
            };
            all.extend_from_slice(slice.unwrap_or_default());
        }
        all.sort_unstable();
        all
    }

    fn quantile(&self, tenant: Option<u32>, window: usize, waits: bool, per_mille: usize) -> f64 {
        let sorted = self.sorted(tenant, window, waits);
        sorted
            .get(num::quantile_index(sorted.len(), per_mille))
            .map_or(f64::NAN, |&ns| num::seconds(ns) * 1e3)
    }

    fn figure(&self, what: Figure, tenant: Option<u32>, window: usize, by: Option<&str>) -> f64 {
        let (from_ns, to_ns) = (self.plan.windows[window].from_ns, self.plan.windows[window].to_ns);
        let length_ns = num::real(to_ns - from_ns);
        let peaks = &self.ledger.peaks;
        match what {
            Figure::Seats => self.sum(tenant, window, |totals| totals.held) / length_ns,
            Figure::Executing => self.sum(tenant, window, |totals| totals.executing) / length_ns,
            Figure::Submitted => self.count(tenant, window, |totals| totals.submitted),
            Figure::Started => self.count(tenant, window, |totals| totals.started),
            Figure::Refused => match by {
                None => self.count(tenant, window, |totals| totals.refused),
                Some(by) => num::real(
                    self.tenants(tenant)
                        .filter_map(|tenant| self.ledger.accounts[tenant].refused_for.get(by))
                        .sum(),
                ),
            },
            Figure::Cancelled => self.count(tenant, window, |totals| totals.cancelled),
            Figure::GoodputPerS => {
                self.count(tenant, window, |totals| totals.good) / num::seconds(to_ns - from_ns)
            }
            Figure::Cost => self.sum(tenant, window, |totals| totals.cost_started),
            Figure::CostShare => {
                self.sum(tenant, window, |totals| totals.cost_started)
                    / self.sum(None, window, |totals| totals.cost_started)
            }
            Figure::LongestWaitMs => self.quantile(tenant, window, true, 1000),
            Figure::P50WaitMs => self.quantile(tenant, window, true, 500),
            Figure::P95WaitMs => self.quantile(tenant, window, true, 950),
            Figure::P99WaitMs => self.quantile(tenant, window, true, 990),
            Figure::P50LatencyMs => self.quantile(tenant, window, false, 500),
            Figure::P95LatencyMs => self.quantile(tenant, window, false, 950),
            Figure::Jain => self.jain(window, |tenant| f64::from(self.plan.tenants[tenant].weight)),
            Figure::JainMaxMin => {
                let shares = self.max_min(window);
                self.jain(window, |tenant| shares[tenant])
            }
            Figure::PeakActive => num::real(peaks.active),
            Figure::PeakInUse => num::real(peaks.in_use),
            Figure::PeakQueued => num::real(peaks.queued),
            Figure::PeakQueuedBytes => num::real(peaks.bytes),
        }
    }

    fn row(&self, tenant: u32) -> Row {
        let of = |what| self.figure(what, Some(tenant), 0, None);
        let plan = &self.plan.tenants[num::index(tenant)];
        Row {
            name: plan.name.clone(),
            weight: plan.weight,
            submitted: of(Figure::Submitted),
            started: of(Figure::Started),
            refused: of(Figure::Refused),
            cost: of(Figure::Cost),
            cost_share: of(Figure::CostShare),
            seats: of(Figure::Seats),
            longest_wait_ms: of(Figure::LongestWaitMs),
            p95_wait_ms: of(Figure::P95WaitMs),
        }
    }

    fn summary(&self, end_ns: u64) -> Summary {
        let of = |what| self.figure(what, None, 0, None);
        let mut refused: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
        for (&reason, &count) in self.ledger.accounts.iter().flat_map(|account| &account.refused_for) {
            *refused.entry(reason.to_owned()).or_default() += count;
        }
        Summary {
            jain: of(Figure::Jain),
            jain_max_min: of(Figure::JainMaxMin),
            longest_wait_ms: of(Figure::LongestWaitMs),
            goodput_per_s: of(Figure::GoodputPerS),
            peak_active: of(Figure::PeakActive),
            peak_in_use: of(Figure::PeakInUse),
            peak_queued: of(Figure::PeakQueued),
            peak_queued_bytes: of(Figure::PeakQueuedBytes),
            drained_s: num::seconds(end_ns),
            refused: refused.into_iter().collect(),
        }
    }

    fn check(&self, range: &Range) -> Check {
        let one = |tenant: Option<u32>| {
            let found = self.figure(range.what, tenant, range.window, range.by.as_deref());
            match range.over {
                Some(over) => found / self.figure(range.what, tenant, over, range.by.as_deref()),
                None => found,
            }
        };
        let (found, who) = match &range.whom {
            Whom::All => (one(None), None),
            Whom::Each { tenants, .. } => worst(range.allowed, tenants, one),
        };
        let mut what = range.what.name().to_owned();
        if let Some(by) = &range.by {
            what += &format!(" for {by}");
        }
        if let Whom::Each { name, tenants } = &range.whom {
            what += &format!(" of {name}");
            if let Some(who) = who.filter(|_| tenants.len() > 1) {
                what += &format!(" ({})", self.plan.tenants[num::index(who)].name);
            }
        }
        if range.window > 0 {
            what += &format!(" in {}", self.plan.windows[range.window].name);
        }
        if let Some(over) = range.over {
            what += &format!(" over {}", self.plan.windows[over].name);
        }
        Check {
            line: range.line,
            what,
            found,
            allowed: range.allowed.to_string(),
            pass: range.allowed.holds(found),
            reason: range.reason.clone(),
        }
    }

    fn series(&self) -> Series {
        let points = &self.ledger.points;
        let tenants = || self.plan.tenants.iter().enumerate();
        Series {
            at_s: points.iter().map(|point| num::seconds(point.at_ns)).collect(),
            served: tenants()
                .map(|(index, tenant)| {
                    let weight = f64::from(tenant.weight);
                    points.iter().map(|point| num::real_wide(point.cost_started[index]) / weight).collect()
                })
                .collect(),
            queued: tenants()
                .map(|(index, _)| points.iter().map(|point| num::real(point.queued[index])).collect())
                .collect(),
            in_use: points.iter().map(|point| num::real(point.in_use)).collect(),
            limit: points.iter().map(|point| num::real(point.limit)).collect(),
            slow: self.plan.slow.iter().map(|s| (num::seconds(s.from_ns), num::seconds(s.to_ns))).collect(),
        }
    }
}

/// The figure that is furthest outside, and whose; the first one if none is.
fn worst(allowed: Allowed, tenants: &[u32], of: impl Fn(Option<u32>) -> f64) -> (f64, Option<u32>) {
    let figures = tenants.iter().map(|&tenant| (of(Some(tenant)), Some(tenant)));
    let worse = |worst: (f64, Option<u32>), next: (f64, Option<u32>)| {
        if allowed.excess(next.0) > allowed.excess(worst.0) { next } else { worst }
    };
    figures.reduce(worse).unwrap_or((f64::NAN, None))
}
