//! A limiter and its oracle, driven by the same operations.

use core::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::adapt::{Guarantee, Limiter, LimiterSettings, Outcome, PartitionId, Ticket};
use tollgate::slots::Storage;
use tollgate_model::limiter::{self as model, Event, Rules};
use tollgate_model::ops::Step;
use tollgate_model::ops::limiter::{LimiterOp, MOST, NAMES};
use tollgate_model::partitions::Share;

use super::common::at;
use super::learns::{Script, Subject};
use super::translate::{denied, mode, nanos, outcome, settings, shares};

pub(crate) struct Pair<E, S: Storage> {
    limiter: Limiter<E, S>,
    oracle: model::Limiter<E>,
    now: u64,
    /// When the last refusal, or the warm-up, said that it is over.
    worth_it: Option<u64>,
    /// In flight, with what the oracle calls it.
    tickets: Vec<(u64, Ticket)>,
}

impl<E: Subject, S: Storage> Pair<E, S> {
    pub(crate) fn new(rules: Rules, parts: &[Share], seed: u32) -> Self {
        let most = u32::try_from(MOST).unwrap();
        let pausing = S::MOST.min(100) as usize;
        Self {
            limiter: Limiter::new(at(5), E::new(seed), settings(&rules), &shares(parts), most).unwrap(),
            oracle: model::Limiter::new(5, E::new(seed), rules, parts, MOST, pausing).unwrap(),
            now: 5,
            worth_it: None,
            tickets: vec![],
        }
    }

    pub(crate) fn run(&mut self, ops: &[(Step, LimiterOp)]) -> TestCaseResult {
        self.agrees()?;
        for (step, op) in ops {
            let warm_at = Some(self.oracle.warm_at()).filter(|&warm_at| warm_at > self.now);
            self.now = step.apply(self.now, warm_at.or(self.worth_it));
            self.apply(op)?;
            self.agrees()?;
        }
        Ok(())
    }

    fn apply(&mut self, op: &LimiterOp) -> TestCaseResult {
        let now = at(self.now);
        match *op {
            LimiterOp::Admit(name, weight) => self.admit(name, weight)?,
            LimiterOp::Complete(which, ended) if !self.tickets.is_empty() => {
                let (number, ticket) = self.tickets.swap_remove(which % self.tickets.len());
                prop_assert_eq!(self.limiter.complete(now, ticket, outcome(ended)), Ok(()));
                self.oracle.complete(self.now, number, ended);
            }
            LimiterOp::Complete(..) => {}
            LimiterOp::CompleteOthers(kind, name, weight) => self.complete_others(kind, name, weight)?,
            LimiterOp::Tick => {
                self.limiter.tick(now);
                self.oracle.tick(self.now);
            }
            LimiterOp::Restart => {
                self.limiter.restart_warmup(now);
                self.oracle.restart(self.now);
            }
            LimiterOp::Reconfigure(rules, ref parts) => {
                let done = self.limiter.reconfigure(now, settings(&rules), &shares(parts)).is_ok();
                prop_assert_eq!(done, self.oracle.reconfigure(self.now, rules, parts));
            }
            LimiterOp::Replace(seed) => {
                self.limiter.replace_estimator(E::new(seed));
                self.oracle.base = E::new(seed);
            }
            LimiterOp::SetLearnt(limit) => {
                self.limiter.change_estimator(|estimator| estimator.set(limit));
                self.oracle.base.set(limit);
            }
        }
        Ok(())
    }

    fn admit(&mut self, name: Option<u32>, weight: u32) -> TestCaseResult {
        let looked = self.limiter.peek(at(self.now), name.map(PartitionId), weight);
        let got = self.limiter.try_admit(at(self.now), name.map(PartitionId), weight);
        prop_assert_eq!(looked, got.as_ref().map(|_| ()).map_err(|refusal| refusal.reason));
        match (got, self.oracle.admit(self.now, name, weight)) {
            (Ok(ticket), Ok(number)) => {
                prop_assert_eq!(ticket.weight(), weight);
                prop_assert_eq!(ticket.is_tracked(), self.oracle.is_tracked(number));
                self.tickets.push((number, ticket));
            }
            (Err(refusal), Err(expected)) => {
                prop_assert_eq!(denied(refusal.reason), expected.why);
                prop_assert_eq!(refusal.pause.map(nanos), expected.pause);
                prop_assert_eq!(refusal.retry_after.map(nanos), expected.retry_after);
                self.worth_it = expected.retry_after.map(|after| self.now.saturating_add(after));
            }
            (got, expected) => prop_assert!(false, "{:?} instead of {:?}", got, expected),
        }
        Ok(())
    }

    /// A ticket of another limiter is stale where nobody here holds as much. (Where somebody does, nobody can tell.)
    fn complete_others(&mut self, kind: model::Mode, name: Option<u32>, weight: u32) -> TestCaseResult {
        let mut other = {
            let part = Share { partition: name.unwrap_or(0), ppm: 1_000_000, pause: 0 };
            let limit = if kind == model::Mode::MonitorOnly { 0 } else { u32::MAX };
            let settings = LimiterSettings {
                mode: mode(kind),
                warmup: Duration::ZERO,
                guarantee: Guarantee::Overshoot { unknown_reserve: 0 },
                ..LimiterSettings::default()
            };
            Limiter::<Script, S>::new(at(0), Script::new(limit), settings, &shares(&[part]), 1).unwrap()
        };
        let weight = if kind == model::Mode::MonitorOnly { weight.max(1) } else { weight };
        // Its own limit may be below such a weight.
        let Ok(ticket) = other.try_admit(at(0), name.map(PartitionId), weight) else { return Ok(()) };
        let held = match kind {
            model::Mode::Disabled => 0,
            model::Mode::MonitorOnly => self.oracle.past_the_limit(),
            model::Mode::Enforced if name.is_none() => self.oracle.shares().busy(None),
            model::Mode::Enforced => self.oracle.shares().in_flight(),
        };
        if kind == model::Mode::Disabled {
            prop_assert_eq!(self.limiter.complete(at(self.now), ticket, Outcome::Success), Ok(()));
            self.oracle.observe(self.now);
        } else if held < u64::from(weight) {
            prop_assert!(self.limiter.complete(at(self.now), ticket, Outcome::Success).is_err(), "stale");
            self.oracle.observe(self.now);
        }
        Ok(())
    }

    /// Everything that can be seen of the limiter is what the oracle counts.
    fn agrees(&mut self) -> TestCaseResult {
        self.limiter.check_invariants();
        let (limiter, oracle) = (&self.limiter, &mut self.oracle);
        prop_assert_eq!(limiter.estimator().told(), oracle.base.told(), "what the estimator was told");
        prop_assert_eq!(limiter.limit(), oracle.limit());
        prop_assert_eq!(limiter.poll_timeout(), oracle.base.poll_timeout());
        prop_assert_eq!(limiter.settings(), &settings(&oracle.rules));

        let got = limiter.stats(at(self.now));
        prop_assert_eq!((got.mode, got.limit), (mode(oracle.rules.mode), oracle.limit()));
        prop_assert_eq!((got.base_limit, got.burst_open), (oracle.base.learnt(), oracle.has_room()));
        let least = oracle.least_time().map(Duration::from_nanos);
        prop_assert_eq!(got.no_load_rtt, oracle.base.no_load_rtt().or(least));
        let [good, lost, silent] = got.outcomes;
        let ended = [model::Outcome::Success, model::Outcome::Dropped, model::Outcome::Ignored];
        prop_assert_eq!([good, lost, silent], ended.map(|outcome| oracle.times(Event::Ended(outcome))));
        let counts = [
            (got.in_flight, oracle.shares().in_flight()),
            (got.in_flight_all, oracle.in_flight_all()),
            (got.admitted, oracle.times(Event::Admitted)),
            (got.rejected, oracle.times(Event::Rejected)),
            (got.rejected_overweight, oracle.times(Event::RejectedOverweight)),
            (got.would_reject, oracle.times(Event::WouldReject)),
            (got.passed_in_warmup, oracle.times(Event::PassedInWarmup)),
            (got.paused, oracle.times(Event::Paused)),
            (nanos(got.warmup_left), oracle.warmup_left(self.now)),
        ];
        for (number, (got, expected)) in counts.into_iter().enumerate() {
            prop_assert_eq!(got, expected, "count {}", number);
        }
        prop_assert_eq!(got.last_rtt.map(nanos), oracle.last_time());
        prop_assert_eq!(got.mean_rtt.map(nanos), oracle.mean_time());

        let (got, expected) = (limiter.partitions(), oracle.shares());
        prop_assert_eq!((got.limit(), got.in_flight()), (expected.limit, expected.in_flight()));
        prop_assert_eq!(got.shares().collect::<Vec<_>>(), shares(&expected.shares()));
        for name in (0..NAMES).map(Some).chain([None]) {
            prop_assert_eq!(got.busy_of(name.map(PartitionId)), expected.busy(name), "{:?}", name);
            prop_assert_eq!(got.quota_of(name.map(PartitionId)), expected.quota(name), "{:?}", name);
        }
        Ok(())
    }

    /// Everybody ends, and nothing is left of it.
    pub(crate) fn drain(&mut self) -> TestCaseResult {
        while let Some((number, ticket)) = self.tickets.pop() {
            self.limiter.complete(at(self.now), ticket, Outcome::Ignored).unwrap();
            self.oracle.complete(self.now, number, model::Outcome::Ignored);
            self.agrees()?;
        }
        let stats = self.limiter.stats(at(self.now));
        prop_assert_eq!((stats.in_flight, stats.in_flight_all), (0, 0));
        let busy = (0..NAMES).map(Some).chain([None]).map(|name| name.map(PartitionId));
        prop_assert_eq!(busy.map(|name| self.limiter.partitions().busy_of(name)).sum::<u64>(), 0);
        Ok(())
    }
}
