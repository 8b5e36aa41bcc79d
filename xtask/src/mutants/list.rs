//! The mutants, file by file, in the order of the source.

use super::{Code, Mutant};

const PERMITS: Code = Code { file: "core/src/permit/atomic.rs", models: "loom_permits" };
const BUCKET: Code = Code { file: "core/src/rate/atomic.rs", models: "loom_bucket" };
const UNITS: Code = Code { file: "core/src/rate/units.rs", models: "loom_bucket" };

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "permits: closed is not looked at",
        code: PERMITS,
        from: "if self.has(CLOSED) {",
        to: "if self.has(CLOSED) && weight == u32::MAX {",
    },
    Mutant {
        name: "permits: newcomers overtake waiters",
        code: PERMITS,
        from: "(self.has(WAITERS) && !overtake) || self",
        to: "self",
    },
    Mutant {
        name: "permits: what is in use is not looked at",
        code: PERMITS,
        from: "self.in_use().wrapping_add(weight) > self.limit()",
        to: "weight > self.limit()",
    },
    Mutant {
        name: "permits: announcing overwrites what changed meanwhile",
        code: PERMITS,
        from: "match permits.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "permits.word.store(next, Ordering::Release);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "permits: acquire or announce is relaxed",
        code: PERMITS,
        from: "match permits.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "match permits.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
    },
    Mutant {
        name: "permits: setting the limit overwrites what changed meanwhile",
        code: PERMITS,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
        to: "self.word.store(next, Ordering::Relaxed);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "permits: acquire is relaxed",
        code: PERMITS,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
    },
    Mutant {
        name: "permits: acquire overwrites what changed meanwhile",
        code: PERMITS,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "self.word.swap(next, Ordering::AcqRel);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "permits: release is relaxed",
        code: PERMITS,
        from: "self.word.fetch_sub(num::from_u32(weight), Ordering::Release)",
        to: "self.word.fetch_sub(num::from_u32(weight), Ordering::Relaxed)",
    },
    Mutant {
        name: "permits: release looks for waiters before it gives back",
        code: PERMITS,
        from: "Word(self.word.fetch_sub(num::from_u32(weight), Ordering::Release)).has(WAITERS)",
        to: "let owed = self.read().has(WAITERS);\n        \
             self.word.fetch_sub(num::from_u32(weight), Ordering::Release);\n        owed",
    },
    Mutant {
        name: "bucket: a grant on the fast path overwrites what changed meanwhile",
        code: BUCKET,
        from: "&& self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()",
        to: "&& { self.word.store(next, Ordering::Relaxed); true }",
    },
    Mutant {
        name: "bucket: a grant overwrites what changed meanwhile",
        code: BUCKET,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
        to: "self.word.store(next, Ordering::Relaxed);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "bucket: a lost race is not decided again",
        code: BUCKET,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
        to: "match Ok::<u64, u64>(self.word.fetch_add(next.wrapping_sub(seen), Ordering::Relaxed)) {",
    },
    Mutant {
        name: "bucket: a stale clock takes the word back",
        code: BUCKET,
        from: "if word > units {",
        to: "if word == u64::MAX {",
    },
    Mutant {
        name: "bucket: what was granted is not looked at",
        code: UNITS,
        from: ".filter(|&next| next <= ceiling)",
        to: ".filter(|&next| next <= ceiling || next > units)",
    },
    Mutant {
        name: "bucket: the note of the start counts for all time after it",
        code: BUCKET,
        from: "self.started.load(Ordering::Relaxed) == units",
        to: "self.started.load(Ordering::Relaxed) <= units",
    },
    Mutant {
        name: "bucket: the start is not rounded up",
        code: UNITS,
        from: "Some(units.wrapping_add(self.rounding()).wrapping_add(cost))",
        to: "Some(units.wrapping_add(cost))",
    },
];
