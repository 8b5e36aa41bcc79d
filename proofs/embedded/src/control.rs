//! Vectors that have to fail on the target: a run in which nothing could fail would show nothing.
#![no_std]
#![no_main]

mod board;

fn main() -> ! {
    board::run(tollgate_conformance::CONTROL)
}
