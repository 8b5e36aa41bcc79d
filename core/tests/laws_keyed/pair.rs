//! A table of buckets beside one that forgets nobody by itself, and beside exact buckets.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::rate::{Keyed, ShardedKeyed, WhenFull};
use tollgate::{DefaultHasher, Reason};
use tollgate_model::bucket::{Answer, Bucket, Inherit as ModelInherit, Policy, Quota as ModelQuota};
use tollgate_model::keyed::{Keyed as Oracle, Verdict};
use tollgate_model::ops::Step;

use super::common::{at, inherit, quota};

pub(crate) const KEYS: u64 = 10;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Acquire(u64),
    Charge(u64),
    Forget,
}

/// Tokens to a unit, and the quota whose exact bucket the word imitates, its burst a whole number of units.
fn grain(quota: ModelQuota) -> (u64, ModelQuota) {
    let grain = quota.tokens.div_ceil(quota.per_ns);
    (grain, ModelQuota { burst: quota.burst / grain * grain, ..quota })
}

/// At most as many keys as the hand looks at for one newcomer, so that `Full` says that nobody had recovered.
pub(crate) fn play(
    first: ModelQuota,
    capacity: u32,
    when_full: WhenFull,
    run: &[(Step, u64, Op)],
) -> TestCaseResult {
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

/// What a key is granted, its own exact bucket would have granted too, whoever was evicted in between. The quota changes
/// at even intervals.
pub(crate) fn never_more(
    first: ModelQuota,
    capacity: u32,
    when_full: WhenFull,
    run: &[(Step, u64, Op)],
    changes: &[(ModelQuota, usize)],
) -> TestCaseResult {
    let Ok(mut table) = Keyed::<u64>::new(quota(first), capacity, when_full) else { return Ok(()) };
    let (mut coarse, imitated) = grain(first);
    let mut own: BTreeMap<u64, Bucket> =
        (0..KEYS).map(|key| (key, Bucket::new(imitated, Policy::default()))).collect();
    let (mut clock, mut retry_at, mut latest) = (0, None, 0_u64);
    let every = run.len() / (changes.len() + 1) + 1;
    let mut changes = changes.iter();
    for (number, &(step, key, op)) in run.iter().enumerate() {
        clock = step.apply(clock, retry_at).min(u64::MAX / 4);
        latest = latest.max(clock);
        if number % every == every - 1
            && let Some(&(new, how)) = changes.next()
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
    Ok(())
}
