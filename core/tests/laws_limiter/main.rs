//! The laws of [`Limiter`](tollgate::adapt::Limiter), [`Partitions`](tollgate::adapt::Partitions) and
//! [`Burst`](tollgate::adapt::Burst), against lists.
#![cfg(all(feature = "alloc", not(tollgate_loom)))]

mod admission;
mod burst;
#[path = "../common/mod.rs"]
mod common;
mod learns;
mod pair;
mod partitions;
mod quotas;
mod translate;

use common::cases;
use learns::{Real, Script, Subject};
use pair::Pair;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::slots::{Heap, Inline, Storage};
use tollgate_model::limiter::Rules;
use tollgate_model::ops::Step;
use tollgate_model::ops::limiter::{self as ops, LimiterOp, Scale};
use tollgate_model::partitions::Share;

/// Runs on a limiter and its oracle, and on until nothing is in flight.
fn agree<E: Subject, S: Storage>(
    rules: Rules,
    shares: &[Share],
    seed: u32,
    run: &[(Step, LimiterOp)],
) -> TestCaseResult {
    let mut pair = Pair::<E, S>::new(rules, shares, seed);
    pair.run(run)?;
    pair.drain()
}

proptest! {
    #![proptest_config(cases(400))]

    /// I1 to I3: in every mode, with shares that change and go, limits that move at each sample, tickets of others.
    #[test]
    fn every_answer_and_every_statistic_is_that_of_naive_lists(
        rules in ops::rules(Scale::Small, true),
        shares in ops::shares(),
        seed in 0..=24_u32,
        run in ops::limiter(Scale::Small, 80),
    ) {
        agree::<Script, Heap>(rules, &shares, seed, &run)?;
    }

    #[test]
    fn the_ends_of_every_type_are_numbers_like_any_other(
        rules in ops::rules(Scale::Extreme, true),
        shares in ops::shares(),
        seed in ops::permits(Scale::Extreme, 24),
        run in ops::limiter(Scale::Extreme, 50),
    ) {
        agree::<Script, Inline<4>>(rules, &shares, seed, &run)?;
    }

    #[test]
    fn the_same_around_estimators_that_learn(
        rules in ops::rules(Scale::Small, true),
        shares in ops::shares(),
        seed in 0..=5_u32,
        run in ops::limiter(Scale::Small, 80),
    ) {
        agree::<Real, Heap>(rules, &shares, seed, &run)?;
    }
}
