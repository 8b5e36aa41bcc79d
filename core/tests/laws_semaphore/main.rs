//! The laws of [`Semaphore`], against two lists.
#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;
mod pair;

use common::cases;
use pair::Pair;
use proptest::prelude::*;
use tollgate::Reason;
use tollgate::permit::{Acquire, HeadOfLine, Semaphore, SemaphoreEvent};
use tollgate::slots::Heap;
use tollgate_model::ops::{self, SemaphoreOp};
use tollgate_model::semaphore::Rule;

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![Just(Rule::Strict), (0..=4_u32).prop_map(Rule::Backfill)]
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Reports 21 (tokio#8020), 22 (materialize#38509, megaeth#188), 23 (Vector), 24 (embassy#6964, golang/go#37852,
    /// dotnet/runtime#77180), 25 (embassy tombstones), 26, 28 (async-lock#23), 30 (tokio, golang/go#56910).
    #[test]
    fn every_decision_is_that_of_two_naive_lists_and_all_permits_come_back(
        limit in prop_oneof![8 => 0..=8_u64, 1 => ops::edge()],
        room in 0..=6_u32,
        rule in rule(),
        run in ops::semaphore(60),
    ) {
        let mut pair = Pair::new(limit, room, rule);
        for op in run {
            pair.apply(op)?;
        }
        pair.drain()?;
    }

    /// Golang/go#56910: small ones pass a big one, at most (k + 1) · max_passes times for k others ahead when it
    /// came; under Strict never.
    #[test]
    fn nobody_is_passed_more_often_than_the_bound(
        limit in 1..=6_u64,
        rule in rule(),
        run in ops::semaphore(80),
    ) {
        let mut pair = Pair::new(limit, 16, rule);
        let max_passes = match rule {
            Rule::Strict => 0,
            Rule::Backfill(max_passes) => max_passes,
        };
        for op in run {
            pair.apply(op)?;
            for &(ahead, passed) in pair.ahead.values() {
                prop_assert!(passed as usize <= (ahead + 1) * max_passes as usize, "{passed} for {ahead} ahead");
            }
        }
    }

    /// Reports 22, 23: up and down while saturated and queued, never a grant before enough has come back.
    #[test]
    fn after_any_resizing_nothing_is_granted_until_it_fits(
        limits in prop::collection::vec(0..=12_u64, 1..12),
        weights in prop::collection::vec(1..=4_u64, 1..24),
        rule in rule(),
    ) {
        let mut pair = Pair::new(12, 32, rule);
        for weight in weights {
            pair.apply(SemaphoreOp::Acquire(weight))?;
        }
        for limit in limits {
            let before = pair.machine.in_use();
            pair.apply(SemaphoreOp::SetLimit(limit))?;
            while pair.poll()? {}
            prop_assert!(pair.machine.in_use() <= limit.max(before));
            pair.apply(SemaphoreOp::Release(0))?;
            while pair.poll()? {}
            prop_assert!(pair.machine.in_use() <= limit.max(before));
        }
    }
}

#[test]
fn closed_is_absorbing_under_every_operation() {
    // Report 21 (tokio#8020): forgetting permits of a closed semaphore opened it again.
    let mut semaphore = Semaphore::<Heap>::new(3, 8, HeadOfLine::Backfill { max_passes: 9 }).unwrap();
    let (one, two) = (semaphore.try_acquire(1).unwrap(), semaphore.try_acquire(2).unwrap());
    let (Ok(Acquire::Queued(first)), Ok(Acquire::Queued(second))) =
        (semaphore.acquire(3), semaphore.acquire(1))
    else {
        panic!("all are in use")
    };
    semaphore.close();
    semaphore.forget(one);
    semaphore.set_limit(u64::MAX);
    semaphore.cancel(first).unwrap();
    semaphore.release(two).unwrap();
    let Some(SemaphoreEvent::Refused(id, refused)) = semaphore.poll() else { panic!("granted") };
    assert_eq!((id, refused.reason), (second, Reason::Closed));
    assert!(semaphore.poll().is_none() && semaphore.is_closed());
    for weight in [0, 1, u64::MAX] {
        assert_eq!(semaphore.acquire(weight).unwrap_err().reason, Reason::Closed);
        assert_eq!(semaphore.try_acquire(weight).unwrap_err().reason, Reason::Closed);
    }
}
