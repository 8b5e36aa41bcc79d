//! How a pass ends, however it ends.

use tollgate::DefaultHasher;
use tollgate::order::{Admission, Rejection, Request, SharedAdmission};
use tollgate::permit::{Bypass, Cap, InFlight, SharedInFlight};
use tollgate::rate::rules::{GroupId, RuleSet};
use tollgate::rate::{Limits, LimitsSettings};

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
fn an_exempt_request_has_no_session_and_any_other_has_one() {
    let (rules, _) = rules();
    let limits = Limits::new(LimitsSettings::for_rules(4, &rules), rules).unwrap();
    let mut door: Admission<u64> = Admission::new(limits, InFlight::new(10, 10).unwrap());
    let under_limits = door.try_admit(at(1), &Request::of(&1, GROUP)).unwrap();
    assert!(under_limits.session().is_some());
    let exempt = door.try_admit(at(1), &Request::of(&1, GROUP).bypass(Bypass::Whole)).unwrap();
    assert!(exempt.session().is_none());
    for admitted in [under_limits, exempt] {
        door.complete(at(1), admitted).unwrap();
    }
}

#[test]
fn a_rejection_tells_what_the_limit_that_refused_tells() {
    let (door, [requests, ..]) = door();
    let explained = |rejection: &Rejection| door.explain(rejection);
    let too_often = door.try_admit(at(1), &Request::of(&1, GROUP).costs(&[(requests, 8)])).unwrap_err();
    let Rejection::Limit(denied) = &too_often else { panic!("{too_often:?}") };
    assert_eq!(too_often.waiting_helps(), denied.waiting_helps());
    assert_eq!(too_often.retry_after(), denied.clears_in);
    assert_eq!(explained(&too_often), door.with_owner(&1, |limits| limits.explain(denied).to_string()));

    let costs = [(requests, 7)];
    door.try_admit(at(1), &Request::of(&1, GROUP).costs(&costs)).unwrap().complete(at(1));
    let spent = door.try_admit(at(1), &Request::of(&1, GROUP).costs(&costs)).unwrap_err();
    assert!(spent.waiting_helps() && spent.retry_after().is_some_and(|wait| !wait.is_zero()));

    let slots = [(slot(0), &1)];
    let request = Request::of(&1, GROUP).slots(&slots);
    let pass = door.try_admit(at(1), &request).unwrap();
    let full = door.try_admit(at(1), &request).unwrap_err();
    let Rejection::InFlight(refused) = &full else { panic!("{full:?}") };
    assert_eq!((full.waiting_helps(), full.retry_after()), (true, refused.retry_after));
    assert_eq!(explained(&full), full.to_string());
    drop(pass);
}

/// How many of a thousand owners a door of four shards lets in before its table is full.
fn owners_known(settings: LimitsSettings) -> (u32, Vec<u32>) {
    let (rules, _) = rules();
    let in_flight = SharedInFlight::new(100, 10).unwrap();
    let door: SharedAdmission<u64> =
        SharedAdmission::with_observers(settings, rules, in_flight, 4, DefaultHasher::new(), |_| {
            tollgate::observe::NoObserver
        })
        .unwrap();
    let mut known = 0;
    let mut open = vec![];
    for owner in 0..1_000 {
        if let Ok(pass) = door.try_admit(at(1), &Request::of(&owner, GROUP)) {
            open.push(pass);
            known += 1;
        }
    }
    let mut shards = vec![];
    door.each_shard(|limits| shards.push(limits.accounts()));
    (known, shards)
}

#[test]
fn each_shard_has_its_part_of_the_room_and_of_the_owners() {
    let (rules, _) = rules();
    let windows = rules.rules().len() as u32;
    let ample = LimitsSettings::for_rules(400, &rules);
    for scarce in [
        LimitsSettings { accounts: 40, ..ample },
        LimitsSettings { sheets: 40, ..ample },
        LimitsSettings { meters: 40 * windows, ..ample },
    ] {
        let (known, shards) = owners_known(scarce);
        assert_eq!(known, 40, "{scarce:?}");
        assert_eq!(shards.len(), 4);
        assert!(shards.iter().all(|&accounts| accounts >= 10), "{shards:?}");
    }
}

#[test]
fn shards_are_a_power_of_two_and_at_most_the_accounts() {
    let (rules, _) = rules();
    let with = |accounts, shards| {
        let settings = LimitsSettings { accounts, ..LimitsSettings::for_rules(8, &rules) };
        let in_flight = SharedInFlight::new(100, 10).unwrap();
        let observer = |_| tollgate::observe::NoObserver;
        let hasher = DefaultHasher::new();
        SharedAdmission::<u64>::with_observers(settings, rules.clone(), in_flight, shards, hasher, observer)
            .is_ok()
    };
    assert!(with(8, 8) && with(1, 1));
    assert!(!with(8, 3) && !with(4, 8) && !with(8, 0));
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
