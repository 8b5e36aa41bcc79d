//! Counters over windows of time: [`FixedWindow`] and [`SlidingWindow`].
//!
//! **Problem.** Some limits are said as "N in a minute" and meant so: a token bucket of burst N lets nearly 2·N
//! through in a minute that begins after a pause.
//!
//! | | counts | granted in any window of the length | comes back |
//! | --- | --- | --- | --- |
//! | [`FixedWindow`] | per window aligned to an origin | ≤ 2·limit (limit on each side of an edge) | all at the edge |
//! | [`SlidingWindow`] | per slice, `slices` to a window | ≤ limit, strictly | between one window and one window + slice after the grant |
//!
//! A sliding window that knew each grant's instant would need memory for each; slices bound it. The slice a grant
//! fell into is counted until no instant of it is within the window any more, so the limit is never exceeded, and the
//! price is that a token comes back up to one slice late.
//!
//! Both can allow an [overshoot](super::Overshoot): a request that is past the limit, but not by more than the allowed
//! debt, passes if nothing is owed, and what it used beyond the limit locks the window until it is repaid.
//!
//! **Invariants.** **I1** counts only change by grants, charges, refunds and time; **I2** a window's total is the sum of
//! its slices; **I3** a refusal changes nothing but time.
//!
//! **Work** `FixedWindow` O(1), `SlidingWindow` O(slices). **Memory** a few words, and one `u64` a slice.

mod fixed;
mod slices;
mod sliding;

pub use fixed::FixedWindow;
pub use sliding::SlidingWindow;

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests;
