//! Turns by number: smooth weighted round robin, by its definition.

use super::Head;

#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) weight: u32,
    pub(super) head: Head,
    /// Without work: what it was ahead by when it left, negative.
    pub(super) number: i128,
    pub(super) left_at: i128,
}

impl Default for Number {
    fn default() -> Self {
        Self { weight: 1, head: Head::Empty, number: 0, left_at: 0 }
    }
}

/// Smooth weighted round robin, by its definition.
#[derive(Clone, Debug)]
pub struct Smooth {
    pub(super) tenants: Vec<Number>,
    pub(super) turn: Option<usize>,
    pub(super) picks: i128,
}

impl Smooth {
    pub(super) fn new(tenants: usize) -> Self {
        Self { tenants: vec![Number::default(); tenants], turn: None, picks: 0 }
    }

    pub(super) fn forget(&mut self, tenant: usize) {
        self.tenants[tenant] = Number::default();
    }

    pub(super) fn members(&self) -> Vec<usize> {
        (0..self.tenants.len()).filter(|&tenant| self.tenants[tenant].head.cost().is_some()).collect()
    }

    pub(super) fn mean(&self) -> i128 {
        let members = self.members();
        let sum: i128 = members.iter().map(|&tenant| self.tenants[tenant].number).sum();
        if members.is_empty() { 0 } else { sum.div_euclid(members.len() as i128) }
    }

    pub(super) fn weights(&self) -> i128 {
        self.members().iter().map(|&tenant| i128::from(self.tenants[tenant].weight)).sum()
    }

    /// What is left of the debt of one that has left.
    pub(super) fn left(&self, tenant: usize) -> i128 {
        let state = &self.tenants[tenant];
        (state.number + (self.picks - state.left_at).max(0) * i128::from(state.weight)).min(0)
    }

    pub(super) fn set_head(&mut self, tenant: usize, head: Head) {
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
    pub(super) fn undo(&mut self, tenant: usize) {
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

    pub(super) fn pick(&mut self) -> Option<usize> {
        if self.turn.is_none() {
            let after = |tenant: usize| self.tenants[tenant].number + i128::from(self.tenants[tenant].weight);
            let winner = self.members().into_iter().min_by_key(|&tenant| (-after(tenant), tenant))?;
            self.take(winner);
            self.turn = Some(winner);
        }
        self.turn
    }

    pub(super) fn take(&mut self, tenant: usize) {
        let weights = self.weights();
        for member in self.members() {
            self.tenants[member].number += i128::from(self.tenants[member].weight);
        }
        self.tenants[tenant].number -= weights;
        self.picks += 1;
    }

    pub(super) fn turns_ahead(&self, tenant: usize) -> i128 {
        if self.tenants[tenant].head.cost().is_none() {
            return 0;
        }
        (self.mean() - self.tenants[tenant].number).max(0) / self.weights()
    }
}
