//! A table of buckets beside one that forgets nobody by itself.

use proptest::test_runner::TestCaseResult;
use tollgate::rate::WhenFull;
use tollgate_model::bucket::Quota;

use crate::bytes::Bytes;
use crate::steps::Scale;
use crate::{bucket, common, lawful};

#[path = "../../../core/tests/laws_keyed/pair.rs"]
mod pair;

const MOST: usize = 80;

pub(crate) fn run(data: &[u8]) {
    lawful(judge(&mut Bytes(data)));
}

fn judge(bytes: &mut Bytes<'_>) -> TestCaseResult {
    let exact = bytes.once_in(2);
    let when_full = bytes.choose(&[WhenFull::Refuse, WhenFull::Overflow]);
    let capacity = bytes.within_u32(1, 6);
    let (first, changes) = if exact {
        // A token takes whole nanoseconds.
        let tokens = bytes.within(1, 3);
        (Quota { tokens, per_ns: tokens * bytes.within(1, 29), burst: bytes.within(1, 11) }, vec![])
    } else {
        let changes = bytes.within(0, 3);
        let mut change = || (bucket::quota(bytes, Scale::Small), usize::from(bytes.once_in(2)));
        let changes = (0..changes).map(|_| change()).collect();
        (bucket::quota(bytes, Scale::Small), changes)
    };
    let mut run = vec![];
    while bytes.any_left() && run.len() < MOST {
        let step = Scale::Small.step(bytes);
        let key = bytes.within(0, pair::KEYS - 1);
        let op = match bytes.byte() % 10 {
            0..=7 => pair::Op::Acquire(bytes.within(0, 12)),
            8 => pair::Op::Charge(bytes.within(0, 30)),
            _ => pair::Op::Forget,
        };
        run.push((step, key, op));
    }
    if exact {
        pair::play(first, capacity, when_full, &run)
    } else {
        pair::never_more(first, capacity, when_full, &run, &changes)
    }
}
