//! What a verification asks for and what its verdict does, on rounds written down by hand.

use super::*;

fn trial() -> Trial {
    Trial { level: 18.0, in_flight: 40.0, mean_ns: 30e6, before: 40.0 }
}

fn knee() -> Knee {
    settled(KneeSettings::default(), 40, 32).0
}

#[test]
fn each_queue_beyond_doubt_holds_verifications_back_for_longer_and_a_doubtful_one_hardly() {
    let mut knee = knee();
    for expected in [8, 16, 32, 32] {
        knee.end_verify(&round(18.0, 13.0), trial());
        assert_eq!(held(knee.hold), expected);
    }
    // Half of the way: neither.
    knee.end_verify(&round(18.0, 18.0), trial());
    assert_eq!(held(knee.hold), 2);
}

/// Rounds until it is over.
fn held(mut hold: Hold) -> u32 {
    let mut rounds = 0;
    while !hold.is_over() {
        hold.tick();
        rounds += 1;
    }
    rounds
}

#[test]
fn where_as_many_were_in_flight_as_before_nothing_is_known() {
    let mut knee = knee();
    knee.end_verify(&round(40.0, 10.0), trial());
    assert_eq!(held(knee.hold), 2, "not beyond doubt");
}

#[test]
fn what_a_verification_carried_never_takes_the_limit_above_what_it_was() {
    let mut knee = knee();
    knee.standing = 20.0;
    // 64 in 20 ms carry 32, and the headroom comes on top.
    knee.end_verify(&round(18.0, 13.0), Trial { before: 30.0, ..trial() });
    assert_eq!(knee.estimate(), 30.0);
    knee.standing = 20.0;
    knee.end_verify(&round(18.0, 13.0), trial());
    assert!(knee.estimate() > 35.0, "{}", knee.estimate());
}

#[test]
fn a_deep_descent_is_verified_although_the_queue_is_short_by_now() {
    let verified = |top: f64| {
        let mut knee = knee();
        (knee.descent, knee.top) = (1, top);
        knee.hold.tick();
        // Twice the baseline with 20 in flight: 10 wait, of a headroom of about 7.
        let mut slow = round(20.0, 19.0);
        slow.free = 0.0;
        knee.judge(&slow).is_some()
    };
    assert!(verified(100.0));
    assert!(!verified(41.0), "1.3 headrooms are no grave queue");
}

#[test]
fn three_busy_and_very_slow_rounds_without_much_of_a_queue_are_verified() {
    let mut knee = settled(KneeSettings::default(), 4, 2).0;
    for _ in 0..2 {
        assert_eq!(knee.judge(&round(4.0, 25.0)), None);
        knee.standing = 4.0;
    }
    assert_eq!(knee.judge(&round(4.0, 25.0)), Some(4.0));
    // One round that is not so slow begins the count anew.
    for rtt_ms in [25.0, 25.0, 12.0, 25.0, 25.0] {
        knee.standing = 4.0;
        assert_eq!(knee.judge(&round(4.0, rtt_ms)), None);
    }
}

#[test]
fn a_queue_that_is_far_too_long_proves_how_few_are_in_service() {
    let mut knee = knee();
    // Four times the baseline: ten of forty are in service.
    knee.judge(&round(40.0, 40.0));
    assert_eq!(knee.headroom.capacity(), 10.0);
}
