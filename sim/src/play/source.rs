//! Where jobs come from: open loads, bursts and traces one job after the other, and what each job is like.

use rand_chacha::ChaCha8Rng;

use crate::arrivals::Arrivals;
use crate::num;
use crate::plan::{Coming, CostLaw, JobLaw, LoadPlan};
use crate::rng::{Source as Chance, stream};
use crate::trace::{Record, Trace};

/// What one job is like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Work {
    pub(crate) cost: u64,
    pub(crate) weight: u64,
    pub(crate) bytes: u64,
    /// How long it takes on a server that is not slowed down.
    pub(crate) exec_ns: u64,
    /// It does not start at or after this long after it came.
    pub(crate) deadline_ns: Option<u64>,
    /// It does not start before this long after it came.
    pub(crate) ready_ns: Option<u64>,
}

impl JobLaw {
    /// The next job.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut ChaCha8Rng) -> Work {
        let cost = match self.cost {
            CostLaw::Units(cost) => cost.draw(rng),
            CostLaw::Tokens { input, output } => {
                input.draw(rng).saturating_add(output.draw(rng).saturating_mul(2))
            }
        };
        let bytes = self.bytes.draw(rng);
        self.of(cost, bytes, rng)
    }

    /// A recorded job, which has its own cost and, where it was recorded, its own size.
    #[inline]
    fn recorded(&self, record: &Record, rng: &mut ChaCha8Rng) -> Work {
        let bytes = if record.bytes > 0 { record.bytes } else { self.bytes.draw(rng) };
        self.of(record.cost, bytes, rng)
    }

    #[inline]
    fn of(&self, cost: u64, bytes: u64, rng: &mut ChaCha8Rng) -> Work {
        Work {
            cost,
            bytes,
            weight: self.weight.draw(rng),
            exec_ns: self.exec.map_or_else(|| cost.saturating_mul(self.unit_ns), |exec| exec.draw(rng)),
            deadline_ns: self.deadline.map(|deadline| deadline.draw(rng)),
            ready_ns: self.ready_after.map(|after| after.draw(rng)),
        }
    }
}

/// One source of jobs that come whether or not others have ended.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) load: u32,
    tenant: u32,
    coming: Times<'a>,
}

#[derive(Debug)]
enum Times<'a> {
    Open { arrivals: Box<Arrivals>, from_ns: u64 },
    Burst { at_ns: u64, left: u32 },
    Trace(Replay<'a>),
}

/// A trace, as often as asked for, each time shifted by its length and one mean gap.
#[derive(Debug)]
struct Replay<'a> {
    trace: &'a Trace,
    speed: f64,
    loops: u64,
    round: u64,
    next: usize,
}

impl<'a> Replay<'a> {
    fn record(&mut self) -> Option<(u64, &'a Record)> {
        if self.next == self.trace.records.len() {
            (self.round, self.next) = (self.round + 1, 0);
        }
        if self.round >= self.loops {
            return None;
        }
        let record = self.trace.records.get(self.next)?;
        self.next += 1;
        let records = num::count(self.trace.records.len());
        let length_ns = self.trace.span_ns().saturating_add(self.trace.span_ns() / records.max(1));
        let at_ns = self.round.saturating_mul(length_ns).saturating_add(record.at_ns);
        let at_ns = if self.speed == 1.0 { at_ns } else { num::rounded(num::real(at_ns) / self.speed) };
        Some((at_ns, record))
    }
}

/// A job that comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at_ns: u64,
    pub(crate) tenant: u32,
    pub(crate) work: Work,
}

impl<'a> Source<'a> {
    /// That of a load, `None` for threads.
    pub(crate) fn new(number: u32, load: &'a LoadPlan, seed: u64) -> Option<Self> {
        let coming = match &load.coming {
            Coming::Closed(_) => return None,
            &Coming::Open { law, per_s, poisson, from_ns, to_ns } => {
                let span_s = num::seconds(to_ns - from_ns);
                let arrivals = if poisson {
                    Arrivals::new(law, per_s, span_s, stream(seed, Chance::LoadArrivals(number)))
                } else {
                    Arrivals::evenly(law, per_s, span_s)
                };
                Times::Open { arrivals: Box::new(arrivals), from_ns }
            }
            &Coming::Burst { at_ns, jobs } => Times::Burst { at_ns, left: jobs },
            Coming::Trace { trace, speed, loops } => {
                Times::Trace(Replay { trace, speed: *speed, loops: *loops, round: 0, next: 0 })
            }
        };
        Some(Self { load: number, tenant: load.tenant, coming })
    }

    /// The next job, in order of time.
    #[inline]
    pub(crate) fn next(&mut self, law: &JobLaw, rng: &mut ChaCha8Rng) -> Option<Arrival> {
        let at_ns = match &mut self.coming {
            Times::Open { arrivals, from_ns } => arrivals.next()?.saturating_add(*from_ns),
            Times::Burst { at_ns, left } => {
                *left = left.checked_sub(1)?;
                *at_ns
            }
            Times::Trace(replay) => {
                let (at_ns, record) = replay.record()?;
                return Some(Arrival { at_ns, tenant: record.tenant, work: law.recorded(record, rng) });
            }
        };
        Some(Arrival { at_ns, tenant: self.tenant, work: law.draw(rng) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Options;

    #[test]
    fn a_trace_that_is_looped_goes_on_one_mean_gap_after_its_end() {
        let text = "arrival_s,tenant,cost\n0,a,1\n1,b,2\n3,a,3\n";
        let trace = Trace::read(text.as_bytes(), "t", Options::default()).unwrap();
        let mut replay = Replay { trace: &trace, speed: 1.0, loops: 2, round: 0, next: 0 };
        let times: Vec<u64> =
            core::iter::from_fn(|| replay.record()).map(|(at_ns, _)| at_ns / 1_000_000).collect();
        assert_eq!(times, [0, 1_000, 3_000, 4_000, 5_000, 7_000]);
        let mut fast = Replay { trace: &trace, speed: 2.0, loops: 1, round: 0, next: 0 };
        let last = core::iter::from_fn(|| fast.record()).last().unwrap();
        assert_eq!((last.0, last.1.cost), (1_500_000_000, 3));
    }
}
