//! How the processor starts: the table it reads the stack and the first instruction from.

use core::fmt::Write;

use super::semihosting::{Console, exit};

type Handler = extern "C" fn() -> !;

/// What ARMv6-M finds at address 0 behind the first word, which is the end of the stack and comes from `link.ld`. There are
/// no interrupts: nothing turns one on.
#[repr(C)]
struct Vectors {
    reset: Handler,
    non_maskable: Handler,
    hard_fault: Handler,
}

#[used]
#[unsafe(link_section = ".vectors")]
static VECTORS: Vectors = Vectors { reset, non_maskable: fault, hard_fault: fault };

/// Memory needs no preparation: `link.ld` makes sure that there is no variable in it.
extern "C" fn reset() -> ! {
    crate::main()
}

extern "C" fn fault() -> ! {
    let _ = writeln!(Console, "the processor reports a fault");
    exit(false)
}
