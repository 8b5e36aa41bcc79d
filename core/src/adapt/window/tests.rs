use std::vec::Vec;

use super::*;
use crate::adapt::testing::{MS, fields};

/// Keeps what it is handed.
#[derive(Default)]
struct Kept(Vec<Sample>);

impl Estimator for Kept {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        self.0.push(*sample);
        self.limit()
    }

    fn limit(&self) -> u32 {
        7
    }

    fn no_load_rtt(&self) -> Option<Duration> {
        Some(MS)
    }

    fn on_reject(&mut self, _now: Timestamp) -> u32 {
        8
    }

    fn on_tick(&mut self, _now: Timestamp) -> u32 {
        9
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        Some(Timestamp::MAX)
    }
}

#[test]
fn what_is_no_sample_goes_through_to_the_estimator() {
    let mut window = window(three());
    assert_eq!((window.on_reject(Timestamp::ZERO), window.on_tick(Timestamp::ZERO)), (8, 9));
    assert_eq!((window.no_load_rtt(), window.poll_timeout()), (Some(MS), Some(Timestamp::MAX)));
}

#[test]
fn a_window_that_opened_at_this_very_instant_is_not_due() {
    let mut window = window(WindowSettings { size: 1, ..WindowSettings::default() });
    for closed in [1, 1, 1] {
        window.on_sample(&sample(5, MS, 1));
        assert_eq!(window.inner().0.len(), closed);
    }
    window.on_sample(&sample(4, MS, 1));
    assert_eq!(window.inner().0.len(), 2, "the clock went back");
}

#[test]
fn a_success_of_less_than_a_tenth_of_a_millisecond_is_no_measurement_to_the_reference() {
    let mut window = window(WindowSettings { size: 1, ..WindowSettings::netflix() });
    window.on_sample(&sample(0, Duration::from_nanos(99_999), 1));
    assert_eq!(window.pending(), 0);
    assert_eq!(WindowSettings::netflix().rtt_threshold, Duration::from_micros(100));
}

#[test]
fn a_rank_of_none_or_all_is_refused() {
    for (rank, sound) in [(0.0, false), (0.001, true), (0.999, true), (1.0, false), (f64::NAN, false)] {
        let window: Result<Window<Kept, Inline<8>>, _> = Window::new(percentile(rank, 4, 1), Kept::default());
        assert_eq!(window.is_ok(), sound, "{rank}");
    }
}

fn sample(started_ms: u32, rtt: Duration, in_flight: u32) -> Sample {
    let started = Timestamp::ZERO.saturating_add(MS.saturating_mul(started_ms));
    Sample { started, rtt, in_flight, outcome: Outcome::Success }
}

fn window(settings: WindowSettings) -> Window<Kept, Inline<8>> {
    Window::new(settings, Kept::default()).unwrap()
}

fn three() -> WindowSettings {
    WindowSettings { size: 3, ..WindowSettings::default() }
}

fn percentile(rank: f64, capacity: u32, size: u32) -> WindowSettings {
    WindowSettings { tracked: Tracked::Percentile { rank, capacity }, size, ..WindowSettings::default() }
}

#[test]
fn a_window_is_handed_on_as_its_mean_its_peak_and_its_earliest_start() {
    let mut window = window(three());
    for (started, rtt, in_flight) in [(5, 10, 2), (3, 20, 9), (4, 31, 1)] {
        window.on_sample(&sample(started, MS.saturating_mul(rtt), in_flight));
    }
    let [handed] = window.inner().0.as_slice() else { panic!("{:?}", window.inner().0) };
    assert_eq!(handed.rtt, Duration::from_nanos(61_000_000 / 3));
    assert_eq!((handed.started, handed.in_flight), (sample(3, MS, 1).started, 9));
    assert_eq!(window.closes_at(), Timestamp::from_nanos(1_035_000_000));
    assert_eq!(window.pending(), 0);
}

#[test]
fn a_window_with_too_few_samples_is_carried_on_past_its_deadline() {
    let mut window = window(three());
    for i in 0..2 {
        window.on_sample(&sample(i * 5000, MS, 1));
    }
    assert_eq!((window.inner().0.len(), window.pending()), (0, 2));
    window.on_sample(&sample(60_000, MS, 1));
    assert_eq!((window.inner().0.len(), window.pending()), (1, 0));
}

#[test]
fn the_deadline_itself_is_not_past_it() {
    let mut window = window(WindowSettings { size: 1, ..WindowSettings::default() });
    window.on_sample(&sample(0, MS, 1));
    assert_eq!(window.closes_at(), Timestamp::from_nanos(1_001_000_000));
    window.on_sample(&sample(1000, MS, 1));
    assert_eq!(window.inner().0.len(), 1);
    window.on_sample(&sample(1000, MS.saturating_mul(2), 1));
    assert_eq!(window.inner().0.len(), 2);
}

#[test]
fn a_drop_is_handed_on_at_once_however_fast_it_was() {
    let mut window = window(WindowSettings { rtt_threshold: MS, ..three() });
    let dropped = Sample { outcome: Outcome::Dropped, ..sample(0, Duration::ZERO, 3) };
    window.on_sample(&dropped);
    assert_eq!(window.inner().0, [dropped]);
    window.on_sample(&sample(0, Duration::from_micros(999), 3));
    assert_eq!(window.pending(), 0, "a success below the threshold is no measurement");
}

#[test]
fn an_ignored_request_changes_nothing() {
    let mut window = window(three());
    assert_eq!(window.on_sample(&Sample { outcome: Outcome::Ignored, ..sample(0, MS, 3) }), 7);
    assert_eq!((window.inner().0.len(), window.pending()), (0, 0));
}

#[test]
fn the_next_deadline_is_twice_the_least_rtt_within_the_bounds() {
    let settings = WindowSettings {
        min_window: MS.saturating_mul(100),
        max_window: MS.saturating_mul(300),
        size: 1,
        ..WindowSettings::default()
    };
    for (rtt, expected) in [(10, 110), (100, 300), (200, 500)] {
        let mut window = window(settings);
        window.on_sample(&sample(0, MS.saturating_mul(rtt), 1));
        assert_eq!(window.closes_at(), sample(expected, MS, 1).started, "{rtt} ms");
    }
}

#[test]
fn a_percentile_is_the_value_at_its_rounded_rank_and_never_below_the_least() {
    for (rank, expected) in [(0.01, 1), (0.5, 3), (0.69, 3), (0.71, 4), (0.99, 5)] {
        let mut window = window(percentile(rank, 8, 5));
        for rtt in [4, 2, 5, 1, 3] {
            window.on_sample(&sample(0, MS.saturating_mul(rtt), 1));
        }
        let rtts: Vec<_> = window.inner().0.iter().map(|sample| sample.rtt).collect();
        assert_eq!(rtts, [MS.saturating_mul(expected)], "rank {rank}");
    }
}

#[test]
fn past_the_capacity_every_second_sample_stands_for_two() {
    for capacity in [1, 2, 3, 5, 8] {
        let mut window = window(percentile(0.5, capacity, 1000));
        for i in 0..100 {
            window.on_sample(&sample(0, Duration::from_nanos(i), 1));
        }
        let stored = window.collected.stored();
        assert!(!stored.is_empty() && stored.len() <= capacity.try_into().unwrap());
        let stride = stored.get(1).copied().unwrap_or(1);
        let even: Vec<_> = (0..100).step_by(stride.try_into().unwrap()).take(stored.len()).collect();
        assert_eq!(stored, even, "capacity {capacity}");
        assert_eq!(window.pending(), 100);
    }
}

#[test]
fn a_clock_that_went_back_cannot_keep_a_window_open() {
    let mut window = window(WindowSettings { size: 1, ..WindowSettings::default() });
    window.on_sample(&Sample { started: Timestamp::MAX, ..sample(0, MS, 1) });
    window.on_sample(&sample(0, MS, 1));
    assert_eq!(window.inner().0.len(), 2);
}

#[test]
fn every_broken_rule_is_named() {
    let settings = WindowSettings {
        min_window: Duration::ZERO,
        size: 0,
        tracked: Tracked::Percentile { rank: 1.0, capacity: 0 },
        ..WindowSettings::default()
    };
    let built: Result<Window<_, Inline<8>>, _> = Window::new(settings, Kept::default());
    assert_eq!(fields(built), ["min_window", "size", "tracked.rank", "tracked.capacity"]);
    let built: Result<Window<_, Inline<8>>, _> = Window::new(percentile(0.5, 9, 1), Kept::default());
    assert_eq!(fields(built), ["capacity"]);
}
