use core::time::Duration;

use super::*;
use crate::error::{Reason, Refused};
use crate::rate::{Overshoot, RateLimit};
use crate::slots::{Heap, Inline};
use crate::time::Timestamp;

const S: u64 = 1_000_000_000;

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn fixed(limit: u64) -> FixedWindow {
    FixedWindow::new(limit, Duration::from_secs(60), at(0)).unwrap()
}

fn sliding(limit: u64) -> SlidingWindow<Heap> {
    SlidingWindow::new(limit, Duration::from_secs(60), 6).unwrap()
}

#[test]
fn a_fixed_window_lets_its_limit_through_on_each_side_of_an_edge() {
    // Report 39 (tower#842): documented, and the reason for the sliding window.
    let mut window = fixed(100);
    window.try_acquire(at(60 * S - 1), 100).unwrap();
    assert_eq!(window.peek(at(60 * S - 1), 1).unwrap_err().retry_at, Some(at(60 * S)));
    window.try_acquire(at(60 * S), 100).unwrap();
    assert_eq!(window.available(at(60 * S)), 0);
}

#[test]
fn a_sliding_window_never_lets_more_through_than_its_limit_in_any_window() {
    // Report governor#219: "never more than N in any T".
    let mut window = sliding(100);
    window.try_acquire(at(60 * S - 1), 100).unwrap();
    let refused = window.try_acquire(at(60 * S), 1).unwrap_err();
    assert_eq!(refused.retry_at, Some(at(120 * S)), "slice 5 counts until slice 12 begins");
    assert!(window.peek(at(120 * S - 1), 1).is_err());
    assert!(window.try_acquire(at(120 * S), 100).is_ok());
    window.check_invariants();
}

#[test]
fn a_big_request_waits_until_enough_slices_have_gone_not_only_the_oldest() {
    let mut window = sliding(10);
    for (second, cost) in [(0, 2), (10, 3), (20, 5)] {
        window.try_acquire(at(second * S), cost).unwrap();
    }
    let retry_at = window.peek(at(20 * S), 4).unwrap_err().retry_at.unwrap();
    assert_eq!(retry_at, at(80 * S));
    assert!(window.peek(at(80 * S - 1), 4).is_err());
    assert!(window.try_acquire(at(80 * S), 4).is_ok());
}

#[test]
fn a_limit_of_one_passes_once_a_window() {
    // upstash#39.
    let mut window = sliding(1);
    window.try_acquire(at(0), 1).unwrap();
    assert!(window.try_acquire(at(60 * S), 1).is_err());
    assert!(window.try_acquire(at(70 * S), 1).is_ok());
}

#[test]
fn a_refund_lands_in_the_window_of_the_grant_or_nowhere() {
    let mut window = fixed(5);
    window.try_acquire(at(0), 5).unwrap();
    window.refund(at(1), 2, at(0));
    assert_eq!(window.available(at(1)), 2);
    window.try_acquire(at(60 * S), 5).unwrap();
    window.refund(at(60 * S), 3, at(0));
    assert_eq!(window.available(at(60 * S)), 0);

    let mut window = sliding(5);
    window.try_acquire(at(0), 5).unwrap();
    window.refund(at(60 * S), 2, at(0));
    assert_eq!(window.available(at(60 * S)), 2);
    window.refund(at(70 * S), 3, at(0));
    assert_eq!(window.available(at(70 * S)), 5);
    window.check_invariants();
}

#[test]
fn what_was_charged_beyond_the_limit_is_repaid_by_the_windows_that_follow() {
    let mut window = fixed(10);
    window.charge(at(0), 35);
    let refused = window.peek(at(0), 5).unwrap_err();
    assert_eq!((refused.reason, refused.retry_at), (Reason::InDebt, Some(at(180 * S))));
    assert!(window.peek(at(180 * S - 1), 5).is_err());
    assert!(window.try_acquire(at(180 * S), 5).is_ok());
    let mut window = sliding(10);
    window.charge(at(0), u64::MAX);
    window.charge(at(0), u64::MAX);
    assert!(window.peek(at(0), 1).unwrap_err().retry_at.is_some());
    window.check_invariants();
}

#[test]
fn time_that_steps_back_is_the_latest_time() {
    let mut window = sliding(1);
    window.try_acquire(at(100 * S), 1).unwrap();
    assert!(window.try_acquire(at(0), 1).is_err());
    let mut window = fixed(1);
    window.try_acquire(at(100 * S), 1).unwrap();
    assert!(window.try_acquire(at(0), 1).is_err());
}

#[test]
fn a_cost_above_the_limit_can_never_pass() {
    assert_eq!(fixed(5).peek(at(0), 6).unwrap_err().reason, Reason::ExceedsCapacity);
    assert_eq!(sliding(5).peek(at(0), 6).unwrap_err().reason, Reason::ExceedsCapacity);
}

#[test]
fn bad_windows_name_every_rule() {
    assert_eq!(FixedWindow::new(0, Duration::ZERO, at(0)).unwrap_err().violations().len(), 2);
    assert_eq!(SlidingWindow::<Heap>::new(0, Duration::ZERO, 0).unwrap_err().violations().len(), 3);
    assert!(SlidingWindow::<Inline<4>>::new(1, Duration::from_secs(1), 4).is_err());
    assert!(SlidingWindow::<Inline<4>>::new(1, Duration::from_secs(1), 3).is_ok());
}

#[test]
fn the_end_of_time_is_the_end_of_waiting() {
    let mut window = FixedWindow::new(1, Duration::from_nanos(u64::MAX), at(0)).unwrap();
    window.try_acquire(at(5), 1).unwrap();
    assert_eq!(window.peek(at(5), 1).unwrap_err().retry_at, Some(Timestamp::MAX));
    window.charge(at(5), 9);
    assert_eq!(window.peek(at(5), 1).unwrap_err().retry_at, None);
}

#[test]
fn a_count_that_ran_over_gives_nothing_back() {
    let mut window = sliding(u64::MAX);
    window.charge(at(0), u64::MAX);
    window.charge(at(0), u64::MAX);
    window.refund(at(0), u64::MAX, at(0));
    assert_eq!(window.available(at(0)), 0);
    assert_eq!(window.available(at(70 * S)), u64::MAX);
}

#[test]
fn an_overshoot_locks_a_window_until_it_is_repaid() {
    let lock = Overshoot::Lock { max_debt: 5 };
    let minute = Duration::from_secs(60);
    let mut fixed = FixedWindow::with_overshoot(10, minute, at(0), lock).unwrap();
    fixed.try_acquire(at(0), 8).unwrap();
    assert_eq!((fixed.available(at(0)), fixed.grantable(at(0))), (2, 7));
    assert_eq!(fixed.peek(at(0), 8).unwrap_err(), Refused::until(Reason::RateExceeded, Some(at(60 * S))));
    assert_eq!(fixed.peek(at(0), 16).unwrap_err().reason, Reason::ExceedsCapacity);
    fixed.try_acquire(at(0), 7).unwrap();
    assert_eq!((fixed.available(at(0)), fixed.grantable(at(0))), (0, 0));
    assert_eq!(fixed.peek(at(0), 0).unwrap_err(), Refused::until(Reason::InDebt, Some(at(60 * S))));
    assert_eq!(fixed.unused_at(at(0)), Some(at(120 * S)));
    assert_eq!(fixed.grantable(at(60 * S)), 10, "five of the next window are repaid");

    let mut sliding = SlidingWindow::<Heap>::with_overshoot(10, minute, 6, lock).unwrap();
    sliding.try_acquire(at(0), 8).unwrap();
    sliding.try_acquire(at(10 * S), 7).unwrap();
    assert_eq!(sliding.peek(at(10 * S), 0).unwrap_err(), Refused::until(Reason::InDebt, Some(at(70 * S))));
    assert_eq!((sliding.available(at(70 * S)), sliding.grantable(at(70 * S))), (3, 8));
    assert_eq!(sliding.unused_at(at(10 * S)), Some(at(80 * S)));
}

#[test]
fn a_changed_limit_leaves_what_is_used_as_it_is() {
    let mut fixed = fixed(10);
    let mut sliding = sliding(10);
    fixed.charge(at(0), 25);
    sliding.try_acquire(at(0), 9).unwrap();
    fixed.set_limit(at(60 * S), 2, Overshoot::Deny).unwrap();
    sliding.set_limit(4, Overshoot::Deny).unwrap();
    assert_eq!(fixed.used_at(at(60 * S)), 15, "a window was repaid at the limit it had");
    assert_eq!(fixed.used_at(at(120 * S)), 13);
    assert_eq!((sliding.used_at(at(0)), sliding.available(at(0))), (9, 0));
    assert_eq!(sliding.peek(at(0), 1).unwrap_err().reason, Reason::InDebt);
    assert!(fixed.set_limit(at(0), 0, Overshoot::Deny).is_err());
    assert!(sliding.set_limit(u64::MAX, Overshoot::Lock { max_debt: 1 }).is_err());
    assert_eq!((fixed.used_at(at(120 * S)), sliding.used_at(at(0))), (13, 9));
}
