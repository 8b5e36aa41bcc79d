//! The scenario in words and numbers: what the numbers of a report were measured on.

use core::fmt;

use serde::Serialize;

use crate::arrivals::Law;
use crate::num;
use crate::scenario::Scenario;
use crate::server::Settings;
use crate::workload::{Costs, Noise, Origin};

/// Everything that has to be known to repeat a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// What was offered, in words.
    pub workload: String,
    /// What else has to be said about it: built-in, sorted, dropped.
    pub notes: Vec<String>,
    /// Requests a second over the whole run.
    pub offered_per_s: f64,
    /// What the server could serve with every slot busy and no contention, requests a second.
    pub capacity_per_s: f64,
    /// Offered ÷ capacity.
    pub load: f64,
    /// Length of the arrivals, simulated seconds.
    pub span_s: f64,
    /// Mean cost of a request, units.
    pub mean_cost: f64,
    /// Service time of one unit, nanoseconds.
    pub unit_ns: u64,
    /// Mean service time on an idle server, milliseconds.
    pub mean_service_ms: f64,
    /// How service times stray.
    pub noise: Noise,
    /// How long a client waits, milliseconds.
    pub deadline_ms: f64,
    /// The server.
    pub server: Settings,
    /// The seed.
    pub seed: u64,
}

impl Summary {
    /// Of a scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let origin = &scenario.workload.origin;
        let (workload, notes) = describe(origin, scenario.load());
        Self {
            workload,
            notes,
            offered_per_s: origin.rate_per_s(),
            capacity_per_s: scenario.capacity_per_s(),
            load: scenario.load(),
            span_s: origin.span_s(),
            mean_cost: origin.mean_cost(),
            unit_ns: scenario.workload.unit_ns,
            mean_service_ms: scenario.workload.mean_service_s() * 1e3,
            noise: scenario.workload.noise,
            deadline_ms: num::seconds(scenario.deadline_ns) * 1e3,
            server: scenario.server.clone(),
            seed: scenario.workload.seed,
        }
    }

    /// One line, for a chart.
    #[must_use]
    pub fn headline(&self) -> String {
        format!(
            "{}: load {:.2} of what {} slots can serve, deadline {:.1} s",
            self.workload,
            self.load,
            self.server.slots,
            self.deadline_ms / 1e3
        )
    }
}

fn describe(origin: &Origin, load: f64) -> (String, Vec<String>) {
    match origin {
        Origin::Trace { trace, speed } => {
            let mut notes = vec![format!(
                "replayed at {speed:.3} times the recorded speed ({:.1} s), which makes the load {load:.2}",
                num::seconds(trace.span_ns())
            )];
            if trace.out_of_order > 0 {
                notes.push(format!(
                    "{} arrivals were out of order in the file and were sorted",
                    trace.out_of_order
                ));
            }
            if trace.tenants > 0 {
                notes.push(format!(
                    "{} tenants; the policies compared here do not look at them",
                    trace.tenants
                ));
            }
            (format!("{} ({}, {} requests)", trace.name, trace.form.name(), trace.records.len()), notes)
        }
        Origin::Law { law, costs, .. } => {
            let law = match law {
                Law::Poisson => "Poisson arrivals".to_owned(),
                Law::OnOff { high, low, on_s, off_s } => {
                    format!("bursts ({on_s} s at {high} times the base rate, {off_s} s at {low})")
                }
                Law::Ramp { from, to } => format!("ramp ({from} to {to} times the base rate)"),
            };
            match costs {
                Costs::Constant(cost) => (format!("{law}, every request {cost} units"), Vec::new()),
                Costs::Conversation(_) => {
                    let note = "no trace: costs are drawn from the published statistics of the Azure LLM \
                                conversation trace (CC-BY-4.0, Patel et al., Splitwise, ISCA 2024)";
                    (format!("built-in workload, {law}"), vec![note.to_owned()])
                }
            }
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "workload  {}", self.workload)?;
        for note in &self.notes {
            writeln!(f, "          {note}")?;
        }
        writeln!(
            f,
            "load      {:.2}: {:.2} requests/s offered for {:.1} s, capacity {:.2}/s (mean cost {:.1} units of {} us)",
            self.load,
            self.offered_per_s,
            self.span_s,
            self.capacity_per_s,
            self.mean_cost,
            self.unit_ns / 1_000,
        )?;
        write!(f, "server    {} slots, mean service {:.1} ms", self.server.slots, self.mean_service_ms)?;
        match self.noise {
            Noise::Constant => {}
            Noise::Exponential => f.write_str(" with exponential noise")?,
            Noise::LogNormal(sigma) => write!(f, " with log-normal noise (sigma {sigma})")?,
        }
        let contention = self.server.contention;
        if contention.alpha > 0.0 || contention.beta > 0.0 {
            write!(
                f,
                "; slows down past {} in it (alpha {}, beta {}: {:.1} times as long at {})",
                contention.knee,
                contention.alpha,
                contention.beta,
                contention.factor(contention.knee.saturating_mul(2)),
                contention.knee.saturating_mul(2),
            )?;
        }
        if let Some(limit) = self.server.hard_limit {
            write!(f, "; refuses past {limit}")?;
        }
        writeln!(f)?;
        for slow in &self.server.slow_downs {
            let (from, to) = (num::seconds(slow.from_ns), num::seconds(slow.to_ns));
            writeln!(
                f,
                "          services take {} times as long from {from:.1} s to {to:.1} s",
                slow.factor
            )?;
        }
        writeln!(f, "clients   give up after {:.1} ms; the server works on for them", self.deadline_ms)?;
        write!(f, "seed      {}", self.seed)
    }
}
