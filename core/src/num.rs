//! Exact integer arithmetic, and the only `as` casts of the core.
//!
//! Everything a machine computes is exact or says which way it rounds. Products of two `u64` are taken in `u128`;
//! a `u128` times a `u64` divided by a `u64` goes through 192 bits. Each cast that could lose something is named
//! for what it does, so a reader never has to ask whether an `as` in a machine truncates.
#![allow(clippy::as_conversions)]

use core::num::NonZeroU64;
use core::time::Duration;

/// `duration` in nanoseconds, `u64::MAX` if it is longer than 584 years.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

/// Lossless.
#[inline]
pub(crate) const fn widen(value: u64) -> u128 {
    value as u128
}

/// The value, or `u64::MAX` if it does not fit.
#[inline]
pub(crate) const fn narrow(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

/// The value, or `i64::MAX` if it does not fit.
#[inline]
pub(crate) const fn clamp_i64(value: u64) -> i64 {
    if value > i64::MAX as u64 { i64::MAX } else { value as i64 }
}

/// The value, or `u32::MAX` if it does not fit.
#[inline]
pub(crate) const fn clamp_u32(value: u64) -> u32 {
    if value > u32::MAX as u64 { u32::MAX } else { value as u32 }
}

/// Lossless.
#[inline]
pub(crate) const fn from_u32(value: u32) -> u64 {
    value as u64
}

/// The lower 8 bits.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) const fn low_u8(value: usize) -> u8 {
    value as u8
}

/// The lower 32 bits.
#[inline]
pub(crate) const fn low_u32(value: u64) -> u32 {
    value as u32
}

/// The exact product of two `u64`.
#[inline]
pub(crate) const fn product(a: u64, b: u64) -> u128 {
    // Cannot overflow: (2^64 − 1)² < 2^128.
    (a as u128).wrapping_mul(b as u128)
}

/// The upper half of the product: ⌊a·b / 2^64⌋.
#[inline]
pub(crate) const fn product_high(a: u64, b: u64) -> u64 {
    (product(a, b) >> 64) as u64
}

/// ⌊2⁶⁴·part / whole⌋ for part < whole < 2^128 / 2, the fraction as 64 bits after the point.
pub(crate) fn reciprocal(part: u128, whole: core::num::NonZeroU128) -> u64 {
    let (mut rest, mut bits) = (part, 0_u64);
    for _ in 0..64 {
        // part < whole ≤ 2^127, so doubling cannot overflow.
        rest = rest.wrapping_shl(1);
        bits = bits.wrapping_shl(1);
        if rest >= whole.get() {
            rest = rest.wrapping_sub(whole.get());
            bits |= 1;
        }
    }
    bits
}

/// ⌈value / divisor⌉, exact. A hardware division where both fit in 64 bits.
#[inline]
pub(crate) fn div_ceil(value: u128, divisor: NonZeroU64) -> u128 {
    if value >> 64 == 0 {
        let value = value as u64;
        let quotient = value / divisor;
        return (quotient as u128).wrapping_add(u128::from(value % divisor != 0));
    }
    let divisor = core::num::NonZeroU128::from(divisor);
    let quotient = value / divisor;
    // The quotient is below u128::MAX here unless the divisor is 1, and then there is no remainder.
    quotient.wrapping_add(u128::from(value % divisor != 0))
}

/// ⌈value / divisor⌉, exact; a divisor of 0 counts as 1. A hardware division where both fit in 64 bits.
pub(crate) fn div_ceil_wide(value: u128, divisor: u128) -> u128 {
    if value >> 64 == 0
        && let Ok(divisor) = u64::try_from(divisor)
    {
        return div_ceil(value, NonZeroU64::new(divisor).unwrap_or(NonZeroU64::MIN));
    }
    let divisor = core::num::NonZeroU128::new(divisor).unwrap_or(core::num::NonZeroU128::MIN);
    (value / divisor).wrapping_add(u128::from(value % divisor != 0))
}

/// ⌈value·factor / divisor⌉ through 192 bits, or `u128::MAX` if the result does not fit.
pub(crate) fn mul_div_ceil(value: u128, factor: u64, divisor: NonZeroU64) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    // value·factor = high·2^64 + low, long division by `divisor` in base 2^64.
    let low_product = (value & LOW).wrapping_mul(factor as u128);
    let high = (value >> 64).wrapping_mul(factor as u128).wrapping_add(low_product >> 64);
    let wide = core::num::NonZeroU128::from(divisor);
    let (quotient_high, remainder) = (high / wide, high % wide);
    let rest = (remainder << 64) | (low_product & LOW);
    let (quotient_low, remainder) = (rest / wide, rest % wide);
    if quotient_high > LOW {
        return u128::MAX;
    }
    ((quotient_high << 64) | quotient_low).saturating_add(u128::from(remainder != 0))
}

/// Greatest common divisor.
pub(crate) fn gcd(a: NonZeroU64, b: NonZeroU64) -> NonZeroU64 {
    let (mut greater, mut rest) = (a, b.get());
    while let Some(divisor) = NonZeroU64::new(rest) {
        rest = greater.get() % divisor;
        greater = divisor;
    }
    greater
}

/// The number of a reason, counted from 0 as they are declared.
#[inline]
pub(crate) const fn discriminant(reason: crate::error::Reason) -> usize {
    reason as usize
}

/// An index as a number of slots. Lossless: no target of ours has pointers under 32 bits.
#[inline]
pub(crate) const fn index(value: u32) -> usize {
    value as usize
}

/// A number of slots as an index, `u32::MAX` if there are more.
#[inline]
pub(crate) const fn index_u32(value: usize) -> u32 {
    if value as u64 > u32::MAX as u64 { u32::MAX } else { value as u32 }
}

/// A number of things in memory. Lossless: no target of ours has pointers over 64 bits.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) const fn count(value: usize) -> u64 {
    value as u64
}

/// value modulo divisor, as an index. Lossless for the tables of this crate, whose sizes are `u32`.
#[inline]
pub(crate) fn remainder(value: u64, divisor: NonZeroU64) -> usize {
    (value % divisor) as usize
}

/// The nearest `f64`.
#[inline]
pub(crate) const fn to_f64(value: u64) -> f64 {
    value as f64
}

/// Truncated towards zero into `0..=i32::MAX`, `NaN` and negatives as 0: what the references publish.
#[inline]
pub(crate) const fn trunc_i32(value: f64) -> u32 {
    let truncated = value as i32;
    if truncated < 0 { 0 } else { truncated as u32 }
}

/// Truncated towards zero into `0..=u64::MAX`, `NaN` as 0.
#[inline]
pub(crate) const fn trunc_u64(value: f64) -> u64 {
    value as u64
}

/// ⌈value⌉ as an `i32`, saturating: `f64::ceil` is not in `core`.
#[inline]
pub(crate) const fn ceil_i32(value: f64) -> i32 {
    let truncated = value as i32;
    if (truncated as f64) < value { truncated.saturating_add(1) } else { truncated }
}

/// The same 32 bits read as signed: how a reference reads a count past 2^31.
#[inline]
pub(crate) const fn as_i32(value: u32) -> i32 {
    value as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nz(value: u64) -> NonZeroU64 {
        NonZeroU64::new(value).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_the_last_value_that_does() {
        // `Duration::MAX` would tell nothing: its lower 64 bits are all set.
        assert_eq!(nanos(Duration::from_nanos(u64::MAX) + Duration::from_nanos(1)), u64::MAX);
        assert_eq!(nanos(Duration::from_nanos(u64::MAX - 1)), u64::MAX - 1);
        assert_eq!(narrow(1 << 64), u64::MAX);
        assert_eq!(clamp_i64(1 << 63), i64::MAX);
        assert_eq!(clamp_i64(u64::MAX), i64::MAX);
        assert_eq!(clamp_u32(1 << 32), u32::MAX);
        assert_eq!(index_u32(1 << 32), u32::MAX);
        assert_eq!(index_u32(5), 5);
    }

    #[test]
    fn div_ceil_wide_is_exact_for_divisors_of_any_width() {
        let wide = 1_u128 << 64;
        assert_eq!(div_ceil_wide(10, 3), 4);
        assert_eq!(div_ceil_wide(10, 0), 10);
        assert_eq!(div_ceil_wide(5 * wide, wide), 5);
        assert_eq!(div_ceil_wide(5 * wide + 1, wide), 6);
        assert_eq!(div_ceil_wide(wide, 2 * wide), 1);
        assert_eq!(div_ceil_wide(u128::MAX, 0), u128::MAX);
    }

    #[test]
    fn div_ceil_is_exact_on_both_paths() {
        assert_eq!(div_ceil(0, nz(3)), 0);
        assert_eq!(div_ceil(9, nz(3)), 3);
        assert_eq!(div_ceil(10, nz(3)), 4);
        assert_eq!(div_ceil(u128::from(u64::MAX), nz(1)), u128::from(u64::MAX));
        assert_eq!(div_ceil(u128::MAX, nz(1)), u128::MAX);
        assert_eq!(div_ceil(u128::MAX, nz(2)), 1 << 127);
    }

    #[test]
    fn mul_div_ceil_goes_through_192_bits() {
        assert_eq!(mul_div_ceil(u128::MAX, 7, nz(7)), u128::MAX);
        assert_eq!(mul_div_ceil(1 << 127, 4, nz(8)), 1 << 126);
        assert_eq!(mul_div_ceil(1 << 127, 4, nz(1)), u128::MAX);
        assert_eq!(mul_div_ceil(u128::MAX - 1, 1, nz(1)), u128::MAX - 1);
        assert_eq!(mul_div_ceil(10, 1, nz(3)), 4);
        assert_eq!(mul_div_ceil(u128::from(u64::MAX), u64::MAX, nz(u64::MAX)), u128::from(u64::MAX));
    }

    #[test]
    fn a_reciprocal_is_the_fraction_rounded_down() {
        let whole = |value| core::num::NonZeroU128::new(value).unwrap();
        assert_eq!(reciprocal(1, whole(2)), 1 << 63);
        assert_eq!(reciprocal(1, whole(3)), u64::MAX / 3);
        assert_eq!(reciprocal(u128::from(u64::MAX) - 1, whole(u128::from(u64::MAX))), u64::MAX - 1);
    }

    #[test]
    fn gcd_of_a_second_and_a_rate() {
        assert_eq!(gcd(nz(1_000_000_000), nz(3)).get(), 1);
        assert_eq!(gcd(nz(1_000_000_000), nz(1_000_000)).get(), 1_000_000);
        assert_eq!(gcd(nz(u64::MAX), nz(u64::MAX)).get(), u64::MAX);
    }

    #[test]
    fn float_casts_follow_the_references() {
        assert_eq!(trunc_i32(f64::NAN), 0);
        assert_eq!(trunc_i32(-1.5), 0);
        assert_eq!(trunc_i32(1e300), 2_147_483_647);
        assert_eq!(ceil_i32(6.000_000_000_000_001), 7);
        assert_eq!(ceil_i32(6.0), 6);
        assert_eq!(ceil_i32(-0.5), 0);
        assert_eq!(ceil_i32(1e300), i32::MAX);
    }
}
