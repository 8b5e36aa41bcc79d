//! What holds for every scenario, on random ones.

use proptest::prelude::*;
use tollgate_sim::arrivals::Law;
use tollgate_sim::measure::Run;
use tollgate_sim::policy::Kind;
use tollgate_sim::scenario::{Input, Pressure, Setup, Slow, When};
use tollgate_sim::server::Contention;
use tollgate_sim::trace::{Options, Trace};
use tollgate_sim::workload::{Costs, Noise};

fn law() -> impl Strategy<Value = Law> {
    let burst = |(high, low, on_s, off_s)| Law::OnOff { high, low, on_s, off_s };
    prop_oneof![
        Just(Law::Poisson),
        (0.5..4.0_f64, 0.0..1.0_f64, 0.01..0.5_f64, 0.01..0.5_f64).prop_map(burst),
        (0.0..1.0_f64, 0.1..3.0_f64).prop_map(|(from, to)| Law::Ramp { from, to }),
    ]
}

fn noise() -> impl Strategy<Value = Noise> {
    prop_oneof![Just(Noise::Constant), Just(Noise::Exponential), (0.1..1.5_f64).prop_map(Noise::LogNormal)]
}

fn contention() -> impl Strategy<Value = Contention> {
    (1..20_u32, 0.0..0.2_f64, 0.0..0.01_f64).prop_map(|(knee, alpha, beta)| Contention { knee, alpha, beta })
}

prop_compose! {
    fn setup()(
        law in law(),
        load in 0.1..4.0_f64,
        noise in noise(),
        slots in 1..12_u32,
        hard_limit in proptest::option::of(1..40_u32),
        contention in contention(),
        slow in proptest::option::of((0.0..50.0_f64, 51.0..100.0_f64, 0.5..5.0_f64)),
        deadline_ms in 1..200_u64,
        seed: u64,
    ) -> Setup {
        let slow = slow.map(|(from, to, factor)| Slow { from: When::Percent(from), to: When::Percent(to), factor });
        Setup {
            input: Input::Law { law, duration_s: 1.0, costs: Costs::Constant(10) },
            pressure: Pressure::Load(load),
            unit_us: 1_000,
            noise,
            slots,
            hard_limit,
            contention,
            slow_downs: slow.into_iter().collect(),
            deadline_ms: Some(deadline_ms),
            seed,
        }
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    let adaptive = prop_oneof![Just(Kind::Aimd), Just(Kind::Vegas), Just(Kind::Gradient2)];
    prop_oneof![Just(Kind::None), (1..50_u32).prop_map(Kind::Fixed), adaptive]
}

fn run(kind: Kind, setup: Setup) -> Run {
    kind.simulate(&setup.resolve().expect("in range")).expect("a policy the core accepts")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance_and_no_bound_is_passed(setup in setup(), kind in kind()) {
        let run = run(kind, setup.clone());
        prop_assert!(run.check(), "{:?}", run.counts);
        if let Kind::Fixed(limit) = kind {
            prop_assert!(run.peak_in_flight <= limit);
        }
        if let Some(limit) = setup.hard_limit {
            prop_assert!(run.peak_in_server <= limit);
        } else {
            prop_assert_eq!(run.counts.refused_by_server, 0);
            prop_assert!(run.peak_in_server >= run.peak_in_flight);
        }
        if kind == Kind::None {
            prop_assert_eq!(run.counts.refused, 0);
        }
        if let (Some(latency), Some(deadline_ms)) = (run.latency, setup.deadline_ms) {
            let deadline_ms = f64::from(u32::try_from(deadline_ms).expect("small"));
            prop_assert!(latency.p50_ms <= latency.p95_ms && latency.p95_ms <= latency.p99_ms);
            prop_assert!(latency.p99_ms <= deadline_ms * 1.001, "{:?} {}", latency, deadline_ms);
        }
    }

    #[test]
    fn the_same_scenario_gives_the_same_run(setup in setup(), kind in kind()) {
        prop_assert_eq!(run(kind, setup.clone()), run(kind, setup));
    }

    #[test]
    fn every_policy_is_offered_the_same(setup in setup(), one in kind(), other in kind()) {
        prop_assert_eq!(run(one, setup.clone()).offered, run(other, setup).offered);
    }

    #[test]
    fn any_bytes_are_a_trace_or_a_refusal_that_says_where(
        head in prop_oneof![
            Just(""), Just("TIMESTAMP,ContextTokens,GeneratedTokens\n"), Just("arrival_s,tenant,cost,bytes\n"),
            Just("arrival_ms,group,input_tokens,output_tokens\r\n"), Just("{\"timestamp\": 0"),
        ],
        body in "([0-9.,:eE+{}\" \r\n-]|[a-zA-Z]|\\PC){0,80}",
    ) {
        match Trace::read(format!("{head}{body}").as_bytes(), "file", Options::default()) {
            Ok(trace) => prop_assert!(!trace.records.is_empty() && trace.records.is_sorted_by_key(|r| r.at_ns)),
            Err(error) => prop_assert!(error.to_string().starts_with("file:"), "{error}"),
        }
    }
}
