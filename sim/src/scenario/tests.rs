use super::*;
use crate::trace::Options;

fn law() -> Input {
    Input::Law { law: Law::Poisson, duration_s: 100.0, costs: Costs::Constant(100) }
}

fn setup(input: Input, pressure: Pressure) -> Setup {
    Setup {
        input,
        pressure,
        unit_us: 1_000,
        noise: Noise::Constant,
        slots: 8,
        hard_limit: None,
        contention: Contention::NONE,
        slow_downs: Vec::new(),
        deadline_ms: None,
        seed: 0,
    }
}

fn trace() -> Arc<Trace> {
    let text = "arrival_s,tenant,cost\n0,a,100\n5,a,300\n10,a,200\n";
    Arc::new(Trace::read(text.as_bytes(), "t", Options::default()).unwrap())
}

#[test]
fn the_load_fixes_the_rate_of_a_law_and_the_speed_of_a_trace() {
    for input in [law(), Input::Trace(trace())] {
        let scenario = setup(input, Pressure::Load(1.5)).resolve().unwrap();
        assert!((scenario.load() - 1.5).abs() < 1e-9, "{}", scenario.load());
    }
}

#[test]
fn a_given_pace_is_taken_as_it_is() {
    let scenario = setup(Input::Trace(trace()), Pressure::Pace(2.0)).resolve().unwrap();
    assert_eq!(scenario.span_ns, 5_000_000_000);
    let scenario = setup(law(), Pressure::Pace(40.0)).resolve().unwrap();
    assert!((scenario.capacity_per_s() - 80.0).abs() < 1e-9);
    assert!((scenario.load() - 0.5).abs() < 1e-9);
}

#[test]
fn the_deadline_is_ten_mean_services_unless_given() {
    let scenario = setup(law(), Pressure::Load(1.0)).resolve().unwrap();
    assert_eq!(scenario.deadline_ns, 1_000_000_000);
    let given = Setup { deadline_ms: Some(7), ..setup(law(), Pressure::Load(1.0)) };
    assert_eq!(given.resolve().unwrap().deadline_ns, 7_000_000);
}

#[test]
fn slow_downs_and_bursts_are_disturbances_in_order() {
    let law = Law::OnOff { high: 3.0, low: 0.5, on_s: 2.0, off_s: 48.0 };
    let input = Input::Law { law, duration_s: 100.0, costs: Costs::Constant(100) };
    let slow = Slow { from: When::Percent(20.0), to: When::Seconds(30.0), factor: 2.0 };
    let scenario = Setup { slow_downs: vec![slow], ..setup(input, Pressure::Load(1.0)) }.resolve().unwrap();
    let seconds: Vec<(f64, f64)> =
        scenario.disturbances.iter().map(|&(from, to)| (num::seconds(from), num::seconds(to))).collect();
    assert_eq!(seconds, [(0.0, 2.0), (20.0, 30.0), (50.0, 52.0)]);
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let message = |setup: Setup| setup.resolve().unwrap_err().to_string();
    let base = || setup(law(), Pressure::Load(1.0));
    assert_eq!(message(Setup { slots: 0, ..base() }), "slots is 0, allowed is 1 to 1000000");
    assert!(message(Setup { pressure: Pressure::Load(f64::NAN), ..base() }).starts_with("load is NaN"));
    assert!(message(Setup { unit_us: 0, ..base() }).starts_with("unit is 0"));
    assert!(message(Setup { deadline_ms: Some(0), ..base() }).starts_with("deadline is 0"));
    assert!(message(Setup { pressure: Pressure::Pace(1e9), ..base() }).starts_with("run is 1000000000"));
    assert!(message(setup(Input::Trace(trace()), Pressure::Pace(1e5))).starts_with("run is 0.0001"));
    let slow = Slow { from: When::Percent(50.0), to: When::Percent(101.0), factor: 2.0 };
    assert!(message(Setup { slow_downs: vec![slow], ..base() }).starts_with("slow-down is 101"));
}

#[test]
fn a_trace_that_cannot_be_scaled_is_refused() {
    let one = |text: &str| Arc::new(Trace::read(text.as_bytes(), "t", Options::default()).unwrap());
    let at_once = one("arrival_s,tenant,cost\n1,a,5\n1,a,5\n");
    let free = one("arrival_s,tenant,cost\n0,a,0\n1,a,0\n");
    for trace in [at_once, free] {
        assert!(setup(Input::Trace(trace), Pressure::Load(1.0)).resolve().is_err());
    }
}
