//! Turns by cost: deficit round robin, visit by visit.

use super::Head;

#[derive(Clone, Debug)]
pub(super) struct Visited {
    pub(super) weight: u32,
    pub(super) head: Head,
    pub(super) credit: i128,
    /// Where it stands in a round.
    pub(super) place: u64,
    /// The round of its last visit.
    pub(super) last: i128,
}

impl Default for Visited {
    fn default() -> Self {
        Self { weight: 1, head: Head::Empty, credit: 0, place: 0, last: 0 }
    }
}

/// Deficit round robin, visit by visit.
#[derive(Clone, Debug)]
pub struct Deficit {
    pub(super) quantum: i128,
    pub(super) tenants: Vec<Visited>,
    pub(super) turn: Option<usize>,
    pub(super) joined: u64,
    pub(super) round: i128,
}

impl Deficit {
    pub(super) fn new(quantum: u64, tenants: usize) -> Self {
        let tenants = vec![Visited::default(); tenants];
        Self { quantum: i128::from(quantum), tenants, turn: None, joined: 0, round: 1 }
    }

    pub(super) fn forget(&mut self, tenant: usize) {
        self.tenants[tenant] = Visited::default();
    }

    pub(super) fn share(&self, tenant: usize) -> i128 {
        self.quantum * i128::from(self.tenants[tenant].weight)
    }

    /// Whether nobody has work that is ready.
    pub(super) fn nobody(&self) -> bool {
        self.tenants.iter().all(|tenant| tenant.head.cost().is_none())
    }

    /// Whether nobody waits for the rest of the round.
    pub(super) fn over(&self) -> bool {
        self.tenants.iter().all(|tenant| tenant.head == Head::Empty)
    }

    pub(super) fn set_head(&mut self, tenant: usize, head: Head) {
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

    pub(super) fn adjust(&mut self, tenant: usize, by: i128) {
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
    pub(super) fn give_visit_back(&mut self, tenant: usize) {
        let (share, round) = (self.share(tenant), self.round);
        let state = &mut self.tenants[tenant];
        if state.last == round && state.credit >= share {
            (state.last, state.credit) = (state.last - 1, state.credit - share);
        }
    }

    /// What was missed by one that is not due has been reckoned with.
    pub(super) fn reckon_up(&mut self, tenant: usize) {
        let round = self.round;
        let state = &mut self.tenants[tenant];
        if state.head.cost().is_none() && state.last != round {
            state.last = round - 1;
        }
    }

    /// The visits that those without work have missed repay what they owe.
    pub(super) fn end_round(&mut self) {
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
    pub(super) fn pass_rounds(&mut self) {
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

    pub(super) fn pick(&mut self) -> Option<usize> {
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
