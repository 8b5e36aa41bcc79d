//! [`Limiter`], polled by hand in time that is set by hand.

mod classes;
#[path = "../common/mod.rs"]
mod common;
mod laws;

use core::future::Future;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use common::{Task, Virtual, at, cases};
use proptest::prelude::*;
use tollgate_async::adapt::{Estimator, LimiterSettings, Outcome, PartitionId, Refusal, Sample, Share};
use tollgate_async::{Limiter, LimiterPermit, Reason, Runtime, Timestamp};

/// A limit that is set from outside, the samples it was told, and a tick it asks for.
#[derive(Clone, Debug, Default)]
struct Script(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
struct Told {
    limit: u32,
    samples: Vec<Sample>,
    met: u32,
    /// From then on the limit is another, if it is ticked.
    tick: Option<(Timestamp, u32)>,
}

impl Estimator for Script {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        let mut told = self.0.lock().unwrap();
        told.samples.push(*sample);
        told.limit
    }

    fn limit(&self) -> u32 {
        self.0.lock().unwrap().limit
    }

    fn on_reject(&mut self, _: Timestamp) -> u32 {
        let mut told = self.0.lock().unwrap();
        told.met += 1;
        told.limit
    }

    fn on_tick(&mut self, now: Timestamp) -> u32 {
        let mut told = self.0.lock().unwrap();
        if let Some((_, limit)) = told.tick.take_if(|&mut (at, _)| at <= now) {
            told.limit = limit;
        }
        told.limit
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.0.lock().unwrap().tick.map(|(at, _)| at)
    }
}

type Permit = LimiterPermit<Script, Virtual>;
type Asked = Task<Result<Permit, Refusal>>;

struct Bench {
    runtime: Virtual,
    script: Script,
    limiter: Limiter<Script, Virtual>,
}

impl Bench {
    fn new(limit: u32) -> Self {
        Self::with(limit, &[], 1_000)
    }

    fn with(limit: u32, shares: &[Share], max_waiters: usize) -> Self {
        let (runtime, script) = (Virtual::default(), Script::default());
        script.0.lock().unwrap().limit = limit;
        let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
        let limiter =
            Limiter::with_runtime(runtime.clone(), script.clone(), settings, shares, 4, max_waiters).unwrap();
        Self { runtime, script, limiter }
    }

    /// The limit is set, and the limiter learns of it.
    fn set_limit(&self, limit: u32) {
        self.script.0.lock().unwrap().limit = limit;
        self.limiter.replace_estimator(self.script.clone());
    }

    fn ask(&self, class: Option<PartitionId>, weight: u32, deadline: Timestamp) -> Asked {
        let limiter = self.limiter.clone();
        let mut task = Task::new(async move { limiter.acquire_many(class, weight, deadline).await });
        assert!(task.poll().is_none(), "it does not fit");
        task
    }

    fn wait(&self) -> Asked {
        self.ask(None, 1, Timestamp::MAX)
    }

    fn take(&self) -> Permit {
        self.limiter.try_acquire(None).unwrap()
    }
}

fn granted(task: &mut Asked) -> Option<Permit> {
    task.run().map(Result::unwrap)
}

fn refused(task: &mut Asked) -> Option<Reason> {
    task.run().map(|answer| answer.unwrap_err().reason)
}

#[test]
fn who_came_first_is_granted_first_and_its_time_counts_from_then() {
    let bench = Bench::new(1);
    let held = bench.take();
    let (mut first, mut second) = (bench.wait(), bench.wait());
    bench.runtime.set(at(10));
    held.success();
    assert!(!second.is_woken());
    bench.runtime.set(at(12));
    let permit = granted(&mut first).unwrap();
    bench.runtime.set(at(17));
    permit.success();
    let permit = granted(&mut second).unwrap();
    bench.runtime.set(at(20));
    permit.dropped();
    let told = bench.script.0.lock().unwrap();
    let times: Vec<_> = told.samples.iter().map(|sample| (sample.rtt.as_nanos(), sample.outcome)).collect();
    assert_eq!(times, [(10, Outcome::Success), (7, Outcome::Success), (3, Outcome::Dropped)]);
    assert_eq!(told.met, 2, "who waits met the limit");
}

#[test]
fn a_dropped_permit_says_nothing() {
    let bench = Bench::new(1);
    drop(bench.take());
    bench.take().ignore();
    let stats = bench.limiter.stats();
    assert_eq!((stats.outcomes, stats.in_flight), ([0, 0, 2], 0));
}

#[test]
fn a_raised_limit_wakes_all_who_fit_and_nobody_else() {
    let bench = Bench::new(1);
    let _held = bench.take();
    let mut tasks: Vec<_> = (0..5).map(|_| bench.wait()).collect();
    bench.set_limit(4);
    assert_eq!(tasks.iter().map(Task::is_woken).collect::<Vec<_>>(), [true, true, true, false, false]);
    let permits: Vec<_> = tasks.iter_mut().filter_map(granted).collect();
    assert_eq!((permits.len(), bench.limiter.num_waiters()), (3, 2));
}

#[test]
fn report_22_a_lowered_limit_holds_while_somebody_waits() {
    let bench = Bench::new(3);
    let mut held: Vec<_> = (0..3).map(|_| bench.take()).collect();
    let mut waiting = bench.wait();
    bench.set_limit(1);
    held.pop().unwrap().success();
    held.pop().unwrap().success();
    assert!(granted(&mut waiting).is_none(), "one is still in flight");
    held.pop().unwrap().success();
    assert!(granted(&mut waiting).is_some());
}

#[test]
fn report_23_a_limit_lowered_and_raised_again_counts_what_is_in_flight() {
    let bench = Bench::new(6);
    let held: Vec<_> = (0..6).map(|_| bench.take()).collect();
    let mut tasks: Vec<_> = (0..4).map(|_| bench.wait()).collect();
    bench.set_limit(2);
    bench.set_limit(7);
    let permits: Vec<_> = tasks.iter_mut().filter_map(granted).collect();
    assert_eq!(permits.len(), 1, "7 less the 6 that are in flight");
    drop(held);
}

#[test]
fn report_24_who_is_behind_a_big_one_that_left_is_granted_at_once() {
    let bench = Bench::new(4);
    let _held = [bench.take(), bench.take()];
    let mut big = bench.ask(None, 4, Timestamp::MAX);
    let mut small = bench.wait();
    big.cancel();
    assert!(granted(&mut small).is_some());
    // Also if it left because its time was over.
    let _held = [bench.take(), bench.take()];
    let mut big = bench.ask(None, 4, at(9));
    let mut small = bench.ask(None, 0, Timestamp::MAX);
    bench.runtime.set(at(9));
    assert_eq!(refused(&mut big), Some(Reason::DeadlineExceeded));
    assert!(granted(&mut small).is_some());
}

#[test]
fn report_25_who_leaves_frees_its_place_at_once() {
    let bench = Bench::with(1, &[], 2);
    let _held = bench.take();
    let mut tasks = [bench.wait(), bench.wait()];
    let ask = || {
        let limiter = bench.limiter.clone();
        Task::new(async move { limiter.acquire(None).await })
    };
    assert_eq!(refused(&mut ask()), Some(Reason::QueueFull));
    tasks[0].cancel();
    let mut next = ask();
    assert!(next.run().is_none());
    assert_eq!(bench.limiter.num_waiters(), 2);
}

#[test]
fn report_26_a_future_dropped_after_its_grant_gives_the_permit_to_the_next() {
    let bench = Bench::new(1);
    let held = bench.take();
    let (mut first, mut second) = (bench.wait(), bench.wait());
    held.success();
    assert!(first.is_woken() && !second.is_woken());
    first.cancel();
    assert!(granted(&mut second).is_some());
    drop(second);
    assert_eq!(bench.limiter.stats().in_flight, 0);
}

#[test]
fn report_27_two_releases_before_the_first_woken_runs_wake_two() {
    let bench = Bench::new(2);
    let held = [bench.take(), bench.take()];
    let mut tasks = [bench.wait(), bench.wait()];
    held.into_iter().for_each(LimiterPermit::success);
    assert!(tasks.iter().all(Task::is_woken));
    assert!(tasks.iter_mut().all(|task| granted(task).is_some()));
}

#[test]
fn report_28_nobody_takes_what_a_woken_waiter_is_owed() {
    let bench = Bench::new(1);
    let held = bench.take();
    let mut waiting = bench.wait();
    held.success();
    assert_eq!(bench.limiter.try_acquire(None).unwrap_err().reason, Reason::NoPermits);
    assert!(granted(&mut waiting).is_some());
}

#[test]
fn report_29_who_is_pending_is_not_woken_without_a_cause() {
    let bench = Bench::new(1);
    let _held = bench.take();
    let mut waiting = bench.wait();
    assert!(!waiting.is_woken());
    assert!(waiting.poll().is_none());
    assert!(!waiting.is_woken());
    assert_eq!(bench.runtime.timers(), 0, "without a deadline there is nothing to set a timer to");
}

#[test]
fn report_30_what_weighs_more_than_the_limit_is_refused_at_once_or_when_it_comes_to_that() {
    let bench = Bench::new(3);
    let _held = bench.take();
    let limiter = bench.limiter.clone();
    let mut ask = Task::new(async move { limiter.acquire_many(None, 4, Timestamp::MAX).await });
    assert_eq!(refused(&mut ask), Some(Reason::ExceedsLimit));
    let (mut big, mut small) = (bench.ask(None, 3, Timestamp::MAX), bench.wait());
    bench.set_limit(2);
    assert_eq!(refused(&mut big), Some(Reason::ExceedsLimit));
    assert!(granted(&mut small).is_some(), "nobody is held up by it");
}

struct Wild {
    woken: AtomicUsize,
    limiter: Limiter<Script, Virtual>,
}

impl Wake for Wild {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        // The lock is free: this would stand still otherwise.
        assert!(self.limiter.num_waiters() < 100);
        panic!("a waker of somebody else");
    }
}

#[test]
fn report_31_a_waker_may_come_back_and_panic_and_hurts_nobody_else() {
    let bench = Bench::new(2);
    let held = [bench.take(), bench.take()];
    let wild = Arc::new(Wild { woken: AtomicUsize::new(0), limiter: bench.limiter.clone() });
    let waker = Waker::from(Arc::clone(&wild));
    let limiter = bench.limiter.clone();
    let mut first = Box::pin(limiter.acquire(None));
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let mut second = bench.wait();
    bench.set_limit(4);
    assert_eq!(wild.woken.load(Ordering::SeqCst), 1);
    assert!(granted(&mut second).is_some());
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    drop(held);
    assert_eq!(bench.limiter.stats().in_flight, 0);
}

#[test]
fn report_32_a_grant_that_is_not_fetched_goes_back_at_its_deadline() {
    let bench = Bench::new(1);
    let held = bench.take();
    let mut asleep = bench.ask(None, 1, at(50));
    let mut next = bench.wait();
    held.success();
    // It is granted and never polled again; the next one sees to it by its own timer.
    assert!(asleep.is_woken());
    assert!(granted(&mut next).is_none());
    bench.runtime.set(at(50));
    assert!(granted(&mut next).is_none(), "not before it is late");
    assert_eq!(bench.runtime.next(), Some(at(51)));
    bench.runtime.set(at(51));
    assert!(granted(&mut next).is_some());
    assert_eq!(refused(&mut asleep), Some(Reason::DeadlineExceeded));
}

#[test]
fn report_32_a_grant_that_is_not_fetched_goes_back_to_who_only_tries() {
    let bench = Bench::new(1);
    let held = bench.take();
    let asleep = bench.ask(None, 1, at(50));
    held.success();
    bench.runtime.set(at(51));
    assert!(bench.limiter.try_acquire(None).is_ok());
    drop(asleep);
}

#[test]
fn a_grant_may_be_fetched_until_its_deadline_and_none_is_made_after_it() {
    let bench = Bench::new(1);
    let held = bench.take();
    let (mut first, mut second) = (bench.ask(None, 1, at(50)), bench.ask(None, 1, at(60)));
    let mut third = bench.wait();
    held.success();
    bench.runtime.set(at(50));
    assert!(bench.limiter.try_acquire(None).is_err());
    let held = granted(&mut first).unwrap();
    // The second is not polled at its deadline, and passed over afterwards.
    bench.runtime.set(at(61));
    held.success();
    assert!(granted(&mut third).is_some());
    assert_eq!(refused(&mut second), Some(Reason::DeadlineExceeded));
    assert_eq!(bench.limiter.stats().admitted, 3, "it was never let in");
}

#[test]
fn who_waits_with_a_deadline_is_refused_then_and_not_before() {
    let bench = Bench::new(1);
    let _held = bench.take();
    let mut waiting = bench.ask(None, 1, at(50));
    assert_eq!(bench.runtime.next(), Some(at(50)));
    bench.runtime.set(at(49));
    assert!(waiting.run().is_none());
    bench.runtime.set(at(50));
    assert_eq!(refused(&mut waiting), Some(Reason::DeadlineExceeded));
    assert_eq!(bench.limiter.num_waiters(), 0);
    let limiter = bench.limiter.clone();
    let mut late = Task::new(async move { limiter.acquire_by(None, at(50)).await });
    assert_eq!(refused(&mut late), Some(Reason::DeadlineExceeded), "nobody waits for what is over");
}

#[test]
fn an_estimator_that_gives_up_waiting_is_heard_by_who_waits() {
    let bench = Bench::new(1);
    let _held = bench.take();
    let mut waiting = bench.wait();
    bench.script.0.lock().unwrap().tick = Some((at(30), 2));
    assert_eq!(bench.limiter.num_waiters(), 1);
    assert!(waiting.is_woken(), "to set its timer");
    assert!(waiting.run().is_none());
    bench.runtime.set(at(30));
    assert!(granted(&mut waiting).is_some());
}

#[test]
fn limiters_their_permits_and_futures_go_to_other_threads() {
    fn good<T: Send + Sync>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let bench = Bench::new(1);
    good(&bench.limiter);
    sent(&bench.limiter.acquire(None));
    sent(&bench.limiter.acquire_by(None, Timestamp::MAX));
    good(&bench.take());
}

#[test]
fn a_thread_waits_until_another_gives_back_or_its_deadline() {
    let bench = Bench::new(1);
    let held = bench.take();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| bench.limiter.acquire_blocking(None, 1, Timestamp::MAX));
        while bench.limiter.num_waiters() == 0 {
            std::thread::yield_now();
        }
        held.success();
        let permit = waiting.join().unwrap().unwrap();
        let late = bench.limiter.acquire_blocking(None, 1, bench.runtime.now());
        assert_eq!(late.unwrap_err().reason, Reason::DeadlineExceeded);
        drop(permit);
    });
}
