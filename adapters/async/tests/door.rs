//! The door and the caps with a clock: what waits, for how long, and what comes back.

mod common;

use core::time::Duration;

use common::{Task, Virtual, at};
use tollgate::order::{Rejection, Request, SharedAdmission};
use tollgate::permit::{self, Bypass, Cap, SharedInFlight};
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
use tollgate::rate::{Blame, LimitsSettings};
use tollgate_async::{Admission, Admitted, InFlight, InFlightSlot, Reason, Runtime, Timestamp};

const USER: permit::Dimension = permit::Dimension::new(0).unwrap();
const GROUP: GroupId = GroupId(0);
const SECOND: u64 = 1_000_000_000;

type Door = Admission<String, Virtual>;

/// Two requests each ten seconds, and so many at once.
fn door(cap: u32) -> (Virtual, Door, Dimension) {
    let mut dimensions = Dimensions::new();
    let requests = dimensions.add("request_count", "requests").unwrap();
    let rule = Rule::new(RuleId(1), Target::Default, GROUP, requests, 2, Duration::from_secs(10));
    let rules = RuleSet::new(dimensions, vec![rule]).unwrap();
    let caps = SharedInFlight::<String>::new(64, 8).unwrap();
    caps.set_cap(USER, Cap::At(cap));
    let door = SharedAdmission::new(LimitsSettings::for_rules(16, &rules), rules, caps).unwrap();
    let runtime = Virtual::default();
    (runtime.clone(), Admission::new(runtime, door), requests)
}

/// Waits as `ann`, with these costs.
fn ann(
    door: &Door,
    costs: &[(Dimension, u64)],
    deadline: Timestamp,
) -> Task<Result<Admitted<String, Virtual>, Rejection>> {
    let (door, costs) = (door.clone(), costs.to_vec());
    Task::new(async move {
        let slots = [(USER, "ann")];
        door.admit(&Request::of("ann", GROUP).costs(&costs).slots(&slots), deadline).await
    })
}

fn held(door: &Door) -> u32 {
    door.door().in_flight().held(USER, "ann")
}

#[test]
fn a_rate_lets_in_exactly_when_it_said_so() {
    let (runtime, door, requests) = door(9);
    let all: Vec<_> = (0..2).map(|_| ann(&door, &[(requests, 1)], at(0)).poll().unwrap().unwrap()).collect();
    let mut third = ann(&door, &[(requests, 1)], Timestamp::MAX);
    assert!(third.poll().is_none());
    let then = runtime.next().expect("a timer is set");
    runtime.set(at(then.as_nanos() - 1));
    assert!(third.run().is_none());
    runtime.set(then);
    third.run().expect("now").unwrap().complete();
    for one in all {
        one.complete();
    }
    assert_eq!(held(&door), 0);
}

#[test]
fn what_the_rate_lets_through_too_late_is_refused_at_once_and_waits_for_nothing() {
    let (runtime, door, requests) = door(9);
    let _two = ann(&door, &[(requests, 2)], at(0)).poll().unwrap().unwrap();
    let refused = ann(&door, &[(requests, 1)], at(10)).poll().expect("at once").unwrap_err();
    let clears = refused.retry_after().unwrap();
    let just = at(0).saturating_add(clears);
    let mut just_in_time = ann(&door, &[(requests, 1)], just);
    assert!(just_in_time.poll().is_none());
    runtime.set(just);
    assert!(just_in_time.run().expect("now").is_ok());
}

#[test]
fn what_no_waiting_mends_is_refused_at_once() {
    let (_, door, requests) = door(9);
    let refused = ann(&door, &[(requests, 3)], Timestamp::MAX).poll().expect("at once").unwrap_err();
    assert!(!refused.waiting_helps());
}

#[test]
fn whoever_waits_for_a_cap_is_woken_by_a_release_before_any_hint() {
    let (runtime, door, _) = door(1);
    let first = ann(&door, &[], Timestamp::MAX).poll().unwrap().unwrap();
    let mut second = ann(&door, &[], Timestamp::MAX);
    let mut third = ann(&door, &[], Timestamp::MAX);
    assert!(second.poll().is_none() && third.poll().is_none());
    drop(first);
    let second = second.run().expect("it was woken").unwrap();
    assert!(third.run().is_none(), "it looked, and listens again");
    let slot = second.commit().expect("it holds one");
    assert!(third.run().is_none(), "the body is not over");
    drop(slot);
    assert!(third.run().expect("it was woken").is_ok());
    assert_eq!((held(&door), runtime.now()), (0, at(0)));
}

#[test]
fn a_release_that_goes_unheard_is_found_after_the_hint() {
    let (runtime, door, _) = door(1);
    let pairs = [(USER, "ann")];
    let elsewhere = door.door().in_flight().try_acquire(&pairs, Bypass::None).unwrap();
    let mut waiting = ann(&door, &[], Timestamp::MAX);
    assert!(waiting.poll().is_none());
    drop(elsewhere);
    assert!(waiting.run().is_none());
    runtime.set(at(SECOND));
    assert!(waiting.run().expect("the hint is a second").is_ok());
}

#[test]
fn at_its_deadline_the_cap_that_refused_it_is_told() {
    let (runtime, door, _) = door(1);
    let _first = ann(&door, &[], at(0)).poll().unwrap().unwrap();
    let mut late = ann(&door, &[], at(100));
    assert!(late.poll().is_none());
    runtime.set(at(100));
    let refused = late.run().expect("on time").unwrap_err();
    assert_eq!(refused.reason(), Reason::NoPermits);
}

#[test]
fn report_20_a_dropped_guard_rolls_back_all_of_it_and_cannot_fail() {
    let (_, door, requests) = door(1);
    for _ in 0..10 {
        let admitted = ann(&door, &[(requests, 2)], at(0)).poll().unwrap().unwrap();
        admitted.roll_back(Blame::Server);
        assert_eq!(held(&door), 0);
    }
    let mut admitted = ann(&door, &[(requests, 1)], at(0)).poll().unwrap().unwrap();
    assert!(admitted.evaluate(requests, 9).is_err(), "it is as it was");
    admitted.settle(requests, 0);
    drop(admitted);
    assert_eq!(held(&door), 0);
}

#[test]
fn report_26_a_future_dropped_at_any_point_holds_nothing() {
    let (_, door, _) = door(1);
    let first = ann(&door, &[], at(0)).poll().unwrap().unwrap();
    let unpolled = ann(&door, &[], Timestamp::MAX);
    drop(unpolled);
    let mut waiting = ann(&door, &[], Timestamp::MAX);
    assert!(waiting.poll().is_none());
    waiting.cancel();
    let mut woken = ann(&door, &[], Timestamp::MAX);
    assert!(woken.poll().is_none());
    drop(first);
    assert!(woken.is_woken());
    woken.cancel();
    assert_eq!(held(&door), 0);
}

#[test]
fn report_29_who_waits_for_a_cap_is_polled_once_for_each_release_and_no_more() {
    let (_, door, _) = door(1);
    let first = ann(&door, &[], at(0)).poll().unwrap().unwrap();
    let mut waiting = ann(&door, &[], Timestamp::MAX);
    let woken = waiting.woken();
    assert!(waiting.poll().is_none());
    for _ in 0..50 {
        assert!(waiting.poll().is_none());
    }
    assert_eq!(woken.times(), 1, "that is how a task begins");
    drop(first);
    assert_eq!(woken.times(), 2);
}

#[test]
fn caps_alone_can_be_waited_for_by_tasks_and_threads() {
    let caps = SharedInFlight::<String>::new(64, 8).unwrap();
    caps.set_cap(USER, Cap::At(1));
    let caps = InFlight::new(Virtual::default(), caps);
    let slot = caps.try_acquire(&[(USER, "ann")], Bypass::None).unwrap();
    let asking = caps.clone();
    let mut task: Task<Result<InFlightSlot<String>, _>> =
        Task::new(async move { asking.acquire(&[(USER, "ann")], Bypass::None, Timestamp::MAX).await });
    assert!(task.poll().is_none());
    drop(slot);
    let slot = task.run().expect("it was woken").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            caps.acquire_blocking(&[(USER, "ann")], Bypass::None, Timestamp::MAX).map(drop).unwrap();
        });
        drop(slot);
        waiting.join().unwrap();
    });
    assert_eq!(caps.caps().held(USER, "ann"), 0);
}

#[test]
fn everything_can_go_to_other_threads() {
    fn is<T: Send + Sync + 'static>(_: &T) {}
    fn sends<T: Send>(_: &T) {}
    let (_, door, _) = door(2);
    let request = Request::of("ann", GROUP);
    is(&door);
    is(&door.try_admit(&request).unwrap());
    sends(&door.admit(&request, Timestamp::MAX));
    let caps = InFlight::new(Virtual::default(), SharedInFlight::<String>::new(64, 8).unwrap());
    is(&caps);
    is(&caps.try_acquire(&[(USER, "ann")], Bypass::None).unwrap());
    sends(&caps.acquire(&[(USER, "ann")], Bypass::None, Timestamp::MAX));
}
