//! One scenario, every policy, and the oracle they are measured by.
//!
//! **Recovery.** After each disturbance (a scripted slow-down, a burst) there is a phase until the next one, or the
//! end of the run. A policy has recovered at the first moment from which on 5 % of the phase runs at 0.9 of what can
//! be expected: the oracle's mean goodput in the second half of the phase, or what is offered in that window if that
//! is less. The time reported is the worst over all phases; never recovering in one of them is *never*.

use serde::Serialize;

use crate::error::SimError;
use crate::measure::{Counts, FINE, Latency, Point, Run};
use crate::num;
use crate::oracle;
use crate::policy::Kind;
use crate::scenario::Scenario;

/// Share of a phase that has to run well, in parts of it: 5 %.
const WINDOW_DIVISOR: usize = 20;
/// What is well.
const RECOVERED: f64 = 0.9;

/// Time to recover from the worst disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// There was nothing to recover from.
    NotDisturbed,
    /// So many seconds.
    Seconds(f64),
    /// Not before the next disturbance, or the end of the run.
    Never,
}

/// One policy's row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The policy, as reports call it.
    pub policy: String,
    /// Which policy it is.
    pub kind: Kind,
    /// Totals.
    pub counts: Counts,
    /// Completions on time, per second of arrivals.
    pub goodput_per_s: f64,
    /// Goodput ÷ the oracle's; `None` if the oracle's is zero.
    pub of_oracle: Option<f64>,
    /// Quantiles of the latency of admitted requests.
    pub latency: Option<Latency>,
    /// Most in flight at once.
    pub peak_in_flight: u32,
    /// Most in the server at once.
    pub peak_in_server: u32,
    /// Mean limit; `None` where there is none.
    pub mean_limit: Option<f64>,
    /// Time to recover.
    pub recovery: Recovery,
    /// Over time.
    pub points: Vec<Point>,
}

/// The whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The policies, in the order in which they were asked for.
    pub rows: Vec<Row>,
    /// The best fixed limit.
    pub oracle: Row,
    /// Fixed limits tried to find it.
    pub oracle_tried: u32,
    /// Events handled by all runs.
    pub events: u64,
}

/// Runs `kinds` and the oracle on `scenario`. `progress` is told how many runs are done and how many there will be
/// about.
///
/// # Errors
/// [`SimError::Policy`] if the core refuses the numbers of a policy.
pub fn compare(
    scenario: &Scenario,
    kinds: &[Kind],
    mut progress: impl FnMut(u64, u64),
) -> Result<Comparison, SimError> {
    let mut done = 0;
    let mut events = 0;
    let policies = num::count(kinds.len());
    let mut simulate = |kind: Kind, expected: u64| -> Result<Run, SimError> {
        let run = kind.simulate(scenario)?;
        events += run.events;
        done += 1;
        progress(done, expected.max(done));
        Ok(run)
    };
    // Without a limit first: its peak bounds the search.
    let unlimited = simulate(Kind::None, policies + 60)?;
    let most = unlimited.peak_in_flight;
    let expected = policies + num::count(oracle::sweep(most).len()) + 6;
    let goodput = |limit| simulate(Kind::Fixed(limit), expected).map(|run| run.counts.on_time);
    let best = oracle::search(most, goodput)?;
    let reference = simulate(Kind::Fixed(best.limit), expected)?;
    let mut rows = Vec::with_capacity(kinds.len());
    for &kind in kinds {
        let run = if kind == Kind::None { unlimited.clone() } else { simulate(kind, expected)? };
        rows.push(Row::new(kind, kind.label(), run, &reference, scenario));
    }
    let kind = Kind::Fixed(best.limit);
    let oracle = Row::new(kind, format!("oracle: {}", kind.label()), reference.clone(), &reference, scenario);
    Ok(Comparison { rows, oracle, oracle_tried: best.tried, events })
}

impl Row {
    fn new(kind: Kind, policy: String, run: Run, oracle: &Run, scenario: &Scenario) -> Self {
        let of_oracle = num::real(run.counts.on_time) / num::real(oracle.counts.on_time);
        Self {
            policy,
            kind,
            counts: run.counts,
            goodput_per_s: run.goodput_per_s(),
            of_oracle: of_oracle.is_finite().then_some(of_oracle),
            latency: run.latency,
            peak_in_flight: run.peak_in_flight,
            peak_in_server: run.peak_in_server,
            mean_limit: run.mean_limit(),
            recovery: recovery(&run, oracle, &scenario.disturbances),
            points: run.points,
        }
    }
}

/// The worst recovery after `disturbances` (begin and end, nanoseconds, in order of their beginnings).
fn recovery(run: &Run, oracle: &Run, disturbances: &[(u64, u64)]) -> Recovery {
    let part = |at_ns: u64| -> usize {
        let parts = u128::from(at_ns) * u128::from(num::count(FINE)) / u128::from(run.span_ns.max(1));
        usize::try_from(parts).map_or(FINE, |parts| parts.min(FINE))
    };
    let part_s = num::seconds(run.span_ns) / num::real(num::count(FINE));
    let mut worst = Recovery::NotDisturbed;
    for (i, &(_, ends_ns)) in disturbances.iter().enumerate() {
        let next_ns = disturbances.get(i + 1).map_or(run.span_ns, |&(begins_ns, _)| begins_ns);
        let (from, to) = (part(ends_ns), part(next_ns));
        // A phase of a few parts says nothing: the next disturbance follows at once, or the run is over.
        if to < from + WINDOW_DIVISOR {
            continue;
        }
        match first_good_window(run, oracle, from, to) {
            None => return Recovery::Never,
            Some(parts) => {
                let this_s = num::real(num::count(parts)) * part_s;
                worst = match worst {
                    Recovery::Seconds(worst_s) => Recovery::Seconds(worst_s.max(this_s)),
                    _ => Recovery::Seconds(this_s),
                };
            }
        }
    }
    worst
}

/// Parts from the start of the phase `from..to` to the first window that is good enough.
fn first_good_window(run: &Run, oracle: &Run, from: usize, to: usize) -> Option<usize> {
    let total = |counts: &[u32]| num::real(counts.iter().map(|&count| u64::from(count)).sum());
    let window = (to - from) / WINDOW_DIVISOR;
    let second_half = from.midpoint(to)..to;
    let per_part = total(&oracle.on_time[second_half.clone()]) / num::real(num::count(second_half.len()));
    let per_window = per_part * num::real(num::count(window));
    (from..=to - window).position(|start| {
        let parts = start..start + window;
        let expected = per_window.min(total(&run.offered[parts.clone()]));
        expected > 0.0 && total(&run.on_time[parts]) >= RECOVERED * expected
    })
}

#[cfg(test)]
mod tests;
