//! Each known fault of the reference's window, shown with the `netflix` preset, and its absence in ours.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{Estimator, Outcome, Sample, Tracked, Vegas, VegasSettings, Window, WindowSettings};
use tollgate::slots::Heap;

const MS: Duration = Duration::from_millis(1);

/// Counts what it is handed.
#[derive(Default)]
struct Count {
    successes: u32,
    drops: u32,
}

impl Estimator for Count {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        match sample.outcome {
            Outcome::Dropped => self.drops += 1,
            _ => self.successes += 1,
        }
        1
    }

    fn limit(&self) -> u32 {
        1
    }
}

fn windowed(settings: WindowSettings, samples: impl Iterator<Item = (u64, Duration, Outcome)>) -> (u32, u32) {
    let mut window: Window<_, Heap> = Window::new(settings, Count::default()).unwrap();
    for (started_ms, rtt, outcome) in samples {
        let started = Timestamp::ZERO.saturating_add(MS * u32::try_from(started_ms).unwrap());
        window.on_sample(&Sample { started, rtt, in_flight: 1, outcome });
    }
    (window.inner().successes, window.inner().drops)
}

#[test]
fn a_window_loses_low_traffic() {
    // Five a second; a window wants ten.
    let slow = || (0..1000).map(|i| (i * 200, 5 * MS, Outcome::Success));
    assert_eq!(windowed(WindowSettings::netflix(), slow()), (0, 0));
    assert_eq!(windowed(WindowSettings::default(), slow()), (100, 0));
}

#[test]
fn a_window_loses_fast_drops_and_those_past_its_capacity() {
    let fast = || (0..1000).map(|i| (i, MS / 20, Outcome::Dropped));
    assert_eq!(windowed(WindowSettings::netflix(), fast()), (0, 0));
    assert_eq!(windowed(WindowSettings::default(), fast()).1, 1000);

    let late = || {
        (0..1000).map(|i| {
            let outcome = if i % 500 > 100 && i % 500 < 400 { Outcome::Dropped } else { Outcome::Success };
            (i * 4, 5 * MS, outcome)
        })
    };
    let tracked = Tracked::Percentile { rank: 0.9, capacity: 20 };
    let reference = windowed(WindowSettings { tracked, ..WindowSettings::netflix() }, late());
    let ours = windowed(WindowSettings { tracked, ..WindowSettings::default() }, late());
    assert!(reference.1 < 4, "{reference:?}");
    assert_eq!(ours.1, 598);
}

/// Netflix#35, camunda#3306. Ours takes means over rounds of requests, however long they last, so it wants no window.
#[test]
fn a_window_of_a_second_grows_by_one_step_a_second() {
    // Seconds until two hundred are let in, from twenty, at a healthy service of 10 ms.
    let seconds = |estimator: &mut dyn Estimator| {
        let mut started = Timestamp::ZERO;
        while estimator.limit() < 200 {
            let in_flight = estimator.limit();
            estimator.on_sample(&Sample { started, rtt: 10 * MS, in_flight, outcome: Outcome::Success });
            started = started.saturating_add(10 * MS / in_flight);
        }
        started.as_nanos() as f64 / 1e9
    };
    let vegas = |settings| Vegas::new(settings).unwrap();
    let mut windowed: Window<_, Heap> =
        Window::new(WindowSettings::netflix(), vegas(VegasSettings::netflix())).unwrap();
    let reference = seconds(&mut windowed);
    let ours = seconds(&mut vegas(VegasSettings::default()));
    assert!(reference > 20.0 && ours < 1.0, "{reference} and {ours} seconds");
}

#[test]
fn a_low_percentile_loses_every_window() {
    let steady = || (0..1000).map(|i| (i * 10, 5 * MS, Outcome::Success));
    let tracked = Tracked::Percentile { rank: 0.001, capacity: 200 };
    assert_eq!(windowed(WindowSettings { tracked, ..WindowSettings::netflix() }, steady()), (0, 0));
    assert!(windowed(WindowSettings { tracked, ..WindowSettings::default() }, steady()).0 >= 9);
}
