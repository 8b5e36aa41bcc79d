//! The mutants, file by file, in the order of the source.

use super::Mutant;

const PERMITS: &str = "core/src/permit/atomic.rs";
const BUCKET: &str = "core/src/rate/atomic.rs";

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "permits: closed is not looked at",
        file: PERMITS,
        from: "if self.has(CLOSED) {",
        to: "if self.has(CLOSED) && weight == u32::MAX {",
    },
    Mutant {
        name: "permits: newcomers overtake waiters",
        file: PERMITS,
        from: "(self.has(WAITERS) && !overtake) || weight",
        to: "weight",
    },
    Mutant {
        name: "permits: what is in use is not looked at",
        file: PERMITS,
        from: "weight > self.limit().saturating_sub(self.in_use())",
        to: "weight > self.limit()",
    },
    Mutant {
        name: "permits: announcing overwrites what changed meanwhile",
        file: PERMITS,
        from: "match permits.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "permits.word.store(next, Ordering::Release);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "permits: acquire or announce is relaxed",
        file: PERMITS,
        from: "match permits.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "match permits.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
    },
    Mutant {
        name: "permits: setting the limit overwrites what changed meanwhile",
        file: PERMITS,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
        to: "self.word.store(next, Ordering::Relaxed);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "permits: acquire is relaxed",
        file: PERMITS,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
    },
    Mutant {
        name: "permits: acquire overwrites what changed meanwhile",
        file: PERMITS,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Relaxed) {",
        to: "self.word.swap(next, Ordering::AcqRel);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "permits: release is relaxed",
        file: PERMITS,
        from: "self.word.fetch_sub(num::from_u32(weight), Ordering::Release)",
        to: "self.word.fetch_sub(num::from_u32(weight), Ordering::Relaxed)",
    },
    Mutant {
        name: "permits: release looks for waiters before it gives back",
        file: PERMITS,
        from: "Word(self.word.fetch_sub(num::from_u32(weight), Ordering::Release)).has(WAITERS)",
        to: "let owed = self.read().has(WAITERS);\n        \
             self.word.fetch_sub(num::from_u32(weight), Ordering::Release);\n        owed",
    },
    Mutant {
        name: "bucket: a grant overwrites what changed meanwhile",
        file: BUCKET,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
        to: "self.word.store(next, Ordering::Relaxed);\n            match Ok::<u64, u64>(seen) {",
    },
    Mutant {
        name: "bucket: a lost race is not decided again",
        file: BUCKET,
        from: "match self.word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {",
        to: "match Ok::<u64, u64>(self.word.fetch_add(next.wrapping_sub(seen), Ordering::Relaxed)) {",
    },
    Mutant {
        name: "bucket: a stale clock takes the word back",
        file: BUCKET,
        from: "let start = if word <= units {",
        to: "let start = if word != u64::MAX {",
    },
    Mutant {
        name: "bucket: what was granted is not looked at",
        file: BUCKET,
        from: "let start = word.max(units);\n        if",
        to: "let start = units;\n        if",
    },
];
