//! The ledger: everything of a run that is measured, by tenant and over time.
//!
//! **What is an average.** The mean of a level over a window is its time-weighted integral divided by the window's
//! length. The integral is exact: weights and nanoseconds are whole, and a level changes only at events. Each tenant's
//! integrals are brought up to date only when its own levels change.
//!
//! **Windows.** At each border the totals of all tenants are copied ([`Mark`]); a window's figure is the difference of
//! two copies. Waits and latencies are kept in the order in which they were measured, so a window is a slice of them,
//! and quantiles are exact.
//!
//! **Work** O(1) an event, O(tenants) a border. **Memory** 16 bytes for each job that starts.

use std::collections::BTreeMap;

/// Points of the chart.
pub(crate) const POINTS: u64 = 240;

/// What has happened to a tenant up to an instant.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Totals {
    pub(crate) submitted: u64,
    pub(crate) started: u64,
    pub(crate) refused: u64,
    pub(crate) cancelled: u64,
    /// Replies in time, to somebody who still waited.
    pub(crate) good: u64,
    pub(crate) ended: u64,
    pub(crate) cost_submitted: u128,
    pub(crate) cost_started: u128,
    /// ∫ weight held dt, weight · ns.
    pub(crate) held: u128,
    /// ∫ weight executing dt, weight · ns.
    pub(crate) executing: u128,
    /// Waits measured: how many of [`Account::waits_ns`] are of the time before.
    pub(crate) waits: usize,
    /// Latencies measured.
    pub(crate) latencies: usize,
}

/// One tenant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) totals: Totals,
    /// Of jobs that started, in the order of their starts.
    pub(crate) waits_ns: Vec<u64>,
    /// Of jobs that replied, in the order of their replies.
    pub(crate) latencies_ns: Vec<u64>,
    pub(crate) refused_for: BTreeMap<&'static str, u64>,
    pub(crate) queued: u64,
    held: u64,
    executing: u64,
    up_to_ns: u64,
}

impl Account {
    /// Brings the integrals up to `now_ns`.
    #[inline]
    fn advance(&mut self, now_ns: u64) {
        let passed = u128::from(now_ns - self.up_to_ns);
        self.up_to_ns = now_ns;
        self.totals.held += u128::from(self.held) * passed;
        self.totals.executing += u128::from(self.executing) * passed;
    }
}

/// All totals at a border.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at_ns: u64,
    pub(crate) totals: Vec<Totals>,
}

/// A point of the chart.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) at_ns: u64,
    pub(crate) cost_started: Vec<u128>,
    pub(crate) queued: Vec<u64>,
    pub(crate) in_use: u64,
    pub(crate) limit: u64,
}

/// The most there was at once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Peaks {
    pub(crate) active: u64,
    pub(crate) in_use: u64,
    /// Counted the moment a job is submitted, even if it starts at once.
    pub(crate) queued: u64,
    pub(crate) bytes: u64,
}

/// Everything of a run that is measured.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) accounts: Vec<Account>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) points: Vec<Point>,
    pub(crate) peaks: Peaks,
    active: u64,
    queued: u64,
    bytes: u64,
}

impl Ledger {
    pub(crate) fn new(tenants: usize) -> Self {
        Self {
            accounts: vec![Account::default(); tenants],
            marks: Vec::new(),
            points: Vec::new(),
            peaks: Peaks::default(),
            active: 0,
            queued: 0,
            bytes: 0,
        }
    }

    #[inline]
    fn account(&mut self, tenant: u32) -> &mut Account {
        &mut self.accounts[crate::num::index(tenant)]
    }

    #[inline]
    pub(crate) fn submitted(&mut self, tenant: u32, cost: u64) {
        let totals = &mut self.account(tenant).totals;
        totals.submitted += 1;
        totals.cost_submitted += u128::from(cost);
    }

    #[inline]
    pub(crate) fn queued(&mut self, tenant: u32, bytes: u64) {
        self.account(tenant).queued += 1;
        self.queued += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.peaks.queued = self.peaks.queued.max(self.queued);
        self.peaks.bytes = self.peaks.bytes.max(self.bytes);
    }

    #[inline]
    pub(crate) fn left_queue(&mut self, tenant: u32, bytes: u64) {
        let account = self.account(tenant);
        account.queued = account.queued.saturating_sub(1);
        self.queued = self.queued.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    #[inline]
    pub(crate) fn started(&mut self, now_ns: u64, tenant: u32, weight: u64, cost: u64, waited_ns: u64) {
        let account = self.account(tenant);
        account.advance(now_ns);
        account.held += weight;
        account.executing += weight;
        account.totals.started += 1;
        account.totals.cost_started += u128::from(cost);
        account.waits_ns.push(waited_ns);
        account.totals.waits += 1;
        self.active += 1;
        self.peaks.active = self.peaks.active.max(self.active);
    }

    /// A job replied: to nobody, if `latency_ns` is `None`; in time, if `good`.
    #[inline]
    pub(crate) fn replied(
        &mut self,
        now_ns: u64,
        tenant: u32,
        weight: u64,
        latency_ns: Option<u64>,
        good: bool,
    ) {
        let account = self.account(tenant);
        account.advance(now_ns);
        account.executing = account.executing.saturating_sub(weight);
        if let Some(latency_ns) = latency_ns {
            account.latencies_ns.push(latency_ns);
            account.totals.latencies += 1;
            account.totals.good += u64::from(good);
        }
    }

    #[inline]
    pub(crate) fn ended(&mut self, now_ns: u64, tenant: u32, weight: u64) {
        let account = self.account(tenant);
        account.advance(now_ns);
        account.held = account.held.saturating_sub(weight);
        account.totals.ended += 1;
        self.active = self.active.saturating_sub(1);
    }

    pub(crate) fn refused(&mut self, tenant: u32, reason: &'static str) {
        let account = self.account(tenant);
        account.totals.refused += 1;
        *account.refused_for.entry(reason).or_default() += 1;
    }

    pub(crate) fn cancelled(&mut self, tenant: u32) {
        self.account(tenant).totals.cancelled += 1;
    }

    /// Nothing more happens at this instant, as far as is known.
    #[inline]
    pub(crate) fn settled(&mut self, in_use: u64) {
        self.peaks.in_use = self.peaks.in_use.max(in_use);
    }

    /// A border between windows, or a point of the chart.
    pub(crate) fn mark(&mut self, now_ns: u64, border: bool, in_use: u64, limit: u64) {
        self.accounts.iter_mut().for_each(|account| account.advance(now_ns));
        if border {
            let totals = self.accounts.iter().map(|account| account.totals).collect();
            self.marks.push(Mark { at_ns: now_ns, totals });
        }
        self.points.push(Point {
            at_ns: now_ns,
            cost_started: self.accounts.iter().map(|account| account.totals.cost_started).collect(),
            queued: self.accounts.iter().map(|account| account.queued).collect(),
            in_use,
            limit,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_the_integral_over_time() {
        let mut ledger = Ledger::new(1);
        ledger.mark(0, true, 0, 0);
        ledger.started(10, 0, 3, 1, 0);
        ledger.replied(30, 0, 3, Some(20), true);
        ledger.ended(40, 0, 3);
        ledger.mark(100, true, 0, 0);
        let totals = ledger.marks[1].totals[0];
        assert_eq!((totals.held, totals.executing), (90, 60));
        assert_eq!((totals.started, totals.good, totals.ended), (1, 1, 1));
    }

    #[test]
    fn what_happens_at_a_border_belongs_to_the_window_it_opens() {
        let mut ledger = Ledger::new(1);
        ledger.mark(10, true, 0, 0);
        ledger.started(10, 0, 1, 5, 7);
        ledger.mark(20, true, 0, 0);
        assert_eq!((ledger.marks[0].totals[0].waits, ledger.marks[1].totals[0].waits), (0, 1));
        assert_eq!(ledger.marks[1].totals[0].held, 10);
    }

    #[test]
    fn peaks_count_a_job_from_its_submission() {
        let mut ledger = Ledger::new(2);
        ledger.queued(0, 7);
        ledger.left_queue(0, 7);
        ledger.queued(1, 3);
        assert_eq!(ledger.peaks, Peaks { active: 0, in_use: 0, queued: 1, bytes: 7 });
    }
}
