//! What tokio's and ours have in common: requests of several permits, guards that can be split, and a close.

use core::panic::AssertUnwindSafe;
use core::task::Poll;
use std::panic::catch_unwind;

use super::{Polled, Single, Weighted, behaviours};

behaviours! {
    tokio = ::tokio::sync::Semaphore,
    ours = tollgate_async::Semaphore;
    several_are_granted_at_once_or_not_at_all
    several_are_waited_for_until_all_have_come_back
    a_big_one_in_front_is_not_passed_by_small_ones
    one_release_serves_all_that_fit
    no_permits_are_granted_at_once_even_behind_others
    the_count_of_what_is_free_is_0_while_somebody_waits
    a_big_one_that_goes_away_lets_small_ones_go
    a_permit_is_split_and_merged
    permits_of_different_semaphores_are_not_merged
    a_forgotten_part_stays_away
    forget_permits_takes_what_is_free_and_no_more
    closing_refuses_those_who_wait_and_those_who_come
    closing_leaves_what_is_held_and_it_can_come_back
    closing_twice_is_closing
    a_closed_one_is_never_opened_again
    as_many_as_max_permits_can_be_added_and_no_more
    futures_and_guards_can_be_sent
}

fn open<S: Weighted>(permits: usize) -> S {
    <S as Single>::new(permits)
}

fn several_are_granted_at_once_or_not_at_all<S: Weighted>() {
    let semaphore = open::<S>(3);
    let two = semaphore.try_many(2).unwrap();
    assert!(semaphore.try_many(2).is_none());
    assert_eq!((S::num(&two), semaphore.available()), (2, 1), "nothing was taken");
    drop(two);
    assert_eq!(semaphore.available(), 3);
    drop(Polled::new(semaphore.many(3)).ready().unwrap());
    assert_eq!(semaphore.available(), 3);
}

fn several_are_waited_for_until_all_have_come_back<S: Weighted>() {
    let semaphore = open::<S>(5);
    let mut held = semaphore.try_many(5).unwrap();
    let mut waiting = Polled::waiting(semaphore.many(4));
    for _ in 0..3 {
        drop(S::split(&mut held, 1));
        assert!(!waiting.woken() && waiting.poll().is_pending());
    }
    drop(S::split(&mut held, 1));
    assert!(waiting.woken());
    assert_eq!(S::num(&waiting.ready().unwrap()), 4);
    drop(held);
    assert_eq!(semaphore.available(), 5);
}

fn a_big_one_in_front_is_not_passed_by_small_ones<S: Weighted>() {
    let semaphore = open::<S>(4);
    let mut held = semaphore.try_many(4).unwrap();
    let mut big = Polled::waiting(semaphore.many(3));
    let mut small = Polled::waiting(semaphore.many(1));
    drop(S::split(&mut held, 2));
    assert!(!small.woken() && small.poll().is_pending() && semaphore.try_many(1).is_none());
    drop(S::split(&mut held, 1));
    assert!(big.woken() && !small.woken());
    drop(held);
    assert!(small.woken());
    drop((big.ready().unwrap(), small.ready().unwrap()));
    assert_eq!(semaphore.available(), 4);
}

fn one_release_serves_all_that_fit<S: Weighted>() {
    let semaphore = open::<S>(4);
    let held = semaphore.try_many(4).unwrap();
    let mut waiting = [1, 2, 1, 1].map(|n| Polled::waiting(semaphore.many(n)));
    drop(held);
    assert_eq!(waiting.each_ref().map(Polled::woken), [true, true, true, false]);
    let [a, b, c, last] = waiting.each_mut();
    let first_three = (a.ready().unwrap(), b.ready().unwrap(), c.ready().unwrap());
    assert!(last.poll().is_pending());
    drop(first_three);
    drop(last.ready().unwrap());
    assert_eq!(semaphore.available(), 4);
}

fn no_permits_are_granted_at_once_even_behind_others<S: Weighted>() {
    let semaphore = open::<S>(1);
    let held = semaphore.try_many(1).unwrap();
    assert_eq!(S::num(&semaphore.try_many(0).unwrap()), 0);
    let waiting = Polled::waiting(semaphore.many(1));
    assert_eq!(S::num(&Polled::new(semaphore.many(0)).ready().unwrap()), 0);
    drop((waiting, held));
    semaphore.close();
    assert!(semaphore.try_many(0).is_none() && Polled::new(semaphore.many(0)).ready().is_err());
}

fn the_count_of_what_is_free_is_0_while_somebody_waits<S: Weighted>() {
    let semaphore = open::<S>(3);
    let held = semaphore.try_many(2).unwrap();
    assert_eq!(semaphore.available(), 1);
    let waiting = Polled::waiting(semaphore.many(2));
    assert_eq!(semaphore.available(), 0);
    drop(waiting);
    assert_eq!(semaphore.available(), 1);
    drop(held);
}

fn a_big_one_that_goes_away_lets_small_ones_go<S: Weighted>() {
    // Report 24 (embassy#6964): what is free is enough for the next.
    let semaphore = open::<S>(3);
    let held = semaphore.try_many(1).unwrap();
    let big = Polled::waiting(semaphore.many(3));
    let mut small = [1, 1, 1].map(|n| Polled::waiting(semaphore.many(n)));
    drop(big);
    assert_eq!(small.each_ref().map(Polled::woken), [true, true, false]);
    drop(held);
    assert!(small.iter_mut().all(|small| matches!(small.poll(), Poll::Ready(Ok(_)))));
}

fn a_permit_is_split_and_merged<S: Weighted>() {
    let semaphore = open::<S>(5);
    let mut all = semaphore.try_many(5).unwrap();
    let mut two = S::split(&mut all, 2).unwrap();
    assert_eq!((S::num(&all), S::num(&two)), (3, 2));
    assert!(S::split(&mut two, 3).is_none());
    assert_eq!(S::num(&S::split(&mut two, 0).unwrap()), 0);
    S::merge(&mut two, S::split(&mut all, 1).unwrap());
    assert_eq!((S::num(&all), S::num(&two), semaphore.available()), (2, 3, 0));
    drop(two);
    assert_eq!(semaphore.available(), 3);
    drop(all);
    assert_eq!(semaphore.available(), 5);
}

fn permits_of_different_semaphores_are_not_merged<S: Weighted>() {
    let (one, other) = (open::<S>(1), open::<S>(1));
    let (mut a, b) = (one.try_many(1).unwrap(), other.try_many(1).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| S::merge(&mut a, b))).is_err());
    drop(a);
    assert_eq!((one.available(), other.available()), (1, 1));
}

fn a_forgotten_part_stays_away<S: Weighted>() {
    let semaphore = open::<S>(4);
    let mut all = semaphore.try_many(4).unwrap();
    S::forget(S::split(&mut all, 3).unwrap());
    drop(all);
    assert_eq!(semaphore.available(), 1);
    semaphore.add_permits(2);
    assert_eq!(semaphore.available(), 3);
    semaphore.add_permits(2);
    assert_eq!(semaphore.available(), 5, "one more than there ever were");
}

fn forget_permits_takes_what_is_free_and_no_more<S: Weighted>() {
    let semaphore = open::<S>(10);
    assert_eq!((semaphore.forget_permits(4), semaphore.available()), (4, 6));
    assert_eq!(semaphore.forget_permits(0), 0);
    let held = semaphore.try_many(5).unwrap();
    assert_eq!((semaphore.forget_permits(10), semaphore.available()), (1, 0));
    let waiting = Polled::waiting(semaphore.many(1));
    assert_eq!(semaphore.forget_permits(1), 0);
    drop(waiting);
    drop(held);
    assert_eq!(semaphore.available(), 5);
    semaphore.add_permits(10);
    assert_eq!(semaphore.available(), 15);
}

fn closing_refuses_those_who_wait_and_those_who_come<S: Weighted>() {
    let semaphore = open::<S>(2);
    let held = semaphore.try_many(1).unwrap();
    let mut waiting = [2, 1, 1].map(|n| Polled::waiting(semaphore.many(n)));
    let mut early = Polled::new(semaphore.many(1));
    assert!(!semaphore.is_closed());
    semaphore.close();
    assert!(semaphore.is_closed());
    assert!(waiting.iter().all(Polled::woken));
    assert!(waiting.iter_mut().all(|waiting| waiting.ready().is_err()));
    assert!(early.ready().is_err() && semaphore.try_many(1).is_none());
    drop(held);
}

fn closing_leaves_what_is_held_and_it_can_come_back<S: Weighted>() {
    let semaphore = open::<S>(3);
    let held = semaphore.try_many(2).unwrap();
    let waiting = Polled::waiting(semaphore.many(3));
    semaphore.close();
    drop(waiting);
    assert_eq!(semaphore.available(), 1);
    drop(held);
    assert_eq!(semaphore.available(), 3, "so that it can be seen when all have ended");
}

fn closing_twice_is_closing<S: Weighted>() {
    let semaphore = open::<S>(1);
    semaphore.close();
    semaphore.close();
    assert!(semaphore.is_closed() && semaphore.try_many(1).is_none());
}

fn a_closed_one_is_never_opened_again<S: Weighted>() {
    // Report 21 (tokio#8020).
    let semaphore = open::<S>(5);
    semaphore.close();
    let _taken = semaphore.forget_permits(2);
    semaphore.add_permits(4);
    assert!(semaphore.is_closed());
    assert!(semaphore.try_many(1).is_none() && Polled::new(semaphore.many(1)).ready().is_err());
}

fn as_many_as_max_permits_can_be_added_and_no_more<S: Weighted + MaxPermits>() {
    let semaphore = open::<S>(0);
    semaphore.add_permits(S::MAX);
    assert_eq!(semaphore.available(), S::MAX);
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(1))).is_err());
    assert!(catch_unwind(|| open::<S>(S::MAX + 1)).is_err());
    let semaphore = open::<S>(S::MAX);
    drop(semaphore.try_many(1).unwrap());
    assert_eq!(semaphore.available(), S::MAX);
}

trait MaxPermits {
    const MAX: usize;
}
impl MaxPermits for ::tokio::sync::Semaphore {
    const MAX: usize = Self::MAX_PERMITS;
}
impl MaxPermits for tollgate_async::Semaphore {
    const MAX: usize = Self::MAX_PERMITS;
}

fn futures_and_guards_can_be_sent<S: Weighted>() {
    fn sent(_: &(impl Send + ?Sized)) {}
    let semaphore = open::<S>(1);
    sent(&semaphore);
    sent(&semaphore.many(1));
    sent(&semaphore.acquire());
    sent(&semaphore.try_acquire());
}
