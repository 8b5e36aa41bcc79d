use std::path::Path;

use super::*;

const GOOD: &str = r#"
about = "a"
source = "b"
duration = "10s"

[gate]
limit = 2

[server]
unit = "1ms"

[[tenant]]
name = "x"
count = 2
[[tenant.open]]
per_s = 1.0
job = { cost = 5 }

[[window]]
name = "half"
from = "0s"
to = "5s"

[[expect]]
what = "seats"
tenant = "x"
window = "half"
value = 2.0
margin = 0.1
"#;

fn parse(text: &str) -> Result<Plan, PlanError> {
    Plan::parse(Path::new("p.toml"), text)
}

#[test]
fn a_good_plan_has_its_defaults_filled_in() {
    let plan = parse(GOOD).unwrap();
    assert_eq!((plan.name.as_str(), plan.seed, plan.duration_ns), ("p", 1, 10_000_000_000));
    assert_eq!(plan.settings, Settings::default());
    let names: Vec<&str> = plan.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    assert_eq!(names, ["x-1", "x-2"]);
    let windows: Vec<&str> = plan.windows.iter().map(|window| window.name.as_str()).collect();
    assert_eq!(windows, ["run", "half"]);
    let range = &plan.ranges[0];
    assert_eq!(range.whom, Whom::Each { name: "x".to_owned(), tenants: vec![0, 1] });
    assert_eq!((range.window, range.allowed), (1, Allowed { min: 1.8, max: 2.2 }));
    assert_eq!(plan.quantum_to_judge(), Some(1));
}

#[test]
fn every_mistake_is_refused_with_its_place_and_what_is_allowed() {
    for (find, replace, place, allowed) in [
        ("limit = 2", "limt = 2", "p.toml:7:1:", "expected one of `limit`, `entry`, `max_queued`"),
        ("limit = 2", "limit = -2", "p.toml:7:9:", "expected a whole number, 0 or more, or \"unlimited\""),
        ("limit = 2", "limit = \"none\"", "p.toml:7:9:", "\"unlimited\""),
        ("limit = 2", "limit = 2\norder = \"fifo\"", "p.toml:8:9:", "expected `smooth` or `deficit`"),
        (
            "limit = 2",
            "limit = 2\nmax_wait = 5",
            "p.toml:8:12:",
            "a length of time like \"30s\", or \"none\"",
        ),
        (
            "limit = 2",
            "limit = 2\norder = { deficit = { quantum = 0 } }",
            "p.toml:6:1:",
            "1 cost unit or more",
        ),
        ("duration = \"10s\"", "duration = \"10\"", "p.toml:4:12:", "a length of time"),
        ("duration = \"10s\"", "duration = \"0s\"", "p.toml:4:12:", "allowed is 1ns or more"),
        ("per_s = 1.0", "per_s = -1.0", "p.toml:16:9:", "a number from 0 to 1e18"),
        ("per_s = 1.0", "per_s = 0.0", "p.toml:15:1:", "allowed is more than 0"),
        (
            "per_s = 1.0",
            "per_s = 1.0\non = \"1s\"",
            "p.toml:15:1:",
            "allowed is ramp_to_per_s alone, or on with off",
        ),
        ("cost = 5", "cost = [9, 5]", "p.toml:17:16:", "allowed is the smaller one first"),
        ("cost = 5", "cost = [5]", "p.toml:17:16:", "a pair of them"),
        ("cost = 5", "cost = 5, input = 3", "p.toml:17:7:", "allowed is cost, or input with output"),
        ("cost = 5", "cots = 5", "p.toml:17:9:", "expected one of `cost`, `input`"),
        ("unit = \"1ms\"", "", "p.toml:17:7:", "found neither exec nor [server] unit"),
        ("to = \"5s\"", "to = \"50s\"", "p.toml:19:1:", "within the duration"),
        ("what = \"seats\"", "what = \"chairs\"", "p.toml:25:8:", "expected one of `seats`, `executing`"),
        ("tenant = \"x\"", "tenant = \"y\"", "p.toml:26:10:", "allowed is each, x, x-1, x-2"),
        ("window = \"half\"", "window = \"whole\"", "p.toml:27:10:", "allowed is run, half"),
        ("value = 2.0", "min = 2.0", "p.toml:24:1:", "allowed is one way to say a range"),
        ("value = 2.0\nmargin = 0.1", "", "p.toml:24:1:", "allowed is min, max, both, or value"),
        (
            "margin = 0.1",
            "margin = 0.1\nsource_margin = 0.05",
            "p.toml:24:1:",
            "allowed is that with a reason",
        ),
        ("what = \"seats\"", "what = \"jain\"", "p.toml:24:1:", "allowed is jain without tenant"),
        (
            "what = \"seats\"",
            "what = \"seats\"\nby = \"x\"",
            "p.toml:26:6:",
            "allowed is by for what = \"refused\"",
        ),
        (
            "[[window]]",
            "[[rule]]\ndimension = \"size\"\nlimit = 1\nwindow = \"1s\"\n[[window]]",
            "p.toml:20:13:",
            "expected `request_count` or `cost`",
        ),
        (
            "[[window]]",
            "[[rule]]\ndimension = \"cost\"\nlimit = 0\nwindow = \"1s\"\n[[window]]",
            "p.toml:19:1:",
            "rule 1: limit is 0, allowed is 1 or more",
        ),
        ("name = \"x\"", "name = \"x\"\nweight = 0", "p.toml:12:1:", "weight is 0, allowed is 1 or more"),
    ] {
        assert!(GOOD.contains(find), "{find}");
        let error = parse(&GOOD.replace(find, replace)).expect_err(replace).to_string();
        assert!(error.starts_with(place), "{replace}: {error}");
        assert!(error.contains(allowed), "{replace}: {error}");
    }
}

#[test]
fn a_margin_wider_than_that_of_the_source_is_taken_with_a_reason() {
    let text = GOOD.replace("margin = 0.1", "margin = 0.1\nsource_margin = 0.05\nreason = \"because\"");
    assert_eq!(parse(&text).unwrap().ranges[0].reason.as_deref(), Some("because"));
}

#[test]
fn a_plan_without_loads_and_a_call_that_takes_no_time_are_refused() {
    let none = parse("about = \"a\"\nsource = \"b\"\nduration = \"1s\"\n[gate]\nlimit = 1\n");
    assert!(none.unwrap_err().to_string().contains("found no loads"));
    let instant = GOOD.replace("[[tenant.open]]\nper_s = 1.0\njob = { cost = 5 }", {
        "[[tenant.closed]]\nthreads = 1\nthink = \"-5ms\"\njob = { exec = \"5ms\" }"
    });
    assert!(parse(&instant).unwrap_err().to_string().contains("add up to 1ns or more"));
}

#[test]
fn fairness_between_pairs_is_judged_only_where_the_order_promises_it() {
    let judged = |gate: &str| {
        let text = GOOD.replace("limit = 2", &format!("limit = 2\n{gate}"));
        parse(&text).unwrap().quantum_to_judge()
    };
    assert_eq!(judged("order = { deficit = { quantum = 7 } }"), Some(7));
    assert_eq!(judged("order = \"smooth\""), None);
    assert_eq!(judged("head_of_line = { backfill = { max_passes = 3 } }"), None);
    let refunds = GOOD.replace("cost = 5", "cost = 5, ends = \"not_started\"");
    assert_eq!(parse(&refunds).unwrap().quantum_to_judge(), None);
}

#[test]
fn ranges_are_said_as_short_as_they_can_be() {
    let say = |min, max| Allowed { min, max }.to_string();
    assert_eq!(say(1.0, 1.0), "exactly 1");
    assert_eq!(say(0.5, 1.25), "0.5 to 1.25");
    assert_eq!(say(2.0, f64::INFINITY), "2 or more");
    assert_eq!(say(f64::NEG_INFINITY, 0.125), "0.125 or less");
    assert!(!Allowed { min: 0.0, max: f64::INFINITY }.holds(f64::NAN));
}
