//! Caps on what each key has in flight.

use core::time::Duration;

use tollgate::permit::{Bypass, Cap, Dimension, InFlight, InFlightTicket};

use super::Hashes;
use crate::store;

type Flying = InFlight<u64, Hashes>;

#[unsafe(no_mangle)]
extern "C" fn proof_inflight_try_acquire(
    flying: &mut Flying,
    pairs: &[(Dimension, &u64)],
    bypass: Bypass,
    ticket: &mut InFlightTicket,
) -> bool {
    store(ticket, flying.try_acquire(pairs, bypass))
}

#[unsafe(no_mangle)]
extern "C" fn proof_inflight_release(flying: &mut Flying, ticket: InFlightTicket) -> bool {
    flying.release(ticket).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_inflight_set_cap(flying: &mut Flying, dimension: Dimension, cap: Cap, hint: Duration) {
    flying.set_cap(dimension, cap);
    flying.set_hint(Some(hint));
}

#[unsafe(no_mangle)]
extern "C" fn proof_inflight_set_override(
    flying: &mut Flying,
    dimension: Dimension,
    key: u64,
    cap: Option<Cap>,
) -> bool {
    flying.set_override(dimension, &key, cap).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_inflight_held(flying: &Flying, dimension: Dimension, key: u64) -> u32 {
    flying.held(dimension, &key) ^ u32::from(flying.cap(dimension, &key) == Cap::Unlimited)
}

#[unsafe(no_mangle)]
extern "C" fn proof_inflight_sum(flying: &Flying) -> u64 {
    let held = flying.gauges().map(|gauge| gauge.held).fold(0, u32::wrapping_add);
    u64::from(held ^ flying.len() ^ u32::from(flying.is_empty())) ^ flying.snapshot().refused
}
