//! Every machine behind plain functions, as a static library: linked with those of one machine alone, it is as large as
//! that machine.
#![no_std]
#![forbid(unsafe_code)]

use portable_atomic as _;
use tollgate_proofs as _;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
