//! Faults of limiters as a whole.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Counting, Estimator, Gradient2, Gradient2Settings, Knee, KneeSettings, Limiter,
    LimiterSettings, Mode, OpenSearchVegas, OpenSearchVegasSettings, Outcome, Ticket, Vegas, VegasSettings,
};
use tollgate::slots::Inline;

type Small<E> = Limiter<E, Inline<1>>;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

fn warm(mode: Mode) -> LimiterSettings {
    LimiterSettings { mode, warmup: Duration::ZERO, ..LimiterSettings::default() }
}

fn limiter<E: Estimator>(estimator: E, settings: LimiterSettings) -> Small<E> {
    Limiter::new(at(0), estimator, settings, &[], 1).unwrap()
}

/// As many as it lets in, at most a thousand.
fn fill<E: Estimator>(limiter: &mut Small<E>, ms: u64) -> Vec<Ticket> {
    (0..1_000).map_while(|_| limiter.try_admit(at(ms), None, 1).ok()).collect()
}

/// Rounds of a dozen on a clock that stands: how many were let in, in the first round and in the worst after it.
fn on_a_frozen_clock<E: Estimator>(estimator: E) -> (usize, usize) {
    let mut limiter = limiter(estimator, warm(Mode::Enforced));
    let mut rounds = vec![];
    for _ in 0..50 {
        let tickets: Vec<_> = (0..12).map_while(|_| limiter.try_admit(at(0), None, 1).ok()).collect();
        rounds.push(tickets.len());
        for ticket in tickets {
            limiter.complete(at(0), ticket, Outcome::Success).unwrap();
        }
        assert_eq!(limiter.stats(at(0)).in_flight_all, 0, "whatever was learnt, permits come back");
    }
    (rounds[0], rounds[1..].iter().copied().min().unwrap())
}

/// The reference's Vegas throws inside the release of a request of 0 ns: 20 of 100 are let in, and then nobody. Its
/// Gradient2 becomes NaN, a limit of 0. The latter our compatible preset has too. (A dip of ours lets in less for a
/// while.)
#[test]
fn limiter_a_clock_that_stands_closes_it_for_good() {
    assert_eq!(on_a_frozen_clock(Gradient2::new(Gradient2Settings::netflix()).unwrap()), (12, 0));
    let (first, worst) = on_a_frozen_clock(Gradient2::new(Gradient2Settings::default()).unwrap());
    assert!(first == 12 && worst >= 5, "{first}, {worst}");

    assert_eq!(on_a_frozen_clock(Vegas::new(VegasSettings::netflix()).unwrap()), (12, 12));
    let opensearch = OpenSearchVegas::new(OpenSearchVegasSettings::opensearch()).unwrap();
    assert_eq!(on_a_frozen_clock(opensearch), (12, 12));
    let (first, worst) = on_a_frozen_clock(Vegas::new(VegasSettings::default()).unwrap());
    assert!(first == 12 && worst >= 5, "{first}, {worst}");
    let (first, worst) = on_a_frozen_clock(Knee::new(KneeSettings::default()).unwrap());
    assert!(first == 5 && worst >= 3, "{first}, {worst}: where it begins");
}

/// In the reference a limit of one then admits two. Here a ticket is gone with its release, and one of another limiter
/// is recognised where nobody holds as much.
#[test]
fn limiter_releasing_twice_mints_no_permit() {
    let one = || Aimd::new(AimdSettings { initial: 1, min: 1, max: 1, ..AimdSettings::default() }).unwrap();
    let (mut here, mut there) = (limiter(one(), warm(Mode::Enforced)), limiter(one(), warm(Mode::Enforced)));
    let ticket = here.try_admit(at(0), None, 1).unwrap();
    here.complete(at(1), ticket, Outcome::Success).unwrap();
    let foreign = there.try_admit(at(0), None, 1).unwrap();
    assert!(
        here.complete(at(1), foreign, Outcome::Success).is_err(),
        "a second release, as near as it can be had"
    );
    assert_eq!(fill(&mut here, 2).len(), 1);
}

/// Fifty come at once to a service that can do five: the others are lost.
fn watch(settings: LimiterSettings) -> u32 {
    let aimd = Aimd::new(AimdSettings { initial: 5, min: 1, max: 200, ..AimdSettings::netflix() }).unwrap();
    let mut limiter = limiter(aimd, settings);
    for round in 0..20 {
        let tickets: Vec<_> = (0..50).map(|_| limiter.try_admit(at(round * 100), None, 1).unwrap()).collect();
        for (place, ticket) in tickets.into_iter().enumerate() {
            let outcome = if place < 5 { Outcome::Success } else { Outcome::Dropped };
            limiter.complete(at(round * 100 + 90), ticket, outcome).unwrap();
        }
        if limiter.limit() > 5 {
            break;
        }
    }
    limiter.limit()
}

#[test]
fn limiter_watching_sees_nothing_of_what_is_past_the_limit() {
    let reference = LimiterSettings { counting: Counting::Reference, ..warm(Mode::MonitorOnly) };
    assert!(watch(reference) > 5, "five went well, and of forty-five lost ones it has heard nothing");
    assert_eq!(watch(warm(Mode::MonitorOnly)), 1);
}

#[test]
fn limiter_the_warm_up_sees_nothing_of_what_is_past_the_limit() {
    let warming = LimiterSettings { warmup: Duration::from_secs(300), ..warm(Mode::Enforced) };
    assert!(watch(LimiterSettings { counting: Counting::Reference, ..warming }) > 5);
    assert_eq!(watch(warming), 1);
}

fn learner() -> Vegas {
    Vegas::new(VegasSettings { initial: 20, max: 200, ..VegasSettings::default() }).unwrap()
}

/// A limiter that has learnt, at ten seconds, and its limit.
fn learnt(settings: LimiterSettings) -> (Small<Vegas>, u32) {
    let mut limiter = limiter(learner(), settings);
    for round in 0..1_000 {
        let tickets: Vec<_> =
            (0..limiter.limit()).map_while(|_| limiter.try_admit(at(round * 10), None, 1).ok()).collect();
        for ticket in tickets {
            limiter.complete(at(round * 10 + 10), ticket, Outcome::Success).unwrap();
        }
    }
    let limit = limiter.limit();
    assert!(limit > 100, "{limit}");
    (limiter, limit)
}

/// The reference builds estimator and limiter anew at any change of a setting.
#[test]
fn limiter_a_change_of_settings_loses_what_was_learnt() {
    let (mut reference, _) = learnt(warm(Mode::Enforced));
    reference.replace_estimator(learner());
    assert_eq!((reference.limit(), reference.estimator().no_load_rtt()), (20, None));

    let (mut ours, limit) = learnt(warm(Mode::Enforced));
    let before = ours.stats(at(10_000));
    ours.reconfigure(at(10_000), warm(Mode::MonitorOnly), &[]).unwrap();
    ours.reconfigure(at(10_000), warm(Mode::Enforced), &[]).unwrap();
    assert_eq!((ours.limit(), ours.stats(at(10_000)).no_load_rtt), (limit, Some(Duration::from_millis(10))));
    assert_eq!(ours.stats(at(10_000)), before);
}

/// What was let in before the change releases into the old limiter, so the new one lets as many in again.
#[test]
fn limiter_a_change_of_settings_forgets_what_is_in_flight() {
    let fixed =
        || Aimd::new(AimdSettings { initial: 20, min: 20, max: 20, ..AimdSettings::default() }).unwrap();
    let mut before = limiter(fixed(), warm(Mode::Enforced));
    let held = fill(&mut before, 0);
    let mut rebuilt = limiter(fixed(), warm(Mode::Enforced));
    assert_eq!(held.len() + fill(&mut rebuilt, 0).len(), 40, "forty at the service, at a limit of twenty");

    before
        .reconfigure(at(0), LimiterSettings { counting: Counting::Reference, ..warm(Mode::Enforced) }, &[])
        .unwrap();
    before.replace_estimator(fixed());
    assert_eq!(fill(&mut before, 0).len(), 0);
    for ticket in held {
        before.complete(at(1), ticket, Outcome::Success).unwrap();
    }
    assert_eq!(fill(&mut before, 1).len(), 20);
}

/// Five minutes without protection for every change of a setting.
#[test]
fn limiter_a_change_of_settings_begins_the_warm_up_anew() {
    let settings = LimiterSettings { warmup: Duration::from_secs(5), ..warm(Mode::Enforced) };
    let rebuilt = Limiter::<_, Inline<1>>::new(at(10_000), learner(), settings, &[], 1);
    assert_eq!(fill(&mut rebuilt.unwrap(), 14_999).len(), 1_000, "everybody is let in again");

    let (mut ours, limit) = learnt(settings);
    ours.reconfigure(at(10_000), LimiterSettings { warmup: Duration::from_secs(300), ..settings }, &[])
        .unwrap();
    assert_eq!(fill(&mut ours, 10_000).len(), limit as usize);
}
