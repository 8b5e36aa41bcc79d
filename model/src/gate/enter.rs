//! Letting jobs in.

use super::turns::Head;
use super::{Cost, Gate, Job, NewJob, Running, Tenant, Told, Why};

/// What runs would be held, and whether alone.
pub(super) type Held = (u64, bool);

impl Gate {
    /// A job comes to wait; the machine told it this. Its number, and that of the one that had to go for it.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn submit(&mut self, now: u64, job: &NewJob, told: Told) -> Result<(u64, Option<u64>), Why> {
        self.advance(now);
        let admitted = self.admit(job, told);
        let (displaced, place) = admitted.inspect_err(|&why| self.counts.refused.push(why))?;
        if let Some(victim) = displaced {
            self.drop_waiting(victim);
            self.counts.refused.push(Why::Displaced);
        }
        let number = self.insert(job, place, None);
        self.tenant(place).line.push(number);
        if self.tenant(place).line.len() == 1 || !self.is_exact() {
            self.refresh(place);
        }
        self.counts.queued += 1;
        Ok((number, displaced))
    }

    fn admit(&mut self, job: &NewJob, told: Told) -> Result<(Option<u64>, usize), Why> {
        self.possible(job)?;
        let deadline = self.deadline(job);
        let too_late = |at: u64| deadline != u64::MAX && at >= deadline;
        let estimated = told.wait.filter(|_| self.rules.refuse_early);
        if job.ready_at.is_some_and(too_late)
            || estimated.is_some_and(|wait| too_late(self.now.saturating_add(wait)))
        {
            return Err(Why::WaitExceedsBudget);
        }
        let displaced = self.place_for(job)?;
        Ok((displaced, self.make_known(job.tenant).ok_or(Why::TenantTableFull)?))
    }

    /// A job comes that will not wait; whether the machine said that it does not fit or others wait. (Under newest-first
    /// it may say so as long as anybody waits: whose next is not ready any more is found out in its turn.)
    ///
    /// # Errors
    /// Why it is refused.
    pub fn try_start(&mut self, now: u64, job: &NewJob, passed_over: bool) -> Result<u64, Why> {
        self.advance(now);
        let admitted = self.admit_at_once(job, passed_over);
        let (held, place) = admitted.inspect_err(|&why| self.counts.refused.push(why))?;
        let number = self.insert(job, place, None);
        let cost = self.job(number).cost;
        self.turns.set_head(place, Head::Ready(cost));
        assert!(!self.is_exact() || self.turns.pick() == Some(place), "nobody else has work that is ready");
        self.start(number, held);
        let next = self.look(place);
        if self.is_exact() {
            self.turns.serve(place, next);
        }
        Ok(number)
    }

    fn admit_at_once(&mut self, job: &NewJob, passed_over: bool) -> Result<(Held, usize), Why> {
        self.possible(job)?;
        self.wake();
        let line = self.known(job.tenant).map_or(0, |tenant| tenant.line.len());
        let may_be_ready = passed_over && !self.is_exact() && self.waiting() > 0;
        if self.somebody_is_ready()
            || may_be_ready
            || line > 0
            || job.ready_at.is_some_and(|at| at > self.now)
        {
            return Err(Why::NoPermits);
        }
        if job.attempt && self.place_for(job)?.is_some() {
            return Err(Why::TenantQueueFull);
        }
        let held = self.room_for(job.weight, job.attempt)?;
        Ok((held, self.make_known(job.tenant).ok_or(Why::TenantTableFull)?))
    }

    fn deadline(&self, job: &NewJob) -> u64 {
        let own = job.deadline.unwrap_or(u64::MAX);
        self.rules.max_wait.map_or(own, |wait| own.min(self.now.saturating_add(wait)))
    }

    fn possible(&self, job: &NewJob) -> Result<(), Why> {
        let unknown = matches!(job.cost, Cost::Class(class) if class >= self.rules.classes);
        if self.closed.is_some() {
            Err(Why::Closed)
        } else if unknown {
            Err(Why::UnknownClass)
        } else if self.deadline(job) <= self.now {
            Err(Why::DeadlineExceeded)
        } else if job.weight > self.limit && !self.rules.run_alone {
            Err(Why::ExceedsLimit)
        } else if job.bytes > self.rules.max_queued_bytes || job.bytes > self.rules.max_bytes_per_tenant {
            Err(Why::ExceedsCapacity)
        } else {
            Ok(())
        }
    }

    /// Whether there is a place, and who has to go for it.
    fn place_for(&self, job: &NewJob) -> Result<Option<u64>, Why> {
        let Err(why) = self.place_without(job, None) else { return Ok(None) };
        let after = self.rules.newest_first_after.ok_or(why)?;
        let oldest = self.known(job.tenant).and_then(|tenant| tenant.line.first().copied()).ok_or(why)?;
        if self.now - self.job(oldest).submitted < after || self.place_without(job, Some(oldest)).is_err() {
            return Err(why);
        }
        Ok(Some(oldest))
    }

    /// Whether there is a place once this job is gone.
    fn place_without(&self, job: &NewJob, gone: Option<u64>) -> Result<(), Why> {
        let stays = |other: &Job| other.has_place() && Some(other.number) != gone;
        let own = self.known(job.tenant).map(|tenant| tenant.place);
        let (places, bytes) = self.sum(stays);
        let (own_places, own_bytes) = self.sum(|other| stays(other) && Some(other.place) == own);
        let new = u128::from(job.bytes);
        if places >= u64::from(self.rules.max_queued) {
            Err(Why::QueueFull)
        } else if bytes + new > u128::from(self.rules.max_queued_bytes) {
            Err(Why::BytesFull)
        } else if own_places >= u64::from(self.rules.max_queued_per_tenant) {
            Err(Why::TenantQueueFull)
        } else if own_bytes + new > u128::from(self.rules.max_bytes_per_tenant) {
            Err(Why::TenantBytesFull)
        } else {
            Ok(())
        }
    }

    fn insert(&mut self, job: &NewJob, place: usize, running: Option<Running>) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let (class, cost) = match job.cost {
            Cost::Units(units) => (None, units),
            Cost::Class(class) => (Some(class), self.estimated_cost(class).expect("it was admitted")),
        };
        let &NewJob { weight, bytes, attempt, .. } = job;
        let (deadline, ready_at) = (self.deadline(job), job.ready_at.unwrap_or(0));
        let submitted = self.now;
        self.idle.retain(|&(idle, _)| idle != place);
        if self.jobs.iter().all(|job| job.place != place) {
            let served_now = self.progress;
            let tenant = self.tenant(place);
            tenant.progress = tenant.progress.max(served_now);
        }
        self.jobs.push(Job {
            number,
            place,
            class,
            cost,
            weight,
            bytes,
            submitted,
            deadline,
            ready_at,
            attempt,
            passes: 0,
            running,
        });
        number
    }

    /// What a job of a class is charged: the mean, rounded to the nearest, between floor and ceiling.
    #[must_use]
    pub fn estimated_cost(&self, class: u32) -> Option<u64> {
        let &(_, floor, ceiling, mean) = self.classes.get(class as usize)?;
        let rounded = (mean + (1 << 15)).div_euclid(1 << 16);
        Some(u64::try_from(rounded).unwrap_or(u64::MAX).clamp(floor, ceiling))
    }

    /// Starts a class anew; `false` if there is none such, or the floor is above the ceiling.
    pub fn configure_class(&mut self, class: u32, initial: u64, floor: u64, ceiling: u64) -> bool {
        let known = self.classes.get_mut(class as usize).filter(|_| floor <= ceiling);
        known.map(|known| *known = (initial, floor, ceiling, i128::from(initial) << 16)).is_some()
    }

    /// Sets a tenant's weight; `false` if it is 0 or there is no room for one more.
    pub fn set_weight(&mut self, key: u64, weight: u32) -> bool {
        let Some(place) = (weight > 0).then(|| self.make_known(key)).flatten() else { return false };
        self.tenant(place).configured = true;
        self.idle.retain(|&(idle, _)| idle != place);
        self.turns.set_weight(place, weight);
        true
    }

    /// The place of a tenant, a new one if it is not known.
    fn make_known(&mut self, key: u64) -> Option<usize> {
        if let Some(tenant) = self.known(key) {
            return Some(tenant.place);
        }
        if self.tenants.len() == self.rules.max_tenants as usize {
            let overdue =
                |since: u64| self.now.checked_sub(self.rules.forgive_after).is_some_and(|then| since < then);
            let forgets = |&&(place, since): &&(usize, u64)| overdue(since) || self.turns.is_settled(place);
            let &(place, _) = self.idle.iter().find(forgets)?;
            self.release(place);
        }
        let place = if self.free.is_empty() {
            self.places_used += 1;
            self.places_used - 1
        } else {
            self.free.remove(0)
        };
        self.turns.set_weight(place, self.rules.default_weight);
        self.tenants.push(Tenant {
            key,
            place,
            configured: false,
            removed: false,
            line: Vec::new(),
            unready: false,
            progress: 0,
            started: 0,
            served: 0,
            standing: (0, Vec::new(), false),
        });
        self.idle.push((place, self.now));
        Some(place)
    }

    /// A tenant is known no more.
    pub(super) fn release(&mut self, place: usize) {
        self.tenants.retain(|tenant| tenant.place != place);
        self.idle.retain(|&(idle, _)| idle != place);
        self.turns.forget(place);
        self.free.push(place);
    }
}
