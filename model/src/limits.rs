//! Limits of many owners that forget nobody, scan every rule at every question, and count by lists.
//!
//! What is the definition here and has to be the machine's answer: which rules hold for whom; that a rule begins and ends
//! at its instant, and a replaced set is followed from the latest replacement by whoever looks next; that what is
//! consumed survives every change; that a session takes from all windows or none.

mod rule;
mod window;

pub use rule::{Rule, Target};
pub use window::{Reason, Strategy, Terms};
use window::{Take, Window};

#[derive(Clone, Debug)]
struct Account {
    owner: u64,
    tier: Option<u32>,
    former: Option<(Option<u32>, u64)>,
    open: u64,
}

#[derive(Clone, Debug)]
struct Sheet {
    owner: u64,
    group: u32,
    /// Until when its windows follow the rules, and of which set.
    seen: u64,
    set: usize,
    windows: Vec<Window>,
}

/// One evaluation: what it took of which windows, by their number.
#[derive(Clone, Debug)]
struct Evaluation {
    dimension: usize,
    amount: u64,
    taken: Vec<(u64, Take)>,
}

/// A request that has begun.
#[derive(Clone, Debug)]
pub struct Session {
    /// Whose.
    pub owner: u64,
    /// In which group.
    pub group: u32,
    evaluations: Vec<Evaluation>,
    /// Records it has taken up.
    pub records: usize,
}

/// One window as it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct State {
    /// Of which dimension.
    pub dimension: usize,
    /// By which rule.
    pub rule: u64,
    /// Its limit.
    pub limit: u64,
    /// Its length.
    pub window_ns: u64,
    /// Consumed, rounded up.
    pub used: u64,
    /// Left without overshoot, rounded down.
    pub remaining: u64,
    /// What it says to the amount asked for.
    pub answer: Result<(), Reason>,
}

/// The oracle; see the [module](self).
#[derive(Clone, Debug)]
pub struct Limits {
    rules: Vec<Rule>,
    dimensions: usize,
    grace_ns: u64,
    capacity: usize,
    since: u64,
    set: usize,
    latest: u64,
    accounts: Vec<Account>,
    sheets: Vec<Sheet>,
    numbers: u64,
}

impl Limits {
    /// Nobody has consumed anything.
    #[must_use]
    pub fn new(rules: Vec<Rule>, dimensions: usize, grace_ns: u64, capacity: usize) -> Self {
        let (accounts, sheets) = (Vec::new(), Vec::new());
        Self {
            rules,
            dimensions,
            grace_ns,
            capacity,
            since: 0,
            set: 0,
            latest: 0,
            accounts,
            sheets,
            numbers: 0,
        }
    }

    /// Somebody told it the time: it never goes back. Returns the instant that counts.
    pub fn observe(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Other rules, from now on.
    pub fn replace(&mut self, now: u64, rules: Vec<Rule>) {
        self.since = self.observe(now);
        self.set += 1;
        self.rules = rules;
    }

    /// Begins a request, unless as many others as there is room for can not be forgotten.
    pub fn begin(&mut self, now: u64, owner: u64, tier: Option<u32>, group: u32) -> Option<Session> {
        let now = self.observe(now);
        let others: Vec<u64> =
            self.accounts.iter().map(|account| account.owner).filter(|&other| other != owner).collect();
        let kept = others.into_iter().filter(|&other| !self.is_forgettable(other)).count();
        if kept >= self.capacity {
            return None;
        }
        if !self.accounts.iter().any(|account| account.owner == owner) {
            self.accounts.push(Account { owner, tier, former: None, open: 0 });
        }
        if self.account(owner).tier != tier {
            self.change_tier(now, owner, tier);
        }
        self.account_mut(owner).open += 1;
        self.bring(owner, group, now);
        Some(Session { owner, group, evaluations: Vec::new(), records: 0 })
    }

    /// Begins a request of somebody who is known, in the tier it has.
    pub fn begin_known(&mut self, now: u64, owner: u64, group: u32) -> Session {
        let now = self.observe(now);
        self.account_mut(owner).open += 1;
        self.bring(owner, group, now);
        Session { owner, group, evaluations: Vec::new(), records: 0 }
    }

    /// Takes an amount from all windows of a dimension that are in force, or from none. Whether it did.
    pub fn evaluate(&mut self, now: u64, session: &mut Session, dimension: usize, amount: u64) -> bool {
        let now = self.observe(now);
        self.bring(session.owner, session.group, now);
        if !self.would_pass(now, session.owner, session.group, dimension, amount) {
            return false;
        }
        self.take(now, session, dimension, amount);
        true
    }

    /// Corrects what a session took of a dimension.
    pub fn settle(&mut self, now: u64, session: &mut Session, dimension: usize, actual: u64) {
        let now = self.observe(now);
        self.bring(session.owner, session.group, now);
        let of = |evaluation: &&Evaluation| evaluation.dimension == dimension && !evaluation.taken.is_empty();
        let taken: u64 = session.evaluations.iter().filter(of).map(|evaluation| evaluation.amount).sum();
        if actual > taken {
            self.take(now, session, dimension, actual - taken);
            return;
        }
        let mut excess = taken - actual;
        for evaluation in session.evaluations.iter_mut().rev() {
            if evaluation.dimension == dimension && !evaluation.taken.is_empty() {
                let back = evaluation.amount.min(excess);
                self.give_back(now, session.owner, session.group, evaluation, back);
                excess -= back;
            }
        }
    }

    /// Ends a session; of the dimensions that `comes_back` says, what it took comes back.
    pub fn end(&mut self, now: u64, mut session: Session, comes_back: Option<&dyn Fn(usize) -> bool>) {
        let now = self.observe(now);
        if let Some(comes_back) = comes_back {
            self.bring(session.owner, session.group, now);
            while let Some(mut evaluation) = session.evaluations.pop() {
                if comes_back(evaluation.dimension) {
                    let back = evaluation.amount;
                    self.give_back(now, session.owner, session.group, &mut evaluation, back);
                }
            }
        }
        self.account_mut(session.owner).open -= 1;
    }

    /// Every window of a dimension begins anew.
    pub fn reset(&mut self, now: u64, owner: u64, group: u32, dimension: usize) {
        let now = self.observe(now);
        self.bring(owner, group, now);
        let fresh = self.numbers;
        let sheet = self.sheet_mut(owner, group);
        for (number, window) in (fresh + 1..).zip(&mut sheet.windows) {
            if window.dimension == dimension {
                *window = window.restarted(number, now);
            }
        }
        self.numbers += 1_000;
    }

    /// Whether a dimension would grant an amount at an instant from now on, under the rules of now.
    #[must_use]
    pub fn would_pass(&self, at: u64, owner: u64, group: u32, dimension: usize, amount: u64) -> bool {
        self.states(at, owner, group, amount)
            .iter()
            .all(|state| state.dimension != dimension || state.answer.is_ok())
    }

    /// All windows in force of an owner, by dimension and length, and what they say to an amount.
    #[must_use]
    pub fn states(&self, at: u64, owner: u64, group: u32, amount: u64) -> Vec<State> {
        let at = at.max(self.latest);
        let Some(sheet) = self.sheet(owner, group) else { return Vec::new() };
        let in_force = sheet.windows.iter().filter(|window| window.rule.is_some());
        let mut states: Vec<State> = in_force
            .map(|window| State {
                dimension: window.dimension,
                rule: window.rule.unwrap_or(0),
                limit: window.terms.limit,
                window_ns: window.window_ns,
                used: window.consumed(at),
                remaining: window.remaining(at),
                answer: window.answer(at, amount),
            })
            .collect();
        states.sort_by_key(|state| (state.dimension, state.window_ns));
        states
    }

    /// When the rules that hold for an owner in a group may be others, if ever after now.
    #[must_use]
    pub fn holds_until(&self, owner: u64) -> Option<u64> {
        self.changes(owner).into_iter().filter(|&change| change > self.latest).min()
    }

    /// Somebody looks at an owner's windows.
    pub fn look(&mut self, now: u64, owner: u64, group: u32) {
        let now = self.observe(now);
        if self.sheet(owner, group).is_some() {
            self.bring(owner, group, now);
        }
    }

    /// Whether forgetting an owner forgives nothing.
    pub fn is_forgettable(&mut self, owner: u64) -> bool {
        let now = self.latest;
        let account = self.account(owner);
        if account.open > 0 || account.former.is_some_and(|(_, ends)| now < ends) {
            return false;
        }
        // A change that was not heard of yet could have slowed it down.
        let mut imagined = self.clone();
        let groups: Vec<u32> =
            self.sheets.iter().filter(|sheet| sheet.owner == owner).map(|sheet| sheet.group).collect();
        groups.iter().for_each(|&group| imagined.bring(owner, group, now));
        let recovered = |window: &Window| window.consumed(now) == 0;
        imagined
            .sheets
            .iter()
            .filter(|sheet| sheet.owner == owner)
            .all(|sheet| sheet.windows.iter().all(recovered))
    }

    fn take(&mut self, now: u64, session: &mut Session, dimension: usize, amount: u64) {
        let mut taken = Vec::new();
        let sheet = self.sheet_mut(session.owner, session.group);
        sheet.windows.sort_by_key(|window| (window.dimension, window.window_ns));
        for window in &mut sheet.windows {
            if window.rule.is_some() && window.dimension == dimension {
                taken.push((window.number, window.take(now, amount)));
            }
        }
        // Sixteen records a session; what is charged beyond that does not come back.
        if taken.len() > 16 - session.records {
            taken.clear();
        }
        session.records += taken.len();
        session.evaluations.push(Evaluation { dimension, amount, taken });
    }

    fn give_back(&mut self, now: u64, owner: u64, group: u32, evaluation: &mut Evaluation, back: u64) {
        let sheet = self.sheet_mut(owner, group);
        for (number, take) in evaluation.taken.iter_mut().rev() {
            if let Some(window) = sheet.windows.iter_mut().find(|window| window.number == *number) {
                window.give_back(now, *take, back);
            }
        }
        evaluation.amount -= back;
    }

    fn change_tier(&mut self, now: u64, owner: u64, tier: Option<u32>) {
        let groups: Vec<u32> =
            self.sheets.iter().filter(|sheet| sheet.owner == owner).map(|sheet| sheet.group).collect();
        groups.iter().for_each(|&group| self.bring(owner, group, now));
        let ends = now.saturating_add(self.grace_ns);
        let account = self.account_mut(owner);
        account.former = (ends > now).then_some((account.tier, ends));
        account.tier = tier;
        groups.iter().for_each(|&group| self.apply(owner, group, now));
    }

    /// Lets a sheet hear of everything that happened since it was looked at last.
    fn bring(&mut self, owner: u64, group: u32, now: u64) {
        let (set, since) = (self.set, self.since);
        if self.sheet(owner, group).is_none() {
            self.sheets.push(Sheet { owner, group, seen: now, set, windows: Vec::new() });
            self.apply(owner, group, now);
        }
        if self.sheet_mut(owner, group).set != set {
            let sheet = self.sheet_mut(owner, group);
            (sheet.set, sheet.seen) = (set, since);
            self.apply(owner, group, since);
        }
        let seen = self.sheet_mut(owner, group).seen;
        let mut changes = self.changes(owner);
        changes.retain(|&change| seen < change && change <= now);
        changes.sort_unstable();
        changes.into_iter().for_each(|change| self.apply(owner, group, change));
        self.sheet_mut(owner, group).seen = now;
    }

    /// Every instant at which rules may change for an owner.
    fn changes(&self, owner: u64) -> Vec<u64> {
        let former = self.account(owner).former.map(|(_, ends)| ends);
        self.rules.iter().flat_map(|rule| [rule.starts, rule.expires]).chain([former]).flatten().collect()
    }

    /// Gives each window the rule that holds for it at `at`.
    fn apply(&mut self, owner: u64, group: u32, at: u64) {
        let rules = self.holding(owner, group, at);
        let mut fresh = self.numbers;
        let sheet = self.sheet_mut(owner, group);
        sheet.windows.iter_mut().for_each(|window| window.rule = None);
        for rule in rules {
            fresh += 1;
            let same = |window: &&mut Window| {
                (window.dimension, window.window_ns) == (rule.dimension, rule.window_ns)
            };
            match sheet.windows.iter_mut().find(same) {
                Some(window) => window.follow(at, rule.id, rule.terms, fresh),
                None => {
                    let mut window = Window::new(fresh, rule.dimension, rule.window_ns, rule.terms, at);
                    window.rule = Some(rule.id);
                    sheet.windows.push(window);
                }
            }
        }
        self.numbers = fresh;
    }

    fn holding(&self, owner: u64, group: u32, at: u64) -> Vec<Rule> {
        let account = self.account(owner);
        let mut all = Vec::new();
        for dimension in 0..self.dimensions {
            let of = |target: Target| -> Vec<Rule> {
                let holds = |rule: &&Rule| {
                    (rule.target, rule.group, rule.dimension) == (target, group, dimension)
                        && rule.in_force(at)
                };
                self.rules.iter().filter(holds).copied().collect()
            };
            let of_tier = |tier: Option<u32>| {
                let own = tier.map_or(Vec::new(), |tier| of(Target::Tier(tier)));
                if own.is_empty() { of(Target::Default) } else { own }
            };
            let own = of(Target::Owner(owner));
            if !own.is_empty() {
                all.extend(own);
                continue;
            }
            let former = account.former.filter(|&(_, ends)| at < ends);
            let before = former.map_or(Vec::new(), |(tier, _)| of_tier(tier));
            for rule in of_tier(account.tier) {
                let larger =
                    |old: &&Rule| old.window_ns == rule.window_ns && old.terms.limit > rule.terms.limit;
                all.push(before.iter().find(larger).copied().unwrap_or(rule));
            }
        }
        all
    }

    fn account(&self, owner: u64) -> &Account {
        self.accounts.iter().find(|account| account.owner == owner).expect("known")
    }

    fn account_mut(&mut self, owner: u64) -> &mut Account {
        self.accounts.iter_mut().find(|account| account.owner == owner).expect("known")
    }

    fn sheet(&self, owner: u64, group: u32) -> Option<&Sheet> {
        self.sheets.iter().find(|sheet| (sheet.owner, sheet.group) == (owner, group))
    }

    fn sheet_mut(&mut self, owner: u64, group: u32) -> &mut Sheet {
        self.sheets.iter_mut().find(|sheet| (sheet.owner, sheet.group) == (owner, group)).expect("known")
    }
}
