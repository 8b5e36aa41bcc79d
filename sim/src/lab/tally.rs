//! What is counted in a run.
//!
//! Everything is counted where it happens in time: a completion counts for the phase in which it ends. The warm-up and
//! the phases that are not measured are left out of all figures but the bins, from which recovery is seen.

use hdrhistogram::Histogram;

use super::plan::{Phase, Plan};
use super::watch::Broken;
use crate::num;

/// Parts of a phase in which completions in time are counted.
pub const BINS: usize = 1000;
/// Quantile of latency that is compared, a hundredth below the whole.
const P99: f64 = 0.99;

/// Counts of a phase, of its measured part.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PhaseCounts {
    /// Attempts.
    pub offered: u64,
    /// Refused at the limit.
    pub refused: u64,
    /// Completed within the deadline.
    pub on_time: u64,
}

/// Counts of the whole run: the books.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Books {
    /// Attempts.
    pub offered: u64,
    /// Refused at the limit.
    pub refused: u64,
    /// Admitted.
    pub admitted: u64,
    /// Completed before their client gave up.
    pub succeeded: u64,
    /// Failed at once, or refused by the server.
    pub failed: u64,
    /// Their client gave up.
    pub timed_out: u64,
}

impl Books {
    /// W5: what came is what went and what is there, `in_flight` of it admitted and not over.
    pub(super) fn check(&self, in_flight: u64) -> Option<Broken> {
        let ended = self.succeeded + self.failed + self.timed_out + in_flight;
        let sides = [(self.offered, self.admitted + self.refused), (self.admitted, ended)];
        let (left, right) = sides.into_iter().find(|(left, right)| left != right)?;
        Some(Broken::Books { left, right })
    }
}

/// What one run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Of each phase.
    pub phases: Vec<PhaseCounts>,
    /// Completed within the deadline, in [`BINS`] parts of each phase, measured or not.
    pub bins: Vec<Vec<u32>>,
    /// Of the whole run.
    pub books: Books,
    /// Completed within the deadline, of each limiter.
    pub by_limiter: Vec<u64>,
    /// Attempts made while less was offered than the server could do, and how many of them were refused.
    pub below: (u64, u64),
    /// Attempts that matter, where some have low priority, and how many of them were completed within the deadline.
    pub important: (u64, u64),
    /// Events handled.
    pub events: u64,
    latency: Histogram<u32>,
    limit_ns: u128,
    measured_ns: u64,
    mixed: bool,
    /// Of the phase that runs.
    phase: usize,
    from_ns: u64,
    to_ns: u64,
    phase_from_ns: u64,
    phase_length_ns: u64,
}

impl Tally {
    pub(crate) fn new(plan: &Plan) -> Self {
        let phases = plan.phases.len();
        let mut tally = Self {
            phases: vec![PhaseCounts::default(); phases],
            bins: vec![vec![0; BINS]; phases],
            books: Books::default(),
            by_limiter: vec![0; num::index(plan.limiters)],
            below: (0, 0),
            important: (0, 0),
            mixed: plan.is_mixed(),
            events: 0,
            latency: histogram(),
            limit_ns: 0,
            measured_ns: 0,
            phase: 0,
            from_ns: 0,
            to_ns: 0,
            phase_from_ns: 0,
            phase_length_ns: 1,
        };
        if let Some(phase) = plan.phases.first() {
            tally.enter(plan, 0, phase);
        }
        tally
    }

    pub(super) fn enter(&mut self, plan: &Plan, index: usize, phase: &Phase) {
        let measured = plan.measured(index);
        self.measured_ns += measured.end - measured.start;
        (self.phase, self.from_ns, self.to_ns) = (index, measured.start, measured.end);
        (self.phase_from_ns, self.phase_length_ns) = (phase.from_ns, phase.length_ns);
    }

    #[inline]
    fn measures(&self, now_ns: u64) -> bool {
        (self.from_ns..self.to_ns).contains(&now_ns)
    }

    #[inline]
    pub(super) fn offered(&mut self, now_ns: u64, below: bool, refused: bool) {
        self.books.offered += 1;
        self.books.refused += u64::from(refused);
        self.books.admitted += u64::from(!refused);
        if self.measures(now_ns) {
            let phase = &mut self.phases[self.phase];
            phase.offered += 1;
            phase.refused += u64::from(refused);
            if below {
                self.below.0 += 1;
                self.below.1 += u64::from(refused);
            }
        }
    }

    /// An attempt was made. Says whether it counts among those that matter.
    #[inline]
    pub(super) fn came(&mut self, now_ns: u64, low: bool) -> bool {
        let counts = self.mixed && !low && self.measures(now_ns);
        self.important.0 += u64::from(counts);
        counts
    }

    /// One of those that matter was completed within the deadline, if `kept`.
    #[inline]
    pub(super) fn kept(&mut self, kept: bool) {
        self.important.1 += u64::from(kept);
    }

    /// So many of those that matter were in flight at the end of the run, and are left out.
    pub(super) const fn undecided(&mut self, count: u64) {
        self.important.0 -= count;
    }

    /// `count` more were refused, all in the measured part or none; `below` of them below capacity.
    pub(super) fn refused(&mut self, now_ns: u64, count: u64, below: u64) {
        self.events += count;
        self.books.offered += count;
        self.books.refused += count;
        if self.measures(now_ns) {
            let phase = &mut self.phases[self.phase];
            phase.offered += count;
            phase.refused += count;
            self.below.0 += below;
            self.below.1 += below;
        }
    }

    #[inline]
    pub(super) fn succeeded(&mut self, now_ns: u64, latency_ns: u64, on_time: bool, limiter: u32) {
        self.books.succeeded += 1;
        let measures = self.measures(now_ns);
        if measures {
            self.latency.saturating_record(latency_ns);
        }
        if !on_time {
            return;
        }
        // An hour a thousand times fits.
        let part = (now_ns - self.phase_from_ns) * num::count(BINS) / self.phase_length_ns;
        if let Some(count) = self.bins[self.phase].get_mut(num::narrow_index(part.into())) {
            *count += 1;
        }
        if measures {
            self.phases[self.phase].on_time += 1;
            self.by_limiter[num::index(limiter)] += 1;
        }
    }

    #[inline]
    pub(super) fn timed_out(&mut self, now_ns: u64, latency_ns: u64) {
        self.books.timed_out += 1;
        if self.measures(now_ns) {
            self.latency.saturating_record(latency_ns);
        }
    }

    #[inline]
    pub(super) const fn failed(&mut self) {
        self.books.failed += 1;
    }

    /// `limit`, the sum over all limiters, was in force in `from_ns..to_ns`, all in one phase.
    pub(super) fn limit_was(&mut self, limit: u64, from_ns: u64, to_ns: u64) {
        let span_ns = to_ns.min(self.to_ns).saturating_sub(from_ns.max(self.from_ns));
        self.limit_ns += u128::from(limit) * u128::from(span_ns);
    }

    /// Completed within the deadline, in all measured phases.
    #[must_use]
    pub fn on_time(&self) -> u64 {
        self.phases.iter().map(|phase| phase.on_time).sum()
    }

    /// 99 % of admitted requests took at most this, to completion or until their client gave up; 0 if there were none.
    #[must_use]
    pub fn p99_ns(&self) -> u64 {
        self.latency.value_at_quantile(P99)
    }

    /// Mean limit over the measured phases, all limiters together.
    #[must_use]
    pub fn mean_limit(&self) -> f64 {
        num::real_wide(self.limit_ns) / num::real(self.measured_ns.max(1))
    }
}

/// To an hour with three digits. A histogram that could not be made would be refused by every test.
fn histogram() -> Histogram<u32> {
    match Histogram::new_with_max(3_600_000_000_000, 3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("constant bounds in order"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::small;
    use super::*;

    #[test]
    fn a_completion_counts_for_the_phase_in_which_it_ends_and_the_warm_up_for_the_books_alone() {
        let plan = small("load = 1\n[[phase]]\nlength = \"1s\"\nload = 1");
        let mut tally = Tally::new(&plan);
        tally.succeeded(50_000_000, 7_000_000, true, 0);
        assert_eq!((tally.on_time(), tally.p99_ns(), tally.bins[0][50]), (0, 0, 1));
        tally.succeeded(150_000_000, 7_000_000, true, 0);
        tally.succeeded(150_000_000, 9_000_000, false, 0);
        assert_eq!((tally.on_time(), tally.bins[0][150]), (1, 1));
        tally.enter(&plan, 1, &plan.phases[1]);
        tally.succeeded(1_500_000_000, 8_000_000, true, 0);
        assert_eq!([tally.phases[0].on_time, tally.phases[1].on_time], [1, 1]);
        assert_eq!((tally.bins[1][500], tally.books.succeeded, tally.by_limiter[0]), (1, 4, 2));
        assert!((8_990_000..=9_010_000).contains(&tally.p99_ns()), "{}", tally.p99_ns());
    }

    #[test]
    fn refusals_in_one_go_are_refusals_one_by_one() {
        let plan = small("load = 1");
        let (mut together, mut single) = (Tally::new(&plan), Tally::new(&plan));
        for now_ns in [50_000_000, 500_000_000] {
            together.refused(now_ns, 3, 2);
            for below in [true, false, true] {
                single.offered(now_ns, below, true);
                single.events += 1;
            }
        }
        assert_eq!(together, single);
        assert_eq!(together.below, (2, 2));
    }

    #[test]
    fn the_mean_limit_is_of_the_measured_part() {
        let plan = small("load = 1");
        let mut tally = Tally::new(&plan);
        tally.limit_was(100, 0, 100_000_000);
        tally.limit_was(10, 100_000_000, 550_000_000);
        tally.limit_was(20, 550_000_000, 1_000_000_000);
        assert!((tally.mean_limit() - 15.0).abs() < 1e-9);
    }

    #[test]
    fn books_that_do_not_balance_are_noticed() {
        let books = Books { offered: 10, refused: 4, admitted: 6, succeeded: 3, failed: 1, timed_out: 1 };
        assert_eq!(books.check(1), None);
        assert_eq!(books.check(2), Some(Broken::Books { left: 6, right: 7 }));
        let more = Books { offered: 11, ..books };
        assert_eq!(more.check(1), Some(Broken::Books { left: 11, right: 10 }));
    }
}
