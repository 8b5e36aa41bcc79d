//! The laws of [`InFlight`] and [`SharedInFlight`], against a list of who holds what.
#![cfg(all(feature = "std", not(tollgate_loom)))]

mod common;

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Barrier;

use common::cases;
use proptest::prelude::*;
use tollgate::permit::{Bypass, Cap, Dimension, InFlight, InFlightTicket, SharedInFlight, Slot};
use tollgate::{DefaultHasher, Reason};
use tollgate_model::inflight::{Blocked, InFlight as Oracle, Pair};

const DIMENSIONS: u8 = 3;
const KEYS: u64 = 4;

#[derive(Clone, Debug)]
enum Op {
    Acquire(Vec<Pair>),
    Release(usize),
    SetCap(u8, Option<u32>),
    SetOverride(Pair, Option<Option<u32>>),
}

fn pair() -> impl Strategy<Value = Pair> {
    (0..DIMENSIONS, 0..KEYS)
}

fn op() -> impl Strategy<Value = Op> {
    let cap = || prop::option::weighted(0.8, 0..4_u32);
    prop_oneof![
        6 => prop::collection::vec(pair(), 0..5).prop_map(Op::Acquire),
        5 => any::<usize>().prop_map(Op::Release),
        1 => (0..DIMENSIONS, cap()).prop_map(|(dimension, cap)| Op::SetCap(dimension, cap)),
        1 => (pair(), prop::option::of(cap())).prop_map(|(pair, cap)| Op::SetOverride(pair, cap)),
    ]
}

fn dimension(index: u8) -> Dimension {
    Dimension::new(index).unwrap()
}

fn cap(cap: Option<u32>) -> Cap {
    cap.map_or(Cap::Unlimited, Cap::At)
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Reports 10, 12 and 28 of the list: all or nothing, back once, the first dimension that refuses is named.
    #[test]
    fn it_grants_what_the_list_grants_and_a_refusal_changes_nothing(
        capacity in 1..=8_u32,
        most_overrides in 1..=3_u32,
        run in prop::collection::vec(op(), 1..80),
    ) {
        let mut owned: InFlight<u64> = InFlight::new(capacity, most_overrides).unwrap();
        let shared: SharedInFlight<u64> =
            SharedInFlight::with_hasher(capacity, most_overrides, 1, DefaultHasher::new()).unwrap();
        let spread: SharedInFlight<u64> = SharedInFlight::new(10_000, 10_000).unwrap();
        let mut oracle = Oracle::new(capacity as usize);
        let mut unbounded = Oracle::new(usize::MAX);
        let mut tickets: Vec<(InFlightTicket, Slot<u64>, u64)> = vec![];
        let mut slots: Vec<(Slot<u64>, u64)> = vec![];
        for op in run {
            match op {
                Op::Acquire(pairs) => {
                    let asked: Vec<(Dimension, &u64)> =
                        pairs.iter().map(|(index, key)| (dimension(*index), key)).collect();
                    let expected = oracle.blocked(&pairs);
                    let (one, other) = (owned.try_acquire(&asked, Bypass::None), shared.try_acquire(&asked, Bypass::None));
                    match (one, other, expected) {
                        (Ok(ticket), Ok(slot), None) => tickets.push((ticket, slot, oracle.hold(&pairs))),
                        (Err(one), Err(other), Some(blocked)) => {
                            prop_assert_eq!(one, other);
                            let (number, reason, at, held) = match blocked {
                                Blocked::AtCap(number, 0, held) => (number, Reason::ExceedsLimit, Cap::At(0), held),
                                Blocked::AtCap(number, cap, held) => (number, Reason::NoPermits, Cap::At(cap), held),
                                Blocked::Full(number) => (number, Reason::KeyTableFull, one.cap, 0),
                            };
                            prop_assert_eq!(
                                (one.dimension, one.reason, one.cap, one.held),
                                (asked[number].0, reason, at, held)
                            );
                            prop_assert_eq!(one.retry_after.is_some(), reason.waiting_helps());
                        }
                        answers => prop_assert!(false, "{answers:?}"),
                    }
                    match (spread.try_acquire(&asked, Bypass::None), unbounded.blocked(&pairs)) {
                        (Ok(slot), None) => slots.push((slot, unbounded.hold(&pairs))),
                        (Err(refused), Some(Blocked::AtCap(number, at, held))) => prop_assert_eq!(
                            (refused.dimension, refused.cap, refused.held),
                            (asked[number].0, Cap::At(at), held)
                        ),
                        answers => prop_assert!(false, "{answers:?}"),
                    }
                }
                Op::Release(which) => {
                    if !tickets.is_empty() {
                        let (ticket, slot, name) = tickets.swap_remove(which % tickets.len());
                        owned.release(ticket).unwrap();
                        drop(slot);
                        oracle.release(name);
                    }
                    if !slots.is_empty() {
                        let (slot, name) = slots.swap_remove(which % slots.len());
                        drop(slot);
                        unbounded.release(name);
                    }
                }
                Op::SetCap(index, at) => {
                    owned.set_cap(dimension(index), cap(at));
                    shared.set_cap(dimension(index), cap(at));
                    spread.set_cap(dimension(index), cap(at));
                    oracle.set_cap(index, at);
                    unbounded.set_cap(index, at);
                }
                Op::SetOverride(pair, at) => {
                    let (index, key) = (dimension(pair.0), &pair.1);
                    let room = oracle.has_override(pair) || at.is_none() || oracle.overrides() < most_overrides as usize;
                    prop_assert_eq!(owned.set_override(index, key, at.map(cap)).is_ok(), room);
                    prop_assert_eq!(shared.set_override(index, key, at.map(cap)).is_ok(), room);
                    if room {
                        oracle.set_override(pair, at);
                    }
                    spread.set_override(index, key, at.map(cap)).unwrap();
                    unbounded.set_override(pair, at);
                }
            }
            let mut gauges: BTreeMap<Pair, u32> = BTreeMap::new();
            gauges.extend(owned.gauges().map(|gauge| ((gauge.dimension.index(), *gauge.key), gauge.held)));
            prop_assert_eq!(&gauges, &oracle.gauges());
            prop_assert_eq!(owned.len() as usize, gauges.len());
            let mut gauges: BTreeMap<Pair, u32> = BTreeMap::new();
            shared.gauges(|index, key, held| gauges.extend([((index.index(), *key), held)]));
            prop_assert_eq!(gauges, oracle.gauges());
            let mut gauges: BTreeMap<Pair, u32> = BTreeMap::new();
            spread.gauges(|index, key, held| gauges.extend([((index.index(), *key), held)]));
            prop_assert_eq!(gauges, unbounded.gauges());
            for pair in (0..DIMENSIONS).flat_map(|index| (0..KEYS).map(move |key| (index, key))) {
                let (index, key) = (dimension(pair.0), &pair.1);
                prop_assert_eq!(owned.cap(index, key), cap(oracle.cap(pair)));
                prop_assert_eq!(owned.held(index, key), oracle.held(pair));
                prop_assert_eq!(spread.cap(index, key), cap(unbounded.cap(pair)));
                prop_assert_eq!(spread.held(index, key), unbounded.held(pair));
            }
        }
        tickets.into_iter().for_each(|(ticket, _slot, _)| owned.release(ticket).unwrap());
        drop(slots);
        prop_assert!(owned.is_empty() && shared.is_empty() && spread.is_empty());
    }
}

/// Threads that take keys in opposite orders, hand slots to one another and drop them anywhere.
#[test]
fn threads_are_never_above_a_cap_see_all_or_nothing_and_leave_nothing() {
    const CAPS: [u32; 3] = [2, 3, 5];
    let flying: SharedInFlight<u64> = SharedInFlight::with_hasher(400, 10, 8, DefaultHasher::new()).unwrap();
    for (index, at) in CAPS.iter().enumerate() {
        flying.set_cap(dimension(index as u8), Cap::At(*at));
    }
    let seen: Vec<AtomicU32> = (0..3 * KEYS).map(|_| AtomicU32::new(0)).collect();
    let (start, granted, refused) = (Barrier::new(4), AtomicU32::new(0), AtomicU32::new(0));
    let (give, take) = std::sync::mpsc::channel::<(Slot<u64>, [usize; 3])>();
    let leave = |slot: Slot<u64>, places: [usize; 3]| {
        // The mirror first: while the slot is held, nobody may see more than the cap in it.
        for place in places {
            seen[place].fetch_sub(1, Ordering::SeqCst);
        }
        drop(slot);
    };
    std::thread::scope(|scope| {
        for seed in 1..=4_u64 {
            let (flying, seen, start, granted, refused, give) =
                (&flying, &seen, &start, &granted, &refused, give.clone());
            scope.spawn(move || {
                start.wait();
                let mut held = vec![];
                for number in 0..20_000_u64 {
                    let key = |index: u64| (number * (seed + index) + seed * index) % KEYS;
                    let keys = [key(0), key(1), key(2)];
                    let mut pairs: Vec<(Dimension, &u64)> =
                        keys.iter().enumerate().map(|(index, key)| (dimension(index as u8), key)).collect();
                    if seed % 2 == 0 {
                        pairs.reverse();
                    }
                    match flying.try_acquire(&pairs, Bypass::None) {
                        Ok(slot) => {
                            granted.fetch_add(1, Ordering::Relaxed);
                            let places = [0, 1, 2].map(|index| index * KEYS as usize + keys[index] as usize);
                            for (place, at) in places.iter().zip(CAPS) {
                                assert!(seen[*place].fetch_add(1, Ordering::SeqCst) < at, "above the cap");
                            }
                            held.push((slot, places));
                        }
                        Err(_) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    if held.len() > 2 || number % 3 == 0 {
                        let Some((slot, places)) = held.pop() else { continue };
                        if number % 50 == 0 {
                            give.send((slot, places)).unwrap();
                        } else {
                            leave(slot, places);
                        }
                    }
                }
                held.into_iter().for_each(|(slot, places)| leave(slot, places));
            });
        }
        drop(give);
        take.into_iter().for_each(|(slot, places)| leave(slot, places));
    });
    assert!(flying.is_empty());
    assert!(seen.iter().all(|seen| seen.load(Ordering::SeqCst) == 0));
    let (granted, refused) = (granted.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    assert!(granted > 2_000 && refused > 2_000, "{granted} granted, {refused} refused");
}

#[test]
fn a_bypass_holds_nothing_a_hint_is_fixed_and_nine_pairs_are_too_many() {
    let (user, shared) = (dimension(0), SharedInFlight::<String>::new(100, 1).unwrap());
    let mut owned = InFlight::<String>::new(100, 1).unwrap();
    owned.set_cap(user, Cap::At(1));
    shared.set_cap(user, Cap::At(1));
    let ticket = owned.try_acquire(&[(user, "ann")], Bypass::None).unwrap();
    let slot = shared.try_acquire(&[(user, "ann")], Bypass::None).unwrap();
    for bypass in [Bypass::InFlight, Bypass::Whole] {
        owned.try_acquire(&[(user, "ann")], bypass).map(|ticket| owned.release(ticket)).unwrap().unwrap();
        drop(shared.try_acquire(&[(user, "ann")], bypass).unwrap());
    }
    assert_eq!((owned.held(user, "ann"), shared.held(user, "ann")), (1, 1));
    assert!(
        Bypass::Whole.skips_rates() && !Bypass::InFlight.skips_rates() && !Bypass::None.skips_in_flight()
    );

    let refused = owned.try_acquire(&[(user, "ann")], Bypass::None).unwrap_err();
    assert_eq!(refused.retry_after, Some(Duration::from_secs(1)));
    assert_eq!(refused.to_string(), "refused by dimension 0: no permits available, 1 in flight of 1");
    owned.set_hint(None);
    shared.set_hint(Some(Duration::from_secs(3)));
    assert_eq!(owned.try_acquire(&[(user, "ann")], Bypass::None).unwrap_err().retry_after, None);
    assert_eq!(
        shared.try_acquire(&[(user, "ann")], Bypass::None).unwrap_err().retry_after,
        Some(Duration::from_secs(3))
    );

    let nine = [(dimension(1), "x"); 9];
    let too_many = owned.try_acquire(&nine, Bypass::None).unwrap_err();
    assert_eq!(too_many.reason, Reason::ExceedsCapacity);
    assert_eq!(shared.try_acquire(&nine, Bypass::None).unwrap_err().reason, Reason::ExceedsCapacity);
    assert_eq!((owned.held(dimension(1), "x"), shared.held(dimension(1), "x")), (0, 0));
    assert!(owned.try_acquire(&nine[..8], Bypass::None).is_ok());

    // A panic on the way does not keep it.
    let caught = std::thread::spawn(move || {
        let _kept = slot;
        panic!("the handler failed");
    });
    assert!(caught.join().is_err());
    assert!(shared.is_empty());
    owned.release(ticket).unwrap();
    assert!(InFlight::<u64>::new(0, 1).is_err() && SharedInFlight::<u64>::new(0, 1).is_err());
}

#[test]
fn a_slot_may_go_to_any_thread_and_outlive_the_caps() {
    fn body<T: Send + 'static>(slot: T) -> T {
        slot
    }
    let shared = SharedInFlight::<String>::new(10, 1).unwrap();
    let slot = body(shared.try_acquire(&[(dimension(0), "ann")], Bypass::None).unwrap());
    let clone = shared.clone();
    drop(shared);
    assert_eq!(clone.len(), 1);
    drop(slot);
    assert!(clone.is_empty());
}
