//! The laws of [`Slots`], against a list whose names are never used twice.
#![cfg(feature = "alloc")]

mod common;

use common::cases;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::Stale;
use tollgate::slots::{Heap, Inline, SlotId, Slots, Storage};
use tollgate_model::ops::{self, TableOp};
use tollgate_model::slots::Table;

fn play<S: Storage>(capacity: u32, run: &[TableOp]) -> TestCaseResult {
    let mut slots: Slots<u32, S> = Slots::new(capacity).unwrap();
    let mut table = Table::new(capacity as usize);
    // Every id there ever was, with its name.
    let mut ids: Vec<(SlotId, u64)> = vec![];
    for &op in run {
        match op {
            TableOp::Insert(value) => match (slots.insert(value), table.insert(value)) {
                (Ok(id), Some(name)) => {
                    prop_assert!(!ids.iter().any(|(used, _)| *used == id), "an id came again");
                    ids.push((id, name));
                }
                (Err(back), None) => prop_assert_eq!(back, value),
                (got, expected) => prop_assert!(false, "{got:?} for {expected:?}"),
            },
            TableOp::Remove(which) if !ids.is_empty() => {
                let (id, name) = ids[which % ids.len()];
                prop_assert_eq!(slots.remove(id).ok(), table.remove(name));
                prop_assert!(slots.remove(id).is_err());
            }
            TableOp::Get(which) if !ids.is_empty() => {
                let (id, name) = ids[which % ids.len()];
                prop_assert_eq!(slots.get(id), table.get(name));
            }
            TableOp::Change(which, value) if !ids.is_empty() => {
                let (id, name) = ids[which % ids.len()];
                let changed = slots.get_mut(id).map(|old| *old = value).is_some();
                prop_assert_eq!(changed, table.set(name, value));
            }
            _ => {}
        }
        slots.check_invariants();
        prop_assert_eq!(slots.len() as usize, table.len());
        prop_assert_eq!(slots.iter().count(), table.len());
        prop_assert!(slots.iter().all(|(id, value)| slots.get(id) == Some(value)));
        prop_assert_eq!(slots.is_empty(), table.is_empty());
    }
    for (id, name) in ids {
        prop_assert_eq!(slots.get(id), table.get(name));
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn an_id_names_what_it_was_given_for_and_never_anything_else(
        capacity in 0..=6_u32,
        run in ops::table(80),
    ) {
        play::<Heap>(capacity, &run)?;
        play::<Inline<6>>(capacity, &run)?;
    }
}

#[test]
fn an_id_of_another_table_is_stale_or_names_that_insertion_of_this_one() {
    let mut ours: Slots<u8, Inline<2>> = Slots::new(2).unwrap();
    let mut theirs: Slots<u8, Inline<2>> = Slots::new(2).unwrap();
    theirs.insert(1).unwrap();
    let second = theirs.insert(2).unwrap();
    assert!(ours.remove(second).is_err());
    ours.insert(3).unwrap();
    assert!(ours.get(second).is_none());
    let _stale: Stale = ours.remove(second).unwrap_err();
}
