//! The conformance vectors of the buckets, windows, permits, schedulers and the gate on the target.
#![no_std]
#![no_main]

mod board;

fn main() -> ! {
    board::run(tollgate_conformance::LIMITS)
}
