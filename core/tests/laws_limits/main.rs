//! The laws of [`Limits`](tollgate::rate::Limits) and its sessions, against lists that forget nobody.
#![cfg(all(feature = "std", not(tollgate_loom)))]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod kept;
mod pair;

use common::cases;
use pair::Pair;
use proptest::prelude::*;
use tollgate_model::ops::limits as ops;

proptest! {
    #![proptest_config(cases(1_500))]

    /// I1 to I4, whatever happens: rules that begin, end and are replaced, tiers that change with grace, sessions that end
    /// in every way, a clock that steps back. Nobody has to be forgotten.
    #[test]
    fn every_answer_is_that_of_lists_that_are_counted_anew(
        first in ops::rules(),
        grace in prop_oneof![Just(0_u64), 1..40_u64],
        run in ops::run(60),
    ) {
        let mut pair = Pair::new(first, grace, 16);
        pair.run(run)?;
    }

    /// With room for a few owners only: nobody notices that others, or itself, were forgotten.
    #[test]
    fn forgetting_forgives_nothing_and_is_refused_only_where_all_must_be_kept(
        first in ops::rules(),
        accounts in 1..4_u32,
        run in ops::run(60),
    ) {
        let mut pair = Pair::new(first, 0, accounts);
        pair.run(run)?;
    }
}
