//! The conformance vectors of the estimators on the target.
#![no_std]
#![no_main]

mod board;

fn main() -> ! {
    board::run(tollgate_conformance::ESTIMATORS)
}
