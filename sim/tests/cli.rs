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
