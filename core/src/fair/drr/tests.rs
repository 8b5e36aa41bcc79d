use std::string::String;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::slots::{Heap, Inline};

fn id(index: u32) -> TenantId {
    TenantId::new(index)
}

/// Tenants with endless queues of equal jobs: costs[i] each.
fn endless(quantum: u64, weights: &[u32], costs: &[u64]) -> Drr<Heap> {
    let mut drr = Drr::new(weights.len() as u32, quantum).unwrap();
    for (i, (&weight, &cost)) in weights.iter().zip(costs).enumerate() {
        drr.set_weight(id(i as u32), weight).unwrap();
        drr.set_head(id(i as u32), Some(cost)).unwrap();
    }
    drr
}

/// Serves `picks` jobs of [`endless`] tenants; answers cost served by tenant and the order as letters.
fn run(drr: &mut Drr<Heap>, costs: &[u64], picks: usize) -> (Vec<u128>, String) {
    let mut served = vec![0; costs.len()];
    let mut order = String::new();
    for _ in 0..picks {
        let tenant = drr.pick().unwrap().index();
        served[tenant] += u128::from(costs[tenant]);
        order.push(char::from(b'A' + tenant as u8));
        drr.serve(Some(costs[tenant])).unwrap();
        drr.check_invariants();
    }
    (served, order)
}

#[test]
fn the_worked_example_of_the_seed_gives_bb_bb_abb_and_leaves_a_credit_of_one() {
    // Quantum 2 for each unit of weight: A has quantum 2 and cost 5, B quantum 4 and cost 2.
    let costs = [5, 2];
    let mut drr = endless(2, &[1, 2], &costs);
    assert_eq!(run(&mut drr, &costs, 2).1, "BB", "round 1");
    assert_eq!(run(&mut drr, &costs, 2).1, "BB", "round 2");
    assert_eq!(run(&mut drr, &costs, 1).1, "A", "round 3");
    assert_eq!(drr.credit(id(0)), Some(1));
    assert_eq!(run(&mut drr, &costs, 2).1, "BB", "round 3");
}

#[test]
fn weights_one_to_two_get_one_to_two_in_cost_without_any_cap_on_credit() {
    // The seed's cap of the largest cost gives 1.50 here; picking one job a visit gives 1.00.
    let costs = [5, 5];
    let mut drr = endless(2, &[1, 2], &costs);
    let (served, _) = run(&mut drr, &costs, 3_000);
    let ratio = served[1] as f64 / served[0] as f64;
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
}

#[test]
fn tenants_of_equal_weight_get_equal_cost_however_their_jobs_differ() {
    // Reports 40 (firq-core served 5.5 times by cost) and 41 (throttle-net's queue 10 times).
    let costs = [1, 10];
    let mut drr = endless(10, &[1, 1], &costs);
    let (served, _) = run(&mut drr, &costs, 5_500);
    assert!(served[0].abs_diff(served[1]) <= 10 + 1 + 10, "{served:?}");
}

#[test]
fn it_never_reports_nothing_while_there_is_work() {
    // Report 40: a cost-50 task at quantum 1 was reported `Empty` fifty times.
    let mut drr = endless(1, &[1], &[50]);
    assert_eq!(drr.pick(), Some(id(0)));
}

#[test]
fn the_largest_cost_at_the_smallest_quantum_is_one_step() {
    let costs = [u64::MAX, u64::MAX, 1];
    let mut drr = endless(1, &[1, u32::MAX, 1], &costs);
    let (served, order) = run(&mut drr, &costs, 5);
    assert_eq!(order, "CCCCC", "the small one is due in each round");
    assert_eq!(served[0], 0);
    drr.set_head(id(2), None).unwrap();
    let (served, _) = run(&mut drr, &costs, 1_000);
    assert!(served[1] / u128::from(u32::MAX) <= served[0] + 2 * u128::from(u64::MAX));
    for _ in 0..200 {
        drr.pick().unwrap();
        drr.serve(Some(u64::MAX)).unwrap();
    }
    drr.check_invariants();
}

#[test]
fn a_caller_that_is_blocked_gets_the_same_answer_and_hoards_no_credit() {
    let costs = [3, 3];
    let mut drr = endless(3, &[1, 1], &costs);
    let first = drr.pick();
    for _ in 0..100 {
        assert_eq!(drr.pick(), first);
    }
    drr.serve(Some(3)).unwrap();
    assert_ne!(drr.pick(), first, "one quantum, one job, whatever the number of picks");
}

#[test]
fn an_idle_tenant_keeps_no_credit() {
    // firq-core; the on/off suites of VTC.
    let mut drr = endless(10, &[1, 1], &[1, 10]);
    assert_eq!(drr.pick(), Some(id(0)));
    drr.serve(None).unwrap();
    assert_eq!(drr.credit(id(0)), Some(0), "9 left, forfeited");
    for _ in 0..50 {
        drr.pick().unwrap();
        drr.serve(Some(10)).unwrap();
    }
    drr.set_head(id(0), Some(11)).unwrap();
    assert_eq!(drr.credit(id(0)), Some(0));
}

#[test]
fn leaving_and_coming_back_gains_no_turn() {
    let mut drr = endless(4, &[1, 1, 1], &[4, 4, 4]);
    let mut served = [0_u32; 3];
    for _ in 0..300 {
        let tenant = drr.pick().unwrap();
        served[tenant.index()] += 1;
        if tenant == id(0) {
            drr.serve(None).unwrap();
            drr.set_head(tenant, Some(4)).unwrap();
        } else {
            drr.serve(Some(4)).unwrap();
        }
        drr.check_invariants();
    }
    assert_eq!(served, [100, 100, 100]);
}

#[test]
fn a_newcomer_waits_for_one_visit_of_each_other_at_most() {
    let mut drr = Drr::<Heap>::new(4, 4).unwrap();
    for tenant in 0..3 {
        drr.set_head(id(tenant), Some(4)).unwrap();
    }
    drr.pick().unwrap();
    drr.serve(Some(4)).unwrap();
    drr.set_head(id(3), Some(4)).unwrap();
    let order: Vec<_> = (0..4)
        .map(|_| {
            let tenant = drr.pick().unwrap();
            drr.serve(Some(4)).unwrap();
            tenant.index()
        })
        .collect();
    assert_eq!(order, [1, 2, 3, 0]);
}

#[test]
fn debt_is_repaid_by_the_turns_that_pass_also_while_the_tenant_is_idle() {
    let mut drr = endless(10, &[1, 1], &[10, 10]);
    drr.charge(id(0), 30).unwrap();
    assert_eq!(drr.credit(id(0)), Some(-30));
    let costs = [10, 10];
    assert_eq!(run(&mut drr, &costs, 5).1, "BBBAB", "three turns repay it");

    drr.set_head(id(0), None).unwrap();
    drr.charge(id(0), 25).unwrap();
    assert_eq!(run(&mut drr, &costs, 3).1, "BBB");
    drr.set_head(id(0), Some(10)).unwrap();
    assert!(drr.credit(id(0)).unwrap() >= -5, "{:?}", drr.credit(id(0)));
    assert_eq!(drr.credit(id(1)), Some(0));
}

#[test]
fn visits_that_passed_before_a_debt_or_at_another_weight_do_not_repay_it() {
    let costs = [10, 10];
    let mut drr = endless(10, &[1, 1], &costs);
    drr.set_head(id(0), None).unwrap();
    run(&mut drr, &costs, 20);
    drr.charge(id(0), 100).unwrap();
    assert_eq!(drr.debt(id(0)), Some(100), "twenty rounds without it were before that");
    run(&mut drr, &costs, 4);
    assert_eq!(drr.debt(id(0)), Some(60));
    drr.set_weight(id(0), 3).unwrap();
    assert_eq!(drr.debt(id(0)), Some(60));
    run(&mut drr, &costs, 1);
    assert_eq!(drr.debt(id(0)), Some(30));
    drr.check_invariants();
}

#[test]
fn a_tenant_that_goes_idle_in_debt_still_owes_it_when_it_returns() {
    let costs = [10, 10];
    let mut drr = endless(10, &[1, 1], &costs);
    assert_eq!(drr.pick(), Some(id(0)));
    drr.charge(id(0), 40).unwrap();
    drr.set_head(id(0), None).unwrap();
    assert_eq!(drr.credit(id(0)), Some(-30));
    drr.set_head(id(0), Some(10)).unwrap();
    assert_eq!(run(&mut drr, &costs, 6).1, "BBBBAB", "four visits make 10 of it");
}

#[test]
fn a_paused_tenant_keeps_its_credit_and_gets_an_unspent_visit_back() {
    let costs = [10, 10];
    let mut drr = endless(10, &[1, 1], &costs);
    assert_eq!(drr.pick(), Some(id(0)));
    drr.serve_then_pause().unwrap();
    drr.refund(id(0), 10).unwrap();
    drr.check_invariants();
    assert_eq!((drr.is_active(id(0)), drr.credit(id(0))), (false, Some(0)), "the visit was not spent");
    assert_eq!(drr.pick(), Some(id(1)));
    drr.serve_then_pause().unwrap();
    assert!(drr.is_empty() && !drr.is_settled(id(0)));
    for tenant in [1, 0] {
        drr.set_head(id(tenant), Some(10)).unwrap();
    }
    drr.check_invariants();
    assert_eq!(run(&mut drr, &costs, 3).1, "ABA", "1 was visited in this round, 0 was not");
    drr.pause(id(1)).unwrap();
    drr.charge(id(1), 25).unwrap();
    assert_eq!(run(&mut drr, &costs, 2).1, "AA");
    assert_eq!(drr.credit(id(1)), Some(-15), "a round that passed repays debt, and credits nothing");
    run(&mut drr, &costs, 20);
    assert_eq!(drr.credit(id(1)), Some(0));
    drr.set_head(id(1), None).unwrap();
    drr.check_invariants();
}

#[test]
fn a_refund_makes_up_for_work_that_was_thrown_away() {
    // EnergyMe-Home#149: discarded work drove the deficit down and starved its tenant.
    let mut drr = endless(10, &[1, 1], &[10, 10]);
    assert_eq!(drr.pick(), Some(id(0)));
    drr.serve(Some(10)).unwrap();
    drr.refund(id(0), 10).unwrap();
    assert_eq!(drr.credit(id(0)), Some(10));
    let costs = [10, 10];
    assert_eq!(run(&mut drr, &costs, 3).1, "BAA");
    drr.set_head(id(0), None).unwrap();
    drr.refund(id(0), 1_000).unwrap();
    assert_eq!(drr.credit(id(0)), Some(0), "an idle tenant keeps no credit");
}

#[test]
fn a_head_that_is_cancelled_or_grows_during_its_turn_is_judged_anew() {
    let mut drr = endless(10, &[1, 1], &[10, 10]);
    assert_eq!(drr.pick(), Some(id(0)));
    drr.set_head(id(0), Some(11)).unwrap();
    assert_eq!(drr.pick(), Some(id(1)), "11 is not covered by 10");
    drr.set_head(id(1), None).unwrap();
    assert_eq!(drr.pick(), Some(id(0)));
    drr.set_head(id(0), None).unwrap();
    assert_eq!(drr.pick(), None);
    assert_eq!(drr.serve(None), Err(FairError::NoTurn));
    drr.check_invariants();
}

#[test]
fn a_waiting_head_that_becomes_cheaper_is_served_at_the_next_visit_in_order() {
    let mut drr = endless(2, &[1, 1, 1], &[1_000, 2, 2]);
    drr.pick().unwrap();
    drr.serve(Some(2)).unwrap();
    drr.set_head(id(0), Some(1)).unwrap();
    let costs = [1, 2, 2];
    assert_eq!(run(&mut drr, &costs, 6).1, "CAAAAB", "A has the quanta of two visits");
}

#[test]
fn a_changed_weight_counts_from_the_next_visit() {
    let costs = [1, 1];
    let mut drr = endless(1, &[1, 1], &costs);
    assert_eq!(run(&mut drr, &costs, 2).1, "AB");
    drr.set_weight(id(1), 3).unwrap();
    assert_eq!(run(&mut drr, &costs, 8).1, "ABBBABBB");
    drr.set_weight(id(1), 1).unwrap();
    assert_eq!(run(&mut drr, &costs, 4).1, "ABAB");
    assert_eq!(drr.weight(id(1)), Some(1));
}

#[test]
fn removing_and_adding_an_active_tenant_again_keeps_one_of_it() {
    // Linux "drr: fix double list add", bess#772, kubernetes#140885.
    let mut drr = endless(4, &[1, 1], &[4, 4]);
    for _ in 0..10 {
        drr.set_head(id(0), None).unwrap();
        drr.set_head(id(0), Some(4)).unwrap();
        drr.set_head(id(0), Some(4)).unwrap();
        drr.check_invariants();
    }
    let costs = [4, 4];
    assert_eq!(run(&mut drr, &costs, 4).0, [8, 8]);
}

#[test]
fn what_it_cannot_do_is_refused_with_the_reason() {
    let mut drr = Drr::<Inline<2>>::new(2, 1).unwrap();
    let unknown = FairError::UnknownTenant { tenant: id(2), capacity: 2 };
    assert_eq!(drr.set_head(id(2), Some(1)), Err(unknown));
    assert!(drr.charge(id(9), 1).is_err());
    assert_eq!(drr.set_weight(id(1), 0), Err(FairError::ZeroWeight { tenant: id(1) }));
    assert_eq!(drr.pick(), None);
    assert!(Drr::<Inline<2>>::new(3, 1).is_err());
    assert_eq!(Drr::<Inline<2>>::new(2, 0).unwrap_err().violations()[0].field, "quantum");
}

#[test]
fn a_free_job_is_served_without_credit() {
    let costs = [0, 5];
    let mut drr = endless(5, &[1, 1], &costs);
    assert_eq!(drr.pick(), Some(id(0)));
    drr.serve(None).unwrap();
    assert_eq!(drr.pick(), Some(id(1)));
}
