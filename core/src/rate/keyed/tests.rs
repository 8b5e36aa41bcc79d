use core::cell::Cell;
use core::hash::{BuildHasherDefault, Hasher};
use core::time::Duration;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::table::{DROPS, LOOKS};
use super::*;
use crate::error::Reason;

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn table(quota: Quota, capacity: u32, when_full: WhenFull) -> Keyed<u64> {
    Keyed::new(quota, capacity, when_full).unwrap()
}

/// A number that says how often it was hashed or compared.
#[derive(Clone, Debug)]
struct Counted(u64);

std::thread_local! {
    static TOUCHED: Cell<u64> = const { Cell::new(0) };
}

fn touched<T>(act: impl FnOnce() -> T) -> (T, u64) {
    TOUCHED.set(0);
    let result = act();
    (result, TOUCHED.get())
}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        TOUCHED.set(TOUCHED.get() + 1);
        self.0.hash(state);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        TOUCHED.set(TOUCHED.get() + 1);
        self.0 == other.0
    }
}

impl Eq for Counted {}

/// The same on every run, and random enough.
#[derive(Default)]
struct Mixing(u64);

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        (self.0 ^ (self.0 >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
}

#[test]
fn a_million_keys_churn_through_a_hundred_thousand_places() {
    const KEYS: u64 = 1_000_000;
    const LIMITED: u64 = 100;
    // A key that is granted once has recovered when 80 000 others have come.
    let quota = Quota::new(1, Duration::from_micros(4_800)).burst(2);
    let hasher = BuildHasherDefault::<Mixing>::default();
    let mut table = Keyed::<Counted, _>::with_hasher(quota, 100_000, WhenFull::Refuse, hasher).unwrap();
    // In debt for longer than all this takes.
    for key in KEYS..KEYS + LIMITED {
        table.charge(at(0), &Counted(key), 1_000_000).unwrap();
    }
    let (mut worst, mut sum) = (0, 0);
    let memory = allocation_counter::measure(|| {
        for key in 0..KEYS {
            let now = at(key * 60);
            let (answer, touches) = touched(|| table.try_acquire(now, &Counted(key), 1));
            answer.unwrap();
            worst = worst.max(touches);
            sum += touches;
            if key % 10_000 == 0 {
                for limited in KEYS..KEYS + LIMITED {
                    let refused = table.try_acquire(now, &Counted(limited), 1).unwrap_err();
                    assert_eq!(refused.reason, Reason::InDebt, "{limited} was forgiven");
                }
            }
        }
    });
    assert_eq!((memory.count_total, memory.bytes_max), (0, 0), "memory is what was reserved");
    let snapshot = table.snapshot();
    assert_eq!(snapshot.evicted, KEYS + LIMITED - snapshot.held);
    assert!((80_000..100_000).contains(&snapshot.held), "the hand keeps up: {snapshot:?}");
    assert!(sum < 2 * KEYS, "{sum} touches");
    assert!(worst <= 32, "{worst} touches in one call");
    table.check_invariants();
}

#[test]
fn a_flood_of_newcomers_at_a_full_table_costs_each_a_few_looks_and_reaches_everybody() {
    let capacity = 1_000;
    let hasher = BuildHasherDefault::<Mixing>::default();
    let quota = Quota::per_second(1).burst(1);
    let mut table = Keyed::<Counted, _>::with_hasher(quota, capacity, WhenFull::Refuse, hasher).unwrap();
    for key in 0..u64::from(capacity) {
        table.try_acquire(at(key), &Counted(key), 1).unwrap();
    }
    for key in 10_000..20_000 {
        let (answer, touches) = touched(|| table.try_acquire(at(5_000), &Counted(key), 1));
        assert_eq!(answer.unwrap_err().reason, Reason::KeyTableFull);
        assert!(touches <= 4, "{touches}: entries that are looked at are neither hashed nor compared");
    }
    // One of a thousand recovers: wherever the hand stands, it is found within a thousand looks.
    table.set_quota(at(5_000), quota, Inherit::Reset).unwrap();
    for key in 0..u64::from(capacity) {
        table.try_acquire(at(5_000 + key), &Counted(key), 1).unwrap();
    }
    let recovered = at(1_000_000_000 + 5_000);
    let tries = (0..).find(|&key| table.try_acquire(recovered, &Counted(50_000 + key), 1).is_ok()).unwrap();
    assert!(tries <= u64::from(capacity / LOOKS) + 1, "{tries}");
    assert_eq!(table.snapshot().full, 10_000 + tries);
    // All recover: the table gets emptier by itself, by one for each newcomer.
    let later = at(10_000_000_000);
    for newcomer in 1..=100 {
        table.try_acquire(later, &Counted(90_000 + newcomer), 1).unwrap();
    }
    assert!((capacity - 100 * (DROPS - 1)..capacity - 90).contains(&table.len()), "{}", table.len());
    table.check_invariants();
}

#[test]
fn those_who_come_back_turn_the_hand_too() {
    let mut table = table(Quota::per_second(1).burst(1), 100, WhenFull::Refuse);
    for key in 0..60 {
        table.try_acquire(at(key), &key, 1).unwrap();
    }
    for second in 1..2_400 {
        table.try_acquire(at(second * 2_000_000_000), &7, 1).unwrap();
    }
    assert_eq!((table.len(), table.holds(&7)), (50, true), "half of it is kept without a newcomer");
    assert_eq!(table.forget_recovered(at(10_000_000_000_000)), 50);
    assert!(table.is_empty());
    assert_eq!(table.snapshot().evicted, 60);
}

#[test]
fn whoever_gets_a_place_while_the_overflow_state_is_busy_starts_where_that_is() {
    let mut table = table(Quota::per_second(1).burst(3), 1, WhenFull::Overflow);
    table.try_acquire(at(1), &1, 1).unwrap();
    table.try_acquire(at(1), &2, 2).unwrap();
    assert_eq!((table.available(at(1), &2), table.available(at(1), &3)), (1, 1), "2 and 3 share");
    assert_eq!(table.snapshot().overflowed, 1);
    // 1 has recovered, the overflow state has not: 2 gets the place, and what it took is not forgiven.
    let later = at(1_000_000_001);
    assert_eq!(table.try_acquire(later, &2, 3).unwrap_err().reason, Reason::RateExceeded);
    table.try_acquire(later, &2, 2).unwrap();
    assert!(table.holds(&2) && !table.holds(&1));
    assert_eq!((table.available(later, &2), table.available(later, &3)), (0, 2));
    // Once it has recovered, whoever comes starts full.
    let much_later = at(10_000_000_000);
    assert_eq!(table.available(much_later, &3), 3);
    table.check_invariants();
}

#[test]
fn the_whole_burst_can_be_taken_one_by_one_at_one_instant() {
    for rate in [3, 999_983, 600_000_000, 1_000_000_000] {
        let mut table = table(Quota::per_second(rate).burst(50), 4, WhenFull::Overflow);
        for key in 0..5 {
            let now = at(77_777_777 * (key + 1));
            for left in (1..=50).rev() {
                assert_eq!(table.available(now, &key), left, "{rate}/s for {key}");
                table.try_acquire(now, &key, 1).unwrap();
            }
            let refused = table.try_acquire(now, &key, 1).unwrap_err();
            assert!(table.peek(refused.retry_at.unwrap(), &key, 1).is_ok());
        }
    }
}

#[test]
fn the_note_of_who_became_busy_last_outlives_the_eviction_of_others() {
    let mut table = table(Quota::per_second(600_000_000).burst(50), 4, WhenFull::Refuse);
    for key in 0..4 {
        table.try_acquire(at(5), &key, 1).unwrap();
    }
    let now = at(1_000);
    for _ in 0..50 {
        table.try_acquire(now, &3, 1).unwrap();
    }
    assert!(table.len() < 4, "others had recovered");
    assert!(table.try_acquire(now, &3, 1).is_err());
}

#[test]
fn a_stale_clock_counts_as_the_latest() {
    let mut table = table(Quota::per_second(1_000).burst(10), 5, WhenFull::Refuse);
    table.try_acquire(at(50_000_000), &1, 10).unwrap();
    assert_eq!(table.available(at(0), &2), 10);
    table.try_acquire(at(0), &2, 10).unwrap();
    assert_eq!(table.available(at(51_000_000), &1), 1);
    assert_eq!(table.available(at(51_000_000), &2), 1, "it was granted at the latest instant, not at 0");
}

#[test]
fn what_is_charged_beyond_the_burst_is_debt_that_is_repaid_first() {
    let mut table = table(Quota::per_second(1).burst(2), 5, WhenFull::Refuse);
    table.charge(at(0), &1, 5).unwrap();
    let refused = table.try_acquire(at(0), &1, 0).unwrap_err();
    assert_eq!((refused.reason, refused.retry_at), (Reason::InDebt, Some(at(3_000_000_000))));
    assert_eq!(table.try_acquire(at(0), &1, 1).unwrap_err().retry_at, Some(at(4_000_000_000)));
    assert!(table.try_acquire(at(4_000_000_000), &1, 1).is_ok());
    // Beyond what can be counted: never repaid, also not by another quota, until it is reset.
    table.charge(at(0), &2, u64::MAX).unwrap();
    assert_eq!(table.try_acquire(at(5_000_000_000), &2, 1).unwrap_err().retry_at, None);
    table.set_quota(at(5_000_000_000), Quota::per_second(1_000).burst(2), Inherit::AsIs).unwrap();
    assert_eq!(table.try_acquire(at(5_000_000_000), &2, 1).unwrap_err().retry_at, None);
    assert_eq!(table.try_acquire(at(u64::MAX), &2, 1).unwrap_err().retry_at, None);
    table.set_quota(at(u64::MAX), Quota::per_second(1).burst(2), Inherit::Reset).unwrap();
    assert_eq!(table.available(at(u64::MAX), &2), 2);
}

#[test]
fn a_cost_of_nothing_makes_no_entry_and_a_refused_quota_changes_nothing() {
    let mut table = table(Quota::per_second(1).burst(2), 5, WhenFull::Refuse);
    table.try_acquire(at(0), &1, 0).unwrap();
    table.charge(at(0), &1, 0).unwrap();
    assert_eq!(table.try_acquire(at(0), &1, 3).unwrap_err().reason, Reason::ExceedsCapacity);
    assert!(table.is_empty());
    assert!(table.set_quota(at(0), Quota::per_second(0), Inherit::AsIs).is_err());
    assert_eq!((table.burst(), table.capacity()), (2, 5));
    assert!(Keyed::<u64>::new(Quota::per_second(1), 0, WhenFull::Refuse).is_err());
}

#[test]
fn a_key_is_looked_up_by_what_it_borrows_as_and_owned_when_it_is_new() {
    let mut table = Keyed::<String>::new(Quota::per_second(1).burst(2), 5, WhenFull::Refuse).unwrap();
    table.try_acquire(at(0), "ann", 1).unwrap();
    let names: Vec<String> = ["ann".to_string(), "bob".to_string()].to_vec();
    assert_eq!(names.iter().map(|name| table.available(at(0), name)).sum::<u64>(), 3);
    assert!(table.holds("ann") && !table.holds("bob"));
    assert!(format!("{table:?}").contains("held: 1"));
}
