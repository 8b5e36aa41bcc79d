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

pub(crate) fn run(criterion: &mut Criterion) {
    for held in [false, true] {
        contest(criterion, &[owned(held)]);
        for threads in [1, 2] {
            contest(criterion, &[shared(held, threads)]);
        }
    }
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

struct Naive(Mutex<HashMap<(u8, u64), u32>>);

impl Naive {
    fn new(held: bool) -> Self {
        let users = 0..if held { KEYS } else { 0 };
        Self(Mutex::new(users.map(|user| ((0, user), 1)).collect()))
    }

    fn cycle(&self, keys: [u64; 3]) {
        {
            let mut map = self.0.lock().expect("nobody panics");
            for (dimension, key) in (0..).zip(keys) {
                assert!(map.get(&(dimension, key)).copied().unwrap_or(0) < CAP);
            }
            for (dimension, key) in (0..).zip(keys) {
                *map.entry((dimension, key)).or_default() += 1;
            }
        }
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
