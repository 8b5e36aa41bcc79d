//! Each comparison of the rules on both of its sides, on rounds written down by hand.

use super::*;

fn at(limit: u32) -> Knee {
    settled(KneeSettings { initial: 1000, ..KneeSettings::default() }, limit, limit).0
}

#[test]
fn drops_are_beyond_chance_by_three_sigma_of_a_share_that_few_samples_cannot_pin_down() {
    let fewer = |total, normal| {
        let mut knee = at(40);
        knee.drops = Drops::of(normal);
        knee.drops_rose(&Round { total, dropped: 0.0, ..round(40.0, 10.0) });
        knee.drops.normal()
    };
    // No drop of 60 where three in a hundred are normal: twelve sigma of the least share that could be told from none.
    assert_eq!(fewer(60.0, 0.03), 0.0, "the new normal at once");
    assert!((fewer(60.0, 0.02) - 0.016).abs() < 1e-12, "by a fifth");
}

#[test]
fn more_than_half_dropped_slowly_is_death_although_some_succeed() {
    let dies = |slow, succeeded| at(40).dies(&Round { slow, succeeded, ..round(40.0, 10.0) });
    assert_eq!([dies(0.6, true), dies(0.4, true), dies(0.0, false)], [true, false, true]);
}

#[test]
fn who_fails_fast_is_not_dead_and_who_fails_seldom_is_not() {
    let revived = |dropped, slow| {
        let mut knee = at(40);
        knee.phase = Phase::Dead;
        knee.revive(&Round { dropped, slow, ..round(40.0, 10.0) });
        knee.phase == Phase::Round
    };
    assert!(revived(0.9, 0.1) && revived(0.4, 0.4) && revived(0.1, 0.1));
    assert!(!revived(0.9, 0.4));
}

#[test]
fn a_round_of_the_dead_is_eight_samples() {
    let (mut knee, mut feed) = settled(KneeSettings::default(), 40, 32);
    knee.phase = Phase::Dead;
    knee.open(feed.now);
    for dropped in 1..=8 {
        assert_eq!(knee.limit(), 40, "after {dropped}");
        feed.one(&mut knee, 500 * MS, 16, Outcome::Dropped);
    }
    assert_eq!(knee.limit(), 20);
}

#[test]
fn the_healthy_time_itself_is_healthy() {
    let healthy = KneeSettings { max_healthy_rtt: Some(15 * MS), ..KneeSettings::default() };
    let (knee, _) = settled(healthy, 40, 32);
    assert!(!knee.is_unhealthy(&round(40.0, 15.0)));
    assert!(knee.is_unhealthy(&round(40.0, 15.001)));
}

#[test]
fn startup_ends_with_half_a_headroom_of_queue_or_where_the_limit_is_not_filled() {
    let pace_after = |headrooms: f64, filled: f64| {
        let mut knee = at(64);
        knee.pace = Pace::Startup;
        let (queue, in_flight) = (headrooms * knee.headroom.get(), filled * 64.0);
        knee.grow(&round(in_flight, 10.0), queue, in_flight - queue);
        (knee.pace, knee.estimate())
    };
    assert_eq!(pace_after(0.4, 0.8), (Pace::Startup, 128.0));
    assert_eq!(pace_after(0.6, 0.8).0, Pace::Steady);
    assert_eq!(pace_after(0.0, 0.6).0, Pace::Steady);
}

#[test]
fn a_descent_ends_startup() {
    let mut knee = at(64);
    knee.pace = Pace::Startup;
    assert_eq!(knee.judge(&round(64.0, 20.0)), None);
    assert_eq!(knee.pace, Pace::Steady);
}

#[test]
fn a_dip_is_at_least_one_below_what_is_published() {
    let mut knee = at(40);
    knee.headroom.learn(1_000.0, 0.03, 0.0);
    // Eight tenths of what was in flight are more than the limit.
    knee.dip(&round(100.0, 10.0));
    assert_eq!(knee.phase, Phase::Dip { level: 39.0 });
}

#[test]
fn only_a_dip_far_below_the_baseline_is_followed_by_a_deeper_one() {
    let phase_after = |mean_ms| {
        let mut knee = at(40);
        knee.end_dip(&round(20.0, mean_ms), 20.0);
        (knee.phase, knee.no_load_rtt())
    };
    assert_eq!(phase_after(9.0), (Phase::Round, Some(9 * MS)));
    assert_eq!(phase_after(8.0), (Phase::Dip { level: 12.0 }, Some(8 * MS)));
}

#[test]
fn a_service_hardly_slower_than_the_baseline_is_no_slower_service() {
    let baseline_after = |mean_ms: f64| {
        let mut knee = at(40);
        // Less than half in flight, and the same time: no queue.
        let trial = Trial { level: 18.0, in_flight: 40.0, mean_ns: mean_ms * 1e6, before: 40.0 };
        knee.end_verify(&round(18.0, mean_ms), trial);
        knee.no_load_rtt().unwrap()
    };
    assert_eq!(baseline_after(12.0), 12 * MS);
    assert_eq!(
        baseline_after(10.8),
        MS.mul_f64(10.4),
        "one more measurement, of equal weight with the first"
    );
}

#[test]
fn times_of_zero_do_not_scatter_and_the_first_time_is_taken_whole() {
    let mut knee = knee();
    knee.spread.cv2 = 0.0;
    knee.learn_times(&round(5.0, 0.0));
    assert_eq!((knee.spread.cv2, knee.typical_ns), (0.0, 0.0));
    knee.learn_times(&round(5.0, 10.0));
    assert_eq!(knee.typical_ns, 10e6);
    knee.learn_times(&round(5.0, 20.0));
    assert_eq!(knee.typical_ns, 15e6);
}

#[test]
fn before_the_first_round_nothing_is_an_alarm() {
    let (mut knee, mut feed) = (knee(), Feed::new());
    for _ in 0..7 {
        feed.one(&mut knee, 10 * MS, 100, Outcome::Success);
    }
    for sent in 0..39 {
        assert_eq!(pending(&knee), f64::from(sent));
        feed.one(&mut knee, 10 * MS, 100, Outcome::Success);
    }
}

#[test]
fn a_drop_within_twice_the_baseline_is_fast() {
    let slow_after = |rtt| {
        let (mut knee, mut feed) = settled(KneeSettings::default(), 40, 32);
        feed.one(&mut knee, rtt, 16, Outcome::Dropped);
        knee.tally.close(Timestamp::MAX).slow
    };
    assert_eq!([slow_after(19 * MS), slow_after(21 * MS)], [0.0, 1.0]);
}

#[test]
fn slowness_is_an_alarm_only_with_two_headrooms_in_flight() {
    let closed = |in_flight| {
        let (mut knee, mut feed) = settled(KneeSettings::default(), 60, 16);
        let headroom = knee.headroom.get();
        assert!((5.5..7.0).contains(&headroom), "{headroom}");
        for _ in 0..16 {
            feed.one(&mut knee, 60 * MS, in_flight, Outcome::Success);
        }
        pending(&knee) == 0.0
    };
    assert_eq!([closed(10), closed(15)], [false, true]);
}

#[test]
fn a_round_is_40_samples_or_one_and_a_half_limits_or_more_where_times_scatter() {
    let length = |limit, cv2| {
        let (mut knee, mut feed) = settled(KneeSettings::default(), limit, 4);
        knee.spread.cv2 = cv2;
        knee.open(feed.now);
        let mut samples = 0;
        while samples == 0 || pending(&knee) > 0.0 {
            feed.one(&mut knee, 10 * MS, 3, Outcome::Success);
            samples += 1;
        }
        samples
    };
    assert_eq!([1.0, 2.0, 4.0, 8.0].map(|cv2| length(5, cv2)), [40, 48, 96, 96]);
    assert_eq!(length(60, 0.0), 90);
}
