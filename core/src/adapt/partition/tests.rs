use std::vec::Vec;

use super::*;
use crate::slots::{Heap, Inline};

const A: PartitionId = PartitionId(1);
const B: PartitionId = PartitionId(2);
const C: PartitionId = PartitionId(3);
const COMPATIBLE: Guarantee = Guarantee::Overshoot { unknown_reserve: 0 };

fn share(partition: PartitionId, percent: u32) -> Share {
    Share { partition, share_ppm: percent * 10_000, pause: Duration::ZERO }
}

fn partitions(limit: u32, guarantee: Guarantee, shares: &[Share]) -> Partitions<Heap> {
    Partitions::new(limit, guarantee, shares, 4, 2).unwrap()
}

/// Lets in as many as it can for one partition.
fn fill(partitions: &mut Partitions<Heap>, partition: Option<PartitionId>) -> u64 {
    let mut count = 0;
    while partitions.try_acquire(partition, 1).is_ok() {
        partitions.check_invariants();
        count += 1;
    }
    count
}

#[test]
fn below_the_limit_everybody_borrows_and_at_it_the_guarantee_overshoots() {
    let mut two = partitions(10, COMPATIBLE, &[share(A, 50), share(B, 50)]);
    assert_eq!((fill(&mut two, Some(A)), fill(&mut two, Some(B))), (10, 5));
    let mut two = partitions(10, COMPATIBLE, &[share(A, 50), share(B, 50)]);
    assert_eq!((fill(&mut two, None), fill(&mut two, Some(A)), fill(&mut two, Some(B))), (10, 5, 5));
    assert_eq!(two.in_flight(), 20);
}

#[test]
fn a_share_of_nothing_still_gets_one_and_the_unknown_what_is_reserved_for_it() {
    for (unknown_reserve, unknown) in [(0, 0), (1, 1)] {
        let guarantee = Guarantee::Overshoot { unknown_reserve };
        let mut two = partitions(10, guarantee, &[share(A, 0), share(B, 100)]);
        assert_eq!(
            (fill(&mut two, Some(B)), fill(&mut two, Some(A)), fill(&mut two, None)),
            (10, 1, unknown)
        );
        assert_eq!(two.quota_of(Some(C)), unknown_reserve, "nobody knows it");
    }
}

#[test]
fn reserved_quotas_are_kept_free_and_the_total_never_passes_the_limit() {
    let shares = [share(A, 50), share(B, 20)];
    let mut two = partitions(10, Guarantee::Reserved, &shares);
    assert_eq!(fill(&mut two, None), 3, "what nobody reserved");
    assert_eq!((fill(&mut two, Some(A)), fill(&mut two, Some(B))), (5, 2));
    assert_eq!(two.in_flight(), 10);
    let mut two = partitions(10, Guarantee::Reserved, &shares);
    assert_eq!((fill(&mut two, Some(A)), fill(&mut two, Some(B))), (8, 2));
}

#[test]
fn quotas_are_whole_by_largest_remainder_and_sum_to_what_the_shares_do() {
    let thirds = [share(A, 33), share(B, 33), share(C, 34)];
    let quotas = |limit, shares: &[Share]| -> Vec<u32> {
        let parts = partitions(limit, Guarantee::Reserved, shares);
        parts.check_invariants();
        shares.iter().map(|share| parts.quota_of(Some(share.partition))).collect()
    };
    assert_eq!(quotas(10, &thirds), [3, 3, 4]);
    assert_eq!(quotas(1, &thirds), [0, 0, 1]);
    assert_eq!(quotas(2, &thirds), [1, 0, 1]);
    assert_eq!(quotas(0, &thirds), [0, 0, 0]);
    assert_eq!(quotas(100, &thirds), [33, 33, 34]);
    assert_eq!(quotas(7, &[share(A, 50), share(B, 20)]), [3, 1], "4.9 in all: 4");
    assert_eq!(quotas(u32::MAX, &[share(A, 100)]), [u32::MAX]);
}

#[test]
fn a_lowered_limit_stops_newcomers_until_the_guarantee_holds_again() {
    let mut two = partitions(10, Guarantee::Reserved, &[share(A, 50), share(B, 50)]);
    let mut hold = |partition| Vec::from([(); 5].map(|()| two.try_acquire(Some(partition), 1).unwrap()));
    let (of_a, mut of_b) = (hold(A), hold(B));
    two.set_limit(4);
    assert!(two.try_acquire(Some(A), 1).is_err());
    for held in of_a {
        two.release(held).unwrap();
    }
    assert!(two.try_acquire(Some(A), 1).is_err(), "B still holds five of four");
    for held in of_b.drain(..2) {
        two.release(held).unwrap();
    }
    two.check_invariants();
    assert_eq!(fill(&mut two, Some(A)), 1);
}

#[test]
fn a_weight_is_let_in_whole_or_not_at_all() {
    let mut one = partitions(10, COMPATIBLE, &[share(A, 50)]);
    assert_eq!(one.try_acquire(Some(A), 11), Err(Reason::ExceedsLimit));
    let unknown = one.try_acquire(None, 8).unwrap();
    assert_eq!((unknown.partition(), unknown.weight()), (None, 8));
    assert_eq!(one.try_acquire(None, 3), Err(Reason::NoPermits));
    assert_eq!(one.try_acquire(Some(A), 6), Err(Reason::NoPermits));
    let guaranteed = one.try_acquire(Some(A), 5).unwrap();
    assert_eq!((guaranteed.partition(), one.in_flight()), (Some(A), 13));
    one.release(unknown).unwrap();
    assert_eq!(one.in_flight(), 5);
}

#[test]
fn shares_change_while_permits_are_held() {
    let mut parts = partitions(10, COMPATIBLE, &[share(A, 50), share(B, 50)]);
    let held = [(Some(A), 2), (Some(B), 3), (None, 1), (Some(C), 1)].map(|(partition, count)| {
        let held = parts.try_acquire(partition, count).unwrap();
        assert_eq!(held.partition(), partition.filter(|&partition| partition != C));
        held
    });
    parts.set_shares(COMPATIBLE, &[share(C, 40), share(B, 60)]).unwrap();
    parts.check_invariants();
    let busy = [Some(A), Some(B), Some(C), None].map(|partition| parts.busy_of(partition));
    assert_eq!(
        (busy, parts.in_flight()),
        ([2, 3, 0, 2], 7),
        "A is nobody now, so the unknown's two are told for it"
    );
    for held in held {
        parts.release(held).unwrap();
        parts.check_invariants();
    }
    let busy = [Some(B), Some(C), None].map(|partition| parts.busy_of(partition));
    assert_eq!((busy, parts.in_flight()), ([0, 0, 0], 0));
    assert_eq!(parts.shares().map(|share| share.partition).collect::<Vec<_>>(), [C, B]);
}

#[test]
fn pauses_are_bounded_and_end_by_themselves() {
    let paused = Share { pause: Duration::from_millis(5), ..share(A, 50) };
    let mut parts = partitions(10, COMPATIBLE, &[paused, share(B, 50)]);
    let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
    let pause = Some(Duration::from_millis(5));
    assert_eq!((parts.pause(at(0), Some(B)), parts.pause(at(0), None)), (None, None));
    let got = [0, 3, 4, 5, 6, 8].map(|ms| parts.pause(at(ms), Some(A)));
    assert_eq!(got, [pause, pause, None, pause, None, pause], "at most two at once");
}

#[test]
fn what_is_out_of_range_is_named() {
    let shares = [share(A, 60), share(A, 50)];
    let error = Partitions::<Inline<1>>::new(1, COMPATIBLE, &shares, 1, 1).unwrap_err();
    let fields: Vec<_> = error.violations().iter().map(|violation| violation.field).collect();
    assert_eq!(fields, ["partitions", "partitions", "partitions.share_ppm"]);
    assert!(Partitions::<Inline<1>>::new(1, COMPATIBLE, &[], 2, 1).is_err());
}

#[test]
fn a_clock_that_goes_back_ends_no_pause_early() {
    let paused = Share { pause: Duration::from_millis(5), ..share(A, 50) };
    let mut parts = partitions(10, COMPATIBLE, &[paused]);
    let got = [20, 5, 12, 24, 25].map(|ms| parts.pause(Timestamp::from_nanos(ms * 1_000_000), Some(A)));
    assert_eq!(got.map(|pause| pause.is_some()), [true, true, false, false, true]);
}

#[test]
fn whoever_is_within_its_quota_is_let_in_below_the_limit_whoever_else_has_borrowed() {
    let shares = [share(A, 40), share(B, 40), share(C, 20)];
    let mut three = partitions(10, Guarantee::Reserved, &shares);
    let _held: Vec<_> = (0..4).map(|_| three.try_acquire(Some(B), 1).unwrap()).collect();
    three.set_limit(5);
    let quotas = [A, B, C].map(|partition| three.quota_of(Some(partition)));
    assert_eq!(quotas, [2, 2, 1]);
    assert!(three.try_acquire(Some(A), 1).is_ok(), "four of five in flight, and A has none of its two");
    assert!(three.try_acquire(Some(C), 1).is_err(), "and now there are five");
}

/// Two of A's three permits are of before it was removed.
#[test]
fn a_partition_that_comes_back_does_not_answer_for_what_it_held_before() {
    let mut parts = partitions(10, Guarantee::Reserved, &[share(A, 50), share(B, 50)]);
    let before = parts.try_acquire(Some(A), 2).unwrap();
    parts.set_shares(Guarantee::Reserved, &[share(B, 50)]).unwrap();
    parts.set_shares(Guarantee::Reserved, &[share(A, 50), share(B, 50)]).unwrap();
    let after = parts.try_acquire(Some(A), 1).unwrap();
    parts.release(before).unwrap();
    parts.check_invariants();
    assert_eq!((parts.busy_of(Some(A)), parts.in_flight()), (1, 1));
    parts.release(after).unwrap();
    assert_eq!((parts.busy_of(Some(A)), parts.in_flight()), (0, 0));
}

#[test]
fn what_others_hold_is_not_given_back_in_their_place() {
    let mut here = partitions(10, Guarantee::Reserved, &[share(A, 50), share(B, 50)]);
    let mut there = partitions(10, COMPATIBLE, &[share(A, 50), share(B, 50)]);
    let _ours = here.try_acquire(Some(B), 3).unwrap();
    for partition in [Some(A), None] {
        let theirs = there.try_acquire(partition, 3).unwrap();
        assert_eq!(here.release(theirs), Err(Stale), "{partition:?}");
        here.check_invariants();
    }
    assert_eq!((here.busy_of(Some(B)), here.in_flight()), (3, 3));
}
