//! Deficit round robin as the textbook has it: a list of tenants with work, visited one after the other, a quantum a
//! visit, no round skipped. One visit costs one step, so it is only for small costs.

use std::collections::VecDeque;

/// The textbook loop over queues of job costs.
#[derive(Clone, Debug)]
pub struct TextbookDrr {
    quanta: Vec<u64>,
    queues: Vec<VecDeque<u64>>,
    deficits: Vec<u64>,
    /// Tenants with work in visiting order; the front is being visited.
    ring: VecDeque<usize>,
    /// Whether the front has been granted its quantum in this visit.
    granted: bool,
}

impl TextbookDrr {
    /// Idle tenants with these quanta.
    #[must_use]
    pub fn new(quanta: &[u64]) -> Self {
        Self {
            quanta: quanta.to_vec(),
            queues: vec![VecDeque::new(); quanta.len()],
            deficits: vec![0; quanta.len()],
            ring: VecDeque::new(),
            granted: false,
        }
    }

    /// A job arrives. All jobs must arrive before the first is served: where a later one joins the ring is a choice.
    pub fn enqueue(&mut self, tenant: usize, cost: u64) {
        self.queues[tenant].push_back(cost);
        if self.queues[tenant].len() == 1 {
            self.ring.push_back(tenant);
        }
    }

    /// Serves the next job: its tenant and cost.
    pub fn serve(&mut self) -> Option<(usize, u64)> {
        loop {
            let tenant = *self.ring.front()?;
            if !self.granted {
                self.deficits[tenant] += self.quanta[tenant];
                self.granted = true;
            }
            let head = *self.queues[tenant].front()?;
            if head <= self.deficits[tenant] {
                self.queues[tenant].pop_front();
                self.deficits[tenant] -= head;
                if self.queues[tenant].is_empty() {
                    self.deficits[tenant] = 0;
                    self.ring.pop_front();
                    self.granted = false;
                }
                return Some((tenant, head));
            }
            self.ring.rotate_left(1);
            self.granted = false;
        }
    }
}
