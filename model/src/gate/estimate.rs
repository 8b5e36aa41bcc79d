//! What a newcomer is told: the documented formulas, over all tenants and all slots.

use std::collections::BTreeMap;

use super::{Cost, Gate, NewJob, Order, Told};

/// Jobs, work and share of one tenant or of several.
type Load = (u128, u128, u128);

impl Gate {
    /// What a newcomer is to be told.
    #[must_use]
    pub fn told(&self, now: u64, job: &NewJob) -> Told {
        let now = self.now.max(now);
        let position = self.position(job);
        let not_ready = job.ready_at.map_or(0, |at| at.saturating_sub(now));
        Told { position, wait: self.wait(now, job, position).map(|wait| wait.max(not_ready)) }
    }

    /// The quantum of a weight of 1, and what a cost adds to the work of its tenant: both in units of a power of two in
    /// which the quantum has at most 20 bits, work rounded up and at most 2³¹ a job.
    fn work(&self, cost: u64) -> (u128, u128) {
        let Order::Deficit(quantum) = self.rules.order else { return (1, 1) };
        let unit = 1_u64 << (u64::BITS - quantum.leading_zeros()).saturating_sub(20);
        (u128::from(quantum / unit), u128::from(cost.div_ceil(unit).min(1 << 31)))
    }

    fn load(&self, place: Option<usize>, weight: u32) -> Load {
        let waiting = self.jobs.iter().filter(|job| job.running.is_none() && Some(job.place) == place);
        let work = waiting.map(|job| self.work(job.cost).1);
        let (jobs, work) = work.fold((0, 0), |(jobs, sum), work| (jobs + 1, sum + work));
        (jobs, work, self.work(0).0 * u128::from(weight))
    }

    /// In the rounds until it is served, each level of the others is served its share of them.
    fn position(&self, job: &NewJob) -> u64 {
        let own = self.known(job.tenant).map(|tenant| tenant.place);
        let weight = own.map_or(self.rules.default_weight, |place| self.turns.weight(place));
        let (own_jobs, own_work, own_share) = self.load(own, weight);
        let cost = match job.cost {
            Cost::Units(units) => units,
            Cost::Class(class) => self.estimated_cost(class).unwrap_or(0),
        };
        let rounds = (own_work + self.work(cost).1).div_ceil(own_share).max(1);
        let mut levels: BTreeMap<u32, Load> = BTreeMap::new();
        for tenant in self.tenants.iter().filter(|tenant| Some(tenant.place) != own) {
            let (jobs, work, share) = self.load(Some(tenant.place), self.turns.weight(tenant.place));
            let bits = |value: u128| u128::BITS - value.leading_zeros();
            let level = levels.entry(bits(work).saturating_sub(bits(share)).min(15)).or_default();
            *level = (level.0 + jobs, level.1 + work, level.2 + share * u128::from(jobs > 0));
        }
        let served = levels.values().map(|&(jobs, work, share)| {
            let reach = share * rounds;
            if work <= reach { jobs } else { (jobs * reach).div_ceil(work) }
        });
        u64::try_from(own_jobs + served.sum::<u128>()).expect("few jobs")
    }

    /// How many like it fit on top of what runs, and in all.
    fn room(&self, job: &NewJob) -> (u64, u64) {
        let limit = u128::from(self.limit);
        let fit = |room: u128| match job.weight {
            0 => u64::MAX,
            weight => u64::try_from(room / u128::from(weight)).expect("no more than a limit"),
        };
        let mut free = limit.checked_sub(self.in_use()).map_or(0, fit);
        let mut total = fit(limit);
        if total == 0 && self.rules.run_alone {
            (free, total) = (u64::from(self.active() == 0), 1);
        }
        let mut bound = |most: u32, taken: u64| {
            free = free.min(u64::from(most).saturating_sub(taken));
            total = total.min(u64::from(most));
        };
        bound(self.rules.max_active, self.active());
        if job.attempt {
            bound(self.rules.max_attempts, self.attempts());
        }
        (free, total)
    }

    /// Slots come free in the order in which they were taken, over and over.
    fn wait(&self, now: u64, job: &NewJob, position: u64) -> Option<u64> {
        let (free, total) = self.room(job);
        if position < free {
            return Some(0);
        }
        let service = self.mean?;
        let running = self.starts.len() as u64;
        let slots = (running + free).min(total);
        if slots == 0 {
            return None;
        }
        // Those that end without making room, where there are more than fit.
        let surplus = running + free - slots;
        let number = position - free;
        let slot = usize::try_from(surplus + number % slots).expect("few slots");
        let since = self.starts.get(slot).copied().unwrap_or(now);
        let first = since.saturating_add(service).saturating_sub(now);
        Some(first.saturating_add((number / slots).saturating_mul(service)))
    }
}
