//! The laws of [`AtomicBucket`], against the exact [`TokenBucket`] and by themselves.
//!
//! A *unit* is what a nanosecond (or two) lets accrue. Where a unit is exactly a nanosecond, the two buckets are
//! equal. Elsewhere the atomic one is behind by less than two units: one for rounding the start of a busy period
//! up, one for its multiplication by a reciprocal. Two units are at most four nanoseconds.
#![cfg(not(tollgate_loom))]

mod common;

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Barrier;

use common::{at, cases, inherit, quota};
use proptest::prelude::*;
use tollgate::Reason;
use tollgate::rate::{AtomicBucket, Inherit, Quota, TokenBucket};
use tollgate_model::bucket::{Answer, Bucket, Inherit as ModelInherit, Policy, Quota as ModelQuota};
use tollgate_model::ops::{self, RateOp, Regime, Step};

/// Tokens to a unit: a unit is more than one token above a token a nanosecond.
fn grain(quota: ModelQuota) -> u64 {
    quota.tokens.div_ceil(quota.per_ns)
}

/// The quota whose exact bucket the atomic one imitates, its burst a whole number of units.
fn imitated(first: ModelQuota) -> ModelQuota {
    ModelQuota { burst: first.burst / grain(first) * grain(first), ..first }
}

/// Whether a unit is exactly a nanosecond.
const fn unit_is_a_nanosecond(quota: ModelQuota) -> bool {
    quota.per_ns.is_multiple_of(quota.tokens) || quota.tokens.is_multiple_of(quota.per_ns)
}

/// A quota and a run on a clock that only goes forward.
fn forward_runs() -> impl Strategy<Value = (ModelQuota, Vec<(Step, u64)>)> {
    let run = |regime| {
        let op = (ops::forward(regime), ops::cost(regime));
        (ops::quota(regime), prop::collection::vec(op, 1..60)).boxed()
    };
    prop_oneof![2 => run(Regime::Small), 3 => run(Regime::Real), 1 => run(Regime::Extreme)]
}

/// A quota and a run on any clock.
fn any_runs() -> impl Strategy<Value = (ModelQuota, Vec<(Step, u64)>)> {
    let run = |regime| {
        let op = (ops::step(regime), ops::cost(regime));
        (ops::quota(regime), prop::collection::vec(op, 1..60)).boxed()
    };
    prop_oneof![2 => run(Regime::Small), 3 => run(Regime::Real), 2 => run(Regime::Extreme)]
}

/// `sum` tokens in `ns` nanoseconds are at most burst + rate · time.
fn lawful(sum: u128, ns: u64, quota: ModelQuota) -> bool {
    let Some(beyond) = sum.checked_sub(u128::from(quota.burst)) else { return true };
    // beyond / tokens ≤ ns / per, in whole numbers that fit: ⌈beyond · per / tokens⌉ ≤ ns.
    let (tokens, per) = (u128::from(quota.tokens), u128::from(quota.per_ns));
    let (whole, rest) = (beyond / tokens, beyond % tokens);
    let Some(needed) = whole.checked_mul(per) else { return false };
    needed.saturating_add((rest * per).div_ceil(tokens)) <= u128::from(ns)
}

proptest! {
    #![proptest_config(cases(600))]

    /// Reports 1, 7, 9, 11, governor#203, redis-cell#13: never more than the exact bucket, and less by under two
    /// units.
    #[test]
    fn it_grants_what_the_exact_bucket_grants_or_at_most_two_units_later((first, run) in forward_runs()) {
        let Ok(atomic) = AtomicBucket::new(quota(first)) else { return Ok(()) };
        let (first, grain) = (imitated(first), grain(first));
        prop_assert_eq!(atomic.capacity(), first.burst);
        let mut exact = TokenBucket::new(quota(first)).unwrap();
        let (mut now, mut retry_at) = (0, None);
        // The atomic clock stands still in the last burst of its life.
        let end = u64::MAX / 2 - 4;
        for (step, cost) in run {
            now = step.apply(now, retry_at).max(now).min(end);
            let rounded = cost.div_ceil(grain).saturating_mul(grain);
            let expected = exact.peek(at(now), rounded);
            prop_assert!(atomic.available(at(now)) <= exact.available(at(now)) / grain * grain);
            match atomic.try_acquire(at(now), cost) {
                Ok(()) => {
                    prop_assert!(exact.try_acquire(at(now), rounded).is_ok(), "{cost} at {now}");
                }
                Err(refused) if refused.reason == Reason::ExceedsCapacity => {
                    prop_assert!(cost > first.burst);
                }
                Err(refused) => {
                    prop_assert!(cost <= first.burst);
                    let Some(told) = refused.retry_at else { continue };
                    let told = told.as_nanos();
                    retry_at = Some(told);
                    let from = expected.map_or_else(|exact| exact.retry_at.unwrap().as_nanos(), |()| now);
                    if unit_is_a_nanosecond(first) {
                        prop_assert!(expected.is_err() && told == from, "{told} ns, exactly {from} ns");
                    } else {
                        prop_assert!(from <= told && told <= from.saturating_add(4), "{told} ns, exactly {from} ns");
                    }
                }
            }
        }
    }

    /// Reports 9 (ratelimit, redis-cell#56, tower-governor#65) and 3: `retry_at` is exact and `available` is what
    /// passes, on any clock; peek, a refusal and a cost of 0 write nothing.
    #[test]
    fn a_refused_caller_is_granted_exactly_at_retry_at_on_any_clock((first, run) in any_runs()) {
        let Ok(bucket) = AtomicBucket::new(quota(first)) else { return Ok(()) };
        let (mut now, mut retry_at) = (0, None);
        for (step, cost) in run {
            now = step.apply(now, retry_at);
            let left = bucket.available(at(now));
            if left > 0 {
                prop_assert!(bucket.peek(at(now), left).is_ok());
            }
            prop_assert!(left == u64::MAX || bucket.peek(at(now), left + 1).is_err());
            let before = format!("{bucket:?}");
            let looked = bucket.peek(at(now), cost);
            prop_assert_eq!(&before, &format!("{bucket:?}"));
            let answer = bucket.try_acquire(at(now), cost);
            prop_assert_eq!(looked, answer);
            prop_assert_eq!(before != format!("{bucket:?}"), answer.is_ok() && cost > 0, "report 14 (praxis#1116)");
            let Err(refused) = answer else { continue };
            retry_at = refused.retry_at.map(|at| at.as_nanos());
            match refused.retry_at {
                Some(told) => {
                    prop_assert!(told.as_nanos() > now);
                    prop_assert!(bucket.peek(told, cost).is_ok());
                    prop_assert!(bucket.peek(at(told.as_nanos() - 1), cost).is_err());
                }
                None => prop_assert!(bucket.peek(at(u64::MAX), cost).is_err()),
            }
        }
    }

    /// Reports 2, 5, 6 and golang/go#56287, governor#219, #249: whatever the clock does, what was granted at
    /// instants of any interval is at most burst + rate · its length.
    #[test]
    fn no_interval_of_any_clock_sees_more_than_burst_and_rate((first, run) in any_runs()) {
        let Ok(bucket) = AtomicBucket::new(quota(first)) else { return Ok(()) };
        let (mut now, mut retry_at) = (0, None);
        let mut grants = vec![];
        for (step, cost) in run {
            now = step.apply(now, retry_at);
            match bucket.try_acquire(at(now), cost) {
                Ok(()) => grants.push((now, cost)),
                Err(refused) => retry_at = refused.retry_at.map(|at| at.as_nanos()),
            }
        }
        for &(from, _) in &grants {
            for &(until, _) in grants.iter().filter(|(until, _)| *until >= from) {
                let within = grants.iter().filter(|(at, _)| (from..=until).contains(at));
                let sum = within.map(|&(_, cost)| u128::from(cost)).sum();
                prop_assert!(lawful(sum, until - from, imitated(first)), "{sum} from {from} to {until}");
            }
        }
    }

    /// Reports 4, 8: never more than an exact bucket whose quota changed with it and that rounds nothing.
    #[test]
    fn a_changed_quota_keeps_the_balance_and_credits_nothing_of_the_past(
        (first, run) in forward_runs(),
        changes in prop::collection::vec((ops::quota(Regime::Small), 0..3_usize), 1..4),
    ) {
        let Ok(mut atomic) = AtomicBucket::new(quota(first)) else { return Ok(()) };
        let mut exact = Bucket::new(imitated(first), Policy::default());
        let (mut now, mut retry_at, mut coarse) = (0, None, grain(first));
        let every = run.len() / (changes.len() + 1) + 1;
        let mut changes = changes.into_iter();
        for (number, (step, cost)) in run.into_iter().enumerate() {
            now = step.apply(now, retry_at).max(now).min(u64::MAX / 4);
            if number % every == every - 1
                && let Some((new, how)) = changes.next()
            {
                let how = [ModelInherit::AsIs, ModelInherit::Proportional, ModelInherit::Reset][how];
                if atomic.set_quota(at(now), quota(new), inherit(how)).is_ok() {
                    exact.set_quota(now, imitated(new), how);
                    coarse = grain(new);
                    if how == ModelInherit::Reset {
                        prop_assert_eq!(atomic.available(at(now)), imitated(new).burst);
                    }
                }
            }
            prop_assert!(atomic.available(at(now)) <= exact.available(now));
            match atomic.try_acquire(at(now), cost) {
                Ok(()) => {
                    let rounded = cost.div_ceil(coarse) * coarse;
                    prop_assert_eq!(exact.answer(now, rounded), Answer::Pass, "{} at {}", cost, now);
                    exact.take(now, rounded);
                }
                Err(refused) => retry_at = refused.retry_at.map(|at| at.as_nanos()),
            }
        }
    }

    /// Report 1 (governor wrapped): nothing in the range of the types panics, and no cost above the capacity passes.
    #[test]
    fn no_input_panics_or_wraps(
        (first, run) in any_runs(),
        changes in prop::collection::vec(ops::requota(Regime::Extreme), 0..4),
    ) {
        let Ok(mut bucket) = AtomicBucket::new(quota(first)) else { return Ok(()) };
        let mut changes = changes.into_iter();
        let mut now = 0;
        for (number, (step, cost)) in run.into_iter().enumerate() {
            now = step.apply(now, None);
            let answer = bucket.try_acquire(at(now), cost);
            prop_assert!(answer.is_err() || cost <= bucket.capacity());
            let _ = (bucket.peek(at(cost), now), bucket.available(at(cost)));
            if number % 12 == 11
                && let Some(RateOp::SetQuota(new, how)) = changes.next()
            {
                let _refused = bucket.set_quota(at(now), quota(new), inherit(how));
            }
        }
    }
}

#[test]
fn the_balance_after_a_change_is_less_by_under_a_token_and_some_nanoseconds() {
    for (rate, tokens) in [(7, 3), (999_983, 500), (600_000_000, 999), (1_000_000_000, 1_000)] {
        for next in [1, 7, 1_000, 999_983, 600_000_000, 1_000_000_000] {
            let mut bucket = AtomicBucket::new(Quota::per_second(rate).burst(1_000)).unwrap();
            let now = at(3_600_000_000_000);
            bucket.try_acquire(now, tokens).unwrap();
            bucket.set_quota(now, Quota::per_second(next).burst(1_000), Inherit::AsIs).unwrap();
            let left = bucket.available(now);
            assert!(left <= 1_000 - tokens && left + 4 >= 1_000 - tokens, "{left} at {next}/s");
        }
    }
}

/// Report 6 (BB-SEC-01: 36 to 527 times the quota): a clock that one thread moves, others read, sleep on and use.
#[test]
fn threads_that_act_on_stale_clocks_never_exceed_burst_and_rate() {
    for rate in [1_000_000, 999_983, 600_000_000, 1_000_000_001] {
        let quota = ModelQuota { tokens: rate, per_ns: 1_000_000_000, burst: 100 };
        let bucket = AtomicBucket::new(common::quota(quota)).unwrap();
        let clock = AtomicU64::new(0);
        let start = Barrier::new(4);
        let granted: u128 = std::thread::scope(|scope| {
            let work = |seed: u64| {
                let (bucket, clock, start) = (&bucket, &clock, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut granted = 0_u128;
                    for number in 0..30_000_u64 {
                        let now = if number % 3 == seed % 3 {
                            clock.fetch_add(seed * 13 + number % 29, Ordering::Relaxed)
                        } else {
                            clock.load(Ordering::Relaxed)
                        };
                        if number % 64 == seed {
                            std::thread::yield_now();
                        }
                        let cost = 1 + number % 3;
                        if bucket.try_acquire(at(now), cost).is_ok() {
                            granted += u128::from(cost);
                        }
                    }
                    granted
                })
            };
            let threads: Vec<_> = (1..=4).map(work).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let elapsed = clock.load(Ordering::Relaxed);
        assert!(lawful(granted, elapsed, quota), "{granted} in {elapsed} ns at {rate}/s");
        assert!(granted >= 100, "{granted} at {rate}/s");
    }
}

#[test]
fn the_long_run_rate_is_the_quota_at_every_rate() {
    // Spec: at least 1 − 1e-6 up to 1e6/s and 1 − 1e-3 up to 1e9/s.
    for rate in ops::RATES_PER_SECOND.into_iter().filter(|&rate| rate <= 1_000_000_000) {
        let bucket = AtomicBucket::new(Quota::new(rate, Duration::from_secs(1)).burst(10)).unwrap();
        let until = 20_000 * 1_000_000_000_u64 / rate;
        let (mut now, mut granted) = (0, 0_u64);
        while now <= until {
            match bucket.try_acquire(at(now), 1) {
                Ok(()) => granted += 1,
                Err(refused) => {
                    let told = refused.retry_at.unwrap().as_nanos();
                    assert!(told > now, "told {told} ns at {now} ns");
                    now = told;
                }
            }
        }
        let exact = u128::from(rate) * u128::from(until) / 1_000_000_000 + 10;
        let granted = u128::from(granted);
        assert!(granted <= exact && granted + 2 >= exact, "{granted} of {exact} at {rate}/s");
    }
}
