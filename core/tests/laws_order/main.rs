//! The laws of [`Admission`] and [`SharedAdmission`]: against the same limits asked one by one, and under threads.
#![cfg(all(feature = "std", not(tollgate_loom)))]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod history;
mod one_by_one;
mod threads;
mod world;

use common::cases;
use proptest::prelude::*;
use world::{World, run};

proptest! {
    #![proptest_config(cases(600))]

    /// I1 and I2; report 10 of the list: the refusal of the k-th limit leaves limits 1 to k − 1 as they were, bit for bit.
    #[test]
    fn it_decides_what_its_limits_decide_one_by_one_and_a_refusal_changes_nothing(run in run(60)) {
        World::new().run(run)?;
    }
}
