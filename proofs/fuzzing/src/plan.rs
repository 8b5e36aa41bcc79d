//! Plans of the simulator as text: those of gates, and those of the laboratory.

use std::path::Path;

use tollgate_sim::lab;
use tollgate_sim::plan::Plan;

/// A mistake is told with its place; nothing is read from other files.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("trace")) {
        return;
    }
    let path = Path::new("plans/fuzzed.toml");
    match Plan::parse(path, text) {
        Ok(plan) => assert_eq!(plan.name, "fuzzed"),
        Err(error) => told(text, &error.to_string()),
    }
    match lab::plan::Plan::parse(path, text) {
        Ok(plan) => in_a_quarter(plan),
        Err(error) => told(text, &error.to_string()),
    }
}

/// The place is one of this text.
fn told(text: &str, error: &str) {
    let place = error.strip_prefix("plans/fuzzed.toml:").and_then(|rest| rest.split(':').next());
    let line = place.and_then(|line| line.parse::<usize>().ok());
    let lines = text.split('\n').count();
    assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{error}");
}

/// What can be asked of any plan that is right.
fn in_a_quarter(plan: lab::plan::Plan) {
    assert_eq!(plan.name, "fuzzed");
    assert!(plan.expected.iter().all(|range| range.min <= range.max), "{:?}", plan.expected);
    assert!(plan.bars.iter().all(|(_, bar)| bar.is_finite()), "{:?}", plan.bars);
    let (whole, attempts) = (plan.span_ns(), plan.expected_attempts());
    let quick = plan.quick();
    assert!(quick.span_ns() <= whole && quick.expected_attempts() <= attempts, "a quarter is more");
}
