use std::collections::BTreeMap;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

/// Spread (splitmix64).
fn spread(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Good, poor and hostile: spread; all at one home; three homes, one the last slot; nearly all at the last, some behind
/// it at the first; spread, but of one fragment.
const HASHES: [fn(u64) -> u64; 5] = [
    spread,
    |_| 1 << 63,
    |key| [0, u64::MAX / 2, u64::MAX][(key % 3) as usize],
    |key| if key % 8 == 0 { 0 } else { u64::MAX },
    |key| spread(key) & !0xF,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_holds_what_was_inserted_and_not_removed_and_the_mark_stays_on_its_entry(
        which in 0..HASHES.len(),
        capacity in 1..80_u32,
        run in prop::collection::vec((0..4_u8, 0..80_u64), 1..300),
    ) {
        let hash = HASHES[which];
        let rehash = |entry: &(u64, u64)| hash(entry.0);
        let mut table: Robin<(u64, u64)> = Robin::new(capacity).unwrap();
        let mut oracle: BTreeMap<u64, u64> = BTreeMap::new();
        let mut marked = None;
        for (number, (act, key)) in run.into_iter().enumerate() {
            let found = table.find(hash(key), |entry| entry.0 == key);
            prop_assert_eq!(found.is_some(), oracle.contains_key(&key));
            match (act, found) {
                (0 | 3, None) if table.len() < capacity => {
                    let value = number as u64;
                    let slot = table.insert(hash(key), (key, value), rehash);
                    prop_assert_eq!(slot.and_then(|slot| table.get(slot)), Some(&(key, value)));
                    oracle.insert(key, value);
                }
                (1, Some(slot)) => {
                    prop_assert_eq!(table.remove(slot, rehash), oracle.remove(&key).map(|value| (key, value)));
                    if marked == Some(key) {
                        marked = None;
                    }
                }
                (2, Some(slot)) => {
                    table.set_mark(slot);
                    marked = Some(key);
                }
                _ => {}
            }
            table.check_invariants(rehash);
            prop_assert_eq!(table.get(table.mark()).map(|entry| entry.0), marked, "I3");
            prop_assert_eq!(table.len() as usize, oracle.len());
            for (&key, &value) in &oracle {
                let found = table.find(hash(key), |entry| entry.0 == key);
                prop_assert_eq!(found.and_then(|slot| table.get(slot)), Some(&(key, value)));
            }
        }
        let all: Vec<u64> = table.iter_mut().map(|entry| entry.0).collect();
        prop_assert_eq!(all.len(), oracle.len());
    }
}

#[test]
fn a_capacity_it_cannot_hold_is_refused_and_a_table_with_one_empty_slot_takes_nothing() {
    assert!(Robin::<u64>::new(0).is_err());
    assert!(Robin::<u64>::new(u32::MAX).is_err());
    let mut table = Robin::new(1).unwrap();
    assert_eq!(table.slots(), 2);
    let inserted: Vec<bool> =
        (0..4).map(|key| table.insert(spread(key), key, |&key| spread(key)).is_some()).collect();
    assert_eq!(inserted, [true, false, false, false]);
    table.check_invariants(|&key| spread(key));
}
