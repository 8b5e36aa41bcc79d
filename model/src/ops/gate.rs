//! What can be done to a gate, and the rules it may have.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

use super::{Step, edge};
use crate::gate::{Cost, Ending, Order, Rules};

/// A job of those there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Which {
    /// The k-th that waits.
    Waiting(usize),
    /// The k-th that runs.
    Running(usize),
    /// The k-th of all there ever were.
    Ever(usize),
}

/// An instant, as an operation names it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum When {
    /// After nanoseconds.
    In(u64),
    /// This one.
    At(u64),
}

impl When {
    /// The instant it names.
    #[must_use]
    pub fn from(self, now: u64) -> u64 {
        match self {
            Self::In(by) => now.saturating_add(by),
            Self::At(at) => at,
        }
    }
}

/// A job to submit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "named as in the jobs of the gate")]
pub struct JobSpec {
    pub tenant: u64,
    pub cost: Cost,
    pub weight: u64,
    pub bytes: u64,
    pub deadline: Option<When>,
    pub ready_at: Option<When>,
    pub attempt: bool,
}

/// What is done at once, inside whatever handles the start of a job, and done again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reaction {
    /// Nothing.
    None,
    /// Complete it.
    Complete(Ending),
    /// Confirm it.
    Confirm,
    /// Put it back.
    Retry(When),
    /// Cancel it.
    Cancel,
    /// Submit another.
    Submit(JobSpec),
}

/// What can be done to a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateOp {
    /// Come and wait.
    Submit(JobSpec),
    /// Come and not wait.
    TryStart(JobSpec),
    /// Ask so many times at most who leaves the queue.
    Poll(usize),
    /// Ask until there is nothing to say; the starts are met with these reactions.
    PollAll(Vec<Reaction>),
    /// A started job has ended.
    Complete(Which, Ending),
    /// An attempt has passed.
    Confirm(Which),
    /// An attempt goes back.
    Retry(Which, When),
    /// Nobody wants it any more.
    Cancel(Which),
    /// A tenant's weight.
    SetWeight(u64, u32),
    /// A tenant goes.
    Remove(u64),
    /// What may be in use.
    SetLimit(u64),
    /// Initial cost, floor and ceiling of a class.
    Class(u32, u64, u64, u64),
    /// No more jobs; whether immediately.
    Close(bool),
}

/// What numbers of a run look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scale {
    /// All in a few nanoseconds and units: everything collides.
    Small,
    /// As small, and more jobs wait than ever run: few leave otherwise than by starting.
    Busy,
    /// The ends of every type among them.
    Extreme,
}

fn number(scale: Scale, most: u64) -> BoxedStrategy<u64> {
    match scale {
        Scale::Small | Scale::Busy => (0..=most).boxed(),
        Scale::Extreme => prop_oneof![3 => 0..=most, 1 => edge()].boxed(),
    }
}

fn when(scale: Scale) -> BoxedStrategy<When> {
    let near = prop_oneof![6 => 1..=12_u64, 4 => 10..=60_u64].prop_map(When::In);
    match scale {
        Scale::Small | Scale::Busy => {
            prop_oneof![30 => near, 1 => Just(When::In(0)), 1 => Just(When::At(0))].boxed()
        }
        Scale::Extreme => prop_oneof![6 => near, 1 => edge().prop_map(When::At)].boxed(),
    }
}

fn cost(scale: Scale) -> BoxedStrategy<Cost> {
    let units = prop_oneof![4 => number(scale, 4), 1 => number(scale, 20)].prop_map(Cost::Units);
    prop_oneof![5 => units, 2 => prop_oneof![20 => 0..=1_u32, 1 => Just(2)].prop_map(Cost::Class)].boxed()
}

/// Jobs of six tenants.
pub fn job(scale: Scale) -> BoxedStrategy<JobSpec> {
    let few = prop_oneof![2 => Just(0), 12 => 1..=4_u64, 1 => 5..=9_u64];
    let weight = match scale {
        Scale::Small | Scale::Busy => few.boxed(),
        Scale::Extreme => prop_oneof![6 => few, 1 => edge()].boxed(),
    };
    let tenant = prop_oneof![5 => 0..=2_u64, 1 => 3..=5_u64];
    let (timed, deferred) = if scale == Scale::Busy { (0.08, 0.15) } else { (0.35, 0.2) };
    let times = (weighted(timed, when(scale)), weighted(deferred, when(scale)));
    (tenant, cost(scale), weight, number(scale, 6), times, prop::bool::weighted(0.4))
        .prop_map(|(tenant, cost, weight, bytes, (deadline, ready_at), attempt)| JobSpec {
            tenant,
            cost,
            weight,
            bytes,
            deadline,
            ready_at,
            attempt,
        })
        .boxed()
}

fn ending(scale: Scale) -> BoxedStrategy<Ending> {
    let ran = weighted(0.4, prop_oneof![3 => number(scale, 9), 1 => number(scale, 60)]).prop_map(Ending::Ran);
    prop_oneof![6 => ran, 1 => Just(Ending::NotStarted)].boxed()
}

fn reaction(scale: Scale) -> BoxedStrategy<Reaction> {
    prop_oneof![
        8 => Just(Reaction::None),
        3 => ending(scale).prop_map(Reaction::Complete),
        1 => Just(Reaction::Confirm),
        2 => when(scale).prop_map(Reaction::Retry),
        1 => Just(Reaction::Cancel),
        1 => job(scale).prop_map(Reaction::Submit),
    ]
    .boxed()
}

fn which() -> BoxedStrategy<Which> {
    prop_oneof![
        8 => (0..16_usize).prop_map(Which::Running),
        4 => (0..16_usize).prop_map(Which::Waiting),
        1 => (0..64_usize).prop_map(Which::Ever),
    ]
    .boxed()
}

fn op(scale: Scale) -> BoxedStrategy<GateOp> {
    let weight = prop_oneof![6 => 1..=4_u32, 1 => Just(0), 1 => Just(u32::MAX)];
    let class = (0..=2_u32, number(scale, 6), number(scale, 3), number(scale, 9));
    let (started, waits) =
        (|| (0..16_usize).prop_map(Which::Running), || (0..16_usize).prop_map(Which::Waiting));
    let rare = u32::from(scale != Scale::Busy);
    prop_oneof![
        36 => job(scale).prop_map(GateOp::Submit),
        4 => job(scale).prop_map(GateOp::TryStart),
        6 => (1..=3_usize).prop_map(GateOp::Poll),
        22 => vec(reaction(scale), 0..3).prop_map(GateOp::PollAll),
        10 => (prop_oneof![6 => started(), 1 => which()], ending(scale)).prop_map(|(job, ending)| GateOp::Complete(job, ending)),
        3 => prop_oneof![4 => started(), 1 => which()].prop_map(GateOp::Confirm),
        5 => (prop_oneof![6 => started(), 1 => which()], when(scale)).prop_map(|(job, at)| GateOp::Retry(job, at)),
        3 => prop_oneof![4 => waits(), 1 => which()].prop_map(GateOp::Cancel),
        3 => (prop_oneof![3 => 0..3_u64, 1 => 3..6_u64], weight).prop_map(|(tenant, weight)| GateOp::SetWeight(tenant, weight)),
        2 * rare + 1 => (0..6_u64).prop_map(GateOp::Remove),
        3 * rare + 1 => limit(scale).prop_map(GateOp::SetLimit),
        1 => class.prop_map(|(class, initial, floor, ceiling)| GateOp::Class(class, initial, floor, ceiling)),
    ]
    .boxed()
}

/// What may be in use: seldom nothing.
pub fn limit(scale: Scale) -> BoxedStrategy<u64> {
    prop_oneof![8 => 3..=9_u64, 2 => 0..=2_u64, 1 => number(scale, 9)].boxed()
}

fn step(scale: Scale) -> BoxedStrategy<Step> {
    let far = match scale {
        Scale::Small | Scale::Busy => Just(Step::Stay).boxed(),
        Scale::Extreme => edge().prop_map(Step::To).boxed(),
    };
    prop_oneof![
        45 => Just(Step::Stay),
        12 => (0..=6_u64).prop_map(Step::Forward),
        1 => (7..=60_u64).prop_map(Step::Forward),
        6 => Just(Step::ToRetry),
        3 => Just(Step::ShortOfRetry),
        3 => (0..=20_u64).prop_map(Step::Back),
        1 => far,
    ]
    .boxed()
}

/// Runs on a gate; `ToRetry` and `ShortOfRetry` are about when it wants to be polled. Closed late, if at all, and
/// sometimes again.
pub fn run(scale: Scale, most: usize) -> BoxedStrategy<Vec<(Step, GateOp)>> {
    let step_and = move |op: BoxedStrategy<GateOp>| (step(scale), op);
    let close = step_and(any::<bool>().prop_map(GateOp::Close).boxed());
    (
        vec(step_and(op(scale)), most / 2..=most),
        vec(close.clone(), 0..=1),
        vec(step_and(op(scale)), 0..=most / 6),
        vec(close, 0..=1),
        vec(step_and(op(scale)), 0..=most / 6),
    )
        .prop_map(|(mut ops, close, more, again, rest)| {
            if !close.is_empty() {
                ops.extend(close.into_iter().chain(more).chain(again).chain(rest));
            }
            ops
        })
        .boxed()
}

/// What gates are for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Anything but newest first.
    Any,
    /// Long queues of few tenants, and mostly backfill.
    Busy,
    /// Newest first: strict, and tenants have room, as the oracle needs it then.
    NewestFirst,
}

/// Rules of small gates.
pub fn rules(kind: Kind) -> BoxedStrategy<Rules> {
    let busy = kind == Kind::Busy;
    let jobs = (
        if busy { (8..=10_u32).boxed() } else { prop_oneof![1 => Just(0), 30 => 3..=9_u32].boxed() },
        prop_oneof![1 => Just(0), 15 => 8..=30_u64, 30 => Just(u64::MAX)],
        if busy { (4..=10_u32).boxed() } else { prop_oneof![9 => 2..=6_u32, 1 => Just(1)].boxed() },
        prop_oneof![5 => 6..=20_u64, 5 => Just(u64::MAX)],
        2..=6_u32,
        1..=3_u32,
    );
    let order = prop_oneof![4 => (1..=6_u64).prop_map(Order::Deficit), 1 => Just(Order::Deficit(u64::MAX)), 3 => Just(Order::Smooth)];
    let tenants = match kind {
        Kind::Any => prop_oneof![1 => Just(1), 9 => 2..=4_u32].boxed(),
        Kind::Busy => (3..=4_u32).boxed(),
        Kind::NewestFirst => Just(16).boxed(),
    };
    let tenants = (tenants, order, prop_oneof![4 => Just(1), 1 => 2..=3_u32]);
    let passes = match kind {
        Kind::Any => weighted(0.5, 0..=4_u32).boxed(),
        Kind::Busy => weighted(0.8, 1..=4_u32).boxed(),
        Kind::NewestFirst => Just(None).boxed(),
    };
    let heads = (passes, weighted(0.3, 0..=20_u64), any::<bool>());
    let newest =
        if kind == Kind::NewestFirst { (0..=12_u64).prop_map(Some).boxed() } else { Just(None).boxed() };
    let waits = (
        weighted(if busy { 0.1 } else { 0.4 }, prop_oneof![15 => 5..=60_u64, 1 => Just(0)]),
        prop::bool::weighted(if busy { 0.1 } else { 0.5 }),
        weighted(0.5, 0..=8_u64),
        newest,
        weighted(if busy { 0.5 } else { 0.35 }, (1..=2_u64, 2..=10_u64)),
        prop_oneof![4 => 0..=20_u64, 1 => Just(u64::MAX)],
    );
    let classes = (
        prop_oneof![1 => 0..=1_u32, 9 => Just(2)],
        prop_oneof![Just(250_000), Just(1_000_000), 1..=1_000_000_u32],
    );
    (jobs, tenants, heads, waits, classes)
        .prop_map(|(jobs, tenants, heads, waits, classes)| Rules {
            max_queued: jobs.0,
            max_queued_bytes: jobs.1,
            max_queued_per_tenant: jobs.2,
            max_bytes_per_tenant: jobs.3,
            max_active: jobs.4,
            max_attempts: jobs.5,
            max_tenants: tenants.0,
            order: tenants.1,
            default_weight: tenants.2,
            max_passes: heads.0,
            reserve_after: heads.1,
            run_alone: heads.2,
            max_wait: waits.0,
            refuse_early: waits.1,
            expected_service: waits.2,
            newest_first_after: waits.3,
            codel: waits.4,
            forgive_after: waits.5,
            classes: classes.0,
            cost_smoothing_ppm: classes.1,
        })
        .boxed()
}
