//! A short round of every machine.

use core::time::Duration;

use tollgate_soak::MACHINES;

#[test]
fn everything_comes_back_after_a_short_round_of_each_machine() {
    for machine in MACHINES {
        let tally = machine.round(7, Duration::from_millis(500)).unwrap();
        assert!(tally.asked > tally.granted && tally.granted > 0 && tally.left > 0, "{tally:?}");
    }
}
