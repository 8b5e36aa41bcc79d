//! Keyed tables, sketches and caps in flight: their memory is reserved when they are made.

use core::hash::BuildHasherDefault;
use core::time::Duration;

use tollgate::permit::{Bypass, Cap, Dimension, InFlight};
use tollgate::rate::{Inherit, Keyed, Quota, WhenFull};
use tollgate::sketch::{HeavyHitters, Watch};

use super::{allocations, at};

type Hashes = BuildHasherDefault<std::hash::DefaultHasher>;

fn quota(rate: u64) -> Quota {
    Quota::per_second(rate).burst(20)
}

#[test]
fn a_table_of_keys_does_not_allocate_nor_what_watches_it() {
    for when_full in [WhenFull::Refuse, WhenFull::Overflow] {
        let watch = Watch::with_hasher(0, 30, Hashes::default()).unwrap();
        let table =
            Keyed::<u64, _, _>::with_observer(quota(999_983), 50, when_full, Hashes::default(), watch);
        let mut table = table.unwrap();
        let (mut results, mut taken_ahead) = (0, 0);
        let counted = allocations(|number| {
            let (now, key) = (at(number), number % 97);
            results += u64::from(table.try_acquire(now, &key, 1 + number % 20).is_ok());
            results += table.available(now, &key) + u64::from(table.charge(now, &key, 1).is_ok());
            results += u64::from(table.peek_behind(now, &key, 3, 2).is_ok());
            if let Ok(reservation) = table.reserve(now, &key, 2, Duration::from_micros(9)) {
                taken_ahead += u64::from(reservation.ready_at() > now);
                table.cancel(now, &key, reservation);
            }
            if number % 1_000 == 999 {
                table.set_quota(now, quota(number), Inherit::AsIs).unwrap();
                results += u64::from(table.forget_recovered(now));
                table.observer_mut().clear();
            }
        });
        assert_eq!(counted, 0);
        let snapshot = table.snapshot();
        assert!(results > 0 && snapshot.evicted > 0 && snapshot.full + snapshot.overflowed > 0);
        assert!(taken_ahead > 100, "{taken_ahead}");
    }
}

#[cfg(feature = "std")]
#[test]
fn a_table_that_threads_share_does_not_allocate() {
    use tollgate::rate::ShardedKeyed;

    let table =
        ShardedKeyed::<u64, _>::with_hasher(quota(999_983), 50, WhenFull::Refuse, 4, Hashes::default());
    let table = table.unwrap();
    let mut results = 0;
    let counted = allocations(|number| {
        let (now, key) = (at(number), number % 97);
        results += u64::from(table.try_acquire(now, &key, 1 + number % 20).is_ok());
        results += table.available(now, &key) + u64::from(table.charge(now, &key, 1).is_ok());
        if let Ok(reservation) = table.reserve(now, &key, 2, Duration::from_micros(9)) {
            table.cancel(now, &key, reservation);
        }
        if number % 1_000 == 999 {
            table.set_quota(now, quota(number), Inherit::AsIs).unwrap();
            results += table.forget_recovered(now);
        }
    });
    assert_eq!(counted, 0);
    let snapshot = table.snapshot();
    assert!(results > 0 && snapshot.evicted > 0 && snapshot.full > 0);
}

#[test]
fn heavy_hitters_do_not_allocate() {
    let hasher = Hashes::default();
    let mut sketch = HeavyHitters::<u64, _>::with_hasher(50, hasher).unwrap();
    let mut results = 0;
    let counted = allocations(|number| {
        sketch.add(&(number % 97), number % 7);
        results += sketch.get(&3).map_or(1, |heavy| heavy.count) + sketch.error_bound();
        if number == 5_000 {
            sketch.clear();
        }
    });
    assert_eq!(counted, 0);
    assert!(results > 0);
}

#[test]
fn caps_on_what_is_in_flight_do_not_allocate() {
    let hasher = Hashes::default();
    let mut flying = InFlight::<u64, _>::with_hasher(40, 5, hasher).unwrap();
    let dimensions = [0, 1, 2].map(|index| Dimension::new(index).unwrap());
    dimensions.iter().for_each(|dimension| flying.set_cap(*dimension, Cap::At(4)));
    let mut held = Vec::with_capacity(64);
    let mut refused = 0;
    let counted = allocations(|number| {
        let keys = [number % 31, number % 7, number % 3];
        let pairs = [0, 1, 2].map(|index| (dimensions[index], &keys[index]));
        match flying.try_acquire(&pairs, Bypass::None) {
            Ok(ticket) => held.push(ticket),
            Err(_) => refused += 1,
        }
        let own = if number % 2 == 0 { None } else { Some(Cap::At(5)) };
        refused += u64::from(flying.set_override(dimensions[0], &(number % 7), own).is_err());
        if number % 3 == 0
            && let Some(ticket) = held.pop()
        {
            flying.release(ticket).unwrap();
        }
        refused += u64::from(flying.gauges().count() > 40);
    });
    assert_eq!(counted, 0);
    assert!(refused > 100);
}
