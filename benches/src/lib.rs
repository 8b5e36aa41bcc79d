//! A fair contest: implementations of one operation, measured by criterion in turn, several rounds over.
//!
//! **Problem.** Machines that benches run on are busy with other things, and get slower and faster from one second to
//! the next. Criterion finishes one benchmark before the next, so two of them never see the same machine; a ratio of
//! two such times says little.
//!
//! **What is done.** Each benchmark is short (some 50 ms) and is repeated in [`ROUNDS`] rounds; in each round all
//! entrants of a case run one after the other, every other round in reverse, so that no one is always the first. The
//! reader of the results compares times of one round, and takes the round whose ratio is the median.
//!
//! **Names.** `group/case/t<threads>/n<size>/<implementation>/<round>`, size 1 where it has no meaning.
//!
//! **Operations.** One iteration of criterion's is a batch of operations, whose number is its throughput. With more
//! threads than one, each does a fixed number of operations; they start together, and the time is from the first
//! start to the last end, divided by the operations of all. An operation is told its number within the batch, so that
//! a time can be given to it that differs from call to call and costs nothing to come by. What only means something
//! as a whole, such as tasks that wait for each other, is a batch of its own.

use core::cell::{LazyCell, RefCell};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use criterion::{Bencher, BenchmarkId, Criterion, SamplingMode, Throughput};

/// How often each entrant of a case is measured; odd, so that a median is one of them.
pub const ROUNDS: u32 = 15;
const WARM_UP: Duration = Duration::from_millis(8);
const MEASUREMENT: Duration = Duration::from_millis(40);
const SAMPLES: usize = 10;
/// Criterion's own intervals are not used: as few as it takes without a warning.
const RESAMPLES: usize = 1_001;
/// Operations of one iteration: enough that the loop around them costs nothing.
const BATCH: u32 = 1_000;
/// Operations of each thread in one iteration: enough that starting the threads together is a small part.
const BATCH_PER_THREAD: u32 = 30_000;

/// Criterion as these benches use it.
#[must_use]
pub fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(WARM_UP)
        .measurement_time(MEASUREMENT)
        .sample_size(SAMPLES)
        .nresamples(RESAMPLES)
        .without_plots()
        .configure_from_args()
}

type Run<'a> = Box<dyn FnMut(&mut Bencher<'_>) + 'a>;

/// One operation, done by several implementations.
pub struct Case<'a> {
    group: &'static str,
    name: &'static str,
    threads: u32,
    size: u32,
    /// How many operations one call is, for [batches](Self::batch).
    batch: Option<u32>,
    entrants: Vec<(&'static str, RefCell<Run<'a>>)>,
}

impl<'a> Case<'a> {
    /// A case on one thread without a size.
    #[must_use]
    pub const fn new(group: &'static str, name: &'static str) -> Self {
        Self { group, name, threads: 1, size: 1, batch: None, entrants: Vec::new() }
    }

    /// The same on so many threads, for entrants that can be [shared](Self::shared).
    #[must_use]
    pub const fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// The same with so many things in it.
    #[must_use]
    pub const fn size(mut self, size: u32) -> Self {
        self.size = size;
        self
    }

    /// Adds an implementation that one thread has to itself. `make` sets it up, the first time it is measured, and
    /// gives the operation.
    #[must_use]
    pub fn alone<F: FnMut(u32) + 'a>(mut self, name: &'static str, make: impl FnOnce() -> F + 'a) -> Self {
        assert_eq!(self.threads, 1, "{name} cannot be shared by threads");
        let made = LazyCell::new(|| RefCell::new(make()));
        let run = move |bencher: &mut Bencher<'_>| one_thread(bencher, &mut *made.borrow_mut());
        self.entrants.push((name, RefCell::new(Box::new(run))));
        self
    }

    /// Adds an implementation that threads can share.
    #[must_use]
    pub fn shared<F: Fn(u32) + Sync + 'a>(
        mut self,
        name: &'static str,
        make: impl FnOnce() -> F + 'a,
    ) -> Self {
        let threads = self.threads;
        let made = LazyCell::new(make);
        let run = move |bencher: &mut Bencher<'_>| {
            let operation: &F = &made;
            if threads == 1 {
                one_thread(bencher, &mut |ordinal| operation(ordinal));
            } else {
                many_threads(bencher, threads, operation);
            }
        };
        self.entrants.push((name, RefCell::new(Box::new(run))));
        self
    }

    /// One call of what is added is so many operations, on as many threads as it likes.
    #[must_use]
    pub const fn batches_of(mut self, operations: u32) -> Self {
        self.batch = Some(operations);
        self
    }

    /// Adds an implementation of a case of [batches](Self::batches_of). `make` sets it up, the first time it is
    /// measured, and gives what does one.
    #[must_use]
    pub fn batch<F: FnMut() + 'a>(mut self, name: &'static str, make: impl FnOnce() -> F + 'a) -> Self {
        assert!(self.batch.is_some(), "{name} is a batch of unknown size");
        let made = LazyCell::new(|| RefCell::new(make()));
        let run = move |bencher: &mut Bencher<'_>| bencher.iter(&mut *made.borrow_mut());
        self.entrants.push((name, RefCell::new(Box::new(run))));
        self
    }

    fn operations(&self) -> u64 {
        if let Some(batch) = self.batch {
            return batch.into();
        }
        if self.threads == 1 { BATCH.into() } else { u64::from(BATCH_PER_THREAD) * u64::from(self.threads) }
    }

    fn round(&self, criterion: &mut Criterion, round: u32) {
        let mut group = criterion.benchmark_group(self.group);
        group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(self.operations()));
        let mut entrants: Vec<_> = self.entrants.iter().collect();
        if round % 2 == 1 {
            entrants.reverse();
        }
        for (name, run) in entrants {
            let function = format!("{}/t{}/n{}/{name}", self.name, self.threads, self.size);
            group.bench_function(BenchmarkId::new(function, round), |bencher| (run.borrow_mut())(bencher));
        }
        group.finish();
    }
}

impl core::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}/t{}/n{}", self.group, self.name, self.threads, self.size)
    }
}

/// Measures cases that are to be compared with one another, round by round.
pub fn run(criterion: &mut Criterion, cases: &[Case<'_>]) {
    for round in 0..ROUNDS {
        for case in cases {
            case.round(criterion, round);
        }
    }
}

fn one_thread(bencher: &mut Bencher<'_>, operation: &mut impl FnMut(u32)) {
    bencher.iter(|| {
        for ordinal in 0..BATCH {
            operation(ordinal);
        }
    });
}

fn many_threads(bencher: &mut Bencher<'_>, threads: u32, operation: &(impl Fn(u32) + Sync)) {
    bencher.iter_custom(|iterations| (0..iterations).map(|_| together(threads, operation)).sum());
}

/// Time from the first start to the last end.
fn together(threads: u32, operation: &(impl Fn(u32) + Sync)) -> Duration {
    let barrier = Barrier::new(usize::try_from(threads).unwrap_or(1));
    let work = || {
        barrier.wait();
        let start = Instant::now();
        for ordinal in 0..BATCH_PER_THREAD {
            operation(ordinal);
        }
        (start, Instant::now())
    };
    let spans: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    assert_eq!(spans.len(), usize::try_from(threads).unwrap_or(1), "an operation panicked");
    let first = spans.iter().map(|span| span.0).min();
    let last = spans.iter().map(|span| span.1).max();
    first.zip(last).map_or(Duration::ZERO, |(first, last)| last.duration_since(first))
}
