//! The laws of [`KeyedRateLimiter`]: for each key it is a [`RateLimiter`] of its own, polled by hand in time that is set by
//! hand.

mod common;

use core::time::Duration;

use common::{Task, Virtual, at, cases};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate_async::rate::{Inherit, Policy, Quota, ShardedKeyed, WhenFull};
use tollgate_async::{KeyedRateLimiter, RateLimiter, Reason, Refused, Runtime, Timestamp};

const KEYS: u64 = 3;

type Answer = Result<(), Refused>;

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(u64, Option<u64>),
    Try(u64),
    Cancel(prop::sample::Index),
    SetQuota(Quota, bool),
}

/// Quotas of which a token takes whole nanoseconds, so that the table rounds nothing.
fn quotas() -> impl Strategy<Value = Quota> {
    (1..25_u64, 1..8_u64).prop_map(|(ns, burst)| Quota::new(1, Duration::from_nanos(ns)).burst(burst))
}

fn ops() -> impl Strategy<Value = Vec<(u64, u64, Op)>> {
    let op = prop_oneof![
        8 => (0..9_u64, prop::option::weighted(0.3, 0..90_u64)).prop_map(|(cost, wait)| Op::Acquire(cost, wait)),
        3 => (0..9_u64).prop_map(Op::Try),
        3 => any::<prop::sample::Index>().prop_map(Op::Cancel),
        1 => (quotas(), any::<bool>()).prop_map(|(quota, reset)| Op::SetQuota(quota, reset)),
    ];
    let step = prop_oneof![3 => Just(0), 4 => 0..9_u64, 1 => 0..200_u64];
    prop::collection::vec((step, 0..KEYS, op), 1..70)
}

/// The same request to both.
struct Asked {
    keyed: Task<Answer>,
    own: Task<Answer>,
    waits: bool,
}

struct Pair {
    runtime: Virtual,
    keyed: KeyedRateLimiter<u64, Virtual>,
    own: Vec<RateLimiter<Virtual>>,
    asked: Vec<Asked>,
}

impl Pair {
    fn new(quota: Quota) -> Self {
        let runtime = Virtual::default();
        // A word cannot tell the beginning of time from being full.
        runtime.set(at(1));
        let table = ShardedKeyed::new(quota, 1_000, WhenFull::Refuse).unwrap();
        let keyed = KeyedRateLimiter::with_runtime(runtime.clone(), table, usize::MAX);
        let own =
            || RateLimiter::with_runtime(runtime.clone(), quota, Policy::default(), usize::MAX).unwrap();
        let own = (0..KEYS).map(|_| own()).collect();
        Self { runtime, keyed, own, asked: vec![] }
    }

    fn pass(&mut self, until: Timestamp) -> TestCaseResult {
        while let Some(next) = self.runtime.next().filter(|&next| next <= until) {
            self.runtime.set(next);
            self.same()?;
        }
        self.runtime.set(until);
        self.same()
    }

    fn same(&mut self) -> TestCaseResult {
        let now = self.runtime.now();
        for (number, asked) in self.asked.iter_mut().enumerate().filter(|(_, asked)| asked.waits) {
            let (keyed, own) = (asked.keyed.run(), asked.own.run());
            prop_assert_eq!(keyed, own, "{} at {}", number, now);
            asked.waits = keyed.is_none();
        }
        Ok(())
    }

    fn apply(&mut self, key: u64, op: Op) -> TestCaseResult {
        let now = self.runtime.now();
        let (keyed, own) = (self.keyed.clone(), self.own[key as usize].clone());
        match op {
            Op::Acquire(cost, wait) => {
                let until =
                    wait.map_or(Timestamp::MAX, |wait| now.saturating_add(Duration::from_nanos(wait)));
                let keyed = Task::new(async move { keyed.acquire_by(&key, cost, until).await });
                let own = Task::new(async move { own.acquire_by(cost, until).await });
                self.asked.push(Asked { keyed, own, waits: true });
            }
            Op::Try(cost) => {
                prop_assert_eq!(keyed.peek(&key, cost), own.peek(cost));
                prop_assert_eq!(keyed.try_acquire(&key, cost), own.try_acquire(cost));
            }
            Op::Cancel(which) => {
                let mut waiting: Vec<_> = self.asked.iter_mut().filter(|asked| asked.waits).collect();
                if !waiting.is_empty() {
                    let which = which.index(waiting.len());
                    waiting[which].keyed.cancel();
                    waiting[which].own.cancel();
                    waiting[which].waits = false;
                }
            }
            Op::SetQuota(quota, reset) => {
                let inherit = if reset { Inherit::Reset } else { Inherit::AsIs };
                keyed.set_quota(quota, inherit).unwrap();
                self.own.iter().for_each(|own| own.set_quota(quota, inherit).unwrap());
            }
        }
        self.same()?;
        let waiting: usize = self.own.iter().map(RateLimiter::num_waiters).sum();
        prop_assert_eq!(self.keyed.num_waiters(), waiting);
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn each_key_has_a_rate_limiter_of_its_own(quota in quotas(), run in ops()) {
        let mut pair = Pair::new(quota);
        for (step, key, op) in run {
            pair.pass(pair.runtime.now().saturating_add(Duration::from_nanos(step)))?;
            pair.apply(key, op)?;
        }
        pair.pass(at(1 << 40))?;
        prop_assert!(pair.asked.iter().all(|asked| !asked.waits));
        prop_assert_eq!((pair.keyed.num_waiters(), pair.runtime.timers()), (0, 0));
    }

    /// Where a unit is no nanosecond, and where all share what is left: nobody is forgotten, nobody spins, and for all keys
    /// together no more than a burst and what accrued for each.
    #[test]
    fn everybody_is_served_in_the_end_in_order_whatever_the_quota_and_whoever_shares(
        tokens in 1..2_000_000_000_u64,
        burst in 2..9_u64,
        run in prop::collection::vec((0..5_u64, 0..KEYS, 1..3_u64, any::<bool>()), 1..40),
        overflow in any::<bool>(),
    ) {
        let runtime = Virtual::default();
        runtime.set(at(1));
        let capacity = if overflow { 1 } else { 64 };
        let table = ShardedKeyed::new(Quota::per_second(tokens).burst(burst), capacity, WhenFull::Overflow).unwrap();
        let keyed = KeyedRateLimiter::<u64, _>::with_runtime(runtime.clone(), table, usize::MAX);
        let mut tasks = vec![];
        let mut order: Vec<Vec<usize>> = vec![vec![]; KEYS as usize];
        let collect = |tasks: &mut Vec<(u64, Task<Answer>, bool)>, order: &mut Vec<Vec<usize>>| {
            for (number, (key, task, over)) in tasks.iter_mut().enumerate() {
                if task.run().is_some_and(|answer| answer.is_ok()) {
                    *over = true;
                    order[*key as usize].push(number);
                }
            }
        };
        for (step, key, cost, leaves) in run {
            let until = runtime.now().saturating_add(Duration::from_nanos(step * 100_000));
            while let Some(next) = runtime.next().filter(|&next| next <= until) {
                runtime.set(next);
                collect(&mut tasks, &mut order);
            }
            runtime.set(until);
            let limiter = keyed.clone();
            let mut task = Task::new(async move { limiter.acquire(&key, cost).await });
            let over = task.run().is_some();
            if leaves && !over {
                task.cancel();
                collect(&mut tasks, &mut order);
                continue;
            }
            if over {
                order[key as usize].push(tasks.len());
            }
            tasks.push((key, task, over));
        }
        let mut timers = 0;
        while let Some(next) = runtime.next() {
            runtime.set(next);
            collect(&mut tasks, &mut order);
            timers += 1;
            prop_assert!(timers < 1_000, "somebody waits for ever");
        }
        prop_assert!(tasks.iter().all(|task| task.2));
        prop_assert!(order.iter().all(|order| order.is_sorted()), "{:?}", order);
        prop_assert_eq!(keyed.num_waiters(), 0);
    }
}

#[test]
fn all_lines_together_are_bounded_and_who_is_refused_for_good_is_told_so() {
    let runtime = Virtual::default();
    let table = ShardedKeyed::new(Quota::per_second(10).burst(1), 100, WhenFull::Refuse).unwrap();
    let keyed = KeyedRateLimiter::<u64, _>::with_runtime(runtime.clone(), table, 2);
    let ask = |key: u64, cost: u64| {
        let keyed = keyed.clone();
        let mut task = Task::new(async move { keyed.acquire(&key, cost).await });
        let answer = task.run();
        (task, answer)
    };
    let first: Vec<_> = (0..3).map(|key| ask(key, 1).1).collect();
    assert_eq!(first, [Some(Ok(())); 3]);
    let (mut one, two) = (ask(0, 1), ask(1, 1));
    assert_eq!((one.1, two.1), (None, None));
    assert_eq!(ask(2, 1).1, Some(Err(Refused::because(Reason::QueueFull))));
    assert_eq!(ask(2, 2).1, Some(Err(Refused::because(Reason::ExceedsCapacity))));
    assert_eq!(ask(3, 1).1, Some(Ok(())), "who need not wait may come");
    one.0.cancel();
    let three = ask(2, 1);
    assert_eq!(three.1, None);
    drop((two, three));
    assert_eq!(keyed.num_waiters(), 0);
}

/// One that waits for `cost` of `key`'s.
fn waits(keyed: &KeyedRateLimiter<u64, Virtual>, key: u64, cost: u64) -> Task<Answer> {
    let keyed = keyed.clone();
    let mut task = Task::new(async move { keyed.acquire(&key, cost).await });
    assert!(task.run().is_none(), "it has to wait");
    task
}

#[test]
fn who_was_told_too_early_because_another_key_took_what_they_share_looks_again_and_does_not_spin() {
    let runtime = Virtual::default();
    runtime.set(at(1));
    let quota = Quota::new(1, Duration::from_nanos(10)).burst(4);
    let table = ShardedKeyed::new(quota, 1, WhenFull::Overflow).unwrap();
    // The only place is taken for good.
    table.charge(at(1), &9, 1_000).unwrap();
    let keyed = KeyedRateLimiter::<u64, _>::with_runtime(runtime.clone(), table, 99);
    keyed.try_acquire(&1, 4).unwrap();
    let mut tasks = [waits(&keyed, 1, 1), waits(&keyed, 1, 1), waits(&keyed, 1, 1), waits(&keyed, 2, 4)];
    let mut granted = vec![];
    while let Some(next) = runtime.next() {
        runtime.set(next);
        let done = tasks.iter_mut().enumerate().filter_map(|(number, task)| task.run().map(|_| number));
        granted.extend(done.map(|number| (number, next.as_nanos())));
    }
    assert_eq!(granted, [(0, 11), (3, 51), (1, 61), (2, 71)]);
}

#[test]
fn a_newcomer_does_not_take_what_the_next_in_line_has_not_reserved_yet() {
    let runtime = Virtual::default();
    runtime.set(at(1));
    let quota = Quota::new(1, Duration::from_nanos(10)).burst(4);
    let table = ShardedKeyed::new(quota, 9, WhenFull::Refuse).unwrap();
    let keyed = KeyedRateLimiter::<u64, _>::with_runtime(runtime.clone(), table, 99);
    keyed.try_acquire(&1, 4).unwrap();
    let (mut asleep, mut big) = (waits(&keyed, 1, 1), waits(&keyed, 1, 4));
    // The first was due at 11, and nobody has noticed.
    runtime.set(at(25));
    let mut late = waits(&keyed, 1, 1);
    runtime.set(at(51));
    assert_eq!(big.run(), Some(Ok(())));
    assert!(late.run().is_none());
    assert_eq!(asleep.run(), Some(Ok(())));
}

#[test]
fn keyed_limiters_and_their_futures_go_to_other_threads() {
    fn good<T: Send + Sync>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let limiter =
        KeyedRateLimiter::<String, Virtual>::new(Quota::per_second(1), 9, WhenFull::Refuse).unwrap();
    let key = String::new();
    good(&limiter);
    sent(&limiter.acquire(&key, 1));
    sent(&limiter.until_ready(&key));
    sent(&limiter.acquire_by(&key, 1, Timestamp::MAX));
}
