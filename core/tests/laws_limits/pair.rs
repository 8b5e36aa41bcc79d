//! Limits and their oracle, side by side.

use core::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::Reason;
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Refund, Rule, RuleId, RuleOvershoot, RuleSet};
use tollgate::rate::rules::{Strategy, Target, TierId};
use tollgate::rate::{AccountId, Blame, Denied, Limits, LimitsSettings, Session, WhenFull};
use tollgate_model::limits as oracle;
use tollgate_model::ops::Step;
use tollgate_model::ops::limits::{DIMENSIONS, Fault, GROUPS, LimitsOp, OWNERS};

use super::common::at;

type Machine = Limits<u64>;

/// What each dimension gives back: after the client's fault, after the server's.
const REFUNDS: [(bool, bool); DIMENSIONS] = [(false, true), (true, true), (true, false)];

pub(crate) struct Pair {
    machine: Machine,
    model: oracle::Limits,
    dimensions: Vec<Dimension>,
    accounts: [Option<AccountId>; OWNERS as usize],
    open: Vec<(Session, oracle::Session)>,
    now: u64,
    retry_at: Option<u64>,
    /// Whether there is room for everybody.
    ample: bool,
}

fn dimensions() -> (Dimensions, Vec<Dimension>) {
    let mut table = Dimensions::new();
    let all = (0..).zip(REFUNDS).map(|(number, (client, server))| {
        let refund = Refund { after_client_error: client, after_server_error: server };
        table.add_with(&format!("d{number}"), "units", refund).unwrap()
    });
    let all = all.collect();
    (table, all)
}

fn rule(rule: &oracle::Rule, dimensions: &[Dimension]) -> Rule<u64> {
    Rule {
        id: RuleId(rule.id),
        target: match rule.target {
            oracle::Target::Owner(owner) => Target::Owner(owner),
            oracle::Target::Tier(tier) => Target::Tier(TierId(tier)),
            oracle::Target::Default => Target::Default,
        },
        group: GroupId(rule.group),
        dimension: dimensions[rule.dimension],
        limit: rule.terms.limit,
        window: Duration::from_nanos(rule.window_ns),
        strategy: match rule.terms.strategy {
            oracle::Strategy::Bucket(burst) => Strategy::Bucket { burst },
            oracle::Strategy::Fixed => Strategy::Fixed,
            oracle::Strategy::Sliding(slices) => Strategy::Sliding { slices },
            oracle::Strategy::Allowance => Strategy::Allowance,
        },
        overshoot: match rule.terms.debt_ppm {
            Some(max_debt_ppm) => RuleOvershoot::Lock { max_debt_ppm },
            None => RuleOvershoot::Deny,
        },
        starts: rule.starts.map(at),
        expires: rule.expires.map(at),
    }
}

fn set(rules: &[oracle::Rule]) -> (RuleSet<u64>, Vec<Dimension>) {
    let (table, dimensions) = dimensions();
    let rules = rules.iter().map(|one| rule(one, &dimensions)).collect();
    (RuleSet::new(table, rules).unwrap(), dimensions)
}

impl Pair {
    pub(crate) fn new(rules: Vec<oracle::Rule>, grace_ns: u64, accounts: u32) -> Self {
        let (rules_set, dimensions) = set(&rules);
        let settings = LimitsSettings {
            accounts,
            sheets: accounts * GROUPS,
            meters: 1_000,
            grace: Duration::from_nanos(grace_ns),
            when_full: WhenFull::Refuse,
        };
        Self {
            machine: Limits::new(settings, rules_set).unwrap(),
            model: oracle::Limits::new(rules, DIMENSIONS, grace_ns, accounts as usize),
            dimensions,
            accounts: [None; OWNERS as usize],
            open: Vec::new(),
            now: 0,
            retry_at: None,
            ample: u64::from(accounts) >= OWNERS,
        }
    }

    pub(crate) fn run(&mut self, run: Vec<(Step, LimitsOp)>) -> TestCaseResult {
        for (step, op) in run {
            self.now = step.apply(self.now, self.retry_at);
            self.apply(op)?;
            self.machine.check_invariants();
        }
        // Everything that is left is told, and ended.
        for owner in 0..OWNERS {
            (0..GROUPS).try_for_each(|group| self.report(owner, group, None))?;
        }
        while !self.open.is_empty() {
            self.apply(LimitsOp::RollBack(0, Fault::Nobody))?;
        }
        (0..OWNERS).try_for_each(|owner| (0..GROUPS).try_for_each(|group| self.report(owner, group, None)))
    }

    fn apply(&mut self, op: LimitsOp) -> TestCaseResult {
        let now = at(self.now);
        match op {
            LimitsOp::Begin(owner, tier, group) => self.begin(owner, tier, group)?,
            LimitsOp::BeginKnown(owner, group) => self.begin_known(owner, group)?,
            LimitsOp::Evaluate(k, on, cost) => self.evaluate(k, on, cost)?,
            LimitsOp::Precheck(k, on) => self.precheck(k, on)?,
            LimitsOp::Settle(k, on, actual) => {
                if let Some(k) = self.nth(k) {
                    let (session, model) = &mut self.open[k];
                    self.machine.settle(now, session, self.dimensions[on], actual);
                    self.model.settle(self.now, model, on, actual);
                    self.report_of(k, None)?;
                }
            }
            LimitsOp::Commit(k) => {
                if let Some(k) = self.nth(k) {
                    let (session, model) = self.open.swap_remove(k);
                    self.machine.commit(now, session);
                    self.model.end(self.now, model, None);
                }
            }
            LimitsOp::RollBack(k, fault) => self.roll_back(k, fault)?,
            LimitsOp::Replace(rules) => {
                if !self.ample {
                    // Whom the hand has looked at in between, only the machine knows: so everybody is.
                    for owner in 0..OWNERS {
                        (0..GROUPS).try_for_each(|group| self.report(owner, group, None))?;
                    }
                }
                self.machine.replace_rules(now, set(&rules).0);
                self.model.replace(self.now, rules);
            }
            LimitsOp::Reset(owner, group, on) => {
                if let Some(account) = self.accounts[owner as usize] {
                    self.model.observe(self.now);
                    if self.machine.reset(now, account, GroupId(group), self.dimensions[on]).is_ok() {
                        self.model.reset(self.now, owner, group, on);
                    }
                }
            }
            LimitsOp::Report(owner, group) => self.report(owner, group, None)?,
        }
        Ok(())
    }

    fn nth(&self, k: usize) -> Option<usize> {
        k.checked_rem(self.open.len())
    }

    fn begin(&mut self, owner: u64, tier: Option<u32>, group: u32) -> TestCaseResult {
        let begun = self.machine.begin(at(self.now), &owner, tier.map(TierId), GroupId(group));
        let model = self.model.begin(self.now, owner, tier, group);
        prop_assert_eq!(begun.is_ok(), model.is_some(), "{:?}", begun);
        if let (Ok(session), Some(model)) = (begun, model) {
            self.accounts[owner as usize] = Some(session.account());
            self.open.push((session, model));
        }
        Ok(())
    }

    fn begin_known(&mut self, owner: u64, group: u32) -> TestCaseResult {
        let Some(account) = self.accounts[owner as usize] else { return Ok(()) };
        self.model.observe(self.now);
        match self.machine.begin_known(at(self.now), account, GroupId(group)) {
            Ok(session) => {
                let model = self.model.begin_known(self.now, owner, group);
                self.open.push((session, model));
            }
            Err(refused) => {
                prop_assert_eq!(refused.reason, Reason::TenantRemoved);
                prop_assert!(!self.ample && self.model.is_forgettable(owner));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, k: usize, on: usize, cost: u64) -> TestCaseResult {
        let Some(k) = self.nth(k) else { return Ok(()) };
        let (session, model) = &mut self.open[k];
        let (owner, group) = (model.owner, model.group);
        self.model.look(self.now, owner, group);
        let windows = self.model.states(self.now, owner, group, cost);
        let windows = windows.iter().filter(|state| state.dimension == on).count();
        let room = windows <= 16 - model.records;
        // Its meters may have to follow their rules first: half of the time they are made to, and nothing may move then.
        let followed = cost.is_multiple_of(2);
        if followed {
            let _told = self.machine.report(at(self.now), session.account(), session.group(), None).unwrap();
        }
        let before = format!("{:?}", self.machine);
        let answer = self.machine.evaluate(at(self.now), session, self.dimensions[on], cost);
        if answer.is_err() && followed {
            prop_assert_eq!(before, format!("{:?}", self.machine), "I4: a refusal changed a meter");
        }
        match answer {
            Ok(()) => prop_assert!(self.model.evaluate(self.now, model, on, cost)),
            Err(denied) if denied.reason == Reason::SessionFull => {
                prop_assert!(!room && self.model.would_pass(self.now, owner, group, on, cost));
            }
            Err(denied) => self.denied(&denied, owner, group, on, cost)?,
        }
        if answer.is_ok() {
            prop_assert!(room);
        }
        self.report_of(k, answer.err().as_ref())
    }

    fn precheck(&mut self, k: usize, on: usize) -> TestCaseResult {
        let Some(k) = self.nth(k) else { return Ok(()) };
        let (session, model) = &self.open[k];
        let (owner, group) = (model.owner, model.group);
        self.model.look(self.now, owner, group);
        match self.machine.precheck(at(self.now), session, &[self.dimensions[on]]) {
            Ok(()) => prop_assert!(self.model.would_pass(self.now, owner, group, on, 0)),
            Err(denied) => self.denied(&denied, owner, group, on, 0)?,
        }
        Ok(())
    }

    /// Everything a refusal says.
    fn denied(&mut self, denied: &Denied, owner: u64, group: u32, on: usize, cost: u64) -> TestCaseResult {
        let latest = self.model.observe(self.now);
        let passes = |model: &oracle::Limits, at, cost| model.would_pass(at, owner, group, on, cost);
        prop_assert!(!passes(&self.model, latest, cost));
        let states = self.model.states(latest, owner, group, cost);
        let states: Vec<_> = states.iter().filter(|state| state.dimension == on).collect();
        let told = states.iter().find(|state| Some(RuleId(state.rule)) == denied.rule).unwrap();
        let reason = match told.answer {
            Ok(()) => return Err(TestCaseError::fail("a window that does not refuse")),
            Err(oracle::Reason::Rate) => Reason::RateExceeded,
            Err(oracle::Reason::Debt) => Reason::InDebt,
            Err(oracle::Reason::Exceeds) => Reason::ExceedsCapacity,
            Err(oracle::Reason::Exhausted) => Reason::QuotaExhausted,
        };
        prop_assert_eq!((denied.reason, denied.asked), (reason, cost));
        prop_assert_eq!((denied.limit, denied.used), (told.limit, told.used));
        prop_assert_eq!(denied.window, Duration::from_nanos(told.window_ns));
        prop_assert!(denied.allowed == 0 || passes(&self.model, latest, denied.allowed));
        prop_assert!(!passes(&self.model, latest, denied.allowed + 1));
        match denied.clears_in {
            Some(wait) => {
                prop_assert!(denied.waiting_helps());
                let clears = latest + u64::try_from(wait.as_nanos()).unwrap();
                prop_assert!(passes(&self.model, clears, cost));
                prop_assert!(!passes(&self.model, clears - 1, cost));
                self.retry_at = Some(clears);
            }
            None => {
                prop_assert!(!denied.waiting_helps());
                prop_assert!(!passes(&self.model, 1_000_000_000, cost));
            }
        }
        Ok(())
    }

    fn roll_back(&mut self, k: usize, fault: Fault) -> TestCaseResult {
        let Some(k) = self.nth(k) else { return Ok(()) };
        let (session, model) = self.open.swap_remove(k);
        let (owner, group) = (model.owner, model.group);
        let blame = match fault {
            Fault::Nobody => Blame::Nobody,
            Fault::Client => Blame::Client,
            Fault::Server => Blame::Server,
        };
        self.machine.roll_back(at(self.now), session, blame);
        let comes_back = |dimension: usize| match fault {
            Fault::Nobody => true,
            Fault::Client => REFUNDS[dimension].0,
            Fault::Server => REFUNDS[dimension].1,
        };
        self.model.end(self.now, model, Some(&comes_back));
        self.report(owner, group, None)
    }

    fn report_of(&mut self, k: usize, denied: Option<&Denied>) -> TestCaseResult {
        let (owner, group) = (self.open[k].1.owner, self.open[k].1.group);
        self.report(owner, group, denied)
    }

    /// Everything that can be told of an owner's windows, and that it is what happens next.
    fn report(&mut self, owner: u64, group: u32, denied: Option<&Denied>) -> TestCaseResult {
        let Some(account) = self.accounts[owner as usize] else { return Ok(()) };
        let latest = self.model.observe(self.now);
        let Ok(report) = self.machine.report(at(self.now), account, GroupId(group), denied) else {
            // Forgotten, or never used: the oracle may know it and have nothing to tell.
            self.model.look(self.now, owner, group);
            let states = self.model.states(latest, owner, group, 0);
            prop_assert!(states.iter().all(|state| state.used == 0));
            return Ok(());
        };
        let told: Vec<_> = report.collect();
        self.model.look(self.now, owner, group);
        let states = self.model.states(latest, owner, group, 0);
        prop_assert_eq!(told.len(), states.len());
        for (told, state) in told.iter().zip(&states) {
            prop_assert_eq!(told.dimension, self.dimensions[state.dimension]);
            prop_assert_eq!((told.rule, told.limit), (RuleId(state.rule), state.limit));
            prop_assert_eq!(told.window, Duration::from_nanos(state.window_ns));
            prop_assert_eq!(told.used, state.used);
            let refuses =
                denied.is_some_and(|denied| denied.dimension == told.dimension && denied.rule.is_some());
            prop_assert_eq!(told.remaining, if refuses { 0 } else { state.remaining });
            self.resets(owner, group, state, told.resets_in)?;
        }
        let primary = self.machine.primary(at(self.now), account, GroupId(group), denied).unwrap();
        let shown = told.iter().filter(|told| denied.is_none_or(|denied| denied.dimension == told.dimension));
        let shortest = shown.map(|told| told.window).min();
        if denied.is_none_or(|denied| denied.rule.is_some()) {
            prop_assert_eq!(primary.map(|state| state.window), shortest);
            prop_assert!(denied.is_none() || primary.is_some_and(|state| state.remaining == 0));
        }
        Ok(())
    }

    fn resets(
        &self,
        owner: u64,
        group: u32,
        state: &oracle::State,
        resets_in: Option<Duration>,
    ) -> TestCaseResult {
        let used = |at| {
            let states = self.model.states(at, owner, group, 0);
            states.iter().find(|other| other.rule == state.rule).map_or(0, |state| state.used)
        };
        let latest = self.model.clone().observe(0);
        match resets_in.map(|wait| latest + u64::try_from(wait.as_nanos()).unwrap()) {
            Some(resets) if resets > latest => {
                prop_assert_eq!((used(resets), used(resets - 1) > 0), (0, true));
            }
            Some(_) => prop_assert_eq!(state.used, 0),
            None => prop_assert!(used(1_000_000_000) > 0),
        }
        Ok(())
    }
}
