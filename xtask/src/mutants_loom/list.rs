//! The mutants, file by file, in the order of the source.

use super::{Code, Mutant};
use crate::loom::{CORE, FUTURES};

const PERMITS: Code = Code { file: "core/src/permit/atomic.rs", of: CORE, models: "loom_permits" };
const BUCKET: Code = Code { file: "core/src/rate/atomic.rs", of: CORE, models: "loom_bucket" };
const WINDOW: Code = Code { file: "core/src/adapt/atomic_window.rs", of: CORE, models: "loom_window" };
const UNITS: Code = Code { file: "core/src/rate/units.rs", of: CORE, models: "loom_bucket" };

const TURNS: Code = Code { file: "adapters/async/src/wait/turns.rs", of: FUTURES, models: "loom_semaphore" };
const LINE: Code = Code { file: "adapters/async/src/wait/line.rs", of: FUTURES, models: "loom_semaphore" };
const QUEUE: Code =
    Code { file: "adapters/async/src/semaphore/queue.rs", of: FUTURES, models: "loom_semaphore" };
const SEMAPHORE: Code =
    Code { file: "adapters/async/src/semaphore.rs", of: FUTURES, models: "loom_semaphore" };

const LIMIT: Code =
    Code { file: "adapters/async/src/semaphore/limit.rs", of: FUTURES, models: "loom_semaphore" };

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
        code: UNITS,
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
    Mutant {
        name: "window: a drop overwrites what was counted meanwhile",
        code: WINDOW,
        from: "self.drops.fetch_add(1, Ordering::Relaxed);",
        to: "self.drops.store(self.drops.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);",
    },
    Mutant {
        name: "window: a shortest time overwrites a shorter one",
        code: WINDOW,
        from: "self.least.fetch_min(units, Ordering::Relaxed);",
        to: "self.least.store(units, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: a success overwrites what was counted meanwhile",
        code: WINDOW,
        from: "self.word.fetch_add(one, Ordering::Relaxed).wrapping_add(one) >> SUM_BITS",
        to: "let next = self.word.load(Ordering::Relaxed).wrapping_add(one);\n                \
             self.word.store(next, Ordering::Relaxed);\n                next >> SUM_BITS",
    },
    Mutant {
        name: "window: a success is counted before its time is added",
        code: WINDOW,
        from: "self.word.fetch_add(one, Ordering::Relaxed).wrapping_add(one) >> SUM_BITS",
        to: "let counted = self.word.fetch_add(1_u64.wrapping_shl(SUM_BITS), Ordering::Relaxed);\n                \
             self.word.fetch_add(units, Ordering::Relaxed);\n                counted.wrapping_add(one) >> SUM_BITS",
    },
    Mutant {
        name: "window: a most in flight overwrites a greater one",
        code: WINDOW,
        from: "self.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);",
        to: "self.most_in_flight.store(in_flight, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: what it holds is not looked at",
        code: WINDOW,
        from: "< num::from_u32(self.size) {",
        to: "< num::from_u32(self.size.min(1)) {",
    },
    Mutant {
        name: "window: whoever finds it over has it",
        code: WINDOW,
        from: "self.ends_ns.compare_exchange(ends_ns, next_ns, Ordering::Relaxed, Ordering::Relaxed).ok()?;",
        to: "let _ = ends_ns;\n        self.ends_ns.store(next_ns, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: its end is not what was found over",
        code: WINDOW,
        from: "self.ends_ns.compare_exchange(ends_ns, next_ns, Ordering::Relaxed, Ordering::Relaxed).ok()?;",
        to: "let _ = ends_ns;\n        let seen = self.ends_ns.load(Ordering::Relaxed);\n        \
             self.ends_ns.compare_exchange(seen, next_ns, Ordering::Relaxed, Ordering::Relaxed).ok()?;",
    },
    Mutant {
        name: "window: successes that end while it is taken out are lost",
        code: WINDOW,
        from: "self.word.swap(0, Ordering::Relaxed);",
        to: "self.word.load(Ordering::Relaxed);\n        self.word.store(0, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: drops that end while it is taken out are lost",
        code: WINDOW,
        from: "self.drops.swap(0, Ordering::Relaxed);",
        to: "self.drops.load(Ordering::Relaxed);\n        self.drops.store(0, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: an empty one takes the most in flight with it",
        code: WINDOW,
        from: "if successes == 0 && drops == 0 {",
        to: "if successes == 0 && drops == 0 {\n            self.most_in_flight.store(0, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: an empty one takes the shortest time with it",
        code: WINDOW,
        from: "if successes == 0 && drops == 0 {",
        to: "if successes == 0 && drops == 0 {\n            self.least.store(u64::MAX, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: the most in flight meanwhile is lost",
        code: WINDOW,
        from: "self.most_in_flight.swap(0, Ordering::Relaxed);",
        to: "self.most_in_flight.load(Ordering::Relaxed);\n        \
             self.most_in_flight.store(0, Ordering::Relaxed);",
    },
    Mutant {
        name: "window: one of drops takes the shortest time with it",
        code: WINDOW,
        from: "if successes > 0 { self.least.swap",
        to: "if successes < u64::MAX { self.least.swap",
    },
    Mutant {
        name: "window: the shortest time meanwhile is lost",
        code: WINDOW,
        from: "if successes > 0 { self.least.swap(u64::MAX, Ordering::Relaxed) } else { u64::MAX };",
        to: "self.least.load(Ordering::Relaxed);\n        self.least.store(u64::MAX, Ordering::Relaxed);",
    },
    Mutant {
        name: "turns: a grant is looked at relaxed",
        code: TURNS,
        from: "word.load(Ordering::Acquire) != place",
        to: "word.load(Ordering::Relaxed) != place",
    },
    Mutant {
        name: "turns: a grant is noted relaxed",
        code: TURNS,
        from: "word.store(turn, Ordering::Release);",
        to: "word.store(turn, Ordering::Relaxed);",
    },
    Mutant {
        name: "line: a turn does not end",
        code: LINE,
        from: "slot.turn = slot.turn.saturating_add(1);",
        to: "slot.turn = slot.turn.saturating_add(0);",
    },
    Mutant {
        name: "line: one who was granted is handed the former waker",
        code: LINE,
        from: "_ => Err(waker),",
        to: "_ => Ok(waker),",
    },
    Mutant {
        name: "queue: a release does not look for those who wait",
        code: QUEUE,
        from: "} else if AtomicPermits::adopt(&self.permits, n).release() {",
        to: "} else if AtomicPermits::adopt(&self.permits, n).release() && n == u32::MAX {",
    },
    Mutant {
        name: "queue: one in front that leaves lets nobody go",
        code: QUEUE,
        from: "if was_front {",
        to: "if was_front && n == u32::MAX {",
    },
    Mutant {
        name: "queue: a grant that is left before it is seen is lost",
        code: QUEUE,
        from: "return self.give_back(n);",
        to: "return;",
    },
    Mutant {
        name: "queue: a grant that is left while the lock is awaited is lost",
        code: QUEUE,
        from: "drop(queue);\n                self.give_back(n);",
        to: "drop(queue);",
    },
    Mutant {
        name: "queue: permits are handed over above the limit",
        code: QUEUE,
        from: "let fits = self.permits.in_use() <= self.permits.limit() &&",
        to: "let fits =",
    },
    Mutant {
        name: "queue: permits are handed over whoever waits for how many",
        code: QUEUE,
        from: "fits && queue.line.front() == Some(&n)",
        to: "fits && queue.line.front().is_some()",
    },
    Mutant {
        name: "queue: what is handed over ends the serving",
        code: QUEUE,
        from: "Some((_, waker)) if self.has_to_wait(queue.line.front()) => {",
        to: "Some((_, waker)) if n > 0 => {",
    },
    Mutant {
        name: "queue: the announcement is not taken back",
        code: QUEUE,
        from: "self.permits.retract();\n        false",
        to: "false",
    },
    Mutant {
        name: "queue: the announcement is taken back while somebody waits",
        code: QUEUE,
        from: "_ => return false,\n",
        to: "_ => {\n                        self.permits.retract();\n                        return false;\n                    }\n",
    },
    Mutant {
        name: "queue: a pause is not announced",
        code: QUEUE,
        from: "self.permits.announce();",
        to: "{}",
    },
    Mutant {
        name: "queue: a waker that comes too late is taken for parked",
        code: QUEUE,
        from: "if parked.is_ok() {",
        to: "if parked.is_ok() || parked.is_err() {",
    },
    Mutant { name: "queue: nobody is woken", code: QUEUE, from: "wakes.wake();\n            if", to: "if" },
    Mutant {
        name: "semaphore: closing tells nobody",
        code: SEMAPHORE,
        from: "self.permits.close();\n        self.serve(queue);",
        to: "self.permits.close();\n        drop(queue);",
    },
    Mutant {
        name: "semaphore: a limit that is raised grants to nobody",
        code: LIMIT,
        from: "unwrap_or(u32::MAX))?;\n        self.serve(queue);",
        to: "unwrap_or(u32::MAX))?;\n        drop(queue);",
    },
    Mutant {
        name: "semaphore: permits that are added grant to nobody",
        code: LIMIT,
        from: "self.permits.set_limit(narrow(limit));\n        self.serve(queue);",
        to: "self.permits.set_limit(narrow(limit));\n        drop(queue);",
    },
    Mutant {
        name: "semaphore: what was forgotten comes back twice",
        code: LIMIT,
        from: "queue.forgotten -= back;",
        to: "queue.forgotten -= back;\n        drop(AtomicPermits::adopt(&self.permits, back));",
    },
];
