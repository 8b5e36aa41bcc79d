//! A gate beside lists of jobs and tenants.

use std::sync::Arc;

use proptest::test_runner::TestCaseResult;
use tollgate::gate::{Budget, Permits};
use tollgate::permit::AtomicPermits;
use tollgate::slots::{Heap, Inline, Storage};
use tollgate_model::gate::{Cost, Ending, Order, Rules};
use tollgate_model::ops::Step;
use tollgate_model::ops::gate::{GateOp, JobSpec, Reaction, When, Which};

use crate::bytes::Bytes;
use crate::common;
use crate::lawful;
use crate::steps::Scale;

#[allow(dead_code, reason = "the law tests use all of it")]
#[path = "../../../core/tests/laws_gate/agree.rs"]
mod agree;
#[allow(dead_code, reason = "the law tests use all of it")]
#[path = "../../../core/tests/laws_gate/pair.rs"]
mod pair;
#[path = "../../../core/tests/laws_gate/translate.rs"]
mod translate;

/// The oracle counts everything anew after each.
const MOST: usize = 120;

pub(crate) fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let scale = Scale::read(&mut bytes);
    let shared = bytes.once_in(4);
    let rules = rules(&mut bytes);
    let limit = if bytes.once_in(8) { scale.number(&mut bytes, 9) } else { bytes.within(0, 9) };
    let mut run = vec![];
    while bytes.any_left() && run.len() < MOST {
        run.push((step(&mut bytes, scale), op(&mut bytes, scale)));
    }
    lawful(match (scale, shared) {
        (Scale::Extreme, _) => agree::<Inline<16>, Budget>(rules, limit, &run),
        (Scale::Small, true) => agree::<Inline<16>, Permits<Arc<AtomicPermits>>>(rules, limit, &run),
        (Scale::Small, false) => agree::<Heap, Budget>(rules, limit, &run),
    });
}

fn agree<S: Storage, C: translate::Limited>(
    rules: Rules,
    limit: u64,
    run: &[(Step, GateOp)],
) -> TestCaseResult {
    let mut pair = pair::Pair::<S, C>::new(rules, limit);
    pair.run(run)?;
    pair.drain()
}

/// What the oracle is made for: newest first is strict there, and tenants have room.
fn rules(bytes: &mut Bytes<'_>) -> Rules {
    let newest_first_after = bytes.maybe(4, |bytes| bytes.within(0, 12));
    let newest = newest_first_after.is_some();
    let order = match bytes.byte() % 8 {
        0..=4 => Order::Deficit(bytes.within(1, 6)),
        5 => Order::Deficit(u64::MAX),
        _ => Order::Smooth,
    };
    Rules {
        max_queued: bytes.within_u32(0, 10),
        max_queued_bytes: if bytes.once_in(2) { u64::MAX } else { bytes.within(0, 30) },
        max_queued_per_tenant: bytes.within_u32(1, 10),
        max_bytes_per_tenant: if bytes.once_in(2) { u64::MAX } else { bytes.within(6, 20) },
        max_tenants: if newest { 16 } else { bytes.within_u32(1, 4) },
        max_active: bytes.within_u32(2, 6),
        max_attempts: bytes.within_u32(1, 3),
        max_wait: bytes.maybe(3, |bytes| bytes.within(0, 60)),
        order,
        default_weight: bytes.within_u32(1, 3),
        max_passes: bytes.maybe(2, |bytes| bytes.within_u32(0, 4)).filter(|_| !newest),
        reserve_after: bytes.maybe(3, |bytes| bytes.within(0, 20)),
        run_alone: bytes.once_in(2),
        refuse_early: bytes.once_in(2),
        expected_service: bytes.maybe(2, |bytes| bytes.within(0, 8)),
        newest_first_after,
        codel: bytes.maybe(3, |bytes| (bytes.within(1, 2), bytes.within(2, 10))),
        forgive_after: if bytes.once_in(5) { u64::MAX } else { bytes.within(0, 20) },
        classes: bytes.within_u32(0, 2),
        cost_smoothing_ppm: bytes.choose(&[250_000, 1_000_000, 1, 333_333, 999_999]),
    }
}

/// Mostly none: jobs have to meet.
fn step(bytes: &mut Bytes<'_>, scale: Scale) -> Step {
    if bytes.once_in(3) { scale.step(bytes) } else { Step::Stay }
}

fn when(bytes: &mut Bytes<'_>, scale: Scale) -> When {
    match scale {
        Scale::Extreme if bytes.once_in(6) => When::At(bytes.edge()),
        _ if bytes.once_in(32) => When::At(0),
        _ => When::In(bytes.within(0, 60)),
    }
}

fn job(bytes: &mut Bytes<'_>, scale: Scale) -> JobSpec {
    let kind = bytes.byte();
    JobSpec {
        tenant: [0, 0, 1, 1, 2, 3, 4, 5][usize::from(kind % 8)],
        cost: match kind >> 3 & 3 {
            0 => Cost::Class(bytes.within_u32(0, 2)),
            _ => Cost::Units(scale.number(bytes, 20)),
        },
        attempt: kind >> 5 & 1 == 1,
        weight: scale.number(bytes, 9),
        bytes: scale.number(bytes, 6),
        deadline: bytes.maybe(4, |bytes| when(bytes, scale)),
        ready_at: bytes.maybe(5, |bytes| when(bytes, scale)),
    }
}

fn ending(bytes: &mut Bytes<'_>, scale: Scale) -> Ending {
    match bytes.byte() % 8 {
        0 => Ending::NotStarted,
        1..=3 => Ending::Ran(Some(scale.number(bytes, 60))),
        _ => Ending::Ran(None),
    }
}

fn reaction(bytes: &mut Bytes<'_>, scale: Scale) -> Reaction {
    match bytes.byte() % 16 {
        0..=2 => Reaction::Complete(ending(bytes, scale)),
        3 => Reaction::Confirm,
        4 | 5 => Reaction::Retry(when(bytes, scale)),
        6 => Reaction::Cancel,
        7 => Reaction::Submit(job(bytes, scale)),
        _ => Reaction::None,
    }
}

fn which(bytes: &mut Bytes<'_>, mostly: fn(usize) -> Which) -> Which {
    let kind = bytes.byte();
    let place = usize::from(kind & 63);
    match kind >> 6 {
        0 => Which::Ever(place),
        1 if place % 2 == 0 => Which::Waiting(place),
        1 => Which::Running(place),
        _ => mostly(place),
    }
}

fn op(bytes: &mut Bytes<'_>, scale: Scale) -> GateOp {
    match bytes.byte() % 64 {
        0..=21 => GateOp::Submit(job(bytes, scale)),
        22..=25 => GateOp::TryStart(job(bytes, scale)),
        26..=29 => GateOp::Poll(1 + bytes.place() % 3),
        30..=41 => {
            let reactions = bytes.within(0, 2);
            GateOp::PollAll((0..reactions).map(|_| reaction(bytes, scale)).collect())
        }
        42..=47 => GateOp::Complete(which(bytes, Which::Running), ending(bytes, scale)),
        48 | 49 => GateOp::Confirm(which(bytes, Which::Running)),
        50..=52 => GateOp::Retry(which(bytes, Which::Running), when(bytes, scale)),
        53 | 54 => GateOp::Cancel(which(bytes, Which::Waiting)),
        55 | 56 => GateOp::SetWeight(bytes.within(0, 5), bytes.choose(&[1, 2, 3, 4, 0, u32::MAX])),
        57 | 58 => GateOp::Remove(bytes.within(0, 5)),
        59 | 60 => GateOp::SetLimit(scale.number(bytes, 9)),
        61 | 62 => {
            let class = bytes.within_u32(0, 2);
            GateOp::Class(class, scale.number(bytes, 6), scale.number(bytes, 3), scale.number(bytes, 9))
        }
        _ if bytes.once_in(4) => GateOp::Close(bytes.once_in(2)),
        _ => GateOp::Poll(1),
    }
}
