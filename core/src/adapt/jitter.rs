//! Jitter as an input: where estimators get the factors that keep them from acting in step.
//!
//! Limiters that all probe after the same number of requests probe together, and each then measures the others. So
//! the distance to the next probe is multiplied by a factor drawn anew each time. A core machine draws no random
//! numbers; it asks a [`Jitter`]. The default, [`Steps`], is a fixed sequence that needs no randomness: limiters that
//! are to be out of step are given different seeds.

/// A source of factors in \[0.5, 1).
pub trait Jitter {
    /// The next factor. One outside \[0.5, 1), or `NaN`, is taken as 0.75.
    fn next(&mut self) -> f64;
}

/// The factor to use: what the source says, if it keeps its promise.
pub(super) fn draw(jitter: &mut impl Jitter) -> f64 {
    let factor = jitter.next();
    if (0.5..1.0).contains(&factor) { factor } else { 0.75 }
}

/// The default [`Jitter`]: multiples of the golden ratio modulo 1, which fall evenly over the interval from the first
/// draw on and never repeat in a useful time.
///
/// ```
/// use tollgate::adapt::{Jitter, Steps};
///
/// let mut steps = Steps::new(7);
/// for _ in 0..100 {
///     assert!((0.5..1.0).contains(&steps.next()));
/// }
/// assert_ne!(Steps::new(1).next(), Steps::new(2).next());
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Steps(u64);

impl Steps {
    /// 2^64 divided by the golden ratio, made odd.
    const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

    /// A sequence of its own for each `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(Self::STRIDE).rotate_left(32))
    }
}

impl Jitter for Steps {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(Self::STRIDE);
        // 52 bits are exact in an f64, so the quotient is below 1 and the result below 1.
        let unit = crate::num::to_f64(self.0 >> 12) / 4_503_599_627_370_496.0;
        0.5 + unit / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(f64);
    impl Jitter for Broken {
        fn next(&mut self) -> f64 {
            self.0
        }
    }

    #[test]
    fn a_source_that_breaks_its_promise_is_taken_as_three_quarters() {
        for factor in [f64::NAN, 0.0, 0.49, 1.0, 7.0, f64::INFINITY] {
            assert_eq!(draw(&mut Broken(factor)), 0.75);
        }
        assert_eq!(draw(&mut Broken(0.5)), 0.5);
    }

    #[test]
    fn the_default_steps_fall_evenly() {
        let mut steps = Steps::default();
        let mut sum = 0.0;
        for _ in 0..1000 {
            sum += steps.next();
        }
        assert!((sum - 750.0).abs() < 1.0, "{sum}");
        // The largest state maps to the largest factor, still below 1.
        assert!(Steps(u64::MAX.wrapping_sub(Steps::STRIDE)).next() < 1.0);
    }
}
