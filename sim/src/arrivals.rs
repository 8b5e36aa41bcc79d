//! When requests come: laws in virtual time, generated one by one.
//!
//! Every law here is a Poisson process whose rate λ(t) varies by a fixed plan. Such a process is made *exactly* from
//! unit exponentials E₁, E₂, … by time change: the n-th arrival is where the expected count Λ(t) = ∫λ reaches
//! E₁ + … + Eₙ. Λ is piecewise linear for bursts and quadratic for a ramp, so its inverse is a formula, and no
//! arrival costs more than one exponential, one square root and the phases it crosses.
//!
//! | law | λ(t) |
//! | --- | --- |
//! | [`Law::Poisson`] | λ |
//! | [`Law::OnOff`] | λ·high in the first part of each period, λ·low in the rest |
//! | [`Law::Ramp`] | from λ·from to λ·to, in a straight line over the run |
//!
//! Rates are multiples of a base rate, so that one scenario can be offered at any load.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::Exp1;
use serde::Serialize;

use crate::error::SimError;
use crate::num;

/// How the rate varies. Multiples are of the base rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// A constant rate.
    Poisson,
    /// Bursts: `high` for `on_s` seconds, then `low` for `off_s`, again and again.
    OnOff {
        /// Multiple during a burst.
        high: f64,
        /// Multiple between bursts.
        low: f64,
        /// Length of a burst, seconds.
        on_s: f64,
        /// Time between bursts, seconds.
        off_s: f64,
    },
    /// A straight line over the run.
    Ramp {
        /// Multiple at the start.
        from: f64,
        /// Multiple at the end.
        to: f64,
    },
}

impl Law {
    /// Checks the law's numbers.
    ///
    /// # Errors
    /// [`SimError::Setting`]: multiples must be finite and not negative, durations finite and positive, and some
    /// rate must be above zero.
    pub fn check(self) -> Result<(), SimError> {
        let multiple = |name, value: f64| {
            SimError::unless((0.0..=1e6).contains(&value), name, value, "a multiple from 0 to 1000000")
        };
        let duration = |name, value: f64| {
            SimError::unless((1e-3..=1e9).contains(&value), name, value, "seconds from 0.001 to 1e9")
        };
        let some = |name, value: f64| SimError::unless(value > 0.0, name, value, "some rate above 0");
        match self {
            Self::Poisson => Ok(()),
            Self::OnOff { high, low, on_s, off_s } => {
                multiple("burst", high)?;
                multiple("between bursts", low)?;
                duration("burst length", on_s)?;
                duration("time between bursts", off_s)?;
                some("burst", high + low)
            }
            Self::Ramp { from, to } => {
                multiple("ramp start", from)?;
                multiple("ramp end", to)?;
                some("ramp", from + to)
            }
        }
    }

    /// When load that the service may not have recovered from begins and ends, in seconds.
    pub(crate) fn disturbances(self, duration_s: f64) -> Vec<(f64, f64)> {
        let Self::OnOff { on_s, off_s, .. } = self else { return Vec::new() };
        let starts = (0..10_000_u32).map(|burst| f64::from(burst) * (on_s + off_s));
        starts.map(|start| (start, start + on_s)).take_while(|&(_, end)| end < duration_s).collect()
    }

    /// Expected arrivals in `0..at_s` at base rate 1, and so the time change itself.
    fn expected(self, at_s: f64, duration_s: f64) -> f64 {
        match self {
            Self::Poisson => at_s,
            Self::OnOff { high, low, on_s, off_s } => {
                let periods = (at_s / (on_s + off_s)).floor();
                let into = at_s - periods * (on_s + off_s);
                periods * (high * on_s + low * off_s) + high * into.min(on_s) + low * (into - on_s).max(0.0)
            }
            Self::Ramp { from, to } => from * at_s + (to - from) * at_s * at_s / (2.0 * duration_s),
        }
    }

    /// The mean multiple over a run.
    #[must_use]
    pub fn mean_multiple(self, duration_s: f64) -> f64 {
        self.expected(duration_s, duration_s) / duration_s
    }

    /// The instant, in seconds, at which [`expected`](Self::expected) reaches `count`. May lie beyond the run.
    fn reached(self, count: f64, duration_s: f64) -> f64 {
        match self {
            Self::Poisson => count,
            Self::OnOff { high, low, on_s, off_s } => {
                let period = high * on_s + low * off_s;
                let periods = (count / period).floor();
                let rest = count - periods * period;
                let into = if rest < high * on_s { rest / high } else { on_s + (rest - high * on_s) / low };
                // Between bursts at rate 0 nothing comes: the end of the burst itself is 0 / 0 then.
                let into = if into.is_finite() { into } else { on_s + off_s };
                periods * (on_s + off_s) + into
            }
            Self::Ramp { from, to } => {
                let slope = (to - from) / duration_s;
                // The stable root of from·t + slope·t²/2 = count; none if a falling rate never gets there.
                let root = from * from + 2.0 * slope * count;
                if root < 0.0 { f64::INFINITY } else { 2.0 * count / (from + root.sqrt()) }
            }
        }
    }
}

/// Arrival instants of a law, in order, until the run ends.
#[derive(Clone, Debug)]
pub struct Arrivals {
    law: Law,
    base_per_s: f64,
    duration_s: f64,
    /// Expected count up to the last arrival: the sum of the exponentials so far, divided by the base rate.
    reached: f64,
    /// `None` for arrivals that come evenly.
    rng: Option<ChaCha8Rng>,
}

impl Arrivals {
    /// `base_per_s` arrivals a second at multiple 1, for `duration_s` seconds.
    #[must_use]
    pub const fn new(law: Law, base_per_s: f64, duration_s: f64, rng: ChaCha8Rng) -> Self {
        Self { law, base_per_s, duration_s, reached: 0.0, rng: Some(rng) }
    }

    /// The same without chance: the n-th comes where n − ½ are expected, so the first after half a gap.
    #[must_use]
    pub const fn evenly(law: Law, base_per_s: f64, duration_s: f64) -> Self {
        Self { law, base_per_s, duration_s, reached: -0.5 / base_per_s, rng: None }
    }
}

impl Iterator for Arrivals {
    /// Nanoseconds after the start.
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let step: f64 = self.rng.as_mut().map_or(1.0, |rng| rng.sample(Exp1));
        self.reached += step / self.base_per_s;
        let at_s = self.law.reached(self.reached, self.duration_s);
        (at_s < self.duration_s).then(|| num::nanos(at_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Source, stream};

    fn arrivals(law: Law, seed: u64) -> Vec<f64> {
        Arrivals::new(law, 100.0, 100.0, stream(seed, Source::Arrivals)).map(num::seconds).collect()
    }

    fn between(times: &[f64], from: f64, to: f64) -> f64 {
        num::real(num::count(times.iter().filter(|&&at| (from..to).contains(&at)).count()))
    }

    /// Within five standard deviations of a Poisson count: wrong once in two million fair tests, and the seed is
    /// fixed.
    fn assert_count(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 5.0 * expected.sqrt(), "{found} arrivals, expected {expected}");
    }

    #[test]
    fn poisson_arrivals_come_at_their_rate_and_with_unit_variation() {
        let times = arrivals(Law::Poisson, 1);
        assert_count(between(&times, 0.0, 100.0), 10_000.0);
        assert_count(between(&times, 20.0, 40.0), 2_000.0);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let n = num::real(num::count(gaps.len()));
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.05,
            "coefficient of variation {}",
            variance.sqrt() / mean
        );
    }

    #[test]
    fn bursts_come_at_the_high_rate_and_the_rest_at_the_low_one() {
        let law = Law::OnOff { high: 3.0, low: 0.5, on_s: 2.0, off_s: 8.0 };
        let times = arrivals(law, 2);
        let burst: f64 =
            (0..10).map(|k| between(&times, f64::from(k) * 10.0, f64::from(k) * 10.0 + 2.0)).sum();
        assert_count(burst, 10.0 * 2.0 * 300.0);
        assert_count(between(&times, 0.0, 100.0) - burst, 10.0 * 8.0 * 50.0);
        assert!((law.mean_multiple(100.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn arrivals_without_chance_come_evenly_from_half_a_gap_on() {
        let times: Vec<u64> = Arrivals::evenly(Law::Poisson, 4.0, 1.0).collect();
        assert_eq!(times, [125_000_000, 375_000_000, 625_000_000, 875_000_000]);
        let ramp: Vec<f64> =
            Arrivals::evenly(Law::Ramp { from: 0.0, to: 2.0 }, 1.0, 4.0).map(num::seconds).collect();
        let expected = [0.5_f64, 1.5, 2.5, 3.5].map(|count| (4.0 * count).sqrt());
        assert!(ramp.iter().zip(expected).all(|(at, expected)| (at - expected).abs() < 1e-6), "{ramp:?}");
    }

    #[test]
    fn nothing_comes_between_bursts_at_rate_zero() {
        let law = Law::OnOff { high: 1.0, low: 0.0, on_s: 5.0, off_s: 5.0 };
        let times = arrivals(law, 3);
        assert_count(between(&times, 0.0, 100.0), 5_000.0);
        assert!(times.iter().all(|at| at % 10.0 <= 5.0 + 1e-6));
    }

    #[test]
    fn a_ramp_rises_in_a_straight_line() {
        let law = Law::Ramp { from: 0.0, to: 2.0 };
        let times = arrivals(law, 4);
        assert_count(between(&times, 0.0, 50.0), 2_500.0);
        assert_count(between(&times, 50.0, 100.0), 7_500.0);
        let falling = arrivals(Law::Ramp { from: 2.0, to: 0.0 }, 4);
        assert_count(between(&falling, 0.0, 50.0), 7_500.0);
        assert_count(between(&falling, 50.0, 100.0), 2_500.0);
    }

    #[test]
    fn arrivals_are_in_order_and_the_same_for_the_same_seed() {
        for law in [Law::Poisson, Law::OnOff { high: 2.0, low: 0.0, on_s: 0.5, off_s: 0.1 }] {
            let times = arrivals(law, 5);
            assert!(times.is_sorted());
            assert_eq!(times, arrivals(law, 5));
            assert_ne!(times, arrivals(law, 6));
        }
    }

    #[test]
    fn a_law_with_impossible_numbers_is_refused() {
        assert!(Law::Ramp { from: 0.0, to: 0.0 }.check().is_err());
        assert!(Law::Ramp { from: f64::NAN, to: 1.0 }.check().is_err());
        assert!(Law::OnOff { high: -1.0, low: 2.0, on_s: 1.0, off_s: 1.0 }.check().is_err());
        assert!(Law::OnOff { high: 1.0, low: 0.0, on_s: 0.0, off_s: 1.0 }.check().is_err());
        assert!(Law::OnOff { high: 1.0, low: 0.0, on_s: 1.0, off_s: 1.0 }.check().is_ok());
    }

    #[test]
    fn each_burst_that_ends_within_the_run_is_a_disturbance() {
        let law = Law::OnOff { high: 3.0, low: 0.5, on_s: 2.0, off_s: 8.0 };
        assert_eq!(law.disturbances(22.0), [(0.0, 2.0), (10.0, 12.0)]);
        assert!(Law::Poisson.disturbances(22.0).is_empty());
    }
}
