use core::time::Duration;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::time::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);

fn table() -> (Dimensions, Dimension, Dimension) {
    let mut table = Dimensions::new();
    let requests = table.add("request_count", "requests").unwrap();
    let tokens = table.add("output_token_count", "tokens").unwrap();
    (table, requests, tokens)
}

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

#[test]
fn every_bad_rule_is_named_with_what_is_wrong_and_what_would_be_right() {
    let (table, requests, _) = table();
    let mut others = Dimensions::new();
    let foreign = (0..5).map(|n| others.add(&n.to_string(), "").unwrap()).last().unwrap();
    let rule = |id, target| Rule::new(RuleId(id), target, GroupId(0), requests, 60, MINUTE);
    let sliding = |slices| Strategy::Sliding { slices };
    let rules = vec![
        Rule { limit: 0, window: Duration::ZERO, ..rule(1, Target::Default) },
        Rule { dimension: foreign, ..rule(2, Target::Default) },
        Rule { strategy: sliding(16), ..rule(3, Target::Owner(1)) },
        Rule { strategy: sliding(9), window: Duration::from_nanos(8), ..rule(4, Target::Owner(2)) },
        Rule { strategy: Strategy::Bucket { burst: Some(0) }, ..rule(5, Target::Owner(3)) },
        Rule { starts: Some(at(9)), expires: Some(at(9)), ..rule(6, Target::Owner(4)) },
        Rule {
            limit: u64::MAX,
            overshoot: RuleOvershoot::Lock { max_debt_ppm: 1 },
            ..rule(7, Target::Owner(5))
        },
        rule(8, Target::Tier(TierId(1))),
        rule(8, Target::Tier(TierId(2))),
        Rule { window: Duration::MAX, ..rule(10, Target::Tier(TierId(2))) },
    ];
    let errors = RuleSet::new(table, rules).unwrap_err();
    let named: Vec<_> = errors.errors().iter().map(|error| (error.rule.0, error.violation.field)).collect();
    let expected = [
        (1, "limit"),
        (1, "window"),
        (2, "dimension"),
        (3, "strategy.slices"),
        (4, "window"),
        (5, "strategy.burst"),
        (6, "expires"),
        (7, "overshoot.max_debt_ppm"),
        (8, "id"),
        (10, "window"),
    ];
    assert_eq!(named, expected);
    assert_eq!(errors.errors()[8].position, 8);
    assert!(
        errors
            .to_string()
            .contains("rule 8: id is 8, allowed is a number that no other rule has (see rule 8)")
    );
}

#[test]
fn two_rules_over_one_window_may_follow_but_not_meet_one_another() {
    let (table, requests, tokens) = table();
    let rule = |id, starts: Option<u64>, expires: Option<u64>| Rule {
        starts: starts.map(at),
        expires: expires.map(at),
        ..Rule::new(RuleId(id), Target::<u64>::Default, GroupId(0), requests, 60, MINUTE)
    };
    let other_dimension = Rule { dimension: tokens, ..rule(9, None, None) };
    let other_group = Rule { group: GroupId(1), ..rule(10, None, None) };
    let fine = vec![
        rule(1, None, Some(5)),
        rule(2, Some(9), None),
        rule(3, Some(5), Some(9)),
        other_dimension,
        other_group,
    ];
    assert!(RuleSet::new(table.clone(), fine).is_ok());
    // The first outlasts the second, and meets the third.
    let bad = vec![rule(1, None, Some(50)), rule(2, Some(1), Some(2)), rule(3, Some(49), None)];
    let errors = RuleSet::new(table.clone(), bad).unwrap_err();
    let named: Vec<_> = errors.errors().iter().map(|error| (error.rule.0, error.other.unwrap().0)).collect();
    assert_eq!(named, [(2, 1), (3, 1)]);
    // It is the one before that the third meets, although it does not meet the first.
    let bad = vec![rule(1, None, Some(5)), rule(2, Some(5), Some(9)), rule(3, Some(8), None)];
    let errors = RuleSet::new(table.clone(), bad).unwrap_err();
    assert_eq!((errors.errors().len(), errors.errors()[0].other), (1, Some(RuleId(2))));
    // Whatever lasts for ever meets all that follow.
    let bad = vec![rule(1, None, None), rule(2, Some(1), Some(2)), rule(3, Some(49), None)];
    assert_eq!(RuleSet::new(table, bad).unwrap_err().errors().len(), 2);
}

#[test]
fn windows_are_bounded_for_a_dimension_and_for_a_group() {
    let mut table = Dimensions::new();
    let all: Vec<_> = (0..5).map(|n| table.add(&n.to_string(), "").unwrap()).collect();
    let rules = |windows: u64, of: &[Dimension]| {
        let mut rules = Vec::new();
        for (number, &dimension) in of.iter().enumerate() {
            for window in 0..windows {
                let id = RuleId(number as u64 * 100 + window);
                let window = Duration::from_secs(1 + window);
                // Tiers, too: their windows are never in force together.
                let target = if number % 2 == 0 { Target::<u64>::Default } else { Target::Tier(TierId(1)) };
                rules.push(Rule::new(id, target, GroupId(0), dimension, 1, window));
            }
        }
        rules
    };
    assert!(RuleSet::new(table.clone(), rules(8, &all[..4])).is_ok());
    assert_eq!(RuleSet::new(table.clone(), rules(9, &all[..1])).unwrap_err().errors().len(), 1);
    let errors = RuleSet::new(table, rules(7, &all)).unwrap_err();
    assert_eq!(errors.errors()[0].violation.given, crate::error::Given::Integer(35));
}

#[test]
fn names_and_numbers_of_dimensions_are_checked() {
    let (mut table, requests, _) = table();
    assert_eq!((table.name(requests), table.unit(requests), table.len()), ("request_count", "requests", 2));
    assert!(table.add("request_count", "calls").is_err());
    let added = (2..17).filter(|n| table.add(&n.to_string(), "").is_ok()).count();
    assert_eq!((added, table.len(), table.find("16")), (14, 16, None));
}

#[test]
fn who_has_which_rule_and_which_of_them_end_can_be_asked() {
    let (table, requests, tokens) = table();
    let rule = |id, target, dimension, starts: u64, expires: u64| Rule {
        starts: Some(at(starts)),
        expires: Some(at(expires)),
        ..Rule::new(RuleId(id), target, GroupId(0), dimension, 60, MINUTE)
    };
    let rules = vec![
        rule(1, Target::Owner("acme"), requests, 0, 100),
        rule(2, Target::Owner("acme"), tokens, 50, 200),
        rule(3, Target::Owner("other"), requests, 0, 100),
        rule(4, Target::Tier(TierId(1)), requests, 0, 60),
    ];
    let rules = RuleSet::new(table, rules).unwrap();
    let ids = |found: &mut dyn Iterator<Item = &Rule<&str>>| {
        let mut ids: Vec<_> = found.map(|rule| rule.id.0).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&mut rules.in_force(at(49), Target::Owner(&"acme"))), [1]);
    assert_eq!(ids(&mut rules.in_force(at(50), Target::Owner(&"acme"))), [1, 2]);
    assert_eq!(ids(&mut rules.in_force(at(60), Target::Tier(TierId(1)))), []);
    assert_eq!(ids(&mut rules.expired(at(99))), [4]);
    assert_eq!(ids(&mut rules.expired(at(100))), [1, 3, 4]);
    assert_eq!(ids(&mut rules.expiring(at(60), Duration::from_nanos(40))), [1, 3]);
    assert_eq!(ids(&mut rules.expiring(at(60), Duration::from_nanos(39))), []);
}

#[test]
fn a_thousand_owners_with_rules_of_their_own_find_theirs() {
    let (table, requests, _) = table();
    let rules = (0..1_000_u64)
        .map(|owner| Rule::new(RuleId(owner), Target::Owner(owner), GroupId(0), requests, owner + 1, MINUTE));
    let rules = RuleSet::new(table, rules.collect()).unwrap();
    for owner in 0..1_001 {
        let standing = Standing { owner: Some(&owner), tier: None, former: None };
        let plan = rules.plan(&standing, GroupId(0), at(0));
        let limits: Vec<_> = plan.lines.iter().map(|&line| rules.rule(line).unwrap().limit).collect();
        assert_eq!(limits, if owner < 1_000 { vec![owner + 1] } else { vec![] });
    }
}
