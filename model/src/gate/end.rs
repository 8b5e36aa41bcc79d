//! How jobs end, or go back.

use super::turns::Head;
use super::{Ending, Gate, Why};

impl Gate {
    /// A started job has ended; `false` if it is none.
    pub fn complete(&mut self, now: u64, number: u64, ending: Ending) -> bool {
        self.advance(now);
        let started = self.find(number).and_then(|job| job.running.map(|running| (job.clone(), running)));
        let Some((job, running)) = started else { return self.stale() };
        let ran = self.now - running.since;
        let cost = match ending {
            Ending::Ran(measured) => {
                self.learn_service(ran);
                self.starts.remove(0);
                if let (Some(class), Some(measured)) = (job.class, measured) {
                    self.learn_cost(class, measured);
                }
                self.counts.completed += 1;
                measured.unwrap_or(job.cost)
            }
            Ending::NotStarted => {
                self.starts.pop();
                self.counts.not_started += 1;
                0
            }
        };
        if ending == Ending::NotStarted {
            self.give_back(job.place, job.cost);
        } else {
            self.charge(job.place, job.cost, cost);
        }
        self.jobs.retain(|job| job.number != number);
        if job.attempt {
            self.look_again(job.place);
        }
        self.settle(job.place);
        true
    }

    /// An attempt has passed; `false` if it is none.
    pub fn confirm(&mut self, now: u64, number: u64) -> bool {
        self.advance(now);
        if !self.is_attempt(number) {
            return self.stale();
        }
        let job = self.job_mut(number);
        job.attempt = false;
        let place = job.place;
        self.look_again(place);
        true
    }

    /// An attempt goes back; `None` if it is none, why if it is over.
    pub fn retry(&mut self, now: u64, number: u64, ready_at: u64) -> Option<Result<(), Why>> {
        self.advance(now);
        if !self.is_attempt(number) {
            self.stale();
            return None;
        }
        let now = self.now;
        let job = self.job_mut(number);
        (job.running, job.ready_at) = (None, ready_at);
        let (place, cost, deadline) = (job.place, job.cost, job.deadline);
        self.starts.pop();
        if ready_at > now {
            self.give_back(place, cost);
        } else {
            self.tenant(place).served -= u128::from(cost);
        }
        let over = if self.closed == Some(true) {
            Some(Why::Closed)
        } else if self.tenant(place).removed {
            Some(Why::TenantRemoved)
        } else if deadline <= now {
            Some(Why::DeadlineExceeded)
        } else if deadline < u64::MAX && ready_at >= deadline {
            Some(Why::WaitExceedsBudget)
        } else {
            None
        };
        let Some(why) = over else {
            self.tenant(place).line.insert(0, number);
            self.refresh(place);
            self.counts.retried += 1;
            return Some(Ok(()));
        };
        self.jobs.retain(|job| job.number != number);
        self.look_again(place);
        self.settle(place);
        self.counts.refused.push(why);
        Some(Err(why))
    }

    /// Nobody wants it any more: whether it waited, or runs on; `None` if it is over.
    pub fn cancel(&mut self, now: u64, number: u64) -> Option<bool> {
        self.advance(now);
        match self.find(number).map(|job| job.running.is_none()) {
            None => {
                self.stale();
                None
            }
            Some(true) => {
                self.drop_waiting(number);
                self.counts.cancelled += 1;
                Some(true)
            }
            Some(false) => Some(false),
        }
    }

    /// A tenant goes; `false` if there is none with this key.
    pub fn remove_tenant(&mut self, key: u64) -> bool {
        let Some(place) = self.known(key).map(|tenant| tenant.place) else { return false };
        let tenant = self.tenant(place);
        (tenant.removed, tenant.unready) = (true, false);
        self.idle.retain(|&(idle, _)| idle != place);
        self.turns.set_head(place, Head::Empty);
        self.settle(place);
        true
    }

    /// Nobody new; those who wait are refused, if immediately.
    pub fn close(&mut self, immediately: bool) {
        self.closed = Some(immediately || self.closed == Some(true));
    }

    fn stale(&mut self) -> bool {
        self.counts.stale += 1;
        false
    }

    fn is_attempt(&self, number: u64) -> bool {
        self.find(number).is_some_and(|job| job.attempt && job.running.is_some())
    }

    /// A tenant of which nothing waits has an attempt less that may come back.
    fn look_again(&mut self, place: usize) {
        if self.tenant(place).line.is_empty() {
            self.refresh(place);
        }
    }

    /// What was served at the start came to nothing.
    fn give_back(&mut self, place: usize, cost: u64) {
        let step = self.turns.step(place, cost);
        self.turns.give_back(place, cost);
        let tenant = self.tenant(place);
        tenant.served -= u128::from(cost);
        tenant.progress = tenant.progress.saturating_sub(step);
    }

    /// What was charged at the start was not what it cost.
    fn charge(&mut self, place: usize, charged: u64, cost: u64) {
        self.turns.settle(place, charged, cost);
        let tenant = self.tenant(place);
        tenant.served = tenant.served + u128::from(cost) - u128::from(charged);
    }

    /// The mean moves towards what was measured by an eighth of the difference.
    fn learn_service(&mut self, ran: u64) {
        let mean = self.mean.unwrap_or(ran);
        self.mean = Some(if ran >= mean { mean + (ran - mean) / 8 } else { mean - (mean - ran) / 8 });
    }

    /// The mean moves towards what was measured by so many millionths of the difference.
    fn learn_cost(&mut self, class: u32, cost: u64) {
        let part = i128::from(self.rules.cost_smoothing_ppm);
        let mean = &mut self.classes[class as usize].3;
        *mean += ((i128::from(cost) << 16) - *mean) * part / 1_000_000;
    }

    /// A tenant without jobs is idle or gone, unless it is configured.
    pub(super) fn settle(&mut self, place: usize) {
        if self.jobs.iter().any(|job| job.place == place) {
            return;
        }
        let now = self.now;
        let tenant = self.tenant(place);
        if tenant.removed {
            self.release(place);
        } else if !tenant.configured {
            self.idle.push((place, now));
        }
    }
}
