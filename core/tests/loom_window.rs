//! `AtomicWindow` under every interleaving of two threads.
#![cfg(tollgate_loom)]

use core::time::Duration;

use loom::sync::Arc;
use loom::thread;
use tollgate::Timestamp;
use tollgate::adapt::{AtomicWindow, Collected, Outcome};

/// A request that ends: its time, what was in flight with it, and how it ended.
type End = (u64, u32, Outcome);

/// The end of a window for every call but those that come after.
const OVER: Timestamp = Timestamp::from_nanos(10);
const LATER: Timestamp = Timestamp::from_nanos(30);

/// Two threads end requests, all at an instant at which the window is over: what either was handed.
fn race(window: &Arc<AtomicWindow>, mine: &'static [End], theirs: &'static [End]) -> Vec<Collected> {
    let work = |ends: &'static [End]| {
        let window = Arc::clone(window);
        move || {
            let ends = ends.iter();
            let handed = ends.filter_map(|&(rtt_ns, in_flight, outcome)| {
                window.record(OVER, Duration::from_nanos(rtt_ns), in_flight, outcome)
            });
            handed.collect::<Vec<_>>()
        }
    };
    let other = thread::spawn(work(theirs));
    let mut handed = work(mine)();
    handed.extend(other.join().unwrap());
    handed
}

fn window(size: u32) -> Arc<AtomicWindow> {
    Arc::new(AtomicWindow::new(Duration::from_nanos(1), size, 0).unwrap())
}

/// Successes and their times together, and drops.
fn sum(handed: &[Collected]) -> (u32, u128, u32) {
    handed.iter().fold((0, 0, 0), |all, one| {
        let time = one.mean_rtt.as_nanos() * u128::from(one.successes);
        (all.0 + one.successes, all.1 + time, all.2 + one.drops)
    })
}

#[test]
fn every_end_is_in_exactly_one_window_and_its_time_with_it() {
    loom::model(|| {
        let window = window(1);
        let mine = &[(6, 1, Outcome::Success), (6, 1, Outcome::Success)];
        let mut handed = race(&window, mine, &[(6, 1, Outcome::Success), (6, 1, Outcome::Dropped)]);
        handed.extend(window.take(LATER));
        assert_eq!(sum(&handed), (3, 18, 1));
    });
}

#[test]
fn every_drop_is_in_exactly_one_window() {
    loom::model(|| {
        let window = window(1);
        let mine = &[(6, 1, Outcome::Dropped), (6, 1, Outcome::Dropped)];
        let mut handed = race(&window, mine, &[(6, 1, Outcome::Dropped)]);
        handed.extend(window.take(LATER));
        assert_eq!(sum(&handed), (0, 0, 3));
    });
}

#[test]
fn a_window_is_handed_over_once_and_not_before_it_has_enough() {
    loom::model(|| {
        let window = window(2);
        let ends = &[(6, 1, Outcome::Success), (6, 1, Outcome::Success)];
        let handed = race(&window, ends, ends);
        assert!(handed.len() == 1, "{handed:?}");
        assert!(handed[0].successes >= 2, "{handed:?}");
    });
}

/// The most in flight and the shortest time that any window told. They may come a window late, so one more request ends; it
/// is a long one, lest the mean of a window tell what its shortest time does not.
fn extremes(window: &AtomicWindow, mut handed: Vec<Collected>) -> (u32, u128) {
    handed.extend(window.record(LATER, Duration::from_nanos(9), 1, Outcome::Success));
    handed.extend(window.take(LATER));
    let most = handed.iter().map(|one| one.in_flight).max().unwrap();
    let successes = handed.iter().filter(|one| one.successes > 0);
    (most, successes.map(|one| one.least_rtt.as_nanos()).min().unwrap())
}

#[test]
fn the_most_in_flight_and_the_shortest_time_are_in_some_window() {
    loom::model(|| {
        let window = window(1);
        let mine = &[(9, 1, Outcome::Success), (7, 3, Outcome::Success)];
        let handed = race(&window, mine, &[(5, 4, Outcome::Success)]);
        assert_eq!(extremes(&window, handed), (4, 5));
    });
}

#[test]
fn a_window_of_drops_takes_no_shortest_time_with_it() {
    loom::model(|| {
        let window = window(1);
        let handed = race(&window, &[(1, 1, Outcome::Dropped)], &[(5, 4, Outcome::Success)]);
        assert_eq!(extremes(&window, handed), (4, 5));
    });
}

#[test]
fn a_timer_that_finds_nothing_takes_no_figure_with_it() {
    loom::model(|| {
        let window = window(2);
        let other = thread::spawn({
            let window = Arc::clone(&window);
            move || window.record(OVER, Duration::from_nanos(5), 4, Outcome::Success)
        });
        let mut handed: Vec<_> = window.take(OVER).into_iter().collect();
        handed.extend(other.join().unwrap());
        assert_eq!(extremes(&window, handed), (4, 5));
    });
}
