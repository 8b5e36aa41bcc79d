//! Every plan is as it should be, and a plan that is not is told so.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate_sim::suite::{self, Outcome, Snapshot};

fn plans() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plans")
}

/// A copy of a plan of this test's own, changed, with its snapshot and its trace.
fn copy(tag: &str, plan: &str, change: impl Fn(String) -> String) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("plans-{tag}"));
    fs::create_dir_all(&directory).expect("the temporary directory can be written");
    let path = directory.join(format!("{plan}.toml"));
    let text = fs::read_to_string(plans().join(format!("{plan}.toml"))).expect("the plan is there");
    let changed = change(text.clone());
    assert!(tag.starts_with("same") || changed != text, "the change has to change something");
    fs::write(&path, changed).expect("written");
    fs::copy(plans().join(format!("{plan}.snapshot")), path.with_extension("snapshot")).expect("copied");
    path
}

fn run(path: &Path) -> Outcome {
    suite::run(path, false, |_, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_plan_holds_its_ranges_its_rules_and_its_snapshot() {
    let plans = suite::plans(&plans()).expect("there are plans");
    assert!(plans.len() >= 36, "{} plans", plans.len());
    let mut failures = Vec::new();
    for path in plans {
        let outcome = run(&path);
        assert!(!outcome.findings.checks.is_empty(), "{} expects nothing", path.display());
        assert_eq!(outcome.snapshot, Snapshot::Same, "{}", path.display());
        failures.extend(outcome.failures());
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn the_same_plan_gives_the_same_report_twice() {
    let path = copy("same-twice", "vtc-poisson-short-long", |text| text);
    assert_eq!(run(&path).text, run(&path).text);
}

#[test]
fn an_impossible_range_fails_with_its_line_its_figure_and_what_is_allowed() {
    let path = copy("impossible", "kubernetes-different-flows-unequal", |text| {
        text.replace("value = 1.0\nmargin = 0.01", "min = 7.5")
    });
    let outcome = run(&path);
    let failures = outcome.failures();
    assert!(
        failures[0].contains(": seats of two is 1, allowed is 7.5 or more")
            && failures[0].starts_with("kubernetes-different-flows-unequal:"),
        "{failures:#?}"
    );
    assert!(outcome.text.contains("FAIL seats of two: 1, allowed is 7.5 or more"));
}

#[test]
fn a_snapshot_that_was_tampered_with_fails_with_its_line() {
    let path = copy("tampered", "kubernetes-baseline", |text| text + "# changed\n");
    let snapshot = path.with_extension("snapshot");
    let text = fs::read_to_string(&snapshot).expect("it was copied");
    fs::write(&snapshot, text.replace("Longest wait 0 ms", "Longest wait 1 ms")).expect("written");
    let failures = run(&path).failures();
    assert_eq!(failures.len(), 1, "{failures:#?}");
    assert!(
        failures[0].contains("snapshot line ") && failures[0].contains("Longest wait 1 ms"),
        "{failures:#?}"
    );
}

#[test]
fn another_load_changes_the_report_and_so_the_snapshot() {
    let path = copy("load", "vtc-poisson-short-long", |text| text + "\nseed_is_not_a_key_here = 1\n");
    assert!(suite::run(&path, false, |_, _| {}).is_err());
    let path =
        copy("load", "vtc-poisson-short-long", |text| text.replace("duration =", "seed = 2\nduration ="));
    assert!(matches!(run(&path).snapshot, Snapshot::Differs { .. }));
}

#[test]
fn a_snapshot_is_accepted_only_with_a_reason_and_then_holds() {
    let reasonless = copy("reasonless", "kubernetes-baseline", |text| {
        text.lines().filter(|line| !line.starts_with("accepted")).map(|line| format!("{line}\n")).collect()
    });
    for accept in [false, true] {
        let error =
            suite::run(&reasonless, accept, |_, _| {}).expect_err("there is a snapshot and no reason");
        assert!(error.to_string().contains("accepted = "), "{error}");
    }
    let path = copy("accept", "kubernetes-baseline", |text| {
        text.replace("duration = \"20s\"", "duration = \"19s\"")
    });
    assert!(matches!(run(&path).snapshot, Snapshot::Differs { .. }));
    let accepted = suite::run(&path, true, |_, _| {}).expect("a good plan");
    assert_eq!(accepted.snapshot, Snapshot::Accepted);
    assert_eq!(run(&path).snapshot, Snapshot::Same);
}

#[test]
fn every_plan_says_where_it_is_from() {
    for path in suite::plans(&plans()).expect("there are plans") {
        let plan = tollgate_sim::plan::Plan::open(&path).expect("a good plan");
        assert!(plan.source.len() > 20 && plan.about.ends_with('.'), "{}", path.display());
        assert!(plan.accepted.is_some(), "{} has no snapshot", path.display());
    }
}

#[test]
fn the_averages_of_the_kubernetes_plans_are_the_max_min_fair_shares_of_what_is_asked_for() {
    let shares = |demands: &[f64], limit: f64| {
        let demands: Vec<(f64, f64)> = demands.iter().map(|&demand| (demand, 1.0)).collect();
        tollgate_sim::shares::max_min(&demands, limit)
    };
    // Threads · width · exec ÷ (exec + think), as the plans have them.
    for (demands, limit, expected) in [
        (&[8.0 / 2.0, 8.0 / 2.0][..], 4.0, &[2.0, 2.0][..]),
        (&[8.0 / 2.0, 7.0 / 1.5], 4.0, &[2.0, 2.0]),
        (&[4.0 / 2.0, 2.0 / 2.0], 3.0, &[2.0, 1.0]),
        (&[13.0 / 2.0, 7.0 * 2.0 / 2.0], 6.0, &[3.0, 3.0]),
        (&[2.0, 1.0], 3.0, &[2.0, 1.0]),
        (&[2.0, 2.0], 3.0, &[1.5, 1.5]),
        (&[15.0, 15.0, 15.0, 15.0, 52.5], 6.0, &[1.2, 1.2, 1.2, 1.2, 1.2]),
        (&[8.0 / 2.0 * 500.0, 7.0 / 1.5 * 500.0], 2000.0, &[1000.0, 1000.0]),
    ] {
        let found = shares(demands, limit);
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {expected:?}");
    }
}
