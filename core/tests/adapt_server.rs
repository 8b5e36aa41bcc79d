//! The default presets in front of a simulated server: no limiter may do worse than none, and each must be of use.
//!
//! The server has `slots` and a FIFO queue; arrivals are Poisson; a completion is good if it ends within ten mean
//! service times of its arrival. In overload, without a limit, the queue grows until nothing is good.

#[path = "adapt_server/server.rs"]
mod server;

use server::{Plan, Service, Unlimited, estimators, run};

fn overloads() -> Vec<(&'static str, Plan)> {
    let base = Plan::default();
    let mut plans = Vec::new();
    for (name, service) in
        [("exponential", Service::Exponential), ("constant", Service::Constant), ("pareto", Service::Pareto)]
    {
        for slots in [1, 4, 32] {
            for load in [1.2, 2.0] {
                plans.push((name, Plan { service, slots, load, ..base }));
            }
        }
    }
    plans
}

#[test]
fn goodput_in_overload_never_falls_below_that_of_no_limit() {
    for (name, plan) in overloads() {
        let unlimited = run(&plan, &mut Unlimited).goodput;
        for (estimator, mut limiter) in estimators() {
            let outcome = run(&plan, limiter.as_mut());
            println!(
                "{name} c{} x{}: none {unlimited:.3}, {estimator} {:.3} (limit {:.1}, refused {:.2})",
                plan.slots, plan.load, outcome.goodput, outcome.mean_limit, outcome.refused
            );
            // AIMD sees no drop here and so does not limit: it may only tie, within its warm-up.
            assert!(outcome.goodput >= unlimited - 0.02, "{estimator} on {plan:?}: {outcome:?}");
        }
    }
}

/// Runs a plan behind every default preset and without a limit.
fn compare(name: &str, plan: Plan) -> Vec<(&'static str, f64, f64, server::Outcomes)> {
    let unlimited = run(&plan, &mut Unlimited).goodput;
    let mut results = Vec::new();
    for (estimator, mut limiter) in estimators() {
        let outcome = run(&plan, limiter.as_mut());
        println!("{name}: none {unlimited:.3}, {estimator} {outcome:?}");
        results.push((estimator, unlimited, outcome.goodput, outcome));
    }
    results
}

#[test]
fn the_delay_based_ones_keep_most_of_a_server_busy_in_overload() {
    for (name, plan) in overloads() {
        // One slot at 1.2 bears a limit of 7 at most; there the noise of a few requests decides.
        let least = if plan.slots == 1 { 0.4 } else { 0.8 };
        for (estimator, _, goodput, outcome) in compare(name, plan) {
            assert!(estimator == "aimd" || goodput >= least, "{estimator} on {plan:?}: {outcome:?}");
        }
    }
}

#[test]
fn a_service_that_became_slower_for_good_is_learnt_again() {
    let plan = Plan { load: 0.5, slower: 3.0, ..Plan::default() };
    for (estimator, unlimited, goodput, outcome) in compare("slower for good", plan) {
        assert!(goodput >= unlimited - 0.02, "{estimator}: {outcome:?}");
        assert!(outcome.late_limit >= 20.0, "{estimator}: {outcome:?}");
    }
}

#[test]
fn a_server_that_refuses_above_a_limit_is_found_by_its_drops() {
    let plan = Plan { refuse_above: 48, ..Plan::default() };
    for (estimator, unlimited, goodput, outcome) in compare("refuses above 48", plan) {
        assert!(goodput >= 0.85 * unlimited, "{estimator}: {outcome:?}");
        assert!(outcome.late_limit < 75.0, "{estimator}: {outcome:?}");
    }
}

#[test]
fn fast_failures_that_have_nothing_to_do_with_load_do_not_close_the_limiter() {
    for fail in [0.05, 0.3] {
        let plan = Plan { fail, load: 1.5, ..Plan::default() };
        for (estimator, unlimited, goodput, outcome) in compare("fails at random", plan) {
            assert!(goodput >= unlimited - 0.02, "{estimator} at {fail}: {outcome:?}");
        }
    }
}
