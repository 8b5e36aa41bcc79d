//! A scheduler with the queues in front of it.

use std::collections::VecDeque;

use tollgate::fair::{Drr, TenantId};
use tollgate::slots::Heap;

pub(crate) fn id(index: usize) -> TenantId {
    TenantId::new(u32::try_from(index).unwrap())
}

/// Queues in front of a scheduler: what every caller has to keep.
pub(crate) struct Queues {
    pub(crate) drr: Drr<Heap>,
    pub(crate) jobs: Vec<VecDeque<u64>>,
}

impl Queues {
    pub(crate) fn new(quantum: u64, weights: &[u32]) -> Self {
        let mut drr = Drr::new(u32::try_from(weights.len()).unwrap(), quantum).unwrap();
        for (i, &weight) in weights.iter().enumerate() {
            drr.set_weight(id(i), weight).unwrap();
        }
        Self { drr, jobs: vec![VecDeque::new(); weights.len()] }
    }

    pub(crate) fn arrive(&mut self, tenant: usize, cost: u64) {
        self.jobs[tenant].push_back(cost);
        if self.jobs[tenant].len() == 1 {
            self.drr.set_head(id(tenant), Some(cost)).unwrap();
        }
    }

    pub(crate) fn serve(&mut self) -> Option<(usize, u64)> {
        let tenant = self.drr.pick()?.index();
        let cost = self.jobs[tenant].pop_front().unwrap();
        self.drr.serve(self.jobs[tenant].front().copied()).unwrap();
        self.drr.check_invariants();
        Some((tenant, cost))
    }

    /// The job at the head leaves without being served.
    pub(crate) fn cancel_head(&mut self, tenant: usize) {
        self.jobs[tenant].pop_front();
        self.drr.set_head(id(tenant), self.jobs[tenant].front().copied()).unwrap();
        self.drr.check_invariants();
    }

    pub(crate) fn backlogged(&self) -> Vec<bool> {
        self.jobs.iter().map(|jobs| !jobs.is_empty()).collect()
    }

    pub(crate) fn has_work(&self) -> bool {
        self.backlogged().contains(&true)
    }
}
