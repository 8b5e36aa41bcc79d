//! What limits reserve, keep and tell, case by case.

use core::time::Duration;

use tollgate::observe::{KeyEvent, KeyObserver};
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleSet, Target, TierId};
use tollgate::rate::{Blame, Limits, LimitsSettings};
use tollgate::{DefaultHasher, Reason};

use super::common::at;

const GROUP: GroupId = GroupId(1);
const OTHER: GroupId = GroupId(2);

fn rules(of: &[(Target<u64>, GroupId, u64)]) -> (RuleSet<u64>, Dimension) {
    let mut table = Dimensions::new();
    assert!(table.is_empty());
    let dimension = table.add("requests", "requests").unwrap();
    assert!(!table.is_empty());
    let rules = of.iter().enumerate().map(|(id, &(target, group, seconds))| {
        Rule::new(RuleId(id as u64), target, group, dimension, 10, Duration::from_secs(seconds))
    });
    (RuleSet::new(table, rules.collect()).unwrap(), dimension)
}

/// Amounts that were heard, in order.
#[derive(Debug, Default)]
struct Heard(Vec<KeyEvent>);

impl KeyObserver<u64> for Heard {
    fn on_key_event(&mut self, _key: Option<&u64>, event: KeyEvent) {
        self.0.push(event);
    }
}

#[test]
fn the_room_for_a_set_of_rules_is_for_the_most_that_one_owner_can_come_to_know() {
    let (a, b, tier) = (Target::Owner(1), Target::Owner(2), Target::Tier(TierId(1)));
    let (set, _) = rules(&[
        (a, GROUP, 1),
        (a, GROUP, 2),
        (a, GROUP, 3),
        (b, GROUP, 4),
        (tier, GROUP, 5),
        (tier, GROUP, 6),
        (Target::Default, GROUP, 6),
        (a, OTHER, 1),
        (b, OTHER, 2),
    ]);
    let room = LimitsSettings::for_rules(1, &set);
    // Three of its own and two of tiers and defaults in one group, one of its own in the other.
    assert_eq!((room.accounts, room.sheets, room.meters), (1, 2, 6));
    let room = LimitsSettings::for_rules(7, &set);
    assert_eq!((room.accounts, room.sheets, room.meters), (7, 14, 42));
}

#[test]
fn a_snapshot_counts_accounts_sheets_meters_and_sets() {
    let (set, _) =
        rules(&[(Target::Default, GROUP, 1), (Target::Default, GROUP, 2), (Target::Default, OTHER, 1)]);
    let mut limits: Limits<u64> = Limits::new(LimitsSettings::for_rules(4, &set), set.clone()).unwrap();
    for (owner, group) in [(1, GROUP), (1, OTHER), (2, GROUP)] {
        let session = limits.begin(at(0), &owner, None, group).unwrap();
        limits.commit(at(0), session);
    }
    limits.replace_rules(at(0), set);
    let kept = limits.snapshot();
    assert_eq!((kept.accounts, kept.sheets, kept.meters, kept.rule_sets), (2, 3, 5, 2));
}

#[test]
fn settling_at_what_was_taken_tells_nothing_and_the_difference_is_told_once() {
    let mut table = Dimensions::new();
    let [dimension, other] = ["requests", "tokens"].map(|name| table.add(name, name).unwrap());
    let minute = Duration::from_secs(60);
    let rule = |id, dimension| Rule::new(RuleId(id), Target::Default, GROUP, dimension, 10, minute);
    let set = RuleSet::new(table, vec![rule(1, dimension), rule(2, other)]).unwrap();
    let settings = LimitsSettings::for_rules(4, &set);
    let mut limits = Limits::with_observer(settings, set, DefaultHasher::new(), Heard::default()).unwrap();
    let mut session = limits.begin(at(0), &1, None, GROUP).unwrap();
    limits.evaluate(at(0), &mut session, dimension, 2).unwrap();
    limits.evaluate(at(0), &mut session, dimension, 3).unwrap();
    limits.observer_mut().0.clear();
    limits.settle(at(0), &mut session, dimension, 5);
    assert_eq!(limits.observer().0, []);
    // What was taken of another dimension meanwhile is passed over without a word.
    limits.evaluate(at(0), &mut session, other, 1).unwrap();
    limits.observer_mut().0.clear();
    limits.settle(at(0), &mut session, dimension, 4);
    let amount_of = |event: &KeyEvent| match *event {
        KeyEvent::Returned { amount, .. } => -i128::from(amount),
        KeyEvent::Charged { amount, .. } => i128::from(amount),
        _ => 0,
    };
    assert_eq!(limits.observer().0.iter().map(amount_of).collect::<Vec<_>>(), [-1]);
    limits.settle(at(0), &mut session, dimension, 9);
    assert_eq!(limits.observer().0.iter().map(amount_of).collect::<Vec<_>>(), [-1, 5]);
    limits.commit(at(0), session);
}

#[test]
fn several_costs_are_taken_together_or_not_at_all() {
    let (set, dimension) = rules(&[(Target::Default, GROUP, 60)]);
    let mut limits: Limits<u64> = Limits::new(LimitsSettings::for_rules(4, &set), set).unwrap();
    let mut session = limits.begin(at(0), &1, None, GROUP).unwrap();
    let too_much = limits.evaluate_all(at(0), &mut session, &[(dimension, 6), (dimension, 5)]).unwrap_err();
    assert_eq!((too_much.reason, too_much.asked), (Reason::ExceedsCapacity, 11));
    limits.evaluate_all(at(0), &mut session, &[(dimension, 6), (dimension, 4)]).unwrap();
    assert!(limits.evaluate(at(0), &mut session, dimension, 1).is_err());
    limits.roll_back(at(0), session, Blame::Nobody);
}

#[test]
fn an_account_is_not_forgotten_while_its_grace_lasts() {
    let (set, _) = rules(&[(Target::Default, GROUP, 1)]);
    let grace = Duration::from_nanos(100);
    let mut limits: Limits<u64> =
        Limits::new(LimitsSettings { grace, ..LimitsSettings::for_rules(1, &set) }, set).unwrap();
    for tier in [TierId(1), TierId(2)] {
        let session = limits.begin(at(0), &1, Some(tier), GROUP).unwrap();
        limits.commit(at(0), session);
    }
    assert!(limits.begin(at(99), &2, None, GROUP).is_err());
    assert!(limits.begin(at(100), &2, None, GROUP).is_ok());
}
