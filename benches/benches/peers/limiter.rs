//! A request through the whole limiter: one ends, and one asks to be let in.
//!
//! As many are in flight as the limit allows, and one ends every 100 µs or so: a server that does one at a time, and a
//! limit that is always met. The floor keeps the starts, counts, and takes a mean, and that is all.

use core::hint::black_box;
use core::time::Duration;
use std::collections::VecDeque;

use criterion::Criterion;
use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Knee, KneeSettings, Limiter, LimiterSettings, Outcome, PartitionId, Share,
    Ticket,
};
use tollgate::slots::Heap;
use tollgate_benches::{Case, run as contest};

/// The greatest limit, so that what is kept of the requests in flight is small.
const MAX: u32 = 64;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(
        criterion,
        &[
            case("knee", 0, knee),
            case("knee-4-partitions", 4, knee),
            case("aimd", 0, aimd),
            case("aimd-4-partitions", 4, aimd),
        ],
    );
}

fn knee() -> Knee {
    Knee::new(KneeSettings { max: MAX, ..KneeSettings::default() }).expect("lawful")
}

fn aimd() -> Aimd {
    Aimd::new(AimdSettings { max: MAX, ..AimdSettings::default() }).expect("lawful")
}

fn case<E: Estimator + 'static>(name: &'static str, partitions: u32, make: fn() -> E) -> Case<'static> {
    Case::new("limiter", name)
        .alone("tollgate", move || {
            let mut limiter = limiter(make(), partitions);
            let mut held: VecDeque<Ticket> = VecDeque::with_capacity(2 * MAX as usize);
            let mut now_ns = 0_u64;
            move |ordinal| {
                now_ns += step_ns(ordinal);
                let now = Timestamp::from_nanos(now_ns);
                if let Some(oldest) = held.pop_front() {
                    limiter.complete(now, oldest, Outcome::Success).expect("its own ticket");
                }
                let partition = (partitions > 0).then_some(PartitionId(ordinal & 3));
                while let Ok(ticket) = limiter.try_admit(now, partition, 1) {
                    held.push_back(ticket);
                    if held.len() >= limiter.limit() as usize {
                        break;
                    }
                }
            }
        })
        .alone("floor", || {
            let mut held: VecDeque<Timestamp> = VecDeque::with_capacity(MAX as usize);
            let (mut now_ns, mut mean_ns) = (0_u64, 0.0_f64);
            move |ordinal| {
                now_ns += step_ns(ordinal);
                let now = Timestamp::from_nanos(now_ns);
                if let Some(oldest) = held.pop_front() {
                    let rtt = now.saturating_since(oldest);
                    mean_ns += (f64::from(rtt.subsec_nanos()) - mean_ns) * 0.1;
                }
                while held.len() < black_box(20) {
                    held.push_back(now);
                }
                black_box(mean_ns);
            }
        })
}

fn limiter<E: Estimator>(estimator: E, partitions: u32) -> Limiter<E, Heap> {
    let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
    let shares: Vec<Share> = (0..partitions)
        .map(|number| Share {
            partition: PartitionId(number),
            share_ppm: 1_000_000 / partitions,
            pause: Duration::ZERO,
        })
        .collect();
    Limiter::new(Timestamp::ZERO, estimator, settings, &shares, partitions).expect("lawful")
}

/// 80 to 120 µs.
fn step_ns(ordinal: u32) -> u64 {
    80_000 + u64::from(ordinal.wrapping_mul(2_654_435_769) >> 10) / 100
}
