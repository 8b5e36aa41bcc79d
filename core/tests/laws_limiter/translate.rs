//! From the oracles' plain numbers to the core's types and back.

use core::time::Duration;

use tollgate::Reason;
use tollgate::adapt::{
    BurstSettings, Counting, Guarantee, LimiterSettings, Mode, Outcome, PartitionId, Share,
};
use tollgate_model::partitions as parts;
use tollgate_model::{Denied, burst, limiter as model};

pub(crate) fn share(share: &parts::Share) -> Share {
    let pause = Duration::from_nanos(share.pause);
    Share { partition: PartitionId(share.partition), share_ppm: share.ppm, pause }
}

pub(crate) fn shares(shares: &[parts::Share]) -> Vec<Share> {
    shares.iter().map(share).collect()
}

pub(crate) fn guarantee(guarantee: parts::Guarantee) -> Guarantee {
    match guarantee {
        parts::Guarantee::Overshoot(unknown_reserve) => Guarantee::Overshoot { unknown_reserve },
        parts::Guarantee::Reserved => Guarantee::Reserved,
    }
}

pub(crate) fn window(rules: burst::Rules) -> BurstSettings {
    let burst::Rules { capacity, close_after, open_after } = rules;
    BurstSettings { capacity, close_after, open_after }
}

pub(crate) fn mode(mode: model::Mode) -> Mode {
    match mode {
        model::Mode::Disabled => Mode::Disabled,
        model::Mode::MonitorOnly => Mode::MonitorOnly,
        model::Mode::Enforced => Mode::Enforced,
    }
}

pub(crate) fn settings(rules: &model::Rules) -> LimiterSettings {
    LimiterSettings {
        mode: mode(rules.mode),
        warmup: Duration::from_nanos(rules.warmup),
        burst: window(rules.burst),
        guarantee: guarantee(rules.guarantee),
        counting: if rules.honest { Counting::Honest } else { Counting::Reference },
    }
}

pub(crate) fn outcome(outcome: model::Outcome) -> Outcome {
    match outcome {
        model::Outcome::Success => Outcome::Success,
        model::Outcome::Dropped => Outcome::Dropped,
        model::Outcome::Ignored => Outcome::Ignored,
    }
}

pub(crate) fn denied(reason: Reason) -> Denied {
    match reason {
        Reason::ExceedsLimit => Denied::ExceedsLimit,
        Reason::NoPermits => Denied::NoPermits,
        other => panic!("{other:?} from a limiter"),
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("of our clock")
}
