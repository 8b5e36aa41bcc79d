use std::rc::Rc;

use tollgate::adapt::Sample;

use super::super::limiter::Limiter;
use super::super::plan::tests::{parse, small, text};
use super::super::roster::{self, Told};
use super::*;

fn outcomes(plan: &Plan, seed: u64, name: &str) -> Outcomes {
    let requests = Requests::draw(plan, seed);
    let seats = (0..plan.limiters).map(|_| roster::seat(name, Told::default()).unwrap()).collect();
    run(plan, seed, &requests, seats, None)
}

/// The plan `small`, with these lines among the first and in the server.
fn with(top: &str, server: &str, phase: &str) -> Plan {
    parse(&text(phase).replace("[server]", &format!("{top}\n[server]\n{server}"))).unwrap()
}

/// A plan with everything in it that can happen.
fn busy() -> Plan {
    let phase = "load = 2\nfailures = 0.1\nslots = { low = 1, high = 3, square = \"100ms\" }\nslow = { from = 1, to = 2 }";
    let top = "limiters = 2\nstagger = \"200ms\"\nclock = \"1ms\"\n[retries]\nmost = 3\npause = \"backoff\"";
    with(top, "client_timeout = \"60ms\"\nhard_limit = 30\nusl = { a = 0.01, b = 0.001 }", phase)
}

#[test]
fn the_same_plan_and_seed_give_the_same_run_and_another_seed_another() {
    let plan = busy();
    for &name in roster::NAMES {
        assert_eq!(outcomes(&plan, 1, name), outcomes(&plan, 1, name), "{name}");
        assert_ne!(outcomes(&plan, 1, name), outcomes(&plan, 2, name), "{name}");
    }
}

#[test]
fn the_books_balance_and_no_rule_is_broken_whatever_happens() {
    for seed in 1..=5 {
        for name in roster::NAMES.iter().copied().chain(["fixed-1", "fixed-7"]) {
            let outcomes = outcomes(&busy(), seed, name);
            assert_eq!(outcomes.broken, None, "{name} {seed}");
            let books = outcomes.tally.books;
            assert!(books.failed > 0 && books.succeeded > 0, "{name} {books:?}");
            assert!(name != "none" || books.refused == 0, "{name} {books:?}");
            assert!(!name.starts_with("fixed") || books.refused > 0, "{name} {books:?}");
        }
    }
}

#[test]
fn without_a_limit_nobody_is_refused_and_below_capacity_nearly_all_are_in_time() {
    let tally = outcomes(&small("load = 0.3"), 1, "none").tally;
    assert_eq!((tally.books.refused, tally.below.1), (0, 0));
    assert!(tally.below.0 > 0 && tally.below.0 == tally.phases[0].offered);
    assert!(tally.on_time() * 100 >= tally.phases[0].offered * 95, "{tally:?}");
}

#[test]
fn a_limit_of_one_serves_one_after_another() {
    let constant = |phase: &str| parse(&text(phase).replace("exponential", "constant")).unwrap();
    let tally = outcomes(&constant("load = 40"), 1, "fixed-1").tally;
    // One at a time takes 10 ms, and the next one comes soon after: 90 in the 0.9 s that are measured.
    assert!((80..=90).contains(&tally.on_time()), "{}", tally.on_time());
    assert!((9_900_000..=10_100_000).contains(&tally.p99_ns()), "{}", tally.p99_ns());
    assert!((tally.mean_limit() - 1.0).abs() < 1e-9);
}

#[test]
fn what_fails_at_once_is_neither_goodput_nor_latency() {
    let tally = outcomes(&small("load = 1\nfailures = 1"), 1, "none").tally;
    assert_eq!((tally.on_time(), tally.p99_ns(), tally.books.succeeded), (0, 0, 0));
    assert!(tally.books.failed > 100);
}

#[test]
fn clients_give_up_and_the_server_works_on_for_nobody() {
    let plan = with("", "client_timeout = \"5ms\"", "load = 1\nslow = 100");
    let outcomes = outcomes(&plan, 1, "none");
    assert_eq!(outcomes.tally.books.succeeded, 0, "two that take a second each hold both slots");
    assert!(outcomes.tally.books.timed_out > 100);
    assert!(
        (4_990_000..=5_010_000).contains(&outcomes.tally.p99_ns()),
        "a time-out is the latency of its client"
    );
}

#[test]
fn a_full_server_refuses_and_the_refused_come_back_up_to_three_times() {
    let plan = with("[retries]\nmost = 3\npause = \"immediate\"", "hard_limit = 2", "load = 3\nslow = 100");
    let requests = Requests::draw(&plan, 1).len();
    let tally = outcomes(&plan, 1, "none").tally;
    let attempts = usize::try_from(tally.books.offered).unwrap();
    // Two are admitted for good; of the rest only the last few have tries left.
    assert!((4 * (requests - 10)..=4 * requests).contains(&attempts), "{attempts} of {requests}");
}

#[test]
fn a_closed_loop_never_has_more_in_flight_than_clients() {
    let plan =
        parse(&text("").replace("[server]", "[closed]\nclients = 3\nthink = \"1ms\"\n[server]")).unwrap();
    let mut curve = Curve::new(&plan);
    let seats = vec![roster::seat("none", Told::default()).unwrap()];
    let outcomes = run(&plan, 1, &Requests::draw(&plan, 1), seats, Some(&mut curve));
    assert!(outcomes.tally.on_time() > 100);
    assert!(curve.cells.len() > 290 && curve.cells.iter().all(|cell| cell.in_flight <= 3));
    assert!(curve.cells.iter().any(|cell| cell.in_flight > 1));
}

#[test]
fn limiters_that_start_later_are_offered_nothing_before() {
    let late = with("limiters = 2\nstagger = \"10s\"", "", "load = 1");
    let tally = outcomes(&late, 1, "fixed-9").tally;
    assert!(tally.by_limiter[0] > 0 && tally.by_limiter[1] == 0, "{:?}", tally.by_limiter);
}

#[test]
fn an_estimator_sees_times_by_its_own_clock() {
    let at = |ns| Timestamp::from_nanos(ns);
    assert_eq!((seen(1_999_999, 1_000_000), seen(2_000_000, 1_000_000)), (at(1_000_000), at(2_000_000)));
    assert_eq!(seen(1_999_999, 1), at(1_999_999));
}

/// Counts what it is told.
struct Listener(Rc<core::cell::Cell<(u64, u64, u64)>>);

impl Limiter for Listener {
    fn on_sample(&mut self, _sample: &Sample) -> u32 {
        let (samples, rejects, ticks) = self.0.get();
        self.0.set((samples + 1, rejects, ticks));
        1
    }

    fn on_reject(&mut self, _now: Timestamp) -> u32 {
        let (samples, rejects, ticks) = self.0.get();
        self.0.set((samples, rejects + 1, ticks));
        1
    }

    fn on_tick(&mut self, _now: Timestamp) -> u32 {
        let (samples, rejects, ticks) = self.0.get();
        self.0.set((samples, rejects, ticks + 1));
        1
    }

    fn limit(&self) -> u32 {
        1
    }
}

#[test]
fn a_limiter_hears_of_every_end_every_refusal_and_of_time() {
    for plan in [small("load = 3"), with("[retries]\nmost = 1\npause = \"immediate\"", "", "load = 3")] {
        let told = Rc::new(core::cell::Cell::new((0, 0, 0)));
        let seat = Seat { limiter: Box::new(Listener(Rc::clone(&told))), bounds: (1, 1), has_to_move: false };
        let tally = run(&plan, 1, &Requests::draw(&plan, 1), vec![seat], None).tally;
        let ended = tally.books.succeeded + tally.books.failed + tally.books.timed_out;
        assert_eq!(told.get(), (ended, tally.books.refused, 9));
        assert!(tally.books.refused > 100);
    }
}

/// Gives in at every tenth refusal.
struct Giving(u32, u32);

impl Limiter for Giving {
    fn on_sample(&mut self, _sample: &Sample) -> u32 {
        self.0
    }

    fn on_reject(&mut self, _now: Timestamp) -> u32 {
        self.1 += 1;
        self.0 += u32::from(self.1.is_multiple_of(10));
        self.0
    }

    fn limit(&self) -> u32 {
        self.0
    }
}

#[test]
fn what_a_limiter_answers_to_a_refusal_is_in_force_for_the_next_request() {
    let plan = small("load = 50\nslow = 1000");
    let requests = Requests::draw(&plan, 1);
    let seat = Seat { limiter: Box::new(Giving(1, 0)), bounds: (1, 10_000), has_to_move: false };
    let tally = run(&plan, 1, &requests, vec![seat], None).tally;
    // Next to nothing ends, so of eleven that come ten are refused and one gets the new place.
    let expected = requests.len() / 11;
    let admitted = usize::try_from(tally.books.admitted).unwrap();
    assert!((expected..=expected + 2).contains(&admitted), "{admitted} of {}", requests.len());
}

#[test]
fn an_answer_out_of_bounds_is_noticed() {
    let plan = small("load = 1");
    let seat = Seat { bounds: (2, 5), ..Seat::foretold(vec![1]) };
    let outcomes = run(&plan, 1, &Requests::draw(&plan, 1), vec![seat], None);
    assert_eq!(outcomes.broken, Some(Broken::OutOfBounds { limit: 1, bounds: (2, 5) }));
}

#[test]
fn what_matters_is_kept_where_a_part_of_the_limit_is_reserved_for_it_and_lost_where_none_is() {
    let kept = |top: &str| {
        let outcomes = outcomes(&with(top, "", "load = 0.3\nlow = 3"), 1, "fixed-8");
        assert_eq!(outcomes.broken, None);
        let (offered, kept) = outcomes.tally.important;
        assert!((40..80).contains(&offered), "a third of 200 a second for 0.9 s: {offered}");
        let all = outcomes.tally.phases[0];
        assert!(all.offered > 8 * offered && all.refused > 0, "{all:?}");
        num::real(kept) / num::real(offered)
    };
    assert!(kept("reserved = 0.75") > 0.97, "{}", kept("reserved = 0.75"));
    assert!(kept("") < 0.6, "{}", kept(""));
}

#[test]
fn what_is_reserved_is_kept_from_low_priority_also_while_it_is_idle() {
    let plan = with("reserved = 0.75", "", "load = 0\nlow = 50");
    let mut curve = Curve::new(&plan);
    let seats = vec![roster::seat("fixed-8", Told::default()).unwrap()];
    let outcomes = run(&plan, 1, &Requests::draw(&plan, 1), seats, Some(&mut curve));
    assert_eq!((outcomes.broken, outcomes.tally.important), (None, (0, 0)));
    assert_eq!(curve.cells.iter().map(|cell| cell.in_flight).max(), Some(2));
}
