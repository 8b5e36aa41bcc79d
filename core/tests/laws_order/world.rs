//! One door in four forms: for one owner, for threads in one shard and in four, and its limits one by one.

use core::time::Duration;

use proptest::prelude::*;
use tollgate::order::{Admission, Admitted, Pass, Request, SharedAdmission};
use tollgate::permit::{self, Bypass, Cap, InFlight, SharedInFlight};
use tollgate::rate::rules::{
    Dimension, Dimensions, GroupId, Refund, Rule, RuleId, RuleOvershoot, RuleSet, Strategy as Counted, Target,
};
use tollgate::rate::{Blame, Limits, LimitsSettings, WindowState};
use tollgate::{DefaultHasher, Timestamp};

use crate::common::at;
use crate::one_by_one::{Held, OneByOne};

const OWNERS: u64 = 3;
const GROUP: GroupId = GroupId(7);
const S: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Admit { owner: u64, costs: Vec<(usize, u64)>, slots: Vec<(u8, u64)>, bypass: Bypass },
    Evaluate(usize, usize, u64),
    Settle(usize, usize, u64),
    End(usize, Option<Blame>),
    Drop(usize),
    Wait(u64),
    SetCap(u8, Option<u32>),
}

pub(crate) fn run(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let bypass = prop_oneof![8 => Just(Bypass::None), 1 => Just(Bypass::InFlight), 1 => Just(Bypass::Whole)];
    let blame = prop_oneof![Just(Blame::Nobody), Just(Blame::Client), Just(Blame::Server)];
    let costs = prop::collection::vec((0..3_usize, 0..5_u64), 0..4);
    let slots = prop::collection::vec((0..2_u8, 0..OWNERS), 0..3);
    let cap = prop::option::weighted(0.8, 0..4_u32);
    let op = prop_oneof![
        8 => (0..OWNERS, costs, slots, bypass)
            .prop_map(|(owner, costs, slots, bypass)| Op::Admit { owner, costs, slots, bypass }),
        2 => (any::<usize>(), 0..3_usize, 0..6_u64).prop_map(|(who, of, amount)| Op::Evaluate(who, of, amount)),
        2 => (any::<usize>(), 0..3_usize, 0..9_u64).prop_map(|(who, of, amount)| Op::Settle(who, of, amount)),
        4 => (any::<usize>(), prop::option::of(blame)).prop_map(|(who, blame)| Op::End(who, blame)),
        1 => any::<usize>().prop_map(Op::Drop),
        3 => (0..20 * S).prop_map(Op::Wait),
        1 => (0..2_u8, cap).prop_map(|(of, cap)| Op::SetCap(of, cap)),
    ];
    prop::collection::vec(op, 1..most)
}

/// A request of each form, as far as it got.
struct Under {
    owner: u64,
    owned: Admitted,
    single: Pass<u64>,
    spread: Pass<u64>,
    one_by_one: Held,
}

pub(crate) struct World {
    now: Timestamp,
    dimensions: [Dimension; 3],
    owned: Admission<u64>,
    single: SharedAdmission<u64>,
    spread: SharedAdmission<u64>,
    one_by_one: OneByOne,
    under_way: Vec<Under>,
}

pub(crate) fn slot(index: u8) -> permit::Dimension {
    permit::Dimension::new(index).unwrap()
}

/// A request count with two windows, a duration that may overshoot, tokens whose failures are free for the client.
pub(crate) fn rules() -> (RuleSet<u64>, [Dimension; 3]) {
    let mut table = Dimensions::new();
    let requests = table.add("request_count", "requests").unwrap();
    let duration = table.add("duration", "seconds").unwrap();
    let free = Refund { after_client_error: true, after_server_error: true };
    let tokens = table.add_with("output_token_count", "tokens", free).unwrap();
    let rule = |number, dimension, limit, seconds| {
        Rule::new(RuleId(number), Target::Default, GROUP, dimension, limit, Duration::from_secs(seconds))
    };
    let rules = vec![
        rule(1, requests, 7, 10),
        Rule { strategy: Counted::Fixed, ..rule(2, requests, 12, 60) },
        Rule { overshoot: RuleOvershoot::Lock { max_debt_ppm: 500_000 }, ..rule(3, duration, 8, 20) },
        Rule { strategy: Counted::Sliding { slices: 4 }, ..rule(4, tokens, 9, 30) },
    ];
    (RuleSet::new(table, rules).unwrap(), [requests, duration, tokens])
}

impl World {
    pub(crate) fn new() -> Self {
        let (rules, dimensions) = rules();
        let settings = LimitsSettings::for_rules(OWNERS as u32 * 4, &rules);
        let shared = |shards| {
            let in_flight = SharedInFlight::with_hasher(100, 10, shards, DefaultHasher::new()).unwrap();
            let observer = |_| tollgate::observe::NoObserver;
            let hasher = DefaultHasher::new();
            SharedAdmission::with_observers(settings, rules.clone(), in_flight, shards, hasher, observer)
                .unwrap()
        };
        let limits = || Limits::new(settings, rules.clone()).unwrap();
        let mut world = Self {
            now: at(5),
            dimensions,
            owned: Admission::new(limits(), InFlight::new(100, 10).unwrap()),
            single: shared(1),
            spread: shared(4),
            one_by_one: OneByOne { limits: limits(), in_flight: InFlight::new(100, 10).unwrap() },
            under_way: vec![],
        };
        // Everybody is known.
        (0..OWNERS).for_each(|owner| world.admit(owner, &[], &[], Bypass::None).unwrap());
        for _ in 0..OWNERS {
            world.end(0, None);
        }
        world
    }

    pub(crate) fn run(&mut self, run: Vec<Op>) -> Result<(), TestCaseError> {
        for op in run {
            match op {
                Op::Admit { owner, costs, slots, bypass } => self.admit(owner, &costs, &slots, bypass)?,
                Op::Evaluate(who, of, amount) => self.evaluate(who, of, amount)?,
                Op::Settle(who, of, amount) => self.settle(who, of, amount),
                Op::End(who, blame) => self.end(who, blame),
                Op::Drop(who) => self.let_go(who),
                Op::Wait(nanos) => self.now = self.now.saturating_add(Duration::from_nanos(nanos)),
                Op::SetCap(of, cap) => self.set_cap(slot(of), cap.map_or(Cap::Unlimited, Cap::At)),
            }
            self.compare()?;
        }
        while !self.under_way.is_empty() {
            self.end(0, None);
        }
        prop_assert!(self.owned.in_flight().is_empty() && self.spread.in_flight().is_empty());
        self.compare()
    }

    fn admit(
        &mut self,
        owner: u64,
        costs: &[(usize, u64)],
        slots: &[(u8, u64)],
        bypass: Bypass,
    ) -> Result<(), TestCaseError> {
        let costs: Vec<_> = costs.iter().map(|&(of, amount)| (self.dimensions[of], amount)).collect();
        let slots: Vec<_> = slots.iter().map(|(of, key)| (slot(*of), key)).collect();
        let request = Request::of(&owner, GROUP).costs(&costs).slots(&slots).bypass(bypass);
        let before = format!("{:?}", self.owned.limits());
        let answers = (
            self.owned.try_admit(self.now, &request),
            self.single.try_admit(self.now, &request),
            self.spread.try_admit(self.now, &request),
            self.one_by_one.try_admit(self.now, &request),
        );
        match answers {
            (Ok(owned), Ok(single), Ok(spread), Ok(one_by_one)) => {
                self.under_way.push(Under { owner, owned, single, spread, one_by_one });
            }
            (Err(owned), Err(single), Err(spread), Err(one_by_one)) => {
                prop_assert_eq!([owned, single, spread], [one_by_one; 3]);
                prop_assert_eq!(before, format!("{:?}", self.owned.limits()), "bit for bit");
            }
            answers => prop_assert!(false, "{answers:?}"),
        }
        Ok(())
    }

    fn evaluate(&mut self, who: usize, of: usize, amount: u64) -> Result<(), TestCaseError> {
        let (now, dimension) = (self.now, self.dimensions[of]);
        let Some(who) = who.checked_rem(self.under_way.len()) else { return Ok(()) };
        let under = &mut self.under_way[who];
        let owned = self.owned.evaluate(now, &mut under.owned, dimension, amount);
        let single = under.single.evaluate(now, dimension, amount);
        let spread = under.spread.evaluate(now, dimension, amount);
        let one_by_one = under
            .one_by_one
            .0
            .as_mut()
            .map_or(Ok(()), |session| self.one_by_one.limits.evaluate(now, session, dimension, amount));
        prop_assert_eq!([owned, single, spread], [one_by_one; 3]);
        Ok(())
    }

    fn settle(&mut self, who: usize, of: usize, actual: u64) {
        let (now, dimension) = (self.now, self.dimensions[of]);
        let Some(who) = who.checked_rem(self.under_way.len()) else { return };
        let under = &mut self.under_way[who];
        self.owned.settle(now, &mut under.owned, dimension, actual);
        under.single.settle(now, dimension, actual);
        under.spread.settle(now, dimension, actual);
        if let Some(session) = &mut under.one_by_one.0 {
            self.one_by_one.limits.settle(now, session, dimension, actual);
        }
    }

    fn end(&mut self, who: usize, blame: Option<Blame>) {
        let now = self.now;
        let Some(who) = who.checked_rem(self.under_way.len()) else { return };
        let under = self.under_way.swap_remove(who);
        match blame {
            None => {
                self.owned.complete(now, under.owned).unwrap();
                under.single.complete(now);
                under.spread.complete(now);
            }
            Some(blame) => {
                self.owned.roll_back(now, under.owned, blame).unwrap();
                under.single.roll_back(now, blame);
                under.spread.roll_back(now, blame);
            }
        }
        self.one_by_one.end(now, under.one_by_one, blame);
    }

    /// Dropped, a pass is rolled back as if its client had left, at the latest instant its shard has seen.
    fn let_go(&mut self, who: usize) {
        let now = self.now;
        let Some(who) = who.checked_rem(self.under_way.len()) else { return };
        let under = self.under_way.swap_remove(who);
        let _seen = (report(&self.single, now, under.owner), report(&self.spread, now, under.owner));
        drop((under.single, under.spread));
        self.owned.roll_back(now, under.owned, Blame::Client).unwrap();
        self.one_by_one.end(now, under.one_by_one, Some(Blame::Client));
    }

    fn set_cap(&mut self, of: permit::Dimension, cap: Cap) {
        self.owned.in_flight_mut().set_cap(of, cap);
        self.single.in_flight().set_cap(of, cap);
        self.spread.in_flight().set_cap(of, cap);
        self.one_by_one.in_flight.set_cap(of, cap);
    }

    /// Everybody stands alike in all forms.
    fn compare(&mut self) -> Result<(), TestCaseError> {
        for owner in 0..OWNERS {
            let account = self.one_by_one.limits.account(&owner).unwrap();
            let expected: Vec<_> =
                self.one_by_one.limits.report(self.now, account, GROUP, None).unwrap().collect();
            let account = self.owned.limits().account(&owner).unwrap();
            let owned = self.owned.limits_mut().report(self.now, account, GROUP, None).unwrap().collect();
            let all: [Vec<WindowState>; 3] =
                [owned, report(&self.single, self.now, owner), report(&self.spread, self.now, owner)];
            prop_assert!(all.iter().all(|report| *report == expected), "{all:?}, expected {expected:?}");
            for of in [slot(0), slot(1)] {
                let held = self.one_by_one.in_flight.held(of, &owner);
                let all = [
                    self.owned.in_flight().held(of, &owner),
                    self.single.in_flight().held(of, &owner),
                    self.spread.in_flight().held(of, &owner),
                ];
                prop_assert_eq!(all, [held; 3]);
            }
        }
        Ok(())
    }
}

fn report(door: &SharedAdmission<u64>, now: Timestamp, owner: u64) -> Vec<WindowState> {
    door.with_owner(&owner, |limits| {
        let account = limits.account(&owner).unwrap();
        limits.report(now, account, GROUP, None).unwrap().collect()
    })
}
