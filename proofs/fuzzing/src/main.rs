//! Runs one target with the bytes of files, without a fuzzer: `cargo run -p tollgate-fuzzing -- TARGET FILE…`.

use std::{env, fs};

fn main() {
    let mut words = env::args().skip(1);
    let target = words.next().expect("the name of a target, and files");
    for file in words {
        let data = fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        println!("{file}: {} bytes", data.len());
        tollgate_fuzzing::run(&target, &data);
    }
}
