//! A number that changes within a phase: load, slots, slow-down.

use core::f64::consts::TAU;

use crate::num;

/// A number over the time of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wave {
    Constant(f64),
    /// Evenly from one to the other over the whole phase.
    Ramp {
        from: f64,
        to: f64,
    },
    /// High for half a period, then low.
    Square {
        low: f64,
        high: f64,
        period_ns: u64,
    },
    /// Starts in the middle, on its way up.
    Sine {
        low: f64,
        high: f64,
        period_ns: u64,
    },
}

impl Wave {
    /// At `at_ns` of a phase that lasts `length_ns`.
    #[inline]
    pub(super) fn at(self, at_ns: u64, length_ns: u64) -> f64 {
        match self {
            Self::Constant(value) => value,
            Self::Ramp { from, to } => from + (to - from) * num::real(at_ns) / num::real(length_ns.max(1)),
            Self::Square { low, high, period_ns } => {
                if at_ns % period_ns < period_ns / 2 {
                    high
                } else {
                    low
                }
            }
            Self::Sine { low, high, period_ns } => {
                let turn = num::real(at_ns % period_ns) / num::real(period_ns);
                f64::midpoint(low, high) + (high - low) / 2.0 * (turn * TAU).sin()
            }
        }
    }

    /// The same shape, `factor` times as high.
    pub(super) fn times(self, factor: f64) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(value * factor),
            Self::Ramp { from, to } => Self::Ramp { from: from * factor, to: to * factor },
            Self::Square { low, high, period_ns } => {
                Self::Square { low: low * factor, high: high * factor, period_ns }
            }
            Self::Sine { low, high, period_ns } => {
                Self::Sine { low: low * factor, high: high * factor, period_ns }
            }
        }
    }

    /// The least and the greatest.
    pub(super) const fn ends(self) -> (f64, f64) {
        let (one, other) = self.corners();
        (one.min(other), one.max(other))
    }

    /// Both as they were written.
    pub(super) const fn corners(self) -> (f64, f64) {
        match self {
            Self::Constant(value) => (value, value),
            Self::Ramp { from, to } => (from, to),
            Self::Square { low, high, .. } | Self::Sine { low, high, .. } => (low, high),
        }
    }

    /// The instants within a phase at which it jumps, the first of the phase included.
    pub(super) fn jumps(self, length_ns: u64) -> impl Iterator<Item = u64> {
        let step_ns =
            if let Self::Square { period_ns, .. } = self { (period_ns / 2).max(1) } else { u64::MAX };
        core::iter::successors(Some(0), move |at_ns: &u64| at_ns.checked_add(step_ns))
            .take_while(move |&at_ns| at_ns < length_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_goes_evenly_a_square_jumps_and_a_sine_swings() {
        let ramp = Wave::Ramp { from: 1.0, to: 3.0 };
        assert_eq!([0, 50, 100].map(|at| ramp.at(at, 100)), [1.0, 2.0, 3.0]);
        let square = Wave::Square { low: 0.5, high: 2.0, period_ns: 10 };
        assert_eq!([0, 4, 5, 9, 10].map(|at| square.at(at, 100)), [2.0, 2.0, 0.5, 0.5, 2.0]);
        assert_eq!(square.jumps(12).collect::<Vec<_>>(), [0, 5, 10]);
        let sine = Wave::Sine { low: 1.0, high: 3.0, period_ns: 100 };
        assert!((sine.at(25, 1000) - 3.0).abs() < 1e-12 && (sine.at(75, 1000) - 1.0).abs() < 1e-12);
        assert_eq!(ramp.jumps(100).collect::<Vec<_>>(), [0]);
        assert_eq!((ramp.ends(), sine.ends()), ((1.0, 3.0), (1.0, 3.0)));
    }
}
