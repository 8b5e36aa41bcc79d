//! The token bucket of one owner, and the atomic one.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::rate::{AtomicBucket, Inherit, Overshoot, Oversize, Policy, Quota, Reservation, TokenBucket};

use crate::{answer, store};

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_new(place: &mut TokenBucket, quota: Quota, max_debt: u64) -> bool {
    let policy = Policy { overshoot: Overshoot::Lock { max_debt }, oversize: Oversize::WhenFull };
    store(place, TokenBucket::with_policy(quota, policy))
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_try_acquire(bucket: &mut TokenBucket, now: Timestamp, cost: u64) -> u64 {
    answer(bucket.try_acquire(now, cost))
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_acquire_up_to(bucket: &mut TokenBucket, now: Timestamp, max: u64) -> u64 {
    bucket.acquire_up_to(now, max)
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_peek(bucket: &TokenBucket, now: Timestamp, cost: u64) -> u64 {
    answer(bucket.peek(now, cost)) ^ bucket.available(now) ^ bucket.state(now).debt
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_reserve(
    bucket: &mut TokenBucket,
    now: Timestamp,
    cost: u64,
    max_wait: Duration,
    place: &mut Reservation,
) -> bool {
    store(place, bucket.reserve(now, cost, max_wait))
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_cancel(bucket: &mut TokenBucket, now: Timestamp, reservation: Reservation) {
    bucket.cancel(now, reservation);
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_settle(
    bucket: &mut TokenBucket,
    now: Timestamp,
    reserved: Reservation,
    actual: u64,
) {
    bucket.settle(now, reserved, actual);
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_refund(
    bucket: &mut TokenBucket,
    now: Timestamp,
    cost: u64,
    granted_at: Timestamp,
) {
    bucket.refund(now, cost, granted_at);
    bucket.charge(now, cost);
}

#[unsafe(no_mangle)]
extern "C" fn proof_bucket_set_quota(
    bucket: &mut TokenBucket,
    now: Timestamp,
    quota: Quota,
    inherit: Inherit,
) -> bool {
    bucket.set_quota(now, quota, inherit).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_bucket_new(place: &mut AtomicBucket, quota: Quota) -> bool {
    store(place, AtomicBucket::new(quota))
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_bucket_try_acquire(bucket: &AtomicBucket, now: Timestamp, cost: u64) -> u64 {
    answer(bucket.try_acquire(now, cost))
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_bucket_peek(bucket: &AtomicBucket, now: Timestamp, cost: u64) -> u64 {
    answer(bucket.peek(now, cost)) ^ bucket.available(now)
}

#[unsafe(no_mangle)]
extern "C" fn proof_atomic_bucket_set_quota(
    bucket: &mut AtomicBucket,
    now: Timestamp,
    quota: Quota,
    inherit: Inherit,
) -> bool {
    bucket.set_quota(now, quota, inherit).is_ok()
}
