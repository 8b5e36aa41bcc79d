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

/// Rounded to the nearest whole number into `0..=u64::MAX`; negatives and `NaN` are 0.
#[inline]
pub(crate) fn rounded(value: f64) -> u64 {
    value.round() as u64
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
