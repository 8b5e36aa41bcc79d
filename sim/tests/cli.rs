//! The command as a person meets it: what it prints, what it writes, how it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate-sim")).args(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A file of this test's own, with this content.
fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("the temporary directory can be written");
    path
}

const SMALL: [&str; 9] =
    ["compare", "--slots", "2", "--cost", "10", "--duration-s", "2", "--policies", "none,fixed,gradient2"];

#[test]
fn the_same_command_gives_the_same_bytes_in_all_four_forms() {
    let run = |tag: &str| {
        let paths = ["csv", "json", "svg"].map(|form| file(&format!("same-{tag}.{form}"), ""));
        let [csv, json, svg] = paths.each_ref().map(|path| path.to_str().expect("a plain path"));
        let output = sim(&[&SMALL[..], &["--csv", csv, "--json", json, "--svg", svg]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "no progress bar where there is no terminal");
        let mut all = vec![output.stdout];
        all.extend(paths.iter().map(|path| fs::read(path).expect("it was written")));
        all
    };
    let first = run("a");
    assert_eq!(first, run("b"));
    let json: serde_json::Value = serde_json::from_slice(&first[2]).expect("valid JSON");
    assert_eq!(json["comparison"]["rows"][0]["policy"], "none");
    assert!(text(&first[3]).starts_with("<svg"));
}

#[test]
fn a_malformed_trace_is_refused_with_its_place_and_exit_code_2() {
    let path = file("malformed.csv", "arrival_s,tenant,cost\n0,a,1\n1,a,-5\n");
    let output = sim(&["compare", "--trace", path.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let message = text(&output.stderr);
    assert!(message.contains("malformed.csv:3:5: cost is \"-5\", allowed is a whole number"), "{message}");
}

#[test]
fn mistakes_on_the_command_line_are_named_with_exit_code_2() {
    for (arguments, names) in [
        (&["compare", "--load", "-1"][..], "load is -1, allowed is"),
        (&["compare", "--load", "0"], "load is 0, allowed is"),
        (&["compare", "--slots", "0"], "slots is 0, allowed is"),
        (&["compare", "--slow", "10%:20%"], "FROM:TO:FACTOR"),
        (&["compare", "--bursts", "1:2"], "4 numbers separated by colons"),
        (&["compare", "--trace", "no/such/file"], "no/such/file"),
        (&["compare", "--trace", "x", "--arrivals", "ramp"], "cannot be used with"),
        (&["compare", "--speed", "2"], "--trace"),
        (&["compare", "--policies", "magic"], "gradient2"),
        (&["compare", "--fixed", "0"], "--fixed"),
        (&[], "Usage"),
    ] {
        let output = sim(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(names), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_file_that_cannot_be_written_is_no_mistake_of_the_input() {
    let output = sim(&[&SMALL[..], &["--csv", "no/such/directory/out.csv"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write no/such/directory/out.csv"));
}

#[test]
fn bursts_and_ramps_are_simulated_too() {
    for law in ["poisson", "onoff", "ramp"] {
        let output = sim(&[&SMALL[..], &["--arrivals", law, "--bursts", "3:0.5:0.3:0.5"]].concat());
        assert!(output.status.success(), "{law}: {}", text(&output.stderr));
    }
}

/// A plan of one job, changed.
fn plan(name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let text = "about = \"One job.\"\nsource = \"this test\"\nduration = \"1s\"\n\n[gate]\nlimit = 1\n\n\
        [[tenant]]\nname = \"one\"\n[[tenant.burst]]\nat = \"0s\"\njobs = 1\njob = { exec = \"100ms\" }\n\n\
        [[expect]]\nwhat = \"started\"\nvalue = 1\n";
    file(name, &change(text))
}

#[test]
fn a_plan_is_run_and_written_in_three_forms_the_same_each_time() {
    let path = plan("one-job.toml", str::to_owned);
    let run = |tag: &str| {
        let paths = ["json", "svg"].map(|form| file(&format!("plan-{tag}.{form}"), ""));
        let [json, svg] = paths.each_ref().map(|path| path.to_str().expect("a plain path"));
        let output = sim(&["run", path.to_str().expect("a plain path"), "--json", json, "--svg", svg]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "no progress bar where there is no terminal");
        let mut all = vec![output.stdout];
        all.extend(paths.iter().map(|path| fs::read(path).expect("it was written")));
        all
    };
    let first = run("a");
    assert_eq!(first, run("b"));
    assert!(text(&first[0]).contains("PASS started: 1, allowed is exactly 1"), "{}", text(&first[0]));
    let json: serde_json::Value = serde_json::from_slice(&first[1]).expect("valid JSON");
    assert_eq!(json["tenants"][0]["started"], 1.0);
    assert_eq!(json["checks"][0]["pass"], true);
    assert!(text(&first[2]).starts_with("<svg"));
}

#[test]
fn a_range_that_does_not_hold_is_named_with_its_figure_and_exit_code_1() {
    let path = plan("wrong-range.toml", |text| text.replace("value = 1\n", "value = 2\n"));
    let output = sim(&["run", path.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "wrong-range:15: started is 1, allowed is exactly 2\n");
}

#[test]
fn a_bad_plan_is_refused_with_its_place_and_exit_code_2() {
    for (find, replace, message) in [
        ("limit = 1", "limits = 1", "bad.toml:6:1: unknown field `limits`, expected one of `limit`"),
        (
            "limit = 1",
            "limit = \"one\"",
            "bad.toml:6:9: invalid value: string \"one\", expected a whole number",
        ),
        ("\"100ms\"", "\"100\"", "a length of time like \"100ms\""),
        ("duration = \"1s\"", "", "missing field `duration`"),
        ("[gate]", "[gate", "bad.toml:5:6:"),
    ] {
        let path = plan("bad.toml", |text| text.replace(find, replace));
        let output = sim(&["run", path.to_str().expect("a plain path")]);
        assert_eq!(output.status.code(), Some(2), "{replace}");
        assert!(text(&output.stderr).contains(message), "{replace}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
    let missing = sim(&["run", "no/such/plan.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("no/such/plan.toml: cannot be read"));
}

#[test]
fn all_plans_of_a_directory_are_run_a_line_each() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("all-plans");
    fs::create_dir_all(&directory).expect("the temporary directory can be written");
    let plan = |name: &str, change: &dyn Fn(&str) -> String| {
        let path = plan(&format!("all-{name}.toml"), change);
        fs::rename(&path, directory.join(format!("{name}.toml"))).expect("moved");
    };
    let run = || sim(&["run", "--all", directory.to_str().expect("a plain path")]);
    let _old = fs::remove_file(directory.join("c.toml"));
    plan("a", &str::to_owned);
    plan("b", &str::to_owned);
    let output = run();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    assert!(lines.starts_with("ok   a ") && lines.contains("\nok   b "), "{lines}");
    assert!(lines.ends_with("2 of 2 plans are as they should be\n"), "{lines}");

    plan("b", &|text| text.replace("value = 1\n", "min = 9\n"));
    let output = run();
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stdout);
    assert!(
        lines.contains("FAIL b ") && lines.contains("b:15: started is 1, allowed is 9 or more"),
        "{lines}"
    );

    plan("c", &|text| text.replace("limit = 1", "limit = -1"));
    let output = run();
    assert_eq!(output.status.code(), Some(2), "a bad plan among them");
    assert!(text(&output.stderr).contains("c.toml:6:9:"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("1 of 3 plans are as they should be\n"));
}

#[test]
fn the_plans_of_the_workspace_are_found_from_inside_it_and_an_empty_directory_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate-sim"))
        .args(["run", "--all"])
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src"))
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-plans");
    fs::create_dir_all(&empty).expect("the temporary directory can be written");
    let output = sim(&["run", "--all", empty.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("files that end in .toml"), "{}", text(&output.stderr));
    assert_eq!(sim(&["run"]).status.code(), Some(2));
}
