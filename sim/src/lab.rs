//! The laboratory for adaptive concurrency limits: one plan, one seed, one estimator, and what came of it.
//!
//! **Problem.** An estimator is good if it finds, without being told, the limit that somebody who knows the whole run
//! beforehand would set. One load on one server shows nothing: each of the known estimators is good somewhere. So the
//! laboratory has a plan for each behaviour (`sim/plans/limits`), an oracle to measure by, and rules that hold in
//! every run.
//!
//! ```text
//! plan ──▶ requests (drawn once, the same for every limit) ──▶ engine ──▶ tally ──▶ figures ÷ the oracle's
//!                                                               │  ▲
//!                               refusals, samples, ticks        ▼  │ limit
//!                                                             limiter (estimator by name, or fixed)
//! ```
//!
//! | module | idea |
//! | --- | --- |
//! | [`plan`] | what a plan says, checked |
//! | [`limiter`], [`roster`] | what the engine tells an estimator; estimators by name |
//! | [`engine`], [`tally`] | one run; what is counted in it |
//! | [`oracle`], [`cache`] | the best limit known beforehand; finding it once |
//!
//! **Same seed, same bytes.** A run is a function of plan, seed and estimator: integer time, ties by rule, a stream of
//! chance for each purpose. Requests of an open load have the same instants and the same luck under every limit.

pub mod cache;
mod calendar;
mod chance;
pub mod curve;
pub mod engine;
mod error;
mod file;
mod law;
pub mod limiter;
pub mod oracle;
pub mod plan;
mod recorded;
mod requests;
pub mod roster;
mod server;
pub mod tally;
mod value;
mod watch;
mod wave;

pub use self::error::LabError;
pub use self::requests::Requests;
pub use self::watch::Broken;
