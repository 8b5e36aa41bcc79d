//! `tollgate-sim score` as a person meets it, on small plans of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tollgate_sim::lab::plan::Plan;
use tollgate_sim::score::snapshot;

/// Attempts of a plan that takes no time worth speaking of.
const SHORT: u64 = 60_000;

/// A second on four slots at twice the capacity.
const SMALL: &str = r#"
about = "A small overload."
source = "this test"
warm_up = "200ms"
deadline = "100ms"
seeds = [1, 2]

[server]
slots = 4
base = "10ms"
law = "exponential"

[[phase]]
length = "600ms"
load = 2

[[phase]]
length = "600ms"
load = 2
slots = 2
"#;

fn score(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate-sim"));
    command.env("CARGO_TARGET_DIR", env!("CARGO_TARGET_TMPDIR")).arg("score").args(arguments);
    command.output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A folder of this test's own: other tests leave files of other kinds beside it.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&path).expect("the temporary directory can be written");
    path
}

/// A file of this test's own, with this content.
fn file(name: &str, content: &str) -> String {
    let path = folder("score").join(name);
    fs::write(&path, content).expect("the temporary directory can be written");
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn the_same_command_gives_the_same_bytes_with_and_without_the_cache() {
    let plan = file("same.toml", SMALL);
    let run = |tag: &str, cache: &[&str]| {
        let json = file(&format!("same-{tag}.json"), "");
        let svg = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("same-{tag}"));
        let svg = svg.to_str().expect("a plain path");
        let output = score(&[&["--plan", &plan, "--json", &json, "--svg", svg][..], cache].concat());
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "no progress bar where there is no terminal");
        let chart = fs::read(format!("{svg}/same.svg")).expect("it was written");
        (output.stdout, fs::read(json).expect("it was written"), chart)
    };
    let first = run("a", &["--no-cache"]);
    assert_eq!(first, run("b", &[]));
    assert_eq!(first, run("c", &[]), "this time the oracle is read");
    let json: serde_json::Value = serde_json::from_slice(&first.1).expect("valid JSON");
    assert_eq!(json[0]["plan"], "same");
    assert_eq!(json[0]["estimator"], "knee");
    assert!(
        json[0]["goodput_ratio"].as_f64().is_some_and(|ratio| (0.2..1.5).contains(&ratio)),
        "{}",
        json[0]
    );
    assert!(text(&first.2).starts_with("<svg"));
}

#[test]
fn a_figure_outside_its_range_is_named_and_the_exit_code_is_1() {
    let ranges = "[expect.aimd]\ngoodput_ratio = { min = 2 }\n[expect.fixed-4]\np99_ratio = { max = 9 }\n";
    let plan = file("impossible.toml", &SMALL.replace("[server]", &format!("{ranges}\n[server]")));
    let output = score(&["--plan", &plan, "--estimators", "aimd,fixed-4"]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = text(&output.stdout);
    assert!(stdout.contains("FAILED impossible, aimd: goodput_ratio is "), "{stdout}");
    assert!(stdout.contains("allowed is 2 or more"), "{stdout}");
    assert_eq!(stdout.matches("FAILED").count(), 1, "{stdout}");
    assert!(text(&output.stderr).contains("1 out of place"));
    let quick = score(&["--plan", &plan, "--estimators", "aimd,fixed-4", "--quick"]);
    assert!(quick.status.success(), "a quick score looks at rules, not at ranges");
}

#[test]
fn mistakes_are_named_with_their_place_and_exit_code_2() {
    let unknown = file("unknown.toml", &SMALL.replace("slots = 4", "slots = 4\nspeed = 3"));
    let good = file("good.toml", SMALL);
    let all = folder("score-unknown");
    fs::copy(&unknown, all.join("unknown.toml")).expect("it was just written");
    let all = all.to_str().expect("a plain path");
    for (arguments, names) in [
        (
            &["--plan", &unknown][..],
            "unknown.toml:10:1: unknown field `speed`, expected one of `slots`, `base`",
        ),
        (&["--plan", "no/such.toml"], "no/such.toml: cannot be read"),
        (&["--plans", all, "--estimators", "x"], "unknown field `speed`"),
        (
            &["--plan", &good, "--estimators", "magic"],
            "estimator is \"magic\", allowed is knee, vegas, gradient2",
        ),
        (&["--plan", &good, "--seeds", "none"], "allowed is how many (9)"),
    ] {
        let output = score(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(names), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn every_plan_of_the_repository_can_be_read_and_the_short_ones_break_no_rule() {
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/plans/limits");
    let paths = fs::read_dir(plans).expect("there are plans").map(|entry| entry.expect("an entry").path());
    let all = Plan::open_all(plans.as_ref()).expect("all plans are good");
    assert_eq!(all.len(), paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).count());
    assert!(all.len() > 100);
    for name in ["steady-1-slots-x2", "steady-4-slots-x1.2", "steady-4-slots-200ms-x1.2"] {
        let plan = format!("{plans}/{name}.toml");
        let arguments =
            ["--plan", &plan, "--quick", "--estimators", "vegas,gradient2,gradient,aimd", "--seeds", "1"];
        let output = score(&arguments);
        assert!(output.status.success(), "{name}: {}", text(&output.stdout));
    }
}

#[test]
fn what_is_accepted_is_a_snapshot_and_ranges_and_what_differs_from_them_is_named() {
    let plan = file("accepted.toml", SMALL);
    let knee = &["--plan", &plan, "--estimators", "knee"][..];
    let output = score(&[knee, &["--accept"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let content = fs::read_to_string(&plan).expect("it is there");
    assert!(content.starts_with(SMALL.trim_end()) && content.contains("\n\n[expect.knee]\n"), "{content}");
    assert!(content.contains("goodput_ratio = { min = "), "{content}");
    assert!(score(knee).status.success(), "what was accepted holds");

    let snapshot = plan.replace(".toml", ".snapshot");
    let accepted = fs::read_to_string(&snapshot).expect("it was written");
    assert!(accepted.starts_with("accepted, knee, seed 1\nphase 1: "), "{accepted}");
    fs::write(&snapshot, accepted.replace("phase 2: ", "phase 2: 9")).expect("written");
    let output = score(knee);
    assert_eq!(output.status.code(), Some(1));
    let stdout = text(&output.stdout);
    assert!(stdout.contains("FAILED accepted, knee: snapshot line 3 is \"phase 2: 9"), "{stdout}");
    fs::remove_file(&snapshot).expect("it was there");
    assert!(score(knee).status.success(), "without a snapshot there is nothing to compare with");
}

#[test]
fn every_plan_of_the_repository_has_ranges_and_a_snapshot_of_knee_and_the_short_ones_are_the_same() {
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/plans/limits");
    let all = Plan::open_all(plans.as_ref()).expect("all plans are good");
    let mut compared = 0;
    for plan in &all {
        let ranges = plan.expected.iter().filter(|expected| expected.estimator == "knee").count();
        assert!(ranges >= 2 && snapshot::path(plan).is_file(), "{}: score --accept writes them", plan.name);
        if plan.expected_attempts() < SHORT {
            assert_eq!(snapshot::check(plan).expect("knee runs"), None, "{}", plan.name);
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} plans are short");
}
