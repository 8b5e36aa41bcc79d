//! What can be done to each machine, as data, and generators of it.
//!
//! Ranges reach the ends of every type, with most of the weight on small numbers, where requests collide. What refers
//! to something earlier (a reservation, a ticket, a waiter) says "the k-th of those there are", so any list of
//! operations makes sense and stays one when it shrinks.

pub mod gate;
pub mod limiter;
pub mod limits;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::bucket::{Inherit, Policy, Quota};

/// How the clock moves before an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Not at all.
    Stay,
    /// Forward by nanoseconds.
    Forward(u64),
    /// Back by nanoseconds.
    Back(u64),
    /// To when the last refusal said, if it did.
    ToRetry,
    /// One nanosecond short of that.
    ShortOfRetry,
    /// To an instant.
    To(u64),
}

impl Step {
    /// The clock after the step.
    #[must_use]
    pub fn apply(self, now: u64, retry_at: Option<u64>) -> u64 {
        match self {
            Self::Stay => now,
            Self::Forward(by) => now.saturating_add(by),
            Self::Back(by) => now.saturating_sub(by),
            Self::ToRetry => retry_at.unwrap_or(now),
            Self::ShortOfRetry => retry_at.map_or(now, |at| at.saturating_sub(1)),
            Self::To(at) => at,
        }
    }
}

/// What can be done to a rate limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateOp {
    /// Ask for a cost.
    Acquire(u64),
    /// Ask for as much as there is, up to this.
    UpTo(u64),
    /// Look.
    Peek(u64),
    /// Take a cost ahead, if it comes within nanoseconds.
    Reserve(u64, u64),
    /// Give the k-th open reservation back.
    Cancel(usize),
    /// Correct the k-th open reservation to a cost.
    Settle(usize, u64),
    /// Give up to this much of the k-th grant back.
    Refund(usize, u64),
    /// Take a cost whatever is left.
    Charge(u64),
    /// Change the quota.
    SetQuota(Quota, Inherit),
}

/// What numbers look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Regime {
    /// A few tokens in a few nanoseconds: everything collides.
    Small,
    /// Rates as people configure them, on a clock of nanoseconds; most do not divide a second.
    Real,
    /// Anything a `u64` can hold, mostly at its ends.
    Extreme,
}

/// A number near an end of `u64` or of `u32`, small, or anything.
pub fn edge() -> BoxedStrategy<u64> {
    prop_oneof![
        4 => 0..=3_u64,
        3 => u64::MAX - 3..=u64::MAX,
        1 => (1_u64 << 32) - 2..=(1 << 32) + 2,
        1 => (1_u64 << 63) - 2..=(1 << 63) + 2,
        2 => any::<u64>(),
        1 => (0..64_u32).prop_map(|bit| 1_u64 << bit),
    ]
    .boxed()
}

fn edge_above_0() -> BoxedStrategy<u64> {
    edge().prop_map(|value| value.max(1)).boxed()
}

/// Rates that divide a second, rates that do not, one either side of the clock's own, and far beyond it.
pub const RATES_PER_SECOND: [u64; 11] =
    [1, 3, 7, 100, 999, 999_983, 600_000_000, 999_999_937, 1_000_000_000, 1_000_000_001, 3_500_000_000];

/// Quotas of a regime.
pub fn quota(regime: Regime) -> BoxedStrategy<Quota> {
    let quota = |(tokens, per_ns, burst)| Quota { tokens, per_ns, burst };
    match regime {
        Regime::Small => (1..=9_u64, 1..=20_u64, 1..=12_u64).prop_map(quota).boxed(),
        Regime::Real => {
            let burst = prop_oneof![3 => 1..=20_u64, 1 => 1..=1_000_000_u64];
            let rate = prop::sample::select(&RATES_PER_SECOND[..]);
            (rate, Just(1_000_000_000), burst).prop_map(quota).boxed()
        }
        Regime::Extreme => (edge_above_0(), edge_above_0(), edge_above_0()).prop_map(quota).boxed(),
    }
}

/// Policies, the default most often.
pub fn policy(regime: Regime) -> BoxedStrategy<Policy> {
    let debt = cost(regime);
    (prop_oneof![2 => Just(None), 1 => debt.prop_map(Some)], prop::bool::weighted(0.25))
        .prop_map(|(max_debt, when_full)| Policy { max_debt, when_full })
        .boxed()
}

/// Costs of a regime.
pub fn cost(regime: Regime) -> BoxedStrategy<u64> {
    match regime {
        Regime::Small => prop_oneof![5 => 0..=6_u64, 1 => 7..=30_u64].boxed(),
        Regime::Real => prop_oneof![5 => 0..=25_u64, 1 => 0..=2_000_000_u64].boxed(),
        Regime::Extreme => edge(),
    }
}

/// Steps of the clock that only go forward.
pub fn forward(regime: Regime) -> BoxedStrategy<Step> {
    let by = match regime {
        Regime::Small => (0..=15_u64).boxed(),
        Regime::Real => {
            prop_oneof![2 => 0..=4_u64, 2 => 0..=2_000_u64, 3 => 0..=2_000_000_000_u64, 1 => 0..=4_000_000_000_000_u64].boxed()
        }
        Regime::Extreme => edge(),
    };
    prop_oneof![3 => Just(Step::Stay), 5 => by.prop_map(Step::Forward), 3 => Just(Step::ToRetry), 2 => Just(Step::ShortOfRetry)]
        .boxed()
}

/// Steps of the clock, some of them backwards, or to an end of time.
pub fn step(regime: Regime) -> BoxedStrategy<Step> {
    let back = match regime {
        Regime::Small => (0..=30_u64).boxed(),
        Regime::Real => prop_oneof![0..=3_u64, 0..=3_000_000_000_u64].boxed(),
        Regime::Extreme => edge(),
    };
    let far = match regime {
        Regime::Extreme => edge().prop_map(Step::To).boxed(),
        Regime::Small | Regime::Real => Just(Step::Stay).boxed(),
    };
    prop_oneof![10 => forward(regime), 2 => back.prop_map(Step::Back), 1 => far].boxed()
}

/// How long a reservation may have to wait, in nanoseconds.
pub fn max_wait(regime: Regime) -> BoxedStrategy<u64> {
    match regime {
        Regime::Small => prop_oneof![0..=60_u64, Just(u64::MAX)].boxed(),
        Regime::Real => prop_oneof![0..=10_000_000_000_u64, Just(u64::MAX)].boxed(),
        Regime::Extreme => edge(),
    }
}

/// Runs of grants and nothing that gives anything back.
pub fn granting(regime: Regime, most: usize) -> BoxedStrategy<Vec<(Step, RateOp)>> {
    let op = prop_oneof![
        6 => cost(regime).prop_map(RateOp::Acquire),
        1 => cost(regime).prop_map(RateOp::UpTo),
        1 => cost(regime).prop_map(RateOp::Peek),
        1 => cost(regime).prop_map(RateOp::Charge),
        2 => (cost(regime), max_wait(regime)).prop_map(|(cost, wait)| RateOp::Reserve(cost, wait)),
    ];
    vec((step(regime), op), 1..=most).boxed()
}

/// Runs that reserve, cancel, settle and refund.
pub fn returning(regime: Regime, most: usize) -> BoxedStrategy<Vec<(Step, RateOp)>> {
    let op = prop_oneof![
        4 => cost(regime).prop_map(RateOp::Acquire),
        1 => cost(regime).prop_map(RateOp::Charge),
        4 => (cost(regime), max_wait(regime)).prop_map(|(cost, wait)| RateOp::Reserve(cost, wait)),
        3 => (0..64_usize).prop_map(RateOp::Cancel),
        2 => (0..64_usize, cost(regime)).prop_map(|(which, actual)| RateOp::Settle(which, actual)),
        2 => (0..64_usize, cost(regime)).prop_map(|(which, cost)| RateOp::Refund(which, cost)),
    ];
    vec((step(regime), op), 1..=most).boxed()
}

/// Changes of the quota.
pub fn requota(regime: Regime) -> BoxedStrategy<RateOp> {
    let inherit = prop::sample::select(vec![Inherit::AsIs, Inherit::Proportional, Inherit::Reset]);
    (quota(regime), inherit).prop_map(|(quota, inherit)| RateOp::SetQuota(quota, inherit)).boxed()
}

/// Any run, changes of the quota included.
pub fn anything(regime: Regime, most: usize) -> BoxedStrategy<Vec<(Step, RateOp)>> {
    (returning(regime, most), granting(regime, most), vec((step(regime), requota(regime)), 0..=3))
        .prop_map(|(mut ops, more, changes)| {
            let every = (ops.len() / (changes.len() + 1)).max(1);
            for (number, change) in changes.into_iter().enumerate() {
                ops.insert(((number + 1) * every + number).min(ops.len()), change);
            }
            ops.extend(more);
            ops
        })
        .boxed()
}

/// What can be done to a semaphore with a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SemaphoreOp {
    /// Come and not wait.
    TryAcquire(u64),
    /// Come and wait.
    Acquire(u64),
    /// Ask once who leaves the line.
    Poll,
    /// Give the k-th ticket back.
    Release(usize),
    /// Split a weight off the k-th ticket.
    Split(usize, u64),
    /// Lose the k-th ticket.
    Forget(usize),
    /// Take the k-th of all waiters there ever were out of the line.
    Cancel(usize),
    /// Set the limit.
    SetLimit(u64),
    /// Close.
    Close,
}

/// Weights and limits: small ones mostly.
pub fn weight() -> BoxedStrategy<u64> {
    prop_oneof![2 => 0..=1_u64, 12 => 1..=6_u64, 1 => edge()].boxed()
}

/// Runs on a semaphore; `close` at most once, late.
pub fn semaphore(most: usize) -> BoxedStrategy<Vec<SemaphoreOp>> {
    let op = prop_oneof![
        4 => weight().prop_map(SemaphoreOp::TryAcquire),
        12 => weight().prop_map(SemaphoreOp::Acquire),
        10 => Just(SemaphoreOp::Poll),
        8 => (0..64_usize).prop_map(SemaphoreOp::Release),
        1 => (0..64_usize, 0..=4_u64).prop_map(|(which, weight)| SemaphoreOp::Split(which, weight)),
        1 => (0..64_usize).prop_map(SemaphoreOp::Forget),
        4 => (0..64_usize).prop_map(SemaphoreOp::Cancel),
        3 => prop_oneof![8 => 0..=9_u64, 1 => edge()].prop_map(SemaphoreOp::SetLimit),
    ];
    let end = prop_oneof![3 => Just(None), 1 => Just(Some(SemaphoreOp::Close))];
    (vec(op.clone(), 1..=most), end, vec(op, 0..=most / 4))
        .prop_map(|(mut ops, end, more)| {
            ops.extend(end);
            ops.extend(more);
            ops
        })
        .boxed()
}

/// What can be done to permits without a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PermitsOp {
    /// Come.
    Acquire(u32),
    /// Come or announce that somebody waits.
    Announce(u32),
    /// Come for a waiter.
    ForWaiter(u32),
    /// Nobody waits any more.
    Retract,
    /// Give the k-th permit back; by dropping it or by saying so.
    Release(usize, bool),
    /// Lose the k-th permit.
    Forget(usize),
    /// Split a weight off the k-th permit.
    Split(usize, u32),
    /// Merge the k-th permit with the one after it.
    Merge(usize),
    /// Set the limit.
    SetLimit(u32),
    /// Close.
    Close,
}

/// Runs on permits; `close` at most once, late.
pub fn permits(most: usize) -> BoxedStrategy<Vec<PermitsOp>> {
    let weight = || {
        prop_oneof![12 => 0..=6_u32, 1 => (1_u32 << 31) - 3..=(1 << 31) + 1, 1 => u32::MAX - 1..=u32::MAX]
            .boxed()
    };
    let op = prop_oneof![
        12 => weight().prop_map(PermitsOp::Acquire),
        2 => weight().prop_map(PermitsOp::Announce),
        3 => weight().prop_map(PermitsOp::ForWaiter),
        2 => Just(PermitsOp::Retract),
        8 => (0..64_usize, any::<bool>()).prop_map(|(which, say)| PermitsOp::Release(which, say)),
        1 => (0..64_usize).prop_map(PermitsOp::Forget),
        2 => (0..64_usize, 0..=4_u32).prop_map(|(which, weight)| PermitsOp::Split(which, weight)),
        2 => (0..64_usize).prop_map(PermitsOp::Merge),
        3 => prop_oneof![6 => 0..=9_u32, 1 => weight()].prop_map(PermitsOp::SetLimit),
    ];
    let end = prop_oneof![3 => Just(None), 1 => Just(Some(PermitsOp::Close))];
    (vec(op.clone(), 1..=most), end, vec(op, 0..=most / 4))
        .prop_map(|(mut ops, end, more)| {
            ops.extend(end);
            ops.extend(more);
            ops
        })
        .boxed()
}

/// What can be done to a bounded table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TableOp {
    /// Put a value in.
    Insert(u32),
    /// Take out the k-th of all that were ever put in.
    Remove(usize),
    /// Look at the k-th of all that were ever put in.
    Get(usize),
    /// Change it.
    Change(usize, u32),
}

/// Runs on a table.
pub fn table(most: usize) -> BoxedStrategy<Vec<TableOp>> {
    let op = prop_oneof![
        4 => any::<u32>().prop_map(TableOp::Insert),
        3 => (0..1_000_usize).prop_map(TableOp::Remove),
        2 => (0..1_000_usize).prop_map(TableOp::Get),
        1 => (0..1_000_usize, any::<u32>()).prop_map(|(which, value)| TableOp::Change(which, value)),
    ];
    vec(op, 1..=most).boxed()
}
