//! The path of a plan without a judge: how fast the simulator and the gate are.
//!
//! A trace with tenants is looped, each round shifted by its length, and played exactly as a plan is: the same events,
//! the same gate, the same ledger. Only the judge is left out, who keeps a second set of books and looks at every tenant
//! at every event. The server is as wide and as fast as makes the load 1.2, so the queue is never empty for long, and
//! what does not fit is refused.

use core::time::Duration;
use std::sync::Arc;

use tollgate::gate::{Order, Settings};

use crate::num;
use crate::plan::value::Draw;
use crate::plan::{
    Abandoned, Coming, CostLaw, Ends, Entry, JobLaw, LoadPlan, Plan, PlanError, Tenant, Window,
};
use crate::play::{Unwatched, play};
use crate::trace::Trace;

/// Offered ÷ capacity.
const LOAD: f64 = 1.2;
/// Jobs served at once.
const SLOTS: u32 = 32;

/// How it went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Replayed {
    /// Jobs submitted.
    pub jobs: u64,
    /// Of these, started.
    pub started: u64,
    /// Events handled.
    pub events: u64,
}

/// What plays the trace until `jobs` have come, rounded up to whole rounds.
#[must_use]
pub fn plan(trace: Trace, jobs: u64) -> Plan {
    let records = num::count(trace.records.len()).max(1);
    let loops = jobs.div_ceil(records);
    let round_ns = trace.span_ns().saturating_add(trace.span_ns() / records).max(1);
    let unit_ns = LOAD * f64::from(SLOTS) * num::real(round_ns) / num::real_wide(trace.total_cost().max(1));
    let duration_ns = round_ns.saturating_mul(loops);
    let largest = trace.records.iter().map(|record| record.cost).max().unwrap_or(1);
    let tenants = trace.tenant_names.iter().map(|name| Tenant { name: name.clone(), weight: 1 });
    Plan {
        name: "replay".to_owned(),
        path: "replay".into(),
        about: String::new(),
        source: String::new(),
        reason: None,
        accepted: None,
        seed: 1,
        duration_ns,
        tenants: tenants.collect(),
        windows: vec![Window { name: "run".to_owned(), from_ns: 0, to_ns: duration_ns }],
        ranges: Vec::new(),
        limit: SLOTS.into(),
        settings: Settings {
            order: Order::Deficit { quantum: largest },
            max_wait: Some(Duration::from_secs(600)),
            ..Settings::default()
        },
        entry: Entry::Queue,
        slow: Vec::new(),
        limits: Vec::new(),
        limiter: None,
        rules: Vec::new(),
        loads: vec![LoadPlan {
            tenant: 0,
            job: JobLaw {
                cost: CostLaw::Units(Draw::always(1)),
                weight: Draw::always(1),
                bytes: Draw::always(1_000),
                exec: None,
                unit_ns: num::rounded(unit_ns),
                deadline: None,
                ready_after: None,
                patience_ns: None,
                abandoned: Abandoned::RunsOn,
                pad_ns: 0,
                ends: Ends::Done,
            },
            coming: Coming::Trace { trace: Arc::new(trace), speed: 1.0, loops },
        }],
    }
}

/// Plays it, unwatched.
///
/// # Errors
/// [`PlanError`] if the gate refuses the settings.
pub fn run(plan: &Plan) -> Result<Replayed, PlanError> {
    let played = play(plan, Unwatched, |_| {}).map_err(|error| PlanError::settings(&plan.path, error))?;
    let sum = |of: fn(&crate::play::ledger::Totals) -> u64| {
        played.ledger.accounts.iter().map(|account| of(&account.totals)).sum()
    };
    Ok(Replayed {
        jobs: sum(|totals| totals.submitted),
        started: sum(|totals| totals.started),
        events: played.events,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Options;

    #[test]
    fn a_replay_submits_every_record_of_every_round_and_is_overloaded() {
        let text: String = (0..50).map(|n| format!("{n},t{},{}\n", n % 5, 10 + n % 7)).collect();
        let trace = Trace::read(format!("arrival_s,tenant,cost\n{text}").as_bytes(), "t", Options::default())
            .unwrap();
        let replayed = run(&plan(trace, 9_990)).unwrap();
        assert_eq!(replayed.jobs, 10_000);
        assert!((7_000..10_000).contains(&replayed.started), "{replayed:?}");
    }
}
