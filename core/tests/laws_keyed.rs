//! The laws of [`Keyed`], against a table that forgets nobody by itself, and of [`ShardedKeyed`] beside it.
//!
//! Where a unit is a nanosecond every answer is the oracle's; for any quota, whatever a key is granted its own exact
//! bucket, kept for it alone and never forgotten, would have granted too.
#![cfg(all(feature = "std", not(tollgate_loom)))]

mod common;

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Barrier;

use common::{at, cases, inherit, quota};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::rate::{Keyed, Quota, ShardedKeyed, WhenFull};
use tollgate::{DefaultHasher, Reason};
use tollgate_model::bucket::{Answer, Bucket, Inherit as ModelInherit, Policy, Quota as ModelQuota};
use tollgate_model::keyed::{Keyed as Oracle, Verdict};
use tollgate_model::ops::{self, Regime, Step};

const KEYS: u64 = 10;

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64),
    Charge(u64),
    Forget,
}

fn ops(regime: Regime) -> impl Strategy<Value = Vec<(Step, u64, Op)>> {
    let op = prop_oneof![
        8 => ops::cost(regime).prop_map(Op::Acquire),
        1 => ops::cost(regime).prop_map(Op::Charge),
        1 => Just(Op::Forget),
    ];
    prop::collection::vec((ops::step(regime), 0..KEYS, op), 1..70)
}

fn when_full() -> impl Strategy<Value = WhenFull> {
    prop_oneof![Just(WhenFull::Refuse), Just(WhenFull::Overflow)]
}

/// Quotas whose tokens take whole nanoseconds.
fn even_quotas() -> impl Strategy<Value = ModelQuota> {
    (1..4_u64, 1..30_u64, 1..12_u64).prop_map(|(tokens, ns, burst)| ModelQuota {
        tokens,
        per_ns: tokens * ns,
        burst,
    })
}

/// Tokens to a unit, and the quota whose exact bucket the word imitates, its burst a whole number of units.
fn grain(quota: ModelQuota) -> (u64, ModelQuota) {
    let grain = quota.tokens.div_ceil(quota.per_ns);
    (grain, ModelQuota { burst: quota.burst / grain * grain, ..quota })
}

/// At most as many keys as the hand looks at for one newcomer, so that `Full` says that nobody had recovered.
fn play(first: ModelQuota, capacity: u32, when_full: WhenFull, run: &[(Step, u64, Op)]) -> TestCaseResult {
    let hasher = DefaultHasher::new();
    let mut table = Keyed::<u64>::with_hasher(quota(first), capacity, when_full, hasher.clone()).unwrap();
    let sharded = ShardedKeyed::<u64>::with_hasher(quota(first), capacity, when_full, 1, hasher).unwrap();
    let mut oracle = Oracle::new(first, capacity as usize, when_full == WhenFull::Overflow);
    let (mut clock, mut retry_at, mut refused_before) = (0, None, 0);
    for &(step, key, op) in run {
        clock = step.apply(clock, retry_at);
        let now = oracle.observe(clock);
        let (before, looked) = (oracle.clone(), table.peek(at(clock), &key, 1));
        let verdict = match op {
            Op::Acquire(cost) => {
                let answer = table.try_acquire(at(clock), &key, cost);
                prop_assert_eq!(answer, sharded.try_acquire(at(clock), &key, cost));
                if cost == 1 {
                    prop_assert_eq!(answer, looked);
                }
                Some((cost, answer))
            }
            Op::Charge(cost) => {
                let charged = table.charge(at(clock), &key, cost);
                prop_assert_eq!(charged, sharded.charge(at(clock), &key, cost));
                sync(&mut oracle, &table, now, key)?;
                prop_assert_eq!(charged.is_ok(), cost == 0 || oracle.take(now, key, cost));
                None
            }
            Op::Forget => {
                let dropped = table.forget_recovered(at(clock));
                prop_assert_eq!(u64::from(dropped), sharded.forget_recovered(at(clock)));
                prop_assert_eq!(dropped as usize, oracle.recovered(now));
                None
            }
        };
        sync(&mut oracle, &table, now, key)?;
        if let Some((cost, answer)) = verdict {
            // What was asked of a key that was held, and dropped only after it was answered, was asked of it.
            let expected = if before.holds(key) { &before } else { &oracle }.answer(now, key, cost);
            match answer {
                Ok(()) => {
                    prop_assert_eq!(expected, Verdict::Bucket(Answer::Pass), "{} for {}", cost, key);
                    prop_assert!(oracle.take(now, key, cost));
                }
                Err(refused) => {
                    refused_before += 1;
                    retry_at = refused.retry_at.map(|at| at.as_nanos());
                    if refused.reason == Reason::ExceedsCapacity {
                        prop_assert_eq!(expected, Verdict::Bucket(Answer::Never));
                        continue;
                    }
                    let Some(bucket) = oracle.bucket(now, key) else {
                        prop_assert_eq!((refused.reason, expected), (Reason::KeyTableFull, Verdict::Full));
                        prop_assert_eq!(oracle.recovered(now), 0, "the hand sees all of so few");
                        continue;
                    };
                    match refused.reason {
                        Reason::RateExceeded | Reason::InDebt => {
                            prop_assert_eq!(expected, Verdict::Bucket(Answer::Wait));
                            prop_assert_eq!(
                                refused.reason == Reason::InDebt,
                                bucket.consumed(now) > first.burst.into()
                            );
                            let told = retry_at.unwrap();
                            prop_assert_eq!(bucket.answer(told, cost), Answer::Pass);
                            prop_assert_eq!(bucket.answer(told - 1, cost), Answer::Wait);
                        }
                        other => prop_assert!(false, "{other}"),
                    }
                }
            }
        }
        sync(&mut oracle, &table, now, key)?;
        table.check_invariants();
        prop_assert_eq!(table.len() as usize, oracle.len());
        for key in 0..KEYS {
            prop_assert_eq!(table.holds(&key), oracle.holds(key));
            prop_assert_eq!(sharded.holds(&key), oracle.holds(key));
            if let Some(bucket) = oracle.bucket(now, key) {
                prop_assert_eq!(table.available(at(clock), &key), bucket.available(now));
                prop_assert_eq!(
                    table.peek(at(clock), &key, 1).is_ok(),
                    bucket.answer(now, 1) == Answer::Pass
                );
            }
        }
        let snapshot = table.snapshot();
        prop_assert_eq!(snapshot, sharded.snapshot());
        prop_assert_eq!((snapshot.held, snapshot.refused), (oracle.len() as u64, refused_before));
    }
    Ok(())
}

/// Tells the oracle whom the machine dropped; each must have recovered (I2).
fn sync(oracle: &mut Oracle, table: &Keyed<u64>, now: u64, asked: u64) -> TestCaseResult {
    for key in 0..KEYS {
        if oracle.holds(key) && !table.holds(&key) {
            prop_assert!(oracle.forget(now, key), "{key} was forgiven while {asked} was asked");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(800))]

    /// Reports TN-011 and TN-003: what the machine may forget is only the recovered; all else is the oracle's answer.
    #[test]
    fn it_answers_as_a_table_that_never_forgets_and_drops_only_who_has_recovered(
        first in even_quotas(),
        capacity in 1..=6_u32,
        when_full in when_full(),
        run in ops(Regime::Small),
    ) {
        play(first, capacity, when_full, &run)?;
    }

    #[test]
    fn no_key_is_granted_more_than_its_own_bucket_whatever_was_evicted_or_shared(
        (first, run) in prop_oneof![
            (ops::quota(Regime::Small), ops(Regime::Small)),
            (ops::quota(Regime::Real), ops(Regime::Real)),
        ],
        capacity in 1..=4_u32,
        when_full in when_full(),
        changes in prop::collection::vec((ops::quota(Regime::Small), 0..2_usize), 0..3),
    ) {
        let Ok(mut table) = Keyed::<u64>::new(quota(first), capacity, when_full) else { return Ok(()) };
        let (mut coarse, imitated) = grain(first);
        let mut own: BTreeMap<u64, Bucket> =
            (0..KEYS).map(|key| (key, Bucket::new(imitated, Policy::default()))).collect();
        let (mut clock, mut retry_at, mut latest) = (0, None, 0_u64);
        let every = run.len() / (changes.len() + 1) + 1;
        let mut changes = changes.into_iter();
        for (number, (step, key, op)) in run.into_iter().enumerate() {
            clock = step.apply(clock, retry_at).min(u64::MAX / 4);
            latest = latest.max(clock);
            if number % every == every - 1
                && let Some((new, how)) = changes.next()
            {
                let how = [ModelInherit::AsIs, ModelInherit::Proportional][how];
                if table.set_quota(at(clock), quota(new), inherit(how)).is_ok() {
                    let imitated;
                    (coarse, imitated) = grain(new);
                    own.values_mut().for_each(|bucket| bucket.set_quota(latest, imitated, how));
                }
            }
            let bucket = own.get_mut(&key).unwrap();
            bucket.observe(latest);
            let left = table.available(at(clock), &key);
            prop_assert!(left <= bucket.available(latest), "{left} for {key}");
            match op {
                Op::Acquire(cost) => match table.try_acquire(at(clock), &key, cost) {
                    Ok(()) => {
                        let rounded = cost.div_ceil(coarse) * coarse;
                        prop_assert_eq!(bucket.answer(latest, rounded), Answer::Pass, "{} for {}", cost, key);
                        bucket.take(latest, rounded);
                    }
                    Err(refused) => retry_at = refused.retry_at.map(|at| at.as_nanos()),
                },
                Op::Charge(cost) => {
                    if table.charge(at(clock), &key, cost).is_ok() {
                        bucket.take(latest, cost);
                    }
                }
                Op::Forget => {
                    table.forget_recovered(at(clock));
                }
            }
            table.check_invariants();
        }
    }
}

/// Threads that read one racing clock, on keys they share: for each key, never more than burst and rate.
#[test]
fn threads_never_get_more_for_a_key_than_its_burst_and_rate() {
    const SHARED: usize = 50;
    for when_full in [WhenFull::Refuse, WhenFull::Overflow] {
        let table = ShardedKeyed::<u64>::with_hasher(
            Quota::per_second(1_000_000).burst(20),
            40,
            when_full,
            4,
            DefaultHasher::new(),
        )
        .unwrap();
        let (clock, start) = (AtomicU64::new(0), Barrier::new(4));
        let granted: Vec<u64> = std::thread::scope(|scope| {
            let work = |seed: u64| {
                let (table, clock, start) = (&table, &clock, &start);
                scope.spawn(move || {
                    let mut granted = vec![0; SHARED];
                    start.wait();
                    for number in 0..40_000_u64 {
                        let now = clock.fetch_add(seed + number % 7, Ordering::Relaxed);
                        let key = (number * 31 + seed * number / 3) % SHARED as u64;
                        let cost = 1 + number % 3;
                        if table.try_acquire(at(now), &key, cost).is_ok() {
                            granted[key as usize] += cost;
                        }
                        if number % 5_000 == 0 {
                            table.forget_recovered(at(now));
                        }
                    }
                    granted
                })
            };
            let threads: Vec<_> = (1..=4).map(work).collect();
            let all = threads.into_iter().map(|thread| thread.join().unwrap());
            all.fold(vec![0; SHARED], |sum, more| sum.iter().zip(more).map(|(a, b)| a + b).collect())
        });
        let elapsed = clock.load(Ordering::Relaxed);
        for (key, granted) in granted.iter().enumerate() {
            assert!(*granted <= 20 + elapsed / 1_000, "{granted} for {key} in {elapsed} ns");
        }
        assert!(granted.iter().filter(|granted| **granted > 20).count() > SHARED / 2, "{granted:?}");
        table.check_invariants();
        let snapshot = table.snapshot();
        assert!(snapshot.evicted > 0 && snapshot.refused > 0);
        assert_eq!(snapshot.full > 0, when_full == WhenFull::Refuse, "{snapshot:?}");
        assert_eq!(snapshot.overflowed > 0, when_full == WhenFull::Overflow, "{snapshot:?}");
    }
}

#[test]
fn shards_that_cannot_be_are_refused() {
    let with = |capacity, shards| {
        let quota = Quota::per_second(1);
        ShardedKeyed::<u64>::with_hasher(quota, capacity, WhenFull::Refuse, shards, DefaultHasher::new())
    };
    assert!(with(100, 0).is_err() && with(100, 3).is_err() && with(3, 4).is_err() && with(0, 1).is_err());
    assert_eq!(with(7, 4).unwrap().snapshot().capacity, 7);
    assert!(ShardedKeyed::<u64>::new(Quota::per_second(1), 1, WhenFull::Refuse).is_ok());
}
