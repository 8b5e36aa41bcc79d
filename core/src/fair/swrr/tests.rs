use std::vec::Vec;

use super::*;
use crate::slots::{Heap, Inline};

fn id(index: u32) -> TenantId {
    TenantId::new(index)
}

fn members(weights: &[u32]) -> Swrr<Heap> {
    let mut swrr = Swrr::new(weights.len() as u32).unwrap();
    for (i, &weight) in weights.iter().enumerate() {
        swrr.set_weight(id(i as u32), weight).unwrap();
        swrr.join(id(i as u32)).unwrap();
    }
    swrr
}

fn picks(swrr: &mut Swrr<Heap>, n: usize) -> Vec<usize> {
    let picked = (0..n).map(|_| swrr.pick().unwrap().index()).collect();
    swrr.check_invariants();
    picked
}

#[test]
fn five_one_one_is_a_a_b_a_c_a_a_and_the_state_returns_to_zero() {
    let mut swrr = members(&[5, 1, 1]);
    let expected = [
        (0, [-2, 1, 1]),
        (0, [-4, 2, 2]),
        (1, [1, -4, 3]),
        (0, [-1, -3, 4]),
        (2, [4, -2, -2]),
        (0, [2, -1, -1]),
        (0, [0, 0, 0]),
    ];
    for (winner, numbers) in expected {
        assert_eq!(swrr.pick(), Some(id(winner)));
        let now: Vec<_> = (0..3).map(|i| swrr.number(id(i)).unwrap()).collect();
        assert_eq!(now, numbers);
    }
}

#[test]
fn a_tenant_that_is_not_ready_stands_still_and_gains_nothing() {
    let mut swrr = members(&[1, 1, 1]);
    for _ in 0..100 {
        assert_ne!(swrr.pick_ready(|tenant| tenant != id(1)), Some(id(1)));
    }
    let order = picks(&mut swrr, 6);
    assert_eq!(order.iter().filter(|&&winner| winner == 1).count(), 2, "{order:?}");
    assert_eq!(swrr.pick_ready(|_| false), None);
}

#[test]
fn a_newcomer_gets_no_flood_of_turns() {
    // apache/dubbo#15762.
    let mut swrr = members(&[3, 2, 7, 1]);
    swrr.leave(id(3)).unwrap();
    picks(&mut swrr, 1_000);
    swrr.join(id(3)).unwrap();
    let order = picks(&mut swrr, 13);
    assert!(order.iter().filter(|&&winner| winner == 3).count() <= 2, "{order:?}");
}

#[test]
fn leaving_after_each_turn_gains_nothing() {
    let mut swrr = members(&[1, 1, 1]);
    let mut turns = [0_u32; 3];
    for _ in 0..300 {
        let winner = swrr.pick().unwrap();
        turns[winner.index()] += 1;
        if winner == id(0) {
            swrr.leave(winner).unwrap();
            swrr.join(winner).unwrap();
        }
        swrr.check_invariants();
    }
    assert!(turns[0] <= 101, "{turns:?}");
}

#[test]
fn who_joins_starts_at_the_mean_of_the_others_not_at_zero() {
    let mut swrr = members(&[1, 1, 1, 1]);
    assert_eq!(swrr.pick(), Some(id(0)));
    swrr.leave(id(1)).unwrap();
    swrr.join(id(1)).unwrap();
    assert_eq!(swrr.number(id(1)), Some(-1), "the others have -3, 1 and 1");
}

#[test]
fn debt_fades_with_the_turns_a_tenant_misses() {
    let mut swrr = members(&[1, 1, 1, 1]);
    assert_eq!(swrr.pick(), Some(id(0)));
    swrr.leave(id(0)).unwrap();
    picks(&mut swrr, 2);
    swrr.join(id(0)).unwrap();
    assert_eq!(swrr.number(id(0)), Some(-1), "four behind the mean of one, less the two picks it missed");
    swrr.leave(id(0)).unwrap();
    picks(&mut swrr, 30);
    swrr.join(id(0)).unwrap();
    assert_eq!(swrr.number(id(0)), Some(1), "at the mean of the others");
    let order = picks(&mut swrr, 4);
    assert!(order.contains(&0), "{order:?}");
}

#[test]
fn a_changed_weight_keeps_the_place_in_the_order() {
    let mut swrr = members(&[1, 1]);
    let mut turns = [0_u32; 2];
    for round in 0..400 {
        swrr.set_weight(id(0), 1 + round % 3).unwrap();
        assert_eq!(swrr.weight(id(0)), Some(1 + round % 3));
        turns[swrr.pick().unwrap().index()] += 1;
    }
    let share = f64::from(turns[0]) / 400.0;
    assert!((0.55..0.72).contains(&share), "{turns:?}: between the shares of weights 1, 2 and 3");
}

#[test]
fn joining_and_leaving_twice_is_once() {
    let mut swrr = members(&[1, 1]);
    swrr.join(id(0)).unwrap();
    swrr.leave(id(1)).unwrap();
    swrr.leave(id(1)).unwrap();
    swrr.check_invariants();
    assert!(swrr.is_member(id(0)) && !swrr.is_member(id(1)));
    assert_eq!(picks(&mut swrr, 3), [0, 0, 0]);
    swrr.leave(id(0)).unwrap();
    assert_eq!(swrr.pick(), None);
}

#[test]
fn a_paused_tenant_stands_still_and_a_turn_given_back_never_was() {
    let mut swrr = Swrr::<Heap>::new(3).unwrap();
    for (tenant, weight) in [(0, 5), (1, 1), (2, 1)] {
        swrr.set_weight(id(tenant), weight).unwrap();
        swrr.join(id(tenant)).unwrap();
    }
    let before: Vec<_> = (0..3).map(|tenant| swrr.number(id(tenant))).collect();
    for _ in 0..10 {
        let winner = swrr.pick().unwrap();
        swrr.give_turn_back(winner).unwrap();
        swrr.check_invariants();
    }
    assert_eq!((0..3).map(|tenant| swrr.number(id(tenant))).collect::<Vec<_>>(), before);
    assert_eq!(picks(&mut swrr, 2), [0, 0]);
    swrr.pause(id(0)).unwrap();
    swrr.check_invariants();
    assert!(!swrr.is_member(id(0)) && !swrr.is_settled(id(0)));
    assert_eq!(picks(&mut swrr, 4), [1, 2, 1, 2]);
    swrr.join(id(0)).unwrap();
    swrr.check_invariants();
    assert_eq!(picks(&mut swrr, 5), [1, 0, 2, 0, 0], "as if it had not been away");
}

#[test]
fn a_tenant_takes_36_bytes_as_the_docs_say() {
    assert_eq!(size_of::<Tenant>() + size_of::<u32>(), 36);
}

#[test]
fn what_it_cannot_do_is_refused_with_the_reason() {
    let mut swrr = Swrr::<Inline<2>>::new(2).unwrap();
    assert_eq!(swrr.join(id(2)), Err(FairError::UnknownTenant { tenant: id(2), capacity: 2 }));
    assert_eq!(swrr.set_weight(id(0), 0), Err(FairError::ZeroWeight { tenant: id(0) }));
    assert!(Swrr::<Inline<2>>::new(3).is_err());
}
