//! A scenario: a workload, a server and the patience of its clients, all numbers resolved.
//!
//! People think in multiples: "half again as much as it can serve", "slow between 40 % and 50 % of the run". A
//! [`Setup`] holds what a person says; [`Setup::resolve`] turns it into a [`Scenario`] in nanoseconds.
//!
//! * **Capacity** is slots ÷ mean service time on an idle server: what it could serve with every slot busy and no
//!   contention.
//! * **Load** is offered rate ÷ capacity. For a trace it fixes how fast the trace is replayed, for a law the base
//!   rate. So the same command means the same pressure on any trace.
//! * **Deadline**, unless given, is ten mean service times, as in the estimator experiments this grew from.

use std::sync::Arc;

use crate::arrivals::Law;
use crate::error::SimError;
use crate::num;
use crate::server::{Contention, Settings, SlowDown};
use crate::trace::Trace;
use crate::workload::{Costs, Noise, Origin, Workload};

/// The deadline in mean service times.
const DEADLINE_SERVICES: f64 = 10.0;

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A recorded trace.
    Trace(Arc<Trace>),
    /// A law, for this many seconds, with costs drawn.
    Law {
        /// How the rate varies.
        law: Law,
        /// Length of the run, seconds.
        duration_s: f64,
        /// What each request costs.
        costs: Costs,
    },
}

/// How hard it is pressed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pressure {
    /// Offered rate ÷ capacity.
    Load(f64),
    /// Recorded seconds per simulated second; for a law, requests a second at multiple 1.
    Pace(f64),
}

/// A time in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Seconds after the start.
    Seconds(f64),
    /// Percent of the run.
    Percent(f64),
}

impl When {
    fn resolve_ns(self, span_ns: u64) -> u64 {
        match self {
            Self::Seconds(seconds) => num::nanos(seconds),
            Self::Percent(percent) => num::rounded(num::real(span_ns) * percent / 100.0),
        }
    }
}

/// A scripted slow-down, as a person says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// Start.
    pub from: When,
    /// End.
    pub to: When,
    /// How many times as long services take.
    pub factor: f64,
}

/// A scenario as a person says it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where requests come from.
    pub input: Input,
    /// How hard it is pressed.
    pub pressure: Pressure,
    /// Service time of one cost unit, microseconds.
    pub unit_us: u64,
    /// How service times stray.
    pub noise: Noise,
    /// Requests served at once.
    pub slots: u32,
    /// The most in the server at once.
    pub hard_limit: Option<u32>,
    /// Contention past a knee.
    pub contention: Contention,
    /// Scripted slow-downs.
    pub slow_downs: Vec<Slow>,
    /// How long a client waits, milliseconds; `None` for ten mean service times.
    pub deadline_ms: Option<u64>,
    /// The seed of all chance.
    pub seed: u64,
}

/// A scenario ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What is offered.
    pub workload: Workload,
    /// Who serves it.
    pub server: Settings,
    /// How long a client waits, nanoseconds.
    pub deadline_ns: u64,
    /// Length of the arrivals, nanoseconds.
    pub span_ns: u64,
    /// When what a policy may have to recover from begins and ends, nanoseconds.
    pub disturbances: Vec<(u64, u64)>,
}

impl Setup {
    /// All numbers checked and in nanoseconds.
    ///
    /// # Errors
    /// [`SimError::Setting`], for the first setting out of its range.
    pub fn resolve(self) -> Result<Scenario, SimError> {
        SimError::unless((1..=10_000_000).contains(&self.unit_us), "unit", self.unit_us, "1 to 10000000 us")?;
        if let Noise::LogNormal(sigma) = self.noise {
            SimError::unless((0.0..=3.0).contains(&sigma), "sigma", sigma, "a number from 0 to 3")?;
        }
        let unit_ns = self.unit_us * 1_000;
        let origin = origin(self.input, self.pressure, self.slots, num::seconds(unit_ns))?;
        let workload = Workload { origin, unit_ns, noise: self.noise, seed: self.seed };
        let span_s = workload.origin.span_s();
        let requests = workload.origin.rate_per_s() * span_s;
        let lengths = "0.001 to 1e9 simulated seconds of arrivals";
        SimError::unless((1e-3..=1e9).contains(&span_s), "run", format!("{span_s} s long"), lengths)?;
        SimError::unless(requests <= 1e9, "run", format!("{requests} requests long"), "up to 1e9 requests")?;
        let span_ns = num::nanos(span_s);
        let deadline_ns = self.deadline_ms.map_or_else(
            || num::nanos(workload.mean_service_s() * DEADLINE_SERVICES),
            |ms| ms.saturating_mul(1_000_000),
        );
        SimError::unless(deadline_ns > 0, "deadline", "0", "at least 1 ms")?;
        let slow_downs: Result<Vec<SlowDown>, SimError> =
            self.slow_downs.iter().map(|slow| slow.resolve(span_ns)).collect();
        let slow_downs = slow_downs?;
        let mut disturbances: Vec<(u64, u64)> =
            slow_downs.iter().map(|slow| (slow.from_ns, slow.to_ns)).collect();
        if let Origin::Law { law, duration_s, .. } = workload.origin {
            let bursts = law.disturbances(duration_s).into_iter();
            disturbances.extend(bursts.map(|(from, to)| (num::nanos(from), num::nanos(to))));
        }
        disturbances.sort_unstable();
        let Self { slots, hard_limit, contention, .. } = self;
        let server = Settings { slots, hard_limit, contention, slow_downs };
        server.check()?;
        Ok(Scenario { workload, server, deadline_ns, span_ns, disturbances })
    }
}

impl Slow {
    fn resolve(self, span_ns: u64) -> Result<SlowDown, SimError> {
        for when in [self.from, self.to] {
            let (value, most) = match when {
                When::Seconds(seconds) => (seconds, 1e9),
                When::Percent(percent) => (percent, 100.0),
            };
            let fine = (0.0..=most).contains(&value);
            SimError::unless(fine, "slow-down", value, "seconds from 0 to 1e9 or a share from 0% to 100%")?;
        }
        let (from_ns, to_ns) = (self.from.resolve_ns(span_ns), self.to.resolve_ns(span_ns));
        Ok(SlowDown { from_ns, to_ns, factor: self.factor })
    }
}

fn origin(input: Input, pressure: Pressure, slots: u32, unit_s: f64) -> Result<Origin, SimError> {
    let positive = |name, value: f64| {
        SimError::unless((1e-6..=1e9).contains(&value), name, value, "a number from 0.000001 to 1e9")
    };
    match pressure {
        Pressure::Load(load) => positive("load", load)?,
        Pressure::Pace(pace) => positive("speed or rate", pace)?,
    }
    let mut origin = match input {
        Input::Trace(trace) => {
            let long = trace.span_ns() > 0;
            SimError::unless(long, "trace", "all at one instant", "requests at two instants at least")?;
            Origin::Trace { trace, speed: 1.0 }
        }
        Input::Law { law, duration_s, costs } => {
            law.check()?;
            let fine = (1e-3..=1e7).contains(&duration_s);
            SimError::unless(fine, "duration", duration_s, "seconds from 0.001 to 1e7")?;
            Origin::Law { law, base_per_s: 1.0, duration_s, costs }
        }
    };
    let mean_cost = origin.mean_cost();
    SimError::unless(mean_cost > 0.0, "mean cost of a request", mean_cost, "above 0")?;
    let capacity_per_s = f64::from(slots) / (mean_cost * unit_s);
    let unscaled_per_s = origin.rate_per_s();
    let scale = match pressure {
        // The published load of a law is its base rate: bursts and ramps are multiples of it.
        Pressure::Load(load) => match origin {
            Origin::Trace { .. } => load * capacity_per_s / unscaled_per_s,
            Origin::Law { .. } => load * capacity_per_s,
        },
        Pressure::Pace(pace) => pace,
    };
    match &mut origin {
        Origin::Trace { speed, .. } => *speed = scale,
        Origin::Law { base_per_s, .. } => *base_per_s = scale,
    }
    Ok(origin)
}

impl Scenario {
    /// What the server could serve with every slot busy and no contention, requests a second.
    #[must_use]
    pub fn capacity_per_s(&self) -> f64 {
        f64::from(self.server.slots) / self.workload.mean_service_s()
    }

    /// Offered rate ÷ capacity, over the whole run.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.workload.origin.rate_per_s() / self.capacity_per_s()
    }
}

#[cfg(test)]
mod tests;
