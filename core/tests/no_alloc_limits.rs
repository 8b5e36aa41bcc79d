//! Sessions, and requests at the door, do not allocate once their limits are built: no owner, no change, no refusal does.
#![cfg(all(feature = "std", not(tollgate_loom)))]

use core::time::Duration;

use allocation_counter::measure;
use tollgate::Timestamp;
use tollgate::order::{Admission, Request, SharedAdmission};
use tollgate::permit::{self, Bypass, Cap, InFlight, SharedInFlight};
use tollgate::rate::rules::{Dimensions, GroupId, Rule, RuleId, RuleSet, Strategy, Target, TierId};
use tollgate::rate::{Blame, Limits, LimitsSettings};

const OPERATIONS: u64 = 10_000;

#[test]
fn sessions_do_not_allocate_whoever_comes_and_whatever_changes() {
    let mut table = Dimensions::new();
    let all = ["a", "b", "c"].map(|name| table.add(name, "units").unwrap());
    let minute = Duration::from_secs(60);
    let rule = |number: u64, strategy, starts: Option<u64>| Rule {
        strategy,
        starts: starts.map(Timestamp::from_nanos),
        window: Duration::from_secs(60 + number),
        ..Rule::new(RuleId(number), Target::Default, GroupId(0), all[number as usize % 3], 500, minute)
    };
    let strategies = [
        Strategy::Bucket { burst: None },
        Strategy::Fixed,
        Strategy::Sliding { slices: 15 },
        Strategy::Bucket { burst: Some(9) },
    ];
    let set = |shift: usize| {
        let strategy = |number: u64| strategies[(number as usize + shift) % strategies.len()];
        let rules =
            (0..6).map(|number| rule(number, strategy(number), (number == 5).then_some(OPERATIONS * 40)));
        RuleSet::new(table.clone(), rules.collect()).unwrap()
    };
    let mut sets: Vec<_> = (0..20).map(set).collect();
    let settings =
        LimitsSettings { grace: Duration::from_nanos(9_999), ..LimitsSettings::for_rules(20, &sets[0]) };
    let mut limits: Limits<u64, _> = Limits::new(settings, set(1)).unwrap();
    let (mut refused, mut passed, mut old) = (0, 0, Vec::with_capacity(sets.len()));
    let counted = measure(|| {
        for number in 0..OPERATIONS {
            let now = Timestamp::from_nanos(number * 79);
            if number % 500 == 499 {
                old.push(limits.replace_rules(now, sets.pop().unwrap()));
            }
            let tier = Some(TierId((number / 64 % 2) as u32));
            let Ok(mut session) = limits.begin(now, &(number * 7 % 31), tier, GroupId(0)) else {
                refused += 1;
                continue;
            };
            for (dimension, cost) in all.into_iter().zip(1..) {
                match limits.evaluate(now, &mut session, dimension, cost * 3) {
                    Ok(()) => passed += 1,
                    Err(denied) => refused += u64::from(denied.asked > 0),
                }
            }
            limits.settle(now, &mut session, all[0], number % 7);
            if number % 3 == 0 {
                limits.commit(now, session);
            } else {
                limits.roll_back(now, session, Blame::Server);
            }
        }
    });
    assert_eq!(counted.count_total, 0);
    assert!(passed > 1_000 && refused > 10, "{passed} {refused}");
}

const USER: permit::Dimension = permit::Dimension::new(0).unwrap();
const TEAM: permit::Dimension = permit::Dimension::new(1).unwrap();

#[test]
fn requests_at_the_door_do_not_allocate_in_either_form() {
    let mut table = Dimensions::new();
    let [requests, tokens] = ["requests", "tokens"].map(|name| table.add(name, name).unwrap());
    let rule = |number, dimension, limit| {
        Rule::new(RuleId(number), Target::Default, GroupId(0), dimension, limit, Duration::from_secs(60))
    };
    let rules = RuleSet::new(table, vec![rule(1, requests, 300), rule(2, tokens, 900)]).unwrap();
    let settings = LimitsSettings::for_rules(40, &rules);
    let mut own =
        Admission::new(Limits::new(settings, rules.clone()).unwrap(), InFlight::<u64>::new(40, 1).unwrap());
    let shared = SharedAdmission::new(settings, rules, SharedInFlight::<u64>::new(400, 1).unwrap()).unwrap();
    own.in_flight_mut().set_cap(TEAM, Cap::At(2));
    shared.in_flight().set_cap(TEAM, Cap::At(2));
    let (mut admitted, mut refused) = (0, 0);
    let (mut held, mut passes) = (Vec::with_capacity(8), Vec::with_capacity(8));
    let counted = measure(|| {
        for number in 0..OPERATIONS {
            let now = Timestamp::from_nanos(number * 1_000_000);
            let (user, team) = (number % 29, number % 3);
            let (costs, slots) = ([(requests, 1), (tokens, number % 9)], [(USER, &user), (TEAM, &team)]);
            let bypass = if number % 50 == 0 { Bypass::Whole } else { Bypass::None };
            let request = Request::of(&user, GroupId(0)).costs(&costs).slots(&slots).bypass(bypass);
            match own.try_admit(now, &request) {
                Ok(one) => held.push(one),
                Err(_) => refused += 1,
            }
            match shared.try_admit(now, &request) {
                Ok(pass) => passes.push(pass),
                Err(_) => refused += 1,
            }
            if held.len() == 8 || number % 5 == 0 {
                admitted += held.len();
                held.drain(..).for_each(|one| own.complete(now, one).unwrap());
            }
            if passes.len() == 8 || number % 5 == 0 {
                passes.clear();
            }
        }
    });
    assert_eq!(counted.count_total, 0);
    assert!(admitted > 1_000 && refused > 1_000, "{admitted} {refused}");
}
