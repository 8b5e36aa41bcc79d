//! The laws of [`Keyed`], against a table that forgets nobody by itself, and of [`ShardedKeyed`] beside it.
//!
//! Where a unit is a nanosecond every answer is the oracle's; for any quota, whatever a key is granted its own exact
//! bucket, kept for it alone and never forgotten, would have granted too.
#![cfg(all(feature = "std", not(tollgate_loom)))]

#[path = "../common/mod.rs"]
mod common;
mod pair;

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Barrier;

use common::{at, cases};
use pair::{KEYS, Op, never_more, play};
use proptest::prelude::*;
use tollgate::DefaultHasher;
use tollgate::rate::{Quota, ShardedKeyed, WhenFull};
use tollgate_model::bucket::Quota as ModelQuota;
use tollgate_model::ops::{self, Regime, Step};

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
        never_more(first, capacity, when_full, &run, &changes)?;
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
