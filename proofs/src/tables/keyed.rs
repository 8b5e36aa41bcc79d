//! A bucket for each key.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::rate::{Inherit, Keyed, KeyedReservation, Quota};

use super::Hashes;
use crate::{answer, store};

type Buckets = Keyed<u64, Hashes>;

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_try_acquire(buckets: &mut Buckets, now: Timestamp, key: u64, cost: u64) -> u64 {
    answer(buckets.try_acquire(now, &key, cost))
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_charge(buckets: &mut Buckets, now: Timestamp, key: u64, cost: u64) -> u64 {
    answer(buckets.charge(now, &key, cost))
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_reserve(
    buckets: &mut Buckets,
    now: Timestamp,
    key: u64,
    cost: u64,
    max_wait: Duration,
    place: &mut KeyedReservation,
) -> bool {
    store(place, buckets.reserve(now, &key, cost, max_wait))
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_cancel(
    buckets: &mut Buckets,
    now: Timestamp,
    key: u64,
    reservation: KeyedReservation,
) {
    buckets.cancel(now, &key, reservation);
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_peek(buckets: &Buckets, now: Timestamp, key: u64, ahead: u64, cost: u64) -> u64 {
    let looked = answer(buckets.peek(now, &key, cost)) ^ answer(buckets.peek_behind(now, &key, ahead, cost));
    looked ^ buckets.available(now, &key) ^ u64::from(buckets.holds(&key))
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_set_quota(
    buckets: &mut Buckets,
    now: Timestamp,
    quota: Quota,
    inherit: Inherit,
) -> bool {
    buckets.set_quota(now, quota, inherit).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_forget_recovered(buckets: &mut Buckets, now: Timestamp) -> u32 {
    buckets.forget_recovered(now)
}

#[unsafe(no_mangle)]
extern "C" fn proof_keyed_snapshot(buckets: &Buckets) -> u64 {
    let size = buckets.len() ^ buckets.capacity() ^ u32::from(buckets.is_empty());
    let snapshot = buckets.snapshot();
    buckets.burst() ^ u64::from(size) ^ snapshot.held ^ snapshot.refused ^ snapshot.evicted
}
