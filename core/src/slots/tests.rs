use std::vec::Vec;

use super::*;

#[test]
fn a_stale_id_is_refused_even_when_its_place_is_taken_again() {
    let mut slots: Slots<u32, Heap> = Slots::new(1).unwrap();
    let first = slots.insert(1).unwrap();
    assert_eq!(slots.remove(first), Ok(1));
    assert_eq!(slots.remove(first), Err(Stale));
    let second = slots.insert(2).unwrap();
    assert_ne!(first, second);
    assert_eq!(slots.get(first), None);
    assert_eq!(slots.get_mut(first), None);
    assert_eq!(slots.remove(first), Err(Stale));
    assert_eq!(slots.get(second), Some(&2));
    slots.check_invariants();
}

#[test]
fn a_full_table_hands_the_value_back_and_frees_a_place_at_once_on_removal() {
    let mut slots: Slots<u32, Inline<2>> = Slots::new(2).unwrap();
    let a = slots.insert(1).unwrap();
    slots.insert(2).unwrap();
    assert_eq!(slots.insert(3), Err(3));
    slots.remove(a).unwrap();
    assert!(slots.insert(3).is_ok());
    assert_eq!(slots.len(), 2);
    slots.check_invariants();
}

#[test]
fn a_capacity_beyond_the_storage_is_a_config_error() {
    assert!(Slots::<u8, Inline<4>>::new(5).is_err());
    assert!(Slots::<u8, Inline<4>>::new(4).is_ok());
    assert!(Slots::<u64, Heap>::new(u32::MAX).is_err());
    let error = Slots::<u8, Inline<4>>::new(5).unwrap_err();
    assert_eq!(error.violations()[0].field, "capacity");
}

#[test]
fn the_index_that_means_none_is_no_place_in_any_storage() {
    assert!(Heap::buffer::<()>(NIL - 1).is_ok());
    assert!(Heap::buffer::<()>(NIL).is_err());
    assert!(Inline::<{ usize::MAX }>::buffer::<()>(NIL - 1).is_ok());
    assert!(Inline::<{ usize::MAX }>::buffer::<()>(NIL).is_err());
}

#[test]
fn a_cleared_buffer_holds_nothing_and_takes_as_much_as_before() {
    fn filled_and_cleared<S: Storage>() {
        let mut buffer = S::buffer::<u8>(2).unwrap();
        for _ in 0..2 {
            assert_eq!((buffer.push(1), buffer.push(2), buffer.push(3)), (Ok(()), Ok(()), Err(3)));
            Buffer::clear(&mut buffer);
            assert!(buffer.as_ref().is_empty());
        }
    }
    filled_and_cleared::<Heap>();
    filled_and_cleared::<Inline<2>>();
}

#[test]
fn wherever_a_table_counts_from_it_has_numbers_left() {
    let mut slots: Slots<u32, Heap> = Slots::new(1).unwrap().counting_from(u64::MAX);
    let ids: Vec<SlotId> = (0..3)
        .map(|value| {
            let id = slots.insert(value).unwrap();
            slots.remove(id).unwrap();
            id
        })
        .collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
}

#[test]
fn a_waiter_of_the_semaphore_takes_32_bytes_as_its_docs_say() {
    assert_eq!(size_of::<Entry<u64>>(), 32);
}

#[test]
fn a_zero_capacity_table_is_always_full() {
    let mut slots: Slots<u8, Heap> = Slots::new(0).unwrap();
    assert_eq!(slots.insert(1), Err(1));
}

#[test]
fn a_chain_keeps_order_through_removals_anywhere() {
    let mut slots: Slots<u32, Heap> = Slots::new(5).unwrap();
    let mut chain = Chain::EMPTY;
    let ids: Vec<SlotId> = (0..5).map(|i| slots.insert(i).unwrap()).collect();
    for id in &ids {
        chain.push_back(&mut slots, id.index());
    }
    for gone in [2, 0, 4] {
        chain.remove(&mut slots, ids[gone].index());
    }
    assert_eq!(chain.len(), 2);
    let mut order = Vec::new();
    let mut at = chain.head();
    while at != NIL {
        order.push(*slots.get(slots.id_at(at).unwrap()).unwrap());
        at = Chain::next(&mut slots, at);
    }
    assert_eq!(order, [1, 3]);
}
