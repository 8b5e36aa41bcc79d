//! Laws of service times: how long a request takes when it is served alone, as a multiple of the base.
//!
//! All but the bimodal law have mean 1, so a plan's base *is* the mean service time.
//!
//! | law | draw | coefficient of variation |
//! | --- | --- | --- |
//! | constant | 1 | 0 |
//! | lognormal σ | exp(σZ − σ²/2) | √(exp σ² − 1): 0.2 for the law "low", 0.95 for 0.8 |
//! | exponential | E | 1 |
//! | pareto | m·U^(−1/α), α 1.5, cut at 100 m | about 2 |
//! | bimodal | fast, or slow with a probability | as it comes |
//!
//! The mean of a Pareto variable on m to h·m is m · α/(α−1) · (1 − h^(1−α)) / (1 − h^(−α)); with α = 1.5 and
//! h = 100 that is 2.7027 m.
//!
//! *Lucky* requests, a small share, take a part of what they would: a hit in a cache. They are no part of the mean.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// A law of service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Constant,
    Exponential,
    LogNormal {
        sigma: f64,
    },
    Pareto,
    Bimodal {
        fast: f64,
        slow: f64,
    },
    /// From a trace, not drawn: see [`recorded`](super::recorded).
    Recorded,
}

const PARETO_ALPHA: f64 = 1.5;
const PARETO_CUT: f64 = 100.0;

impl Law {
    /// Mean multiple of the base; `slow_share` is of the bimodal law.
    pub(super) fn mean(self, slow_share: f64) -> f64 {
        match self {
            Self::Bimodal { fast, slow } => fast + (slow - fast) * slow_share,
            _ => 1.0,
        }
    }

    /// A multiple of the base.
    #[inline]
    pub(super) fn draw(self, slow_share: f64, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Constant | Self::Recorded => 1.0,
            Self::Exponential => Exp1.sample(rng),
            Self::LogNormal { sigma } => {
                let normal: f64 = StandardNormal.sample(rng);
                (sigma * normal - sigma * sigma / 2.0).exp()
            }
            Self::Pareto => {
                let least = 1.0 / pareto_mean();
                // By inversion of the law that is cut: U from the cut's own tail to 1.
                let tail = PARETO_CUT.powf(-PARETO_ALPHA);
                let u: f64 = tail + (1.0 - tail) * (1.0 - rng.random::<f64>());
                least * u.powf(-1.0 / PARETO_ALPHA)
            }
            Self::Bimodal { fast, slow } => {
                if rng.random::<f64>() < slow_share {
                    slow
                } else {
                    fast
                }
            }
        }
    }
}

/// Mean of the truncated Pareto law with least value 1.
fn pareto_mean() -> f64 {
    let (alpha, cut) = (PARETO_ALPHA, PARETO_CUT);
    alpha / (alpha - 1.0) * (1.0 - cut.powf(1.0 - alpha)) / (1.0 - cut.powf(-alpha))
}

#[cfg(test)]
mod tests {
    use super::super::chance::{Purpose, stream};
    use super::*;

    #[test]
    fn every_law_has_the_mean_it_states() {
        let laws = [
            (Law::Constant, 1e-12),
            (Law::Exponential, 0.01),
            (Law::LogNormal { sigma: 0.2 }, 0.01),
            (Law::LogNormal { sigma: 0.8 }, 0.01),
            (Law::Pareto, 0.02),
            (Law::Bimodal { fast: 0.05, slow: 5.0 }, 0.02),
        ];
        for (law, error) in laws {
            let mut rng = stream(1, Purpose::Work);
            let total: f64 = (0..200_000).map(|_| law.draw(0.12, &mut rng)).sum();
            let mean = total / 200_000.0;
            assert!((mean / law.mean(0.12) - 1.0).abs() <= error, "{law:?}: {mean}");
        }
    }

    #[test]
    fn a_pareto_draw_stays_between_its_least_and_a_hundred_times_that() {
        let mut rng = stream(2, Purpose::Work);
        let draws: Vec<f64> = (0..100_000).map(|_| Law::Pareto.draw(0.0, &mut rng)).collect();
        let (least, most) = draws.iter().fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        assert!((0.37..0.371).contains(&least) && (10.0..37.01).contains(&most), "{least} {most}");
    }
}
