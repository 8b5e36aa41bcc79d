//! The core's machines behind plain exported functions, to be looked at as machine code.
//!
//! `cargo xtask no-std` builds this as a static library with its own panic handler and no allocator, links what the
//! functions below reach and nothing else, and looks for panics in it.
//!
//! Each function is one operation on a machine it is handed. The compiler knows nothing of the machine's state or of
//! the arguments, so it can prove nothing away that holds only for states that occur: what is free of panics here is
//! free of them in every state.
//!
//! Of every machine, all that changes it and most of what looks at it is here; left out are presets, which are
//! constants, observers, which are the user's, `check_invariants`, which is there to panic, and what needs threads
//! (feature `std`) or settings in files (`serde`). Keyed tables, sessions, caps in flight and sketches allocate when they are made: they are here with the
//! feature `alloc`, all but their making.
//!
//! Without the feature `link` this is an ordinary `no_std` library, so that it builds with the rest of the workspace.
#![no_std]
#![allow(
    improper_ctypes_definitions,
    reason = "nothing is called from C; the machines are only handed through"
)]

mod adapt;
mod algorithm;
mod fair;
mod gate;
mod limiter;
mod permit;
mod rate;
mod slots;
#[cfg(feature = "alloc")]
mod tables;
mod window;

#[cfg(feature = "link")]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// What the search for panics has to find: an index that may lie outside.
#[cfg(feature = "control")]
#[unsafe(no_mangle)]
extern "C" fn proof_control_index(values: &[u64], index: usize) -> u64 {
    values[index]
}

/// Puts what was made in place, and tells whether anything was.
fn store<T, E>(place: &mut T, made: Result<T, E>) -> bool {
    made.map(|machine| *place = machine).is_ok()
}

/// The instant to come back at, 0 for a grant, the last instant for "never".
fn answer<T>(granted: Result<T, tollgate::Refused>) -> u64 {
    match granted {
        Ok(_) => 0,
        Err(refused) => refused.retry_at.map_or(u64::MAX, tollgate::Timestamp::as_nanos),
    }
}
