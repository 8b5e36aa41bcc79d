//! Whose turn it is, one visit or one turn at a time.

use super::Order;

/// What is next of a tenant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Head {
    /// Nothing.
    Empty,
    /// Something that may not start yet, or may come back.
    NotReady,
    /// A job of this cost.
    Ready(u64),
}

impl Head {
    const fn cost(self) -> Option<u64> {
        match self {
            Self::Ready(cost) => Some(cost),
            Self::Empty | Self::NotReady => None,
        }
    }
}

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
                round: 1,
            }),
            Order::Smooth => {
                Self::Smooth(Smooth { tenants: vec![Number::default(); tenants], turn: None, picks: 0 })
            }
        }
    }

    /// What is next of a tenant.
    pub fn set_head(&mut self, tenant: usize, head: Head) {
        match self {
            Self::Deficit(deficit) => deficit.set_head(tenant, head),
            Self::Smooth(smooth) => {
                if smooth.turn == Some(tenant) && head.cost().is_none() {
                    smooth.undo(tenant);
                }
                smooth.set_head(tenant, head);
            }
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
    pub fn serve(&mut self, tenant: usize, next: Head) {
        match self {
            Self::Deficit(deficit) => {
                let cost = deficit.tenants[tenant].head.cost().expect("it has the turn");
                deficit.tenants[tenant].credit -= i128::from(cost);
                deficit.set_head(tenant, next);
            }
            Self::Smooth(smooth) => {
                smooth.turn = None;
                smooth.set_head(tenant, next);
            }
        }
    }

    /// A tenant was served out of turn.
    pub fn serve_out_of_turn(&mut self, tenant: usize, cost: u64, next: Head) {
        match self {
            Self::Deficit(deficit) => deficit.adjust(tenant, -i128::from(cost)),
            Self::Smooth(smooth) => smooth.take(tenant),
        }
        self.set_head(tenant, next);
    }

    /// What a tenant was served for came to nothing.
    pub fn give_back(&mut self, tenant: usize, cost: u64) {
        match self {
            Self::Deficit(deficit) => deficit.adjust(tenant, i128::from(cost)),
            Self::Smooth(smooth) => smooth.undo(tenant),
        }
    }

    /// What was charged was not what it cost.
    pub fn settle(&mut self, tenant: usize, charged: u64, cost: u64) {
        if let Self::Deficit(deficit) = self
            && charged != cost
        {
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

    /// What serving a job of this cost is to a tenant, by its weight.
    #[must_use]
    pub fn step(&self, tenant: usize, cost: u64) -> u128 {
        let units = if matches!(self, Self::Smooth(_)) { 1 } else { cost };
        (u128::from(units) << 16).div_ceil(u128::from(self.weight(tenant)))
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
                let matters = state.last == deficit.round && !deficit.over();
                state.head == Head::Empty && deficit.tenants[tenant].credit == 0 && !matters
            }
            Self::Smooth(smooth) => smooth.tenants[tenant].head == Head::Empty && smooth.left(tenant) == 0,
        }
    }

    /// A tenant is somebody new from now on.
    pub fn forget(&mut self, tenant: usize) {
        self.set_head(tenant, Head::Empty);
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant] = Visited::default(),
            Self::Smooth(smooth) => smooth.tenants[tenant] = Number::default(),
        }
    }

    /// Changes a weight.
    pub fn set_weight(&mut self, tenant: usize, weight: u32) {
        match self {
            Self::Deficit(deficit) => {
                deficit.reckon_up(tenant);
                deficit.tenants[tenant].weight = weight;
            }
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

    /// Whether a tenant has work that is ready.
    #[must_use]
    pub fn has_work(&self, tenant: usize) -> bool {
        match self {
            Self::Deficit(deficit) => deficit.tenants[tenant].head.cost().is_some(),
            Self::Smooth(smooth) => smooth.tenants[tenant].head.cost().is_some(),
        }
    }
}

#[derive(Clone, Debug)]
struct Visited {
    weight: u32,
    head: Head,
    credit: i128,
    /// Where it stands in a round.
    place: u64,
    /// The round of its last visit.
    last: i128,
}

impl Default for Visited {
    fn default() -> Self {
        Self { weight: 1, head: Head::Empty, credit: 0, place: 0, last: 0 }
    }
}

/// Deficit round robin, visit by visit.
#[derive(Clone, Debug)]
pub struct Deficit {
    quantum: i128,
    tenants: Vec<Visited>,
    turn: Option<usize>,
    joined: u64,
    round: i128,
}

impl Deficit {
    fn share(&self, tenant: usize) -> i128 {
        self.quantum * i128::from(self.tenants[tenant].weight)
    }

    /// Whether nobody has work that is ready.
    fn nobody(&self) -> bool {
        self.tenants.iter().all(|tenant| tenant.head.cost().is_none())
    }

    /// Whether nobody waits for the rest of the round.
    fn over(&self) -> bool {
        self.tenants.iter().all(|tenant| tenant.head == Head::Empty)
    }

    fn set_head(&mut self, tenant: usize, head: Head) {
        let before = self.tenants[tenant].head;
        if before == Head::Empty && head == Head::NotReady {
            self.reckon_up(tenant);
        }
        if head.cost().is_some() && before.cost().is_none() {
            if self.over() {
                self.end_round();
            }
            let round = self.round;
            let state = &mut self.tenants[tenant];
            if state.last != round {
                self.joined += 1;
                state.place = self.joined;
                state.last = round - 1;
            }
        }
        self.tenants[tenant].head = head;
        let state = &mut self.tenants[tenant];
        let goes_on = match head {
            Head::Ready(head) => state.credit >= i128::from(head),
            Head::NotReady => {
                if before != Head::NotReady {
                    self.give_visit_back(tenant);
                }
                false
            }
            Head::Empty => {
                state.credit = state.credit.min(0);
                false
            }
        };
        if self.turn == Some(tenant) && !goes_on {
            self.turn = None;
        }
    }

    fn adjust(&mut self, tenant: usize, by: i128) {
        self.reckon_up(tenant);
        let state = &mut self.tenants[tenant];
        state.credit += by;
        let head = state.head;
        if head == Head::NotReady {
            self.give_visit_back(tenant);
        }
        self.set_head(tenant, head);
    }

    /// A visit of which nothing was spent never was.
    fn give_visit_back(&mut self, tenant: usize) {
        let (share, round) = (self.share(tenant), self.round);
        let state = &mut self.tenants[tenant];
        if state.last == round && state.credit >= share {
            (state.last, state.credit) = (state.last - 1, state.credit - share);
        }
    }

    /// What was missed by one that is not due has been reckoned with.
    fn reckon_up(&mut self, tenant: usize) {
        let round = self.round;
        let state = &mut self.tenants[tenant];
        if state.head.cost().is_none() && state.last != round {
            state.last = round - 1;
        }
    }

    /// The visits that those without work have missed repay what they owe.
    fn end_round(&mut self) {
        for tenant in 0..self.tenants.len() {
            let share = self.share(tenant);
            let state = &mut self.tenants[tenant];
            if state.head.cost().is_none() && state.last != self.round && state.credit < 0 {
                state.credit = (state.credit + share).min(0);
            }
        }
        self.round += 1;
    }

    /// Rounds in which nobody can be served pass at once.
    fn pass_rounds(&mut self) {
        let shares: Vec<_> = (0..self.tenants.len()).map(|tenant| self.share(tenant)).collect();
        let rounds = self.tenants.iter().zip(&shares).filter_map(|(state, share)| {
            let missing = i128::from(state.head.cost()?) - state.credit;
            Some((missing + share - 1).div_euclid(*share))
        });
        let idle = (rounds.min().unwrap_or(1) - 1).max(0);
        self.round += idle;
        for (state, share) in self.tenants.iter_mut().zip(shares) {
            match state.head {
                Head::Ready(_) => {
                    state.credit += idle * share;
                    state.last += idle;
                }
                _ if state.credit < 0 => state.credit = (state.credit + idle * share).min(0),
                _ => {}
            }
        }
    }

    fn pick(&mut self) -> Option<usize> {
        while self.turn.is_none() && !self.nobody() {
            let due = |&tenant: &usize| {
                let state: &Visited = &self.tenants[tenant];
                state.head.cost().is_some() && state.last < self.round
            };
            let next = (0..self.tenants.len()).filter(due).min_by_key(|&tenant| self.tenants[tenant].place);
            let Some(next) = next else {
                self.end_round();
                self.pass_rounds();
                continue;
            };
            let share = self.share(next);
            let state = &mut self.tenants[next];
            state.last += 1;
            state.credit += share;
            if state.head.cost().is_some_and(|head| state.credit >= i128::from(head)) {
                self.turn = Some(next);
            }
        }
        self.turn
    }
}

#[derive(Clone, Debug)]
struct Number {
    weight: u32,
    head: Head,
    /// Without work: what it was ahead by when it left, negative.
    number: i128,
    left_at: i128,
}

impl Default for Number {
    fn default() -> Self {
        Self { weight: 1, head: Head::Empty, number: 0, left_at: 0 }
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
        (0..self.tenants.len()).filter(|&tenant| self.tenants[tenant].head.cost().is_some()).collect()
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
        (state.number + (self.picks - state.left_at).max(0) * i128::from(state.weight)).min(0)
    }

    fn set_head(&mut self, tenant: usize, head: Head) {
        let before = self.tenants[tenant].head;
        if before == Head::Empty && head != Head::Empty {
            let number = self.mean() + self.left(tenant);
            self.tenants[tenant].number = number;
        }
        self.tenants[tenant].head = head;
        if before != Head::Empty && head == Head::Empty {
            let mean = self.mean();
            let state = &mut self.tenants[tenant];
            state.number = (state.number - mean).min(0);
            state.left_at = self.picks;
        }
        if head.cost().is_none() && self.turn == Some(tenant) {
            self.turn = None;
        }
    }

    /// A pick that a tenant won never was, as far as those are concerned that have work now.
    fn undo(&mut self, tenant: usize) {
        let members = self.members();
        let weights = self.weights();
        for member in members {
            self.tenants[member].number -= i128::from(self.tenants[member].weight);
        }
        if self.tenants[tenant].head != Head::Empty {
            self.tenants[tenant].number += weights;
        }
        self.picks -= 1;
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
        if self.tenants[tenant].head.cost().is_none() {
            return 0;
        }
        (self.mean() - self.tenants[tenant].number).max(0) / self.weights()
    }
}
