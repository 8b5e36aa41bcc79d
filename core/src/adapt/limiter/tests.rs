use std::vec::Vec;

use super::*;
use crate::adapt::BurstSettings;
use crate::slots::Heap;

/// A limit that is set from outside, and what it was told.
#[derive(Debug, Default)]
struct Script {
    limit: u32,
    samples: Vec<(u32, Outcome)>,
    /// When it was told that the limit was met.
    met: Vec<Timestamp>,
}

impl Estimator for Script {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        if sample.outcome != Outcome::Ignored {
            self.samples.push((sample.in_flight, sample.outcome));
        }
        self.limit
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn on_reject(&mut self, now: Timestamp) -> u32 {
        self.met.push(now);
        self.limit
    }
}

type Small = Limiter<Script, Heap>;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

fn warm(mode: Mode) -> LimiterSettings {
    LimiterSettings { mode, warmup: Duration::ZERO, ..LimiterSettings::default() }
}

fn limiter(limit: u32, settings: LimiterSettings, shares: &[Share]) -> Small {
    Limiter::new(at(0), Script { limit, ..Script::default() }, settings, shares, 4).unwrap()
}

fn admit(limiter: &mut Small, ms: u64) -> Result<Ticket, Refusal> {
    let admitted = limiter.try_admit(at(ms), None, 1);
    limiter.check_invariants();
    admitted
}

fn done(limiter: &mut Small, ms: u64, ticket: Ticket, outcome: Outcome) {
    limiter.complete(at(ms), ticket, outcome).unwrap();
    limiter.check_invariants();
}

#[test]
fn a_disabled_limiter_counts_and_learns_nothing() {
    let mut limiter = limiter(1, warm(Mode::Disabled), &[]);
    let tickets: Vec<_> = (0..5).map(|_| admit(&mut limiter, 0).unwrap()).collect();
    for ticket in tickets {
        done(&mut limiter, 5, ticket, Outcome::Success);
    }
    let stats = limiter.stats(at(5));
    assert_eq!((stats.admitted, stats.in_flight_all, stats.last_rtt), (0, 0, None));
    assert!(limiter.estimator().samples.is_empty());
}

#[test]
fn watching_lets_everything_in_and_counts_what_would_be_refused() {
    let mut limiter = limiter(2, warm(Mode::MonitorOnly), &[]);
    let tickets: Vec<_> = (0..5).map(|_| admit(&mut limiter, 0).unwrap()).collect();
    let stats = limiter.stats(at(0));
    assert_eq!((stats.admitted, stats.would_reject, stats.rejected), (2, 3, 0));
    assert_eq!((stats.in_flight, stats.in_flight_all), (2, 5), "the shadow holds what enforcement would");
    for ticket in tickets {
        done(&mut limiter, 5, ticket, Outcome::Success);
    }
    let seen: Vec<_> = limiter.estimator().samples.iter().map(|&(in_flight, _)| in_flight).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5], "every request is a sample, with what loaded the server");
    assert_eq!(limiter.stats(at(5)).in_flight_all, 0);
}

#[test]
fn compatible_counting_sees_only_what_is_within_the_limit() {
    let settings = LimiterSettings { counting: Counting::Reference, ..warm(Mode::MonitorOnly) };
    let mut limiter = limiter(2, settings, &[]);
    let tickets: Vec<_> = (0..5).map(|_| admit(&mut limiter, 0).unwrap()).collect();
    for ticket in tickets {
        done(&mut limiter, 5, ticket, Outcome::Success);
    }
    assert_eq!(limiter.estimator().samples, [(1, Outcome::Success), (2, Outcome::Success)]);
}

#[test]
fn the_warm_up_refuses_nothing_and_says_how_long_it_lasts() {
    let settings = LimiterSettings { warmup: Duration::from_millis(10), ..warm(Mode::Enforced) };
    let mut limiter = limiter(1, settings, &[]);
    let first = admit(&mut limiter, 0).unwrap();
    let second = admit(&mut limiter, 9).unwrap();
    assert!(first.is_tracked() && !second.is_tracked());
    assert_eq!(limiter.stats(at(4)).warmup_left, Duration::from_millis(1), "of the latest instant seen");
    assert_eq!(admit(&mut limiter, 10).unwrap_err().reason, Reason::NoPermits);
    let stats = limiter.stats(at(10));
    assert_eq!((stats.passed_in_warmup, stats.would_reject, stats.rejected), (1, 0, 1));
    done(&mut limiter, 11, second, Outcome::Ignored);
    done(&mut limiter, 11, first, Outcome::Dropped);
    assert_eq!(limiter.stats(at(11)).outcomes, [0, 1, 1]);
}

#[test]
fn what_was_learnt_and_the_warm_up_survive_a_change_of_settings() {
    let settings = LimiterSettings { warmup: Duration::from_millis(10), ..warm(Mode::Enforced) };
    let mut limiter = limiter(5, settings, &[]);
    let ticket = admit(&mut limiter, 0).unwrap();
    limiter.change_estimator(|script| script.limit = 1);
    let wider =
        LimiterSettings { burst: BurstSettings { capacity: 2, ..BurstSettings::default() }, ..settings };
    limiter.reconfigure(at(20), wider, &[]).unwrap();
    limiter.check_invariants();
    assert_eq!((limiter.limit(), limiter.stats(at(20)).base_limit), (3, 1));
    assert_eq!(limiter.stats(at(20)).warmup_left, Duration::ZERO, "it was warm before");
    done(&mut limiter, 20, ticket, Outcome::Success);

    limiter.reconfigure(at(30), LimiterSettings { mode: Mode::Disabled, ..wider }, &[]).unwrap();
    let free = admit(&mut limiter, 30).unwrap();
    limiter.reconfigure(at(40), wider, &[]).unwrap();
    assert_eq!(limiter.stats(at(40)).warmup_left, Duration::from_millis(10), "enabled anew");
    done(&mut limiter, 41, free, Outcome::Success);
    assert_eq!(limiter.stats(at(41)).in_flight_all, 0, "a ticket from before counts nowhere");
}

#[test]
fn a_warm_up_under_way_lasts_as_long_as_it_is_set_to_and_one_that_is_over_stays_over() {
    let of = |ms| LimiterSettings { warmup: Duration::from_millis(ms), ..warm(Mode::Enforced) };
    let mut limiter = limiter(1, of(10), &[]);
    limiter.reconfigure(at(4), of(6), &[]).unwrap();
    assert_eq!(limiter.stats(at(4)).warmup_left, Duration::from_millis(2), "since it began");
    limiter.reconfigure(at(6), of(100), &[]).unwrap();
    assert_eq!(limiter.stats(at(6)).warmup_left, Duration::ZERO, "it was over");
    limiter.restart_warmup(at(7));
    assert_eq!(limiter.stats(at(8)).warmup_left, Duration::from_millis(99));
}

#[test]
fn what_the_estimator_does_not_ask_is_told_as_the_shortest_seen() {
    let mut limiter = limiter(9, LimiterSettings::netflix(), &[]);
    let tickets: Vec<_> = (0..3).map(|_| admit(&mut limiter, 0).unwrap()).collect();
    assert_eq!(limiter.stats(at(0)).no_load_rtt, None);
    for (ms, ticket) in [7, 9, 8].into_iter().zip(tickets) {
        done(&mut limiter, ms, ticket, Outcome::Success);
    }
    let stats = limiter.stats(at(9));
    assert_eq!(
        (stats.no_load_rtt, stats.last_rtt),
        (Some(Duration::from_millis(7)), Some(Duration::from_millis(9)))
    );
}

#[test]
fn a_bad_change_is_refused_whole() {
    let share = Share { partition: PartitionId(1), share_ppm: 1_000_001, pause: Duration::ZERO };
    let mut limiter = limiter(5, warm(Mode::Enforced), &[]);
    assert!(limiter.reconfigure(at(0), warm(Mode::Disabled), &[share]).is_err());
    let closed = BurstSettings { close_after: 0, ..BurstSettings::default() };
    let settings = LimiterSettings { burst: closed, ..warm(Mode::Disabled) };
    assert!(limiter.reconfigure(at(0), settings, &[Share { share_ppm: 5, ..share }]).is_err());
    assert_eq!(limiter.settings().mode, Mode::Enforced);
    assert_eq!(limiter.partitions().shares().count(), 0);
}

#[test]
fn a_refusal_says_when_coming_back_may_be_worth_it() {
    let mut limiter = limiter(4, warm(Mode::Enforced), &[]);
    assert_eq!(limiter.try_admit(at(0), None, 5).unwrap_err().reason, Reason::ExceedsLimit);
    let mut tickets: Vec<_> = (0..4).map(|_| admit(&mut limiter, 0).unwrap()).collect();
    assert_eq!(admit(&mut limiter, 0).unwrap_err().retry_after, None, "nothing is known yet");
    done(&mut limiter, 20, tickets.pop().unwrap(), Outcome::Success);
    tickets.push(admit(&mut limiter, 20).unwrap());
    let after =
        |limiter: &mut Small, weight| limiter.try_admit(at(21), None, weight).unwrap_err().retry_after;
    assert_eq!(after(&mut limiter, 1), Some(Duration::from_millis(5)), "four in 20 ms");
    assert_eq!(after(&mut limiter, 3), Some(Duration::from_millis(15)));
    assert_eq!(limiter.stats(at(21)).rejected, 3);
    assert_eq!(limiter.stats(at(21)).rejected_overweight, 1);
}

#[test]
fn a_partition_is_kept_free_for_the_important_and_its_refused_are_held_back() {
    let live = PartitionId(1);
    let batch = PartitionId(2);
    let shares = [
        Share { partition: live, share_ppm: 800_000, pause: Duration::ZERO },
        Share { partition: batch, share_ppm: 200_000, pause: Duration::from_millis(50) },
    ];
    let mut limiter = limiter(10, warm(Mode::Enforced), &shares);
    let held: Vec<_> = (0..3).map(|_| limiter.try_admit(at(0), Some(batch), 1)).collect();
    assert_eq!(held.iter().filter(|held| held.is_ok()).count(), 2);
    assert_eq!(held[2].as_ref().unwrap_err().pause, Some(Duration::from_millis(50)));
    assert!((0..8).all(|_| limiter.try_admit(at(0), Some(live), 1).is_ok()));
    assert_eq!(limiter.try_admit(at(0), Some(live), 1).unwrap_err().pause, None);
    assert_eq!(limiter.stats(at(0)).paused, 1);
}

#[test]
fn tickets_outlive_the_estimator_and_the_partition_they_were_made_under() {
    let share = |number| Share { partition: PartitionId(number), share_ppm: 500_000, pause: Duration::ZERO };
    let mut limiter = limiter(4, warm(Mode::Enforced), &[share(1), share(2)]);
    let tickets = [1, 2].map(|number| limiter.try_admit(at(0), Some(PartitionId(number)), 2).unwrap());
    limiter.replace_estimator(Script { limit: 8, ..Script::default() });
    limiter.reconfigure(at(1), *limiter.settings(), &[share(2), share(3)]).unwrap();
    limiter.check_invariants();
    assert_eq!((limiter.limit(), limiter.stats(at(1)).in_flight), (8, 4));
    for ticket in tickets {
        done(&mut limiter, 5, ticket, Outcome::Success);
    }
    assert_eq!(limiter.stats(at(5)).in_flight, 0);
    assert_eq!(limiter.estimator().samples.len(), 2);
}

#[test]
fn a_ticket_of_another_limiter_is_stale_and_changes_nothing() {
    let mut here = limiter(4, warm(Mode::Enforced), &[]);
    let mut there = limiter(4, warm(Mode::Enforced), &[]);
    let ticket = there.try_admit(at(0), None, 3).unwrap();
    assert_eq!(here.complete(at(0), ticket, Outcome::Success), Err(Stale));
    assert_eq!(here.stats(at(0)).outcomes, [0, 0, 0]);
}

#[test]
fn a_ticket_past_the_limit_of_another_limiter_is_stale_too() {
    let mut here = limiter(4, warm(Mode::Enforced), &[]);
    let mut there = limiter(0, warm(Mode::MonitorOnly), &[]);
    let ours = here.try_admit(at(0), None, 2).unwrap();
    let theirs = there.try_admit(at(0), None, 1).unwrap();
    assert!(!theirs.is_tracked());
    assert_eq!(here.complete(at(0), theirs, Outcome::Success), Err(Stale));
    here.check_invariants();
    assert_eq!(here.stats(at(0)).outcomes, [0, 0, 0]);
    done(&mut here, 1, ours, Outcome::Success);
}

#[test]
fn who_waits_outside_is_told_to_the_estimator_as_who_is_refused_and_counted_nowhere() {
    let mut limiter = limiter(1, warm(Mode::Enforced), &[]);
    let held = admit(&mut limiter, 0).unwrap();
    assert_eq!(limiter.peek(at(1), None, 1), Err(Reason::NoPermits));
    assert!(limiter.estimator().met.is_empty(), "who only looks tells nothing");
    limiter.on_wait(at(2));
    assert_eq!(limiter.estimator().met, [at(2)]);
    assert_eq!(limiter.stats(at(2)).rejected, 0);
    done(&mut limiter, 3, held, Outcome::Ignored);
}
