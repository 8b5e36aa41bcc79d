use core::time::Duration;

use super::*;
use crate::adapt::action::{AlgorithmName, OnChange, ResolverName};
use crate::adapt::limiter::Mode;

const SEARCH: &str = "indices:data/read/search";
const BULK: &str = "indices:data/write/bulk";

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

fn change(setting: &str, value: impl Into<Value>) -> (String, Value) {
    (alloc::format!("{PREFIX}{setting}"), value.into())
}

/// Searches limited to ten, at once.
fn searches(dialect: Dialect) -> ActionLimits {
    let mut limits = ActionLimits::new(dialect, 2, 2).unwrap();
    let changes = [
        change("search.action_name", SEARCH),
        change("search.mode", "enforced"),
        change("search.algorithm", "AIMD"),
        change("search.warmup_duration", "0"),
        change("search.limit.initial", 10),
    ];
    limits.update(at(0), &changes).unwrap();
    limits
}

fn admit(limits: &mut ActionLimits, action: &str) -> bool {
    match limits.try_admit(at(0), action, &Request::default(), 1) {
        Ok(ticket) => {
            drop(ticket);
            true
        }
        Err(rejected) => {
            assert_eq!(rejected.action, action);
            false
        }
    }
}

/// The limit in force for searches.
fn limit(limits: &ActionLimits) -> u32 {
    limits.get(limits.id_of(SEARCH).unwrap()).unwrap().limiter().limit()
}

#[test]
fn what_is_limited_is_refused_at_its_limit_and_what_is_not_never() {
    let mut limits = searches(Dialect::default());
    let admitted = (0..15).filter(|_| admit(&mut limits, SEARCH)).count();
    assert_eq!(admitted, 10);
    assert!((0..15).all(|_| admit(&mut limits, BULK)));
    let stats: Vec<_> = limits.stats(at(0)).collect();
    assert_eq!(stats.len(), 1);
    assert_eq!((stats[0].name, stats[0].action_name, stats[0].total_rejected()), ("search", SEARCH, 5));
    assert_eq!((stats[0].last_rtt_millis(), stats[0].rtt_no_load_millis()), (-1, -1));
}

#[test]
fn everything_that_is_wrong_is_told_and_nothing_is_changed() {
    let mut limits = searches(Dialect::default());
    let before = limits.flat();
    let changes = [
        change("search.limit.initial", 500),
        change("search.mode", "on"),
        change("search.limt.max", 3),
        change("bulk.vegas.baseline_reset_load_threshold", 1.5),
        change("bulk.aimd.backoff_ratio", 0.3),
        change("bulk.gradient2.rtt_tolerance", 0.9),
        change("bulk.partitions", "a,a,b"),
        change("bulk.warmup_duration", "-1"),
        change("bulk.burst.close_after", 0),
        change("bulk.partition.a.percent", 0.7),
        change("bulk.partition.b.percent", -0.1),
        ("index.number_of_shards".into(), Value::from(5)),
    ];
    let error = limits.update(at(0), &changes).unwrap_err();
    let named: Vec<_> = error.violations().iter().map(|violation| &*violation.setting).collect();
    let expected = [
        "search.mode",
        "search.limt.max",
        "bulk.warmup_duration",
        "index.number_of_shards",
        "bulk.vegas.baseline_reset_load_threshold",
        "bulk.gradient2.rtt_tolerance",
        "bulk.aimd.backoff_ratio",
        "bulk.burst.close_after",
        "bulk.partitions",
        "bulk.partition.resolver",
        "bulk.partition.b.percent",
        "bulk.partitions",
        "search.limit.initial",
    ];
    let full = |name: &str| {
        if name.starts_with("index") { name.into() } else { alloc::format!("{PREFIX}{name}") }
    };
    assert_eq!(named, expected.map(full));
    assert_eq!((limits.flat(), limit(&limits)), (before, 10));
}

#[test]
fn shares_are_compared_in_millionths() {
    let mut limits = ActionLimits::new(Dialect::default(), 1, 3).unwrap();
    let shares = |percents: [f64; 3]| {
        let names = ["a", "b", "c"].into_iter().zip(percents);
        let mut changes: Vec<_> = names
            .map(|(name, percent)| change(&alloc::format!("x.partition.{name}.percent"), percent))
            .collect();
        changes.push(change("x.partitions", "a,b,c"));
        changes.push(change("x.partition.resolver", "byHeader"));
        changes
    };
    limits.update(at(0), &shares([0.33, 0.56, 0.11])).unwrap();
    let error = limits.update(at(0), &shares([0.33, 0.56, 0.110_001])).unwrap_err();
    assert_eq!(error.violations()[0].given, "1000001 millionths together");
    for percent in 0..=100_u32 {
        let percents = [f64::from(percent) / 100.0, f64::from(100 - percent) / 100.0, 0.0];
        limits.update(at(0), &shares(percents)).unwrap();
    }
}

#[test]
fn an_action_has_one_limiter_and_there_are_no_more_than_there_is_room_for() {
    let mut limits = searches(Dialect::default());
    let error = limits.update(at(0), &[change("again.action_name", SEARCH)]).unwrap_err();
    assert_eq!(error.violations()[0].allowed, "an action that no other limiter has");
    limits.update(at(0), &[change("bulk.action_name", BULK)]).unwrap();
    let error = limits.update(at(0), &[change("third.action_name", "other")]).unwrap_err();
    assert_eq!(error.violations()[0].allowed, "2 limiters with an action");
    // One is given up, in the same change, for another.
    limits.update(at(0), &[change("third.action_name", "other"), change("bulk.action_name", "")]).unwrap();
    assert!(limits.id_of(BULK).is_none() && limits.id_of("other").is_some());
    // Two change places.
    let swap = [change("third.action_name", SEARCH), change("search.action_name", "other")];
    limits.update(at(0), &swap).unwrap();
    assert_eq!(limits.get(limits.id_of(SEARCH).unwrap()).unwrap().name(), "third");
}

#[test]
fn clearing_the_action_or_removing_the_limiter_ends_it_and_tickets_are_still_welcome() {
    let mut limits = searches(Dialect::default());
    for remove in [false, true] {
        let ticket = limits.try_admit(at(0), SEARCH, &Request::default(), 4).unwrap();
        assert!(ticket.is_limited());
        let id = limits.id_of(SEARCH).unwrap();
        if remove {
            limits.remove("search");
        } else {
            limits.update(at(1), &[change("search.action_name", Value::Default)]).unwrap();
        }
        assert!(limits.get(id).is_none() && limits.id_of(SEARCH).is_none());
        limits.complete(at(2), ticket, Outcome::Success).unwrap();
        let ticket = limits.try_admit(at(2), SEARCH, &Request::default(), 400).unwrap();
        assert!(!ticket.is_limited());
        limits.complete(at(2), ticket, Outcome::Dropped).unwrap();
        if !remove {
            // What it was set to is remembered.
            limits.update(at(1), &[change("search.action_name", SEARCH)]).unwrap();
            assert_eq!(limit(&limits), 10);
        }
    }
    assert!(limits.settings("search").is_none() && limits.flat().is_empty());
}

#[test]
fn what_was_learnt_is_kept_or_not_as_the_dialect_has_it() {
    for (dialect, kept) in [
        (Dialect::default(), 11),
        (Dialect { on_change: OnChange::Relearn, ..Dialect::default() }, 10),
        (Dialect { on_change: OnChange::Restart, ..Dialect::default() }, 10),
    ] {
        let mut limits = searches(dialect);
        limits.update(at(0), &[change("search.limit.max", 11)]).unwrap();
        let tickets: Vec<_> =
            (0..10).map(|_| limits.try_admit(at(0), SEARCH, &Request::default(), 1).unwrap()).collect();
        for ticket in tickets {
            limits.complete(at(5), ticket, Outcome::Success).unwrap();
        }
        assert_eq!(limit(&limits), 11);
        limits.update(at(6), &[change("search.limit.max", 11)]).unwrap();
        assert_eq!(limit(&limits), 11, "nothing was changed");
        limits.update(at(7), &[change("search.warmup_duration", "1s")]).unwrap();
        assert_eq!(limit(&limits), kept);
        let warming = limits.stats(at(7)).next().unwrap().limiter.warmup_left;
        let restarted = dialect.on_change == OnChange::Restart;
        assert_eq!(warming, if restarted { Duration::from_secs(1) } else { Duration::ZERO });
        limits.update(at(8), &[change("search.algorithm", "vegas")]).unwrap();
        assert_eq!(limit(&limits), 10, "another algorithm begins anew");
    }
}

#[test]
fn partitions_change_by_name_under_load() {
    let mut limits = searches(Dialect::default());
    limits
        .update(
            at(0),
            &[
                change("search.partitions", "live,batch"),
                change("search.partition.resolver", "byHeader"),
                change("search.partition.live.percent", 0.8),
                change("search.partition.batch.percent", 0.2),
                change("search.partition.batch.delay_ms", 50),
            ],
        )
        .unwrap();
    let tier = |tier| Request { tier: Some(tier), ..Request::default() };
    let tickets: Vec<_> =
        (0..2).map(|_| limits.try_admit(at(0), SEARCH, &tier("batch"), 1).unwrap()).collect();
    let rejected = limits.try_admit(at(0), SEARCH, &tier("batch"), 1).unwrap_err();
    assert_eq!(rejected.refusal.pause, Some(Duration::from_millis(50)));
    // Batch gives way to another; what it holds stays held.
    limits
        .update(
            at(1),
            &[
                change("search.partitions", "night,live"),
                change("search.partition.night.percent", 0.1),
                change("search.partition.batch.percent", Value::Default),
                change("search.partition.batch.delay_ms", Value::Default),
            ],
        )
        .unwrap();
    assert!(!limits.settings("search").unwrap().partition.contains_key("batch"));
    let limiter = limits.get(limits.id_of(SEARCH).unwrap()).unwrap();
    assert_eq!(limiter.partitions().map(|(name, _)| name).collect::<Vec<_>>(), ["night", "live"]);
    assert_eq!(limiter.limiter().stats(at(1)).in_flight, 2);
    assert_eq!((0..9).filter(|_| limits.try_admit(at(1), SEARCH, &tier("live"), 1).is_ok()).count(), 8);
    for ticket in tickets {
        limits.complete(at(2), ticket, Outcome::Success).unwrap();
    }
    limits.check_invariants();
}

#[test]
fn a_disabled_limiter_is_live_and_lets_all_in() {
    let mut limits = searches(Dialect::opensearch());
    limits.update(at(0), &[change("search.mode", "disabled")]).unwrap();
    assert!((0..15).all(|_| admit(&mut limits, SEARCH)));
    assert_eq!(limits.stats(at(0)).next().unwrap().mode(), Mode::Disabled);
}

#[test]
fn settings_can_be_given_as_a_struct() {
    let mut limits = ActionLimits::new(Dialect::default(), 1, 1).unwrap();
    let mut settings = ActionSettings { action_name: SEARCH.into(), ..ActionSettings::default() };
    settings.algorithm = AlgorithmName::Knee;
    settings.partitions = ["all".into()].to_vec();
    settings.resolver.name = Some(ResolverName::Fixed);
    let error = limits.set(at(0), "search", settings.clone()).unwrap_err();
    assert_eq!(error.violations()[0].allowed, "one of partitions, where the resolver is fixed");
    settings.resolver.fixed = "all".into();
    limits.set(at(0), "search", settings.clone()).unwrap();
    assert_eq!(limits.settings("search"), Some(&settings));
    assert_eq!(limits.limiters().next().unwrap().limiter().limit(), 5);
    limits.tick(at(1));
    assert_eq!(limits.poll_timeout(), None);
    assert!(limits.set(at(0), "a.b", ActionSettings::default()).is_err());
    settings.partitions.push("more".into());
    let error = limits.set(at(0), "search", settings).unwrap_err();
    assert_eq!(error.violations()[0].given, "2 names");
}

#[test]
fn time_that_passes_ends_an_experiment_that_nobody_takes_part_in() {
    let mut limits = searches(Dialect::default());
    limits.update(at(0), &[change("search.algorithm", "knee")]).unwrap();
    assert_eq!(limits.poll_timeout(), None);
    let mut now = 0;
    while limits.poll_timeout().is_none() {
        let in_flight = limit(&limits);
        let tickets: Vec<_> = (0..in_flight)
            .filter_map(|_| limits.try_admit(at(now), SEARCH, &Request::default(), 1).ok())
            .collect();
        now += u64::from(in_flight.max(10));
        for ticket in tickets {
            limits.complete(at(now), ticket, Outcome::Success).unwrap();
        }
        assert!(now < 10_000_000, "no experiment");
    }
    let give_up = limits.poll_timeout().unwrap();
    let id = limits.id_of(SEARCH).unwrap();
    let mut alone = limits.get(id).unwrap().limiter().poll_timeout();
    assert_eq!(alone, Some(give_up));
    limits.tick(Timestamp::from_nanos(give_up.as_nanos() - 1));
    assert_eq!(limits.poll_timeout(), Some(give_up));
    limits.tick(give_up);
    alone = limits.get(id).unwrap().limiter().poll_timeout();
    assert_eq!((limits.poll_timeout(), alone), (None, None));
}
