//! What a program on the emulated chip needs: a start, an output and an end.

mod semihosting;
mod start;

use core::fmt::Write;
use core::panic::PanicInfo;

use portable_atomic as _;
use semihosting::{Console, exit};
use tollgate_conformance::{Machine, check};

/// What the host answers.
const EXPECTED: &str = include_str!(env!("TOLLGATE_EXPECTED"));

/// Checks all vectors of `machines`, prints one line a machine, and ends: well if all passed.
pub(crate) fn run(machines: &[Machine]) -> ! {
    let checked = check(machines, EXPECTED, &mut Console);
    exit(checked.is_ok_and(|tally| tally.failed == 0))
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "{info}");
    exit(false)
}
