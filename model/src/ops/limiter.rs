//! What can be done to partitions and to a whole limiter, and how they may be set.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Step, edge};
use crate::burst;
use crate::limiter::{Mode, Outcome, Rules};
use crate::partitions::{Guarantee, Share};

/// Partitions that operations name are below this; some of them there are not.
pub const NAMES: u32 = 6;
/// Most partitions at any time.
pub const MOST: usize = 4;

/// What can be done to partitions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PartitionsOp {
    /// Come, for a partition or for none.
    Acquire(Option<u32>, u32),
    /// Give back the k-th of those there are.
    Release(usize),
    /// Give back something that others hold, for a partition or for none.
    ReleaseOthers(Option<u32>, u32),
    /// Set the limit.
    SetLimit(u32),
    /// Change the shares; they need not be valid.
    SetShares(Guarantee, Vec<Share>),
    /// Ask how long somebody is held back who was refused.
    Pause(Option<u32>),
}

/// What can be done to a limiter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LimiterOp {
    /// Come, for a partition or for none.
    Admit(Option<u32>, u32),
    /// The k-th of those in flight has ended.
    Complete(usize, Outcome),
    /// A request of another limiter has ended: one that was disabled, one past the limit, one within it.
    CompleteOthers(Mode, Option<u32>, u32),
    /// Time passes.
    Tick,
    /// The warm-up begins anew.
    Restart,
    /// Set it differently; it need not be valid.
    Reconfigure(Rules, Vec<Share>),
    /// Something else learns the limit from now on, by this number.
    Replace(u32),
    /// What learns the limit is told that it is this.
    SetLearnt(u32),
}

/// What numbers of a run look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scale {
    /// A few permits and nanoseconds: everything collides.
    Small,
    /// The ends of every type among them.
    Extreme,
}

/// Permits: of a limit or of a request.
pub fn permits(scale: Scale, most: u32) -> BoxedStrategy<u32> {
    let ends = prop_oneof![(1_u32 << 31) - 2..=(1 << 31) + 1, u32::MAX - 1..=u32::MAX, any::<u32>()];
    match scale {
        Scale::Small => (0..=most).boxed(),
        Scale::Extreme => prop_oneof![3 => 0..=most, 2 => ends].boxed(),
    }
}

fn nanos(scale: Scale, most: u64) -> BoxedStrategy<u64> {
    match scale {
        Scale::Small => (0..=most).boxed(),
        Scale::Extreme => prop_oneof![3 => 0..=most, 1 => edge()].boxed(),
    }
}

fn step(scale: Scale) -> BoxedStrategy<Step> {
    prop_oneof![
        3 => Just(Step::Stay),
        6 => nanos(scale, 12).prop_map(Step::Forward),
        1 => nanos(scale, 12).prop_map(Step::Back),
        1 => Just(Step::ToRetry),
        1 => Just(Step::ShortOfRetry),
    ]
    .boxed()
}

/// A partition, mostly one that there may be, or none.
pub fn name() -> BoxedStrategy<Option<u32>> {
    prop_oneof![1 => Just(None), 6 => (0..NAMES).prop_map(Some)].boxed()
}

/// What shares mean.
pub fn guarantee() -> BoxedStrategy<Guarantee> {
    prop_oneof![2 => Just(Guarantee::Reserved), 1 => (0..=2_u32).prop_map(Guarantee::Overshoot)].boxed()
}

/// Valid shares: cuts of the whole, of which some parts are given.
pub fn shares() -> BoxedStrategy<Vec<Share>> {
    let cut = prop_oneof![
        4 => (0..=100_u32).prop_map(|percent| percent * 10_000),
        2 => 0..=1_000_000_u32,
        1 => (0..=3_u32).prop_map(|thirds| thirds * 333_333),
        1 => prop::sample::select(&[0, 1, 999_999, 1_000_000][..]),
    ];
    let names = Just((0..NAMES).collect::<Vec<_>>()).prop_shuffle();
    let pause = prop_oneof![2 => Just(0), 2 => 1..=20_u64, 1 => edge()];
    (vec((cut, pause), 0..=MOST), names, any::<bool>())
        .prop_map(|(mut cuts, names, whole)| {
            cuts.sort_unstable();
            if let Some(last) = cuts.last_mut().filter(|_| whole) {
                last.0 = 1_000_000;
            }
            let mut before = 0;
            let parts = cuts.into_iter().zip(names).map(|((until, pause), partition)| {
                let ppm = until - before;
                before = until;
                Share { partition, ppm, pause }
            });
            parts.collect()
        })
        .boxed()
}

/// Shares that are valid mostly.
fn any_shares() -> BoxedStrategy<Vec<Share>> {
    let ppm = prop_oneof![3 => 0..=400_000_u32, 1 => 1_000_000..=1_000_001_u32, 1 => any::<u32>()];
    let share = (0..NAMES, ppm).prop_map(|(partition, ppm)| Share { partition, ppm, pause: 0 });
    prop_oneof![6 => shares(), 1 => vec(share, 0..=MOST + 1)].boxed()
}

/// Runs on partitions.
pub fn partitions(scale: Scale, most: usize) -> BoxedStrategy<Vec<(Step, PartitionsOp)>> {
    let op = prop_oneof![
        14 => (name(), permits(scale, 3)).prop_map(|(name, weight)| PartitionsOp::Acquire(name, weight)),
        9 => (0..64_usize).prop_map(PartitionsOp::Release),
        1 => (name(), permits(scale, 9)).prop_map(|(name, weight)| PartitionsOp::ReleaseOthers(name, weight)),
        2 => permits(scale, 24).prop_map(PartitionsOp::SetLimit),
        2 => (guarantee(), any_shares()).prop_map(|(what, shares)| PartitionsOp::SetShares(what, shares)),
        2 => name().prop_map(PartitionsOp::Pause),
    ];
    vec((step(scale), op), 1..=most).boxed()
}

/// Runs on partitions of which nearly all is refused and held back.
pub fn pauses(most: usize) -> BoxedStrategy<Vec<(Step, PartitionsOp)>> {
    let op = prop_oneof![
        20 => name().prop_map(PartitionsOp::Pause),
        1 => shares().prop_map(|shares| PartitionsOp::SetShares(Guarantee::Reserved, shares)),
    ];
    let step = prop_oneof![
        3 => (0..=6_u64).prop_map(Step::Forward),
        1 => (0..=20_u64).prop_map(Step::Back),
        2 => Just(Step::ToRetry),
        1 => Just(Step::ShortOfRetry),
    ];
    vec((step, op), 1..=most).boxed()
}

/// How a limiter may be set; `whole` for one that is valid.
pub fn rules(scale: Scale, whole: bool) -> BoxedStrategy<Rules> {
    let mode =
        prop_oneof![1 => Just(Mode::Disabled), 2 => Just(Mode::MonitorOnly), 6 => Just(Mode::Enforced)];
    let least = u32::from(whole);
    let streak = move || prop_oneof![20 => 1..=4_u32, 1 => least..=1];
    let room = match (scale, whole) {
        (Scale::Small, _) => prop_oneof![1 => Just(0), 1 => 0..=6_u32].boxed(),
        (_, true) => {
            prop_oneof![1 => Just(0), 3 => 0..=6_u32, 1 => (1 << 31) - 2..=(1_u32 << 31) - 1].boxed()
        }
        _ => permits(scale, 6),
    };
    let burst = (room, streak(), streak()).prop_map(|(capacity, close_after, open_after)| burst::Rules {
        capacity,
        close_after,
        open_after,
    });
    let warmup = prop_oneof![2 => Just(0), 2 => nanos(scale, 60)];
    (mode, warmup, burst, guarantee(), prop::bool::weighted(0.6))
        .prop_map(|(mode, warmup, burst, guarantee, honest)| Rules { mode, warmup, burst, guarantee, honest })
        .boxed()
}

/// Outcomes, mostly good.
pub fn outcome() -> BoxedStrategy<Outcome> {
    prop_oneof![6 => Just(Outcome::Success), 2 => Just(Outcome::Dropped), 1 => Just(Outcome::Ignored)].boxed()
}

/// Runs on a limiter.
pub fn limiter(scale: Scale, most: usize) -> BoxedStrategy<Vec<(Step, LimiterOp)>> {
    let mode = prop_oneof![Just(Mode::Disabled), Just(Mode::MonitorOnly), Just(Mode::Enforced)];
    let op = prop_oneof![
        20 => (name(), permits(scale, 3)).prop_map(|(name, weight)| LimiterOp::Admit(name, weight)),
        12 => (0..64_usize, outcome()).prop_map(|(which, outcome)| LimiterOp::Complete(which, outcome)),
        1 => (mode, name(), permits(scale, 9))
            .prop_map(|(mode, name, weight)| LimiterOp::CompleteOthers(mode, name, weight)),
        1 => Just(LimiterOp::Tick),
        1 => Just(LimiterOp::Restart),
        2 => (rules(scale, false), any_shares()).prop_map(|(rules, shares)| LimiterOp::Reconfigure(rules, shares)),
        1 => permits(scale, 24).prop_map(LimiterOp::Replace),
        1 => permits(scale, 24).prop_map(LimiterOp::SetLearnt),
    ];
    vec((step(scale), op), 1..=most).boxed()
}
