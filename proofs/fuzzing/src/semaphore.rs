//! A semaphore with a line beside two lists.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate_model::ops::SemaphoreOp;
use tollgate_model::semaphore::Rule;

use crate::bytes::Bytes;
use crate::lawful;

#[path = "../../../core/tests/laws_semaphore/pair.rs"]
mod pair;

const MOST: usize = 200;

pub(crate) fn run(data: &[u8]) {
    lawful(judge(&mut Bytes(data)));
}

fn judge(bytes: &mut Bytes<'_>) -> TestCaseResult {
    let limit = bytes.mostly(8);
    let room = bytes.within_u32(0, 12);
    let max_passes = bytes.maybe(2, |bytes| bytes.within_u32(0, 4));
    let rule = max_passes.map_or(Rule::Strict, Rule::Backfill);
    let mut pair = pair::Pair::new(limit, room, rule);
    for _ in 0..MOST {
        if !bytes.any_left() {
            break;
        }
        pair.apply(op(bytes))?;
        for &(ahead, passed) in pair.ahead.values() {
            let bound = (ahead + 1) * max_passes.unwrap_or(0) as usize;
            prop_assert!(passed as usize <= bound, "passed {passed} times, {ahead} ahead");
        }
    }
    pair.drain()
}

fn op(bytes: &mut Bytes<'_>) -> SemaphoreOp {
    match bytes.byte() % 32 {
        0..=3 => SemaphoreOp::TryAcquire(bytes.mostly(6)),
        4..=12 => SemaphoreOp::Acquire(bytes.mostly(6)),
        13..=19 => SemaphoreOp::Poll,
        20..=24 => SemaphoreOp::Release(bytes.place()),
        25 => SemaphoreOp::Split(bytes.place(), bytes.mostly(4)),
        26 => SemaphoreOp::Forget(bytes.place()),
        27 | 28 => SemaphoreOp::Cancel(bytes.place()),
        29 | 30 => SemaphoreOp::SetLimit(bytes.mostly(9)),
        _ if bytes.once_in(4) => SemaphoreOp::Close,
        _ => SemaphoreOp::Poll,
    }
}
