//! What is offered: requests with an arrival instant and an amount of work, the same for every policy.
//!
//! A [`Workload`] is a recipe; [`Workload::jobs`] starts it, as often as wanted, and yields the same jobs every
//! time. Work is service time on an idle server: `cost × time per unit × noise`, where noise has mean 1 and is drawn
//! here, at arrival, so that a request is lucky or unlucky whatever a policy does with it.
//!
//! Jobs come from a recorded trace, or from a [`Law`] with costs drawn from [`Costs`]. The built-in costs follow the
//! published statistics of the Azure conversation trace (Patel et al., "Splitwise", ISCA 2024): input tokens
//! p50 1020, p99 4142, max 14050; output tokens p50 129, max 1000. Between those points the quantile function is
//! log-linear, which makes sampling one interpolation and the mean a formula; the lower ends (10 and 5 tokens) and
//! the p99 of the output (600) are ours. Input and output are drawn independently, which the real ones are not.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Exp1, StandardNormal};
use serde::Serialize;

use crate::arrivals::{Arrivals, Law};
use crate::num;
use crate::rng::{Source, stream};
use crate::trace::Trace;

/// One request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    /// Arrival, nanoseconds after the start.
    pub at_ns: u64,
    /// Service time on an idle server, nanoseconds.
    pub work_ns: u64,
}

/// What one request costs, where no trace says it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Costs {
    /// Always the same number of units.
    Constant(u64),
    /// Tokens of a conversation, see the [module](self); an output token costs this many input tokens.
    Conversation(u32),
}

/// Points of a quantile function: share of requests, tokens.
type Quantiles = [(f64, f64); 4];
const INPUT_TOKENS: Quantiles = [(0.0, 10.0), (0.5, 1020.0), (0.99, 4142.0), (1.0, 14_050.0)];
const OUTPUT_TOKENS: Quantiles = [(0.0, 5.0), (0.5, 129.0), (0.99, 600.0), (1.0, 1000.0)];

/// The tokens at share `at`, log-linear between the points.
fn quantile(points: &Quantiles, at: f64) -> f64 {
    let above = points.iter().position(|&(share, _)| at < share).unwrap_or(points.len() - 1).max(1);
    let ((low, a), (high, b)) = (points[above - 1], points[above]);
    a * (b / a).powf((at - low) / (high - low))
}

/// The mean over all shares: ∫ a·(b/a)^x dx = (b − a) / ln(b/a) on each piece.
fn mean(points: &Quantiles) -> f64 {
    points
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0) * (pair[1].1 - pair[0].1) / (pair[1].1 / pair[0].1).ln())
        .sum()
}

impl Costs {
    fn mean(self) -> f64 {
        match self {
            Self::Constant(cost) => num::real(cost),
            Self::Conversation(weight) => mean(&INPUT_TOKENS) + f64::from(weight) * mean(&OUTPUT_TOKENS),
        }
    }

    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Constant(cost) => num::real(cost),
            Self::Conversation(weight) => {
                let input = quantile(&INPUT_TOKENS, rng.random());
                let output = quantile(&OUTPUT_TOKENS, rng.random());
                input.round() + f64::from(weight) * output.round()
            }
        }
    }
}

/// How a service time strays from what the cost says. Always with mean 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Not at all.
    Constant,
    /// Exponentially: coefficient of variation 1.
    Exponential,
    /// Log-normally, with this standard deviation of the logarithm.
    LogNormal(f64),
}

impl Noise {
    #[inline]
    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Exponential => rng.sample(Exp1),
            Self::LogNormal(sigma) => {
                let normal: f64 = rng.sample(StandardNormal);
                (sigma * normal - sigma * sigma / 2.0).exp()
            }
        }
    }
}

/// Where jobs come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A recorded trace, replayed this many times as fast as it was recorded.
    Trace {
        /// The recording.
        trace: Arc<Trace>,
        /// Recorded seconds per simulated second.
        speed: f64,
    },
    /// A law.
    Law {
        /// How the rate varies.
        law: Law,
        /// Requests a second at multiple 1.
        base_per_s: f64,
        /// Length of the run, seconds.
        duration_s: f64,
        /// What each request costs.
        costs: Costs,
    },
}

impl Origin {
    /// Mean cost of a request, in units.
    #[must_use]
    pub fn mean_cost(&self) -> f64 {
        match self {
            Self::Trace { trace, .. } => {
                num::real_wide(trace.total_cost()) / num::real(num::count(trace.records.len()))
            }
            Self::Law { costs, .. } => costs.mean(),
        }
    }

    /// Length of the arrivals, seconds.
    #[must_use]
    pub fn span_s(&self) -> f64 {
        match self {
            Self::Trace { trace, speed } => num::seconds(trace.span_ns()) / speed,
            Self::Law { duration_s, .. } => *duration_s,
        }
    }

    /// Requests a second, over the whole run.
    #[must_use]
    pub fn rate_per_s(&self) -> f64 {
        match self {
            Self::Trace { trace, .. } => num::real(num::count(trace.records.len())) / self.span_s(),
            Self::Law { law, base_per_s, duration_s, .. } => base_per_s * law.mean_multiple(*duration_s),
        }
    }
}

/// A recipe for jobs.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Where they come from.
    pub origin: Origin,
    /// Service time of one cost unit, nanoseconds.
    pub unit_ns: u64,
    /// How service times stray.
    pub noise: Noise,
    /// The seed of all chance in it.
    pub seed: u64,
}

impl Workload {
    /// Mean service time on an idle server, seconds.
    #[must_use]
    pub fn mean_service_s(&self) -> f64 {
        self.origin.mean_cost() * num::seconds(self.unit_ns)
    }

    /// The jobs, in arrival order. The same on every call.
    #[must_use]
    pub fn jobs(&self) -> Jobs<'_> {
        let feed = match &self.origin {
            Origin::Trace { trace, speed } => Feed::Trace { records: trace.records.iter(), speed: *speed },
            Origin::Law { law, base_per_s, duration_s, costs } => {
                let rng = stream(self.seed, Source::Arrivals);
                Feed::Law {
                    arrivals: Box::new(Arrivals::new(*law, *base_per_s, *duration_s, rng)),
                    costs: *costs,
                    rng: Box::new(stream(self.seed, Source::Costs)),
                }
            }
        };
        Jobs {
            feed,
            unit_ns: num::real(self.unit_ns),
            noise: self.noise,
            rng: stream(self.seed, Source::Noise),
        }
    }
}

/// Jobs of a [`Workload`], generated one by one.
#[derive(Debug)]
pub struct Jobs<'a> {
    feed: Feed<'a>,
    unit_ns: f64,
    noise: Noise,
    rng: ChaCha8Rng,
}

#[derive(Debug)]
enum Feed<'a> {
    Trace { records: core::slice::Iter<'a, crate::trace::Record>, speed: f64 },
    Law { arrivals: Box<Arrivals>, costs: Costs, rng: Box<ChaCha8Rng> },
}

impl Iterator for Jobs<'_> {
    type Item = Job;

    #[inline]
    fn next(&mut self) -> Option<Job> {
        let (at_ns, cost) = match &mut self.feed {
            Feed::Trace { records, speed } => {
                let record = records.next()?;
                (num::rounded(num::real(record.at_ns) / *speed), num::real(record.cost))
            }
            Feed::Law { arrivals, costs, rng } => (arrivals.next()?, costs.draw(rng)),
        };
        let work_ns = num::rounded(cost * self.unit_ns * self.noise.draw(&mut self.rng));
        Some(Job { at_ns, work_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Options;

    fn by_law(costs: Costs, noise: Noise, seed: u64) -> Workload {
        let origin = Origin::Law { law: Law::Poisson, base_per_s: 100.0, duration_s: 200.0, costs };
        Workload { origin, unit_ns: 1_000, noise, seed }
    }

    fn mean_work_s(workload: &Workload) -> f64 {
        let works: Vec<u64> = workload.jobs().map(|job| job.work_ns).collect();
        num::seconds(works.iter().sum()) / num::real(num::count(works.len()))
    }

    #[test]
    fn drawn_work_has_the_mean_the_formula_says() {
        for noise in [Noise::Constant, Noise::Exponential, Noise::LogNormal(0.8)] {
            let workload = by_law(Costs::Conversation(2), noise, 1);
            let ratio = mean_work_s(&workload) / workload.mean_service_s();
            assert!((ratio - 1.0).abs() < 0.03, "{noise:?}: {ratio}");
        }
    }

    #[test]
    fn the_built_in_costs_go_through_the_published_points() {
        assert!((quantile(&INPUT_TOKENS, 0.5) - 1020.0).abs() < 1e-9);
        assert!((quantile(&INPUT_TOKENS, 0.99) - 4142.0).abs() < 1e-9);
        assert!((quantile(&OUTPUT_TOKENS, 0.5) - 129.0).abs() < 1e-9);
        assert!(quantile(&INPUT_TOKENS, 0.999_999_999) <= 14_050.0);
        assert!(quantile(&OUTPUT_TOKENS, 0.0) >= 5.0);
    }

    #[test]
    fn the_same_seed_gives_the_same_jobs_and_another_seed_others() {
        let jobs = |seed| by_law(Costs::Conversation(2), Noise::Exponential, seed).jobs().collect::<Vec<_>>();
        assert_eq!(jobs(7), jobs(7));
        assert_ne!(jobs(7), jobs(8));
    }

    #[test]
    fn noise_does_not_shift_arrivals() {
        let at = |noise| by_law(Costs::Constant(5), noise, 7).jobs().map(|job| job.at_ns).collect::<Vec<_>>();
        assert_eq!(at(Noise::Constant), at(Noise::Exponential));
    }

    #[test]
    fn a_trace_is_replayed_faster_without_changing_its_work() {
        let text = "arrival_s,tenant,cost\n10,a,3\n14,a,5\n";
        let trace = Arc::new(Trace::read(text.as_bytes(), "t", Options::default()).unwrap());
        let origin = Origin::Trace { trace, speed: 4.0 };
        let workload = Workload { origin, unit_ns: 1_000, noise: Noise::Constant, seed: 0 };
        let jobs: Vec<Job> = workload.jobs().collect();
        assert_eq!(jobs, [Job { at_ns: 0, work_ns: 3_000 }, Job { at_ns: 1_000_000_000, work_ns: 5_000 }]);
        assert!((workload.origin.rate_per_s() - 2.0).abs() < 1e-9);
        assert!((workload.mean_service_s() - 4e-6).abs() < 1e-12);
    }
}
