//! A deterministic simulator that drives tollgate's real machines in virtual time.
//!
//! The question it answers: *what happens to this service, under this load, with each way of deciding how many
//! requests may be in it?* It replays a recorded trace or draws arrivals from a law, serves them with a model of a
//! server that slows down under contention, and puts each policy between the two. The policies are not models: they
//! are the permits and estimators of the crate [`tollgate`], told the time instead of reading a clock.
//!
//! ```text
//! workload ──arrivals──▶ admission ──granted──▶ server (slots, queue, contention)
//! (trace or law)          (permits + estimator)     │
//!                            ▲                      │ completion, deadline, refusal
//!                            └────── outcome ───────┘──▶ recorder ─▶ table, CSV, JSON, SVG
//! ```
//!
//! The second question: *who gets what, and does it hold?* A [`plan`] is one experiment with the gate as a file: loads by
//! tenant, a server, and the ranges in which the figures have to be. It is run under a judge who holds every event of
//! every plan to rules that no plan can relax.
//!
//! ```text
//! plan ──loads──▶ gate (queues by tenant, order, budget) ──starts──▶ jobs that take their time
//!                   ▲            │ refusals                            │ completions
//!                   └────────────┴───────────▶ ledger, judge ◀─────────┘──▶ figures, ranges, snapshot
//! ```
//!
//! **Same seed, same bytes.** One thread, integer time in nanoseconds, ties broken by rule, one random stream for
//! each source of chance (so that no policy can shift the luck of another), and the same requests with the same
//! luck for every policy.
#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod arrivals;
mod calendar;
pub mod compare;
mod engine;
pub mod error;
pub mod findings;
mod judge;
pub mod lab;
pub mod measure;
mod num;
pub mod oracle;
mod place;
pub mod plan;
mod plan_file;
mod play;
pub mod policy;
pub mod replay;
pub mod report;
pub mod rng;
pub mod scenario;
pub mod score;
pub mod server;
pub mod shares;
pub mod suite;
pub mod trace;
pub mod workload;

pub use error::SimError;
pub use judge::Violation;
pub use lab::LabError;
pub use plan::PlanError;
pub use plan_file::PlanFileError;
pub use trace::Trace;
