//! Faults of the partitions.

use core::time::Duration;

use tollgate::adapt::{Guarantee, PartitionId, Partitions, Share};
use tollgate::slots::Inline;

const LIVE: Option<PartitionId> = Some(PartitionId(1));
const BATCH: Option<PartitionId> = Some(PartitionId(2));
const CODE: Guarantee = Guarantee::Overshoot { unknown_reserve: 0 };
const DOCUMENTED: Guarantee = Guarantee::Overshoot { unknown_reserve: 1 };

fn partitions(guarantee: Guarantee, percentages: &[u32]) -> Partitions<Inline<4>> {
    let share = |(number, &percent): (u32, &u32)| Share {
        partition: PartitionId(number),
        share_ppm: percent * 10_000,
        pause: Duration::ZERO,
    };
    let shares: Vec<_> = (1..).zip(percentages).map(share).collect();
    Partitions::new(10, guarantee, &shares, 4, 0).unwrap()
}

/// Lets in as many as it can for one.
fn fill(partitions: &mut Partitions<Inline<4>>, partition: Option<PartitionId>) -> u32 {
    let mut count = 0;
    while let Ok(held) = partitions.try_acquire(partition, 1) {
        count += held.weight();
    }
    count
}

#[test]
fn partition_guarantees_pass_the_limit() {
    let mut reference = partitions(CODE, &[50, 50]);
    assert_eq!((fill(&mut reference, BATCH), fill(&mut reference, LIVE)), (10, 5), "fifteen of ten");
    let mut reference = partitions(CODE, &[50, 50]);
    let all = [None, LIVE, BATCH].map(|partition| fill(&mut reference, partition));
    assert_eq!(all, [10, 5, 5], "twenty of ten");

    let mut ours = partitions(Guarantee::Reserved, &[50, 50]);
    let all = [None, BATCH, LIVE].map(|partition| fill(&mut ours, partition));
    assert_eq!(all, [0, 5, 5]);
}

#[test]
fn partition_quotas_sum_to_more_than_the_limit() {
    let sum = |guarantee| {
        let three = partitions(guarantee, &[33, 56, 11]);
        (1..=3).map(|number| three.quota_of(Some(PartitionId(number)))).sum::<u32>()
    };
    assert_eq!((sum(CODE), sum(Guarantee::Reserved)), (12, 10));
    // ⌈100·0.07⌉ in f64.
    let seven = |guarantee| {
        let mut one = partitions(guarantee, &[7]);
        one.set_limit(100);
        one.quota_of(LIVE)
    };
    assert_eq!((seven(CODE), seven(Guarantee::Reserved)), (8, 7));
}

#[test]
fn partition_shares_of_the_whole_are_refused_for_their_sum_in_floating_point() {
    let sum: f64 = [0.33, 0.56, 0.11].iter().sum();
    assert!(sum > 1.0, "so the reference adds them up");
    for guarantee in [CODE, Guarantee::Reserved] {
        assert_eq!(partitions(guarantee, &[33, 56, 11]).shares().count(), 3);
    }
}

/// "One request at a time", says the documentation.
#[test]
fn partition_the_unknown_are_shut_out_at_the_limit_even_with_none_in_flight() {
    let at_the_limit = |guarantee| {
        let mut two = partitions(guarantee, &[50, 50]);
        fill(&mut two, LIVE);
        fill(&mut two, None)
    };
    assert_eq!((at_the_limit(CODE), at_the_limit(DOCUMENTED)), (0, 1));
    // With whole quotas whoever is to have something at the limit is given a share.
    let mut ours = partitions(Guarantee::Reserved, &[50, 40, 10]);
    let others = Some(PartitionId(3));
    assert_eq!((fill(&mut ours, LIVE), fill(&mut ours, BATCH), fill(&mut ours, others)), (5, 4, 1));
}

/// Netflix#120: "live gets 100 %" cannot be had.
#[test]
fn partition_a_share_of_nothing_has_a_permit_at_the_limit() {
    let batch = |guarantee| {
        let mut two = partitions(guarantee, &[100, 0]);
        let live = fill(&mut two, LIVE);
        (live, fill(&mut two, BATCH))
    };
    assert_eq!(batch(CODE), (10, 1));
    assert_eq!(batch(Guarantee::Reserved), (10, 0));
}
