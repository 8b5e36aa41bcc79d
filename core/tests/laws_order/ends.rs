//! How a pass ends, however it ends.

use tollgate::order::{Rejection, Request, SharedAdmission};
use tollgate::permit::{Cap, SharedInFlight};
use tollgate::rate::LimitsSettings;
use tollgate::rate::rules::{GroupId, RuleSet};

use crate::common::at;
use crate::world::{rules, slot};

const GROUP: GroupId = GroupId(7);

fn door() -> (SharedAdmission<u64>, [tollgate::rate::rules::Dimension; 3]) {
    let (rules, dimensions) = rules();
    let in_flight = SharedInFlight::new(100, 10).unwrap();
    in_flight.set_cap(slot(0), Cap::At(1));
    (SharedAdmission::new(LimitsSettings::for_rules(1_024, &rules), rules, in_flight).unwrap(), dimensions)
}

fn used(door: &SharedAdmission<u64>, owner: u64) -> Vec<u64> {
    door.with_owner(&owner, |limits| {
        let account = limits.account(&owner).unwrap();
        limits.report(at(1), account, GROUP, None).unwrap().map(|window| window.used).collect()
    })
}

#[test]
fn a_pass_that_is_dropped_gives_back_its_slot_and_what_a_client_that_left_is_refunded() {
    let (door, [requests, duration, tokens]) = door();
    let costs = [(requests, 1), (duration, 5), (tokens, 3)];
    let slots = [(slot(0), &1)];
    let request = Request::of(&1, GROUP).costs(&costs).slots(&slots);
    let pass = door.try_admit(at(1), &request).unwrap();
    assert_eq!((used(&door, 1), door.in_flight().held(slot(0), &1)), (vec![1, 1, 5, 3], 1));
    // A panic on the way is a drop like any other.
    let panicked = std::thread::spawn(move || {
        let _pass = pass;
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    assert_eq!((used(&door, 1), door.in_flight().held(slot(0), &1)), (vec![1, 1, 5, 0], 0));
    door.each_shard(|limits| limits.check_invariants());
}

#[test]
fn a_session_can_end_before_its_slot() {
    let (door, [requests, ..]) = door();
    let (costs, slots) = ([(requests, 1)], [(slot(0), &1)]);
    let request = Request::of(&1, GROUP).costs(&costs).slots(&slots);
    let mut pass = door.try_admit(at(1), &request).unwrap();
    let body = pass.commit(at(1)).unwrap();
    drop(pass);
    assert!(matches!(door.try_admit(at(1), &request), Err(Rejection::InFlight(_))));
    drop(body);
    assert_eq!(used(&door, 1)[0], 1, "committed, so the drop of the pass gave nothing back");
    door.try_admit(at(1), &request).unwrap().complete(at(1));
}

#[test]
fn rules_are_replaced_for_everybody_at_once_and_consumption_stays() {
    let (door, [requests, ..]) = door();
    let costs = [(requests, 7)];
    for owner in 0..40_u64 {
        door.try_admit(at(1), &Request::of(&owner, GROUP).costs(&costs)).unwrap().complete(at(1));
    }
    let (old, _) = rules();
    let mut new = old.rules().to_vec();
    new.iter_mut().filter(|rule| rule.dimension == requests).for_each(|rule| rule.limit *= 2);
    door.replace_rules(at(2), &RuleSet::new(old.dimensions().clone(), new).unwrap());
    for owner in 0..40_u64 {
        let again = door.try_admit(at(2), &Request::of(&owner, GROUP).costs(&costs)).unwrap();
        assert!(door.try_admit(at(2), &Request::of(&owner, GROUP).costs(&costs[..1])).is_err());
        again.complete(at(2));
    }
}
