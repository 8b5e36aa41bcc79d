//! A queueing server, deterministic from its seed.

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::BinaryHeap;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Estimator, Gradient, Gradient2, Gradient2Settings, GradientSettings, Knee,
    KneeSettings, Outcome, Sample, Vegas, VegasSettings,
};

/// Mean service time, ns.
const BASE_NS: f64 = 10_000_000.0;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    Constant,
    Exponential,
    /// Shape 1.5, truncated at 100 times the least value.
    Pareto,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) service: Service,
    pub(crate) slots: usize,
    /// Offered load, in shares of what `slots` can do.
    pub(crate) load: f64,
    /// Above this many in flight the server refuses, in a fiftieth of a service time.
    pub(crate) refuse_above: usize,
    /// Share of requests refused in the same way whatever the load.
    pub(crate) fail: f64,
    /// From half of the run on, the service takes this many times as long.
    pub(crate) slower: f64,
    /// Arrivals.
    pub(crate) requests: u32,
    pub(crate) seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            service: Service::Exponential,
            slots: 32,
            load: 2.0,
            refuse_above: usize::MAX,
            fail: 0.0,
            slower: 1.0,
            requests: 40_000,
            seed: 1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcomes {
    /// Good completions in the last three quarters, in shares of what the server can do.
    pub(crate) goodput: f64,
    /// Mean limit over the last quarter.
    pub(crate) late_limit: f64,
    /// Share of arrivals refused by the limiter.
    pub(crate) refused: f64,
}

/// No limit at all.
pub(crate) struct Unlimited;

impl Estimator for Unlimited {
    fn on_sample(&mut self, _: &Sample) -> u32 {
        u32::MAX
    }

    fn limit(&self) -> u32 {
        u32::MAX
    }
}

pub(crate) fn estimators() -> Vec<(&'static str, Box<dyn Estimator>)> {
    vec![
        ("aimd", Box::new(Aimd::new(AimdSettings::default()).unwrap())),
        ("vegas", Box::new(Vegas::new(VegasSettings::default()).unwrap())),
        ("gradient2", Box::new(Gradient2::new(Gradient2Settings::default()).unwrap())),
        ("gradient", Box::new(Gradient::new(GradientSettings::default()).unwrap())),
        ("knee", Box::new(Knee::new(KneeSettings::default()).unwrap())),
    ]
}

struct Random(u64);

impl Random {
    /// In (0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut mixed = self.0 ^ (self.0 >> 33);
        mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^= mixed >> 33;
        ((mixed >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    fn service(&mut self, service: Service) -> f64 {
        match service {
            Service::Constant => BASE_NS,
            Service::Exponential => -self.unit().ln() * BASE_NS,
            // Mean of the truncated Pareto with least value m: 3m(1 - 1/10)/(1 - 1/1000) = 2.7027m.
            Service::Pareto => {
                let value = (1.0 - self.unit() * (1.0 - 1e-3)).powf(-1.0 / 1.5);
                value * BASE_NS / 2.7027
            }
        }
    }
}

pub(crate) fn run(plan: &Plan, limiter: &mut dyn Estimator) -> Outcomes {
    let mut random = Random(plan.seed);
    let mut free: BinaryHeap<Reverse<u64>> = (0..plan.slots).map(|_| Reverse(0)).collect();
    // (end, start, in flight at admission, dropped)
    let mut running: BinaryHeap<Reverse<(u64, u64, u32, bool)>> = BinaryHeap::new();
    let gap = BASE_NS / (plan.slots as f64 * plan.load);
    let (mut now, mut good, mut refused, mut late) = (0.0, 0_u64, 0_u64, 0.0);
    let span = f64::from(plan.requests) * gap;
    for arrival in 0..plan.requests {
        now -= random.unit().ln() * gap;
        while let Some(&Reverse((end, start, in_flight, dropped))) = running.peek() {
            if end as f64 > now {
                break;
            }
            running.pop();
            let rtt = Duration::from_nanos(end - start);
            let outcome = if dropped { Outcome::Dropped } else { Outcome::Success };
            limiter.on_sample(&Sample { started: Timestamp::from_nanos(start), rtt, in_flight, outcome });
            let in_time = (end - start) as f64 <= 10.0 * BASE_NS;
            good += u64::from(!dropped && in_time && end as f64 > span / 4.0);
        }
        if arrival >= plan.requests / 4 * 3 {
            late += f64::from(limiter.limit()) / f64::from(plan.requests / 4);
        }
        if running.len() >= limiter.limit() as usize {
            refused += 1;
            limiter.on_reject(Timestamp::from_nanos(now as u64));
            continue;
        }
        let (start, in_flight) = (now as u64, running.len() as u32 + 1);
        let dropped = running.len() >= plan.refuse_above || random.unit() < plan.fail;
        let end = if dropped {
            now + BASE_NS / 50.0
        } else {
            let slower = if arrival > plan.requests / 2 { plan.slower } else { 1.0 };
            let Reverse(idle) = free.pop().unwrap();
            let end = now.max(idle as f64) + random.service(plan.service) * slower;
            free.push(Reverse(end as u64));
            end
        };
        running.push(Reverse((end as u64, start, in_flight, dropped)));
    }
    let possible = 0.75 * span / BASE_NS * plan.slots as f64;
    Outcomes {
        goodput: good as f64 / possible,
        late_limit: late,
        refused: refused as f64 / f64::from(plan.requests),
    }
}
