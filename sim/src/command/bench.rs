//! `tollgate-sim bench`: how many events a second the simulator handles, and how many jobs a second go through the
//! gate. The only place that reads a clock.

use std::time::Instant;

use tollgate_sim::SimError;
use tollgate_sim::arrivals::Law;
use tollgate_sim::policy::Kind;
use tollgate_sim::replay;
use tollgate_sim::scenario::{Input, Pressure, Setup};
use tollgate_sim::server::Contention;
use tollgate_sim::trace::{Options, Trace};
use tollgate_sim::workload::{Costs, Noise};

use crate::cli::Bench;

/// The trace of the plan that replays it.
const TENANTS: &str = include_str!("../../plans/traces/vtc_arena_27tenants.csv");

const SLOTS: u32 = 32;
const LOAD: f64 = 1.2;
/// Service time: 1000 units of 10 µs.
const COST: u64 = 1000;
const UNIT_US: u64 = 10;

pub(crate) fn run(asked: &Bench) -> anyhow::Result<()> {
    println!(
        "{SLOTS} slots, Poisson arrivals at load {LOAD}, exponential service of 10 ms, deadline 100 ms, one core"
    );
    for kind in [Kind::None, Kind::Fixed(40), Kind::Aimd, Kind::Vegas, Kind::Gradient2] {
        let scenario = setup(asked.requests)?.resolve()?;
        let started = Instant::now();
        let run = kind.simulate(&scenario)?;
        let took_s = started.elapsed().as_secs_f64();
        let events = run.events;
        let millions_per_s = wide(events) / took_s / 1e6;
        println!(
            "{:<10} {events:>9} events in {took_s:.3} s: {millions_per_s:.2} million events/s",
            kind.label()
        );
    }
    gate(asked.requests)
}

/// The recorded tenants, looped, through the gate: everything that `run` does but the judge.
fn gate(jobs: u64) -> anyhow::Result<()> {
    let trace = Trace::read(TENANTS.as_bytes(), "vtc_arena_27tenants.csv", Options::default())
        .map_err(SimError::from)?;
    let plan = replay::plan(trace, jobs);
    let started = Instant::now();
    let replayed = replay::run(&plan)?;
    let took_s = started.elapsed().as_secs_f64();
    let millions_per_s = wide(replayed.jobs) / took_s / 1e6;
    println!(
        "gate, 27 recorded tenants looped at load 1.2, deficit order, no judge: {} jobs ({} started, {} events) \
         in {took_s:.3} s: {millions_per_s:.2} million jobs/s",
        replayed.jobs, replayed.started, replayed.events
    );
    Ok(())
}

fn setup(requests: u64) -> anyhow::Result<Setup> {
    let rate_per_s = LOAD * f64::from(SLOTS) / 10e-3;
    Ok(Setup {
        input: Input::Law {
            law: Law::Poisson,
            duration_s: wide(requests) / rate_per_s,
            costs: Costs::Constant(COST),
        },
        pressure: Pressure::Load(LOAD),
        unit_us: UNIT_US,
        noise: Noise::Exponential,
        slots: SLOTS,
        hard_limit: None,
        contention: Contention::NONE,
        slow_downs: Vec::new(),
        deadline_ms: Some(100),
        seed: 1,
    })
}

/// The nearest real number.
#[allow(clippy::cast_precision_loss, clippy::as_conversions)]
fn wide(count: u64) -> f64 {
    count as f64
}
