//! A request under a limit whose end is collected for an estimator: a permit taken, given back, and the end recorded.
//!
//! The peer `permits` is the same without recording, so the ratio is what a learnt limit costs above a fixed one. The
//! floor is what recording cannot do without: one more addition. Time is given, a microsecond from call to call, and
//! goes back with each batch; windows are handed over because they are full.

use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use criterion::Criterion;
use tollgate::Timestamp;
use tollgate::adapt::{AtomicWindow, Outcome};
use tollgate::permit::AtomicPermits;
use tollgate_benches::{Case, run as contest};

const LIMIT: u32 = 1_024;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &[cycle(1)]);
    contest(criterion, &[cycle(2)]);
}

fn cycle(threads: u32) -> Case<'static> {
    Case::new("windowed", "cycle")
        .threads(threads)
        .shared("tollgate", || {
            let permits = permits();
            let window = AtomicWindow::new(Duration::from_millis(100), 10, 10).expect("lawful");
            move |ordinal| {
                drop(black_box(permits.try_acquire().expect("one is free")));
                let now = Timestamp::from_nanos(u64::from(ordinal) * 1_000);
                let rtt = Duration::new(0, rtt_ns(ordinal));
                black_box(window.record(now, rtt, in_flight(ordinal), Outcome::Success));
            }
        })
        .shared("permits", || {
            let permits = permits();
            move |_| drop(black_box(permits.try_acquire().expect("one is free")))
        })
        .shared("floor", || {
            let permits = permits();
            let sum = Apart(AtomicU64::new(0));
            move |ordinal| {
                drop(black_box(permits.try_acquire().expect("one is free")));
                black_box(sum.0.fetch_add(rtt_ns(ordinal).into(), Ordering::Relaxed));
            }
        })
}

/// On a cache line of its own, as the window is.
#[repr(align(64))]
struct Apart(AtomicU64);

fn permits() -> AtomicPermits {
    AtomicPermits::new(LIMIT).expect("a lawful limit")
}

/// 10 to 14 ms.
const fn rtt_ns(ordinal: u32) -> u32 {
    10_000_000 + (ordinal.wrapping_mul(2_654_435_769) >> 10)
}

/// Some, never the most.
const fn in_flight(ordinal: u32) -> u32 {
    1 + (ordinal & 31)
}
