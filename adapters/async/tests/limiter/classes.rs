//! Classes with shares of their own, in lines of their own.

use super::*;

const LIVE: PartitionId = PartitionId(1);
const BATCH: PartitionId = PartitionId(2);

fn shares() -> [Share; 2] {
    [(LIVE, 500_000), (BATCH, 250_000)].map(|(partition, share_ppm)| Share {
        partition,
        share_ppm,
        pause: Duration::ZERO,
    })
}

#[test]
fn report_33_a_class_that_is_over_its_share_holds_up_nobody_who_is_not() {
    let bench = Bench::with(4, &shares(), 100);
    let mut held: Vec<_> = (0..2).map(|_| bench.limiter.try_acquire(Some(BATCH)).unwrap()).collect();
    let mut batch = bench.ask(Some(BATCH), 1, Timestamp::MAX);
    let live: Vec<_> = (0..2).map(|_| bench.limiter.try_acquire(Some(LIVE)).unwrap()).collect();
    let mut more = bench.ask(Some(LIVE), 1, Timestamp::MAX);
    // What LIVE gives back is kept for LIVE, whoever came first.
    live.into_iter().for_each(LimiterPermit::success);
    assert!(!batch.is_woken());
    assert!(granted(&mut more).is_some());
    held.pop().unwrap().success();
    assert!(granted(&mut batch).is_some(), "and it is served in the end");
}

#[test]
fn a_big_one_of_one_class_is_not_starved_by_small_ones_of_another() {
    let bench = Bench::with(4, &shares(), 100);
    let mut held: Vec<_> = (0..3).map(|_| bench.limiter.try_acquire(Some(LIVE)).unwrap()).collect();
    let mut big = bench.ask(None, 2, Timestamp::MAX);
    // One is free, and nobody's; LIVE has its share.
    assert!(bench.limiter.try_acquire(Some(LIVE)).is_err());
    let mut small = bench.ask(Some(LIVE), 1, Timestamp::MAX);
    held.pop().unwrap().success();
    assert!(granted(&mut small).is_none());
    held.pop().unwrap().success();
    // Within its share it may pass.
    assert!(granted(&mut small).is_some());
    assert!(granted(&mut big).is_none());
    drop(held);
    drop(small);
}

#[test]
fn a_newcomer_of_another_class_passes_only_within_its_share() {
    let bench = Bench::with(4, &shares()[..1], 100);
    let _held: Vec<_> = (0..3).map(|_| bench.limiter.try_acquire(Some(LIVE)).unwrap()).collect();
    let _big = bench.ask(None, 2, Timestamp::MAX);
    assert!(bench.limiter.try_acquire(Some(LIVE)).is_err(), "there is one, and it is not LIVE's");
    let _small = bench.ask(Some(LIVE), 1, Timestamp::MAX);
}
