//! Numbers at the ends of their types.

use core::time::Duration;

use proptest::prelude::*;
use tollgate::rate::rules::{
    Dimensions, GroupId, Rule, RuleId, RuleOvershoot, RuleSet, Strategy as Counting,
};
use tollgate::rate::rules::{Target, TierId};
use tollgate::rate::{Blame, Limits, LimitsSettings};
use tollgate_model::ops;

use super::common::{at, cases};

fn rule() -> impl Strategy<Value = (u64, u64, Counting, Option<u32>, Option<u64>)> {
    let strategy = prop_oneof![
        2 => prop::option::of(ops::edge()).prop_map(|burst| Counting::Bucket { burst }),
        1 => Just(Counting::Fixed),
        1 => (0..20_u32).prop_map(|slices| Counting::Sliding { slices }),
        1 => Just(Counting::Allowance),
    ];
    let debt = prop::option::of(prop_oneof![Just(0), Just(u32::MAX), 0..2_000_000_u32]);
    (ops::edge(), ops::edge(), strategy, debt, prop::option::of(ops::edge()))
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Rules are refused or held to, sums end and do not wrap, and what is told to remain is there.
    #[test]
    fn the_ends_of_every_type_are_numbers_like_any_other(
        rules in prop::collection::vec(rule(), 1..5),
        run in prop::collection::vec((ops::edge(), ops::edge(), 0..5_u32), 1..30),
    ) {
        let mut table = Dimensions::new();
        let dimension = table.add("d", "units").unwrap();
        let mut set = Vec::new();
        for (number, (limit, window, strategy, debt, ends)) in (0..).zip(rules) {
            let overshoot = debt.map_or(RuleOvershoot::Deny, |max_debt_ppm| RuleOvershoot::Lock { max_debt_ppm });
            let window = Duration::from_nanos(window);
            let target = [Target::Default, Target::Tier(TierId(1)), Target::Owner(0)][number as usize % 3];
            let rule = Rule::new(RuleId(number), target, GroupId(0), dimension, limit, window);
            let one = Rule { strategy, overshoot, expires: ends.map(at), ..rule };
            // What can be on its own and with those before it.
            set.push(one);
            if RuleSet::<u64, _>::new(table.clone(), set.clone()).is_err() {
                set.pop();
            }
        }
        let rules = RuleSet::new(table, set).unwrap();
        let settings = LimitsSettings { grace: Duration::MAX, ..LimitsSettings::for_rules(2, &rules) };
        let mut limits: Limits<u64, _> = Limits::new(settings, rules).unwrap();
        for (now, cost, what) in run {
            let tier = (what > 2).then_some(TierId(1));
            // There is room for the meters of all that it may have been.
            let mut session = limits.begin(at(now), &0, tier, GroupId(0)).unwrap();
            let answer = limits.evaluate(at(now), &mut session, dimension, cost);
            if let Err(denied) = &answer {
                prop_assert!(!limits.explain(denied).to_string().is_empty());
            }
            if what == 1 {
                limits.settle(at(now), &mut session, dimension, now);
            }
            let account = session.account();
            if what == 2 {
                limits.roll_back(at(now), session, Blame::Nobody);
            } else {
                limits.commit(at(now), session);
            }
            limits.check_invariants();
            let told: Vec<_> = limits.report(at(now), account, GroupId(0), None).unwrap().collect();
            let least = told.iter().map(|state| state.remaining).min().unwrap_or(0);
            let mut session = limits.begin_known(at(now), account, GroupId(0)).unwrap();
            prop_assert!(least == 0 || limits.evaluate(at(now), &mut session, dimension, least).is_ok());
            limits.roll_back(at(now), session, Blame::Nobody);
        }
    }
}
