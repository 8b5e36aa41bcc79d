//! Machines in memory that was reserved when they were made: keyed tables, caps in flight, sessions, sketches.
//!
//! There is an allocator here, with nothing to give: what one of the operations needs of it would be found in the
//! linked program. Making such a machine, and what hands out a list (`HeavyHitters::top`), allocates and is left out.

mod inflight;
mod keyed;
mod limits;
mod sketch;

use core::hash::{BuildHasherDefault, Hasher};

/// Hashes as a user's hasher may.
type Hashes = BuildHasherDefault<Mixer>;

#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(feature = "link")]
#[global_allocator]
static NOTHING: Nothing = Nothing;

#[cfg(feature = "link")]
struct Nothing;

// SAFETY: no memory is ever handed out, so none can be handed out twice or come back.
#[cfg(feature = "link")]
unsafe impl core::alloc::GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: core::alloc::Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {}
}

/// What the search for allocations has to find: a list that is handed out.
#[cfg(feature = "control")]
#[unsafe(no_mangle)]
extern "C" fn proof_control_list(sketch: &tollgate::sketch::HeavyHitters<u64, Hashes>) -> usize {
    sketch.top(9).len()
}
