//! A gate and its oracle, driven by the same operations.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::adapt::Outcome;
use tollgate::gate::{
    Budget, Cancelled, ClassId, CloseMode, Completion, Cost, CostClass, Gate, GateEvent, Job, JobId,
    Rejected, Retried, TenantKey,
};
use tollgate::slots::Storage;
use tollgate::{Reason, Timestamp};
use tollgate_model::gate::{self as model, Ending, NewJob, Rules, Said, Told};
use tollgate_model::ops::Step;
use tollgate_model::ops::gate::{GateOp, JobSpec, Reaction, When, Which};

use super::agree::Heard;
use super::common::at;
use super::translate::{Limited, nanos, reason, settings, why};

/// How a job that was accepted has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Completed,
    Refused,
    Cancelled,
    Displaced,
}

pub(crate) struct Pair<S: Storage, C: Limited = Budget> {
    pub(crate) gate: Gate<S, C, Heard>,
    pub(crate) oracle: model::Gate,
    pub(crate) now: u64,
    /// Polls that are made once more than need be.
    pub(crate) spurious: usize,
    /// All that the gate said and told.
    pub(crate) log: Vec<(Option<Said>, Option<Told>)>,
    /// By number: the id, the key of the tenant, how it ended.
    pub(crate) jobs: Vec<(JobId, u64, Option<End>)>,
    /// Those that started, in order, attempts each time.
    pub(crate) started: Vec<u64>,
}

impl<S: Storage, C: Limited> Pair<S, C> {
    pub(crate) fn new(rules: Rules, limit: u64) -> Self {
        Self {
            gate: Gate::with_observer(settings(&rules), C::of(limit), Heard::default()).unwrap(),
            oracle: model::Gate::new(rules, limit),
            now: 0,
            spurious: 1,
            log: vec![],
            jobs: vec![],
            started: vec![],
        }
    }

    fn clock(&self) -> Timestamp {
        at(self.now)
    }

    /// All operations in turn.
    pub(crate) fn run(&mut self, ops: &[(Step, GateOp)]) -> TestCaseResult {
        for (step, op) in ops {
            self.now = step.apply(self.now, self.gate.poll_timeout().map(Timestamp::as_nanos));
            self.apply(op)?;
            self.agrees()?;
        }
        Ok(())
    }

    fn apply(&mut self, op: &GateOp) -> TestCaseResult {
        match *op {
            GateOp::Submit(ref job) => self.submit(job)?,
            GateOp::TryStart(ref job) => self.try_start(job)?,
            GateOp::Poll(times) => {
                for _ in 0..times {
                    if self.poll()?.is_none() {
                        break;
                    }
                }
            }
            GateOp::PollAll(ref reactions) => self.poll_all(reactions)?,
            GateOp::Complete(which, ending) => {
                self.on(which, |pair, number| pair.complete(number, ending))?;
            }
            GateOp::Confirm(which) => self.on(which, Self::confirm)?,
            GateOp::Retry(which, when) => self.on(which, |pair, number| pair.retry(number, when))?,
            GateOp::Cancel(which) => self.on(which, Self::cancel)?,
            GateOp::SetWeight(key, weight) => {
                let set = self.gate.set_weight(TenantKey(key), weight).is_ok();
                prop_assert_eq!(set, self.oracle.set_weight(key, weight));
            }
            GateOp::Remove(key) => {
                prop_assert_eq!(self.gate.remove_tenant(TenantKey(key)), self.oracle.remove_tenant(key));
            }
            GateOp::SetLimit(limit) => self.set_limit(limit),
            GateOp::Class(class, initial, floor, ceiling) => {
                let known = CostClass { initial, floor, ceiling };
                let set = self.gate.configure_class(ClassId(class), known).is_ok();
                prop_assert_eq!(set, self.oracle.configure_class(class, initial, floor, ceiling));
            }
            GateOp::Close(immediately) => {
                self.gate.close(if immediately { CloseMode::Immediate } else { CloseMode::Drain });
                self.oracle.close(immediately);
                prop_assert!(self.gate.is_closed());
            }
        }
        Ok(())
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.gate.capacity_mut().set(limit);
        self.oracle.limit = limit;
    }

    fn on(&mut self, which: Which, act: impl FnOnce(&mut Self, u64) -> TestCaseResult) -> TestCaseResult {
        let (those, k) = match which {
            Which::Waiting(k) => (self.oracle.live(false), k),
            Which::Running(k) => (self.oracle.live(true), k),
            Which::Ever(k) => ((0..self.jobs.len() as u64).collect(), k),
        };
        match those.len() {
            0 => Ok(()),
            count => act(self, those[k % count]),
        }
    }

    fn id(&self, number: u64) -> JobId {
        self.jobs[usize::try_from(number).unwrap()].0
    }

    /// Which of those that have not ended has this id.
    fn number(&self, id: JobId) -> Result<u64, TestCaseError> {
        let mut live = (0..).zip(&self.jobs).filter(|(_, job)| job.0 == id && job.2.is_none());
        live.next()
            .map(|(number, _)| number)
            .ok_or_else(|| TestCaseError::fail(format!("{id:?} is nobody's")))
    }

    fn end(&mut self, number: u64, end: End) -> TestCaseResult {
        let ended = &mut self.jobs[usize::try_from(number).unwrap()].2;
        prop_assert_eq!(*ended, None, "{} has ended already", number);
        *ended = Some(end);
        Ok(())
    }

    fn new_job(&self, spec: &JobSpec) -> (NewJob, Job<C::Weight>) {
        let &JobSpec { tenant, cost, weight, bytes, attempt, .. } = spec;
        let deadline = spec.deadline.map(|when| when.from(self.now));
        let ready_at = spec.ready_at.map(|when| when.from(self.now));
        let job = Job {
            cost: match cost {
                model::Cost::Units(units) => Cost::Units(units),
                model::Cost::Class(class) => Cost::Learnt(ClassId(class)),
            },
            bytes,
            deadline: deadline.map(at),
            ready_at: ready_at.map(at),
            attempt,
            ..Job::with_weight(tenant, C::weight(weight))
        };
        (NewJob { tenant, cost, weight, bytes, deadline, ready_at, attempt }, job)
    }

    fn told(rejected: &Rejected) -> Told {
        Told { position: rejected.position, wait: rejected.estimated_wait.map(nanos) }
    }

    pub(crate) fn submit(&mut self, spec: &JobSpec) -> TestCaseResult {
        let (new, job) = self.new_job(spec);
        let expected = self.oracle.told(self.now, &new);
        let got = self.gate.submit(self.clock(), job);
        let told = match &got {
            Ok(queued) => Told { position: queued.position, wait: queued.estimated_wait.map(nanos) },
            Err(rejected) => Self::told(rejected),
        };
        prop_assert_eq!(told, expected, "the estimate");
        prop_assert!(told.position <= self.oracle.waiting(), "more ahead than wait");
        self.log.push((None, Some(told)));
        match (got, self.oracle.submit(self.now, &new, told)) {
            (Ok(queued), Ok((number, displaced))) => {
                let victim = queued.displaced.map(|id| self.number(id)).transpose()?;
                prop_assert_eq!(victim, displaced);
                if let Some(victim) = victim {
                    self.end(victim, End::Displaced)?;
                }
                self.accepted(number, queued.job, new.tenant);
            }
            (Err(rejected), Err(why)) => prop_assert_eq!(rejected.reason, reason(why)),
            (got, expected) => prop_assert!(false, "{got:?} for {expected:?}"),
        }
        Ok(())
    }

    fn try_start(&mut self, spec: &JobSpec) -> TestCaseResult {
        let (new, job) = self.new_job(spec);
        let told = self.oracle.told(self.now, &new);
        let got = self.gate.try_start(self.clock(), job);
        let passed_over = got.as_ref().is_err_and(|rejected| rejected.reason == Reason::NoPermits);
        match (got, self.oracle.try_start(self.now, &new, passed_over)) {
            (Ok(id), Ok(number)) => {
                self.accepted(number, id, new.tenant);
                self.started.push(number);
            }
            (Err(rejected), Err(why)) => {
                prop_assert_eq!(rejected.reason, reason(why));
                prop_assert_eq!(Self::told(&rejected), told, "the estimate");
            }
            (got, expected) => prop_assert!(false, "{got:?} for {expected:?}"),
        }
        Ok(())
    }

    fn accepted(&mut self, number: u64, id: JobId, key: u64) {
        assert_eq!(number, self.jobs.len() as u64);
        self.jobs.push((id, key, None));
    }

    pub(crate) fn poll(&mut self) -> Result<Option<Said>, TestCaseError> {
        let said = match self.gate.poll(self.clock()) {
            None => None,
            Some(GateEvent::Start { job, tenant, waited }) => {
                let number = self.number(job)?;
                prop_assert_eq!(tenant.0, self.jobs[usize::try_from(number).unwrap()].1);
                self.started.push(number);
                Some(Said::Started(number, nanos(waited)))
            }
            Some(GateEvent::Refuse { job, tenant, waited, reason }) => {
                let number = self.number(job)?;
                prop_assert_eq!(tenant.0, self.jobs[usize::try_from(number).unwrap()].1);
                self.end(number, End::Refused)?;
                Some(Said::Refused(number, nanos(waited), why(reason)))
            }
        };
        self.log.push((said, None));
        self.oracle.poll(self.now, said).map_err(TestCaseError::fail)?;
        if said.is_none() {
            self.nothing_more()?;
        }
        self.gate.check_invariants();
        Ok(said)
    }

    /// Nothing was said: asking again, also on a clock that went back, says and changes nothing.
    fn nothing_more(&mut self) -> TestCaseResult {
        let timeout = self.gate.poll_timeout().map(Timestamp::as_nanos);
        prop_assert!(self.oracle.is_timeout(timeout), "not at {timeout:?}");
        let looks = |gate: &Gate<S, C, Heard>| {
            let tenants: Vec<_> = gate.tenants(Timestamp::ZERO).collect();
            (gate.snapshot(Timestamp::ZERO), tenants, gate.poll_timeout())
        };
        let before = looks(&self.gate);
        for again in 0..self.spurious {
            let now = if again == 1 { at(self.now / 2) } else { self.clock() };
            prop_assert_eq!(self.gate.poll(now), None, "a spurious poll");
        }
        prop_assert_eq!(looks(&self.gate), before);
        Ok(())
    }

    /// Polls until there is nothing to say. Each start is met at once, before the next poll, and twice.
    pub(crate) fn poll_all(&mut self, reactions: &[Reaction]) -> TestCaseResult {
        let mut reactions = reactions.iter();
        while let Some(said) = self.poll()? {
            let Said::Started(number, _) = said else { continue };
            let Some(&reaction) = reactions.next() else { continue };
            for _ in 0..2 {
                match reaction {
                    Reaction::None => {}
                    Reaction::Complete(ending) => self.complete(number, ending)?,
                    Reaction::Confirm => self.confirm(number)?,
                    Reaction::Retry(when) => self.retry(number, when)?,
                    Reaction::Cancel => self.cancel(number)?,
                    Reaction::Submit(ref job) => self.submit(job)?,
                }
                self.agrees()?;
            }
        }
        Ok(())
    }

    pub(crate) fn complete(&mut self, number: u64, ending: Ending) -> TestCaseResult {
        let completion = match ending {
            Ending::Ran(cost) => Completion::Ran { outcome: Outcome::Success, cost },
            Ending::NotStarted => Completion::NotStarted,
        };
        let ended = self.gate.complete(self.clock(), self.id(number), completion).is_ok();
        prop_assert_eq!(ended, self.oracle.complete(self.now, number, ending), "complete {}", number);
        if ended { self.end(number, End::Completed) } else { Ok(()) }
    }

    fn confirm(&mut self, number: u64) -> TestCaseResult {
        let confirmed = self.gate.confirm(self.clock(), self.id(number)).is_ok();
        prop_assert_eq!(confirmed, self.oracle.confirm(self.now, number), "confirm {}", number);
        Ok(())
    }

    fn retry(&mut self, number: u64, when: When) -> TestCaseResult {
        let ready_at = when.from(self.now);
        let got = match self.gate.retry(self.clock(), self.id(number), at(ready_at)) {
            Err(_) => None,
            Ok(Retried::Queued) => Some(Ok(())),
            Ok(Retried::Refused(reason)) => Some(Err(reason)),
        };
        let expected = self.oracle.retry(self.now, number, ready_at);
        prop_assert_eq!(got, expected.map(|retried| retried.map_err(reason)), "retry {}", number);
        if let Some(Err(_)) = got { self.end(number, End::Refused) } else { Ok(()) }
    }

    fn cancel(&mut self, number: u64) -> TestCaseResult {
        let got = match self.gate.cancel(self.clock(), self.id(number)) {
            Err(_) => None,
            Ok(cancelled) => Some(cancelled == Cancelled::Queued),
        };
        prop_assert_eq!(got, self.oracle.cancel(self.now, number), "cancel {}", number);
        if got == Some(true) { self.end(number, End::Cancelled) } else { Ok(()) }
    }
}
