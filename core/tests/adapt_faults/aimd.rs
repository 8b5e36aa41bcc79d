//! Faults of AIMD.

use tollgate::Timestamp;
use tollgate::adapt::{Aimd, AimdSettings, Estimator, Outcome, Sample};

use super::{Client, MS};

/// Report 46 (tower-resilience#368, throttle-net TN-007): k correlated failures cut k times.
#[test]
fn aimd_requests_that_fail_together_cut_once_each() {
    let storm = |settings: AimdSettings| {
        let mut aimd = Aimd::new(AimdSettings { initial: 100, min: 1, max: 200, ..settings }).unwrap();
        let lost = Sample { started: Timestamp::ZERO, rtt: MS, in_flight: 100, outcome: Outcome::Dropped };
        for _ in 0..100 {
            aimd.on_sample(&lost);
        }
        aimd.limit()
    };
    assert_eq!(storm(AimdSettings::netflix()), 1);
    assert_eq!(storm(AimdSettings { slow_start: false, ..AimdSettings::default() }), 90);
    assert_eq!(storm(AimdSettings::default()), 50, "a slow start that overshot");
}

/// Netflix#147.
#[test]
fn aimd_adds_a_permit_per_request_and_doubles_in_one_round_trip() {
    let trip = |settings: AimdSettings| {
        let mut aimd = Aimd::new(AimdSettings { initial: 50, max: 200, ..settings }).unwrap();
        Client::default().busy(&mut aimd, MS, 50)
    };
    assert_eq!(trip(AimdSettings::netflix()), 100);
    assert_eq!(trip(AimdSettings { slow_start: false, ..AimdSettings::default() }), 51);
    let mut slow = Aimd::new(AimdSettings { initial: 50, max: 200, ..AimdSettings::default() }).unwrap();
    Client::default().busy(&mut slow, 4000 * MS, 1);
    assert_eq!(Client::default().busy(&mut slow, MS, 49), 51, "slow start is over at the first slow success");
}
