//! Every seed of every target, without a fuzzer.

use std::path::{Path, PathBuf};
use std::{fs, panic};

use tollgate_fuzzing::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

#[test]
fn every_seed_is_replayed() {
    let mut broken = vec![];
    for (target, run) in TARGETS {
        let mut seeds = 0;
        for seed in fs::read_dir(corpus().join(target)).unwrap_or_else(|error| panic!("{target}: {error}")) {
            let seed = seed.unwrap().path();
            let data = fs::read(&seed).unwrap();
            seeds += 1;
            if panic::catch_unwind(|| run(&data)).is_err() {
                broken.push(seed);
            }
        }
        assert!(seeds > 0, "{target} has no seeds");
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_corpus_is_that_of_a_target() {
    for corpus in fs::read_dir(corpus()).unwrap() {
        let name = corpus.unwrap().file_name();
        assert!(TARGETS.iter().any(|(target, _)| name == *target), "{name:?} is nobody's corpus");
    }
}
