//! What has to hold after every operation, and once everything is over.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::gate::ClassId;
use tollgate::observe::{Event, Observer};
use tollgate::slots::Storage;
use tollgate::{Reason, Timestamp};
use tollgate_model::gate::{Ending, TenantView};

use super::pair::Pair;
use super::translate::{Limited, nanos, reason};

/// What an observer has heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    queued: u64,
    started: u64,
    passed: u64,
    longest_wait: u64,
    refused: Vec<Reason>,
    ended: u64,
    returned: u64,
    cancelled: u64,
    stale: u64,
}

impl Observer for Heard {
    fn on_event(&mut self, event: Event) {
        match event {
            Event::JobQueued { .. } => self.queued += 1,
            Event::JobStarted { waited, passed, .. } => {
                self.started += 1;
                self.passed += u64::from(passed);
                self.longest_wait = self.longest_wait.max(nanos(waited));
            }
            Event::JobRefused { reason, .. } => self.refused.push(reason),
            Event::JobEnded { .. } => self.ended += 1,
            Event::JobReturned { .. } => self.returned += 1,
            Event::JobCancelled { .. } => self.cancelled += 1,
            Event::StaleRefused => self.stale += 1,
            other => panic!("{other:?} from a gate"),
        }
    }
}

impl<S: Storage, C: Limited> Pair<S, C> {
    /// Everything that can be seen of the gate is what the oracle counts.
    pub(crate) fn agrees(&self) -> TestCaseResult {
        self.gate.check_invariants();
        let (oracle, seen) = (&self.oracle, self.gate.snapshot(Timestamp::ZERO));
        let (queued, bytes) = oracle.queued();
        prop_assert_eq!((u64::from(seen.queued), u128::from(seen.queued_bytes)), (queued, bytes));
        prop_assert_eq!(u64::from(seen.waiting), oracle.waiting());
        prop_assert_eq!(
            (u64::from(seen.active), u64::from(seen.attempts)),
            (oracle.active(), oracle.attempts())
        );
        prop_assert_eq!(seen.tenants as usize, oracle.tenants_in_use());
        prop_assert_eq!(seen.mean_service.map(nanos), oracle.mean_service());
        prop_assert_eq!(u128::from(self.gate.capacity().taken()), oracle.in_use());
        prop_assert_eq!(self.gate.is_drained(), oracle.is_drained());
        for class in 0..3 {
            prop_assert_eq!(self.gate.estimated_cost(ClassId(class)), oracle.estimated_cost(class));
        }
        let (got, expected) = (seen.counts, &oracle.counts);
        for why in &expected.refused {
            let times = expected.refused.iter().filter(|other| *other == why).count() as u64;
            prop_assert_eq!(got.refused(reason(*why)), times, "{:?}", why);
        }
        prop_assert_eq!(got.total_refused(), expected.refused.len() as u64);
        let counts = [
            (got.queued, expected.queued),
            (got.started, expected.started),
            (got.passed, expected.passed),
            (got.completed, expected.completed),
            (got.not_started, expected.not_started),
            (got.retried, expected.retried),
            (got.cancelled, expected.cancelled),
            (got.stale, expected.stale),
            (nanos(got.longest_wait()), expected.longest_wait),
        ];
        for (number, (got, expected)) in counts.into_iter().enumerate() {
            prop_assert_eq!(got, expected, "count {}", number);
        }
        let mean = expected.total_wait.checked_div(u128::from(expected.started));
        prop_assert_eq!(got.mean_wait().as_nanos(), mean.unwrap_or(0));
        let heard = self.gate.observer();
        let told = expected.refused.iter().map(|&why| reason(why));
        prop_assert_eq!(&heard.refused, &told.collect::<Vec<_>>(), "refusals as an observer hears them");
        prop_assert_eq!(
            [heard.queued, heard.started, heard.passed, heard.longest_wait, heard.ended],
            [
                expected.queued,
                expected.started,
                expected.passed,
                expected.longest_wait,
                expected.completed + expected.not_started
            ]
        );
        prop_assert_eq!(
            [heard.returned, heard.cancelled, heard.stale],
            [expected.retried, expected.cancelled, expected.stale]
        );
        let expected = oracle.tenants();
        let oldest = expected.iter().filter_map(|tenant| tenant.oldest_wait).max();
        prop_assert_eq!(seen.oldest_wait.map(nanos), oldest);
        let views = self.gate.tenants(Timestamp::ZERO).map(|tenant| TenantView {
            key: tenant.key.0,
            weight: tenant.weight,
            queued: u64::from(tenant.queued),
            bytes: u128::from(tenant.bytes),
            waiting: u64::from(tenant.waiting),
            active: u64::from(tenant.active),
            started: tenant.started,
            served: tenant.served_cost,
            debt: oracle.is_exact().then_some(tenant.debt),
            oldest_wait: tenant.oldest_wait.map(nanos),
        });
        prop_assert_eq!(views.collect::<Vec<_>>(), expected);
        Ok(())
    }

    /// With room for all and time enough, everybody ends, each once, and nothing is left of it.
    pub(crate) fn drain(&mut self) -> TestCaseResult {
        self.set_limit(1 << 20);
        while self.oracle.waiting() + self.oracle.active() > 0 {
            self.poll_all(&[])?;
            for number in self.oracle.live(true) {
                self.complete(number, Ending::Ran(None))?;
            }
            self.poll_all(&[])?;
            if self.oracle.active() == 0 {
                self.now = self.gate.poll_timeout().map_or(self.now, Timestamp::as_nanos);
            }
        }
        self.agrees()?;
        for (number, job) in self.jobs.iter().enumerate() {
            prop_assert!(job.2.is_some(), "{} has not ended", number);
        }
        let end = self.gate.snapshot(Timestamp::MAX);
        prop_assert_eq!(
            (end.queued, end.queued_bytes, end.waiting, end.active, end.attempts),
            (0, 0, 0, 0, 0)
        );
        prop_assert_eq!((self.gate.capacity().taken(), end.oldest_wait), (0, None));
        for tenant in self.gate.tenants(Timestamp::MAX) {
            prop_assert_eq!((tenant.queued, tenant.bytes, tenant.active, tenant.waiting), (0, 0, 0, 0));
        }
        Ok(())
    }
}
