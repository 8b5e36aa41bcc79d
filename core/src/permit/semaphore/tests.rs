use std::vec;
use std::vec::Vec;

use super::*;
use crate::slots::{Heap, Inline};

type Strict = Semaphore<Heap>;

fn strict(limit: u64) -> Strict {
    Semaphore::new(limit, 64, HeadOfLine::Strict).unwrap()
}

fn queued<S: Storage, O: Observer>(semaphore: &mut Semaphore<S, O>, weight: u64) -> WaiterId {
    match semaphore.acquire(weight).unwrap() {
        Acquire::Queued(id) => id,
        Acquire::Granted(_) => panic!("granted {weight} at once"),
    }
}

fn granted<S: Storage, O: Observer>(semaphore: &mut Semaphore<S, O>, weight: u64) -> Ticket {
    match semaphore.acquire(weight).unwrap() {
        Acquire::Granted(ticket) => ticket,
        Acquire::Queued(_) => panic!("{weight} had to wait"),
    }
}

/// Everyone `poll` names, in order, as granted ids; panics on a refusal.
fn poll_granted<S: Storage, O: Observer>(semaphore: &mut Semaphore<S, O>) -> Vec<(WaiterId, Ticket)> {
    let mut all = vec![];
    while let Some(event) = semaphore.poll() {
        match event {
            SemaphoreEvent::Granted(id, ticket) => all.push((id, ticket)),
            SemaphoreEvent::Refused(_, refused) => panic!("{refused}"),
        }
    }
    all
}

fn ids(granted: &[(WaiterId, Ticket)]) -> Vec<WaiterId> {
    granted.iter().map(|(id, _)| *id).collect()
}

#[test]
fn waiters_are_granted_in_order_and_a_big_one_is_not_passed_by_small_ones() {
    // Report golang/go#56910: the policy for a big waiter against a stream of small ones is explicit.
    let mut semaphore = strict(4);
    let held = granted(&mut semaphore, 4);
    let big = queued(&mut semaphore, 3);
    let small = queued(&mut semaphore, 1);
    let other = queued(&mut semaphore, 1);
    semaphore.release(held).unwrap();
    let out = poll_granted(&mut semaphore);
    assert_eq!(ids(&out), [big, small]);
    semaphore.release(out.into_iter().next().unwrap().1).unwrap();
    assert_eq!(ids(&poll_granted(&mut semaphore)), [other]);
}

#[test]
fn a_newcomer_does_not_overtake_a_waiter_who_is_owed() {
    // Report 28 (async-lock#23): release, then try_acquire stole from the woken waiter.
    let mut semaphore = strict(1);
    let held = granted(&mut semaphore, 1);
    let waiter = queued(&mut semaphore, 1);
    semaphore.release(held).unwrap();
    assert_eq!(semaphore.try_acquire(1).unwrap_err().reason, Reason::NoPermits);
    assert_eq!(ids(&poll_granted(&mut semaphore)), [waiter]);
}

#[test]
fn two_releases_before_anyone_polls_grant_two_waiters() {
    // Report 27 (throttle-net TN2-001): wake-ups are per grant, not per release call.
    let mut semaphore = strict(2);
    let (a, b) = (granted(&mut semaphore, 1), granted(&mut semaphore, 1));
    let waiters = [queued(&mut semaphore, 1), queued(&mut semaphore, 1)];
    semaphore.release(a).unwrap();
    semaphore.release(b).unwrap();
    assert_eq!(ids(&poll_granted(&mut semaphore)), waiters);
}

#[test]
fn cancelling_a_blocked_head_grants_the_next_that_fit() {
    // Reports 24 (embassy#6964), golang/go#37852, dotnet/runtime#77180.
    let mut semaphore = strict(3);
    let held = granted(&mut semaphore, 1);
    let head = queued(&mut semaphore, 3);
    let (a, b) = (queued(&mut semaphore, 1), queued(&mut semaphore, 1));
    assert!(semaphore.poll().is_none());
    semaphore.cancel(head).unwrap();
    assert_eq!(ids(&poll_granted(&mut semaphore)), [a, b]);
    semaphore.release(held).unwrap();
}

#[test]
fn a_cancelled_waiter_frees_its_place_at_once() {
    // Report 25 (embassy FairSemaphore): tombstones filled the line.
    let mut semaphore = Semaphore::<Inline<4>>::new(1, 4, HeadOfLine::Strict).unwrap();
    let _held = granted(&mut semaphore, 1);
    let _live = queued(&mut semaphore, 1);
    let gone: Vec<_> = (0..3).map(|_| queued(&mut semaphore, 1)).collect();
    assert_eq!(semaphore.acquire(1).unwrap_err().reason, Reason::QueueFull);
    for id in gone {
        semaphore.cancel(id).unwrap();
    }
    for _ in 0..3 {
        queued(&mut semaphore, 1);
    }
    assert_eq!(semaphore.num_waiters(), 4);
    semaphore.check_invariants();
}

#[test]
fn a_stale_waiter_is_refused_and_counted_and_changes_nothing() {
    let mut stale = 0;
    let observer = |event| stale += u32::from(event == Event::StaleRefused);
    let mut semaphore = Semaphore::<Heap, _>::with_observer(1, 4, HeadOfLine::Strict, observer).unwrap();
    let held = granted(&mut semaphore, 1);
    let waiter = queued(&mut semaphore, 1);
    semaphore.cancel(waiter).unwrap();
    assert_eq!(semaphore.cancel(waiter), Err(Stale));
    let waiter = queued(&mut semaphore, 1);
    semaphore.release(held).unwrap();
    let _out = poll_granted(&mut semaphore);
    assert_eq!(semaphore.cancel(waiter), Err(Stale), "granted: the ticket is to be released instead");
    assert_eq!(semaphore.in_use(), 1);
    assert_eq!(stale, 2);
}

#[test]
fn a_ticket_of_a_larger_semaphore_is_refused() {
    let mut mine = strict(2);
    let mut other = strict(9);
    let _mine = granted(&mut mine, 1);
    let foreign = granted(&mut other, 9);
    assert_eq!(mine.release(foreign), Err(Stale));
    assert_eq!(mine.in_use(), 1);
}

#[test]
fn a_weight_above_the_limit_is_refused_at_once_and_blocks_nobody() {
    // Report 30 (tokio: acquire_many(5) of 4 waits for ever and blocks all).
    let mut semaphore = strict(4);
    let held = granted(&mut semaphore, 1);
    assert_eq!(semaphore.acquire(5).unwrap_err().reason, Reason::ExceedsLimit);
    assert_eq!(semaphore.acquire(u64::MAX).unwrap_err().reason, Reason::ExceedsLimit);
    let rest = semaphore.try_acquire(3).unwrap();
    semaphore.release(held).unwrap();
    semaphore.release(rest).unwrap();
}

#[test]
fn lowering_the_limit_under_a_queue_takes_effect_at_once() {
    // Report 22: materialize#38509, megaeth#188, tower-acc, congestion-limiter.
    let mut semaphore = strict(8);
    let mut held: Vec<_> = (0..8).map(|_| granted(&mut semaphore, 1)).collect();
    for _ in 0..20 {
        queued(&mut semaphore, 1);
    }
    semaphore.set_limit(1);
    for _ in 0..7 {
        semaphore.release(held.pop().unwrap()).unwrap();
        assert!(semaphore.poll().is_none(), "{} in use of 1", semaphore.in_use());
    }
    semaphore.release(held.pop().unwrap()).unwrap();
    assert_eq!(poll_granted(&mut semaphore).len(), 1);
    assert_eq!(semaphore.in_use(), 1);
}

#[test]
fn raising_the_limit_grants_the_waiters_it_makes_room_for() {
    let mut semaphore = strict(1);
    let _held = granted(&mut semaphore, 1);
    let waiters = [queued(&mut semaphore, 1), queued(&mut semaphore, 1), queued(&mut semaphore, 1)];
    semaphore.set_limit(3);
    assert_eq!(ids(&poll_granted(&mut semaphore)), waiters[..2]);
}

#[test]
fn a_waiter_that_outweighs_a_lowered_limit_is_refused_at_the_head_and_does_not_block() {
    let mut semaphore = strict(4);
    let held = granted(&mut semaphore, 4);
    let big = queued(&mut semaphore, 4);
    let small = queued(&mut semaphore, 1);
    semaphore.set_limit(2);
    let Some(SemaphoreEvent::Refused(id, refused)) = semaphore.poll() else { panic!("not refused") };
    assert_eq!((id, refused.reason), (big, Reason::ExceedsLimit));
    semaphore.release(held).unwrap();
    assert_eq!(ids(&poll_granted(&mut semaphore)), [small]);
}

#[test]
fn closing_refuses_every_waiter_in_order_and_for_good() {
    // Report 21 (tokio#8020): closed is absorbing.
    let mut semaphore = strict(1);
    let held = granted(&mut semaphore, 1);
    let waiters = [queued(&mut semaphore, 1), queued(&mut semaphore, 1)];
    semaphore.close();
    for waiter in waiters {
        let Some(SemaphoreEvent::Refused(id, refused)) = semaphore.poll() else { panic!("not refused") };
        assert_eq!((id, refused.reason), (waiter, Reason::Closed));
    }
    assert!(semaphore.poll().is_none());
    semaphore.release(held).unwrap();
    semaphore.set_limit(10);
    assert_eq!(semaphore.acquire(1).unwrap_err().reason, Reason::Closed);
    assert_eq!(semaphore.try_acquire(1).unwrap_err().reason, Reason::Closed);
    assert!(semaphore.is_closed());
}

#[test]
fn backfill_lets_small_ones_pass_a_blocked_head_exactly_max_passes_times() {
    let mut semaphore = Semaphore::<Heap>::new(4, 64, HeadOfLine::Backfill { max_passes: 2 }).unwrap();
    let held = granted(&mut semaphore, 3);
    let head = queued(&mut semaphore, 4);
    let smalls: Vec<_> = (0..4).map(|_| queued(&mut semaphore, 1)).collect();
    for small in &smalls[..2] {
        let out = poll_granted(&mut semaphore);
        assert_eq!(ids(&out), [*small]);
        semaphore.release(out.into_iter().next().unwrap().1).unwrap();
    }
    assert!(semaphore.poll().is_none(), "the head was passed twice: the line is strict now");
    semaphore.release(held).unwrap();
    let out = poll_granted(&mut semaphore);
    assert_eq!(ids(&out), [head]);
    semaphore.release(out.into_iter().next().unwrap().1).unwrap();
    assert_eq!(ids(&poll_granted(&mut semaphore)), smalls[2..]);
}

#[test]
fn a_backfill_of_zero_passes_is_strict() {
    let mut semaphore = Semaphore::<Heap>::new(2, 8, HeadOfLine::Backfill { max_passes: 0 }).unwrap();
    let _held = granted(&mut semaphore, 1);
    queued(&mut semaphore, 2);
    queued(&mut semaphore, 1);
    assert!(semaphore.poll().is_none());
}

#[test]
fn split_tickets_are_released_separately() {
    let mut semaphore = strict(5);
    let mut whole = granted(&mut semaphore, 5);
    let part = whole.split(2).unwrap();
    assert!(whole.split(4).is_none());
    semaphore.release(part).unwrap();
    assert_eq!(semaphore.in_use(), 3);
    let more = semaphore.try_acquire(1).unwrap();
    whole.merge(more);
    semaphore.release(whole).unwrap();
    assert_eq!(semaphore.in_use(), 0);
}

#[test]
fn forgotten_permits_stay_in_use() {
    let mut semaphore = strict(2);
    let ticket = granted(&mut semaphore, 1);
    semaphore.forget(ticket);
    assert_eq!(semaphore.in_use(), 1);
}

#[test]
fn weights_and_limits_reach_the_end_of_u64() {
    let mut semaphore = strict(u64::MAX);
    let all = granted(&mut semaphore, u64::MAX);
    let waiter = queued(&mut semaphore, 1);
    semaphore.release(all).unwrap();
    assert_eq!(ids(&poll_granted(&mut semaphore)), [waiter]);
}

#[test]
fn a_weight_of_zero_is_not_granted_above_a_lowered_limit() {
    let mut semaphore = strict(2);
    let _held = granted(&mut semaphore, 2);
    semaphore.set_limit(1);
    assert_eq!(semaphore.try_acquire(0).unwrap_err().reason, Reason::NoPermits);
}
