//! What machines with many keys tell their observers, against books kept of it: they say what happened, all of it, once.
#![cfg(all(feature = "std", not(tollgate_loom)))]

mod common;

use core::time::Duration;
use std::collections::BTreeMap;

use common::{at, cases};
use proptest::prelude::*;
use tollgate::observe::{KeyEvent, KeyObserver};
use tollgate::permit::{Bypass, Cap, Dimension, InFlight, SharedInFlight};
use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Strategy as Counted, Target};
use tollgate::rate::{Blame, Keyed, Limits, LimitsSettings, Quota, ShardedKeyed, WhenFull};
use tollgate::sketch::Watch;
use tollgate::{DefaultHasher, Reason};

const KEYS: u64 = 6;

/// What was heard, by key.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Books {
    net: BTreeMap<(Option<u64>, u8), i128>,
    refused: BTreeMap<Option<u64>, u64>,
    no_room: u64,
    forgotten: u64,
}

impl KeyObserver<u64> for Books {
    fn on_key_event(&mut self, key: Option<&u64>, event: KeyEvent) {
        let key = key.copied();
        match event {
            KeyEvent::Granted { dimension, amount } | KeyEvent::Charged { dimension, amount } => {
                *self.net.entry((key, dimension)).or_default() += i128::from(amount);
            }
            KeyEvent::Returned { dimension, amount } => {
                *self.net.entry((key, dimension)).or_default() -= i128::from(amount);
            }
            KeyEvent::Refused { .. } => *self.refused.entry(key).or_default() += 1,
            KeyEvent::NoRoom => self.no_room += 1,
            KeyEvent::Forgotten => {
                assert!(key.is_some(), "whoever is forgotten had a place");
                self.forgotten += 1;
            }
            _ => panic!("an event the books do not know"),
        }
    }
}

impl Books {
    fn net(&self, key: u64, dimension: u8) -> i128 {
        self.net.get(&(Some(key), dimension)).copied().unwrap_or(0)
    }

    fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    fn plus(mut self, other: &Self) -> Self {
        other.net.iter().for_each(|(&key, amount)| *self.net.entry(key).or_default() += amount);
        other.refused.iter().for_each(|(&key, count)| *self.refused.entry(key).or_default() += count);
        (self.no_room, self.forgotten) = (self.no_room + other.no_room, self.forgotten + other.forgotten);
        self
    }
}

#[derive(Clone, Debug)]
enum Asked {
    Begin(u64),
    Evaluate(usize, usize, u64),
    Settle(usize, usize, u64),
    Commit(usize),
    RollBack(usize, Blame),
}

fn asked() -> impl Strategy<Value = Asked> {
    let blame = prop_oneof![Just(Blame::Nobody), Just(Blame::Client), Just(Blame::Server)];
    prop_oneof![
        4 => (0..KEYS).prop_map(Asked::Begin),
        6 => (any::<usize>(), 0..2_usize, 0..5_u64).prop_map(|(who, of, amount)| Asked::Evaluate(who, of, amount)),
        3 => (any::<usize>(), 0..2_usize, 0..9_u64).prop_map(|(who, of, actual)| Asked::Settle(who, of, actual)),
        2 => any::<usize>().prop_map(Asked::Commit),
        3 => (any::<usize>(), blame).prop_map(|(who, blame)| Asked::RollBack(who, blame)),
    ]
}

proptest! {
    #![proptest_config(cases(500))]

    /// Allowances, which nothing brings back: what is used is what was heard.
    #[test]
    fn limits_tell_every_amount_that_is_taken_and_comes_back(
        run in prop::collection::vec(asked(), 1..80),
        accounts in 2..=8_u32,
    ) {
        let mut table = Dimensions::new();
        let dimensions = ["a", "b"].map(|name| table.add(name, name).unwrap());
        let rule = |number, dimension: usize, seconds| Rule {
            strategy: Counted::Allowance,
            ..Rule::new(
                RuleId(number),
                Target::Default,
                GroupId(0),
                dimensions[dimension],
                12,
                Duration::from_secs(seconds),
            )
        };
        // Two windows of one dimension are told once.
        let rules = RuleSet::new(table, vec![rule(1, 0, 1), rule(2, 0, 2), rule(3, 1, 1)]).unwrap();
        let settings = LimitsSettings::for_rules(accounts, &rules);
        let mut limits: Limits<u64, _, Books> =
            Limits::with_observer(settings, rules, DefaultHasher::new(), Books::default()).unwrap();
        let (mut sessions, mut refusals, now) = (vec![], 0, at(1));
        for asked in run {
            match asked {
                Asked::Begin(owner) => sessions.extend(limits.begin(now, &owner, None, GroupId(0)).ok()),
                Asked::Evaluate(who, of, amount) => {
                    let Some(who) = who.checked_rem(sessions.len()) else { continue };
                    let answer = limits.evaluate(now, &mut sessions[who], dimensions[of], amount);
                    refusals += u64::from(answer.is_err());
                }
                Asked::Settle(who, of, actual) => {
                    let Some(who) = who.checked_rem(sessions.len()) else { continue };
                    let full = sessions[who].taken(dimensions[of]) < actual
                        && limits.evaluate(now, &mut sessions[who], dimensions[of], 0).is_err();
                    refusals += u64::from(full);
                    limits.settle(now, &mut sessions[who], dimensions[of], actual);
                }
                Asked::Commit(who) => {
                    let Some(who) = who.checked_rem(sessions.len()) else { continue };
                    limits.commit(now, sessions.swap_remove(who));
                }
                Asked::RollBack(who, blame) => {
                    let Some(who) = who.checked_rem(sessions.len()) else { continue };
                    limits.roll_back(now, sessions.swap_remove(who), blame);
                }
            }
            for owner in 0..KEYS {
                let Some(account) = limits.account(&owner) else { continue };
                let used: Vec<_> =
                    limits.report(now, account, GroupId(0), None).unwrap().map(|window| window.used).collect();
                let heard = [0, 0, 1].map(|dimension| limits.observer().net(owner, dimension));
                prop_assert_eq!(used.iter().map(|&used| i128::from(used)).collect::<Vec<_>>(), heard);
            }
        }
        let (snapshot, books) = (limits.snapshot(), limits.observer());
        prop_assert_eq!((snapshot.forgotten, snapshot.full), (books.forgotten, books.no_room));
        prop_assert_eq!(books.refusals(), refusals);
        prop_assert_eq!(u64::from(snapshot.accounts), limits.owners().count() as u64);
    }

    #[test]
    fn keyed_buckets_tell_every_answer_in_one_table_and_in_many(
        run in prop::collection::vec((0..KEYS, 0..4_u64, 0..4_u8, 0..400_000_000_u64), 1..80),
        overflow in any::<bool>(),
    ) {
        let quota = Quota::per_second(10).burst(3);
        let when_full = if overflow { WhenFull::Overflow } else { WhenFull::Refuse };
        let mut one: Keyed<u64, _, Books> =
            Keyed::with_observer(quota, 3, when_full, DefaultHasher::new(), Books::default()).unwrap();
        let many: ShardedKeyed<u64, _, Books> =
            ShardedKeyed::with_observers(quota, 8, when_full, 2, DefaultHasher::new(), |_| Books::default()).unwrap();
        let mut now = 1;
        let (mut taken, mut refused) = ([0_i128; 2], [0_u64; 2]);
        for (key, cost, how, later) in run {
            now += later;
            let answers = match how {
                0 => [one.charge(at(now), &key, cost), many.charge(at(now), &key, cost)],
                1 => [one.try_acquire(at(now), &key, cost), many.try_acquire(at(now), &key, cost)],
                // Reserved, and in the last case given back.
                _ => {
                    let later = Duration::from_millis(300);
                    let both = (one.reserve(at(now), &key, cost, later), many.reserve(at(now), &key, cost, later));
                    let answers = [both.0.as_ref().map(|_| ()).map_err(|&no| no), both.1.as_ref().map(|_| ()).map_err(|&no| no)];
                    if how == 3 {
                        taken[0] -= i128::from(cost) * i128::from(both.0.is_ok());
                        taken[1] -= i128::from(cost) * i128::from(both.1.is_ok());
                        both.0.into_iter().for_each(|reservation| one.cancel(at(now), &key, reservation));
                        both.1.into_iter().for_each(|reservation| many.cancel(at(now), &key, reservation));
                    }
                    answers
                }
            };
            for (place, answer) in answers.into_iter().enumerate() {
                match answer {
                    Ok(()) => taken[place] += i128::from(cost),
                    Err(refusal) => refused[place] += u64::from(refusal.reason != Reason::KeyTableFull),
                }
            }
        }
        let mut all = Books::default();
        many.observers(|books| all = core::mem::take(&mut all).plus(books));
        for (place, (books, snapshot)) in [(one.observer(), one.snapshot()), (&all, many.snapshot())].into_iter().enumerate() {
            prop_assert_eq!(books.net.values().sum::<i128>(), taken[place]);
            prop_assert_eq!(books.refusals(), refused[place]);
            prop_assert_eq!((books.no_room, books.forgotten), (snapshot.full, snapshot.evicted));
        }
    }

    #[test]
    fn caps_in_flight_tell_what_whole_requests_hold(
        run in prop::collection::vec((prop::collection::vec((0..2_u8, 0..KEYS), 0..4), any::<Option<usize>>()), 1..60),
        capacity in 2..10_u32,
    ) {
        let dimension = |index| Dimension::new(index).unwrap();
        let mut one: InFlight<u64, _, Books> =
            InFlight::with_observer(capacity, 1, DefaultHasher::new(), Books::default()).unwrap();
        let many: SharedInFlight<u64, _, Books> =
            SharedInFlight::with_observers(100, 2, 2, DefaultHasher::new(), |_| Books::default()).unwrap();
        one.set_cap(dimension(0), Cap::At(2));
        many.set_cap(dimension(0), Cap::At(2));
        // Nobody of this name, who has no place but a cap of its own.
        one.set_override(dimension(1), &0, Some(Cap::At(0))).unwrap();
        many.set_override(dimension(1), &0, Some(Cap::At(0))).unwrap();
        let (mut tickets, mut slots, mut refused) = (vec![], vec![], [0_u64; 2]);
        for (pairs, release) in run {
            let pairs: Vec<_> = pairs.iter().map(|(index, key)| (dimension(*index), key)).collect();
            match one.try_acquire(&pairs, Bypass::None) {
                Ok(ticket) => tickets.push(ticket),
                Err(_) => refused[0] += 1,
            }
            match many.try_acquire(&pairs, Bypass::None) {
                Ok(slot) => slots.push(slot),
                Err(_) => refused[1] += 1,
            }
            if let Some(which) = release {
                let ticket = which.checked_rem(tickets.len()).map(|which| tickets.swap_remove(which));
                ticket.into_iter().for_each(|ticket| one.release(ticket).unwrap());
                drop(which.checked_rem(slots.len()).map(|which| slots.swap_remove(which)));
            }
            let mut all = Books::default();
            many.observers(|books| all = core::mem::take(&mut all).plus(books));
            for (index, key) in (0..2_u8).flat_map(|index| (0..KEYS).map(move |key| (index, key))) {
                prop_assert_eq!(one.observer().net(key, index), i128::from(one.held(dimension(index), &key)));
                prop_assert_eq!(all.net(key, index), i128::from(many.held(dimension(index), &key)));
            }
            for (place, (books, snapshot)) in [(one.observer(), one.snapshot()), (&all, many.snapshot())].into_iter().enumerate() {
                prop_assert_eq!(books.refusals() + books.no_room, refused[place]);
                prop_assert_eq!(snapshot.refused, refused[place]);
                prop_assert_eq!(books.refused.get(&None), None, "whoever has a cap or a place has a name");
            }
        }
    }
}

#[test]
fn a_watch_names_who_takes_most_and_who_is_refused_most_and_counts_the_nameless() {
    let quota = Quota::per_second(1).burst(10);
    let watch = (Watch::new(0, 8).unwrap(), Watch::new(1, 8).unwrap());
    let mut keyed: Keyed<u64, _, _> =
        Keyed::with_observer(quota, 2, WhenFull::Refuse, DefaultHasher::new(), watch).unwrap();
    for key in [1, 1, 1, 2, 3] {
        let _answer = keyed.try_acquire(at(1), &key, 4);
    }
    keyed.charge(at(1), &2, 9).unwrap();
    let (watch, other) = keyed.observer();
    assert_eq!(
        watch.consumers().top(9).iter().map(|one| (*one.key, one.count)).collect::<Vec<_>>(),
        [(2, 13), (1, 8)]
    );
    assert_eq!(watch.refused().top(9).iter().map(|one| (*one.key, one.count)).collect::<Vec<_>>(), [(1, 1)]);
    assert_eq!((watch.unplaced(), other.consumers().len()), (1, 0));
    keyed.observer_mut().0.clear();
    assert!(keyed.observer().0.consumers().is_empty() && keyed.observer().0.unplaced() == 0);
}
