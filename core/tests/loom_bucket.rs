//! `AtomicBucket` under every interleaving of a few threads whose clock is itself a racing atomic: a thread may act on a
//! `now` that others have left behind. A model with a frozen clock passed while the product it modelled was 36 times
//! over its quota (BB-SEC-01).
#![cfg(tollgate_loom)]

use core::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use tollgate::Timestamp;
use tollgate::rate::{AtomicBucket, Quota};

/// Two threads twice take a token at whatever time they read while a third moves the clock from one instant to
/// another; answers what was granted.
fn race(quota: Quota, from_ns: u64, to_ns: u64) -> u64 {
    let bucket = Arc::new(AtomicBucket::new(quota).unwrap());
    let clock = Arc::new(AtomicU64::new(from_ns));
    let take = {
        let (bucket, clock) = (Arc::clone(&bucket), Arc::clone(&clock));
        move || {
            let mut granted = 0;
            for _ in 0..2 {
                let now = Timestamp::from_nanos(clock.load(Ordering::Relaxed));
                granted += u64::from(bucket.try_acquire(now, 1).is_ok());
            }
            granted
        }
    };
    let ticker = {
        let clock = Arc::clone(&clock);
        thread::spawn(move || clock.store(to_ns, Ordering::Relaxed))
    };
    let other = thread::spawn(take.clone());
    let granted = take() + other.join().unwrap();
    ticker.join().unwrap();
    granted
}

#[test]
fn racing_clocks_never_grant_more_than_burst_and_rate() {
    // Report 6. One token each 10 ns, burst 1: at most 2 within 10 ns.
    loom::model(|| {
        let granted = race(Quota::new(1, Duration::from_nanos(10)).burst(1), 0, 10);
        assert!((1..=2).contains(&granted), "{granted}");
    });
}

#[test]
fn racing_clocks_with_units_that_are_no_nanoseconds_never_grant_more_either() {
    // Three tokens each 4 ns, burst 2: 1.5 tokens accrue within 2 ns, so at most 3. The start is in the middle of a unit,
    // where the whole burst has to be there and not a token more.
    loom::model(|| {
        let granted = race(Quota::new(3, Duration::from_nanos(4)).burst(2), 1, 3);
        assert!((2..=3).contains(&granted), "{granted}");
    });
}

/// Two threads want two of the last three tokens of a bucket that was already asked for `taken`.
fn race_for_the_last_tokens(taken: u64) {
    let bucket = Arc::new(AtomicBucket::new(Quota::per_second(1).burst(3 + taken)).unwrap());
    bucket.try_acquire(Timestamp::ZERO, taken).unwrap();
    let take = {
        let bucket = Arc::clone(&bucket);
        move || bucket.try_acquire(Timestamp::ZERO, 2).is_ok()
    };
    let other = thread::spawn(take.clone());
    let granted = u32::from(take()) + u32::from(other.join().unwrap());
    assert_eq!(granted, 1);
    assert_eq!(bucket.available(Timestamp::ZERO), 1);
}

#[test]
fn the_last_tokens_of_a_busy_bucket_go_to_one_of_two_racers() {
    loom::model(|| race_for_the_last_tokens(1));
}

#[test]
fn the_last_tokens_of_an_idle_bucket_go_to_one_of_two_racers() {
    // Report 14 (praxis#1116): a compare-exchange of equal values succeeded for everyone.
    loom::model(|| race_for_the_last_tokens(0));
}
