//! What can be done to limits of many owners, and rules for them. All numbers are small, so that everything collides:
//! five owners, three tiers, two groups, three dimensions, four windows.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::Step;
use crate::limits::{Rule, Strategy as Counting, Target, Terms};

/// Dimensions.
pub const DIMENSIONS: usize = 3;
/// Owners.
pub const OWNERS: u64 = 5;
/// Groups.
pub const GROUPS: u32 = 2;

/// Who is to blame for a request that failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// Nobody.
    Nobody,
    /// The client.
    Client,
    /// The server.
    Server,
}

/// One thing that can be done. Sessions are named as the k-th of those that are open.
#[derive(Clone, Debug)]
pub enum LimitsOp {
    /// Begin a request of an owner, in a tier, in a group.
    Begin(u64, Option<u32>, u32),
    /// Begin a request of an owner's account by its id.
    BeginKnown(u64, u32),
    /// Ask for an amount of a dimension.
    Evaluate(usize, usize, u64),
    /// Ask whether anything is owed.
    Precheck(usize, usize),
    /// Say what was really used.
    Settle(usize, usize, u64),
    /// All went well.
    Commit(usize),
    /// It did not.
    RollBack(usize, Fault),
    /// Other rules.
    Replace(Vec<Rule>),
    /// An operator forgives a dimension.
    Reset(u64, u32, usize),
    /// Ask for everything there is to know.
    Report(u64, u32),
}

/// Rules that can hold together.
pub fn rules() -> impl Strategy<Value = Vec<Rule>> {
    vec(rule(), 0..24).prop_map(|mut rules| {
        let mut kept: Vec<Rule> = Vec::new();
        rules.iter_mut().zip(1..).for_each(|(rule, id)| rule.id = id);
        for rule in rules {
            if !kept.iter().any(|other| meets(other, &rule)) {
                kept.push(rule);
            }
        }
        kept
    })
}

/// A list of operations, each after a step of the clock.
pub fn run(most: usize) -> impl Strategy<Value = Vec<(Step, LimitsOp)>> {
    vec((step(), op()), 1..most)
}

fn meets(one: &Rule, other: &Rule) -> bool {
    let key = |rule: &Rule| (rule.target, rule.group, rule.dimension, rule.window_ns);
    let begins_before_end =
        |one: &Rule, other: &Rule| other.expires.is_none_or(|end| one.starts.is_none_or(|start| start < end));
    key(one) == key(other) && begins_before_end(one, other) && begins_before_end(other, one)
}

fn rule() -> impl Strategy<Value = Rule> {
    let target = prop_oneof![
        2 => (0..OWNERS).prop_map(Target::Owner),
        4 => (0..3_u32).prop_map(Target::Tier),
        4 => Just(Target::Default),
    ];
    let times = prop_oneof![
        3 => Just((None, None)),
        1 => (0..150_u64).prop_map(|starts| (Some(starts), None)),
        1 => (1..150_u64).prop_map(|expires| (None, Some(expires))),
        1 => (0..150_u64, 1..80_u64).prop_map(|(starts, lasts)| (Some(starts), Some(starts + lasts))),
    ];
    let window = prop_oneof![Just(7_u64), Just(10), Just(16), Just(45)];
    (target, 0..GROUPS, 0..DIMENSIONS, window, terms(), times).prop_map(
        |(target, group, dimension, window_ns, terms, (starts, expires))| Rule {
            id: 0,
            target,
            group,
            dimension,
            window_ns,
            terms,
            starts,
            expires,
        },
    )
}

fn terms() -> impl Strategy<Value = Terms> {
    let strategy = prop_oneof![
        6 => option::of(1..14_u64).prop_map(Counting::Bucket),
        3 => Just(Counting::Fixed),
        3 => (1..5_u32).prop_map(Counting::Sliding),
        1 => Just(Counting::Allowance),
    ];
    let debt = option::weighted(0.4, prop_oneof![0..1_500_000_u32, Just(500_000)]);
    (1..14_u64, strategy, debt).prop_map(|(limit, strategy, debt_ppm)| Terms { limit, strategy, debt_ppm })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Stay),
        6 => (0..9_u64).prop_map(Step::Forward),
        1 => (0..60_u64).prop_map(Step::Forward),
        1 => (0..20_u64).prop_map(Step::Back),
        1 => Just(Step::ToRetry),
        1 => Just(Step::ShortOfRetry),
    ]
}

fn op() -> impl Strategy<Value = LimitsOp> {
    let fault = prop_oneof![Just(Fault::Nobody), Just(Fault::Client), Just(Fault::Server)];
    let tier = option::weighted(0.8, 0..3_u32);
    let amount = || prop_oneof![6 => 0..6_u64, 2 => 0..24_u64];
    let which = || 0..8_usize;
    prop_oneof![
        6 => (0..OWNERS, tier, 0..GROUPS).prop_map(|(owner, tier, group)| LimitsOp::Begin(owner, tier, group)),
        2 => (0..OWNERS, 0..GROUPS).prop_map(|(owner, group)| LimitsOp::BeginKnown(owner, group)),
        12 => (which(), 0..DIMENSIONS, amount()).prop_map(|(k, on, cost)| LimitsOp::Evaluate(k, on, cost)),
        1 => (which(), 0..DIMENSIONS).prop_map(|(k, on)| LimitsOp::Precheck(k, on)),
        3 => (which(), 0..DIMENSIONS, amount()).prop_map(|(k, on, cost)| LimitsOp::Settle(k, on, cost)),
        3 => which().prop_map(LimitsOp::Commit),
        4 => (which(), fault).prop_map(|(k, fault)| LimitsOp::RollBack(k, fault)),
        1 => rules().prop_map(LimitsOp::Replace),
        1 => (0..OWNERS, 0..GROUPS, 0..DIMENSIONS).prop_map(|(who, group, on)| LimitsOp::Reset(who, group, on)),
        2 => (0..OWNERS, 0..GROUPS).prop_map(|(owner, group)| LimitsOp::Report(owner, group)),
    ]
}
