//! A token bucket beside its whole history.

use proptest::test_runner::TestCaseResult;
use tollgate_model::bucket::{Inherit, Policy, Quota};
use tollgate_model::ops::{RATES_PER_SECOND, RateOp};

use crate::bytes::Bytes;
use crate::common;
use crate::lawful;
use crate::steps::Scale;

#[allow(dead_code, reason = "the law tests use all of it")]
#[path = "../../../core/tests/laws_bucket/pair.rs"]
mod pair;

/// The oracle goes through everything so far at each question.
const MOST: usize = 48;

pub(crate) fn run(data: &[u8]) {
    lawful(judge(&mut Bytes(data)));
}

fn judge(bytes: &mut Bytes<'_>) -> TestCaseResult {
    let scale = Scale::read(bytes);
    // Where something is given back or the quota changes, a machine may refuse what it could grant.
    let (gives_back, changes) = (bytes.once_in(2), bytes.once_in(2));
    let first = quota(bytes, scale);
    let max_debt = bytes.maybe(3, |bytes| scale.number(bytes, 30));
    let how = Policy { max_debt, when_full: bytes.once_in(4) };
    let Some(mut pair) = pair::Pair::new(first, how) else { return Ok(()) };
    for _ in 0..MOST {
        if !bytes.any_left() {
            break;
        }
        pair.step(scale.step(bytes));
        if gives_back {
            pair.any(any(bytes, scale, changes))?;
        } else {
            pair.grant(grant(bytes, scale))?;
        }
    }
    if gives_back && changes { Ok(()) } else { pair.rate_law() }
}

pub(crate) fn quota(bytes: &mut Bytes<'_>, scale: Scale) -> Quota {
    match bytes.byte() % 4 {
        0 => Quota {
            tokens: bytes.choose(&RATES_PER_SECOND),
            per_ns: 1_000_000_000,
            burst: bytes.within(1, 200),
        },
        1 if scale == Scale::Extreme => {
            Quota { tokens: bytes.edge().max(1), per_ns: bytes.edge().max(1), burst: bytes.edge().max(1) }
        }
        _ => Quota { tokens: bytes.within(1, 9), per_ns: bytes.within(1, 20), burst: bytes.within(1, 12) },
    }
}

fn grant(bytes: &mut Bytes<'_>, scale: Scale) -> RateOp {
    let kind = bytes.byte();
    let cost = scale.number(bytes, 12);
    match kind % 8 {
        0..=3 => RateOp::Acquire(cost),
        4 => RateOp::UpTo(cost),
        5 => RateOp::Peek(cost),
        6 => RateOp::Charge(cost),
        _ => RateOp::Reserve(cost, if bytes.once_in(3) { u64::MAX } else { scale.number(bytes, 60) }),
    }
}

fn any(bytes: &mut Bytes<'_>, scale: Scale, changes: bool) -> RateOp {
    match bytes.byte() % 12 {
        0..=4 => grant(bytes, scale),
        5 | 6 => RateOp::Reserve(scale.number(bytes, 12), u64::MAX),
        7 | 8 => RateOp::Cancel(bytes.place()),
        9 => RateOp::Settle(bytes.place(), scale.number(bytes, 12)),
        11 if changes => {
            let inherit = bytes.choose(&[Inherit::AsIs, Inherit::Proportional, Inherit::Reset]);
            RateOp::SetQuota(quota(bytes, scale), inherit)
        }
        _ => RateOp::Refund(bytes.place(), scale.number(bytes, 12)),
    }
}
