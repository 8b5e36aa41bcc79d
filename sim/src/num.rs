//! The casts of the simulator, each named for what it does.
//!
//! Virtual time and counts are integers; floats appear where a law of chance or a ratio needs them, and every way
//! between the two goes through here.
#![allow(clippy::as_conversions)]

/// Nanoseconds in a second.
pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// The nearest `f64`.
#[inline]
pub(crate) const fn real(value: u64) -> f64 {
    value as f64
}

/// The nearest `f64`.
#[inline]
pub(crate) const fn real_wide(value: u128) -> f64 {
    value as f64
}

/// Rounded to the nearest whole number into `0..=u64::MAX`, halves up; negatives and `NaN` are 0.
#[inline]
pub(crate) const fn rounded(value: f64) -> u64 {
    // Not `round`, which is a call where the processor is not known to have it. The rest is exact: below 2^53 a
    // difference of neighbours, and above there is none.
    let whole = value as u64;
    whole.saturating_add((value - whole as f64 >= 0.5) as u64)
}

/// Seconds of nanoseconds.
#[inline]
pub(crate) const fn seconds(ns: u64) -> f64 {
    real(ns) / real(NS_PER_S)
}

/// Nanoseconds of seconds, nearest.
#[inline]
pub(crate) fn nanos(seconds: f64) -> u64 {
    rounded(seconds * real(NS_PER_S))
}

/// An index. Lossless: no target of ours has pointers under 32 bits.
#[inline]
pub(crate) const fn index(value: u32) -> usize {
    value as usize
}

/// A length, as the machines count.
#[inline]
pub(crate) const fn count(value: usize) -> u64 {
    value as u64
}

/// A length as an index of 32 bits; `u32::MAX` where it does not fit.
#[inline]
pub(crate) const fn index_u32(value: usize) -> u32 {
    if value as u64 > u32::MAX as u64 { u32::MAX } else { value as u32 }
}

/// The value, or `u64::MAX` where it does not fit.
#[inline]
pub(crate) const fn narrow(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

/// The index of the quantile `per_mille` of `count` values in order: the least one that at least so many thousandths of
/// them do not exceed.
#[inline]
pub(crate) const fn quantile_index(count: usize, per_mille: usize) -> usize {
    count.saturating_mul(per_mille).div_ceil(1000).saturating_sub(1)
}

/// The value, or `u32::MAX` where it does not fit.
#[inline]
pub(crate) const fn clamp_u32(value: u64) -> u32 {
    if value > u32::MAX as u64 { u32::MAX } else { value as u32 }
}

/// The upper 64 bits.
#[inline]
pub(crate) const fn high(value: u128) -> u64 {
    (value >> 64) as u64
}

/// The lowest 32 bits.
#[inline]
pub(crate) const fn low(value: u128) -> u32 {
    value as u32
}

/// The value as an index, or the greatest index where it does not fit.
#[inline]
pub(crate) const fn narrow_index(value: u128) -> usize {
    if value > usize::MAX as u128 { usize::MAX } else { value as usize }
}

/// Rounded down into `0..=u32::MAX`; negatives and `NaN` are 0.
#[inline]
pub(crate) const fn floor_u32(value: f64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn halves_are_rounded_up_and_what_is_no_number_of_nanoseconds_is_none() {
        for value in [0.0, 0.49999999999999994, 0.5, 1.5, 2.4999, 1e9 + 0.5, 4503599627370495.5, 1e17, 1e30] {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
        assert_eq!([-0.6, -1e30, f64::NAN, f64::NEG_INFINITY].map(rounded), [0; 4]);
        assert_eq!(rounded(f64::INFINITY), u64::MAX);
    }
}
