//! The laws of [`Gate`](tollgate::gate::Gate), against lists of jobs and tenants.
#![cfg(all(feature = "alloc", not(tollgate_loom)))]

mod agree;
#[path = "../common/mod.rs"]
mod common;
mod fair;
mod pair;
mod polled;
mod translate;

use std::sync::Arc;

use common::cases;
use pair::Pair;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::gate::{Budget, Permits};
use tollgate::permit::AtomicPermits;
use tollgate::slots::{Heap, Inline, Storage};
use tollgate_model::gate::Rules;
use tollgate_model::ops::Step;
use tollgate_model::ops::gate::{self as ops, GateOp, Kind, Scale};
use translate::Limited;

type Run = Vec<(Step, GateOp)>;

/// Runs on a gate and its oracle, and on until nothing is left.
fn agree<S: Storage, C: Limited>(rules: Rules, limit: u64, run: &Run) -> TestCaseResult {
    let mut pair = Pair::<S, C>::new(rules, limit);
    pair.run(run)?;
    pair.drain()
}

proptest! {
    #![proptest_config(cases(512))]

    /// I1 to I7, under both orders, strict and with backfill, with tables of one to four tenants for six.
    #[test]
    fn every_decision_is_that_of_naive_lists_and_every_job_ends_exactly_once(
        rules in ops::rules(Kind::Any),
        limit in ops::limit(Scale::Small),
        run in ops::run(Scale::Small, 100),
    ) {
        agree::<Heap, Budget>(rules, limit, &run)?;
    }

    /// Long queues and mostly backfill: who passes whom, how often, and on whose account.
    #[test]
    fn a_gate_under_load_starts_whose_turn_it_is_or_one_that_may_pass_it(
        rules in ops::rules(Kind::Busy),
        limit in ops::limit(Scale::Busy),
        run in ops::run(Scale::Busy, 90),
    ) {
        agree::<Heap, Budget>(rules, limit, &run)?;
    }

    #[test]
    fn newest_first_starts_only_what_is_next_and_fits(
        rules in ops::rules(Kind::NewestFirst),
        limit in ops::limit(Scale::Small),
        run in ops::run(Scale::Small, 70),
    ) {
        agree::<Heap, Budget>(rules, limit, &run)?;
    }

    #[test]
    fn the_ends_of_every_type_are_numbers_like_any_other(
        rules in ops::rules(Kind::Any),
        limit in ops::limit(Scale::Extreme),
        run in ops::run(Scale::Extreme, 60),
    ) {
        agree::<Inline<16>, Budget>(rules, limit, &run)?;
    }

    #[test]
    fn permits_that_could_be_shared_are_a_budget_like_any_other(
        rules in ops::rules(Kind::Any),
        limit in ops::limit(Scale::Small),
        run in ops::run(Scale::Small, 60),
    ) {
        agree::<Inline<16>, Permits<Arc<AtomicPermits>>>(rules, limit, &run)?;
    }

    /// Whatever is asked in between; the answers are those of a gate that is polled no more than it has to be.
    #[test]
    fn the_same_operations_give_the_same_answers_however_often_it_is_polled(
        rules in prop_oneof![ops::rules(Kind::Busy), ops::rules(Kind::Any), ops::rules(Kind::NewestFirst)],
        limit in ops::limit(Scale::Small),
        run in ops::run(Scale::Small, 50),
    ) {
        let (mut once, mut often) = (Pair::<Heap>::new(rules, limit), Pair::<Heap>::new(rules, limit));
        (once.spurious, often.spurious) = (0, 3);
        once.run(&run)?;
        often.run(&run)?;
        prop_assert_eq!(&once.log, &often.log);
        prop_assert_eq!(&once.started, &often.started);
        prop_assert_eq!(&once.jobs, &often.jobs);
    }
}
