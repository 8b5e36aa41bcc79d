//! What all limits have in common: their bounds, and the minimum and maximum the references use.

use crate::error::Rules;

/// The references publish an `i32`.
const MOST: u32 = 2_147_483_647;

/// States the rules for `initial`, `min` and `max`. `loose` states only that each can be published: the references
/// warn about the rest, and the first update clamps.
pub(super) fn state_rules(rules: &mut Rules, initial: u32, min: u32, max: u32, loose: bool) {
    if loose {
        let most = initial.max(min).max(max);
        rules.require(most <= MOST, "initial, min, max", most, "at most 2147483647 permits each");
        return;
    }
    rules.require(max <= MOST, "max", max, "at most 2147483647 permits");
    rules.require(min >= 1 && min <= max, "min", min, "1 to max permits");
    rules.require(initial >= min && initial <= max, "initial", initial, "min to max permits");
}

/// States that `smoothing` is in (0, 1].
pub(super) fn state_smoothing(rules: &mut Rules, smoothing: f64) {
    rules.require(smoothing > 0.0 && smoothing <= 1.0, "smoothing", smoothing, "above 0 and at most 1");
}

/// The lesser, or `NaN` if either is: `f64::min` drops it, the references hand it on.
pub(super) fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

/// The greater, or `NaN` if either is.
pub(super) fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// `max(least, min(most, value))`: where the bounds cross, `least` wins.
pub(super) fn clamp(value: f64, least: u32, most: u32) -> f64 {
    max(f64::from(least), min(f64::from(most), value))
}

/// What is left of an estimate within other bounds; the initial limit, if it is no number.
pub(super) fn within(estimate: f64, initial: u32, least: u32, most: u32) -> f64 {
    clamp(if estimate.is_finite() { estimate } else { f64::from(initial) }, least, most)
}

/// Asserts what every estimator of ours promises: the limit within its bounds, the estimate within them and finite.
pub(super) fn check(estimate: f64, limit: u32, least: u32, most: u32) {
    assert!(limit >= least && limit <= most, "I1: limit {limit} is not in {least}..={most}");
    let within = estimate >= f64::from(least) && estimate <= f64::from(most);
    assert!(within, "I2: estimate {estimate} is not in {least}..={most}");
    assert!(f64::from(limit) <= estimate, "I1: limit {limit} above the estimate {estimate}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_handed_on_from_either_side() {
        for result in [min(f64::NAN, 1.0), min(1.0, f64::NAN), max(f64::NAN, 1.0), max(1.0, f64::NAN)] {
            assert!(result.is_nan());
        }
        assert_eq!((min(1.0, 2.0), max(1.0, 2.0)), (1.0, 2.0));
    }

    #[test]
    #[should_panic(expected = "I2")]
    fn an_estimate_below_its_bounds_is_an_error_of_ours() {
        check(1.5, 2, 2, 9);
    }

    #[test]
    #[should_panic(expected = "I1")]
    fn a_limit_above_its_bounds_is_an_error_of_ours() {
        check(10.0, 10, 2, 9);
    }

    #[test]
    fn the_lower_bound_wins_where_bounds_cross() {
        assert_eq!(clamp(50.0, 20, 10), 20.0);
        assert_eq!(clamp(5.0, 1, 10), 5.0);
    }
}
