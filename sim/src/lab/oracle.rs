//! The oracle: the best limit, known beforehand.
//!
//! It is the yardstick, not an estimator. A sweep tries every limit up to 12 and then ⌊12·1.12^k⌋ up to 1000. Goodput
//! has a plateau: many limits are as good as the best, and the greater ones only add latency. So the oracle is the
//! *smallest* limit within 0.5 % of the sweep's best; without that rule its latency would be arbitrary. A plan of
//! several phases is also run with the best limit of each phase, found by the same rule, and the better of the two is
//! the oracle. Several limiters divide a limit equally.
//!
//! Not all of the sweep is run, only what can matter to that: see `search`.
//!
//! **Work** some 25 runs for each plan and seed, whatever is measured against it; so it is [cached](super::cache).

mod search;

use serde::{Deserialize, Serialize};

use super::engine;
use super::limiter::Seat;
use super::plan::Plan;
use super::requests::Requests;
use super::tally::{BINS, Tally};
use super::watch::Broken;
use search::Tried;

/// Limits tried one by one.
const DENSE_TO: u32 = 12;
/// The greatest limit tried.
const MOST: f64 = 1000.0;
/// Parts per thousand of the best goodput that are as good as the best.
const PLATEAU_PER_MILLE: u128 = 995;

/// What is known of the best limit.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Oracle {
    /// One for the whole run, or one for each phase; of all limiters together.
    pub limits: Vec<u32>,
    /// Completed within the deadline, in measured phases.
    pub on_time: u64,
    /// Of admitted requests.
    pub p99_ns: u64,
    /// Completed within the deadline in the second half of each phase.
    pub second_halves: Vec<u64>,
}

/// The limits of a sweep.
#[must_use]
pub fn sweep() -> Vec<u32> {
    let steps = core::iter::successors(Some(f64::from(DENSE_TO) * 1.12), |limit| Some(limit * 1.12));
    let steps = steps.take_while(|&limit| limit <= MOST).map(crate::num::floor_u32);
    (1..=DENSE_TO).chain(steps).collect()
}

/// Finds the oracle of `plan` under `seed`.
///
/// # Errors
/// The first rule that did not hold in one of the runs.
pub fn find(plan: &Plan, seed: u64, requests: &Requests) -> Result<Oracle, Broken> {
    let limits: Vec<u32> = sweep().into_iter().filter(|&limit| limit >= plan.limiters).collect();
    let tried = search::search(&limits, |limit| {
        let tally = run(plan, seed, requests, &[limit])?;
        let worth = core::iter::once(tally.on_time()).chain(of_phases(plan, &tally)).collect();
        Ok(Tried { limit, worth, unrefused: tally.books.refused == 0, outcome: tally })
    })?;
    let limit = smallest(&tried, Tally::on_time);
    let limits: Vec<u32> = (0..plan.phases.len())
        .map(|phase| {
            if plan.measured(phase).is_empty() {
                limit
            } else {
                smallest(&tried, |t| t.phases[phase].on_time)
            }
        })
        .collect();
    // Where all phases want the same, they were tried together.
    let apart = limits.iter().any(|&own| own != limit);
    let apart = if apart { Some(run(plan, seed, requests, &limits)?) } else { None };
    let together = tried.into_iter().find(|tried| tried.limit == limit).map(|tried| tried.outcome);
    let (limits, tally) = match (together, apart) {
        (Some(together), Some(apart)) if apart.on_time() > together.on_time() => (limits, apart),
        (Some(together), _) => (vec![limit], together),
        // Nothing was tried: there are more limiters than limits.
        (None, _) => (vec![limit], run(plan, seed, requests, &[limit])?),
    };
    let second_half = |bins: &Vec<u32>| bins[BINS / 2..].iter().map(|&count| u64::from(count)).sum();
    Ok(Oracle {
        limits,
        on_time: tally.on_time(),
        p99_ns: tally.p99_ns(),
        second_halves: tally.bins.iter().map(second_half).collect(),
    })
}

/// One run with these limits, one or one for each phase, divided among the limiters.
fn run(plan: &Plan, seed: u64, requests: &Requests, limits: &[u32]) -> Result<Tally, Broken> {
    let outcomes = engine::run(plan, seed, requests, seats(plan, limits), None);
    outcomes.broken.map_or(Ok(outcomes.tally), Err)
}

/// The oracle's own limiters.
#[must_use]
pub fn seats(plan: &Plan, limits: &[u32]) -> Vec<Seat> {
    let count = plan.limiters;
    let share = |limit: u32, index: u32| (limit / count + u32::from(index < limit % count)).max(1);
    (0..count)
        .map(|index| Seat::foretold(limits.iter().map(|&limit| share(limit, index)).collect()))
        .collect()
}

/// What was done in time in each measured phase.
fn of_phases(plan: &Plan, tally: &Tally) -> impl Iterator<Item = u64> {
    let measured = (0..plan.phases.len()).filter(|&phase| !plan.measured(phase).is_empty());
    measured.map(|phase| tally.phases[phase].on_time)
}

/// The smallest limit within 0.5 % of the best.
fn smallest(tried: &[Tried<Tally>], on_time: impl Fn(&Tally) -> u64) -> u32 {
    let best = tried.iter().map(|tried| on_time(&tried.outcome)).max().unwrap_or(0);
    let good = |tally: &Tally| u128::from(on_time(tally)) * 1000 >= u128::from(best) * PLATEAU_PER_MILLE;
    tried.iter().find(|tried| good(&tried.outcome)).map_or(1, |tried| tried.limit)
}

#[cfg(test)]
mod tests;
