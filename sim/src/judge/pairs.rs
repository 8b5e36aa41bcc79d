//! Fairness between every two tenants, over every interval in which both have work, to the unit.
//!
//! **Problem.** "Each gets its share in the long run" can hide long runs of one tenant, credit that an idle tenant saved
//! up, or a share that is off by a little for ever. The promise of deficit round robin is sharper, and checkable.
//!
//! **Derivation.** Let S be the cost of a tenant's jobs started since any fixed instant, w its weight, L the largest
//! cost it has submitted, q the quantum. For every interval throughout which tenants i and j both have a job waiting
//! (Shreedhar & Varghese, 1995, for weights; the bound is sharp, so there is no slack in it):
//!
//! ```text
//! |ΔS_i / w_i − ΔS_j / w_j| ≤ q + L_i / w_i + L_j / w_j
//! ```
//!
//! With `D = S_i·w_j − S_j·w_i`, the largest |ΔD| over all intervals that end now is the distance of D from its lowest
//! and its highest value since both have had work. So it is enough to keep these two for each pair. Everything is
//! multiplied by `w_i·w_j`, so it is exact: weights are below 2^32 and the sum of costs of a run below 2^94, so D stays within
//! an `i128`.
//!
//! **Work** O(tenants) for each start, and for each tenant that begins to have work. **Memory** O(tenants²).

use core::fmt;

use crate::num;

/// A pair of tenants that were not served alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Unfair {
    tenants: (usize, usize),
    weights: (i128, i128),
    found: i128,
    allowed: i128,
}

impl fmt::Display for Unfair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((i, j), (w_i, w_j)) = (self.tenants, self.weights);
        write!(
            f,
            "tenants {i} and {j} (weights {w_i}, {w_j}) differ by {} in served cost · the other's weight, \
             allowed is up to {}",
            self.found, self.allowed
        )
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Served {
    weight: i128,
    /// Cost of the jobs started.
    cost: i128,
    /// The largest cost submitted.
    largest: i128,
    waiting: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Pairs {
    quantum: i128,
    tenants: Vec<Served>,
    /// Lowest and highest D of the pair (i, j), i < j, since both have had work; at i · tenants + j.
    extremes: Vec<(i128, i128)>,
}

impl Pairs {
    pub(crate) fn new(quantum: u64, weights: &[u32]) -> Self {
        let served = |&weight: &u32| Served { weight: weight.into(), ..Served::default() };
        Self {
            quantum: quantum.into(),
            tenants: weights.iter().map(served).collect(),
            extremes: vec![(0, 0); weights.len() * weights.len()],
        }
    }

    /// A tenant has one more job waiting.
    pub(crate) fn joined(&mut self, tenant: u32, cost: u64) {
        let i = num::index(tenant);
        let own = &mut self.tenants[i];
        own.largest = own.largest.max(cost.into());
        own.waiting += 1;
        if own.waiting > 1 {
            return;
        }
        for j in 0..self.tenants.len() {
            if j != i {
                let (at, difference) = self.pair(i, j);
                self.extremes[at] = (difference, difference);
            }
        }
    }

    /// A job waits no more and was not started.
    pub(crate) fn left(&mut self, tenant: u32) {
        let own = &mut self.tenants[num::index(tenant)];
        own.waiting = own.waiting.saturating_sub(1);
    }

    /// A job of a tenant was started; answers the pair that is worst off, if it is worse than allowed.
    pub(crate) fn served(&mut self, tenant: u32, cost: u64) -> Option<Unfair> {
        let i = num::index(tenant);
        self.tenants[i].cost += i128::from(cost);
        let mut worst: Option<Unfair> = None;
        for j in 0..self.tenants.len() {
            if j == i || self.tenants[j].waiting == 0 {
                continue;
            }
            let (at, difference) = self.pair(i, j);
            let (low, high) = self.extremes[at];
            let (low, high) = (low.min(difference), high.max(difference));
            self.extremes[at] = (low, high);
            let found = (difference - low).max(high - difference);
            let (own, other) = (self.tenants[i], self.tenants[j]);
            // Saturating is exact here: no difference that an `i128` can hold is above what it cannot.
            let allowed = (own.weight * other.weight)
                .saturating_mul(self.quantum)
                .saturating_add(own.largest * other.weight)
                .saturating_add(other.largest * own.weight);
            if found > allowed && worst.is_none_or(|worst| found - allowed > worst.found - worst.allowed) {
                let weights = (own.weight, other.weight);
                worst = Some(Unfair { tenants: (i, j), weights, found, allowed });
            }
        }
        self.left(tenant);
        worst
    }

    /// Where a pair is kept, and its D.
    fn pair(&self, i: usize, j: usize) -> (usize, i128) {
        let (i, j) = (i.min(j), i.max(j));
        let (first, second) = (self.tenants[i], self.tenants[j]);
        (i * self.tenants.len() + j, first.cost * second.weight - second.cost * first.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves what the transcript says, each letter a tenant, everybody having plenty of work of cost 1.
    fn transcript(quantum: u64, weights: &[u32], order: &[u32]) -> Option<Unfair> {
        let mut pairs = Pairs::new(quantum, weights);
        for tenant in 0..num::index_u32(weights.len()) {
            (0..100).for_each(|_| pairs.joined(tenant, 1));
        }
        order.iter().find_map(|&tenant| pairs.served(tenant, 1))
    }

    #[test]
    fn a_transcript_that_takes_turns_is_fair() {
        let turns: Vec<u32> = (0..90).map(|n| n % 2).collect();
        assert_eq!(transcript(1, &[1, 1], &turns), None);
        let weighted: Vec<u32> = (0..90).map(|n| u32::from(n % 4 == 3)).collect();
        assert_eq!(transcript(1, &[3, 1], &weighted), None);
    }

    #[test]
    fn one_job_more_than_the_bound_allows_is_unfair() {
        assert_eq!(transcript(1, &[1, 1], &[0, 0, 0]), None);
        let unfair = transcript(1, &[1, 1], &[0, 0, 0, 0]).unwrap();
        assert_eq!((unfair.found, unfair.allowed), (4, 3));
    }

    #[test]
    fn an_interval_in_the_middle_counts_too() {
        // Over the whole transcript the difference is 0, within it 4.
        assert!(transcript(1, &[1, 1], &[1, 1, 0, 0, 0, 0]).is_some());
    }

    #[test]
    fn equal_turns_at_weights_of_3_to_1_are_unfair() {
        let turns: Vec<u32> = (0..90).map(|n| n % 2).collect();
        assert!(transcript(1, &[3, 1], &turns).is_some());
    }

    #[test]
    fn what_was_served_while_the_other_had_no_work_does_not_count() {
        let mut pairs = Pairs::new(1, &[1, 1]);
        for _ in 0..50 {
            pairs.joined(0, 1);
            assert_eq!(pairs.served(0, 1), None);
        }
        pairs.joined(0, 1);
        pairs.joined(1, 1);
        assert_eq!(pairs.served(0, 1), None);
    }

    #[test]
    fn the_largest_costs_and_weights_do_not_overflow() {
        let mut pairs = Pairs::new(u64::MAX, &[u32::MAX, u32::MAX]);
        pairs.joined(0, u64::MAX);
        pairs.joined(1, u64::MAX);
        assert_eq!(pairs.served(0, u64::MAX), None);
    }
}
