//! The laws of [`HeavyHitters`], against exact counts.
#![cfg(all(feature = "std", not(tollgate_loom)))]

mod common;

use std::collections::BTreeMap;

use common::cases;
use proptest::prelude::*;
use tollgate::sketch::HeavyHitters;

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn counts_are_too_high_by_the_error_at_most_and_the_heavy_are_held(
        capacity in 1..=8_u32,
        run in prop::collection::vec((0..16_u64, prop_oneof![4 => 0..4_u64, 1 => 0..200_u64]), 0..200),
        cleared in prop::option::weighted(0.2, 0..200_usize),
    ) {
        let mut sketch: HeavyHitters<u64> = HeavyHitters::new(capacity).unwrap();
        let mut exact: BTreeMap<u64, u64> = BTreeMap::new();
        for (number, (key, weight)) in run.into_iter().enumerate() {
            // The heavy ones come more often.
            let key = key * key / 15;
            sketch.add(&key, weight);
            if weight > 0 {
                *exact.entry(key).or_default() += weight;
            }
            if cleared == Some(number) {
                sketch.clear();
                exact.clear();
            }
            let total: u64 = exact.values().sum();
            let bound = total / u64::from(capacity);
            prop_assert_eq!(sketch.total(), total);
            prop_assert_eq!(sketch.len() as usize, exact.len().min(capacity as usize));
            prop_assert_eq!(sketch.is_empty(), exact.is_empty());
            prop_assert_eq!(sketch.capacity(), capacity);
            prop_assert!(sketch.error_bound() <= bound);
            let top = sketch.top(usize::MAX);
            prop_assert_eq!(top.iter().map(|heavy| heavy.count).sum::<u64>(), total, "I1");
            prop_assert!(top.windows(2).all(|pair| pair[0].count >= pair[1].count));
            for heavy in &top {
                let real = exact[heavy.key];
                prop_assert!(heavy.error < heavy.count, "I2");
                prop_assert!(heavy.error <= sketch.error_bound());
                prop_assert!(real <= heavy.count && heavy.count - heavy.error <= real, "{heavy:?} is {real}");
            }
            for (key, &real) in &exact {
                match sketch.get(key) {
                    Some(heavy) => prop_assert_eq!(
                        top.iter().filter(|held| held.key == key).collect::<Vec<_>>(), [&heavy], "I3"
                    ),
                    None => prop_assert!(real <= sketch.error_bound() && real <= bound, "{key} brought {real}"),
                }
            }
        }
    }
}

#[test]
fn the_ten_heaviest_of_a_hundred_thousand_are_found_with_a_thousand_counters() {
    let mut sketch: HeavyHitters<u64> = HeavyHitters::new(1_000).unwrap();
    let mut drawn = 1_u64;
    for number in 0..300_000_u64 {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sketch.add(&(100 + drawn % 100_000), 1);
        sketch.add(&(number % 10), 1 + number % 10);
    }
    let top: Vec<u64> = sketch.top(10).iter().map(|heavy| *heavy.key).collect();
    assert_eq!(top, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert!(sketch.error_bound() <= sketch.total() / 1_000);
    assert!(HeavyHitters::<u64>::new(0).is_err());
}
