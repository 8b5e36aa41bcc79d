//! Laws of `Swrr`.

use proptest::prelude::*;
use tollgate::fair::{Swrr, TenantId};
use tollgate::slots::Heap;

fn id(index: usize) -> TenantId {
    TenantId::new(u32::try_from(index).unwrap())
}

fn all_joined(weights: &[u32]) -> Swrr<Heap> {
    let mut swrr = Swrr::new(u32::try_from(weights.len()).unwrap()).unwrap();
    for (i, &weight) in weights.iter().enumerate() {
        swrr.set_weight(id(i), weight).unwrap();
        swrr.join(id(i)).unwrap();
    }
    swrr
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn in_a_period_everyone_gets_exactly_its_weight_and_the_state_returns(
        weights in prop::collection::vec(1_u32..20, 1..15),
    ) {
        let total: u32 = weights.iter().sum();
        let mut swrr = all_joined(&weights);
        for _period in 0..2 {
            let mut turns = vec![0_u32; weights.len()];
            for _ in 0..total {
                turns[swrr.pick().unwrap().index()] += 1;
                let sum: i64 = (0..weights.len()).map(|i| swrr.number(id(i)).unwrap()).sum();
                prop_assert_eq!(sum, 0, "the numbers sum to zero after every pick");
            }
            prop_assert_eq!(&turns, &weights);
            for i in 0..weights.len() {
                prop_assert_eq!(swrr.number(id(i)), Some(0));
            }
        }
    }

    #[test]
    fn nobody_is_ahead_by_more_than_one_turn_less_a_share_nor_behind_by_two(
        weights in prop::collection::vec(1_u32..40, 1..20),
        picks in 1_usize..500,
    ) {
        let n = i64::try_from(weights.len()).unwrap();
        let total: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
        let mut swrr = all_joined(&weights);
        for _ in 0..picks {
            swrr.pick().unwrap();
            for i in 0..weights.len() {
                // number = −deviation·total: ahead ≤ 1 − 1/n, behind ≤ 2.
                let number = swrr.number(id(i)).unwrap();
                prop_assert!(-number * n <= total * (n - 1), "ahead: {number} of {total}");
                prop_assert!(number <= 2 * total, "behind: {number} of {total}");
            }
        }
    }

    #[test]
    fn coming_going_and_changing_weights_never_panics_and_keeps_the_books(
        steps in prop::collection::vec((0_usize..6, 0_u8..5, prop_oneof![1_u32..5, Just(u32::MAX)]), 1..300),
    ) {
        let mut swrr = Swrr::<Heap>::new(6).unwrap();
        for (tenant, action, weight) in steps {
            match action {
                0 => swrr.join(id(tenant)).unwrap(),
                1 => swrr.leave(id(tenant)).unwrap(),
                2 => swrr.set_weight(id(tenant), weight).unwrap(),
                3 => {
                    let picked = swrr.pick_ready(|t| t.index() % 2 == tenant % 2);
                    prop_assert!(picked.is_none_or(|t| t.index() % 2 == tenant % 2 && swrr.is_member(t)));
                }
                _ => {
                    let any = (0..6).any(|i| swrr.is_member(id(i)));
                    prop_assert_eq!(swrr.pick().is_some(), any);
                }
            }
            swrr.check_invariants();
        }
    }

    #[test]
    fn a_tenant_that_leaves_and_returns_at_will_never_gets_more_than_its_share_and_two_turns(
        pattern in prop::collection::vec(any::<bool>(), 50..400),
        others in 1_usize..5,
    ) {
        let n = others + 1;
        let mut swrr = all_joined(&vec![1; n]);
        let mut turns = 0_usize;
        for &leave in &pattern {
            if leave {
                swrr.leave(id(0)).unwrap();
                swrr.join(id(0)).unwrap();
            }
            turns += usize::from(swrr.pick() == Some(id(0)));
        }
        prop_assert!(turns * n <= pattern.len() + 2 * n, "{turns} of {} turns among {n}", pattern.len());
    }
}
