//! The laws of [`RateLimiter`], polled by hand in time that is set by hand, against an oracle that keeps all that was granted
//! and works everything out anew.

#[path = "../common/mod.rs"]
mod common;
mod edges;

use core::time::Duration;

use common::{Task, Virtual, at, cases};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate_async::rate::{Inherit, Overshoot, Oversize, Policy, Quota};
use tollgate_async::{RateLimiter, Reason, Refused, Runtime, Timestamp};

#[derive(Clone, Copy, Debug)]
struct Terms {
    tokens: i128,
    per: i128,
    burst: i128,
    max_debt: Option<i128>,
    when_full: bool,
}

impl Terms {
    /// The highest level at which a cost passes.
    fn most(&self, cost: i128) -> Option<i128> {
        let room = self.burst + self.max_debt.unwrap_or(0);
        if cost <= room {
            return Some(
                (room - cost).min(if self.max_debt.is_some() { self.burst } else { room }) * self.per,
            );
        }
        self.when_full.then_some(0)
    }

    fn quota(&self) -> Quota {
        Quota::new(self.tokens as u64, Duration::from_nanos(self.per as u64)).burst(self.burst as u64)
    }

    fn policy(&self) -> Policy {
        Policy {
            overshoot: match self.max_debt {
                Some(debt) => Overshoot::Lock { max_debt: debt as u64 },
                None => Overshoot::Deny,
            },
            oversize: if self.when_full { Oversize::WhenFull } else { Oversize::Refuse },
        }
    }
}

fn terms() -> impl Strategy<Value = Terms> {
    let debt = prop_oneof![4 => Just(None), 1 => (0..4_i128).prop_map(Some)];
    (1..5_i128, 1..40_i128, 1..9_i128, debt, prop::bool::weighted(0.2)).prop_map(
        |(tokens, per, burst, max_debt, when_full)| {
            let common = (1..=tokens).rev().find(|by| tokens % by == 0 && per % by == 0).unwrap();
            Terms { tokens: tokens / common, per: per / common, burst, max_debt, when_full }
        },
    )
}

/// A request, in the order of arrival: when it took what it costs, or will have.
#[derive(Clone, Copy, Debug)]
struct Request {
    task: usize,
    since: i128,
    cost: i128,
    deadline: u64,
}

/// Everything that was granted since the quota last changed, then everything that waits.
#[derive(Clone, Debug)]
struct Oracle {
    terms: Terms,
    level: i128,
    since: i128,
    granted: Vec<Request>,
    waiting: Vec<Request>,
}

impl Oracle {
    fn new(terms: Terms) -> Self {
        Self { terms, level: 0, since: 0, granted: vec![], waiting: vec![] }
    }

    /// The level after these took theirs, one after the other.
    fn level(&self, requests: &[Request], now: i128) -> i128 {
        let (level, since) = requests.iter().fold((self.level, self.since), |(level, since), request| {
            let fallen = (level - (request.since - since) * self.terms.tokens).max(0);
            (fallen + request.cost * self.terms.per, request.since)
        });
        (level - (now - since) * self.terms.tokens).max(0)
    }

    /// When one that comes at `now` behind these is due.
    fn due(&self, requests: &[Request], now: i128, cost: i128) -> Option<u64> {
        let excess = (self.level(requests, now) - self.terms.most(cost)?).max(0);
        Some((now + (excess + self.terms.tokens - 1) / self.terms.tokens) as u64)
    }

    fn all(&self) -> Vec<Request> {
        [self.granted.clone(), self.waiting.clone()].concat()
    }

    /// When a newcomer would be due.
    fn newcomer(&self, now: u64, cost: i128) -> Option<u64> {
        self.due(&self.all(), now.into(), cost)
    }

    /// Who is due by `now`, and when.
    fn settle(&mut self, now: u64) -> Vec<(usize, u64, i128)> {
        let mut done = vec![];
        while let Some(first) = self.waiting.first().copied() {
            let due = self.due(&self.granted, first.since, first.cost).unwrap();
            if due > now {
                break;
            }
            self.granted.push(self.waiting.remove(0));
            done.push((first.task, due, first.cost));
        }
        done
    }

    /// From now on it is as if all who wait had come just now, in their order.
    fn anew(&mut self, now: u64) {
        self.waiting.iter_mut().for_each(|request| request.since = now.into());
    }

    fn set_quota(&mut self, now: u64, terms: Terms, reset: bool) -> Vec<usize> {
        let level = self.level(&self.granted.clone(), now.into());
        // Rounded up to whole units of the new quota.
        self.level = if reset { 0 } else { (level * terms.per + self.terms.per - 1) / self.terms.per };
        (self.terms, self.since, self.granted) = (terms, now.into(), vec![]);
        self.anew(now);
        let mut refused = vec![];
        for request in core::mem::take(&mut self.waiting) {
            let due = self.due(&self.all(), now.into(), request.cost);
            if due.is_some_and(|due| due <= request.deadline) {
                self.waiting.push(request);
            } else {
                refused.push(request.task);
            }
        }
        refused
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Acquire(i128, Option<u64>),
    Try(i128),
    Cancel(prop::sample::Index),
    SetQuota(Terms, bool),
}

fn ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    let cost = || prop_oneof![1 => Just(0_i128), 8 => 1..4_i128, 3 => 4..12_i128];
    let op = prop_oneof![
        8 => (cost(), prop::option::weighted(0.3, 0..90_u64)).prop_map(|(cost, wait)| Op::Acquire(cost, wait)),
        3 => cost().prop_map(Op::Try),
        3 => any::<prop::sample::Index>().prop_map(Op::Cancel),
        1 => (terms(), any::<bool>()).prop_map(|(terms, reset)| Op::SetQuota(terms, reset)),
    ];
    prop::collection::vec((prop_oneof![3 => Just(0), 4 => 0..9_u64, 1 => 0..200_u64], op), 1..60)
}

type Answer = Result<(), Refused>;

struct Pair {
    runtime: Virtual,
    limiter: RateLimiter<Virtual>,
    oracle: Oracle,
    tasks: Vec<Task<Answer>>,
    /// Who is never polled again; all others are.
    asleep: Vec<bool>,
    /// When each was granted, and what.
    work: Vec<(u64, i128)>,
    quota_changed: bool,
}

impl Pair {
    fn new(terms: Terms) -> Self {
        let runtime = Virtual::default();
        let limiter =
            RateLimiter::with_runtime(runtime.clone(), terms.quota(), terms.policy(), usize::MAX).unwrap();
        let (oracle, tasks, asleep, work) = (Oracle::new(terms), vec![], vec![], vec![]);
        Self { runtime, limiter, oracle, tasks, asleep, work, quota_changed: false }
    }

    fn now(&self) -> u64 {
        self.runtime.now().as_nanos()
    }

    /// Time passes, timer by timer; whoever is woken is polled there, and has to be due exactly there.
    fn pass(&mut self, until: u64) -> TestCaseResult {
        while let Some(next) = self.runtime.next().filter(|next| next.as_nanos() <= until) {
            self.runtime.set(next);
            self.collect()?;
        }
        self.runtime.set(at(until));
        self.collect()?;
        prop_assert_eq!(self.oracle.settle(until), vec![], "due, and no timer was set for it");
        Ok(())
    }

    fn collect(&mut self) -> TestCaseResult {
        let now = self.now();
        let done = self.finished();
        let expected = self.oracle.settle(now);
        prop_assert!(done.iter().all(|(_, answer)| answer.is_ok()), "{:?}", done);
        let tasks: Vec<_> = done.iter().map(|&(task, _)| task).collect();
        let awake = expected.iter().map(|&(task, ..)| task).filter(|&task| !self.is_asleep(task));
        prop_assert_eq!(tasks, awake.collect::<Vec<_>>(), "at {}", now);
        for (_, due, cost) in expected {
            prop_assert_eq!(due, now, "not a nanosecond late");
            self.work.push((due, cost));
        }
        prop_assert_eq!(self.limiter.num_waiters(), self.oracle.waiting.len());
        Ok(())
    }

    /// Who has an answer, in the order of arrival.
    fn finished(&mut self) -> Vec<(usize, Answer)> {
        let asleep = core::mem::take(&mut self.asleep);
        let tasks = self.tasks.iter_mut().enumerate();
        let tasks = tasks.filter(|&(task, _)| asleep.get(task) != Some(&true));
        let done = tasks.filter_map(|(number, task)| task.run().map(|answer| (number, answer))).collect();
        self.asleep = asleep;
        done
    }

    fn is_asleep(&self, task: usize) -> bool {
        self.asleep.get(task) == Some(&true)
    }

    fn apply(&mut self, op: Op) -> TestCaseResult {
        let now = self.now();
        match op {
            Op::Acquire(cost, wait) => {
                let deadline = wait.map_or(u64::MAX, |wait| now + wait);
                let expected = self.oracle.newcomer(now, cost);
                let limiter = self.limiter.clone();
                let mut task = Task::new(async move { limiter.acquire_by(cost as u64, at(deadline)).await });
                let answer = task.run();
                let number = self.tasks.len();
                self.tasks.push(task);
                match (answer, expected) {
                    (Some(Err(refused)), None) => {
                        prop_assert_eq!(refused, Refused::because(Reason::ExceedsCapacity));
                    }
                    (Some(Err(refused)), Some(due)) => {
                        prop_assert_eq!((refused.retry_at, due > deadline), (Some(at(due)), true));
                    }
                    (answer, Some(due)) => {
                        prop_assert_eq!(answer.is_some(), due == now, "due at {}", due);
                        prop_assert!(due <= deadline);
                        let request = Request { task: number, since: now.into(), cost, deadline };
                        self.oracle.waiting.push(request);
                        if answer.is_some() {
                            prop_assert_eq!(self.oracle.settle(now), vec![(number, now, cost)]);
                            self.work.push((now, cost));
                        }
                    }
                    (answer, None) => prop_assert!(false, "{:?}", answer),
                }
            }
            Op::Try(cost) => {
                let expected = self.oracle.newcomer(now, cost);
                let looked = self.limiter.peek(cost as u64);
                let got = self.limiter.try_acquire(cost as u64);
                prop_assert_eq!(looked, got);
                match got {
                    Ok(()) => {
                        prop_assert_eq!(expected, Some(now));
                        prop_assert!(self.oracle.waiting.is_empty(), "nobody overtakes who waits");
                        let request =
                            Request { task: usize::MAX, since: now.into(), cost, deadline: u64::MAX };
                        self.oracle.granted.push(request);
                        self.work.push((now, cost));
                    }
                    Err(refused) => {
                        prop_assert_eq!(refused.retry_at, expected.map(at));
                        prop_assert!(expected != Some(now));
                    }
                }
            }
            Op::Cancel(which) if !self.oracle.waiting.is_empty() => {
                let request = self.oracle.waiting.remove(which.index(self.oracle.waiting.len()));
                self.tasks[request.task].cancel();
                self.oracle.anew(now);
            }
            Op::Cancel(_) => {}
            Op::SetQuota(terms, reset) => {
                let inherit = if reset { Inherit::Reset } else { Inherit::AsIs };
                self.limiter.reconfigure(terms.quota(), terms.policy(), inherit).unwrap();
                self.quota_changed = true;
                let expected = self.oracle.set_quota(now, terms, reset);
                let mut granted = self.oracle.settle(now).into_iter();
                let mut refused = vec![];
                for (task, answer) in self.finished() {
                    match answer {
                        Ok(()) => {
                            let (expected, due, cost) = granted.next().unwrap();
                            prop_assert_eq!((task, now), (expected, due));
                            self.work.push((due, cost));
                        }
                        Err(_) => refused.push(task),
                    }
                }
                prop_assert_eq!((refused, granted.next()), (expected, None));
            }
        }
        self.collect()
    }

    /// In every interval no more was granted than the burst and what accrued.
    fn rate_law(&self) -> TestCaseResult {
        let terms = self.oracle.terms;
        for (number, &(from, _)) in self.work.iter().enumerate() {
            let mut sum = 0;
            for &(until, cost) in &self.work[number..] {
                sum += cost;
                let most = terms.burst * terms.per + i128::from(until - from) * terms.tokens;
                // An instant is told in whole nanoseconds, rounded up: the first may have been due a fraction before.
                prop_assert!(sum * terms.per < most + terms.tokens, "{sum} from {from} to {until}");
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn everybody_is_granted_in_order_at_the_exact_instant_and_who_left_was_never_there(
        first in terms(), run in ops()
    ) {
        let mut pair = Pair::new(first);
        for (step, op) in run {
            pair.pass(pair.now() + step)?;
            pair.apply(op)?;
        }
        // All who wait are granted in the end, and nothing is left of them.
        pair.pass(1 << 40)?;
        prop_assert_eq!((pair.limiter.num_waiters(), pair.runtime.timers()), (0, 0));
        prop_assert_eq!(pair.limiter.state().consumed, 0);
        if !pair.quota_changed && first.max_debt.is_none() && !first.when_full {
            pair.rate_law()?;
        }
    }

    /// Reports 12 (leaky-bucket#35) and 32 (tokio#6450): who is never polled again holds nobody up.
    #[test]
    fn nobody_waits_for_another_to_be_polled(
        first in terms(),
        run in prop::collection::vec((0..9_u64, 0..12_i128, any::<bool>()), 1..40),
    ) {
        let mut pair = Pair::new(first);
        for (step, cost, asleep) in run {
            pair.pass(pair.now() + step)?;
            pair.apply(Op::Acquire(cost, None))?;
            pair.asleep.push(asleep);
        }
        pair.pass(1 << 40)?;
    }

    /// What was due, and is dropped before it was fetched, gives back no more than time has not.
    #[test]
    fn late_drops_make_no_room_that_was_not_there(
        first in terms(),
        run in prop::collection::vec((0..9_u64, 1..6_i128, prop::option::of(0..20_u64)), 1..40),
    ) {
        let mut pair = Pair::new(Terms { max_debt: None, when_full: false, ..first });
        let mut costs = vec![];
        let mut sleepers: Vec<(u64, Task<Answer>)> = vec![];
        for (step, cost, dropped_after) in run {
            for now in pair.now()..=pair.now() + step {
                pair.runtime.set(at(now));
                sleepers.retain(|&(until, _)| until > now);
                let finished = pair.finished().into_iter().map(|(task, _)| (now, costs[task]));
                pair.work.extend(finished);
            }
            let now = pair.now();
            let limiter = pair.limiter.clone();
            let mut task = Task::new(async move { limiter.acquire(cost as u64).await });
            match (task.run(), dropped_after) {
                (Some(Ok(())), _) => pair.work.push((now, cost)),
                (None, Some(after)) => sleepers.push((now + after, task)),
                (None, None) => {
                    pair.tasks.push(task);
                    pair.asleep.push(false);
                    costs.push(cost);
                }
                (Some(Err(_)), _) => {}
            }
        }
        pair.rate_law()?;
    }
}
