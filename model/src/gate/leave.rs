//! Letting jobs out of the queue.

use super::enter::Held;
use super::turns::Head;
use super::{Gate, Job, Running, Said, Tenant, Why};

/// Jobs of one queue, and tenants, that are looked at to pass a blocked one.
const LOOK_AHEAD: usize = 64;

impl Gate {
    /// The machine was polled and said this: does it, too, or says what it should have been.
    ///
    /// # Errors
    /// In words, what was expected.
    pub fn poll(&mut self, now: u64, said: Option<Said>) -> Result<(), String> {
        self.advance(now);
        if let Some(Said::Started(number, waited) | Said::Refused(number, waited, _)) = said {
            let waits = self.find(number).filter(|job| job.running.is_none());
            let since = waits.map(|job| self.now - job.submitted);
            if since != Some(waited) {
                return Err(format!("{said:?}, but it has waited {since:?}"));
            }
        }
        match self.owed() {
            Some((numbers, why)) => self.refuse_one_of(&numbers, why, said),
            None if self.is_exact() => self.turn(said),
            None => self.any_turn(said),
        }
    }

    /// Those of whom one has to be refused before anybody starts.
    fn owed(&self) -> Option<(Vec<u64>, Why)> {
        let waiting = self.jobs.iter().filter(|job| job.running.is_none());
        let expired: Vec<_> =
            waiting.filter(|job| job.deadline <= self.now && job.deadline != u64::MAX).collect();
        if let Some(first) = expired.iter().map(|job| job.deadline).min() {
            let due = expired.iter().filter(|job| job.deadline == first);
            return Some((due.map(|job| job.number).collect(), Why::DeadlineExceeded));
        }
        let heads = |removed_only: bool| -> Vec<u64> {
            let tenants = self.tenants.iter().filter(|tenant| tenant.removed || !removed_only);
            tenants.filter_map(|tenant| tenant.line.first().copied()).collect()
        };
        let removed = heads(true);
        if !removed.is_empty() {
            return Some((removed, Why::TenantRemoved));
        }
        let waiting = heads(false);
        (self.closed == Some(true) && !waiting.is_empty()).then_some((waiting, Why::Closed))
    }

    fn refuse_one_of(&mut self, numbers: &[u64], why: Why, said: Option<Said>) -> Result<(), String> {
        match said {
            Some(Said::Refused(number, _, reason)) if reason == why && numbers.contains(&number) => {
                self.drop_waiting(number);
                self.counts.refused.push(why);
                Ok(())
            }
            _ => Err(format!("{said:?}, but one of {numbers:?} is to be refused: {why:?}")),
        }
    }

    /// Tells the turns of those whose next job has become ready, in that order.
    pub(super) fn wake(&mut self) {
        let unready = self.tenants.iter().filter(|tenant| tenant.unready);
        let ready = unready.filter_map(|tenant| {
            let ready_at = self.job(self.ready(tenant)?).ready_at;
            Some((ready_at, tenant.progress, tenant.place))
        });
        let mut ready: Vec<_> = ready.collect();
        ready.sort_unstable();
        for (_, _, place) in ready {
            self.refresh(place);
        }
    }

    /// Tells the turns what a tenant's next job is.
    pub(super) fn refresh(&mut self, place: usize) {
        let head = self.look(place);
        self.turns.set_head(place, head);
    }

    /// What is next of a tenant.
    pub(super) fn look(&mut self, place: usize) -> Head {
        let Some(tenant) = self.tenants.iter().find(|tenant| tenant.place == place) else {
            return Head::Empty;
        };
        let (ready, waits, removed) = (self.ready(tenant), !tenant.line.is_empty(), tenant.removed);
        let in_flight =
            self.jobs.iter().any(|job| job.place == place && job.attempt && job.running.is_some());
        self.tenant(place).unready = ready.is_none() && !removed && waits;
        match ready {
            Some(number) => Head::Ready(self.job(number).cost),
            None if !removed && (waits || in_flight) => Head::NotReady,
            None => Head::Empty,
        }
    }

    /// The job whose turn it is, or one that may pass it.
    fn turn(&mut self, said: Option<Said>) -> Result<(), String> {
        self.wake();
        let Some(place) = self.turns.pick() else {
            return said.map_or(Ok(()), |said| Err(format!("{said:?}, but nobody is ready")));
        };
        let number = self.tenant(place).line[0];
        let job = self.job(number).clone();
        match self.room_for(job.weight, job.attempt) {
            Ok(held) => self.start_in_turn(place, number, held, said),
            Err(Why::NoPermits) => self.pass(place, number, said),
            Err(why) => self.refuse_one_of(&[number], why, said),
        }
    }

    fn start_in_turn(
        &mut self,
        place: usize,
        number: u64,
        held: Held,
        said: Option<Said>,
    ) -> Result<(), String> {
        if self.stands(place, number) {
            return self.refuse_one_of(&[number], Why::QueueDelay, said);
        }
        match said {
            Some(Said::Started(started, _)) if started == number => {
                self.take_out(number);
                self.start(number, held);
                let next = self.look(place);
                if self.is_exact() {
                    self.turns.serve(place, next);
                }
                Ok(())
            }
            _ => Err(format!("{said:?}, but {number} has its turn and fits")),
        }
    }

    fn pass(&mut self, turn: usize, head: u64, said: Option<Said>) -> Result<(), String> {
        let may: Vec<u64> = self.may_pass(turn, head);
        let Some(said) = said else {
            return if may.is_empty() {
                Ok(())
            } else {
                Err(format!("nothing, but {may:?} may pass {head}"))
            };
        };
        let Said::Started(number, _) = said else { return Err(format!("{said:?}, but {head} has its turn")) };
        if !may.contains(&number) {
            return Err(format!("{said:?}, but only {may:?} may pass {head}"));
        }
        self.job_mut(head).passes += 1;
        let job = self.job(number).clone();
        let held = self.room_for(job.weight, job.attempt).expect("it may pass");
        self.take_out(number);
        self.start(number, held);
        let next = self.look(job.place);
        self.turns.serve_out_of_turn(job.place, job.cost, next);
        self.counts.passed += 1;
        Ok(())
    }

    /// Those that may start before `head`, whose turn it is and which does not fit.
    fn may_pass(&self, turn: usize, head: u64) -> Vec<u64> {
        let blocked = self.job(head);
        let Some(max_passes) = self.rules.max_passes else { return Vec::new() };
        let reserved = self.rules.reserve_after.is_some_and(|after| self.now - blocked.submitted >= after);
        if blocked.passes >= max_passes || reserved {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        for tenant in self.tenants.iter().filter(|tenant| self.turns.may_borrow(tenant.place, max_passes)) {
            if tenant.place == turn {
                candidates.extend(tenant.line.iter().skip(1).take(LOOK_AHEAD));
            } else if self.turns.has_work(tenant.place) {
                candidates.extend(tenant.line.first());
            }
        }
        candidates.retain(|&number| {
            let job = self.job(number);
            let fits = job.weight <= self.limit && self.room_for(job.weight, job.attempt).is_ok();
            job.ready_at <= self.now && fits
        });
        candidates
    }

    /// Any tenant's next job, if it fits.
    fn any_turn(&mut self, said: Option<Said>) -> Result<(), String> {
        let ready: Vec<u64> = self.tenants.iter().filter_map(|tenant| self.ready(tenant)).collect();
        let room = |number: u64| {
            let job = self.job(number);
            self.room_for(job.weight, job.attempt)
        };
        let (Some(Said::Started(number, _)) | Some(Said::Refused(number, _, _))) = said else {
            let blocked = ready.is_empty() || ready.iter().any(|&number| room(number) == Err(Why::NoPermits));
            return if blocked { Ok(()) } else { Err(format!("nothing, but {ready:?} are ready and fit")) };
        };
        if !ready.contains(&number) {
            return Err(format!("{said:?}, but only {ready:?} are ready"));
        }
        let place = self.job(number).place;
        match room(number) {
            Ok(held) => self.start_in_turn(place, number, held, said),
            Err(why @ Why::ExceedsLimit) => self.refuse_one_of(&[number], why, said),
            Err(why) => Err(format!("{said:?}, but {why:?}")),
        }
    }

    /// Whether a job whose turn has come is refused because its queue stands.
    fn stands(&mut self, place: usize, number: u64) -> bool {
        let Some((target, interval)) = self.rules.codel else { return false };
        let (now, waited) = (self.now, self.now - self.job(number).submitted);
        let tenant = self.tenant(place);
        let last = tenant.line.len() == 1;
        let (ends, waits, stands) = &mut tenant.standing;
        let all_long = |waits: &[u64]| !waits.is_empty() && waits.iter().all(|&wait| wait > target);
        if now >= *ends {
            // An interval that is long over says nothing.
            *stands = all_long(waits) && now < ends.saturating_add(interval);
            *ends = now.saturating_add(interval);
            waits.clear();
        }
        waits.push(waited);
        *stands &= all_long(waits);
        *stands && waited > target.saturating_mul(2) && !last
    }

    /// What a job would hold if it started now.
    pub(super) fn room_for(&self, weight: u64, attempt: bool) -> Result<Held, Why> {
        let running: Vec<Running> = self.jobs.iter().filter_map(|job| job.running).collect();
        let attempts_full = attempt && self.attempts() >= u64::from(self.rules.max_attempts);
        let alone = running.iter().any(|running| running.alone);
        if running.len() as u64 >= u64::from(self.rules.max_active) || alone || attempts_full {
            return Err(Why::NoPermits);
        }
        if weight <= self.limit {
            let fits = self.in_use() + u128::from(weight) <= u128::from(self.limit);
            return if fits { Ok((weight, false)) } else { Err(Why::NoPermits) };
        }
        if !self.rules.run_alone {
            return Err(Why::ExceedsLimit);
        }
        if running.is_empty() && self.limit > 0 { Ok((self.limit, true)) } else { Err(Why::NoPermits) }
    }

    /// A job that stands in no line runs from now on.
    pub(super) fn start(&mut self, number: u64, (held, alone): Held) {
        let now = self.now;
        let job = self.job_mut(number);
        job.running = Some(Running { since: now, held, alone });
        let (place, cost, waited) = (job.place, job.cost, now - job.submitted);
        let step = self.turns.step(place, cost);
        self.progress = self.progress.max(self.tenant(place).progress);
        let tenant = self.tenant(place);
        tenant.progress += step;
        tenant.started += 1;
        tenant.served += u128::from(cost);
        self.starts.push(now);
        self.counts.started += 1;
        self.counts.longest_wait = self.counts.longest_wait.max(waited);
        self.counts.total_wait += u128::from(waited);
    }

    /// A waiting job stands in its line no more.
    fn take_out(&mut self, number: u64) {
        let place = self.job(number).place;
        self.tenant(place).line.retain(|&waiting| waiting != number);
    }

    /// A waiting job is gone.
    pub(super) fn drop_waiting(&mut self, number: u64) {
        let place = self.job(number).place;
        self.take_out(number);
        self.jobs.retain(|job| job.number != number);
        self.refresh(place);
        self.settle(place);
    }

    /// Whether that may be when to ask again, once nothing was said: an instant at which something changes, no later than
    /// the first deadline, or than the first tenant that waits for a job to be ready has one that is. (Under newest-first,
    /// while somebody has the turn and does not fit, it does not matter who else becomes ready.)
    #[must_use]
    pub fn is_timeout(&self, said: Option<u64>) -> bool {
        let waiting = || self.jobs.iter().filter(|job| job.running.is_none());
        let expires = waiting().map(|job| job.deadline).filter(|&deadline| deadline != u64::MAX).min();
        let ready = self.tenants.iter().filter_map(|tenant| self.becomes_ready(tenant)).min();
        let blocked = !self.is_exact() && self.somebody_is_ready();
        let latest = if blocked { expires } else { expires.into_iter().chain(ready).min() };
        let changes = |at: u64| {
            waiting().any(|job| at == job.deadline || at == job.ready_at || Some(at) == self.turns_round(job))
        };
        said.is_none_or(|at| at > self.now && changes(at))
            && said.unwrap_or(u64::MAX) <= latest.unwrap_or(u64::MAX)
    }

    /// When a job that is the oldest of its tenant will have waited so long that the newest goes first.
    fn turns_round(&self, oldest: &Job) -> Option<u64> {
        self.rules.newest_first_after.map(|after| oldest.submitted.saturating_add(after))
    }

    /// When a tenant whose next job is not ready will have one that is.
    fn becomes_ready(&self, tenant: &Tenant) -> Option<u64> {
        let (oldest, newest) = (self.job(*tenant.line.first()?), self.job(*tenant.line.last()?));
        let at = match self.turns_round(oldest) {
            Some(round) if round <= self.now => newest.ready_at,
            Some(round) if round <= oldest.ready_at => newest.ready_at.max(round),
            _ => oldest.ready_at,
        };
        self.ready(tenant).is_none().then_some(at)
    }
}
