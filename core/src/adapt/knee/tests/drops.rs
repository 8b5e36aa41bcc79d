//! The drop ladder, from a cut that is a question to death and back.

use super::*;

const FAST: Duration = Duration::from_micros(200);

/// Every `every`-th attempt is dropped in so much time, the others take 10 ms.
fn failing(every: u32, rtt: Duration) -> impl Fn(u32) -> (Duration, u32, Outcome) {
    move |i| if i % every == 0 { (rtt, 16, Outcome::Dropped) } else { (10 * MS, 16, Outcome::Success) }
}

fn healthy() -> (Knee, Feed) {
    settled(KneeSettings::default(), 40, 32)
}

#[test]
fn drops_beyond_chance_are_answered_by_a_test_cut_deeper_if_they_are_slow() {
    let (mut fast, mut feed) = healthy();
    feed.mixed(&mut fast, failing(3, FAST));
    assert_eq!(fast.estimate(), 40.0 * 0.92);
    assert!(matches!(fast.phase, Phase::Cut(Cut { before: 40.0, again: false, .. })), "{:?}", fast.phase);

    let (mut slow, mut feed) = healthy();
    feed.mixed(&mut slow, failing(3, 500 * MS));
    assert_eq!(slow.estimate(), 40.0 * 0.7);
}

#[test]
fn a_few_drops_are_chance_and_move_the_normal_share_by_a_fifth() {
    let (mut knee, mut feed) = healthy();
    feed.mixed(&mut knee, failing(64, FAST));
    assert_eq!(knee.phase, Phase::Round);
    assert!(knee.estimate() >= 40.0);
    let normal = |knee: &Knee| std::format!("{:?}", knee.drops);
    assert_ne!(normal(&knee), normal(&healthy().0));
}

#[test]
fn drops_that_ignore_both_cuts_are_called_normal_and_the_limit_comes_back() {
    let (mut knee, mut feed) = healthy();
    let mut cuts = std::vec::Vec::new();
    for _ in 0..3 {
        feed.mixed(&mut knee, failing(3, FAST));
        cuts.push(knee.estimate());
    }
    assert!(cuts[1] >= 20.0 && cuts[1] <= 28.0, "{cuts:?}");
    assert_eq!((cuts[2], knee.phase), (40.0, Phase::Round));
    for _ in 0..20 {
        feed.mixed(&mut knee, failing(3, FAST));
        assert!(!matches!(knee.phase, Phase::Cut(_)) && knee.estimate() >= 40.0, "{knee:?}");
    }
}

#[test]
fn drops_that_follow_the_cut_are_ours_and_the_limit_creeps_back_to_the_wall() {
    let (mut knee, mut feed) = healthy();
    feed.mixed(&mut knee, failing(3, FAST));
    let cut = knee.estimate();
    let busy = |knee: &Knee| (10 * MS, knee.limit());
    let (rtt, in_flight) = busy(&knee);
    feed.round(&mut knee, rtt, in_flight);
    assert_eq!((knee.estimate(), knee.pace), (cut, Pace::Creep { hold: 8, wall: 40.0 }));
    let mut estimates = std::vec::Vec::new();
    while knee.pace != Pace::Steady {
        let before = knee.estimate();
        let (rtt, in_flight) = busy(&knee);
        let probing = knee.phase != Phase::Round;
        feed.round(&mut knee, rtt, in_flight);
        if !probing {
            estimates.push(knee.estimate() - before);
        }
    }
    assert_eq!(estimates[..8], [0.0; 8], "eight rounds of rest");
    assert!(estimates[8..].iter().all(|step| *step >= 1.0 && *step <= 2.0), "{estimates:?}");
    assert!(knee.estimate() > 50.0, "a quarter beyond the wall there is none");
}

#[test]
fn drops_that_fall_to_less_than_seven_tenths_follow_the_cut_and_others_do_not() {
    let after = |every| {
        let (mut knee, mut feed) = healthy();
        feed.mixed(&mut knee, failing(3, FAST));
        feed.mixed(&mut knee, failing(every, FAST));
        knee.phase
    };
    assert_eq!(after(5), Phase::Round);
    assert!(matches!(after(4), Phase::Cut(Cut { again: true, .. })), "{:?}", after(4));
}

#[test]
fn fewer_drops_than_normal_are_the_new_normal_at_once() {
    let (mut knee, mut feed) = healthy();
    for _ in 0..3 {
        feed.mixed(&mut knee, failing(2, FAST));
    }
    assert_eq!(knee.phase, Phase::Round);
    feed.round(&mut knee, 10 * MS, 16);
    assert_eq!(std::format!("{:?}", knee.drops), std::format!("{:?}", Drops::default()));
}

#[test]
fn when_most_is_dropped_slowly_the_limit_halves_each_round_down_to_the_least() {
    let (mut knee, mut feed) = healthy();
    let mut limits = std::vec::Vec::new();
    while knee.limit() > 1 {
        feed.mixed(&mut knee, |_| (500 * MS, 16, Outcome::Dropped));
        limits.push(knee.limit());
        assert_eq!((knee.phase, knee.no_load_rtt()), (Phase::Dead, Some(10 * MS)));
    }
    assert_eq!(limits, [20, 10, 5, 2, 1]);
}

#[test]
fn one_that_dies_while_it_doubles_returns_to_less_each_time() {
    let (mut knee, mut feed) = healthy();
    let mut returns = std::vec::Vec::new();
    for _ in 0..4 {
        while knee.limit() > 1 {
            feed.mixed(&mut knee, |_| (500 * MS, 16, Outcome::Dropped));
        }
        feed.round(&mut knee, 10 * MS, 1);
        returns.push(knee.estimate());
    }
    // Six tenths of 40, and then of half of what it died at.
    assert_eq!(returns, [24.0, 0.6 * 12.0, 0.6 * 3.5, 1.0]);
    assert_eq!(knee.pace, Pace::Startup);
}

#[test]
fn one_that_was_dead_returns_to_most_of_its_healthy_limit_and_doubles() {
    let (mut knee, mut feed) = healthy();
    for _ in 0..8 {
        feed.mixed(&mut knee, |_| (500 * MS, 16, Outcome::Dropped));
    }
    feed.round(&mut knee, 10 * MS, 1);
    assert_eq!((knee.estimate(), knee.phase, knee.pace), (24.0, Phase::Round, Pace::Startup));
}

#[test]
fn where_nothing_succeeds_even_fast_drops_are_death() {
    let (mut knee, mut feed) = healthy();
    for _ in 0..2000 {
        feed.now = feed.now.saturating_add(MS);
        feed.one(&mut knee, FAST, 16, Outcome::Dropped);
    }
    assert_eq!((knee.limit(), knee.phase), (1, Phase::Dead));
    // Nine in ten still fail, but fast: they hold no slot, so it is no reason to stay closed.
    while knee.phase == Phase::Dead {
        feed.mixed(&mut knee, |i| {
            if i % 10 == 0 { (10 * MS, 1, Outcome::Success) } else { (FAST, 1, Outcome::Dropped) }
        });
    }
    assert!(knee.estimate() >= 24.0, "{knee:?}");
}

#[test]
fn a_drop_never_raises_the_limit_even_if_it_ends_a_probe() {
    let (mut knee, mut feed) = healthy();
    knee.phase = Phase::Verify(Trial { level: 4.0, in_flight: 40.0, mean_ns: 10e6, before: 40.0 });
    knee.publish(feed.now);
    for _ in 0..500 {
        let before = knee.limit();
        feed.one(&mut knee, 500 * MS, 4, Outcome::Dropped);
        assert!(knee.limit() <= before, "{knee:?}");
    }
    assert_eq!(knee.limit(), 1);
}

#[test]
fn a_round_with_many_slow_drops_teaches_nothing_else() {
    let (mut knee, mut feed) = healthy();
    for _ in 0..3 {
        feed.mixed(&mut knee, failing(4, 100 * MS));
    }
    let (baseline, limit) = (knee.no_load_rtt(), knee.estimate());
    assert_eq!((knee.phase, limit), (Phase::Round, 40.0), "called normal");
    feed.mixed(&mut knee, |i| {
        if i % 4 == 0 { (100 * MS, 40, Outcome::Dropped) } else { (MS, 40, Outcome::Success) }
    });
    assert_eq!((knee.no_load_rtt(), knee.estimate()), (baseline, limit));
}
