use super::*;
use crate::arrivals::Law;
use crate::report::{Summary, chart, table, text};
use crate::scenario::{Input, Pressure, Setup, Slow, When};
use crate::server::Contention;
use crate::workload::{Costs, Noise};

fn setup(load: f64) -> Setup {
    Setup {
        input: Input::Law { law: Law::Poisson, duration_s: 5.0, costs: Costs::Constant(10) },
        pressure: Pressure::Load(load),
        unit_us: 1_000,
        noise: Noise::Exponential,
        slots: 4,
        hard_limit: None,
        contention: Contention { knee: 8, alpha: 0.05, beta: 0.001 },
        slow_downs: vec![Slow { from: When::Percent(40.0), to: When::Percent(50.0), factor: 3.0 }],
        deadline_ms: Some(100),
        seed: 3,
    }
}

fn compared(setup: Setup, kinds: &[Kind]) -> (Summary, Comparison) {
    let scenario = setup.resolve().unwrap();
    (Summary::new(&scenario), compare(&scenario, kinds, |_, _| {}).unwrap())
}

/// Every byte that comes out.
fn everything(setup: Setup) -> Vec<u8> {
    let (summary, comparison) = compared(setup, &KINDS);
    let mut bytes = format!("{summary}\n{}", table::render(&comparison)).into_bytes();
    text::csv(&comparison, &mut bytes).unwrap();
    text::json(&summary, &comparison, &mut bytes).unwrap();
    bytes.extend(chart::svg(&summary, &comparison).unwrap().into_bytes());
    bytes
}

const KINDS: [Kind; 5] = [Kind::None, Kind::Fixed(4), Kind::Aimd, Kind::Vegas, Kind::Gradient2];

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let first = everything(setup(1.5));
    assert_eq!(first, everything(setup(1.5)));
    assert_ne!(first, everything(Setup { seed: 4, ..setup(1.5) }));
}

#[test]
fn no_policy_of_ours_has_less_goodput_than_none_in_overload() {
    for load in [1.2, 2.0, 4.0] {
        let scenario = setup(load).resolve().unwrap();
        let [none, others @ ..] = KINDS.map(|kind| (kind.label(), kind.simulate(&scenario).unwrap().counts));
        for (policy, counts) in others {
            assert!(counts.on_time >= none.1.on_time, "load {load}: {policy} {counts:?}, none {:?}", none.1);
        }
    }
}

#[test]
fn nothing_fixed_beats_the_oracle_by_more_than_the_plateau_allows() {
    let fixed: Vec<Kind> = (1..=20).map(Kind::Fixed).collect();
    let (_, comparison) = compared(setup(2.0), &fixed);
    for row in &comparison.rows {
        assert!(row.of_oracle.unwrap() <= 1.0 / 0.995 + 0.002, "{}: {:?}", row.policy, row.of_oracle);
    }
    assert_eq!(comparison.oracle.of_oracle, Some(1.0));
}

#[test]
fn a_good_limit_recovers_from_a_slow_down_and_none_never_does() {
    let (_, comparison) = compared(setup(1.5), &[Kind::None, Kind::Fixed(5)]);
    assert_eq!(comparison.rows[0].recovery, Recovery::Never);
    let Recovery::Seconds(seconds) = comparison.rows[1].recovery else {
        panic!("{:?}", comparison.rows[1].recovery)
    };
    assert!(seconds < 1.0, "{seconds}");
}

#[test]
fn without_a_disturbance_there_is_nothing_to_recover_from() {
    let (_, comparison) = compared(Setup { slow_downs: Vec::new(), ..setup(1.5) }, &[Kind::Fixed(5)]);
    assert_eq!(comparison.rows[0].recovery, Recovery::NotDisturbed);
}

#[test]
fn the_progress_ends_at_its_end() {
    let scenario = setup(1.5).resolve().unwrap();
    let mut seen = Vec::new();
    compare(&scenario, &KINDS, |done, expected| seen.push((done, expected))).unwrap();
    assert!(seen.is_sorted() && seen.iter().all(|(done, expected)| done <= expected), "{seen:?}");
}

#[test]
fn the_csv_has_a_line_for_each_policy_and_the_oracle() {
    let (_, comparison) = compared(setup(1.5), &[Kind::None, Kind::Fixed(4)]);
    let mut bytes = Vec::new();
    text::csv(&comparison, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("policy,mean_limit,offered,admitted,refused,"));
    assert!(lines[1].starts_with("none,,") && lines[1].contains(",true,"), "{}", lines[1]);
    assert!(lines[2].starts_with("fixed 4,4.0,"), "{}", lines[2]);
}
