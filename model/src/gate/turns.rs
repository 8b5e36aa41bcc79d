//! Whose turn it is, one visit or one turn at a time.

use super::Order;

/// One of the two orders.
#[derive(Clone, Debug)]
pub enum Turns {
    /// By cost.
    Deficit(Deficit),
    /// By turns.
    Smooth(Smooth),
}

impl Turns {
    /// So many tenants without work, of weight 1.
    #[must_use]
    pub fn new(order: Order, tenants: usize) -> Self {
        match order {
            Order::Deficit(quantum) => Self::Deficit(Deficit {
                quantum: i128::from(quantum),
                tenants: vec![Visited::default(); tenants],
                turn: None,
                joined: 0,
            }),
            Order::Smooth => {
                Self::Smooth(Smooth { tenants: vec![Number::default(); tenants], turn: None, picks: 0 })
            }
        }
    }

    /// What the next job of a tenant costs, if it has one that is ready.
    pub fn set_head(&mut self, tenant: usize, head: Option<u64>) {
        match self {
            Self::Deficit(deficit) => deficit.set_head(tenant, head),
            Self::Smooth(smooth) => smooth.set_head(tenant, head.is_some()),
        }
    }

    /// Whose turn it is; it stays until it is served or its head is gone.
    pub fn pick(&mut self) -> Option<usize> {
        match self {
            Self::Deficit(deficit) => deficit.pick(),
            Self::Smooth(smooth) => smooth.pick(),
        }
    }

    /// The tenant whose turn it is was served.
    pub fn serve(&mut self, tenant: usize, next: Option<u64>) {
        match self {
            Self::Deficit(deficit) => {
                let cost = deficit.tenants[tenant].head.expect("it has the turn");
                deficit.tenants[tenant].credit -= i128::from(cost);
                deficit.set_head(tenant, next);
            }
            Self::Smooth(smooth) => {
                smooth.turn = None;
                smooth.set_head(tenant, next.is_some());
            }
        }
    }

    /// A tenant was served out of turn.
    pub fn serve_out_of_turn(&mut self, tenant: usize, cost: u64, next: Option<u64>) {
        match self {
            Self::Deficit(deficit) => deficit.adjust(tenant, -i128::from(cost)),
            Self::Smooth(smooth) => smooth.take(tenant),
        }
        self.set_head(tenant, next);
    }

    /// What was charged was not what it cost.
    pub fn settle(&mut self, tenant: usize, charged: u64, cost: u64) {
        if let Self::Deficit(deficit) = self {
            deficit.adjust(tenant, i128::from(charged) - i128::from(cost));
        }
    }

    /// Whether a tenant owes fewer than so many turns.
    #[must_use]
    pub fn may_borrow(&self, tenant: usize, turns: u32) -> bool {
        match self {
            Self::Deficit(deficit) => {
                -deficit.tenants[tenant].credit < deficit.share(tenant) * i128::from(turns)
            }
            Self::Smooth(smooth) => smooth.turns_ahead(tenant) < i128::from(turns),
        }
    }

    /// Cost that a tenant owes.
    #[must_use]
    pub fn debt(&self, tenant: usize) -> u128 {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].credit.min(0).unsigned_abs(),
            Self::Smooth(_) => 0,
        }
    }

    /// Whether a tenant has left nothing behind.
    #[must_use]
    pub fn is_settled(&self, tenant: usize) -> bool {
        match self {
            Self::Deficit(deficit) => {
                let state = &deficit.tenants[tenant];
                let matters = state.visited && !deficit.nobody();
                state.head.is_none() && deficit.tenants[tenant].credit == 0 && !matters
            }
            Self::Smooth(smooth) => !smooth.tenants[tenant].member && smooth.left(tenant) == 0,
        }
    }

    /// A tenant is somebody new from now on.
    pub fn forget(&mut self, tenant: usize) {
        self.set_head(tenant, None);
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant] = Visited::default(),
            Self::Smooth(smooth) => smooth.tenants[tenant] = Number::default(),
        }
    }

    /// Changes a weight.
    pub fn set_weight(&mut self, tenant: usize, weight: u32) {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].weight = weight,
            Self::Smooth(smooth) => smooth.tenants[tenant].weight = weight,
        }
    }

    /// A weight.
    #[must_use]
    pub fn weight(&self, tenant: usize) -> u32 {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].weight,
            Self::Smooth(smooth) => smooth.tenants[tenant].weight,
        }
    }

    /// Whether a tenant has work.
    #[must_use]
    pub fn has_work(&self, tenant: usize) -> bool {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].head.is_some(),
            Self::Smooth(smooth) => smooth.tenants[tenant].member,
        }
    }
}

#[derive(Clone, Debug)]
struct Visited {
    weight: u32,
    head: Option<u64>,
    credit: i128,
    /// Where it stands in a round.
    place: u64,
    /// In this round.
    visited: bool,
}

impl Default for Visited {
    fn default() -> Self {
        Self { weight: 1, head: None, credit: 0, place: 0, visited: false }
    }
}

/// Deficit round robin, visit by visit.
#[derive(Clone, Debug)]
pub struct Deficit {
    quantum: i128,
    tenants: Vec<Visited>,
    turn: Option<usize>,
    joined: u64,
}

impl Deficit {
    fn share(&self, tenant: usize) -> i128 {
        self.quantum * i128::from(self.tenants[tenant].weight)
    }

    fn nobody(&self) -> bool {
        self.tenants.iter().all(|tenant| tenant.head.is_none())
    }

    fn set_head(&mut self, tenant: usize, head: Option<u64>) {
        if head.is_some() && self.tenants[tenant].head.is_none() {
            if self.nobody() {
                self.end_round();
            }
            let state = &mut self.tenants[tenant];
            if !state.visited {
                self.joined += 1;
                state.place = self.joined;
            }
        }
        let state = &mut self.tenants[tenant];
        state.head = head;
        let goes_on = match head {
            Some(head) => state.credit >= i128::from(head),
            None => {
                state.credit = state.credit.min(0);
                false
            }
        };
        if self.turn == Some(tenant) && !goes_on {
            self.turn = None;
        }
    }

    fn adjust(&mut self, tenant: usize, by: i128) {
        let state = &mut self.tenants[tenant];
        state.credit += by;
        let head = state.head;
        self.set_head(tenant, head);
    }

    /// The visits that those without work have missed repay what they owe.
    fn end_round(&mut self) {
        for tenant in 0..self.tenants.len() {
            let share = self.share(tenant);
            let state = &mut self.tenants[tenant];
            if state.head.is_none() && !state.visited {
                state.credit = (state.credit + share).min(0);
            }
            state.visited = false;
        }
    }

    /// Rounds in which nobody can be served pass at once.
    fn pass_rounds(&mut self) {
        let shares: Vec<_> = (0..self.tenants.len()).map(|tenant| self.share(tenant)).collect();
        let rounds = self.tenants.iter().zip(&shares).filter_map(|(state, share)| {
            let missing = i128::from(state.head?) - state.credit;
            Some((missing + share - 1).div_euclid(*share))
        });
        let idle = (rounds.min().unwrap_or(1) - 1).max(0);
        for (state, share) in self.tenants.iter_mut().zip(shares) {
            match state.head {
                Some(_) => state.credit += idle * share,
                None => state.credit = (state.credit + idle * share).min(0),
            }
        }
    }

    fn pick(&mut self) -> Option<usize> {
        while self.turn.is_none() && !self.nobody() {
            let due = |&tenant: &usize| {
                let state: &Visited = &self.tenants[tenant];
                state.head.is_some() && !state.visited
            };
            let next = (0..self.tenants.len()).filter(due).min_by_key(|&tenant| self.tenants[tenant].place);
            let Some(next) = next else {
                self.end_round();
                self.pass_rounds();
                continue;
            };
            let share = self.share(next);
            let state = &mut self.tenants[next];
            state.visited = true;
            state.credit += share;
            if state.head.is_some_and(|head| state.credit >= i128::from(head)) {
                self.turn = Some(next);
            }
        }
        self.turn
    }
}

#[derive(Clone, Debug)]
struct Number {
    weight: u32,
    member: bool,
    /// Not a member: what it was ahead by when it left, negative.
    number: i128,
    left_at: i128,
}

impl Default for Number {
    fn default() -> Self {
        Self { weight: 1, member: false, number: 0, left_at: 0 }
    }
}

/// Smooth weighted round robin, by its definition.
#[derive(Clone, Debug)]
pub struct Smooth {
    tenants: Vec<Number>,
    turn: Option<usize>,
    picks: i128,
}

impl Smooth {
    fn members(&self) -> Vec<usize> {
        (0..self.tenants.len()).filter(|&tenant| self.tenants[tenant].member).collect()
    }

    fn mean(&self) -> i128 {
        let members = self.members();
        let sum: i128 = members.iter().map(|&tenant| self.tenants[tenant].number).sum();
        if members.is_empty() { 0 } else { sum.div_euclid(members.len() as i128) }
    }

    fn weights(&self) -> i128 {
        self.members().iter().map(|&tenant| i128::from(self.tenants[tenant].weight)).sum()
    }

    /// What is left of the debt of one that has left.
    fn left(&self, tenant: usize) -> i128 {
        let state = &self.tenants[tenant];
        (state.number + (self.picks - state.left_at) * i128::from(state.weight)).min(0)
    }

    fn set_head(&mut self, tenant: usize, work: bool) {
        if work && !self.tenants[tenant].member {
            let number = self.mean() + self.left(tenant);
            let state = &mut self.tenants[tenant];
            (state.member, state.number) = (true, number);
        } else if !work && self.tenants[tenant].member {
            self.tenants[tenant].member = false;
            let mean = self.mean();
            let state = &mut self.tenants[tenant];
            state.number = (state.number - mean).min(0);
            state.left_at = self.picks;
        }
        if !work && self.turn == Some(tenant) {
            self.turn = None;
        }
    }

    fn pick(&mut self) -> Option<usize> {
        if self.turn.is_none() {
            let after = |tenant: usize| self.tenants[tenant].number + i128::from(self.tenants[tenant].weight);
            let winner = self.members().into_iter().min_by_key(|&tenant| (-after(tenant), tenant))?;
            self.take(winner);
            self.turn = Some(winner);
        }
        self.turn
    }

    fn take(&mut self, tenant: usize) {
        let weights = self.weights();
        for member in self.members() {
            self.tenants[member].number += i128::from(self.tenants[member].weight);
        }
        self.tenants[tenant].number -= weights;
        self.picks += 1;
    }

    fn turns_ahead(&self, tenant: usize) -> i128 {
        if !self.tenants[tenant].member {
            return 0;
        }
        (self.mean() - self.tenants[tenant].number).max(0) / self.weights()
    }
}
