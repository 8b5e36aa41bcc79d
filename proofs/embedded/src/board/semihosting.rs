//! Output and exit by way of the debugger, which here is the emulator: ARM, *Semihosting for AArch32 and AArch64*.

use core::arch::asm;
use core::fmt;

/// Prints a text that ends in a 0.
const SYS_WRITE0: usize = 0x04;
const SYS_EXIT: usize = 0x18;
/// The reasons to end that stand for success and for failure.
const APPLICATION_EXIT: usize = 0x20026;
const RUN_TIME_ERROR: usize = 0x20023;

/// Where everything is printed.
pub(crate) struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for chunk in text.as_bytes().chunks(63) {
            let mut line = [0_u8; 64];
            line[..chunk.len()].copy_from_slice(chunk);
            call(SYS_WRITE0, line.as_ptr().addr());
        }
        Ok(())
    }
}

/// Ends the emulation, well or not.
pub(crate) fn exit(success: bool) -> ! {
    call(SYS_EXIT, if success { APPLICATION_EXIT } else { RUN_TIME_ERROR });
    loop {
        core::hint::spin_loop();
    }
}

/// Asks the debugger. What `argument` points to, if it does, is 0-terminated text.
fn call(operation: usize, argument: usize) {
    // SAFETY: the breakpoint is answered by the debugger, which reads the text that `argument` points to, writes no memory,
    // and changes no register but r0.
    unsafe {
        asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument, options(nostack, readonly));
    }
}
