//! Naive oracles for the machines of tollgate.
//!
//! Each oracle does the obvious thing slowly, shares no code and no idea with the machine it judges, and is what the
//! property tests, the fuzz targets and the simulator compare with. Amounts are plain integers and instants are
//! nanoseconds in a `u64`, so this crate depends on nothing of ours.
//!
//! | oracle | judges | how |
//! | --- | --- | --- |
//! | [`bucket`] | token buckets | keeps every grant and charge, works the level out anew at each question, in big integers |
//! | [`keyed`] | tables of buckets by key | a bucket for each key, and whether whoever was forgotten had recovered |
//! | [`window`] | fixed and sliding windows | keeps a log, counts by scanning |
//! | [`limits`] | limits of many owners | forgets nobody, scans every rule, counts by lists |
//! | [`semaphore`] | the semaphore with a line | a `Vec` of tickets and a `Vec` of waiters |
//! | [`permits`] | the lock-free permits | a `Vec` of permits |
//! | [`inflight`] | caps by key in several dimensions | a list of who holds what |
//! | [`slots`] | bounded tables | a `Vec` of named values |
//! | [`gate`] | the gate | lists of jobs and tenants, everything counted anew, turns visit by visit |
//! | [`partitions`] | shares of one limit | a list of what is held, by whom; quotas by sorting |
//! | [`burst`] | the window for bursts | replays every sample |
//! | [`limiter`] | a whole adaptive limiter | lists of requests, decisions and times |
//! | [`drr`] | deficit round robin | the textbook loop, one visit at a time |
//! | [`fairness`] | any fair scheduler | its definition, over every interval of a transcript |
//!
//! [`ops`] holds what can be done to each of them as data, with generators.
#![forbid(unsafe_code)]

pub mod bucket;
pub mod burst;
pub mod drr;
pub mod fairness;
pub mod gate;
pub mod inflight;
pub mod keyed;
pub mod limiter;
pub mod limits;
pub mod ops;
pub mod partitions;
pub mod permits;
pub mod semaphore;
pub mod slots;
pub mod window;

/// Why a semaphore or permits say no.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Denied {
    /// Closed for good.
    Closed,
    /// It weighs more than the limit.
    ExceedsLimit,
    /// It does not fit now, or others come first.
    NoPermits,
    /// The line is full.
    QueueFull,
}
