//! Bytes for each key of ours and of governor's keyed limiter, all keys held, by an allocator that counts.
//!
//! `cargo test -p tollgate-benches --test keyed_memory -- --nocapture` prints them. Ours is reserved at construction and
//! linear in the capacity; its shards are filled by chance, so the table is made with room for as many more keys as it
//! takes for all to be held. governor's doubles as it grows, so its bytes a key depend on how full the last doubling is.

use core::num::NonZeroU32;

use allocation_counter::measure;
use governor::{Quota as GovernorQuota, RateLimiter};
use tollgate::Timestamp;
use tollgate::rate::{Quota, ShardedKeyed, WhenFull};

fn key(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// What `make` leaves allocated for each of `keys`.
fn bytes_a_key<T>(keys: u32, make: impl FnOnce() -> T) -> f64 {
    let mut kept = None;
    let info = measure(|| kept = Some(make()));
    drop(kept);
    info.bytes_current as f64 / f64::from(keys)
}

/// All keys held, in `capacity` places.
fn ours(keys: u32, capacity: u32) -> Option<ShardedKeyed<u64>> {
    let quota = Quota::per_second(1).burst(10);
    let table = ShardedKeyed::new(quota, capacity, WhenFull::Refuse).unwrap();
    let all = (0..keys).all(|number| table.try_acquire(Timestamp::ZERO, &key(number), 1).is_ok());
    (all && table.len() == u64::from(keys)).then_some(table)
}

fn governors(keys: u32) -> impl Sized {
    let quota = GovernorQuota::per_second(NonZeroU32::MIN).allow_burst(NonZeroU32::new(10).unwrap());
    let table = RateLimiter::keyed(quota);
    assert!((0..keys).all(|number| table.check_key(&key(number)).is_ok()));
    assert_eq!(table.len(), keys as usize);
    table
}

#[test]
fn a_key_takes_less_memory_than_governors() {
    for keys in [100_000_u32, 1_000_000] {
        // The least room in which all are held, in steps of one in a hundred.
        let (room, ours) = (0..30)
            .find_map(|room| {
                let mut held = false;
                let bytes = bytes_a_key(keys, || {
                    let table = ours(keys, keys + keys / 100 * room);
                    held = table.is_some();
                    table
                });
                held.then_some((room, bytes))
            })
            .expect("room for all");
        let theirs = bytes_a_key(keys, || governors(keys));
        println!("{keys} keys: ours {ours:.1} bytes a key with {room} % of room, governor {theirs:.1}");
        assert!(ours < theirs);
    }
}
