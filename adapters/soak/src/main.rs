//! `tollgate-soak`: rounds of every machine until the time is over or something does not hold.
#![forbid(unsafe_code)]

use core::time::Duration;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tollgate_soak::{MACHINES, Tally};

/// Threads and tasks that wait, leave, close and resize at random; and what has to hold when all are gone
#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Args {
    /// How long to go on
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// Seed of the first round; each round counts on from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this machine
    #[arg(long, value_parser = MACHINES.map(|machine| machine.name))]
    only: Option<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let length = Duration::try_from_secs_f64(args.minutes * 60.0)?;
    let begin = Instant::now();
    let bar = ProgressBar::new(length.as_secs());
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} s  {msg}")?);
    let mut tallies = [(0_u64, Tally::default()); MACHINES.len()];
    let mut seed = args.seed;
    while begin.elapsed() < length {
        for (machine, (rounds, tally)) in MACHINES.iter().zip(&mut tallies) {
            if args.only.as_ref().is_some_and(|only| only != machine.name) {
                continue;
            }
            bar.set_message(format!("{}, seed {seed}", machine.name));
            let told = machine.round(seed, Duration::from_secs(1))?;
            *rounds += 1;
            tally.asked += told.asked;
            tally.granted += told.granted;
            tally.left += told.left;
            bar.set_position(begin.elapsed().as_secs());
        }
        seed += 1;
    }
    bar.finish_and_clear();
    for (machine, (rounds, Tally { asked, granted, left })) in MACHINES.iter().zip(tallies) {
        println!(
            "{:>12}: {rounds} rounds, {asked} asked, {granted} granted, {left} left part-way; all came back",
            machine.name
        );
    }
    Ok(())
}
