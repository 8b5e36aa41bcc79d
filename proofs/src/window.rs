//! Counters over windows of time, the slices of the sliding one in the machine itself.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::rate::{FixedWindow, Overshoot, RateLimit, SlidingWindow};
use tollgate::slots::Inline;

use crate::{answer, store};

type Sliced = SlidingWindow<Inline<16>>;

#[unsafe(no_mangle)]
extern "C" fn proof_fixed_window_new(
    place: &mut FixedWindow,
    limit: u64,
    length: Duration,
    origin: Timestamp,
    max_debt: u64,
) -> bool {
    store(place, FixedWindow::with_overshoot(limit, length, origin, Overshoot::Lock { max_debt }))
}

#[unsafe(no_mangle)]
extern "C" fn proof_fixed_window_try_acquire(window: &mut FixedWindow, now: Timestamp, cost: u64) -> u64 {
    answer(window.try_acquire(now, cost))
}

#[unsafe(no_mangle)]
extern "C" fn proof_fixed_window_charge(window: &mut FixedWindow, now: Timestamp, cost: u64) {
    window.charge(now, cost);
}

#[unsafe(no_mangle)]
extern "C" fn proof_fixed_window_refund(
    window: &mut FixedWindow,
    now: Timestamp,
    cost: u64,
    granted_at: Timestamp,
) {
    window.refund(now, cost, granted_at);
}

#[unsafe(no_mangle)]
extern "C" fn proof_fixed_window_set_limit(
    window: &mut FixedWindow,
    now: Timestamp,
    limit: u64,
    overshoot: Overshoot,
) -> bool {
    window.set_limit(now, limit, overshoot).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_fixed_window_look(window: &FixedWindow, now: Timestamp, cost: u64) -> u64 {
    let unused_at = window.unused_at(now).map_or(u64::MAX, Timestamp::as_nanos);
    let used = u64::from(window.used_at(now) > u128::from(cost));
    answer(window.peek(now, cost)) ^ window.available(now) ^ window.grantable(now) ^ unused_at ^ used
}

#[unsafe(no_mangle)]
extern "C" fn proof_sliding_window_new(
    place: &mut Sliced,
    limit: u64,
    length: Duration,
    slices: u32,
    max_debt: u64,
) -> bool {
    store(place, Sliced::with_overshoot(limit, length, slices, Overshoot::Lock { max_debt }))
}

#[unsafe(no_mangle)]
extern "C" fn proof_sliding_window_try_acquire(window: &mut Sliced, now: Timestamp, cost: u64) -> u64 {
    answer(window.try_acquire(now, cost))
}

#[unsafe(no_mangle)]
extern "C" fn proof_sliding_window_charge(window: &mut Sliced, now: Timestamp, cost: u64) {
    window.charge(now, cost);
}

#[unsafe(no_mangle)]
extern "C" fn proof_sliding_window_refund(
    window: &mut Sliced,
    now: Timestamp,
    cost: u64,
    granted_at: Timestamp,
) {
    window.refund(now, cost, granted_at);
}

#[unsafe(no_mangle)]
extern "C" fn proof_sliding_window_set_limit(window: &mut Sliced, limit: u64, overshoot: Overshoot) -> bool {
    window.set_limit(limit, overshoot).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_sliding_window_look(window: &Sliced, now: Timestamp, cost: u64) -> u64 {
    let unused_at = window.unused_at(now).map_or(u64::MAX, Timestamp::as_nanos);
    let used = u64::from(window.used_at(now) > u128::from(cost));
    answer(window.peek(now, cost)) ^ window.available(now) ^ window.grantable(now) ^ unused_at ^ used
}
