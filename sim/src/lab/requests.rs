//! The requests of an open load, drawn once: when each comes, how long it takes, whom it meets.
//!
//! Some fifty limits are tried on them to find the oracle's, so they are worth keeping; and every limit gets the same
//! requests with the same luck. A load that changes is drawn at its greatest rate and thinned. What has low priority is
//! drawn from streams of its own.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::chance::{Purpose, low_stream, stream};
use super::plan::{Phase, Plan};
use super::wave::Wave;
use crate::num;

/// One request of an open load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) at_ns: u64,
    pub(super) what: What,
    /// Less was offered at that moment than the server could do.
    pub(super) below: bool,
}

/// What a request is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct What {
    /// Service time alone in the server.
    pub(super) work_ns: u64,
    pub(super) limiter: u32,
    /// It fails at once, for reasons of its own.
    pub(super) fails: bool,
    /// Of low priority.
    pub(super) low: bool,
}

/// All requests of an open load in order; none of a closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests(pub(super) Vec<Request>);

impl Requests {
    /// Draws those of `plan` under `seed`. O(requests), and with some of low priority O(requests · log).
    #[must_use]
    pub fn draw(plan: &Plan, seed: u64) -> Self {
        let mut drawn = Streams::new(seed, false).draw(plan);
        if plan.is_mixed() {
            drawn.extend(Streams::new(seed, true).draw(plan));
            drawn.sort_by_key(|request| request.at_ns);
        }
        Self(drawn)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The chance of the requests of one priority.
struct Streams {
    low: bool,
    arrivals: ChaCha8Rng,
    work: ChaCha8Rng,
    limiter: ChaCha8Rng,
    failure: ChaCha8Rng,
}

impl Streams {
    fn new(seed: u64, low: bool) -> Self {
        let stream = if low { low_stream } else { stream };
        let [arrivals, work, limiter, failure] =
            [Purpose::Arrivals, Purpose::Work, Purpose::Limiter, Purpose::Failure]
                .map(|purpose| stream(seed, purpose));
        Self { low, arrivals, work, limiter, failure }
    }

    fn draw(&mut self, plan: &Plan) -> Vec<Request> {
        let mut requests = Vec::new();
        // A recording begins somewhere, and goes on from one phase to the next.
        let mut replay = plan.recorded.as_ref().filter(|_| !self.low).map(|recorded| {
            let start = self.arrivals.random_range(0..recorded.len());
            recorded.from(start)
        });
        for phase in &plan.phases {
            let load = if self.low { phase.low } else { phase.load };
            let (_, most_per_s) = load.ends();
            if most_per_s <= 0.0 {
                continue;
            }
            let steady = matches!(load, Wave::Constant(_));
            let mean_gap_ns = num::real(num::NS_PER_S) / most_per_s;
            let mut at = num::real(phase.from_ns);
            let end = num::real(phase.to_ns());
            let constant = [phase.load, phase.low, phase.slots, phase.slow]
                .iter()
                .all(|wave| matches!(wave, Wave::Constant(_)));
            let below_all = plan.below_capacity(phase, phase.from_ns);
            loop {
                let (gap, times) = replay.as_mut().map_or((None, None), |replay| {
                    let (gap, times) = replay.next();
                    (gap, Some(times))
                });
                let gap: f64 = gap.unwrap_or_else(|| Exp1.sample(&mut self.arrivals));
                at += gap * mean_gap_ns;
                if at >= end {
                    break;
                }
                let at_ns = num::rounded(at);
                if !steady {
                    let now_per_s = load.at(at_ns.saturating_sub(phase.from_ns), phase.length_ns);
                    if self.arrivals.random::<f64>() * most_per_s >= now_per_s {
                        continue;
                    }
                }
                let what = What {
                    work_ns: match times {
                        Some(times) => of_base(plan, times),
                        None => work_ns(plan, phase, &mut self.work),
                    },
                    limiter: which(plan, &mut self.limiter),
                    fails: fails(phase, &mut self.failure),
                    low: self.low,
                };
                let below = if constant { below_all } else { plan.below_capacity(phase, at_ns) };
                requests.push(Request { at_ns, what, below });
            }
        }
        requests
    }
}

/// What a retry or a request of a closed loop is like.
#[inline]
pub(super) fn follower(plan: &Plan, phase: &Phase, limiter: u32, rng: &mut impl Rng) -> What {
    What { work_ns: work_ns(plan, phase, rng), limiter, fails: fails(phase, rng), low: false }
}

#[inline]
fn work_ns(plan: &Plan, phase: &Phase, rng: &mut impl Rng) -> u64 {
    let server = &plan.server;
    let mut times = server.law.draw(phase.slow_share, rng);
    if let Some((share, factor)) = server.lucky
        && rng.random::<f64>() < share
    {
        times *= factor;
    }
    of_base(plan, times)
}

/// So many times the base.
#[inline]
fn of_base(plan: &Plan, times: f64) -> u64 {
    num::rounded(num::real(plan.server.base_ns) * times).max(1)
}

#[inline]
fn which(plan: &Plan, rng: &mut impl Rng) -> u32 {
    if plan.limiters == 1 { 0 } else { rng.random_range(0..plan.limiters) }
}

#[inline]
fn fails(phase: &Phase, rng: &mut impl Rng) -> bool {
    phase.failures > 0.0 && rng.random::<f64>() < phase.failures
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::{small, text};
    use super::*;

    #[test]
    fn requests_of_low_priority_come_on_top_and_shift_no_luck() {
        let alone = Requests::draw(&small("load = 2"), 1);
        let mixed = Requests::draw(&small("load = 2\nlow = 3"), 1);
        let important: Vec<Request> = mixed.0.iter().copied().filter(|request| !request.what.low).collect();
        assert_eq!(important, alone.0);
        let low: Vec<u64> =
            mixed.0.iter().filter(|request| request.what.low).map(|request| request.what.work_ns).collect();
        assert!((500..700).contains(&low.len()), "three times 200 a second: {}", low.len());
        assert!(low.iter().zip(&alone.0).all(|(&work, one)| work != one.what.work_ns), "luck of their own");
        assert!(mixed.0.is_sorted_by_key(|request| request.at_ns));
    }

    #[test]
    fn a_recorded_load_has_its_order_its_bursts_and_the_mean_service_time_that_is_asked_for() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/plans/limits/recorded.toml");
        let trace = "[trace]\nfile = \"../traces/vtc_arena_27tenants.csv\"\ninstants = true\n[server]";
        let content = text("load = 25").replace("exponential", "recorded").replace("[server]", trace);
        let plan = Plan::parse(path.as_ref(), &content).unwrap();
        let (one, other) = (Requests::draw(&plan, 1), Requests::draw(&plan, 2));
        assert!((4_500..5_500).contains(&one.len()), "25 times 200 a second: {}", one.len());
        let works = |requests: &Requests| -> Vec<u64> { requests.0.iter().map(|r| r.what.work_ns).collect() };
        let (works, others) = (works(&one), works(&other));
        let round = &works[..1500];
        assert_eq!(round, &works[1500..3000], "round and round");
        assert!(others[..3000].windows(1500).any(|part| part == round), "another start, the same round");
        let mean = num::real(round.iter().sum()) / 1500.0;
        assert!((mean / 1e7 - 1.0).abs() < 1e-6, "{mean}");
        let gaps = |requests: &Requests| {
            let gaps = requests.0.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns);
            gaps.filter(|&gap_ns| gap_ns > 2_000_000).count()
        };
        let drawn = Plan::parse(path.as_ref(), &content.replace("instants = true\n", "")).unwrap();
        let drawn = Requests::draw(&drawn, 1);
        let same: Vec<u64> = drawn.0.iter().take(1000).map(|request| request.what.work_ns).collect();
        assert!(
            others.windows(1000).chain(works.windows(1000)).any(|part| part == same),
            "the order is recorded"
        );
        // At 5 000 a second next to no gap of chance is ten times the mean.
        assert!(gaps(&drawn) < 3, "{}", gaps(&drawn));
    }
}
