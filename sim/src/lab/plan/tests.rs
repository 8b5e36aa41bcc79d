use super::*;

/// A second on two slots with this phase.
pub(in crate::lab) fn small(phase: &str) -> Plan {
    parse(&text(phase)).unwrap()
}

pub(in crate::lab) fn text(phase: &str) -> String {
    format!(
        "about = \"a test\"\nsource = \"here\"\nwarm_up = \"100ms\"\ndeadline = \"100ms\"\n\
         [server]\nslots = 2\nbase = \"10ms\"\nlaw = \"exponential\"\n[[phase]]\nlength = \"1s\"\n{phase}\n"
    )
}

pub(in crate::lab) fn parse(text: &str) -> Result<Plan, LabError> {
    Plan::parse(Path::new("plans/small.toml"), text)
}

#[test]
fn load_is_a_multiple_of_what_the_server_can_do() {
    let plan = small("load = 1.5");
    assert_eq!(plan.phases[0].load, Wave::Constant(300.0));
    assert_eq!(
        (plan.name.as_str(), plan.span_ns(), plan.measured(0)),
        ("small", 1_000_000_000, 100_000_000..1_000_000_000)
    );
    let usl = parse(
        &text("load = 1")
            .replace("law =", "usl = { a = 0.02, b = 0.005 }\nlaw =")
            .replace("slots = 2", "slots = 100"),
    );
    let peak = usl.unwrap().phases[0].load;
    // 14 ÷ (1 + 0.02·13 + 0.005·14·13) ÷ 10 ms.
    assert!(matches!(peak, Wave::Constant(per_s) if (per_s - 645.0).abs() < 1.0), "{peak:?}");
}

#[test]
fn mistakes_are_named_with_their_line_and_what_is_allowed() {
    for (from, to, message) in [
        ("load = 1", "load = -1", "plans/small.toml:9:1: load is -1 to -1, allowed is 0 to 100000"),
        (
            "load = 1",
            "lod = 1",
            "plans/small.toml:11:1: unknown field `lod`, expected one of `length`, `load`",
        ),
        (
            "load = 1",
            "",
            "plans/small.toml:9:1: load is not given, allowed is one in each phase, or [closed]",
        ),
        ("slots = 2", "slots = 0", "plans/small.toml:5:1: slots is 0, allowed is 1 to 100000"),
        (
            "\"10ms\"",
            "\"10\"",
            "plans/small.toml:7:8: invalid value: string \"10\", expected a length of time",
        ),
        (
            "\"exponential\"",
            "\"normal\"",
            "plans/small.toml:8:7: unknown variant `normal`, expected one of `constant`",
        ),
        ("warm_up = \"100ms\"", "warm_up = \"1s\"", "plans/small.toml:1:1: warm_up is all of the run"),
        (
            "load = 1",
            "load = 1\nslots = { from = 1, to = 2 }",
            "slots is a ramp or a sine, allowed is a number or a square",
        ),
        ("load = 1", "load = 1\nfailures = 2", "plans/small.toml:9:1: failures is 2, allowed is 0 to 1"),
        (
            "load = 1",
            "load = 1\n[expect.magic]\njain = {}",
            "plans/small.toml:12:9: estimator is \"magic\", allowed is knee",
        ),
        ("[server]", "reserved = 0.5\n[server]", "only with a phase that has a low load"),
        ("load = 1", "load = 1\nlow = -1", "low is -1 to -1, allowed is 0 to 100000"),
        ("\"exponential\"", "\"recorded\"", "law is recorded, allowed is only with a [trace]"),
        ("[server]", "[trace]\nfile = \"x.csv\"\n[server]", "law is another, allowed is recorded"),
        ("[server]", "[bars]\nrecovery_ms = 1\n[server]", "unknown field `recovery_ms`"),
        (
            "[server]",
            "[knee]\nsharers = 0\n[server]",
            "plans/small.toml:5:1: knee: invalid configuration: sharers is 0, allowed is at least 1",
        ),
        ("load = 1", "load = 1\n[expect.vegas]\nspeed = {}", "plans/small.toml:13:1: unknown field `speed`"),
        ("deadline = \"100ms\"", "", "missing field `deadline`"),
    ] {
        let error = parse(&text("load = 1").replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\ninstead of\n{message}");
    }
}

#[test]
fn a_closed_loop_has_clients_and_no_load() {
    let closed = |phase: &str| {
        parse(&text(phase).replace("[server]", "[closed]\nclients = 8\nthink = \"10ms\"\n[server]"))
    };
    assert_eq!(closed("").unwrap().closed.map(|closed| closed.clients), Some(8));
    assert!(closed("load = 1").unwrap_err().to_string().contains("none beside [closed]"));
}

#[test]
fn a_quick_plan_is_a_quarter_as_long() {
    let plan = small("load = 1\n[[phase]]\nlength = \"2s\"\nload = 2");
    let quick = plan.clone().quick();
    assert_eq!((plan.span_ns(), quick.span_ns()), (3_000_000_000, 750_000_000));
    assert_eq!(quick.measured(0), 25_000_000..250_000_000);
    assert_eq!(quick.phases[1].from_ns, 250_000_000);
}

#[test]
fn what_is_offered_is_below_capacity_or_not_at_each_moment() {
    let plan = small("load = { low = 0.5, high = 1.5, square = \"200ms\" }\nslots = 4");
    let below = |at_ms: u64| plan.below_capacity(&plan.phases[0], at_ms * 1_000_000);
    assert!(below(50) && below(150));
    let plan = small("load = { low = 0.5, high = 1.5, square = \"200ms\" }");
    let below = |at_ms: u64| plan.below_capacity(&plan.phases[0], at_ms * 1_000_000);
    assert!(!below(50) && below(150));
}

#[test]
fn what_comes_back_has_no_priority_and_what_is_recorded_does_not_come_back() {
    let retries = "[retries]\nmost = 1\npause = \"backoff\"\n[server]";
    let error = parse(&text("load = 1\nlow = 1").replace("[server]", retries)).unwrap_err().to_string();
    assert!(error.contains("low is given, allowed is none with clients that come back"), "{error}");
    let recorded = text("load = 1").replace("exponential", "recorded");
    let trace = format!("[trace]\nfile = \"x.csv\"\n{retries}");
    let error = parse(&recorded.replace("[server]", &trace)).unwrap_err().to_string();
    assert!(error.contains("load is of clients that come back, allowed is an open one"), "{error}");
    let error = parse(&recorded.replace("[server]", "[trace]\nfile = \"no/such.csv\"\n[server]"));
    assert!(error.unwrap_err().to_string().contains("plans/no/such.csv: the trace cannot be read"));
}

#[test]
fn knee_is_told_what_its_plan_says_and_held_to_its_bars() {
    let told = "[knee]\ntarget_delay = \"100ms\"\nmax_healthy_rtt = \"1s\"\n[bars]\njain = 0.9\n[server]";
    let plan = parse(&text("load = 1").replace("[server]", told)).unwrap();
    let settings = plan.told().knee;
    let second = core::time::Duration::from_secs(1);
    assert_eq!((settings.target_delay, settings.max_healthy_rtt), (Some(second / 10), Some(second)));
    assert_eq!(plan.bars, [(Figure::GoodputRatio, GOOD), (Figure::P99Ratio, QUICK), (Figure::Jain, 0.9)]);
    assert_eq!(small("load = 1").told().knee.target_delay, None);
}

#[test]
fn what_is_no_number_is_no_load_no_bar_and_no_range() {
    for (from, to, message) in [
        ("load = 1", "load = { from = nan, to = 3 }", "load is NaN to 3, allowed is 0 to 100000"),
        ("load = 1", "load = { from = 3, to = nan }", "load is 3 to NaN, allowed is 0 to 100000"),
        (
            "load = 1",
            "load = 1\nslots = { low = nan, high = 3, square = \"1s\" }",
            "slots is NaN to 3, allowed is 1 to 100000",
        ),
        ("[server]", "[bars]\njain = nan\n[server]", "jain is NaN, allowed is a number as its bar"),
        (
            "load = 1",
            "load = 1\n[expect.knee]\njain = { min = nan }",
            "jain is NaN to inf, allowed is min up to max",
        ),
        (
            "load = 1",
            "load = 1\n[expect.knee]\njain = { min = 2, max = 1 }",
            "jain is 2 to 1, allowed is min up to max",
        ),
    ] {
        let error = parse(&text("load = 1").replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_plan_may_ask_for_more_attempts_than_can_be_counted() {
    let most = "load = 100000\n[[phase]]\nlength = \"3599s\"\nload = 100000";
    let text = text(most).replace("slots = 2", "slots = 100000").replace("10ms", "1ns");
    assert_eq!(parse(&text).unwrap().expected_attempts(), u64::MAX);
}
