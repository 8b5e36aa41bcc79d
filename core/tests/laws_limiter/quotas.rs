//! What a share of a limit is in whole permits.

use core::time::Duration;

use proptest::prelude::*;
use tollgate::adapt::{Guarantee, PartitionId, Partitions, Share};
use tollgate::slots::{Heap, Inline};
use tollgate_model::ops::limiter::{self as ops, Scale};

use crate::common::cases;
use crate::translate::shares;

fn quotas(limit: u32, guarantee: Guarantee, parts: &[Share]) -> Vec<u64> {
    let partitions: Partitions<Heap> = Partitions::new(limit, guarantee, parts, 4, 0).unwrap();
    parts.iter().map(|part| u64::from(partitions.quota_of(Some(part.partition)))).collect()
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// I2.
    #[test]
    fn reserved_quotas_sum_to_what_the_shares_do_and_each_is_its_own_share_rounded(
        limit in ops::permits(Scale::Extreme, 60),
        parts in ops::shares(),
    ) {
        let parts = shares(&parts);
        let got = quotas(limit, Guarantee::Reserved, &parts);
        let exact: Vec<_> = parts.iter().map(|part| u64::from(limit) * u64::from(part.share_ppm)).collect();
        prop_assert_eq!(got.iter().sum::<u64>(), exact.iter().sum::<u64>() / 1_000_000);
        for (&quota, &exact) in got.iter().zip(&exact) {
            let (low, high) = (exact / 1_000_000, exact.div_ceil(1_000_000));
            prop_assert!(quota == low || quota == high, "{} of {} millionths", quota, exact);
        }
        // Nobody is rounded up before somebody with a larger rest, or before an equal one given earlier.
        for (one, &rest) in exact.iter().enumerate() {
            for (other, &less) in exact.iter().enumerate() {
                let comes_first = (rest % 1_000_000, other) > (less % 1_000_000, one);
                let (up, other_up) = (got[one] > rest / 1_000_000, got[other] > less / 1_000_000);
                prop_assert!(!comes_first || one == other || up || !other_up, "{} before {}", other, one);
            }
        }
    }

    /// ⌈limit · share⌉, but for the rounding of the reference's own product: at most one permit more, and never less.
    #[test]
    fn overshooting_quotas_are_rounded_up_and_at_least_one(
        limit in 0..=2_147_483_647_u32,
        parts in ops::shares(),
    ) {
        let parts = shares(&parts);
        let got = quotas(limit, Guarantee::Overshoot { unknown_reserve: 0 }, &parts);
        for (&quota, part) in got.iter().zip(&parts) {
            let up = (u64::from(limit) * u64::from(part.share_ppm)).div_ceil(1_000_000).max(1);
            prop_assert!(quota == up || quota == up + 1, "{} for {}", quota, up);
        }
    }
}

/// In `f64`, where the references add them up, six of these sums are more than one.
#[test]
fn every_split_of_the_whole_in_three_whole_percentages_is_accepted() {
    let (mut splits, mut refused_in_f64) = (0, vec![]);
    for first in 1..=98_u32 {
        for second in 1..=(99 - first) {
            let parts = [first, second, 100 - first - second];
            let [a, b, c] = parts.map(|percent| f64::from(percent) / 100.0);
            if a + b + c > 1.0 {
                refused_in_f64.push(parts);
            }
            let share = |(number, percent)| Share {
                partition: PartitionId(number),
                share_ppm: percent * 10_000,
                pause: Duration::ZERO,
            };
            let parts: Vec<_> = (0..).zip(parts).map(share).collect();
            assert!(Partitions::<Inline<3>>::new(10, Guarantee::Reserved, &parts, 3, 0).is_ok(), "{parts:?}");
            splits += 1;
        }
    }
    assert_eq!((splits, refused_in_f64.len()), (4_851, 6));
    assert!(refused_in_f64.contains(&[33, 56, 11]));
}
