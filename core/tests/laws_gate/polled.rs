//! When a gate wants to be polled: polled then and at no other time, it says what it says when it is polled all the time.

use core::time::Duration;

use proptest::prelude::*;
use tollgate::Reason;
use tollgate::adapt::Outcome;
use tollgate::gate::{Budget, Completion, Cost, Gate, GateEvent, Job, JobId, Settings};
use tollgate::slots::Heap;
use tollgate_model::gate::Rules;
use tollgate_model::ops::gate::{self as ops, Kind};

use crate::common::{at, cases};
use crate::translate::settings;

#[derive(Clone, Debug)]
enum Op {
    Submit {
        tenant: u64,
        cost: u64,
        weight: u64,
        deadline: Option<u64>,
        ready_in: Option<u64>,
        attempt: bool,
    },
    Complete(usize),
    Retry(usize, u64),
    Cancel(usize),
    Limit(u64),
    Pass(u64),
}

fn run() -> impl Strategy<Value = Vec<Op>> {
    let soon = |often| proptest::option::weighted(often, 1..40_u64);
    let submit = (0..4_u64, 0..9_u64, 1..5_u64, soon(0.2), soon(0.4), any::<bool>()).prop_map(
        |(tenant, cost, weight, deadline, ready_in, attempt)| Op::Submit {
            tenant,
            cost,
            weight,
            deadline,
            ready_in,
            attempt,
        },
    );
    let op = prop_oneof![
        12 => submit,
        5 => (0..8_usize).prop_map(Op::Complete),
        2 => (0..8_usize, 0..30_u64).prop_map(|(which, ready_in)| Op::Retry(which, ready_in)),
        1 => (0..64_usize).prop_map(Op::Cancel),
        1 => (1..7_u64).prop_map(Op::Limit),
        7 => (1..20_u64).prop_map(Op::Pass),
    ];
    prop::collection::vec(op, 1..70)
}

/// Bounds as they come; first come, first served or newest first, strict or with backfill.
fn rules() -> impl Strategy<Value = Rules> {
    let newest_first = proptest::option::weighted(0.7, 1..15_u64);
    (prop_oneof![ops::rules(Kind::Any), ops::rules(Kind::Busy)], newest_first)
        .prop_map(|(rules, newest_first_after)| Rules { newest_first_after, ..rules })
}

/// What a gate said, and when.
#[derive(Debug, Eq, PartialEq)]
enum Said {
    Started(JobId, Duration),
    Refused(JobId, Reason),
}

struct Driven {
    gate: Gate<Heap>,
    now: u64,
    said: Vec<(u64, Said)>,
    jobs: Vec<JobId>,
    running: Vec<JobId>,
}

impl Driven {
    fn new(settings: Settings, limit: u64) -> Self {
        let gate = Gate::new(settings, Budget::new(limit)).unwrap();
        Self { gate, now: 0, said: vec![], jobs: vec![], running: vec![] }
    }

    fn poll_all(&mut self) {
        while let Some(event) = self.gate.poll(at(self.now)) {
            let said = match event {
                GateEvent::Start { job, waited, .. } => {
                    self.running.push(job);
                    Said::Started(job, waited)
                }
                GateEvent::Refuse { job, reason, .. } => Said::Refused(job, reason),
            };
            self.said.push((self.now, said));
        }
    }

    /// Polled at each nanosecond up to `end`.
    fn pass_watched(&mut self, end: u64) {
        while self.now < end {
            self.now += 1;
            self.poll_all();
        }
    }

    /// Polled up to `end` when it asks for it, which is each time later than now.
    fn pass_asked(&mut self, end: u64) {
        while let Some(due) = self.gate.poll_timeout().map(|due| due.as_nanos()).filter(|&due| due <= end) {
            assert!(due > self.now, "due at {due} once more, or still, at {}", self.now);
            self.now = due;
            self.poll_all();
        }
        self.now = end;
    }

    /// One of those that run, which then does so no more.
    fn stop(&mut self, which: usize) -> Option<JobId> {
        (!self.running.is_empty()).then(|| self.running.remove(which % self.running.len()))
    }

    /// Everything but the passing of time.
    fn apply(&mut self, op: &Op) {
        let (now, after) = (at(self.now), |nanos| at(self.now + nanos));
        match *op {
            Op::Submit { tenant, cost, weight, deadline, ready_in, attempt } => {
                let job = Job {
                    cost: Cost::Units(cost),
                    deadline: deadline.map(after),
                    ready_at: ready_in.map(after),
                    attempt,
                    ..Job::with_weight(tenant, weight)
                };
                self.jobs.extend(self.gate.submit(now, job).map(|queued| queued.job));
            }
            Op::Complete(which) => {
                if let Some(job) = self.stop(which) {
                    let ran = Completion::Ran { outcome: Outcome::Success, cost: None };
                    self.gate.complete(now, job, ran).unwrap();
                }
            }
            Op::Retry(which, ready_in) => {
                let ready_at = after(ready_in);
                if let Some(job) = self.stop(which)
                    && self.gate.retry(now, job, ready_at).is_err()
                {
                    self.running.push(job);
                }
            }
            Op::Cancel(which) => {
                if let Some(&job) = self.jobs.get(which)
                    && !self.running.contains(&job)
                {
                    let _over = self.gate.cancel(now, job);
                }
            }
            Op::Limit(limit) => self.gate.capacity_mut().set_limit(limit),
            Op::Pass(_) => {}
        }
        self.poll_all();
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_gate_polled_when_it_asks_for_it_says_what_it_says_polled_at_every_instant(
        rules in rules(),
        limit in 1..7_u64,
        run in run(),
    ) {
        let (mut asked, mut watched) = (Driven::new(settings(&rules), limit), Driven::new(settings(&rules), limit));
        for op in &run {
            if let &Op::Pass(nanos) = op {
                asked.pass_asked(asked.now + nanos);
                watched.pass_watched(watched.now + nanos);
            }
            asked.apply(op);
            watched.apply(op);
            prop_assert_eq!(&asked.said, &watched.said);
        }
    }
}
