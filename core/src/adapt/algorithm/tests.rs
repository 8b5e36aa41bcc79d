use super::*;
use crate::adapt::{Learning, Outcome, RoundSettings, VegasReference};

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

/// Every algorithm, in every way of learning.
fn all() -> [AlgorithmSettings; 9] {
    [
        AlgorithmSettings::default(),
        AlgorithmSettings::Vegas(VegasSettings::default()),
        AlgorithmSettings::Vegas(VegasSettings::netflix()),
        AlgorithmSettings::Gradient2(Gradient2Settings::default()),
        AlgorithmSettings::Gradient2(Gradient2Settings::netflix()),
        AlgorithmSettings::Gradient(GradientSettings::default()),
        AlgorithmSettings::Gradient(GradientSettings::netflix()),
        AlgorithmSettings::Aimd(AimdSettings::default()),
        AlgorithmSettings::OpenSearchVegas(OpenSearchVegasSettings::default()),
    ]
}

/// A thousand busy requests of 10 ms without a queue.
fn teach(algorithm: &mut Algorithm) -> u32 {
    for number in 0..1_000 {
        let in_flight = algorithm.limit();
        let rtt = Duration::from_millis(10);
        algorithm.on_sample(&Sample { started: at(number), rtt, in_flight, outcome: Outcome::Success });
    }
    algorithm.limit()
}

/// These settings with a greatest limit of 12.
fn at_most_twelve(settings: AlgorithmSettings) -> AlgorithmSettings {
    let (initial, max) = (12, 12);
    match settings {
        AlgorithmSettings::Knee(it) => AlgorithmSettings::Knee(KneeSettings { initial, max, ..it }),
        AlgorithmSettings::Vegas(it) => AlgorithmSettings::Vegas(VegasSettings { initial, max, ..it }),
        AlgorithmSettings::Gradient2(it) => {
            AlgorithmSettings::Gradient2(Gradient2Settings { initial, max, min: 1, ..it })
        }
        AlgorithmSettings::Gradient(it) => {
            AlgorithmSettings::Gradient(GradientSettings { initial, max, ..it })
        }
        AlgorithmSettings::Aimd(it) => AlgorithmSettings::Aimd(AimdSettings { initial, max, ..it }),
        AlgorithmSettings::OpenSearchVegas(it) => {
            AlgorithmSettings::OpenSearchVegas(OpenSearchVegasSettings { initial, max, ..it })
        }
    }
}

#[test]
fn the_same_settings_again_change_nothing_that_was_learnt() {
    for settings in all() {
        let mut algorithm = Algorithm::new(settings).unwrap();
        let (first, learnt) = (algorithm.limit(), teach(&mut algorithm));
        let no_load = algorithm.no_load_rtt();
        assert!(learnt > first, "{settings:?}: {first} to {learnt}");
        algorithm.reconfigure(at(2_000), settings).unwrap();
        assert_eq!((algorithm.limit(), algorithm.no_load_rtt()), (learnt, no_load), "{settings:?}");
    }
}

#[test]
fn a_lower_ceiling_holds_at_once_and_a_higher_one_goes_on_from_there() {
    for settings in all() {
        let mut algorithm = Algorithm::new(settings).unwrap();
        teach(&mut algorithm);
        algorithm.reconfigure(at(2_000), at_most_twelve(settings)).unwrap();
        assert_eq!(algorithm.limit(), 12, "{settings:?}");
        algorithm.reconfigure(at(2_000), settings).unwrap();
        // Gradient2 of the reference is never below 20.
        assert!([12, 20].contains(&algorithm.limit()), "{settings:?}: {}", algorithm.limit());
        assert!(teach(&mut algorithm) > 20, "{settings:?}");
    }
}

#[test]
fn what_cannot_be_changes_nothing() {
    for settings in all() {
        let mut algorithm = Algorithm::new(settings).unwrap();
        let learnt = teach(&mut algorithm);
        let bad = KneeSettings { min: 7, max: 3, ..KneeSettings::default() };
        assert!(algorithm.reconfigure(at(2_000), AlgorithmSettings::Knee(bad)).is_err());
        let bad = AimdSettings { backoff_ratio: 2.0, ..AimdSettings::default() };
        assert!(algorithm.reconfigure(at(2_000), AlgorithmSettings::Aimd(bad)).is_err());
        assert_eq!(algorithm.limit(), learnt, "{settings:?}");
    }
}

#[test]
fn another_algorithm_begins_anew() {
    for settings in all() {
        for other in all() {
            let mut algorithm = Algorithm::new(settings).unwrap();
            teach(&mut algorithm);
            let name = algorithm.name();
            algorithm.reconfigure(at(2_000), other).unwrap();
            let fresh = Algorithm::new(other).unwrap();
            assert_eq!(algorithm.name(), fresh.name());
            if fresh.name() != name {
                assert_eq!(algorithm.limit(), fresh.limit(), "{name} to {}", fresh.name());
            }
        }
    }
}

#[test]
fn between_rounds_and_samples_the_estimate_is_kept() {
    let rounds =
        VegasSettings { learning: Learning::Rounds(RoundSettings::default()), ..VegasSettings::netflix() };
    let samples = VegasSettings {
        learning: Learning::EachSample(VegasReference::netflix()),
        ..VegasSettings::netflix()
    };
    for (from, to) in [(rounds, samples), (samples, rounds)] {
        let mut algorithm = Algorithm::new(AlgorithmSettings::Vegas(from)).unwrap();
        let learnt = teach(&mut algorithm);
        algorithm.reconfigure(at(2_000), AlgorithmSettings::Vegas(to)).unwrap();
        assert_eq!((algorithm.limit(), algorithm.no_load_rtt()), (learnt, None));
    }
}

#[test]
fn an_estimate_that_is_no_number_is_replaced_by_the_initial_limit() {
    let settings = Gradient2Settings::netflix();
    let mut gradient = Gradient2::new(settings).unwrap();
    for _ in 0..20 {
        let (started, rtt, outcome) = (at(0), Duration::ZERO, Outcome::Success);
        gradient.on_sample(&Sample { started, rtt, in_flight: 20, outcome });
    }
    assert!(gradient.estimate().is_nan(), "the reference is broken by then");
    gradient.reconfigure(settings).unwrap();
    assert_eq!(gradient.limit(), 20);
}

#[test]
fn a_knee_that_is_told_of_no_deadline_any_more_lets_no_burst_queue() {
    let target = KneeSettings { target_delay: Some(Duration::from_millis(500)), ..KneeSettings::default() };
    let mut knee = Knee::new(target).unwrap();
    knee.reconfigure(at(0), KneeSettings::default()).unwrap();
    knee.check_invariants();
    let bad = KneeSettings { sharers: 3, ..target };
    assert_eq!(knee.reconfigure(at(0), bad).unwrap_err().violations()[0].field, "sharers");
}

#[test]
fn an_algorithm_answers_what_its_estimator_answers() {
    let mut knee = Knee::new(KneeSettings::default()).unwrap();
    let mut algorithm = Algorithm::new(AlgorithmSettings::default()).unwrap();
    let (mut waits, mut now) = (0, 0);
    for _ in 0..2_000 {
        let in_flight = algorithm.limit();
        let took = u64::from(in_flight.max(10));
        let sample = Sample {
            started: at(now),
            rtt: Duration::from_millis(took),
            in_flight,
            outcome: Outcome::Success,
        };
        for _ in 0..in_flight {
            assert_eq!(algorithm.on_sample(&sample), knee.on_sample(&sample));
        }
        now += took;
        assert_eq!(algorithm.on_reject(at(now)), knee.on_reject(at(now)));
        assert_eq!(algorithm.on_tick(at(now)), knee.on_tick(at(now)));
        assert_eq!(algorithm.poll_timeout(), Estimator::poll_timeout(&knee));
        assert_eq!(Estimator::no_load_rtt(&algorithm), knee.no_load_rtt());
        waits += u32::from(algorithm.poll_timeout().is_some());
    }
    assert!(waits > 0 && knee.no_load_rtt().is_some());
    let mut vegas = Algorithm::new(AlgorithmSettings::Vegas(VegasSettings::default())).unwrap();
    teach(&mut vegas);
    assert_eq!(Estimator::no_load_rtt(&vegas), Some(Duration::from_millis(10)));
}

#[test]
fn an_algorithm_has_the_name_of_its_type() {
    let names = all().map(|settings| Algorithm::new(settings).unwrap().name());
    let mut distinct = names.to_vec();
    distinct.dedup();
    assert_eq!(distinct, ["knee", "vegas", "gradient2", "gradient", "aimd", "opensearch_vegas"]);
}
