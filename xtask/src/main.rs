//! `cargo xtask …`: the project's own steps, the same for a person and for `.ci/run`.
//!
//! Each subcommand is one module. They only start other programs (cargo, nm), read what those leave behind and say
//! what it means; nothing here is part of the library.
#![forbid(unsafe_code)]

mod bench_report;
mod checks;
mod counts;
mod demo;
mod embedded;
mod fuzz;
mod loom;
mod mutants;
mod mutants_loom;
mod no_std;
mod published;
mod release;
mod soak;
mod steps;
mod symbols;
mod tools;
mod workspace;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Compares no limit, a fixed limit and the adaptive limits on a recorded trace, as a table and a chart
    Demo(demo::Args),
    /// Runs every check, or only the named ones
    Test(checks::Args),
    /// Does all of a release but the release: dry run, packages by themselves, changes of the interface, advisories
    Release(release::Args),
    /// Links the core without std and without an allocator, and looks for panics in the machine code
    NoStd,
    /// Runs the core's conformance vectors on an emulated Cortex-M0, and weighs its machines
    Embedded(embedded::Args),
    /// Benches our machines beside their peers and prints one table of ratios
    BenchReport(bench_report::Args),
    /// Counts the instructions of each hot path and compares them with what they were
    Counts(counts::Args),
    /// Breaks the lock-free code in known ways and requires that a loom model notices each
    MutantsLoom(mutants_loom::Args),
    /// Feeds every machine and parser with bytes that reach new code, and holds what they do against the oracles
    Fuzz(fuzz::Args),
    /// Breaks the core in every way that cargo-mutants knows and requires that a test notices each
    Mutants(mutants::Args),
    /// Uses every machine from threads and tasks at random, for minutes, and requires that everything comes back
    Soak(soak::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Demo(args) => demo::run(&args),
        Task::Test(args) => checks::run(&args),
        Task::Release(args) => release::run(&args),
        Task::NoStd => no_std::run(),
        Task::Embedded(args) => embedded::run(&args),
        Task::BenchReport(args) => bench_report::run(&args),
        Task::Counts(args) => counts::run(&args),
        Task::MutantsLoom(args) => mutants_loom::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Mutants(args) => mutants::run(&args),
        Task::Soak(args) => soak::run(&args),
    }
}
