use super::*;
use crate::arrivals::Law;
use crate::policy::Kind;
use crate::scenario::{Input, Pressure, Setup, Slow, When};
use crate::server::Contention;
use crate::workload::{Costs, Noise};

fn setup(load: f64) -> Setup {
    Setup {
        input: Input::Law { law: Law::Poisson, duration_s: 60.0, costs: Costs::Constant(10) },
        pressure: Pressure::Load(load),
        unit_us: 1_000,
        noise: Noise::Exponential,
        slots: 4,
        hard_limit: None,
        contention: Contention::NONE,
        slow_downs: Vec::new(),
        deadline_ms: Some(100),
        seed: 1,
    }
}

fn simulate(kind: Kind, setup: Setup) -> Run {
    let run = kind.simulate(&setup.resolve().unwrap()).unwrap();
    assert!(run.check(), "the books do not balance: {:?}", run.counts);
    run
}

fn mean_in_flight(run: &Run) -> f64 {
    run.points.iter().map(|point| point.in_flight).sum::<f64>() / num::real(num::count(run.points.len()))
}

fn patient(slots: u32, load: f64, noise: Noise) -> Setup {
    let input = Input::Law { law: Law::Poisson, duration_s: 500.0, costs: Costs::Constant(10) };
    Setup { input, slots, noise, deadline_ms: Some(1_000_000), ..setup(load) }
}

#[test]
fn one_slot_with_constant_service_holds_what_the_formula_for_m_d_1_says() {
    let rho = 0.7;
    let run = simulate(Kind::None, patient(1, rho, Noise::Constant));
    let expected = rho + rho * rho / (2.0 * (1.0 - rho));
    let found = mean_in_flight(&run);
    assert!((found / expected - 1.0).abs() < 0.05, "{found} in flight, expected {expected}");
}

#[test]
fn many_slots_with_exponential_service_hold_what_erlang_c_says() {
    let (slots, rho) = (4_u32, 0.8);
    let run = simulate(Kind::None, patient(slots, rho, Noise::Exponential));
    let offered = f64::from(slots) * rho;
    let mut term = 1.0;
    let mut below = 0.0;
    for n in 1..=slots {
        below += term;
        term *= offered / f64::from(n);
    }
    let waits = (term / (1.0 - rho)) / (below + term / (1.0 - rho));
    let expected = offered + waits * rho / (1.0 - rho);
    let found = mean_in_flight(&run);
    assert!((found / expected - 1.0).abs() < 0.05, "{found} in flight, expected {expected}");
}

#[test]
fn the_fixed_policy_never_exceeds_its_limit() {
    for limit in [1, 3, 10] {
        let run = simulate(Kind::Fixed(limit), setup(3.0));
        assert_eq!(run.peak_in_flight, limit);
        assert!(run.counts.refused > 0);
    }
}

#[test]
fn below_capacity_a_generous_limit_refuses_nobody_and_all_are_on_time() {
    let run = simulate(Kind::Fixed(100), setup(0.3));
    assert_eq!(run.counts.refused, 0);
    assert!(run.counts.timed_out * 1000 < run.counts.offered, "{:?}", run.counts);
}

#[test]
fn without_a_limit_overload_leaves_nothing_on_time_and_with_one_the_service_stays_busy() {
    let contention = Contention { knee: 8, alpha: 0.05, beta: 0.001 };
    let none = simulate(Kind::None, Setup { contention, ..setup(2.0) });
    let fixed = simulate(Kind::Fixed(6), Setup { contention, ..setup(2.0) });
    assert!(
        none.goodput_per_s() < 0.1 * fixed.goodput_per_s(),
        "{} {}",
        none.goodput_per_s(),
        fixed.goodput_per_s()
    );
    assert!(fixed.goodput_per_s() > 0.9 * 400.0, "{}", fixed.goodput_per_s());
    assert!(none.counts.refused == 0 && none.counts.timed_out > 0);
}

#[test]
fn a_client_gives_up_at_its_deadline_and_the_server_works_on() {
    let run = simulate(Kind::Fixed(50), setup(3.0));
    let latency = run.latency.unwrap();
    assert!(latency.p99_ms <= 100.1, "{latency:?}");
    assert!(run.counts.timed_out > 0);
    assert!(run.peak_in_server > run.peak_in_flight, "{} {}", run.peak_in_server, run.peak_in_flight);
}

#[test]
fn the_hard_limit_bounds_the_server_and_its_refusals_are_counted_apart() {
    let run = simulate(Kind::None, Setup { hard_limit: Some(7), ..setup(2.0) });
    assert_eq!(run.peak_in_server, 7);
    assert!(run.counts.refused_by_server > 0 && run.counts.refused == 0);
    assert!(run.goodput_per_s() > 0.9 * 400.0, "{}", run.goodput_per_s());
}

#[test]
fn contention_lowers_what_is_served() {
    let calm = simulate(Kind::Fixed(12), setup(2.0));
    let contention = Contention { knee: 6, alpha: 0.1, beta: 0.0 };
    let contended = simulate(Kind::Fixed(12), Setup { contention, ..setup(2.0) });
    // Six past the knee: 1.6 times as long.
    let ratio = calm.goodput_per_s() / contended.goodput_per_s();
    assert!((1.45..1.65).contains(&ratio), "{ratio}");
}

#[test]
fn a_slow_down_lowers_goodput_while_it_lasts() {
    let slow = Slow { from: When::Percent(50.0), to: When::Percent(75.0), factor: 4.0 };
    let run = simulate(Kind::Fixed(6), Setup { slow_downs: vec![slow], ..setup(2.0) });
    let within = |from: usize, to: usize| run.on_time[from..to].iter().sum::<u32>();
    let (before, during, after) = (within(600, 1200), within(1200, 1800), within(1800, 2400));
    assert!(during * 3 < before && during * 3 < after, "{before} {during} {after}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let run = |seed| simulate(Kind::Fixed(6), Setup { seed, ..setup(1.5) });
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).counts, run(2).counts);
}

#[test]
fn what_a_policy_does_shifts_nobodys_luck() {
    let offered = |kind| simulate(kind, setup(1.5)).offered;
    assert_eq!(offered(Kind::None), offered(Kind::Fixed(1)));
}
