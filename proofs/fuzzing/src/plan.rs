//! Plans of the simulator as text.

use std::path::Path;

use tollgate_sim::plan::Plan;

/// A mistake is told with its place; nothing is read from other files.
pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("trace")) {
        return;
    }
    match Plan::parse(Path::new("plans/fuzzed.toml"), text) {
        Ok(plan) => assert_eq!(plan.name, "fuzzed"),
        Err(error) => {
            let told = error.to_string();
            let place = told.strip_prefix("plans/fuzzed.toml:").and_then(|rest| rest.split(':').next());
            let line = place.and_then(|line| line.parse::<usize>().ok());
            let lines = text.split('\n').count();
            assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{told}");
        }
    }
}
