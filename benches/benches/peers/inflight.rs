//! Taking and giving back one of each of three pairs (dimension, key), keys in turn, nobody else holding them: each call
//! makes three entries and removes them.
//!
//! In `…-held` every user has another request in flight throughout, so that its entry stays. The peer is what one writes without this
//! crate: a map of counts behind a mutex, checked and then counted up, with the same hasher.

use std::collections::HashMap;
use std::sync::Mutex;

use criterion::Criterion;
use tollgate::permit::{Bypass, Cap, Dimension, InFlight, SharedInFlight};
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "inflight";
const DIMENSIONS: [Dimension; 3] =
    [Dimension::new(0).unwrap(), Dimension::new(1).unwrap(), Dimension::new(2).unwrap()];
const KEYS: u64 = 1_000;
const CAP: u32 = 100;
const SIZES: [u32; 4] = [10, 1_000, 100_000, 1_000_000];

pub(crate) fn run(criterion: &mut Criterion) {
    for held in [false, true] {
        contest(criterion, &[owned(held)]);
        for threads in [1, 2] {
            contest(criterion, &[shared(held, threads)]);
        }
    }
    for threads in [1, 2] {
        contest(criterion, &[refuse(threads)]);
    }
    contest(criterion, &SIZES.map(users));
}

const fn name(owned: bool, held: bool) -> &'static str {
    match (owned, held) {
        (true, false) => "three-owned",
        (true, true) => "three-owned-held",
        (false, false) => "three-shared",
        (false, true) => "three-shared-held",
    }
}

/// A user, a team of ten users, and a client of many.
fn keys(ordinal: u32) -> [u64; 3] {
    let user = u64::from(ordinal) * 7 % KEYS;
    [user, user / 10, user % 7]
}

fn owned(held: bool) -> Case<'static> {
    Case::new(GROUP, name(true, held))
        .alone("tollgate", move || {
            let mut flying: InFlight<u64> = InFlight::new(10_000, 1).expect("lawful");
            DIMENSIONS.iter().for_each(|&dimension| flying.set_cap(dimension, Cap::At(CAP)));
            let kept: Vec<_> = (0..if held { 1_000 } else { 0 })
                .filter_map(|ordinal| {
                    let [user, ..] = keys(ordinal);
                    flying.try_acquire(&[(DIMENSIONS[0], &user)], Bypass::None).ok()
                })
                .collect();
            move |ordinal| {
                let _held = &kept;
                let [user, team, client] = keys(ordinal);
                let pairs = [(DIMENSIONS[0], &user), (DIMENSIONS[1], &team), (DIMENSIONS[2], &client)];
                let ticket = flying.try_acquire(&pairs, Bypass::None).expect("granted");
                flying.release(ticket).expect("held");
            }
        })
        .alone("std-map", move || {
            let naive = Naive::new(held);
            move |ordinal| naive.cycle(keys(ordinal))
        })
}

fn shared(held: bool, threads: u32) -> Case<'static> {
    Case::new(GROUP, name(false, held))
        .threads(threads)
        .shared("tollgate", move || {
            let flying: SharedInFlight<u64> = SharedInFlight::new(10_000, 1).expect("lawful");
            DIMENSIONS.iter().for_each(|&dimension| flying.set_cap(dimension, Cap::At(CAP)));
            let kept: Vec<_> = (0..if held { 1_000 } else { 0 })
                .filter_map(|ordinal| {
                    let [user, ..] = keys(ordinal);
                    flying.try_acquire(&[(DIMENSIONS[0], &user)], Bypass::None).ok()
                })
                .collect();
            move |ordinal| {
                let _held = &kept;
                let [user, team, client] = keys(ordinal);
                let pairs = [(DIMENSIONS[0], &user), (DIMENSIONS[1], &team), (DIMENSIONS[2], &client)];
                drop(flying.try_acquire(&pairs, Bypass::None).expect("granted"));
            }
        })
        .shared("std-map", move || {
            let naive = Naive::new(held);
            move |ordinal| naive.cycle(keys(ordinal))
        })
}

/// The client, asked for last, has all it may have: the two entries made before are removed again.
fn refuse(threads: u32) -> Case<'static> {
    const CLIENT: u64 = 5_000;
    Case::new(GROUP, "three-refuse")
        .threads(threads)
        .shared("tollgate", || {
            let flying: SharedInFlight<u64> = SharedInFlight::new(10_000, 1).expect("lawful");
            flying.set_cap(DIMENSIONS[2], Cap::At(1));
            let kept = flying.try_acquire(&[(DIMENSIONS[2], &CLIENT)], Bypass::None).expect("the first");
            move |ordinal| {
                let _held = &kept;
                let [user, team, _] = keys(ordinal);
                let pairs = [(DIMENSIONS[0], &user), (DIMENSIONS[1], &team), (DIMENSIONS[2], &CLIENT)];
                assert!(flying.try_acquire(&pairs, Bypass::None).is_err());
            }
        })
        .shared("std-map", || {
            let naive = Naive(Mutex::new(HashMap::from([((2, CLIENT), CAP)])));
            move |ordinal| {
                let [user, team, _] = keys(ordinal);
                assert!(!naive.take([user, team, CLIENT]));
            }
        })
}

/// One dimension, so many users, each with another request in flight; neighbours in time are none in memory.
fn users(size: u32) -> Case<'static> {
    let user = move |requests: u32| u64::from(requests.wrapping_mul(2_654_435_769) % size);
    Case::new(GROUP, "one-held")
        .size(size)
        .alone("tollgate", move || {
            let mut flying: InFlight<u64> = InFlight::new(size, 1).expect("lawful");
            flying.set_cap(DIMENSIONS[0], Cap::At(CAP));
            let kept: Vec<_> = (0..u64::from(size))
                .map(|user| flying.try_acquire(&[(DIMENSIONS[0], &user)], Bypass::None).expect("room"))
                .collect();
            let mut requests = 0_u32;
            move |_| {
                let _held = &kept;
                requests = requests.wrapping_add(1);
                let pair = [(DIMENSIONS[0], &user(requests))];
                let ticket = flying.try_acquire(&pair, Bypass::None).expect("granted");
                flying.release(ticket).expect("held");
            }
        })
        .alone("std-map", move || {
            let naive = Naive(Mutex::new((0..u64::from(size)).map(|user| ((0, user), 1)).collect()));
            let mut requests = 0_u32;
            move |_| {
                requests = requests.wrapping_add(1);
                let user = [user(requests)];
                assert!(naive.take(user));
                naive.give_back(user);
            }
        })
}

struct Naive(Mutex<HashMap<(u8, u64), u32>>);

impl Naive {
    fn new(held: bool) -> Self {
        let users = 0..if held { KEYS } else { 0 };
        Self(Mutex::new(users.map(|user| ((0, user), 1)).collect()))
    }

    fn cycle(&self, keys: [u64; 3]) {
        assert!(self.take(keys));
        self.give_back(keys);
    }

    fn take<const N: usize>(&self, keys: [u64; N]) -> bool {
        let mut map = self.0.lock().expect("nobody panics");
        let full = |pair: (u8, u64)| map.get(&pair).is_some_and(|&held| held >= CAP);
        if (0..).zip(keys).any(full) {
            return false;
        }
        for pair in (0..).zip(keys) {
            *map.entry(pair).or_default() += 1;
        }
        true
    }

    fn give_back<const N: usize>(&self, keys: [u64; N]) {
        let mut map = self.0.lock().expect("nobody panics");
        for pair in (0..).zip(keys) {
            let gone = map.get_mut(&pair).is_some_and(|held| {
                *held -= 1;
                *held == 0
            });
            if gone {
                map.remove(&pair);
            }
        }
    }
}
