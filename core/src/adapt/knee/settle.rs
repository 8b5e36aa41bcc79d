//! Settling: which samples are thrown away after the limit changed, and why.
//!
//! The first completions after a rise are the short ones, for the long ones are still under way; after a cut the old
//! queue still drains. A baseline learnt from either is wrong by a third or a half. So, after a change that matters,
//! everything is discarded until a sample comes that was *started* after the change; then another 1.5 limits' worth
//! if the limit was raised, or as many as the server works on at once if it was lowered.
//!
//! A clock that stands still or went back shows no such sample. Patience therefore ends after four times as many
//! samples as the greater of the limits before and after.

use crate::adapt::sample::Sample;
use crate::num;
use crate::time::Timestamp;

/// Samples that patience has on top of a multiple of the limit.
const LEAST: u32 = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct Settle {
    since: Timestamp,
    /// Nothing started after the change has come yet.
    waiting: bool,
    /// Samples to discard once something did.
    left: u32,
    /// Samples to wait for it.
    patience: u32,
}

impl Settle {
    /// Discards the first `samples`, as at the start.
    pub(super) const fn first(samples: u32) -> Self {
        Self { since: Timestamp::ZERO, waiting: false, left: samples, patience: 0 }
    }

    /// The limit was changed at `now`, from `old` to `new` permits, with a server that works on `capacity` at once.
    pub(super) fn changed(now: Timestamp, old: u32, new: u32, capacity: f64) -> Self {
        let left =
            if new > old { num::trunc_i32(1.5 * f64::from(new)) } else { num::trunc_i32(capacity).min(new) };
        let patience = old.max(new).saturating_add(LEAST).saturating_mul(4);
        Self { since: now, waiting: true, left, patience }
    }

    /// Whether it is over.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        !self.waiting && self.left == 0
    }

    /// When the limit was changed.
    pub(super) const fn since(&self) -> Timestamp {
        self.since
    }

    /// One sample to discard.
    pub(super) fn discard(&mut self, sample: &Sample, now: Timestamp) {
        if self.waiting {
            self.patience = self.patience.saturating_sub(1);
            // A sample that ended before the change but is told of after it shows that the clock went back.
            self.waiting = sample.started <= self.since && now >= self.since && self.patience > 0;
        } else {
            self.left = self.left.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::adapt::Outcome;

    /// How many samples that start and end so many ns after the epoch are discarded.
    fn discarded(mut settle: Settle, started: u64, ended: u64) -> u32 {
        let rtt = Duration::from_nanos(ended - started);
        let started = Timestamp::from_nanos(started);
        let sample = Sample { started, rtt, in_flight: 1, outcome: Outcome::Success };
        let mut count = 0;
        while !settle.is_over() {
            settle.discard(&sample, sample.ended());
            count += 1;
        }
        count
    }

    fn changed(old: u32, new: u32) -> Settle {
        Settle::changed(Timestamp::from_nanos(100), old, new, 8.5)
    }

    #[test]
    fn after_a_rise_one_and_a_half_limits_are_discarded_and_after_a_cut_what_is_in_service() {
        assert_eq!(discarded(Settle::first(7), 0, 1), 7);
        // And the first sample that was started after the change.
        assert_eq!(discarded(changed(10, 20), 101, 110), 31);
        assert_eq!(discarded(changed(40, 20), 101, 110), 9);
        assert_eq!(discarded(changed(40, 4), 101, 110), 5);
        assert_eq!(discarded(changed(20, 20), 101, 110), 9, "a probe of the same limit is no rise");
    }

    #[test]
    fn nothing_that_was_started_before_the_change_or_at_it_ends_the_wait() {
        let mut settle = changed(40, 20);
        for started in [0, 50, 100] {
            let started = Timestamp::from_nanos(started);
            let sample =
                Sample { started, rtt: Duration::from_nanos(200), in_flight: 1, outcome: Outcome::Success };
            settle.discard(&sample, sample.ended());
            assert_eq!(settle.left, 8);
        }
    }

    #[test]
    fn a_clock_that_stands_still_ends_patience_and_one_that_went_back_needs_none() {
        assert_eq!(discarded(changed(40, 20), 100, 100), 4 * (40 + 32) + 8);
        assert_eq!(discarded(changed(40, 20), 3, 5), 9);
    }
}
