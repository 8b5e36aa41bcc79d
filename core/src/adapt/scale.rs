//! Thresholds and steps that grow with the limit, in permits.
//!
//! Ten requests in a queue are much at a limit of 10 and nothing at 1000. So what counts as a queue, and how far one
//! step goes, is a function of the limit: constant, logarithmic (the references) or by its square root (a mean over a
//! limit's worth of requests scatters by about the root of the limit, so nothing finer can be told from noise).
//!
//! Source: `Log10RootFunction` and `SquareRootFunction` of Netflix concurrency-limits, for limits from 0 on. Their
//! tables treat 0 as 1, so does this.

/// A number of permits as a function of the limit.
///
/// ```
/// use tollgate::adapt::Scale;
///
/// assert_eq!(Scale::Fixed(4).at(1000), 4);
/// assert_eq!(Scale::Log10 { times: 3 }.at(999), 6);
/// assert_eq!(Scale::Sqrt { times: 1, at_least: 4 }.at(100), 10);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Scale {
    /// Always the same.
    Fixed(u32),
    /// `times` · max(1, ⌊log10 limit⌋).
    Log10 {
        /// The multiple.
        times: u32,
    },
    /// `times` · max(1, ⌊√limit⌋), or `at_least` if that is more.
    Sqrt {
        /// The multiple.
        times: u32,
        /// The smallest value, permits.
        at_least: u32,
    },
}

impl Scale {
    /// The value at a limit, permits; saturates. O(1).
    #[must_use]
    pub const fn at(self, limit: u32) -> u32 {
        match self {
            Self::Fixed(value) => value,
            Self::Log10 { times } => {
                let log = match limit.checked_ilog10() {
                    Some(log) if log > 1 => log,
                    _ => 1,
                };
                times.saturating_mul(log)
            }
            Self::Sqrt { times, at_least } => {
                let root = if limit == 0 { 1 } else { limit.isqrt() };
                let value = times.saturating_mul(root);
                if value < at_least { at_least } else { value }
            }
        }
    }
}

/// How a limit goes down when the delay says so.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decrease {
    /// By a number of permits.
    By(Scale),
    /// To this share of itself, in (0, 1).
    Times(f64),
    /// By this share, in (0, 1\], of the queue above what is allowed, and by one permit at least.
    Excess(f64),
}

impl Decrease {
    /// The lowered estimate; `excess` is the queue above what is allowed, in permits.
    pub(super) fn apply(self, estimate: f64, excess: f64) -> f64 {
        match self {
            Self::By(scale) => estimate - f64::from(scale.at(crate::num::trunc_i32(estimate))),
            Self::Times(ratio) => estimate * ratio,
            Self::Excess(share) => {
                let step = share * excess;
                estimate - if step > 1.0 { step } else { 1.0 }
            }
        }
    }

    pub(super) fn is_sound(self) -> bool {
        match self {
            Self::By(_) => true,
            Self::Times(ratio) => ratio > 0.0 && ratio < 1.0,
            Self::Excess(share) => share > 0.0 && share <= 1.0,
        }
    }

    pub(super) const fn given(self) -> f64 {
        match self {
            Self::By(_) => 0.0,
            Self::Times(number) | Self::Excess(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_never_below_one() {
        let log = Scale::Log10 { times: 1 };
        let got = [0, 1, 9, 10, 99, 100, 999, 1000, u32::MAX].map(|limit| log.at(limit));
        assert_eq!(got, [1, 1, 1, 1, 1, 2, 2, 3, 9]);
    }

    #[test]
    fn the_root_is_floored_and_never_below_its_least_value() {
        let root = Scale::Sqrt { times: 2, at_least: 5 };
        assert_eq!([0, 1, 8, 9, 15, 16].map(|limit| root.at(limit)), [5, 5, 5, 6, 6, 8]);
        assert_eq!(Scale::Sqrt { times: 1, at_least: 0 }.at(0), 1);
        assert_eq!(Scale::Sqrt { times: u32::MAX, at_least: 0 }.at(u32::MAX), u32::MAX);
    }

    #[test]
    fn a_share_that_would_not_lower_the_limit_or_end_it_is_not_sound_and_is_told() {
        for (share, times, excess) in [
            (f64::NAN, false, false),
            (-0.5, false, false),
            (0.0, false, false),
            (f64::MIN_POSITIVE, true, true),
            (0.999, true, true),
            (1.0, false, true),
            (1.001, false, false),
        ] {
            assert_eq!(Decrease::Times(share).is_sound(), times, "{share}");
            assert_eq!(Decrease::Excess(share).is_sound(), excess, "{share}");
        }
        assert!(Decrease::By(Scale::Fixed(1)).is_sound());
        let given = [Decrease::Times(0.3), Decrease::Excess(0.7), Decrease::By(Scale::Fixed(9))];
        assert_eq!(given.map(Decrease::given), [0.3, 0.7, 0.0]);
    }

    #[test]
    fn a_decrease_by_excess_goes_down_by_one_permit_at_least() {
        assert_eq!(Decrease::Excess(0.5).apply(100.0, 40.0), 80.0);
        assert_eq!(Decrease::Excess(0.5).apply(100.0, 0.0), 99.0);
        assert_eq!(Decrease::Times(0.5).apply(100.0, 40.0), 50.0);
        assert_eq!(Decrease::By(Scale::Log10 { times: 1 }).apply(100.0, 40.0), 98.0);
    }
}
