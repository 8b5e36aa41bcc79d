//! What the law tests have in common: from the model's plain numbers to the core's types.
#![allow(dead_code, unreachable_pub)]

use core::time::Duration;

use proptest::prelude::*;
use tollgate::Timestamp;
use tollgate::rate::{Inherit, Overshoot, Oversize, Policy, Quota};
use tollgate_model::bucket as oracle;

pub fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

pub fn quota(quota: oracle::Quota) -> Quota {
    Quota::new(quota.tokens, Duration::from_nanos(quota.per_ns)).burst(quota.burst)
}

pub fn policy(policy: oracle::Policy) -> Policy {
    Policy {
        overshoot: policy.max_debt.map_or(Overshoot::Deny, |max_debt| Overshoot::Lock { max_debt }),
        oversize: if policy.when_full { Oversize::WhenFull } else { Oversize::Refuse },
    }
}

pub fn inherit(inherit: oracle::Inherit) -> Inherit {
    match inherit {
        oracle::Inherit::AsIs => Inherit::AsIs,
        oracle::Inherit::Proportional => Inherit::Proportional,
        oracle::Inherit::Reset => Inherit::Reset,
    }
}

/// So many cases, `TOLLGATE_LAWS_TIMES` as many where that is set; no regression files: a failing input becomes a test
/// of its own.
pub fn cases(cases: u32) -> ProptestConfig {
    let times = std::env::var("TOLLGATE_LAWS_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    ProptestConfig {
        cases: cases.saturating_mul(times),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
