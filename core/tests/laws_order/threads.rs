//! Admission by several limits is one step, whoever else is at the door: histories of threads, recorded and checked.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Barrier, Mutex};

use tollgate::observe::{KeyEvent, KeyObserver};
use tollgate::order::{Pass, Request, SharedAdmission};
use tollgate::permit::{Cap, SharedInFlight};
use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Strategy, Target};
use tollgate::rate::{Blame, LimitsSettings};
use tollgate::{DefaultHasher, Timestamp};

use crate::history::{Model, Recorded, is_linearizable};
use crate::world::slot;

const THREADS: u64 = 4;
const STEPS: u64 = 6;
const OWNERS: usize = 2;
const BUDGET: u64 = 3;
const CAP: u32 = 2;
const NOW: Timestamp = Timestamp::ZERO;

/// Whoever holds a lock holds it for long, so that others queue for it: what is not done under one lock is seen half done.
#[derive(Clone, Copy)]
struct Dawdle;

impl KeyObserver<u64> for Dawdle {
    fn on_key_event(&mut self, _key: Option<&u64>, _event: KeyEvent) {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// What a request of an owner asks for: of its budget, a slot of its own, a slot of the team that all owners share.
#[derive(Clone, Copy, Debug)]
struct Asks {
    owner: usize,
    budget: bool,
    own: bool,
    team: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Admit(Asks),
    Complete(Asks),
    RollBack(Asks),
}

/// What is consumed of each budget, and what is in flight of each owner and of the team.
#[derive(Clone, Default, Eq, Hash, PartialEq)]
struct Door {
    consumed: [u64; OWNERS],
    held: [u32; OWNERS],
    team: u32,
}

impl Model for Door {
    type Operation = Step;
    type Answer = bool;

    fn apply(&mut self, step: Step) -> bool {
        let (Step::Admit(asks) | Step::Complete(asks) | Step::RollBack(asks)) = step;
        let (consumed, held) = (&mut self.consumed[asks.owner], &mut self.held[asks.owner]);
        match step {
            Step::Admit(_) => {
                let passes = (!asks.budget || *consumed < BUDGET)
                    && (!asks.own || *held < CAP)
                    && (!asks.team || self.team < CAP);
                *consumed += u64::from(passes && asks.budget);
                *held += u32::from(passes && asks.own);
                self.team += u32::from(passes && asks.team);
                passes
            }
            Step::Complete(_) | Step::RollBack(_) => {
                *consumed -= u64::from(asks.budget && matches!(step, Step::RollBack(_)));
                *held -= u32::from(asks.own);
                self.team -= u32::from(asks.team);
                true
            }
        }
    }
}

/// A door of many shards, so that owners and team are behind different locks.
fn door() -> SharedAdmission<u64, DefaultHasher, Dawdle> {
    let mut table = Dimensions::new();
    let requests = table.add("request_count", "requests").unwrap();
    let day = Duration::from_secs(86_400);
    let rule = Rule::new(RuleId(1), Target::Default, GroupId(0), requests, BUDGET, day);
    // Nothing comes back by itself.
    let rules = RuleSet::new(table, vec![Rule { strategy: Strategy::Allowance, ..rule }]).unwrap();
    let in_flight = SharedInFlight::with_observers(64, 1, 16, DefaultHasher::new(), |_| Dawdle).unwrap();
    in_flight.set_cap(slot(0), Cap::At(CAP));
    in_flight.set_cap(slot(1), Cap::At(CAP));
    let settings = LimitsSettings::for_rules(64, &rules);
    SharedAdmission::with_observers(settings, rules, in_flight, 16, DefaultHasher::new(), |_| Dawdle).unwrap()
}

type History = Vec<Recorded<Step, bool>>;
type Held = Vec<(Asks, Pass<u64, DefaultHasher, Dawdle>)>;

/// What one thread does, by its own coin, and what is left in flight.
fn play(
    door: &SharedAdmission<u64, DefaultHasher, Dawdle>,
    clock: &AtomicU64,
    mut coin: u64,
) -> (History, Held) {
    let requests = door.with_owner(&0, |limits| limits.rules().dimensions().find("request_count")).unwrap();
    let (mut history, mut held) = (History::new(), Held::new());
    for _ in 0..STEPS {
        coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let flip = |bit: u32| (coin >> bit).is_multiple_of(2);
        let leaves = (coin >> 35) % 5 < 2 && !held.is_empty();
        let tick = || clock.fetch_add(1, Ordering::SeqCst);
        let (called, operation, answer) = if leaves {
            let (asks, pass) = held.swap_remove(0);
            let called = tick();
            if flip(40) {
                pass.complete(NOW);
                (called, Step::Complete(asks), true)
            } else {
                pass.roll_back(NOW, Blame::Nobody);
                (called, Step::RollBack(asks), true)
            }
        } else {
            let asks = Asks {
                owner: (coin >> 33) as usize % OWNERS,
                budget: flip(42) || flip(43),
                own: flip(44) || flip(45),
                team: flip(46) || flip(47),
            };
            let name = asks.owner as u64;
            let (costs, slots) = ([(requests, 1)], [(slot(0), &name), (slot(1), &9)]);
            let costs = if asks.budget { &costs[..] } else { &[] };
            let slots = &slots[usize::from(!asks.own)..1 + usize::from(asks.team)];
            let request = Request::of(&name, GroupId(0)).costs(costs).slots(slots);
            let called = tick();
            let answer = door.try_admit(NOW, &request);
            let admitted = answer.is_ok();
            held.extend(answer.ok().map(|pass| (asks, pass)));
            (called, Step::Admit(asks), admitted)
        };
        history.push(Recorded { called, returned: tick(), operation, answer });
    }
    (history, held)
}

#[test]
fn admissions_completions_and_roll_backs_of_threads_happen_one_at_a_time() {
    let rounds = 1_000 * std::env::var("TOLLGATE_LAWS_TIMES").map_or(1, |times| times.parse().unwrap_or(1));
    let (mut refused, mut overlapped) = (0, 0);
    for round in 0..rounds {
        let (door, clock, start) = (door(), AtomicU64::new(0), Barrier::new(THREADS as usize));
        let all = Mutex::new((History::new(), vec![]));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (door, clock, start, all) = (&door, &clock, &start, &all);
                scope.spawn(move || {
                    start.wait();
                    let (history, held) = play(door, clock, round * THREADS + thread);
                    let mut all = all.lock().unwrap();
                    all.0.extend(history);
                    all.1.push(held);
                });
            }
        });
        // Whoever is still in flight stays there meanwhile: a drop is no part of the history.
        let (history, _held) = all.into_inner().unwrap();
        refused += history.iter().filter(|one| !one.answer).count();
        overlapped += history.iter().filter(|one| one.returned > one.called + 1).count();
        assert!(is_linearizable(&Door::default(), &history), "round {round}: {history:#?}");
    }
    assert!(refused > 0 && overlapped > 0, "nothing was shown: {refused} refused, {overlapped} overlapped");
}
