//! The score: every plan, every estimator, every seed, against the oracle.
//!
//! **Figures**, each a mean over the seeds:
//!
//! | figure | is |
//! | --- | --- |
//! | goodput ratio | completions within the deadline ÷ the oracle's; above 1 is possible |
//! | p99 ratio | 99th percentile of admitted requests, to completion or until their client gave up, ÷ the oracle's |
//! | wrongful refusals | refused ÷ attempts, of those made while less was offered than the server could do |
//! | recovery | see [`Figures::recovery_ms`] |
//! | Jain | (Σx)² ÷ (n Σx²) of the limiters' completions in time: 1 is equal, 1/n is one has it all |
//!
//! **A plan is met** by an estimator with a goodput ratio of [`GOOD`] or more and a p99 ratio of [`QUICK`] or less.
//!
//! **Threads.** The work is split by plan and seed. Who does which piece depends on the machine, what comes of it does
//! not: results are put in their places.

pub mod bars;
mod figures;
pub mod snapshot;
pub mod table;
pub mod text;

use core::fmt;
use core::num::NonZero;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::lab::cache::Cache;
use crate::lab::engine::{self, Outcomes};
use crate::lab::limiter::Seat;
use crate::lab::oracle::Oracle;
use crate::lab::plan::{Figure, Plan};
pub use crate::lab::plan::{GOOD, QUICK};
use crate::lab::{Broken, LabError, Requests, curve::Curve, oracle, roster};

pub use self::figures::Figures;

/// Which seeds of a plan are run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Seeds {
    /// Those of the plan.
    Own,
    /// The first so many of the plan's; past its last, counting up.
    First(usize),
    /// These.
    These(Vec<u64>),
}

impl Seeds {
    /// As a person writes it: `9`, `11,12,13` or `11-13`.
    ///
    /// # Errors
    /// [`LabError::Seeds`].
    pub fn parse(given: &str) -> Result<Self, LabError> {
        let refused = || LabError::Seeds { given: given.to_owned() };
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| refused());
        if let Some((from, to)) = given.split_once('-') {
            let (from, to) = (number(from)?, number(to)?);
            let fine = from <= to && to - from < 1000;
            return if fine { Ok(Self::These((from..=to).collect())) } else { Err(refused()) };
        }
        if given.contains(',') {
            return given.split(',').map(number).collect::<Result<_, _>>().map(Self::These);
        }
        match number(given)? {
            count @ 1..=1000 => Ok(Self::First(usize::try_from(count).map_err(|_| refused())?)),
            _ => Err(refused()),
        }
    }

    fn of(&self, plan: &Plan) -> Vec<u64> {
        match self {
            Self::Own => plan.seeds.clone(),
            Self::These(seeds) => seeds.clone(),
            Self::First(count) => {
                let last = plan.seeds.last().copied().unwrap_or(0);
                plan.seeds.iter().copied().chain(last.saturating_add(1)..).take(*count).collect()
            }
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Estimators by name.
    pub estimators: Vec<String>,
    /// Seeds.
    pub seeds: Seeds,
    /// Whether the ranges of the plans are looked at; the rules that no plan can relax always are.
    pub ranges: bool,
    /// Oracles found before.
    pub cache: Cache,
}

/// What was found out of place.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// In this plan.
    pub plan: String,
    /// With this estimator; `oracle` for a fixed limit of the sweep.
    pub estimator: String,
    /// What.
    pub what: Fault,
}

/// A range that was missed, or a rule that was broken.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A figure outside its range.
    Range {
        /// Which.
        figure: Figure,
        /// Found; `None` if there is no such figure.
        found: Option<f64>,
        /// At least.
        min: f64,
        /// At most.
        max: f64,
    },
    /// A rule.
    Rule {
        /// Under this seed.
        seed: u64,
        /// Which.
        broken: Broken,
    },
    /// The snapshot.
    Snapshot(snapshot::Difference),
}

impl Failure {
    /// Whether it is what `knee` did, and a plan can be made to say so.
    #[must_use]
    pub fn can_be_accepted(&self) -> bool {
        self.estimator == snapshot::OF && !matches!(self.what, Fault::Rule { .. })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, estimator, what } = self;
        match what {
            Fault::Snapshot(difference) => write!(f, "{plan}, {estimator}: {difference}"),
            &Fault::Rule { seed, broken } => write!(f, "{plan}, {estimator}, seed {seed}: {broken}"),
            &Fault::Range { figure, found, min, max } => {
                write!(f, "{plan}, {estimator}: {} is ", figure.name())?;
                match found {
                    Some(found) => write!(f, "{found:.4}")?,
                    None => f.write_str("not measured")?,
                }
                match (min.is_finite(), max.is_finite()) {
                    (true, true) => write!(f, ", allowed is {min} to {max}"),
                    (true, false) => write!(f, ", allowed is {min} or more"),
                    _ => write!(f, ", allowed is {max} or less"),
                }
            }
        }
    }
}

/// One estimator on one plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The estimator.
    pub estimator: String,
    /// Means over the seeds.
    pub mean: Figures,
    /// The least goodput ratio of a seed.
    pub worst: f64,
}

impl Row {
    /// Whether the plan is met.
    #[must_use]
    pub fn meets(&self) -> bool {
        self.mean.goodput_ratio >= GOOD && self.mean.p99_ratio <= QUICK
    }
}

/// One plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanScore {
    /// Its name.
    pub plan: String,
    /// Whether an estimator was tuned with it in sight.
    pub tuned: bool,
    /// Seeds that were run.
    pub seeds: usize,
    /// What `knee` is to reach.
    pub bars: Vec<(Figure, f64)>,
    /// What `knee` did under the first of the plan's seeds.
    pub snapshot: Option<String>,
    /// The oracle of the first seed.
    pub oracle: Option<Oracle>,
    /// In the order in which the estimators were asked for.
    pub rows: Vec<Row>,
}

/// Everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// In the order of the plans.
    pub plans: Vec<PlanScore>,
    /// What was out of place.
    pub failures: Vec<Failure>,
    /// Events of the runs that were measured, without the oracle's.
    pub events: u64,
}

/// One piece of work: a plan under one seed.
struct Piece {
    oracle: Result<Oracle, Broken>,
    /// Of each estimator.
    runs: Vec<(Figures, Option<Broken>, u64)>,
    /// What `knee` did, under the first of the plan's seeds.
    snapshot: Option<String>,
}

/// Scores `asked` on `plans`. `progress` is told how many pieces are done and how many there are, from any thread.
///
/// # Errors
/// An unknown estimator, or settings that the core refuses.
pub fn score(
    plans: &[Plan],
    asked: &Asked,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Score, LabError> {
    for name in &asked.estimators {
        roster::check(name)?;
    }
    let mut jobs: Vec<(usize, usize, u64)> = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        jobs.extend(asked.seeds.of(plan).into_iter().enumerate().map(|(place, seed)| (index, place, seed)));
    }
    let seeds: Vec<Vec<u64>> = plans.iter().map(|plan| asked.seeds.of(plan)).collect();
    // The longest first, so that no thread is left alone with one.
    jobs.sort_by_key(|&(plan, place, _)| (core::cmp::Reverse(plans[plan].expected_attempts()), plan, place));
    // ORDERING: each piece is handed out once, whatever the order; what comes of it reaches this thread by joining.
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut finished = Vec::new();
        while let Some(&(plan, place, seed)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            finished.push((plan, place, piece(&plans[plan], place, seed, asked)?));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
        }
        Ok::<_, LabError>(finished)
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len().max(1));
    let mut places: Vec<Vec<Option<Piece>>> =
        seeds.iter().map(|seeds| seeds.iter().map(|_| None).collect()).collect();
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for result in results {
        let finished = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        for (plan, place, piece) in finished {
            places[plan][place] = Some(piece);
        }
    }
    let mut score = Score { plans: Vec::new(), failures: Vec::new(), events: 0 };
    for ((plan, seeds), pieces) in plans.iter().zip(&seeds).zip(places) {
        let pieces: Vec<Piece> = pieces.into_iter().flatten().collect();
        gather(plan, seeds, &pieces, asked, &mut score);
    }
    Ok(score)
}

fn piece(plan: &Plan, place: usize, seed: u64, asked: &Asked) -> Result<Piece, LabError> {
    let requests = Requests::draw(plan, seed);
    let oracle = asked.cache.oracle(plan, seed, &requests);
    let (mut runs, mut snapshot) = (Vec::new(), None);
    if let Ok(oracle) = &oracle {
        for name in &asked.estimators {
            let outcomes = run(plan, seed, &requests, name, None)?;
            let mut broken = outcomes.broken;
            // W6, where it costs a ninth: the first seed is run twice.
            if place == 0 && broken.is_none() && run(plan, seed, &requests, name, None)? != outcomes {
                broken = Some(Broken::NotTheSame);
            }
            if snapshot::is_of(plan, name, seed) {
                snapshot = Some(snapshot::text(plan, seed, &outcomes.tally));
            }
            let figures = Figures::of(plan, &outcomes.tally, oracle);
            runs.push((figures, broken, outcomes.tally.events));
        }
    }
    Ok(Piece { oracle, runs, snapshot })
}

pub(crate) fn run(
    plan: &Plan,
    seed: u64,
    requests: &Requests,
    name: &str,
    curve: Option<&mut Curve>,
) -> Result<Outcomes, LabError> {
    let seats: Vec<Seat> =
        (0..plan.limiters()).map(|_| roster::seat(name, plan.told())).collect::<Result<_, _>>()?;
    Ok(engine::run(plan, seed, requests, seats, curve))
}

/// Puts the pieces of a plan together.
fn gather(plan: &Plan, seeds: &[u64], pieces: &[Piece], asked: &Asked, score: &mut Score) {
    let failure =
        |estimator: &str, what| Failure { plan: plan.name.clone(), estimator: estimator.to_owned(), what };
    for (&seed, piece) in seeds.iter().zip(pieces) {
        if let Err(broken) = piece.oracle {
            score.failures.push(failure("oracle", Fault::Rule { seed, broken }));
        }
    }
    let mut rows = Vec::new();
    for (index, name) in asked.estimators.iter().enumerate() {
        let mut figures = Vec::new();
        for (&seed, piece) in seeds.iter().zip(pieces) {
            let Some((of_seed, broken, events)) = piece.runs.get(index) else { continue };
            score.events += events;
            figures.push(of_seed.clone());
            if let Some(broken) = *broken {
                score.failures.push(failure(name, Fault::Rule { seed, broken }));
            }
        }
        let worst = figures.iter().map(|of_seed| of_seed.goodput_ratio).fold(f64::INFINITY, f64::min);
        let mean = Figures::mean(&figures);
        for expected in plan.expected.iter().filter(|expected| asked.ranges && expected.estimator == *name) {
            let (min, max, found) = (expected.min, expected.max, mean.get(expected.figure));
            if !found.is_some_and(|found| (min..=max).contains(&found)) {
                let what = Fault::Range { figure: expected.figure, found, min, max };
                score.failures.push(failure(name, what));
            }
        }
        rows.push(Row { estimator: name.clone(), mean, worst });
    }
    let snapshot = pieces.iter().find_map(|piece| piece.snapshot.clone());
    let differs = snapshot.as_deref().filter(|_| asked.ranges).and_then(|text| snapshot::differs(plan, text));
    score.failures.extend(differs.map(|difference| failure(snapshot::OF, Fault::Snapshot(difference))));
    let oracle = pieces.first().and_then(|piece| piece.oracle.clone().ok());
    score.plans.push(PlanScore {
        plan: plan.name.clone(),
        tuned: plan.tuned,
        seeds: pieces.len(),
        bars: plan.bars.clone(),
        snapshot,
        oracle,
        rows,
    });
}

/// What happens over time on `plan` under the first seed, of each estimator; the oracle comes last.
///
/// # Errors
/// As [`score`].
pub fn curves(plan: &Plan, asked: &Asked) -> Result<Vec<(String, Curve)>, LabError> {
    let seed = asked.seeds.of(plan).first().copied().unwrap_or(0);
    let requests = Requests::draw(plan, seed);
    let mut curves = Vec::new();
    for name in &asked.estimators {
        let mut curve = Curve::new(plan);
        run(plan, seed, &requests, name, Some(&mut curve))?;
        curves.push((name.clone(), curve));
    }
    if let Ok(best) = asked.cache.oracle(plan, seed, &requests) {
        let mut curve = Curve::new(plan);
        let seats = oracle::seats(plan, &best.limits);
        let _outcomes: Outcomes = engine::run(plan, seed, &requests, seats, Some(&mut curve));
        let limits: Vec<String> = best.limits.iter().map(u32::to_string).collect();
        curves.push((format!("oracle: {}", limits.join("/")), curve));
    }
    Ok(curves)
}

#[cfg(test)]
mod tests;
