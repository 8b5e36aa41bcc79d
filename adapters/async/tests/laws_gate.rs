//! The gate of futures against the core's own gate, driven directly: whatever is submitted, completed, cancelled, retried or
//! changed, both tell their observers the same, in the same order, at the same instants; and nothing is left at the end.

mod common;

use core::time::Duration;

use common::{Task, Virtual, at, cases};
use proptest::prelude::*;
use tollgate::gate::{Gate as Core, GateEvent};
use tollgate::observe::{Event, Observer};
use tollgate::slots::Heap;
use tollgate_async::gate::{
    Budget, CloseMode, Completion, Cost, Gate, GatePermit, GateRefused, Job, JobId, Order, Settings,
    TenantKey,
};
use tollgate_async::{Reason, Timestamp};

#[derive(Debug, Default)]
struct Log(Vec<Event>);

impl Observer for Log {
    fn on_event(&mut self, event: Event) {
        self.0.push(event);
    }
}

type Permit = GatePermit<Virtual, Budget, Log>;

#[derive(Clone, Debug)]
enum Op {
    Enter {
        tenant: u64,
        cost: u64,
        weight: u64,
        deadline: Option<u64>,
        ready_in: Option<u64>,
        attempt: bool,
    },
    Try {
        tenant: u64,
        weight: u64,
    },
    /// Polls those that were woken.
    Run,
    Complete {
        which: usize,
        cost: Option<u64>,
        ran: bool,
    },
    Drop(usize),
    Confirm(usize),
    Retry {
        which: usize,
        ready_in: u64,
    },
    /// Drops a future, fetched or not.
    Cancel(usize),
    Pass(u64),
    Limit(u64),
    Weight {
        tenant: u64,
        weight: u32,
    },
    Remove(u64),
    Close(bool),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let maybe = || proptest::option::weighted(0.4, 1..40_u64);
    let enter = (0..4_u64, 0..9_u64, 1..4_u64, maybe(), maybe(), any::<bool>()).prop_map(
        |(tenant, cost, weight, deadline, ready_in, attempt)| Op::Enter {
            tenant,
            cost,
            weight,
            deadline,
            ready_in,
            attempt,
        },
    );
    let complete = (any::<usize>(), proptest::option::of(0..12_u64), any::<bool>())
        .prop_map(|(which, cost, ran)| Op::Complete { which, cost, ran });
    let op = prop_oneof![
        12 => enter,
        2 => (0..4_u64, 1..4_u64).prop_map(|(tenant, weight)| Op::Try { tenant, weight }),
        6 => Just(Op::Run),
        6 => complete,
        2 => any::<usize>().prop_map(Op::Drop),
        2 => any::<usize>().prop_map(Op::Confirm),
        3 => (any::<usize>(), 0..30_u64).prop_map(|(which, ready_in)| Op::Retry { which, ready_in }),
        4 => any::<usize>().prop_map(Op::Cancel),
        6 => (0..30_u64).prop_map(Op::Pass),
        1 => (1..6_u64).prop_map(Op::Limit),
        1 => (0..4_u64, 1..4_u32).prop_map(|(tenant, weight)| Op::Weight { tenant, weight }),
        1 => (0..4_u64).prop_map(Op::Remove),
    ];
    let close = proptest::option::weighted(0.3, any::<bool>().prop_map(Op::Close));
    (proptest::collection::vec(op, 1..80), close, any::<prop::sample::Index>()).prop_map(
        |(mut ops, close, place)| {
            if let Some(close) = close {
                ops.insert(place.index(ops.len()), close);
            }
            ops
        },
    )
}

/// A job in the futures' gate and in the core's.
struct Pair {
    task: Option<Task<Result<Permit, GateRefused>>>,
    permit: Option<Permit>,
    /// `None` if it was refused at once.
    core: Option<JobId>,
    /// What became of it in the core, and after what time.
    fate: Option<Result<Duration, Reason>>,
    attempt: bool,
}

struct Pairs {
    runtime: Virtual,
    gate: Gate<Virtual, Budget, Log>,
    core: Core<Heap, Budget, Log>,
    pairs: Vec<Pair>,
}

impl Pairs {
    fn new(settings: Settings) -> Self {
        let runtime = Virtual::default();
        let gate = Gate::with_observer(runtime.clone(), settings, Budget::new(3), Log::default()).unwrap();
        gate.set_pick_up_within(None);
        let core = Core::with_observer(settings, Budget::new(3), Log::default()).unwrap();
        Self { runtime, gate, core, pairs: vec![] }
    }

    fn now(&self) -> Timestamp {
        self.gate.now()
    }

    fn poll_core(&mut self) {
        let now = self.now();
        while let Some(event) = self.core.poll(now) {
            let (job, fate) = match event {
                GateEvent::Start { job, waited, .. } => (job, Ok(waited)),
                GateEvent::Refuse { job, reason, .. } => (job, Err(reason)),
            };
            self.decide(job, fate);
        }
    }

    fn decide(&mut self, job: JobId, fate: Result<Duration, Reason>) {
        let pair = self.pairs.iter_mut().rev().find(|pair| pair.core == Some(job)).unwrap();
        pair.fate = Some(fate);
    }

    /// Polls the futures that were woken, and those that these woke; each learns what the core decided.
    fn run(&mut self) {
        while self.pairs.iter().any(|pair| pair.task.as_ref().is_some_and(Task::is_woken)) {
            self.run_woken();
        }
        self.agree();
        for pair in &self.pairs {
            assert!(pair.task.is_none() || pair.fate.is_none(), "whoever has been decided on was woken");
        }
    }

    fn run_woken(&mut self) {
        for pair in &mut self.pairs {
            let Some(task) = &mut pair.task else { continue };
            if let Some(told) = task.run() {
                match (&told, pair.fate) {
                    (Ok(permit), Some(Ok(waited))) => assert_eq!(permit.waited(), waited),
                    (Err(refused), Some(Err(reason))) => assert_eq!(refused.reason, reason),
                    other => panic!("{other:?}"),
                }
                pair.task = None;
                pair.permit = told.ok();
            }
        }
    }

    fn agree(&self) {
        self.gate.with_observer_ref(|log| assert_eq!(log.0, self.core.observer().0));
        assert_eq!(self.gate.snapshot(), self.core.snapshot(self.now()));
    }

    fn enter(&mut self, job: Job) {
        let gate = self.gate.clone();
        let mut task = Task::new(async move { gate.enter(job).await });
        let now = self.now();
        let told = task.poll();
        let (core, fate) = match self.core.submit(now, job) {
            Ok(queued) => {
                if let Some(displaced) = queued.displaced {
                    self.decide(displaced, Err(Reason::Displaced));
                }
                (Some(queued.job), None)
            }
            Err(rejected) => (None, Some(Err(rejected.reason))),
        };
        self.pairs.push(Pair { task: Some(task), permit: None, core, fate, attempt: job.attempt });
        self.poll_core();
        let pair = self.pairs.last_mut().unwrap();
        match told {
            None => assert_eq!(pair.fate, None, "it was decided at once"),
            Some(told) => {
                assert_eq!(told.as_ref().map(Permit::waited).map_err(|no| no.reason), pair.fate.unwrap());
                (pair.task, pair.permit) = (None, told.ok());
            }
        }
    }

    fn try_enter(&mut self, job: Job) {
        let told = self.gate.try_enter(job);
        let started = self.core.try_start(self.now(), job);
        assert_eq!(
            told.as_ref().map(|_| ()).map_err(|no| no.reason),
            started.map(|_| ()).map_err(|no| no.reason)
        );
        if let (Ok(permit), Ok(id)) = (told, started) {
            let fate = Some(Ok(Duration::ZERO));
            self.pairs.push(Pair { task: None, permit: Some(permit), core: Some(id), fate, attempt: false });
        }
        self.poll_core();
    }

    /// One of those that match.
    fn some(&self, which: usize, matches: impl Fn(&Pair) -> bool) -> Option<usize> {
        let all: Vec<_> = (0..self.pairs.len()).filter(|&number| matches(&self.pairs[number])).collect();
        (!all.is_empty()).then(|| all[which % all.len()])
    }

    fn end(&mut self, number: usize, completion: Completion, by_drop: bool) {
        let pair = &mut self.pairs[number];
        let (permit, core) = (pair.permit.take().unwrap(), pair.core.take().unwrap());
        if by_drop {
            drop(permit);
        } else {
            permit.complete(completion);
        }
        self.core.complete(self.gate.now(), core, completion).unwrap();
        self.poll_core();
    }

    fn cancel(&mut self, number: usize) {
        self.pairs[number].task.as_mut().unwrap().cancel();
        self.pairs[number].task = None;
        let (now, core) = (self.now(), self.pairs[number].core.take().unwrap());
        match self.pairs[number].fate {
            None => drop(self.core.cancel(now, core).unwrap()),
            Some(Ok(_)) => self.core.complete(now, core, Completion::NotStarted).unwrap(),
            Some(Err(_)) => {}
        }
        self.poll_core();
    }

    fn retry(&mut self, number: usize, ready_at: Timestamp) {
        let now = self.now();
        let pair = &mut self.pairs[number];
        let permit = pair.permit.take().unwrap();
        let mut task = Task::new(permit.retry(ready_at));
        let told = task.poll();
        pair.fate = match self.core.retry(now, pair.core.unwrap(), ready_at).unwrap() {
            tollgate::gate::Retried::Queued => None,
            tollgate::gate::Retried::Refused(reason) => Some(Err(reason)),
        };
        self.poll_core();
        let pair = &mut self.pairs[number];
        match told {
            None => pair.task = Some(task),
            Some(told) => {
                assert_eq!(told.as_ref().map(Permit::waited).map_err(|no| no.reason), pair.fate.unwrap());
                pair.permit = told.ok();
            }
        }
    }

    /// Time passes, from one instant at which something is due to the next.
    fn pass(&mut self, target: Timestamp) {
        self.run();
        loop {
            let futures = self.runtime.next().filter(|&next| next <= target);
            let core = self.core.poll_timeout().filter(|&next| next <= target);
            let Some(next) = futures.into_iter().chain(core).min() else { break };
            self.runtime.set(next);
            self.poll_core();
            self.run();
        }
        self.runtime.set(target);
        self.run();
    }

    fn apply(&mut self, op: &Op) {
        let now = self.now();
        let after = |nanos: u64| now.saturating_add(Duration::from_nanos(nanos));
        match *op {
            Op::Enter { tenant, cost, weight, deadline, ready_in, attempt } => self.enter(Job {
                cost: Cost::Units(cost),
                weight,
                deadline: deadline.map(after),
                ready_at: ready_in.map(after),
                attempt,
                ..Job::new(tenant)
            }),
            Op::Try { tenant, weight } => self.try_enter(Job { weight, ..Job::new(tenant) }),
            Op::Run => self.run(),
            Op::Complete { which, cost, ran } => {
                if let Some(number) = self.some(which, |pair| pair.permit.is_some()) {
                    let outcome = tollgate::adapt::Outcome::Success;
                    let ended = Completion::Ran { outcome, cost };
                    self.end(number, if ran { ended } else { Completion::NotStarted }, false);
                }
            }
            Op::Drop(which) => {
                if let Some(number) = self.some(which, |pair| pair.permit.is_some()) {
                    let outcome = tollgate::adapt::Outcome::Ignored;
                    self.end(number, Completion::Ran { outcome, cost: None }, true);
                }
            }
            Op::Confirm(which) => {
                if let Some(number) = self.some(which, |pair| pair.permit.is_some() && pair.attempt) {
                    let pair = &mut self.pairs[number];
                    pair.attempt = false;
                    pair.permit.as_mut().unwrap().confirm().unwrap();
                    self.core.confirm(now, pair.core.unwrap()).unwrap();
                    self.poll_core();
                }
            }
            Op::Retry { which, ready_in } => {
                if let Some(number) = self.some(which, |pair| pair.permit.is_some() && pair.attempt) {
                    self.retry(number, after(ready_in));
                }
            }
            Op::Cancel(which) => {
                if let Some(number) = self.some(which, |pair| pair.task.is_some()) {
                    self.cancel(number);
                }
            }
            Op::Pass(nanos) => self.pass(after(nanos)),
            Op::Limit(limit) => {
                self.gate.with_capacity_mut(|capacity| capacity.set_limit(limit));
                self.core.capacity_mut().set_limit(limit);
                self.poll_core();
            }
            Op::Weight { tenant, weight } => {
                self.gate.set_weight(TenantKey(tenant), weight).unwrap();
                self.core.set_weight(TenantKey(tenant), weight).unwrap();
                self.poll_core();
            }
            Op::Remove(tenant) => {
                self.gate.remove_tenant(TenantKey(tenant));
                self.core.remove_tenant(TenantKey(tenant));
                self.poll_core();
            }
            Op::Close(drain) => {
                let mode = if drain { CloseMode::Drain } else { CloseMode::Immediate };
                self.gate.close(mode);
                self.core.close(mode);
                self.poll_core();
            }
        }
        self.agree();
    }

    /// Everybody ends, and nothing is left.
    fn wind_up(mut self) {
        self.run();
        for number in 0..self.pairs.len() {
            if self.pairs[number].task.is_some() {
                self.cancel(number);
            }
            self.run();
            if self.pairs[number].permit.is_some() {
                self.end(number, Completion::DONE, false);
            }
            self.agree();
        }
        let snapshot = self.gate.snapshot();
        assert_eq!((snapshot.queued, snapshot.active, snapshot.attempts), (0, 0, 0));
        assert_eq!(self.gate.with_capacity(Budget::in_use), 0);
        assert_eq!(snapshot.counts.stale, 0, "nothing was ended twice");
        self.gate.close(CloseMode::Drain);
        assert!(self.gate.is_drained());
        // The timer may be set still; it finds nobody and is not set again.
        self.runtime.set(at(1 << 40));
        assert_eq!(self.runtime.timers(), 0);
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    (any::<bool>(), any::<bool>(), 3..12_u32, proptest::option::weighted(0.3, 5..40_u64)).prop_map(
        |(smooth, newest, max_queued, max_wait)| Settings {
            order: if smooth { Order::Smooth } else { Order::Deficit { quantum: 3 } },
            max_queued,
            max_queued_per_tenant: 4,
            max_active: 4,
            max_attempts: 2,
            max_tenants: 8,
            max_wait: max_wait.map(Duration::from_nanos),
            refuse_early: false,
            newest_first_after: newest.then(|| Duration::from_nanos(6)),
            ..Settings::default()
        },
    )
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn futures_see_what_the_core_decides_in_the_same_order_at_the_same_instants(
        settings in settings(),
        ops in ops(),
    ) {
        let mut pairs = Pairs::new(settings);
        for op in &ops {
            pairs.apply(op);
        }
        pairs.wind_up();
    }
}
