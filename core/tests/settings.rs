//! Settings of named limiters in the forms in which people write them, and their statistics as dashboards read them.

use core::time::Duration;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tollgate::Timestamp;
use tollgate::adapt::action::{
    ActionLimits, ActionSettings, AlgorithmName, Changes, Dialect, PartitionSettings, Request, ResolverName,
    Value,
};
use tollgate::adapt::{Mode, Outcome};

const NOW: Timestamp = Timestamp::ZERO;

/// The document's own example: seven tenths of the searches for premium customers.
const FLAT: &str = r#"{
    "concurrency_limit.action.search.action_name": "indices:data/read/search",
    "concurrency_limit.action.search.mode": "enforced",
    "concurrency_limit.action.search.partitions": ["premium", "standard"],
    "concurrency_limit.action.search.partition.resolver": "byHeader",
    "concurrency_limit.action.search.partition.premium.percent": 0.7,
    "concurrency_limit.action.search.partition.standard.percent": 0.3
}"#;

const NESTED: &str = r#"{ "concurrency_limit": { "action": { "search": {
    "action_name": "indices:data/read/search",
    "mode": "enforced",
    "partitions": ["premium", "standard"],
    "partition": { "resolver": "byHeader", "premium": { "percent": 0.7 }, "standard": { "percent": 0.3 } }
} } } }"#;

const MIXED: &str = r#"{ "concurrency_limit.action.search": {
    "action_name": "indices:data/read/search",
    "mode": "enforced",
    "partitions": "premium, standard",
    "partition.resolver": "byHeader",
    "partition": { "premium.percent": "0.7", "standard": { "percent": 0.3 } }
} }"#;

const TOML: &str = r#"
[concurrency_limit.action.search]
action_name = "indices:data/read/search"
mode = "enforced"
partitions = ["premium", "standard"]

[concurrency_limit.action.search.partition]
resolver = "byHeader"
premium.percent = 0.7
standard.percent = 0.3
"#;

fn limits(Changes(changes): &Changes) -> ActionLimits {
    let mut limits = ActionLimits::new(Dialect::default(), 4, 4).unwrap();
    limits.update(NOW, changes).unwrap();
    limits
}

#[test]
fn flat_nested_and_mixed_settings_say_the_same() {
    let read = |json: &str| limits(&serde_json::from_str(json).unwrap());
    let flat = read(FLAT);
    let settings = flat.settings("search").unwrap();
    assert_eq!(
        (settings.mode, &settings.partitions[..]),
        (Mode::Enforced, &["premium".into(), "standard".into()][..])
    );
    assert_eq!(settings.partition["premium"], PartitionSettings { percent: 0.7, delay: Duration::ZERO });
    assert_eq!(settings.resolver.name, Some(ResolverName::ByHeader));
    for other in [read(NESTED), read(MIXED), limits(&toml::from_str(TOML).unwrap())] {
        assert_eq!(other.settings("search"), Some(settings));
    }
}

#[test]
fn what_was_written_out_reads_back_the_same() {
    let before = limits(&serde_json::from_str(FLAT).unwrap());
    let written = serde_json::to_string(&Changes(before.flat())).unwrap();
    assert_eq!(limits(&serde_json::from_str(&written).unwrap()).flat(), before.flat());
}

#[test]
fn null_takes_a_setting_back() {
    let mut limits = limits(&serde_json::from_str(FLAT).unwrap());
    let null = r#"{ "concurrency_limit.action.search": { "mode": null, "partition": { "premium.percent": null } } }"#;
    let Changes(changes) = serde_json::from_str(null).unwrap();
    limits.update(NOW, &changes).unwrap();
    let settings = limits.settings("search").unwrap();
    assert_eq!((settings.mode, settings.partition.get("premium")), (Mode::Disabled, None));
}

#[test]
fn a_format_that_writes_out_what_is_there_and_what_is_not_says_the_same() {
    let read = |ron: &str| ron::from_str::<Changes>(ron).unwrap();
    let Changes(changes) =
        read(r#"{ "search": Some({ "mode": None, "limit.max": Some(30) }), "other": None }"#);
    let expected =
        [("search.mode", Value::Default), ("search.limit.max", 30.into()), ("other", Value::Default)];
    assert_eq!(changes, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn one_limiter_alone_tells_all_that_is_wrong_with_it() {
    let read = serde_json::from_str::<ActionSettings>;
    let settings =
        read(r#"{ "limit": { "initial": 30 }, "warmup_duration": "90s", "burst.capacity": 5 }"#).unwrap();
    assert_eq!((settings.limit.initial, settings.burst.capacity), (30, 5));
    assert_eq!(settings.warmup_duration, Duration::from_secs(90));
    let error =
        read(r#"{ "limit.initial": 0, "mode": 7, "partitions": ["a"], "nonsense": true }"#).unwrap_err();
    let error = error.to_string();
    for part in [
        "limit.initial is 0, allowed is 1 to limit.max",
        "mode is 7, allowed is disabled, monitor_only or enforced",
        "partition.resolver is null, allowed is byHeader, fixed or bySearchType; required where there are partitions",
        "nonsense is true, allowed is nothing: there is no such setting",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let error = serde_json::from_str::<Changes>(r#"{ "a": [1] }"#).unwrap_err().to_string();
    assert!(error.starts_with("invalid type: integer `1`, expected a string"), "{error}");
    let error = serde_json::from_str::<Changes>("7").unwrap_err().to_string();
    assert!(error.contains("expected a table of settings"), "{error}");
}

#[test]
fn statistics_have_the_names_and_values_that_the_document_shows() {
    let mut limits = limits(&serde_json::from_str(FLAT).unwrap());
    let Changes(changes) =
        serde_json::from_str(r#"{ "concurrency_limit.action.search.warmup_duration": "0s" }"#).unwrap();
    limits.update(NOW, &changes).unwrap();
    let action = "indices:data/read/search";
    let premium = Request { tier: Some("premium"), ..Request::default() };
    let mut tickets: Vec<_> = (0..14).map(|_| limits.try_admit(NOW, action, &premium, 1).unwrap()).collect();
    assert!(limits.try_admit(NOW, action, &premium, 1).is_err());
    let later = Timestamp::from_nanos(12_400_000);
    for ticket in tickets.drain(7..) {
        limits.complete(later, ticket, Outcome::Success).unwrap();
    }
    let stats = serde_json::to_value(limits.stats(later).next().unwrap()).unwrap();
    let names = [
        "action_name",
        "mode",
        "algorithm",
        "in_flight",
        "total_rejected",
        "last_rtt_millis",
        "rtt_no_load_millis",
    ];
    let seen = names.map(|name| stats[name].to_string());
    assert_eq!(seen, ["\"indices:data/read/search\"", "\"enforced\"", "\"vegas\"", "7", "1", "12", "12"]);
    assert!(stats["current_limit"].as_u64() >= stats["base_limit"].as_u64());
}

fn settings() -> impl Strategy<Value = ActionSettings> {
    let name = || "[a-z][a-z.]{0,5}";
    let partition = (0_u32..=250_000, 0_u64..5_000).prop_map(|(ppm, ms)| PartitionSettings {
        percent: f64::from(ppm) / 1e6,
        delay: Duration::from_millis(ms),
    });
    let numbers = (1_u32..500, 0_u32..500, 1_u32..9, 0.0..=1.0, 1.0..9.0, 0.5..1.0, 0_u32..9, 1_u32..9);
    let texts = (name(), name(), name(), btree_map(name(), partition, 0..4), 0_u64..10_000_000_000);
    let choices = (0_usize..3, 0_usize..4, 0_usize..3);
    (numbers, texts, choices).prop_map(|(numbers, texts, (mode, algorithm, resolver))| {
        let (initial, more, barrier, threshold, tolerance, ratio, burst, after) = numbers;
        let (action, aggregation, filter, partition, warmup) = texts;
        let mut settings = ActionSettings { action_name: action, ..ActionSettings::default() };
        settings.mode = Mode::ALL[mode];
        settings.algorithm = AlgorithmName::ALL[algorithm];
        (settings.limit.initial, settings.limit.max) = (initial, initial + more);
        settings.warmup_duration = Duration::from_nanos(warmup);
        settings.vegas.increase_barrier = barrier;
        settings.vegas.decrease_barrier = after;
        settings.vegas.baseline_reset_load_threshold = threshold;
        settings.gradient2_rtt_tolerance = tolerance;
        settings.aimd_backoff_ratio = ratio;
        (settings.burst.capacity, settings.burst.close_after) = (burst, after);
        settings.partitions = partition.keys().cloned().collect();
        settings.resolver.fixed = settings.partitions.first().cloned().unwrap_or_default();
        (settings.resolver.aggregation, settings.resolver.filter) = (aggregation, filter);
        settings.resolver.name = Some(ResolverName::ALL[resolver]);
        settings.partition =
            partition.into_iter().filter(|(_, set)| *set != PartitionSettings::default()).collect();
        settings
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Default),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Real),
        ".{0,6}".prop_map(Value::Text),
        vec(".{0,3}", 0..3).prop_map(Value::List),
    ]
}

/// Settings that there are, and some that there are not.
fn path() -> impl Strategy<Value = String> {
    let known = ActionSettings { action_name: "x".into(), ..ActionSettings::default() };
    let known: Vec<_> = known.flat().into_iter().map(|(name, _)| name).collect();
    let setting = prop_oneof![
        prop::sample::select(known),
        prop::sample::select(vec![
            "limit.initial",
            "limit.max",
            "partitions",
            "partition.resolver",
            "partition.a.percent",
            "partition.a.delay_ms",
            "warmup_duration",
            "mode",
        ])
        .prop_map(String::from),
        "[a-z._*]{0,12}",
    ];
    (".{0,2}", setting).prop_map(|(name, setting)| format!("concurrency_limit.action.{name}.{setting}"))
}

proptest! {
    #[test]
    fn any_settings_that_can_be_survive_json(settings in settings()) {
        prop_assert_eq!(settings.validate(), Ok(()));
        let json = serde_json::to_string(&settings).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ActionSettings>(&json).unwrap(), &settings, "{}", json);
        for dialect in [Dialect::default(), Dialect::opensearch(), Dialect::opensearch_documented()] {
            let mut limits = ActionLimits::new(dialect, 1, 4).unwrap();
            limits.set(NOW, "one", settings.clone()).unwrap();
            let flat = limits.flat();
            limits.remove("one");
            limits.update(NOW, &flat).unwrap();
            prop_assert_eq!(limits.settings("one"), Some(&settings));
        }
    }

    #[test]
    fn no_text_and_no_number_panics_and_what_is_refused_changes_nothing(
        changes in vec((path(), value()), 0..6),
        settings in settings(),
    ) {
        let mut limits = ActionLimits::new(Dialect::default(), 2, 4).unwrap();
        limits.set(NOW, "a", settings).unwrap();
        let before = limits.flat();
        match limits.update(NOW, &changes) {
            Ok(()) => {}
            Err(error) => {
                prop_assert!(!error.violations().is_empty());
                prop_assert_eq!(limits.flat(), before);
            }
        }
        limits.check_invariants();
    }
}

#[test]
fn what_cannot_be_is_named_with_what_was_given_and_what_is_allowed() {
    let with = |percent, delay_ms| {
        let delay = Duration::from_millis(delay_ms);
        let partition = [("premium".to_owned(), PartitionSettings { percent, delay })].into();
        ActionSettings { partition, ..ActionSettings::default() }.validate()
    };
    assert!(with(0.0, 0).is_ok() && with(1.0, 2_147_483_647).is_ok());
    let told =
        |settings: Result<(), tollgate::adapt::action::SettingsError>| settings.unwrap_err().to_string();
    let expected =
        "invalid settings: partition.premium.delay_ms is 2147483648, allowed is 0 to 2147483647 ms";
    assert_eq!(told(with(0.5, 2_147_483_648)), expected);
    assert!(with(0.5, 2_147_483_649).is_err());
    assert_eq!(told(with(1.5, 0)), "invalid settings: partition.premium.percent is 1.5, allowed is 0 to 1");
    let negative: Changes =
        serde_json::from_str(r#"{ "concurrency_limit.action.search.limit.initial": -1 }"#).unwrap();
    let refused = ActionLimits::new(Dialect::default(), 4, 4).unwrap().update(NOW, &negative.0).unwrap_err();
    assert!(refused.to_string().contains("limit.initial is -1"), "{refused}");
}
