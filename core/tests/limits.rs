//! What limits do when rules, tiers, time and owners come and go, case by case; `laws_limits` says it of all cases.
#![cfg(all(feature = "std", not(tollgate_loom)))]

use core::time::Duration;

use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleOvershoot, RuleSet};
use tollgate::rate::rules::{Strategy, Target, TierId};
use tollgate::rate::{Blame, Limits, LimitsSettings, WhenFull};
use tollgate::{Reason, Timestamp};

const S: u64 = 1_000_000_000;
const GROUP: GroupId = GroupId(3);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

type Owners = Limits<String>;
type Rules = RuleSet<String>;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(seconds * S)
}

/// Requests and tokens.
fn table() -> (Dimensions, Dimension, Dimension) {
    let mut table = Dimensions::new();
    let requests = table.add("request_count", "requests").unwrap();
    let tokens = table.add("output_token_count", "tokens").unwrap();
    (table, requests, tokens)
}

fn requests(id: u64, target: Target<String>, limit: u64) -> Rule<String> {
    let (_, requests, _) = table();
    Rule::new(RuleId(id), target, GROUP, requests, limit, MINUTE)
}

fn tokens(id: u64, target: Target<String>, limit: u64) -> Rule<String> {
    Rule { dimension: table().2, ..requests(id, target, limit) }
}

fn set(rules: Vec<Rule<String>>) -> Rules {
    RuleSet::new(table().0, rules).unwrap()
}

fn limits(rules: Vec<Rule<String>>) -> (Owners, Dimension, Dimension) {
    let (_, requests, tokens) = table();
    let rules = set(rules);
    let settings = LimitsSettings { grace: Duration::from_secs(600), ..LimitsSettings::for_rules(8, &rules) };
    (Limits::new(LimitsSettings { meters: 64, sheets: 16, ..settings }, rules).unwrap(), requests, tokens)
}

/// Takes as one request, if it passes; why not, if not.
fn take(
    limits: &mut Owners,
    now: Timestamp,
    owner: &'static str,
    tier: Option<u32>,
    cost: u64,
) -> Result<(), Reason> {
    let (_, requests, _) = table();
    let mut session = limits.begin(now, owner, tier.map(TierId), GROUP).map_err(|refused| refused.reason)?;
    let answer = limits.evaluate(now, &mut session, requests, cost);
    limits.commit(now, session);
    answer.map_err(|denied| denied.reason)
}

fn used(limits: &mut Owners, now: Timestamp, owner: &'static str) -> Vec<(u64, u64)> {
    let account = limits.account(owner).unwrap();
    limits.report(now, account, GROUP, None).unwrap().map(|state| (state.rule.0, state.used)).collect()
}

#[test]
fn owner_wins_over_tier_and_tier_over_default_as_a_whole() {
    let owner_day =
        Rule { id: RuleId(4), window: DAY, ..requests(4, Target::Owner("acme".to_owned()), 5_000) };
    let rules = vec![requests(1, Target::Default, 10), requests(2, Target::Tier(TierId(1)), 20), owner_day];
    let (mut limits, ..) = limits(rules);
    for (owner, tier, rule, limit) in
        [("a", None, 1, 10), ("b", Some(1), 2, 20), ("c", Some(9), 1, 10), ("acme", Some(1), 4, 5_000)]
    {
        assert_eq!(take(&mut limits, at(0), owner, tier, limit), Ok(()));
        assert_eq!(take(&mut limits, at(0), owner, tier, 1), Err(Reason::RateExceeded), "{owner}");
        assert_eq!(used(&mut limits, at(0), owner), [(rule, limit)]);
    }
}

#[test]
fn a_raised_limit_holds_at_once_and_a_lowered_one_forgives_nothing() {
    let (mut limits, ..) = limits(vec![requests(1, Target::Default, 100)]);
    take(&mut limits, at(0), "a", None, 100).unwrap();
    let old = limits.replace_rules(at(0), set(vec![requests(2, Target::Default, 200)]));
    assert_eq!(old.rules()[0].id, RuleId(1));
    assert_eq!(take(&mut limits, at(0), "a", None, 100), Ok(()));
    assert_eq!(take(&mut limits, at(0), "a", None, 1), Err(Reason::RateExceeded));
    limits.replace_rules(at(0), set(vec![requests(3, Target::Default, 60)]));
    assert_eq!(take(&mut limits, at(0), "a", None, 1), Err(Reason::InDebt));
    assert_eq!(used(&mut limits, at(40), "a"), [(3, 160)], "at 1 a second, since the change");
    limits.replace_rules(at(40), set(vec![]));
    assert_eq!(take(&mut limits, at(40), "a", None, u64::MAX), Ok(()), "no rule, no limit");
    limits.replace_rules(at(40), set(vec![requests(3, Target::Default, 60)]));
    assert_eq!(used(&mut limits, at(50), "a"), [(3, 150)], "what was consumed before is");
}

#[test]
fn a_change_that_nobody_looked_at_held_from_its_instant() {
    let until = |rule: Rule<String>, expires| Rule { expires: Some(at(expires)), ..rule };
    let from = |rule: Rule<String>, starts| Rule { starts: Some(at(starts)), ..rule };
    let fast = until(requests(1, Target::Default, 600), 10);
    let slow = from(requests(2, Target::Default, 60), 10);
    let (mut limits, ..) = limits(vec![fast, slow]);
    take(&mut limits, at(0), "a", None, 600).unwrap();
    assert_eq!(used(&mut limits, at(100), "a"), [(2, 410)], "10 s at 10 a second, 90 s at 1");
    limits.replace_rules(at(110), set(vec![requests(3, Target::Default, 600)]));
    assert_eq!(used(&mut limits, at(120), "a"), [(3, 300)], "and 10 s at each before and after");
}

#[test]
fn another_strategy_is_charged_with_what_the_one_before_counts() {
    let (mut limits, requests_, _) = limits(vec![requests(1, Target::Default, 60)]);
    take(&mut limits, at(0), "a", None, 50).unwrap();
    let mut open = limits.begin(at(0), "a", None, GROUP).unwrap();
    limits.evaluate(at(0), &mut open, requests_, 5).unwrap();
    let strategies = [
        Strategy::Fixed,
        Strategy::Sliding { slices: 6 },
        Strategy::Allowance,
        Strategy::Bucket { burst: Some(80) },
    ];
    for (id, strategy) in (2..).zip(strategies) {
        let rule = Rule { strategy, ..requests(id, Target::Default, 60) };
        limits.replace_rules(at(10), set(vec![rule]));
        assert_eq!(used(&mut limits, at(10), "a"), [(id, 45)], "{strategy:?}");
    }
    limits.roll_back(at(10), open, Blame::Nobody);
    assert_eq!(used(&mut limits, at(10), "a"), [(5, 45)], "the present meter never saw the grant");
}

#[test]
fn a_refund_after_the_window_turned_lands_in_no_other() {
    for (strategy, left) in
        [(Strategy::Fixed, 0), (Strategy::Sliding { slices: 6 }, 0), (Strategy::Bucket { burst: None }, 0)]
    {
        let (mut limits, requests_, _) = limits(vec![Rule { strategy, ..requests(1, Target::Default, 60) }]);
        let mut early = limits.begin(at(0), "a", None, GROUP).unwrap();
        limits.evaluate(at(0), &mut early, requests_, 30).unwrap();
        take(&mut limits, at(75), "a", None, 20).unwrap();
        limits.roll_back(at(75), early, Blame::Nobody);
        assert_eq!(used(&mut limits, at(75), "a"), [(1, 20)], "{strategy:?}");
        assert_eq!(used(&mut limits, at(200), "a"), [(1, left)]);
    }
}

#[test]
fn a_refund_after_the_limit_changed_is_of_what_still_counts() {
    let (mut limits, requests_, _) = limits(vec![requests(1, Target::Default, 60)]);
    let mut session = limits.begin(at(0), "a", None, GROUP).unwrap();
    limits.evaluate(at(0), &mut session, requests_, 50).unwrap();
    limits.replace_rules(at(10), set(vec![requests(2, Target::Default, 6)]));
    limits.roll_back(at(20), session, Blame::Nobody);
    assert_eq!(
        used(&mut limits, at(20), "a"),
        [(2, 0)],
        "10 at the old rate, 1 at the new one, 39 came back"
    );
}

#[test]
fn an_account_with_a_session_or_consumption_is_never_forgotten() {
    let rules = set(vec![requests(1, Target::Default, 60)]);
    let mut limits: Owners = Limits::new(LimitsSettings::for_rules(2, &rules), rules).unwrap();
    let (_, requests_, _) = table();
    let mut open = limits.begin(at(0), "open", None, GROUP).unwrap();
    take(&mut limits, at(0), "used", None, 30).unwrap();
    assert_eq!(take(&mut limits, at(29), "new", None, 1), Err(Reason::KeyTableFull));
    assert_eq!(take(&mut limits, at(30), "new", None, 1), Ok(()), "recovered to the nanosecond");
    assert_eq!((limits.accounts(), limits.account("used")), (2, None));
    limits.evaluate(at(1_000), &mut open, requests_, 7).unwrap();
    assert_eq!(take(&mut limits, at(1_000), "used", None, 1), Ok(()), "now the new one went");
    limits.roll_back(at(1_000), open, Blame::Nobody);
    let stale = limits.account("open").unwrap();
    assert_eq!(take(&mut limits, at(1_000), "last", None, 1), Ok(()));
    let refused = limits.begin_known(at(1_000), stale, GROUP).unwrap_err();
    assert_eq!(refused.reason, Reason::TenantRemoved);
    limits.check_invariants();
}

#[test]
fn owners_without_an_account_share_one_if_so_wanted() {
    let rules = set(vec![requests(1, Target::Default, 10), requests(2, Target::Tier(TierId(1)), 1_000)]);
    let settings = LimitsSettings {
        when_full: WhenFull::Overflow,
        sheets: 2,
        meters: 2,
        ..LimitsSettings::for_rules(1, &rules)
    };
    let mut limits: Owners = Limits::new(settings, rules).unwrap();
    take(&mut limits, at(0), "first", Some(1), 900).unwrap();
    assert_eq!(take(&mut limits, at(0), "second", Some(1), 6), Ok(()));
    assert_eq!(take(&mut limits, at(0), "third", None, 6), Err(Reason::RateExceeded), "6 of 10 are used");
    assert_eq!(take(&mut limits, at(0), "third", None, 4), Ok(()));
    assert_eq!(take(&mut limits, at(54), "second", None, 1), Ok(()), "one a six seconds");
    limits.check_invariants();
}

#[test]
fn after_a_change_of_tier_the_larger_limit_holds_while_the_grace_lasts() {
    let tier = |id, tier, limit, window| Rule { window, ..requests(id, Target::Tier(TierId(tier)), limit) };
    let rules =
        vec![tier(1, 1, 100, MINUTE), tier(2, 1, 1_000, DAY), tier(3, 2, 10, MINUTE), tier(4, 2, 2_000, DAY)];
    let (mut limits, ..) = limits(rules);
    take(&mut limits, at(0), "a", Some(1), 1).unwrap();
    take(&mut limits, at(60), "a", Some(2), 50).unwrap();
    assert_eq!(used(&mut limits, at(60), "a"), [(1, 50), (4, 51)], "each window its larger limit");
    assert_eq!(used(&mut limits, at(659), "a"), [(1, 0), (4, 37)]);
    assert_eq!(used(&mut limits, at(660), "a"), [(3, 0), (4, 37)], "600 s are over");
    assert_eq!(take(&mut limits, at(660), "a", Some(2), 11), Err(Reason::ExceedsCapacity));
    assert_eq!(take(&mut limits, at(661), "a", Some(1), 100), Ok(()), "an upgrade holds at once");
}

#[test]
fn debt_locks_a_dimension_and_a_precheck_sees_it_without_consuming() {
    let (_, requests_, tokens) = table();
    let lock = RuleOvershoot::Lock { max_debt_ppm: 500_000 };
    let rule = Rule { dimension: tokens, overshoot: lock, ..requests(2, Target::Default, 600) };
    let (mut limits, ..) = limits(vec![requests(1, Target::Default, 60), rule]);
    let mut session = limits.begin(at(0), "a", None, GROUP).unwrap();
    limits.evaluate(at(0), &mut session, requests_, 1).unwrap();
    limits.precheck(at(0), &session, &[requests_, tokens]).unwrap();
    limits.evaluate(at(0), &mut session, tokens, 500).unwrap();
    limits.settle(at(0), &mut session, tokens, 900);
    limits.settle(at(0), &mut session, tokens, 700);
    limits.commit(at(0), session);
    assert_eq!(used(&mut limits, at(0), "a"), [(1, 1), (2, 700)]);

    let session = limits.begin(at(2), "a", None, GROUP).unwrap();
    let before = format!("{limits:?}");
    let denied = limits.precheck(at(2), &session, &[requests_, tokens]).unwrap_err();
    assert_eq!((denied.reason, denied.used, denied.allowed), (Reason::InDebt, 680, 0));
    assert_eq!(denied.clears_in, Some(Duration::from_secs(8)));
    assert!(limits.precheck(at(10), &session, &[requests_, tokens]).is_ok());
    assert_eq!(format!("{limits:?}"), before);
    limits.commit(at(10), session);
}

#[test]
fn an_allowance_waits_for_an_operator_and_for_nothing_else() {
    let (mut limits, requests_, _) =
        limits(vec![Rule { strategy: Strategy::Allowance, window: DAY, ..requests(1, Target::Default, 10) }]);
    take(&mut limits, at(0), "a", None, 10).unwrap();
    let mut session = limits.begin(at(9_000_000), "a", None, GROUP).unwrap();
    let denied = limits.evaluate(at(9_000_000), &mut session, requests_, 1).unwrap_err();
    assert_eq!(
        (denied.reason, denied.waiting_helps(), denied.clears_in),
        (Reason::QuotaExhausted, false, None)
    );
    assert_eq!(limits.explain(&denied).to_string(), "10 requests / 1 day, used up: waiting does not help");
    let account = session.account();
    limits.reset(at(9_000_000), account, GROUP, requests_).unwrap();
    limits.evaluate(at(9_000_000), &mut session, requests_, 7).unwrap();
    limits.reset(at(9_000_000), account, GROUP, requests_).unwrap();
    take(&mut limits, at(9_000_000), "a", None, 4).unwrap();
    limits.roll_back(at(9_000_000), session, Blame::Nobody);
    assert_eq!(used(&mut limits, at(9_000_000), "a"), [(1, 4)], "the 7 were forgiven already");
}

#[test]
fn a_refusal_says_which_window_how_much_and_when_and_the_report_agrees() {
    let day = Rule { id: RuleId(2), window: DAY, ..requests(2, Target::Default, 1_000) };
    let (mut limits, requests_, tokens) = limits(vec![requests(1, Target::Default, 60), day]);
    take(&mut limits, at(0), "a", None, 50).unwrap();
    let mut session = limits.begin(at(0), "a", None, GROUP).unwrap();
    let denied = limits.evaluate(at(0), &mut session, requests_, 22).unwrap_err();
    assert_eq!((denied.rule, denied.limit, denied.window), (Some(RuleId(1)), 60, MINUTE));
    assert_eq!((denied.asked, denied.used, denied.allowed), (22, 50, 10));
    assert_eq!(limits.explain(&denied).to_string(), "60 requests / 1 minute, clears in 12 s");
    assert_eq!(denied.to_string(), "60 / 1 minute, clears in 12 s");
    let account = session.account();
    let told: Vec<_> = limits.report(at(0), account, GROUP, Some(&denied)).unwrap().collect();
    assert_eq!(told.iter().map(|state| state.remaining).collect::<Vec<_>>(), [0, 0]);
    let primary = limits.primary(at(0), account, GROUP, None).unwrap().unwrap();
    assert_eq!(
        (primary.rule, primary.remaining, primary.resets_in),
        (RuleId(1), 10, Some(Duration::from_secs(50)))
    );
    assert!(limits.evaluate(at(0), &mut session, tokens, u64::MAX).is_ok(), "nothing limits tokens");
    limits.commit(at(0), session);
}

#[test]
fn of_several_windows_that_refuse_the_one_that_clears_last_is_told() {
    let day = Rule { id: RuleId(2), window: DAY, ..requests(2, Target::Default, 100) };
    let (mut limits, requests_, _) = limits(vec![requests(1, Target::Default, 60), day]);
    take(&mut limits, at(0), "a", None, 60).unwrap();
    take(&mut limits, at(60), "a", None, 40).unwrap();
    let mut session = limits.begin(at(60), "a", None, GROUP).unwrap();
    let denied = limits.evaluate(at(60), &mut session, requests_, 30).unwrap_err();
    assert_eq!(denied.rule, Some(RuleId(2)));
    let clears = Timestamp::from_nanos(60 * S).saturating_add(denied.clears_in.unwrap());
    let sooner = Timestamp::from_nanos(clears.as_nanos() - 1);
    assert!(limits.evaluate(sooner, &mut session, requests_, 30).is_err());
    assert!(limits.evaluate(clears, &mut session, requests_, 30).is_ok());
    let never = limits.evaluate(clears, &mut session, requests_, 61).unwrap_err();
    assert_eq!((never.rule, never.reason), (Some(RuleId(1)), Reason::ExceedsCapacity));
    limits.commit(clears, session);
}

#[test]
fn in_reverse_order_everything_comes_back_bit_for_bit() {
    let fixed = Rule { strategy: Strategy::Fixed, window: DAY, ..requests(2, Target::Default, 500) };
    let sliding = Rule { strategy: Strategy::Sliding { slices: 12 }, ..requests(3, Target::Default, 90) };
    let sliding = Rule { window: Duration::from_secs(3_600), ..sliding };
    let (mut limits, requests_, _) = limits(vec![requests(1, Target::Default, 60), fixed, sliding]);
    take(&mut limits, at(0), "a", None, 17).unwrap();
    let mut outer = limits.begin(at(5), "a", None, GROUP).unwrap();
    limits.evaluate(at(5), &mut outer, requests_, 0).unwrap();
    let before = format!("{limits:?}{outer:?}");
    for parts in [[1, 2, 3], [9, 0, 4]] {
        let mut inner = limits.begin(at(5), "a", None, GROUP).unwrap();
        parts.iter().for_each(|&cost| limits.evaluate(at(5), &mut inner, requests_, cost).unwrap());
        limits.settle(at(5), &mut inner, requests_, 2);
        limits.settle(at(5), &mut inner, requests_, 30);
        limits.roll_back(at(5), inner, Blame::Nobody);
        assert_eq!(format!("{limits:?}{outer:?}"), before);
    }
    limits.commit(at(5), outer);
}

#[test]
fn a_session_has_room_for_sixteen_records_and_refuses_beyond() {
    let (mut limits, requests_, _) = limits(vec![requests(1, Target::Default, 600)]);
    let mut session = limits.begin(at(0), "a", None, GROUP).unwrap();
    for _ in 0..16 {
        limits.evaluate(at(0), &mut session, requests_, 1).unwrap();
    }
    let full = limits.evaluate(at(0), &mut session, requests_, 1).unwrap_err();
    assert_eq!(
        (full.reason, full.rule, full.to_string()),
        (Reason::SessionFull, None, Reason::SessionFull.to_string())
    );
    limits.settle(at(0), &mut session, requests_, 20);
    assert_eq!(used(&mut limits, at(0), "a"), [(1, 20)], "what was used is charged all the same");
    limits.roll_back(at(0), session, Blame::Nobody);
    assert_eq!(used(&mut limits, at(0), "a"), [(1, 4)], "and has no record to come back by");
}

#[test]
fn what_there_is_no_record_for_stays_consumed_on_every_window() {
    let daily = Rule { window: DAY, ..requests(2, Target::Default, 900) };
    let (mut limits, requests_, tokens) =
        limits(vec![requests(1, Target::Default, 600), daily, tokens(3, Target::Default, 600)]);
    let mut session = limits.begin(at(0), "a", None, GROUP).unwrap();
    for _ in 0..15 {
        limits.evaluate(at(0), &mut session, tokens, 1).unwrap();
    }
    // One record is left, for two windows.
    limits.settle(at(0), &mut session, requests_, 5);
    limits.roll_back(at(0), session, Blame::Nobody);
    assert_eq!(used(&mut limits, at(0), "a"), [(1, 5), (2, 5), (3, 0)]);
}

#[test]
fn what_there_is_not_is_refused_and_not_let_through() {
    let (mut limits, requests_, _) = limits(vec![requests(1, Target::Default, 600)]);
    let mut more = table().0;
    let foreign = more.add("more", "").unwrap();
    let mut session = limits.begin(at(0), "a", None, GROUP).unwrap();
    assert_eq!(
        limits.evaluate(at(0), &mut session, foreign, 1).unwrap_err().reason,
        Reason::UnknownDimension
    );
    // New windows, and no room for their meters.
    let windows = |n: u64| Rule { window: Duration::from_secs(n + 1), ..requests(n, Target::Default, 600) };
    let rules = set(vec![requests(1, Target::Default, 600)]);
    let mut small: Owners = Limits::new(LimitsSettings::for_rules(1, &rules), rules).unwrap();
    let mut open = small.begin(at(0), "a", None, GROUP).unwrap();
    small.evaluate(at(0), &mut open, requests_, 1).unwrap();
    small.replace_rules(at(0), set((0..4).map(windows).collect()));
    assert_eq!(small.evaluate(at(0), &mut open, requests_, 1).unwrap_err().reason, Reason::KeyTableFull);
    small.commit(at(0), open);
    limits.commit(at(0), session);
}

#[test]
fn there_is_room_for_the_meters_of_all_that_an_owner_has_been() {
    let over = |rule: Rule<String>, seconds| Rule { window: Duration::from_secs(seconds), ..rule };
    let own = Rule { expires: Some(at(10)), ..requests(1, Target::Owner("a".to_owned()), 60) };
    let tier = over(requests(2, Target::Tier(TierId(1)), 60), 3_600);
    let rules = set(vec![own, tier, over(requests(3, Target::Default, 60), 86_400)]);
    let mut limits: Owners = Limits::new(LimitsSettings::for_rules(1, &rules), rules).unwrap();
    assert_eq!(take(&mut limits, at(9), "a", Some(1), 60), Ok(()));
    assert_eq!(take(&mut limits, at(10), "a", Some(1), 60), Ok(()));
    assert_eq!(take(&mut limits, at(11), "a", None, 60), Ok(()));
}

#[test]
fn a_full_table_of_sheets_makes_room_where_somebody_has_recovered_and_nowhere_else() {
    let rules = set(vec![requests(1, Target::Default, 10)]);
    let settings = LimitsSettings { sheets: 1, ..LimitsSettings::for_rules(8, &rules) };
    let mut limits = Limits::new(settings, rules).unwrap();
    take(&mut limits, at(0), "a", None, 1).unwrap();
    assert_eq!(take(&mut limits, at(1), "b", None, 1), Err(Reason::KeyTableFull));
    assert_eq!(take(&mut limits, at(600), "b", None, 1), Ok(()));
    assert_eq!(limits.account("a"), None);
}

#[test]
fn a_sheet_that_is_only_looked_at_gets_no_meters() {
    const OTHER: GroupId = GroupId(4);
    let elsewhere = || Rule { group: OTHER, ..requests(9, Target::Default, 10) };
    let (mut limits, ..) = limits(vec![requests(1, Target::Default, 10), elsewhere()]);
    take(&mut limits, at(0), "a", None, 1).unwrap();
    let more = vec![requests(1, Target::Default, 10), tokens(2, Target::Default, 10), elsewhere()];
    limits.replace_rules(at(1), set(more));
    let before = limits.snapshot().meters;
    // A change of tier, told in another group, looks at the sheet that was used before.
    let session = limits.begin(at(2), "a", Some(TierId(5)), OTHER).unwrap();
    assert_eq!(limits.snapshot().meters, before + 1, "that of the other group");
    limits.commit(at(2), session);
    take(&mut limits, at(3), "a", Some(5), 1).unwrap();
    assert_eq!(limits.snapshot().meters, before + 2);
}
