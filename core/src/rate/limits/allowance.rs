//! [`Allowance`]: a quota that nothing refills.

use crate::error::{Reason, Refused};
use crate::num;
use crate::rate::rules::Terms;

/// What is used of it. All refusals are final: time does not help, an operator may.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::rate) struct Allowance {
    limit: u64,
    max_debt: u64,
    used: u128,
}

impl Allowance {
    pub(in crate::rate) fn new(terms: Terms) -> Self {
        Self { limit: terms.limit, max_debt: num::narrow(terms.max_debt()), used: 0 }
    }

    pub(in crate::rate) fn set_terms(&mut self, terms: Terms) {
        *self = Self { used: self.used, ..Self::new(terms) };
    }

    pub(in crate::rate) fn peek(&self, cost: u64) -> Result<(), Refused> {
        let most = self.limit.saturating_add(self.max_debt);
        if cost > most {
            Err(Refused::because(Reason::ExceedsCapacity))
        } else if self.is_owing() || self.used.saturating_add(num::widen(cost)) > num::widen(most) {
            Err(Refused::because(Reason::QuotaExhausted))
        } else {
            Ok(())
        }
    }

    pub(in crate::rate) fn charge(&mut self, cost: u64) {
        self.used = self.used.saturating_add(num::widen(cost));
    }

    pub(in crate::rate) fn refund(&mut self, cost: u64) {
        self.used = self.used.saturating_sub(num::widen(cost));
    }

    pub(super) const fn used(&self) -> u128 {
        self.used
    }

    pub(in crate::rate) fn remaining(&self) -> u64 {
        num::narrow(num::widen(self.limit).saturating_sub(self.used))
    }

    pub(in crate::rate) fn grantable(&self) -> u64 {
        let most = num::widen(self.limit).saturating_add(num::widen(self.max_debt));
        if self.is_owing() { 0 } else { num::narrow(most.saturating_sub(self.used)) }
    }

    fn is_owing(&self) -> bool {
        self.used > num::widen(self.limit)
    }
}
