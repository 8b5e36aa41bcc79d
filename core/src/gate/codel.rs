//! Whether a tenant's queue stands or is only a burst: the state behind [`CoDel`].

use super::settings::CoDel;
use crate::num;
use crate::time::Timestamp;

/// What is known of one queue. Starts as a queue that does not stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    interval_ends: Timestamp,
    /// The shortest wait of the interval, nanoseconds; `u64::MAX` before the first.
    shortest_ns: u64,
    stands: bool,
}

impl Standing {
    /// A job's turn has come after it waited `waited_ns`: whether it is to be refused. O(1).
    pub(super) fn refuses(&mut self, codel: &CoDel, now: Timestamp, waited_ns: u64) -> bool {
        let target_ns = num::nanos(codel.target);
        if now >= self.interval_ends {
            // An interval that is long over says nothing about now.
            let recent = now < self.interval_ends.saturating_add(codel.interval);
            self.stands = recent && self.shortest_ns > target_ns;
            self.interval_ends = now.saturating_add(codel.interval);
            self.shortest_ns = waited_ns;
        } else {
            self.shortest_ns = self.shortest_ns.min(waited_ns);
        }
        // One short wait shows that the queue drains.
        self.stands = self.stands && self.shortest_ns > target_ns;
        self.stands && waited_ns > target_ns.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    const CODEL: CoDel = CoDel { target: Duration::from_millis(5), interval: Duration::from_millis(100) };

    fn ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    /// Jobs whose turn comes each 10 ms, after waiting so many milliseconds: the numbers of those refused.
    fn refused(waits_ms: impl IntoIterator<Item = u64>) -> std::vec::Vec<u64> {
        let mut standing = Standing::default();
        let turns = (0..).zip(waits_ms);
        turns
            .filter(|&(turn, wait)| standing.refuses(&CODEL, ms(1_000 + 10 * turn), wait * 1_000_000))
            .map(|(turn, _)| turn)
            .collect()
    }

    #[test]
    fn a_queue_that_waits_for_the_target_and_no_longer_does_not_stand() {
        assert_eq!(refused([5; 10].into_iter().chain([20])), []);
        assert_eq!(refused([6; 10].into_iter().chain([20])), [10]);
        assert_eq!(refused([20; 11].into_iter().chain([5, 20])), [10]);
    }

    #[test]
    fn a_queue_that_stood_for_an_interval_refuses_what_waited_twice_the_target() {
        let waits = [20; 15];
        assert_eq!(refused(waits), [10, 11, 12, 13, 14]);
        assert!(refused([10; 15]).is_empty(), "not more than twice the target");
    }

    #[test]
    fn a_burst_that_drains_within_the_interval_is_left_alone() {
        let draining = (0..40).map(|turn| 60_u64.saturating_sub(10 * (turn % 8)));
        assert!(refused(draining).is_empty());
    }

    #[test]
    fn one_short_wait_ends_it() {
        let mut waits = [20; 15];
        waits[12] = 3;
        assert_eq!(refused(waits), [10, 11]);
    }

    #[test]
    fn an_interval_that_is_long_over_says_nothing() {
        let mut standing = Standing::default();
        for turn in 0..10 {
            assert!(!standing.refuses(&CODEL, ms(10 * turn), 50_000_000));
        }
        assert!(!standing.refuses(&CODEL, ms(60_000), 50_000_000));
    }
}
