//! The command line: what a person can ask for, and how it becomes a scenario.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, printed as they are")]

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tollgate_sim::SimError;
use tollgate_sim::arrivals::Law;
use tollgate_sim::policy::Kind;
use tollgate_sim::scenario::{Input, Pressure, Setup, Slow, When};
use tollgate_sim::server::Contention;
use tollgate_sim::trace::{Options, Trace};
use tollgate_sim::workload::{Costs, Noise};

/// Simulates a service behind admission control, in virtual time, with tollgate's real machines.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compares concurrency limits on one load: none, fixed, adaptive, and the best fixed limit found by search.
    ///
    /// The server has slots and a FIFO queue, slows down past a knee (universal scalability law), and works on for
    /// clients that have given up. Same seed, same bytes out.
    Compare(Box<Compare>),
    /// Runs a plan: one experiment with the gate, as a file, held to its ranges and to the rules no plan can relax.
    Run(Run),
    /// Scores adaptive concurrency limits against the best limit known beforehand, on a plan for each behaviour.
    ///
    /// Exits with 1 if a figure is outside the range its plan gives, or a rule is broken that no plan can relax.
    Score(Score),
    /// Measures the simulator itself: events a second on one core, and jobs a second through the gate.
    Bench(Bench),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The plan, a TOML file.
    #[arg(value_name = "PLAN", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) plan: Option<PathBuf>,
    /// Runs every plan of a directory [default: sim/plans here or in a directory above].
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(crate) all: Option<Option<PathBuf>>,
    /// Takes what the run shows as the snapshot beside the plan. The plan has to say why: `accepted = "…"`.
    #[arg(long)]
    pub(crate) accept: bool,
    /// Draw service by tenant, queue and capacity over time.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub(crate) svg: Option<PathBuf>,
    /// Write everything as JSON.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Requests to simulate for each policy.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    pub(crate) requests: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Score {
    /// Directory with plans, one TOML file each.
    #[arg(long, value_name = "DIR", default_value = "sim/plans/limits")]
    pub(crate) plans: PathBuf,
    /// Score this plan instead; may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with = "plans")]
    pub(crate) plan: Vec<PathBuf>,
    /// Estimators, in the order of the tables [default: all].
    ///
    /// knee, vegas, gradient2, gradient, aimd, aimd+deadline; each of the references as NAME-netflix; windowed-vegas and
    /// windowed-gradient2, which are references too; fixed-N; none.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) estimators: Vec<String>,
    /// How many of each plan's seeds (9), a list (11,12,13) or a range (11-13) [default: those of the plan].
    #[arg(long, value_name = "SEEDS")]
    pub(crate) seeds: Option<String>,
    /// Runs a quarter as long under two seeds; looks at rules, not at the ranges of the plans.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Do not read or keep oracles in target/score-oracles.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Writes the snapshot of each plan and its ranges of knee: the bars where they hold, else what was measured, with a
    /// comment that says so. Of the plans' own seeds in full length only.
    #[arg(long, conflicts_with_all = ["quick", "seeds"])]
    pub(crate) accept: bool,
    /// Print only the totals, the bars that do not hold, and what failed.
    #[arg(long)]
    pub(crate) totals: bool,
    /// Write {plan, estimator, goodput_ratio, p99_ratio, wrongful_refusals, recovery_ms} of each, as an array.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a chart of each plan's first seed.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) load: Load,
    #[command(flatten)]
    pub(crate) service: Service,
    /// Policies, in the order of the table.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "none,fixed,aimd,vegas,gradient2",
        help_heading = "Policies"
    )]
    pub(crate) policies: Vec<Name>,
    /// The limit of the policy `fixed` [default: the number of slots].
    #[arg(long, value_name = "LIMIT", help_heading = "Policies", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) fixed: Option<u32>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct Load {
    /// Replay this trace: Azure LLM CSV, Mooncake JSONL, or CSV with arrival_s,tenant,cost[,bytes].
    ///
    /// The form is found by the first line; token counts by tenant or group are read too. Without a trace a
    /// built-in workload is drawn from published statistics.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arrivals", "duration_s", "rate"])]
    pub(crate) trace: Option<PathBuf>,
    /// Draw arrivals from this law [default: poisson, where there is no trace].
    #[arg(long, value_name = "LAW")]
    pub(crate) arrivals: Option<Arrivals>,
    /// Offered load as a multiple of capacity (slots ÷ mean service time, no contention). A trace is replayed at the
    /// speed that gives it; of bursts and ramps it is the base rate.
    #[arg(allow_negative_numbers = true, long, value_name = "X", default_value_t = 1.5, conflicts_with_all = ["speed", "rate"])]
    pub(crate) load: f64,
    /// Replay the trace so many times as fast as recorded, whatever load that is.
    #[arg(allow_negative_numbers = true, long, value_name = "X", requires = "trace")]
    pub(crate) speed: Option<f64>,
    /// Requests a second, whatever load that is.
    #[arg(allow_negative_numbers = true, long, value_name = "PER_S")]
    pub(crate) rate: Option<f64>,
    /// Length of drawn arrivals, simulated seconds [default: 600].
    #[arg(allow_negative_numbers = true, long, value_name = "S")]
    pub(crate) duration_s: Option<f64>,
    /// Bursts: HIGH:LOW:ON_S:OFF_S, multiples of the base rate and seconds.
    #[arg(allow_negative_numbers = true, long, value_name = "PLAN", default_value = "2:0.5:20:60", value_parser = numbers::<4>)]
    pub(crate) bursts: Numbers<4>,
    /// Ramp: FROM:TO, multiples of the base rate.
    #[arg(allow_negative_numbers = true, long, value_name = "PLAN", default_value = "0.2:2", value_parser = numbers::<2>)]
    pub(crate) ramp: Numbers<2>,
    /// Every drawn request costs so many units, instead of the tokens of a conversation.
    #[arg(long, value_name = "UNITS", conflicts_with = "trace")]
    pub(crate) cost: Option<u64>,
    /// Cost units of an output token (an input token is one).
    #[arg(long, value_name = "UNITS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) output_weight: u32,
    /// Seed of all chance.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct Service {
    /// Requests served at once.
    #[arg(long, value_name = "C", default_value_t = 32)]
    pub(crate) slots: u32,
    /// Service time of one cost unit, microseconds.
    #[arg(long, value_name = "US", default_value_t = 1000)]
    pub(crate) unit_us: u64,
    /// How service times stray from the cost.
    #[arg(long, value_name = "LAW", default_value = "constant")]
    pub(crate) noise: NoiseName,
    /// Standard deviation of the logarithm, for log-normal noise.
    #[arg(allow_negative_numbers = true, long, value_name = "X", default_value_t = 0.8)]
    pub(crate) sigma: f64,
    /// How long a client waits, milliseconds [default: ten mean service times].
    #[arg(long, value_name = "MS")]
    pub(crate) deadline_ms: Option<u64>,
    /// How many the server holds, waiting or served, before it slows down [default: 1.5 × slots].
    #[arg(long, value_name = "N")]
    pub(crate) knee: Option<u32>,
    /// Slow-down per request past the knee.
    #[arg(allow_negative_numbers = true, long, value_name = "X", default_value_t = 0.01)]
    pub(crate) alpha: f64,
    /// Slow-down per pair of requests past the knee.
    #[arg(allow_negative_numbers = true, long, value_name = "X", default_value_t = 0.0002)]
    pub(crate) beta: f64,
    /// The most in the server at once; it refuses the rest.
    #[arg(long, value_name = "N")]
    pub(crate) hard_limit: Option<u32>,
    /// Services that start in this span take FACTOR times as long: FROM:TO:FACTOR, in seconds or % of the run; may
    /// be repeated. `none` for no slow-down.
    #[arg(long, value_name = "SPAN", default_value = "40%:50%:2", value_parser = slow)]
    pub(crate) slow: Vec<SlowArg>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the table as CSV.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write everything as JSON: scenario, table, and every policy over time.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw limit, in flight, latency and goodput over time.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Name {
    None,
    Fixed,
    Aimd,
    Vegas,
    Gradient2,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Arrivals {
    /// At a constant rate.
    Poisson,
    /// In bursts: see --bursts.
    Onoff,
    /// At a rate that rises or falls in a straight line: see --ramp.
    Ramp,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum NoiseName {
    /// Not at all.
    Constant,
    /// Exponentially.
    Exponential,
    /// Log-normally: see --sigma.
    Lognormal,
}

/// Numbers separated by colons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<const N: usize>([f64; N]);

fn numbers<const N: usize>(text: &str) -> Result<Numbers<N>, String> {
    let parts: Result<Vec<f64>, _> = text.split(':').map(str::parse).collect();
    let numbers = parts.ok().and_then(|parts| <[f64; N]>::try_from(parts).ok());
    numbers.map(Numbers).ok_or_else(|| format!("allowed is {N} numbers separated by colons"))
}

/// A slow-down, or that there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowArg(Option<Slow>);

fn slow(text: &str) -> Result<SlowArg, String> {
    const ALLOWED: &str = "allowed is FROM:TO:FACTOR, like 40%:50%:2 or 120:180:1.5, or none";
    if text == "none" {
        return Ok(SlowArg(None));
    }
    let parts: Vec<&str> = text.split(':').collect();
    let [from, to, factor] = parts[..] else { return Err(ALLOWED.to_owned()) };
    let when = |text: &str| match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(When::Percent),
        None => text.parse().map(When::Seconds),
    };
    let slow = |_| ALLOWED.to_owned();
    let (from, to, factor) =
        (when(from).map_err(slow)?, when(to).map_err(slow)?, factor.parse().map_err(slow)?);
    Ok(SlowArg(Some(Slow { from, to, factor })))
}

impl Compare {
    /// The policies asked for.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let kind = |name: &Name| match name {
            Name::None => Kind::None,
            Name::Fixed => Kind::Fixed(self.fixed.unwrap_or(self.service.slots)),
            Name::Aimd => Kind::Aimd,
            Name::Vegas => Kind::Vegas,
            Name::Gradient2 => Kind::Gradient2,
        };
        self.policies.iter().map(kind).collect()
    }

    /// The scenario asked for; reads the trace.
    pub(crate) fn setup(&self) -> Result<Setup, SimError> {
        let (load, service) = (&self.load, &self.service);
        let input = match &load.trace {
            Some(path) => {
                let options = Options { output_weight: load.output_weight };
                Input::Trace(Arc::new(Trace::open(path, options)?))
            }
            None => Input::Law {
                law: load.law(),
                duration_s: load.duration_s.unwrap_or(600.0),
                costs: load.cost.map_or(Costs::Conversation(load.output_weight), Costs::Constant),
            },
        };
        let knee = service.knee.unwrap_or_else(|| service.slots.saturating_mul(3).div_ceil(2));
        Ok(Setup {
            input,
            pressure: load.speed.or(load.rate).map_or(Pressure::Load(load.load), Pressure::Pace),
            unit_us: service.unit_us,
            noise: match service.noise {
                NoiseName::Constant => Noise::Constant,
                NoiseName::Exponential => Noise::Exponential,
                NoiseName::Lognormal => Noise::LogNormal(service.sigma),
            },
            slots: service.slots,
            hard_limit: service.hard_limit,
            contention: Contention { knee, alpha: service.alpha, beta: service.beta },
            slow_downs: service.slow.iter().filter_map(|slow| slow.0).collect(),
            deadline_ms: service.deadline_ms,
            seed: load.seed,
        })
    }
}

impl Load {
    const fn law(&self) -> Law {
        match self.arrivals {
            None | Some(Arrivals::Poisson) => Law::Poisson,
            Some(Arrivals::Onoff) => {
                let [high, low, on_s, off_s] = self.bursts.0;
                Law::OnOff { high, low, on_s, off_s }
            }
            Some(Arrivals::Ramp) => {
                let [from, to] = self.ramp.0;
                Law::Ramp { from, to }
            }
        }
    }
}
