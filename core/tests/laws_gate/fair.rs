//! Fairness, by its definition; and what estimates promise.

use proptest::prelude::*;
use tollgate::Timestamp;
use tollgate::gate::{Budget, Completion, Cost, Gate, GateEvent, Job, JobId, Order, Settings, TenantKey};
use tollgate::slots::Heap;
use tollgate_model::fairness::{Service, Share, unfair_interval};
use tollgate_model::ops::gate::{self as ops, Kind, Scale};

use crate::common::{at, cases};
use crate::pair::Pair;

#[derive(Clone, Debug)]
enum Op {
    Submit { tenant: usize, cost: u64, weight: u64 },
    Poll,
    Complete(usize),
    Cancel(usize),
}

fn run() -> impl Strategy<Value = Vec<Op>> {
    let submit = (0..5_usize, 0..=30_u64, 1..=3_u64);
    let op = prop_oneof![
        6 => submit.prop_map(|(tenant, cost, weight)| Op::Submit { tenant, cost, weight }),
        6 => Just(Op::Poll),
        5 => (0..8_usize).prop_map(Op::Complete),
        1 => (0..64_usize).prop_map(Op::Cancel),
    ];
    prop::collection::vec(op, 1..160)
}

/// Who has jobs waiting, all of them ready; tenants are numbered in the order in which they were configured.
fn backlogged(gate: &Gate<Heap>) -> Vec<bool> {
    gate.tenants(Timestamp::ZERO).map(|tenant| tenant.waiting > 0).collect()
}

proptest! {
    #![proptest_config(cases(256))]

    /// |Sᵢ/wᵢ − Sⱼ/wⱼ| ≤ quantum + Lᵢ/wᵢ + Lⱼ/wⱼ over every interval in which both have work, with no slack: also while
    /// the capacity is full, jobs weigh what they like, and jobs are cancelled.
    #[test]
    fn any_two_tenants_with_work_stay_within_the_bound_in_every_interval(
        quantum in 1..12_u64,
        weights in prop::collection::vec(1..6_u32, 2..5),
        limit in 3..8_u64,
        run in run(),
    ) {
        let settings = Settings {
            order: Order::Deficit { quantum },
            max_tenants: 5,
            max_active: 16,
            max_wait: None,
            ..Settings::default()
        };
        let mut gate = Gate::<Heap>::new(settings, Budget::new(limit)).unwrap();
        for (key, &weight) in (0..).zip(&weights) {
            gate.set_weight(TenantKey(key), weight).unwrap();
        }
        let share = |&weight| Share { weight: u64::from(weight), largest: 0 };
        let mut shares: Vec<Share> = weights.iter().map(share).collect();
        let (mut services, mut running) = (vec![], vec![]);
        let mut waiting: Vec<(JobId, u64)> = vec![];
        for op in run {
            match op {
                Op::Submit { tenant, cost, weight } => {
                    let tenant = tenant % weights.len();
                    shares[tenant].largest = shares[tenant].largest.max(cost);
                    let cost_units = Cost::Units(cost);
                    let job = Job { cost: cost_units, ..Job::with_weight(tenant as u64, weight) };
                    waiting.push((gate.submit(at(0), job).unwrap().job, cost));
                }
                Op::Poll => {
                    let before = backlogged(&gate);
                    if let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(at(0)) {
                        let both = before.iter().zip(backlogged(&gate)).map(|(&before, after)| before && after);
                        let place = waiting.iter().position(|&(id, _)| id == job).unwrap();
                        let (_, cost) = waiting.swap_remove(place);
                        let tenant = usize::try_from(tenant.0).unwrap();
                        services.push(Service { tenant, cost, backlogged: both.collect() });
                        running.push(job);
                    }
                }
                Op::Complete(which) if !running.is_empty() => {
                    let job = running.swap_remove(which % running.len());
                    gate.complete(at(0), job, Completion::DONE).unwrap();
                }
                Op::Cancel(which) if !waiting.is_empty() => {
                    let (job, _) = waiting.swap_remove(which % waiting.len());
                    let _queued = gate.cancel(at(0), job).unwrap();
                    // Whoever is left without work has not had work throughout.
                    services.push(Service { tenant: 0, cost: 0, backlogged: backlogged(&gate) });
                }
                Op::Complete(_) | Op::Cancel(_) => {}
            }
        }
        prop_assert_eq!(unfair_interval(&shares, quantum, &services), None);
    }

    /// In any state: each further job of a tenant is told of at least as many ahead and as long a wait.
    #[test]
    fn positions_and_waits_never_fall_along_a_queue(
        rules in ops::rules(Kind::Busy),
        limit in ops::limit(Scale::Small),
        run in ops::run(Scale::Busy, 50),
        job in ops::job(Scale::Small),
    ) {
        let mut pair = Pair::<Heap>::new(rules, limit);
        pair.run(&run)?;
        let before = pair.log.len();
        for _ in 0..8 {
            pair.submit(&job)?;
        }
        let told = pair.log[before..].iter().filter_map(|(_, told)| *told);
        let told: Vec<_> = told.map(|told| (told.position, told.wait)).collect();
        prop_assert!(told.is_sorted(), "{told:?}");
    }
}
