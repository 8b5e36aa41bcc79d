use core::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering as StdOrdering};
use core::time::Duration;
use std::sync::Arc;

use super::*;

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn bucket(quota: Quota) -> AtomicBucket {
    AtomicBucket::new(quota).unwrap()
}

/// Tokens granted one by one up to `until`, always asking at `retry_at`.
fn saturate(bucket: &AtomicBucket, cost: u64, until: u64) -> u64 {
    let (mut now, mut granted) = (0, 0);
    while now <= until {
        match bucket.try_acquire(at(now), cost) {
            Ok(()) => granted += cost,
            Err(refused) => now = refused.retry_at.unwrap().as_nanos(),
        }
    }
    granted
}

#[test]
fn a_refused_caller_is_granted_exactly_at_retry_at() {
    for rate in [1, 3, 7, 999_983, 600_000_000, 999_999_937, 1_000_000_000] {
        let bucket = bucket(Quota::per_second(rate).burst(5));
        bucket.try_acquire(at(12_345), 5).unwrap();
        let retry_at = bucket.try_acquire(at(12_345), 2).unwrap_err().retry_at.unwrap();
        assert!(bucket.peek(at(retry_at.as_nanos() - 1), 2).is_err(), "{rate}/s");
        assert!(bucket.try_acquire(retry_at, 2).is_ok(), "{rate}/s");
    }
}

#[test]
fn the_whole_burst_is_there_at_the_start_and_after_any_idle_time() {
    // Reports 11 (BB-COR-05), bucket4j#51.
    for rate in [1, 3, 999_983, 600_000_000] {
        for idle in [0, 1, 12 * 3_600 * 1_000_000_000, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let bucket = bucket(Quota::per_second(rate).burst(50));
            assert_eq!(bucket.available(at(0)), 50);
            bucket.try_acquire(at(0), 50).unwrap();
            if idle > 50_u64.saturating_mul(1_000_000_000) {
                assert_eq!(bucket.available(at(idle)), 50, "{rate}/s after {idle} ns");
                assert!(bucket.try_acquire(at(idle), 50).is_ok(), "{rate}/s after {idle} ns");
                assert!(bucket.try_acquire(at(idle), 1).is_err());
            }
        }
    }
}

#[test]
fn the_whole_burst_can_be_taken_one_by_one_at_one_instant_and_no_more() {
    for rate in [1, 3, 300, 999_983, 600_000_000, 999_999_937, 1_000_000_000] {
        for start in [0, 1, 77_777_777, 50_000_000_077_777, 1 << 62] {
            let bucket = bucket(Quota::per_second(rate).burst(50));
            for left in (1..=50).rev() {
                assert_eq!(bucket.available(at(start)), left, "{rate}/s at {start}");
                bucket.peek(at(start), 1).unwrap();
                bucket.try_acquire(at(start), 1).unwrap();
            }
            assert_eq!(bucket.available(at(start)), 0);
            let retry_at = bucket.try_acquire(at(start), 1).unwrap_err().retry_at.unwrap();
            let waited = u128::from(retry_at.as_nanos() - start) * u128::from(rate);
            assert!(waited >= 1_000_000_000, "{rate}/s at {start}: {waited}");
            assert!(waited <= 1_000_000_000 + 3 * u128::from(rate), "{rate}/s at {start}: {waited}");
            assert!(bucket.peek(at(retry_at.as_nanos() - 1), 1).is_err());
            bucket.peek(retry_at, 1).unwrap();
        }
    }
}

#[test]
fn the_whole_burst_can_be_taken_one_by_one_at_the_very_instant_it_has_accrued_again() {
    for quota in [Quota::per_second(999_999_937).burst(9), Quota::per_second(3).burst(9)] {
        let (bucket, mut now) = (bucket(quota), at(1_000_000_007));
        for round in 0..20 {
            for taken in 0..9 {
                assert_eq!(bucket.available(now), 9 - taken, "round {round}");
                assert_eq!(bucket.try_acquire(now, 1), Ok(()), "round {round}, {taken} taken");
            }
            now = bucket.try_acquire(now, 9).unwrap_err().retry_at.unwrap();
        }
    }
}

#[test]
fn who_loses_a_race_for_a_busy_bucket_does_not_move_its_start() {
    let bucket = bucket(Quota::per_second(999_999_937).burst(9));
    bucket.try_acquire(at(1_000), 5).unwrap();
    let started = bucket.started.load(Ordering::Relaxed);
    bucket.decide(bucket.units.at(at(1_002)), 1).unwrap();
    assert_eq!(bucket.started.load(Ordering::Relaxed), started);
    assert_eq!(bucket.available(at(1_002)), 4);
}

#[test]
fn the_long_run_rate_is_the_quota_and_never_above_it() {
    // governor: 6·10⁸/s ran at 10⁹/s. Spec: ≥ 1 − 10⁻⁶ up to 10⁶/s, ≥ 1 − 10⁻³ up to 10⁹/s; here it is exact.
    for rate in [7_u64, 999, 999_983, 1_000_000, 333_333_333, 600_000_000, 999_999_937, 1_000_000_000] {
        let bucket = bucket(Quota::per_second(rate).burst(10));
        let until = (200_000 * 1_000_000_000 / rate).max(1_000);
        let granted = saturate(&bucket, 1, until);
        let exact = u128::from(rate) * u128::from(until) / 1_000_000_000 + 10;
        assert!(u128::from(granted) <= exact, "{rate}/s: {granted} of {exact}");
        assert!(u128::from(granted) + 1 >= exact, "{rate}/s: {granted} of {exact}");
    }
}

#[test]
fn above_a_token_a_nanosecond_costs_are_rounded_up_and_never_down() {
    let quota = Quota::new(2_500, Duration::from_nanos(1_000)).burst(3_000);
    let bucket = bucket(quota);
    let granted = saturate(&bucket, 1_500, 1_000_000);
    assert!(granted <= 3_000 + 2_500 * 1_000);
    assert!(granted >= 2_500 * 1_000 * 999 / 1_000, "{granted}");
    assert!(AtomicBucket::new(Quota::new(2_500, Duration::from_nanos(1_000)).burst(2)).is_err());
}

#[test]
fn a_burst_of_no_whole_number_of_units_is_rounded_down_and_never_promises_what_cannot_pass() {
    // 7 tokens are more than 2 units of 3, and were told an instant at which they did not pass either.
    let bucket = bucket(Quota::new(5, Duration::from_nanos(2)).burst(7));
    assert_eq!((bucket.capacity(), bucket.available(at(0))), (6, 6));
    let refused = bucket.try_acquire(at(9), 7).unwrap_err();
    assert_eq!((refused.reason, refused.retry_at), (Reason::ExceedsCapacity, None));
    assert!(bucket.try_acquire(at(9), 6).is_ok());
}

#[test]
fn a_cost_above_the_burst_can_never_pass_whatever_it_multiplies_to() {
    // Report 1: governor's product wrapped below the tolerance.
    let bucket = bucket(Quota::per_hour(1).burst(10));
    for cost in [11, 5_124_097, (1 << 31) + 1, u64::MAX] {
        let refused = bucket.try_acquire(at(0), cost).unwrap_err();
        assert_eq!((refused.reason, refused.retry_at), (Reason::ExceedsCapacity, None));
    }
}

#[test]
fn quotas_that_cannot_be_counted_are_refused_with_every_reason() {
    assert!(AtomicBucket::new(Quota::new(1, Duration::from_secs(1)).burst(u64::MAX)).is_err());
    assert!(AtomicBucket::new(Quota::new(1, Duration::from_nanos(u64::MAX))).is_err());
    assert!(AtomicBucket::new(Quota::per_second(u64::MAX)).is_ok());
    let error = AtomicBucket::new(Quota::new(0, Duration::ZERO).burst(0)).unwrap_err();
    assert_eq!(error.violations().len(), 3);
}

#[test]
fn a_stale_clock_can_only_refuse() {
    // Report 6 (BB-SEC-01, TN-001: 36 to 527 times the quota).
    let bucket = bucket(Quota::per_second(1_000).burst(10));
    let late = at(50_000_000);
    bucket.try_acquire(late, 10).unwrap();
    for now in [0, 1, 49_999_999] {
        assert!(bucket.try_acquire(at(now), 1).is_err());
    }
    assert_eq!(bucket.available(at(51_000_000)), 1);
}

#[test]
fn every_grant_changes_the_word() {
    // Report 14 (praxis#1116): a compare-exchange of equal values succeeded for everyone.
    let bucket = bucket(Quota::per_second(600_000_000).burst(4));
    let mut before = bucket.word.load(Ordering::Relaxed);
    for now in [0, 0, 1, 100, 100] {
        bucket.try_acquire(at(now), 1).unwrap();
        let after = bucket.word.load(Ordering::Relaxed);
        assert!(after > before);
        before = after;
    }
}

#[test]
fn a_changed_quota_keeps_what_is_consumed() {
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    let now = at(3_600_000_000_000);
    bucket.try_acquire(now, 4).unwrap();
    bucket.set_quota(now, Quota::per_second(999_983).burst(20), Inherit::AsIs).unwrap();
    assert!(matches!(bucket.available(now), 15 | 16), "{}", bucket.available(now));
    bucket.set_quota(now, Quota::per_second(10).burst(10), Inherit::Reset).unwrap();
    assert_eq!(bucket.available(now), 10);
    bucket.try_acquire(now, 5).unwrap();
    bucket.set_quota(now, Quota::per_second(10).burst(20), Inherit::Proportional).unwrap();
    assert_eq!(bucket.available(now), 10);
}

#[test]
fn threads_with_racing_clocks_never_exceed_burst_and_rate() {
    let bucket = Arc::new(bucket(Quota::per_second(1_000_000).burst(100)));
    let clock = Arc::new(StdAtomicU64::new(0));
    let granted: u64 = std::thread::scope(|scope| {
        let threads: std::vec::Vec<_> = (0..4)
            .map(|_| {
                let (bucket, clock) = (Arc::clone(&bucket), Arc::clone(&clock));
                scope.spawn(move || {
                    let mut granted = 0;
                    for _ in 0..50_000 {
                        let now = clock.fetch_add(17, StdOrdering::Relaxed);
                        granted += u64::from(bucket.try_acquire(at(now), 1).is_ok());
                    }
                    granted
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let elapsed = clock.load(StdOrdering::Relaxed);
    assert!(granted <= 100 + elapsed / 1_000, "{granted} in {elapsed} ns");
}

#[test]
fn the_bucket_is_one_cache_line() {
    assert_eq!((size_of::<AtomicBucket>(), align_of::<AtomicBucket>()), (64, 64));
}
