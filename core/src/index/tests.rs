use core::cell::Cell;
use std::collections::BTreeMap;
use std::vec::Vec;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult};

use super::*;

/// What a caller has: entries without holes, and an index of them.
struct Dense {
    index: Index,
    keys: Vec<u64>,
    hash: fn(u64) -> u64,
}

impl Dense {
    fn new(capacity: u32, hash: fn(u64) -> u64) -> Self {
        Self { index: Index::new(capacity).unwrap(), keys: Vec::new(), hash }
    }

    fn find(&self, key: u64) -> Option<u32> {
        self.index.find((self.hash)(key), |place| self.keys[place as usize] == key)
    }

    fn insert(&mut self, key: u64) {
        let place = u32::try_from(self.keys.len()).unwrap();
        self.keys.push(key);
        self.index.insert((self.hash)(key), place, |place| (self.hash)(self.keys[place as usize]));
    }

    fn remove(&mut self, key: u64) {
        let place = self.find(key).unwrap();
        self.index.remove((self.hash)(key), place, |place| (self.hash)(self.keys[place as usize]));
        let last = u32::try_from(self.keys.len() - 1).unwrap();
        if place != last {
            self.index.replace((self.hash)(self.keys[last as usize]), last, place);
        }
        self.keys.swap_remove(place as usize);
    }

    /// I1 to I3.
    fn check(&self) -> TestCaseResult {
        let words = &self.index.words;
        let mut places = Vec::new();
        for (slot, &word) in words.iter().enumerate() {
            let before = words[if slot == 0 { words.len() - 1 } else { slot - 1 }];
            prop_assert!(word >> RANK_SHIFT <= (before >> RANK_SHIFT) + 1, "I2");
            if word == EMPTY {
                continue;
            }
            let hash = (self.hash)(self.keys[(word & PLACE) as usize]);
            let steps = self.index.steps(slot, hash);
            prop_assert_eq!(word & !PLACE, rank(steps) | fragment(hash), "I1");
            if steps > 0 {
                let hash = (self.hash)(self.keys[(before & PLACE) as usize]);
                prop_assert!(
                    steps <= self.index.steps((slot + words.len() - 1) % words.len(), hash) + 1,
                    "I2"
                );
            }
            places.push(word & PLACE);
        }
        places.sort_unstable();
        prop_assert!(places.iter().copied().eq(0..u32::try_from(self.keys.len()).unwrap()), "I3");
        Ok(())
    }
}

fn spread(key: u64) -> u64 {
    hash_of(&Plain, &key)
}

/// As random as hashes get (splitmix64), unlike [`spread`] of numbers in order, which is even.
fn random(key: u64) -> u64 {
    let mut mixed = key.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    spread(mixed ^ (mixed >> 31))
}

/// Hashes a number to itself.
struct Plain;
struct Itself(u64);

impl BuildHasher for Plain {
    type Hasher = Itself;
    fn build_hasher(&self) -> Itself {
        Itself(0)
    }
}

impl core::hash::Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _bytes: &[u8]) {}
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Good, poor and hostile: spread; all at one home; three homes, one the last slot; spread, but of one fragment.
const HASHES: [fn(u64) -> u64; 4] =
    [spread, |_| 1 << 63, |key| [0, u64::MAX / 2, u64::MAX][(key % 3) as usize], |key| spread(key) & !0xF];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_finds_what_was_inserted_and_not_removed_whatever_the_hasher(
        which in 0..HASHES.len(),
        capacity in 1..70_u32,
        run in prop::collection::vec((any::<bool>(), 0..90_u64), 1..300),
    ) {
        let mut dense = Dense::new(capacity, HASHES[which]);
        let mut oracle = BTreeMap::new();
        for (put, key) in run {
            match (put, oracle.contains_key(&key)) {
                (true, false) if oracle.len() < capacity as usize => {
                    dense.insert(key);
                    oracle.insert(key, ());
                }
                (false, true) => {
                    dense.remove(key);
                    oracle.remove(&key);
                }
                _ => {}
            }
            dense.check()?;
            for key in 0..90 {
                let found = dense.find(key).map(|place| dense.keys[place as usize]);
                prop_assert_eq!(found, oracle.get_key_value(&key).map(|(key, ())| *key));
            }
        }
    }
}

#[test]
fn a_capacity_it_cannot_hold_is_refused() {
    assert!(Index::new(0).is_err());
    assert!(Index::new(Index::MOST + 1).is_err());
    assert!(Index::new(1).is_ok());
}

#[test]
fn it_takes_five_bytes_a_key() {
    let index = Index::new(100_000).unwrap();
    assert_eq!(index.words.capacity() * size_of::<u32>(), 500_004);
}

/// A full table that churns: entries are looked at about once a search, and hashes are computed anew rarely.
#[test]
fn a_full_table_churns_without_wear_and_looks_at_few_wrong_entries() -> Result<(), TestCaseError> {
    const FULL: u64 = 20_000;
    let mut dense = Dense::new(20_000, random);
    (0..FULL).for_each(|key| dense.insert(key));
    for key in FULL..10 * FULL {
        dense.remove(key - FULL);
        dense.insert(key);
    }
    dense.check()?;
    let (looks, rehashed) = (Cell::new(0_u64), Cell::new(0_u64));
    for key in 9 * FULL..10 * FULL {
        let hit = dense.index.find(random(key), |place| {
            looks.set(looks.get() + 1);
            dense.keys[place as usize] == key
        });
        assert!(hit.is_some());
    }
    assert!(looks.get() < FULL * 104 / 100, "{} looks", looks.get());
    looks.set(0);
    for key in 0..FULL {
        let missed = dense.index.find(random(key), |_| {
            looks.set(looks.get() + 1);
            false
        });
        assert!(missed.is_none());
    }
    assert!(looks.get() < FULL * 11 / 100, "{} looks in vain", looks.get());
    for key in 9 * FULL..9 * FULL + 10_000 {
        let place = dense.find(key).unwrap();
        let rehash = |place: u32| {
            rehashed.set(rehashed.get() + 1);
            random(dense.keys[place as usize])
        };
        dense.index.remove(random(key), place, rehash);
        dense.index.insert(random(key), place, rehash);
    }
    assert!(rehashed.get() < 10_000 * 15 / 100, "{} rehashed", rehashed.get());
    Ok(())
}
