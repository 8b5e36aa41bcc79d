//! See `tollgate_fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_fuzzing::run("settings", data));
