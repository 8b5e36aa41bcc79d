//! The token buckets and the windows.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::rate::{
    AtomicBucket, FixedWindow, Inherit, Overshoot, Oversize, Policy, Quota, RateLimit, SlidingWindow,
    TokenBucket,
};
use tollgate::slots::Inline;

use crate::{Draw, Machine, Transcript};

type Sliced = SlidingWindow<Inline<9>>;

pub(crate) const BUCKET: Machine =
    Machine { name: "bucket", ram: size_of::<TokenBucket>(), sequence: bucket, recorded: &[] };
pub(crate) const ATOMIC_BUCKET: Machine =
    Machine { name: "atomic_bucket", ram: size_of::<AtomicBucket>(), sequence: atomic_bucket, recorded: &[] };
pub(crate) const FIXED_WINDOW: Machine =
    Machine { name: "fixed_window", ram: size_of::<FixedWindow>(), sequence: fixed_window, recorded: &[] };
pub(crate) const SLIDING_WINDOW: Machine =
    Machine { name: "sliding_window", ram: size_of::<Sliced>(), sequence: sliding_window, recorded: &[] };

const STEPS: u32 = 200;
/// Time passes in steps of less than two to this power, about half a second.
const BITS: u32 = 29;

fn bucket(draw: &mut Draw, transcript: &mut Transcript) {
    let policy = Policy { overshoot: overshoot(draw), oversize: oversize(draw) };
    let Some(mut bucket) = transcript.made(TokenBucket::with_policy(quota(draw), policy)) else { return };
    let mut reserved = None;
    let mut granted_at = Timestamp::ZERO;
    for _ in 0..STEPS {
        let (now, cost) = (draw.now(BITS), cost(draw));
        match draw.below(10) {
            0 => transcript.note(&bucket.acquire_up_to(now, cost)),
            1 => transcript.note(&bucket.peek(now, cost)),
            2 => transcript.note(&bucket.set_quota(now, quota(draw), inherit(draw))),
            3 => bucket.charge(now, cost),
            4 => bucket.refund(now, cost, granted_at),
            5 => reserved = transcript.made(bucket.reserve(now, cost, draw.span(40))),
            6 => match reserved.take() {
                Some(reservation) if draw.once_in(2) => bucket.settle(now, reservation, cost),
                Some(reservation) => bucket.cancel(now, reservation),
                None => {}
            },
            _ => {
                let answer = bucket.try_acquire(now, cost);
                granted_at = if answer.is_ok() { now } else { granted_at };
                transcript.note(&answer);
            }
        }
        transcript.note(&(&reserved, bucket.state(now), bucket.available(now)));
    }
    transcript.note(&bucket);
}

fn atomic_bucket(draw: &mut Draw, transcript: &mut Transcript) {
    let Some(mut bucket) = transcript.made(AtomicBucket::new(quota(draw))) else { return };
    for _ in 0..STEPS {
        let (now, cost) = (draw.now(BITS), cost(draw));
        match draw.below(8) {
            0 => transcript.note(&bucket.peek(now, cost)),
            1 => transcript.note(&bucket.set_quota(now, quota(draw), inherit(draw))),
            _ => transcript.note(&bucket.try_acquire(now, cost)),
        }
        transcript.note(&(bucket.available(now), bucket.capacity()));
    }
}

fn fixed_window(draw: &mut Draw, transcript: &mut Transcript) {
    let (limit, origin) = (u64::from(draw.below(20)), Timestamp::from_nanos(draw.wild()));
    let made = FixedWindow::with_overshoot(limit, length(draw), origin, overshoot(draw));
    let Some(mut window) = transcript.made(made) else { return };
    for _ in 0..STEPS {
        let now = any_window(&mut window, draw, transcript);
        if draw.once_in(16) {
            transcript.note(&window.set_limit(now, u64::from(draw.below(20)), overshoot(draw)));
        }
        transcript.note(&(window.grantable(now), window.used_at(now), window.unused_at(now)));
    }
}

fn sliding_window(draw: &mut Draw, transcript: &mut Transcript) {
    let (limit, slices) = (u64::from(draw.below(20)), draw.below(9));
    let made = Sliced::with_overshoot(limit, length(draw), slices, overshoot(draw));
    let Some(mut window) = transcript.made(made) else { return };
    for _ in 0..STEPS {
        let now = any_window(&mut window, draw, transcript);
        if draw.once_in(16) {
            transcript.note(&window.set_limit(u64::from(draw.below(20)), overshoot(draw)));
        }
        transcript.note(&(window.grantable(now), window.used_at(now), window.unused_at(now)));
    }
}

/// An operation that every window has.
fn any_window(window: &mut impl RateLimit, draw: &mut Draw, transcript: &mut Transcript) -> Timestamp {
    let (now, cost) = (draw.now(BITS), cost(draw));
    match draw.below(8) {
        0 => transcript.note(&window.peek(now, cost)),
        1 => window.charge(now, cost),
        2 => window.refund(now, cost, now.saturating_sub(draw.span(BITS))),
        _ => transcript.note(&window.try_acquire(now, cost)),
    }
    transcript.note(&window.available(now));
    now
}

/// Mostly a few tokens in part of a second, at times anything, what cannot be included.
fn quota(draw: &mut Draw) -> Quota {
    if draw.once_in(12) {
        return Quota::new(draw.wild(), Duration::from_nanos(draw.wild())).burst(draw.wild());
    }
    Quota::new(u64::from(draw.up_to(40)), length(draw)).burst(u64::from(draw.up_to(30)))
}

fn length(draw: &mut Draw) -> Duration {
    Duration::from_millis(u64::from(draw.up_to(2_000))).saturating_add(draw.span(20))
}

/// Mostly a few, at times any number.
fn cost(draw: &mut Draw) -> u64 {
    if draw.once_in(16) { draw.wild() } else { u64::from(draw.below(12)) }
}

fn overshoot(draw: &mut Draw) -> Overshoot {
    if draw.once_in(2) { Overshoot::Deny } else { Overshoot::Lock { max_debt: u64::from(draw.below(12)) } }
}

fn oversize(draw: &mut Draw) -> Oversize {
    if draw.once_in(2) { Oversize::Refuse } else { Oversize::WhenFull }
}

fn inherit(draw: &mut Draw) -> Inherit {
    match draw.below(3) {
        0 => Inherit::AsIs,
        1 => Inherit::Proportional,
        _ => Inherit::Reset,
    }
}
