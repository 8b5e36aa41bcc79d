//! `AtomicWindow` under every interleaving of a few threads.
#![cfg(tollgate_loom)]

use core::time::Duration;

use loom::sync::Arc;
use loom::thread;
use tollgate::Timestamp;
use tollgate::adapt::{AtomicWindow, Collected, Outcome};

/// Successes and their times together, and drops.
fn sum(collected: Option<Collected>) -> (u32, u64, u32) {
    collected.map_or((0, 0, 0), |collected| {
        let time = collected.mean_rtt.as_nanos() * u128::from(collected.successes);
        (collected.successes, u64::try_from(time).unwrap(), collected.drops)
    })
}

#[test]
fn every_end_is_in_exactly_one_window_and_its_time_with_it() {
    loom::model(|| {
        // Each call finds the window over, so all of them try to take it out.
        let window = Arc::new(AtomicWindow::new(Duration::from_nanos(1), 1, 0).unwrap());
        let work = |outcomes: [Outcome; 2]| {
            let window = Arc::clone(&window);
            move || {
                outcomes.map(|outcome| {
                    sum(window.record(Timestamp::from_nanos(10), Duration::from_nanos(6), 1, outcome))
                })
            }
        };
        let other = thread::spawn(work([Outcome::Success, Outcome::Dropped]));
        let seen = [work([Outcome::Success; 2])(), other.join().unwrap()].concat();
        let rest = sum(window.take(Timestamp::from_nanos(30)));
        let total = seen.iter().fold(rest, |all, one| (all.0 + one.0, all.1 + one.1, all.2 + one.2));
        assert_eq!(total, (3, 18, 1));
    });
}
