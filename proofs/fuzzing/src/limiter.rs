//! A limiter beside lists of requests.

use proptest::test_runner::TestCaseResult;
use tollgate::slots::{Heap, Inline, Storage};
use tollgate_model::burst;
use tollgate_model::limiter::{Mode, Outcome, Rules};
use tollgate_model::ops::Step;
use tollgate_model::ops::limiter::{LimiterOp, MOST as MOST_SHARES, NAMES};
use tollgate_model::partitions::{Guarantee, Share};

use crate::bytes::Bytes;
use crate::common;
use crate::lawful;
use crate::steps::Scale;

#[path = "../../../core/tests/laws_limiter/learns.rs"]
mod learns;
#[path = "../../../core/tests/laws_limiter/pair.rs"]
mod pair;
#[path = "../../../core/tests/laws_limiter/translate.rs"]
mod translate;
use learns::{Real, Script, Subject};

const MOST: usize = 120;

type Run = Vec<(Step, LimiterOp)>;

pub(crate) fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let scale = Scale::read(&mut bytes);
    let learns = bytes.once_in(3);
    let (rules, shares) = (rules(&mut bytes, scale, true), shares(&mut bytes));
    let seed = scale.number_u32(&mut bytes, 24);
    let mut run = vec![];
    while bytes.any_left() && run.len() < MOST {
        run.push((scale.step(&mut bytes), op(&mut bytes, scale)));
    }
    lawful(match (scale, learns) {
        (Scale::Extreme, _) => agree::<Script, Inline<4>>(rules, &shares, seed, &run),
        (Scale::Small, true) => agree::<Real, Heap>(rules, &shares, seed, &run),
        (Scale::Small, false) => agree::<Script, Heap>(rules, &shares, seed, &run),
    });
}

fn agree<E: Subject, S: Storage>(rules: Rules, shares: &[Share], seed: u32, run: &Run) -> TestCaseResult {
    let mut pair = pair::Pair::<E, S>::new(rules, shares, seed);
    pair.run(run)?;
    pair.drain()
}

fn mode(bytes: &mut Bytes<'_>) -> Mode {
    bytes.choose(&[Mode::Enforced, Mode::Enforced, Mode::MonitorOnly, Mode::Disabled])
}

/// `whole` for one that is valid.
fn rules(bytes: &mut Bytes<'_>, scale: Scale, whole: bool) -> Rules {
    let least = u32::from(whole || !bytes.once_in(8));
    let most_room = if whole { (1 << 31) - 1 } else { u32::MAX };
    Rules {
        mode: mode(bytes),
        warmup: if bytes.once_in(2) { scale.number(bytes, 60) } else { 0 },
        burst: burst::Rules {
            capacity: scale.number_u32(bytes, 6).min(most_room),
            close_after: bytes.within_u32(least, 4),
            open_after: bytes.within_u32(least, 4),
        },
        guarantee: match bytes.byte() % 5 {
            kind @ 0..=2 => Guarantee::Overshoot(kind.into()),
            _ => Guarantee::Reserved,
        },
        honest: bytes.once_in(2),
    }
}

/// Parts of the whole for partitions that follow each other, in parts per million.
fn shares(bytes: &mut Bytes<'_>) -> Vec<Share> {
    let (count, first) = (bytes.place() % (MOST_SHARES + 1), bytes.within_u32(0, NAMES - 1));
    let mut left = 1_000_000;
    let mut share = |number| {
        let ppm = match bytes.byte() % 4 {
            0 => left,
            1 => 333_333.min(left),
            2 => bytes.within_u32(0, 100) * 10_000 % (left + 1),
            _ => bytes.mostly_u32(255) % (left + 1),
        };
        left -= ppm;
        Share { partition: (first + number) % NAMES, ppm, pause: bytes.mostly(20) }
    };
    (0..).map(&mut share).take(count).collect()
}

fn name(bytes: &mut Bytes<'_>) -> Option<u32> {
    let name = bytes.within_u32(0, NAMES);
    (name < NAMES).then_some(name)
}

fn op(bytes: &mut Bytes<'_>, scale: Scale) -> LimiterOp {
    match bytes.byte() % 40 {
        0..=19 => LimiterOp::Admit(name(bytes), scale.number_u32(bytes, 3)),
        20..=31 => {
            let outcomes = [Outcome::Success, Outcome::Success, Outcome::Dropped, Outcome::Ignored];
            LimiterOp::Complete(bytes.place(), bytes.choose(&outcomes))
        }
        32 => LimiterOp::CompleteOthers(mode(bytes), name(bytes), scale.number_u32(bytes, 9)),
        33 => LimiterOp::Tick,
        34 => LimiterOp::Restart,
        35 | 36 => {
            let rules = rules(bytes, scale, false);
            let mut shares = shares(bytes);
            if let Some(first) = shares.first_mut().filter(|_| bytes.once_in(6)) {
                // Two of one name, or more than the whole.
                first.partition = bytes.within_u32(0, NAMES - 1);
                first.ppm = first.ppm.saturating_add(bytes.mostly_u32(2));
            }
            LimiterOp::Reconfigure(rules, shares)
        }
        37 => LimiterOp::Replace(scale.number_u32(bytes, 24)),
        _ => LimiterOp::SetLearnt(scale.number_u32(bytes, 24)),
    }
}
