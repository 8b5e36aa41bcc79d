//! Laws of `Drr`, with random workloads against the textbook loop and the definition of fairness.

mod queues;

use proptest::prelude::*;
use queues::{Queues, id};
use tollgate_model::drr::TextbookDrr;
use tollgate_model::fairness::{Service, Share, unfair_interval};

#[derive(Clone, Debug)]
enum Op {
    Arrive { tenant: usize, cost: u64 },
    Serve,
    CancelHead { tenant: usize },
    PickOnly,
}

fn ops(tenants: usize, largest: u64) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => (0..tenants, 0..=largest).prop_map(|(tenant, cost)| Op::Arrive { tenant, cost }),
        5 => Just(Op::Serve),
        1 => (0..tenants).prop_map(|tenant| Op::CancelHead { tenant }),
        1 => Just(Op::PickOnly),
    ];
    prop::collection::vec(op, 1..150)
}

fn extreme_cost() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), 0_u64..4, any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_order_is_the_textbooks_whatever_rounds_are_skipped(
        quantum in 1_u64..8,
        tenants in prop::collection::vec((1_u32..5, prop::collection::vec(0_u64..40, 0..12)), 1..6),
    ) {
        let weights: Vec<u32> = tenants.iter().map(|(weight, _)| *weight).collect();
        let quanta: Vec<u64> = weights.iter().map(|&weight| quantum * u64::from(weight)).collect();
        let mut queues = Queues::new(quantum, &weights);
        let mut textbook = TextbookDrr::new(&quanta);
        for (tenant, (_, costs)) in tenants.iter().enumerate() {
            for &cost in costs {
                queues.arrive(tenant, cost);
                textbook.enqueue(tenant, cost);
            }
        }
        loop {
            let (ours, theirs) = (queues.serve(), textbook.serve());
            prop_assert_eq!(ours, theirs);
            if ours.is_none() {
                break;
            }
        }
    }

    #[test]
    fn any_two_backlogged_tenants_stay_within_the_bound_in_every_interval_with_no_slack(
        quantum in 1_u64..12,
        weights in prop::collection::vec(1_u32..6, 2..5),
        seed in ops(5, 30),
    ) {
        let n = weights.len();
        let mut queues = Queues::new(quantum, &weights);
        let mut shares: Vec<Share> =
            weights.iter().map(|&weight| Share { weight: u64::from(weight), largest: 0 }).collect();
        let mut services: Vec<Service> = Vec::new();
        for op in seed {
            match op {
                Op::Arrive { tenant, cost } => {
                    let tenant = tenant % n;
                    shares[tenant].largest = shares[tenant].largest.max(cost);
                    queues.arrive(tenant, cost);
                }
                Op::Serve => {
                    let before = queues.backlogged();
                    if let Some((tenant, cost)) = queues.serve() {
                        let after = queues.backlogged();
                        let backlogged = before.iter().zip(&after).map(|(b, a)| *b && *a).collect();
                        services.push(Service { tenant, cost, backlogged });
                    }
                }
                Op::CancelHead { tenant } => {
                    // Whoever is left without work is not backlogged throughout.
                    let tenant = tenant % n;
                    queues.cancel_head(tenant);
                    services.push(Service { tenant, cost: 0, backlogged: queues.backlogged() });
                }
                Op::PickOnly => {
                    let first = queues.drr.pick();
                    prop_assert_eq!(queues.drr.pick(), first);
                }
            }
        }
        prop_assert_eq!(unfair_interval(&shares, quantum, &services), None);
    }

    #[test]
    fn it_is_work_conserving_and_serves_every_job_exactly_once(
        quantum in 1_u64..1_000,
        weights in prop::collection::vec(1_u32..1_000, 1..6),
        seed in ops(6, 1_000_000_000),
    ) {
        let n = weights.len();
        let mut queues = Queues::new(quantum, &weights);
        let (mut arrived, mut gone) = (0_u64, 0_u64);
        for op in seed {
            match op {
                Op::Arrive { tenant, cost } => {
                    queues.arrive(tenant % n, cost);
                    arrived += 1;
                }
                Op::Serve => {
                    let work = queues.has_work();
                    let served = queues.serve().is_some();
                    prop_assert_eq!(served, work, "nobody is picked iff there is no work");
                    gone += u64::from(served);
                }
                Op::CancelHead { tenant } => {
                    gone += u64::from(!queues.jobs[tenant % n].is_empty());
                    queues.cancel_head(tenant % n);
                }
                Op::PickOnly => {
                    let _tenant = queues.drr.pick();
                }
            }
        }
        while queues.serve().is_some() {
            gone += 1;
        }
        prop_assert_eq!(arrived, gone);
    }

    #[test]
    fn no_cost_weight_debt_or_quantum_can_overflow_or_loop(
        quantum in prop_oneof![Just(1_u64), Just(u64::MAX), 1..=u64::MAX],
        weights in prop::collection::vec(prop_oneof![Just(1_u32), Just(u32::MAX)], 1..5),
        steps in prop::collection::vec((0_usize..5, any::<bool>(), extreme_cost(), 0_u8..4), 1..80),
    ) {
        let n = weights.len();
        let mut queues = Queues::new(quantum, &weights);
        for (tenant, serve, cost, action) in steps {
            let tenant = tenant % n;
            queues.arrive(tenant, cost);
            match action {
                0 => queues.drr.charge(id(tenant), cost).unwrap(),
                1 => queues.drr.refund(id(tenant), cost).unwrap(),
                2 => queues.drr.set_weight(id(tenant), u32::try_from(cost >> 32).unwrap().max(1)).unwrap(),
                _ => queues.cancel_head(tenant),
            }
            queues.drr.check_invariants();
            if serve {
                let work = queues.has_work();
                prop_assert_eq!(queues.serve().is_some(), work);
            }
        }
        while queues.serve().is_some() {}
    }

    #[test]
    fn weights_that_change_all_the_time_disturb_nobody_else(
        changes in prop::collection::vec(1_u32..9, 30..120),
    ) {
        // apache/dubbo#15762: a changed weight must not shake the order of the others.
        let mut queues = Queues::new(3, &[1, 1, 1]);
        for tenant in 0..3 {
            for _ in 0..600 {
                queues.arrive(tenant, 5);
            }
        }
        let mut services = Vec::new();
        for weight in changes {
            queues.drr.set_weight(id(2), weight).unwrap();
            let (tenant, cost) = queues.serve().unwrap();
            services.push(Service { tenant, cost, backlogged: vec![true, true, false] });
        }
        let shares = [Share { weight: 1, largest: 5 }; 3];
        prop_assert_eq!(unfair_interval(&shares, 3, &services), None);
    }
}

#[test]
fn a_tenant_under_its_share_first_gains_nothing_for_later() {
    // kubernetes#95979, #95986 (wind-up): half the jobs in the first half must not buy more in the second.
    let mut queues = Queues::new(1, &[1, 1]);
    let mut served = [0_u64; 2];
    for step in 0..400 {
        queues.arrive(0, 1);
        queues.arrive(0, 1);
        if step % 2 == 0 {
            queues.arrive(1, 1);
        }
        served[queues.serve().unwrap().0] += 1;
    }
    let first_half = served;
    for _ in 0..400 {
        queues.arrive(1, 1);
        served[queues.serve().unwrap().0] += 1;
    }
    let second = [served[0] - first_half[0], served[1] - first_half[1]];
    assert!(second[0].abs_diff(second[1]) <= 3, "{first_half:?} then {second:?}");
}
