//! The laws of what keys take ahead of time, against the exact bucket of each.
#![cfg(all(feature = "std", not(tollgate_loom)))]

mod common;

use core::time::Duration;
use std::collections::BTreeMap;

use common::{at, cases, quota};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::rate::{Inherit, Keyed, KeyedReservation, Quota, ShardedKeyed, WhenFull};
use tollgate_model::bucket::{Answer, Bucket, Entry, Policy, Quota as ModelQuota};
use tollgate_model::ops::{self, Regime};

const KEYS: u64 = 4;

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64),
    /// A cost, and how long it may wait.
    Reserve(u64, u64),
    /// Which reservation.
    Cancel(prop::sample::Index),
    /// So much is ahead of so much.
    Peek(u64, u64),
}

fn ops(most: u64) -> impl Strategy<Value = Vec<(u64, u64, Op)>> {
    let cost = move || 0..=most;
    let op = prop_oneof![
        3 => cost().prop_map(Op::Acquire),
        6 => (cost(), prop_oneof![Just(u64::MAX), 0..90_u64]).prop_map(|(cost, wait)| Op::Reserve(cost, wait)),
        4 => any::<prop::sample::Index>().prop_map(Op::Cancel),
        3 => (cost(), cost()).prop_map(|(ahead, cost)| Op::Peek(ahead, cost)),
    ];
    let step = prop_oneof![3 => Just(0_u64), 5 => 0..9_u64, 1 => 0..150_u64];
    prop::collection::vec((step, 0..KEYS, op), 1..60)
}

/// Quotas whose tokens take whole nanoseconds, so that the machine rounds nothing.
fn even_quotas() -> impl Strategy<Value = ModelQuota> {
    (1..4_u64, 1..30_u64, 1..9_u64).prop_map(|(tokens, ns, burst)| ModelQuota {
        tokens,
        per_ns: tokens * ns,
        burst,
    })
}

/// The first instant from `now` on at which `cost` passes.
fn passes_at(bucket: &Bucket, now: u64, cost: u64) -> u64 {
    (now..).find(|&now| bucket.answer(now, cost) == Answer::Pass).unwrap()
}

/// A reservation, and what the oracle wrote down for it.
struct Open {
    key: u64,
    entry: Entry,
    reservation: KeyedReservation,
}

fn exact(quota_of: ModelQuota, run: Vec<(u64, u64, Op)>) -> TestCaseResult {
    let mut table = Keyed::<u64>::new(quota(quota_of), 64, WhenFull::Refuse).unwrap();
    let mut own: Vec<_> = (0..KEYS).map(|_| Bucket::new(quota_of, Policy::default())).collect();
    let mut open: Vec<Open> = vec![];
    // What each key took and did not give back, the latest last.
    let mut taken: Vec<Vec<Entry>> = vec![vec![]; KEYS as usize];
    let mut now = 1_u64;
    for (step, key, op) in run {
        now += step;
        let bucket = &mut own[key as usize];
        bucket.observe(now);
        match op {
            Op::Acquire(cost) => {
                let answer = table.try_acquire(at(now), &key, cost);
                let expected = bucket.answer(now, cost);
                prop_assert_eq!(answer.is_ok(), expected == Answer::Pass);
                if answer.is_ok() && cost > 0 {
                    taken[key as usize].push(bucket.take(now, cost));
                }
            }
            Op::Reserve(cost, wait) => {
                let got = table.reserve(at(now), &key, cost, Duration::from_nanos(wait));
                if bucket.answer(now, cost) == Answer::Never {
                    prop_assert_eq!(got.unwrap_err().retry_at, None);
                    continue;
                }
                let due = passes_at(bucket, now, cost);
                match got {
                    Ok(reservation) => {
                        let ready_at = reservation.ready_at().as_nanos();
                        prop_assert_eq!((ready_at, reservation.cost()), (due, cost));
                        prop_assert!(ready_at - now <= wait);
                        let entry = bucket.take(now, cost);
                        if cost > 0 {
                            taken[key as usize].push(entry);
                            open.push(Open { key, entry, reservation });
                        }
                    }
                    Err(refused) => {
                        let at = refused.retry_at.unwrap().as_nanos();
                        prop_assert!(due - now > wait && at == due - wait);
                    }
                }
            }
            Op::Cancel(which) if !open.is_empty() => {
                let Open { key, entry, reservation } = open.swap_remove(which.index(open.len()));
                table.cancel(at(now), &key, reservation);
                own[key as usize].observe(now);
                if taken[key as usize].last() == Some(&entry) {
                    taken[key as usize].pop();
                    own[key as usize].amend(entry, 0);
                }
            }
            Op::Cancel(_) => {}
            Op::Peek(ahead, cost) => {
                let got = table.peek_behind(at(now), &key, ahead, cost);
                let mut then = bucket.clone();
                then.take(now, ahead);
                match got {
                    Ok(()) => prop_assert_eq!(then.answer(now, cost), Answer::Pass),
                    Err(refused) if then.answer(now, cost) == Answer::Never => {
                        prop_assert_eq!(refused.retry_at, None);
                    }
                    Err(refused) => {
                        let told = refused.retry_at.unwrap().as_nanos();
                        prop_assert!(told > now);
                        prop_assert_eq!(told, passes_at(&then, now, cost));
                    }
                }
            }
        }
        table.check_invariants();
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(800))]

    /// What is cancelled after which nothing was taken was never there, whenever that is; all else stays.
    #[test]
    fn what_is_reserved_is_due_exactly_and_the_latest_that_is_cancelled_never_was(
        quota in even_quotas(), run in ops(10)
    ) {
        exact(quota, run)?;
    }

    /// For any quota, with few places, shared or not: whatever is cancelled, and whenever, no key is granted what its own
    /// exact bucket, of which that was struck out, would not have granted.
    #[test]
    fn nothing_that_is_cancelled_makes_more_room_than_if_it_had_never_been(
        first in ops::quota(Regime::Small),
        run in ops(10),
        capacity in 1..=4_u32,
        overflow in any::<bool>(),
    ) {
        let when_full = if overflow { WhenFull::Overflow } else { WhenFull::Refuse };
        let Ok(mut table) = Keyed::<u64>::new(quota(first), capacity, when_full) else { return Ok(()) };
        let grain = first.tokens.div_ceil(first.per_ns);
        let imitated = ModelQuota { burst: first.burst / grain * grain, ..first };
        let mut own: BTreeMap<u64, Bucket> =
            (0..KEYS).map(|key| (key, Bucket::new(imitated, Policy::default()))).collect();
        let mut open: Vec<Open> = vec![];
        let mut now = 1_u64;
        for (step, key, op) in run {
            now += step;
            let bucket = own.get_mut(&key).unwrap();
            bucket.observe(now);
            let rounded = |cost: u64| cost.div_ceil(grain) * grain;
            match op {
                Op::Acquire(cost) => {
                    if table.try_acquire(at(now), &key, cost).is_ok() {
                        prop_assert_eq!(bucket.answer(now, rounded(cost)), Answer::Pass, "{} for {}", cost, key);
                        bucket.take(now, rounded(cost));
                    }
                }
                Op::Reserve(cost, wait) => {
                    if let Ok(reservation) = table.reserve(at(now), &key, cost, Duration::from_nanos(wait.min(5_000))) {
                        let ready_at = reservation.ready_at().as_nanos();
                        prop_assert_eq!(bucket.answer(ready_at, rounded(cost)), Answer::Pass);
                        open.push(Open { key, entry: bucket.take(now, rounded(cost)), reservation });
                    }
                }
                Op::Cancel(which) if !open.is_empty() => {
                    let Open { key, entry, reservation, .. } = open.swap_remove(which.index(open.len()));
                    table.cancel(at(now), &key, reservation);
                    let bucket = own.get_mut(&key).unwrap();
                    bucket.observe(now);
                    bucket.amend(entry, 0);
                }
                Op::Cancel(_) | Op::Peek(..) => {}
            }
            table.check_invariants();
        }
    }

    /// For any quota: those behind are told what they would be told once those ahead had taken theirs.
    #[test]
    fn those_behind_are_told_the_truth(
        first in ops::quota(Regime::Small),
        run in prop::collection::vec((0..40_u64, 0..KEYS, 0..=10_u64), 0..20),
        key in 0..KEYS,
        ahead in 0..=12_u64,
        cost in 0..=12_u64,
        full_again in any::<bool>(),
    ) {
        let Ok(mut table) = Keyed::<u64>::new(quota(first), 16, WhenFull::Refuse) else { return Ok(()) };
        let mut twin = Keyed::<u64>::new(quota(first), 16, WhenFull::Refuse).unwrap();
        let mut now = 1_u64;
        for (step, key, cost) in run {
            now += step;
            prop_assert_eq!(table.try_acquire(at(now), &key, cost), twin.try_acquire(at(now), &key, cost));
        }
        if full_again && let Err(refused) = table.peek(at(now), &key, table.burst()) {
            now = refused.retry_at.unwrap().as_nanos();
        }
        let told = table.peek_behind(at(now), &key, ahead, cost);
        if ahead > 0 {
            twin.charge(at(now), &key, ahead).unwrap();
        }
        prop_assert_eq!(told, twin.peek(at(now), &key, cost));
    }
}

#[test]
fn what_was_taken_before_the_quota_changed_is_not_given_back() {
    let quota = quota(ModelQuota { tokens: 1, per_ns: 10, burst: 4 });
    let mut table = Keyed::<u64>::new(quota, 4, WhenFull::Refuse).unwrap();
    let forgiven = table.reserve(at(1), &7, 4, Duration::ZERO).unwrap();
    table.set_quota(at(1), quota, Inherit::Reset).unwrap();
    // It leaves the very word behind that the first one did.
    table.try_acquire(at(1), &7, 4).unwrap();
    table.cancel(at(1), &7, forgiven);
    assert_eq!(table.available(at(1), &7), 0);
}

#[test]
fn what_was_taken_out_of_the_overflow_state_goes_back_there_and_to_who_has_a_place_by_then() {
    let one = ModelQuota { tokens: 1, per_ns: 10, burst: 4 };
    let mut table = Keyed::<u64>::new(quota(one), 1, WhenFull::Overflow).unwrap();
    table.charge(at(1), &1, 4).unwrap();
    let shared = table.reserve(at(1), &2, 4, Duration::ZERO).unwrap();
    assert!(table.try_acquire(at(1), &3, 1).is_err(), "it shares that");
    table.cancel(at(1), &2, shared);
    assert!(table.try_acquire(at(1), &3, 1).is_ok());
}

#[test]
fn a_shared_table_answers_every_question_as_one_that_is_not_shared() {
    let quota = Quota::per_second(2).burst(4);
    let mut owned: Keyed<u64> = Keyed::new(quota, 100, WhenFull::Refuse).unwrap();
    let shared: ShardedKeyed<u64> = ShardedKeyed::new(quota, 100, WhenFull::Refuse).unwrap();
    assert!(owned.is_empty() && shared.is_empty());
    for (now, key, cost) in [(1, 7, 4), (2, 7, 1), (3, 8, 2), (4, 8, 9), (5, 9, 3)] {
        for (key, cost) in [(key, cost), (key, 1), (11, cost)] {
            assert_eq!(shared.peek(at(now), &key, cost), owned.peek(at(now), &key, cost));
            let ahead =
                (shared.peek_behind(at(now), &key, 2, cost), owned.peek_behind(at(now), &key, 2, cost));
            assert_eq!(ahead.0, ahead.1);
        }
        assert_eq!(shared.try_acquire(at(now), &key, cost), owned.try_acquire(at(now), &key, cost));
        assert_eq!((shared.len(), shared.is_empty()), (u64::from(owned.len()), owned.is_empty()));
    }
    assert_eq!((owned.len(), owned.is_empty()), (3, false));
    for inherit in [Inherit::AsIs, Inherit::Proportional, Inherit::Reset] {
        let other = Quota::per_second(5).burst(10);
        owned.set_quota(at(6), other, inherit).unwrap();
        shared.set_quota(at(6), other, inherit).unwrap();
        for key in 6..10 {
            assert_eq!(shared.available(at(6), &key), owned.available(at(6), &key));
        }
    }
    assert_eq!(owned.available(at(6), &7), 10);
    assert!(shared.set_quota(at(7), Quota::per_second(0), Inherit::AsIs).is_err());
}

#[test]
fn a_reservation_of_nothing_takes_no_place() {
    let mut table: Keyed<u64> = Keyed::new(Quota::per_second(2).burst(4), 1, WhenFull::Refuse).unwrap();
    let nothing = table.reserve(at(1), &7, 0, Duration::ZERO).unwrap();
    assert!(table.is_empty());
    let one = table.reserve(at(1), &8, 1, Duration::ZERO).unwrap();
    assert_eq!(table.len(), 1);
    assert_eq!((nothing.ready_at(), one.ready_at()), (at(1), at(1)));
}
