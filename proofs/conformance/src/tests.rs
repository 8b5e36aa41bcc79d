extern crate std;

use std::collections::HashSet;
use std::string::String;
use std::vec::Vec;

use super::{CONTROL, ESTIMATORS, LIMITS, Machine, SEQUENCES, check, expected};
use crate::golden::{self, Tally};

fn all() -> Vec<Machine> {
    [LIMITS, ESTIMATORS].concat()
}

fn of_this_host() -> String {
    let mut text = String::new();
    expected(&mut text).unwrap();
    text
}

#[test]
fn every_machine_agrees_with_itself_and_with_the_recorded_runs() {
    let mut table = String::new();
    let tally = check(&all(), &of_this_host(), &mut table).unwrap();
    std::println!("{table}");
    assert_eq!(tally.failed, 0, "{table}");
    assert!(all().iter().all(|machine| table.contains(machine.name)), "{table}");
}

#[test]
fn every_recorded_run_is_understood_to_its_end() {
    // A value that is missing counts as one that failed, so it is enough that there are values.
    for name in ["aimd", "vegas", "gradient", "gradient2"] {
        let machine = ESTIMATORS.iter().find(|machine| machine.name == name).unwrap();
        let rows: usize = machine.recorded.iter().map(|run| run.lines().count() - 2).sum();
        let passed = usize::try_from(machine.recorded().passed).unwrap();
        assert!(passed >= rows && passed % rows == 0, "{name}: {passed} values in {rows} rows");
    }
}

#[test]
fn no_two_sequences_get_the_same_answers() {
    for machine in all() {
        let hashes: HashSet<u64> = (0..SEQUENCES).map(|sequence| machine.answers(sequence)).collect();
        // Settings that are refused for the same reason are a sequence of one answer.
        assert!(hashes.len() > 28, "{}: {} of {SEQUENCES} are different", machine.name, hashes.len());
    }
}

#[test]
fn a_sequence_gets_the_same_answers_again() {
    assert_eq!(of_this_host(), of_this_host());
}

#[test]
fn a_hash_that_was_not_expected_is_reported_for_its_machine_alone() {
    let right = of_this_host();
    let lines: Vec<String> = right
        .lines()
        .map(|line| match line.strip_prefix("drr 3 ") {
            Some(hash) => std::format!("drr 3 {:016x}", u64::from_str_radix(hash, 16).unwrap() ^ 1),
            None => line.into(),
        })
        .collect();
    let mut table = String::new();
    let tally = check(&all(), &lines.join("\n"), &mut table).unwrap();
    assert_eq!(tally.failed, 1, "{table}");
    assert!(table.contains("drr: 31 of 32 sequences"), "{table}");
}

#[test]
fn a_machine_of_which_nothing_is_expected_fails() {
    let mut table = String::new();
    let tally = check(&all(), "", &mut table).unwrap();
    assert_eq!(usize::try_from(tally.failed / SEQUENCES), Ok(all().len()), "{table}");
}

/// The text of a run with the field of one column in its last row changed as little as can be.
fn with_last_changed(run: &str, column: &str) -> String {
    let at = run.lines().nth(1).unwrap().split(',').position(|name| name == column).unwrap();
    let (rest, last) = run.trim_end().rsplit_once('\n').unwrap();
    let mut fields: Vec<String> = last.split(',').map(String::from).collect();
    fields[at] = if column.ends_with("_f64") {
        let value: f64 = fields[at].parse().unwrap();
        std::format!("{:?}", if value.is_nan() { 0.0 } else { value.next_up() })
    } else {
        std::format!("{}", fields[at].parse::<i64>().unwrap() + 1)
    };
    std::format!("{rest}\n{}\n", fields.join(","))
}

#[test]
fn every_recorded_column_is_compared_to_its_last_bit() {
    let not_of_the_estimator = ["rtt_ns", "inflight", "did_drop", "probe_jitter", "err", "limit_before"];
    let mut compared = 0;
    for run in ESTIMATORS.iter().flat_map(|machine| machine.recorded) {
        let columns = run.lines().nth(1).unwrap().split(',');
        for column in columns.filter(|column| !not_of_the_estimator.contains(column)) {
            let mut tally = Tally::default();
            golden::replay(&with_last_changed(run, column), &mut tally);
            assert_eq!(tally.failed, 1, "{column} of {}", run.lines().next().unwrap());
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn a_run_that_is_not_understood_is_reported() {
    for text in ["", "# algorithm=other\nlimit\n1\n", "# algorithm=aimd\nlimit\n1\n"] {
        let mut tally = Tally::default();
        golden::replay(text, &mut tally);
        assert_eq!(tally, Tally { passed: 0, failed: 1 }, "{text}");
    }
}

#[test]
fn a_run_that_breaks_off_is_reported() {
    let whole = golden::CONTROL.replace("1000000,21,0,21", "1000000,21,0,22");
    for (run, failed) in [(whole.clone(), 0), (whole.replace("1000000,21", "later,21"), 1)] {
        let mut tally = Tally::default();
        golden::replay(&run, &mut tally);
        assert_eq!(tally, Tally { passed: 2 - failed, failed }, "{run}");
    }
}

#[test]
fn the_control_is_reported() {
    let mut table = String::new();
    let tally = check(CONTROL, &of_this_host(), &mut table).unwrap();
    assert_eq!(tally, Tally { passed: 32, failed: 2 });
    assert!(table.contains("31 of 32 sequences, 1 of 2 recorded values"), "{table}");
}
