//! One cut per congestion epoch: how deep a drop may cut.
//!
//! When a server falls over, all requests then in flight come back as drops. They are *one* piece of news; a cut for
//! each would take a limit of 100 to nothing at 0.9¹⁰⁰. A drop is news only if its request was admitted after the
//! last cut, under the limit that cut left behind. So a drop cuts iff `started ≥ cut_at`.
//!
//! That alone is not enough where drops are fast: a server that refuses in 0.2 ms while its work takes 10 ms would be
//! cut fifty times in one round trip. So the depth is in proportion to how much of an epoch has passed since the last
//! cut: `min(1, max(k, limit·elapsed/typical) / span)`. `k` requests have finished since; in `elapsed` ns about
//! `limit·elapsed/typical` could have, `typical` ns being a moving average of the round-trip times of successes. `span`
//! requests are an epoch: the limit, a whole turnover, or the length of a round if that is more, so that a small limit
//! is not cut more often than it may be raised. The depth is never 0, so no fresh drop is swallowed, and all cuts of
//! one epoch together are about one whole cut.
//!
//! A drop that *ended* before the last cut, reported after it, shows that the clock went back; it is news, with the
//! depth of `k / span`. Otherwise one wild timestamp would silence every drop after it.
//!
//! Constants: `typical` moves by 1/16 of the difference, a memory of some sixteen requests, in which a service's mean
//! is known to about a quarter; the depth needs no more.
//!
//! Work O(1); memory: three words.

use core::time::Duration;

use crate::adapt::sample::Sample;
use crate::num;
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epoch {
    cut_at: Option<Timestamp>,
    /// Requests finished since the last cut.
    finished: u64,
    /// Moving average of the round-trip time of successes, ns; 0 before the first.
    typical_ns: f64,
}

impl Epoch {
    /// A success ended.
    #[inline]
    pub(super) fn success(&mut self, rtt: Duration) {
        self.finished = self.finished.saturating_add(1);
        let rtt_ns = num::to_f64(num::nanos(rtt));
        self.typical_ns =
            if self.typical_ns > 0.0 { self.typical_ns + (rtt_ns - self.typical_ns) / 16.0 } else { rtt_ns };
    }

    /// A drop ended: how deep to cut, in (0, 1], or `None` if the last cut already answers it. An epoch is `limit`
    /// requests long, and at least `least`.
    pub(super) fn drop(&mut self, sample: &Sample, limit: u32, least: u32) -> Option<f64> {
        self.finished = self.finished.saturating_add(1);
        let now = sample.ended();
        let depth = match self.cut_at {
            None => 1.0,
            Some(cut_at) if sample.started < cut_at && now >= cut_at => return None,
            Some(cut_at) => {
                let elapsed_ns = num::to_f64(num::nanos(now.saturating_since(cut_at)));
                let turned = f64::from(limit) * (elapsed_ns / self.typical_ns.max(1.0));
                let span = f64::from(limit.max(least).max(1));
                (turned.max(num::to_f64(self.finished)) / span).min(1.0)
            }
        };
        self.cut_at = Some(now);
        self.finished = 0;
        Some(depth)
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::adapt::Outcome;

    fn dropped(started_ms: u64, rtt_ms: u64) -> Sample {
        Sample {
            started: Timestamp::from_nanos(started_ms * 1_000_000),
            rtt: Duration::from_millis(rtt_ms),
            in_flight: 1,
            outcome: Outcome::Dropped,
        }
    }

    #[test]
    fn the_first_drop_cuts_fully_and_those_admitted_before_it_do_not() {
        let mut epoch = Epoch::default();
        epoch.success(Duration::from_millis(10));
        assert_eq!(epoch.drop(&dropped(100, 10), 20, 1), Some(1.0));
        assert_eq!(epoch.drop(&dropped(101, 10), 20, 1), None);
        assert_eq!(epoch.drop(&dropped(109, 500), 20, 1), None);
        assert_eq!(epoch.drop(&dropped(110, 10), 20, 1), Some(1.0), "a round trip later: a new epoch");
    }

    #[test]
    fn fast_drops_cut_in_proportion_to_the_time_since_the_last_cut() {
        let mut epoch = Epoch::default();
        epoch.success(Duration::from_millis(10));
        epoch.drop(&dropped(100, 0), 1000, 1);
        assert_eq!(epoch.drop(&dropped(101, 0), 1000, 1), Some(0.1));
        assert_eq!(epoch.drop(&dropped(106, 0), 1000, 1), Some(0.5));
    }

    #[test]
    fn a_small_limit_is_not_cut_more_often_than_a_round() {
        let mut epoch = Epoch::default();
        epoch.success(Duration::from_millis(10));
        epoch.drop(&dropped(100, 10), 4, 32);
        assert_eq!(
            epoch.drop(&dropped(110, 10), 4, 32),
            Some(0.125),
            "a turnover of 4 is an eighth of a round"
        );
        assert_eq!(epoch.drop(&dropped(500, 10), 4, 32), Some(1.0));
    }

    #[test]
    fn with_a_clock_that_stands_a_turnover_is_an_epoch() {
        let mut epoch = Epoch::default();
        epoch.success(Duration::from_millis(10));
        epoch.drop(&dropped(0, 0), 4, 1);
        assert_eq!(epoch.drop(&dropped(0, 0), 4, 1), Some(0.25));
    }

    /// After a cut at 100 ms, a drop at 101 ms tells the average: 1 ms of it is this share of a turnover.
    fn typical_ms(rtts: &[u64]) -> f64 {
        let mut epoch = Epoch::default();
        rtts.iter().for_each(|&rtt| epoch.success(Duration::from_millis(rtt)));
        epoch.drop(&dropped(100, 0), 1000, 1);
        epoch.drop(&dropped(101, 0), 1000, 1).unwrap().recip()
    }

    #[test]
    fn the_typical_round_trip_moves_by_a_sixteenth_of_the_difference() {
        assert!((typical_ms(&[16]) - 16.0).abs() < 1e-9);
        assert!((typical_ms(&[16, 32]) - 17.0).abs() < 1e-9);
        assert!((typical_ms(&[32, 16]) - 31.0).abs() < 1e-9);
        assert!((typical_ms(&[16, 32, 33]) - 18.0).abs() < 1e-9);
        assert!((typical_ms(&[16; 100]) - 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_clock_that_went_back_silences_no_drop() {
        let mut epoch = Epoch::default();
        epoch.drop(&Sample { started: Timestamp::MAX, ..dropped(0, 0) }, 4, 1);
        assert_eq!(epoch.drop(&dropped(5, 5), 4, 1), Some(0.25));
        assert_eq!(epoch.drop(&dropped(20, 5), 4, 1), Some(1.0));
    }
}
