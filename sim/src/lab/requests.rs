//! The requests of an open load, drawn once: when each comes, how long it takes, whom it meets.
//!
//! Some fifty limits are tried on them to find the oracle's, so they are worth keeping; and every limit gets the same
//! requests with the same luck. A load that changes is drawn at its greatest rate and thinned.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};

use super::chance::{Purpose, stream};
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
}

/// All requests of an open load in order; none of a closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests(pub(super) Vec<Request>);

impl Requests {
    /// Draws those of `plan` under `seed`. O(requests).
    #[must_use]
    pub fn draw(plan: &Plan, seed: u64) -> Self {
        let [mut arrivals, mut work, mut limiter, mut failure] =
            [Purpose::Arrivals, Purpose::Work, Purpose::Limiter, Purpose::Failure]
                .map(|purpose| stream(seed, purpose));
        let mut requests = Vec::new();
        for phase in &plan.phases {
            let (_, most_per_s) = phase.load.ends();
            if most_per_s <= 0.0 {
                continue;
            }
            let steady = matches!(phase.load, Wave::Constant(_));
            let mean_gap_ns = num::real(num::NS_PER_S) / most_per_s;
            let mut at = num::real(phase.from_ns);
            let end = num::real(phase.to_ns());
            let constant =
                [phase.load, phase.slots, phase.slow].iter().all(|w| matches!(w, Wave::Constant(_)));
            let below_all = plan.below_capacity(phase, phase.from_ns);
            loop {
                let gap: f64 = Exp1.sample(&mut arrivals);
                at += gap * mean_gap_ns;
                if at >= end {
                    break;
                }
                let at_ns = num::rounded(at);
                if !steady {
                    let now_per_s = phase.load.at(at_ns.saturating_sub(phase.from_ns), phase.length_ns);
                    if arrivals.random::<f64>() * most_per_s >= now_per_s {
                        continue;
                    }
                }
                let what = What {
                    work_ns: work_ns(plan, phase, &mut work),
                    limiter: which(plan, &mut limiter),
                    fails: fails(phase, &mut failure),
                };
                let below = if constant { below_all } else { plan.below_capacity(phase, at_ns) };
                requests.push(Request { at_ns, what, below });
            }
        }
        Self(requests)
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

/// What a retry or a request of a closed loop is like.
#[inline]
pub(super) fn follower(plan: &Plan, phase: &Phase, limiter: u32, rng: &mut impl Rng) -> What {
    What { work_ns: work_ns(plan, phase, rng), limiter, fails: fails(phase, rng) }
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
    num::rounded(num::real(server.base_ns) * times).max(1)
}

#[inline]
fn which(plan: &Plan, rng: &mut impl Rng) -> u32 {
    if plan.limiters == 1 { 0 } else { rng.random_range(0..plan.limiters) }
}

#[inline]
fn fails(phase: &Phase, rng: &mut impl Rng) -> bool {
    phase.failures > 0.0 && rng.random::<f64>() < phase.failures
}
