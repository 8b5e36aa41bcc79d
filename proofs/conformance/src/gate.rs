//! The gate in front of a budget, its tables in the machine itself.

use tollgate::Timestamp;
use tollgate::adapt::Outcome;
use tollgate::gate::{
    Budget, ClassId, CloseMode, CoDel, Completion, Cost, CostClass, Gate, GateEvent, Job, JobId, Order,
    Overweight, Settings, TenantKey,
};
use tollgate::permit::HeadOfLine;
use tollgate::slots::Inline;

use crate::{Draw, Machine, Transcript};

type Small = Gate<Inline<8>>;

pub(crate) const GATE: Machine =
    Machine { name: "gate", ram: size_of::<Small>(), sequence: gate, recorded: &[] };

const STEPS: u32 = 200;
/// Time passes in steps of less than two to this power, about a quarter of a second.
const BITS: u32 = 28;

fn gate(draw: &mut Draw, transcript: &mut Transcript) {
    let made = Small::new(settings(draw), Budget::new(u64::from(draw.below(8))));
    let Some(mut gate) = transcript.made(made) else { return };
    // The latest jobs that are known of, running or waiting or over.
    let mut jobs: [Option<JobId>; 8] = [None; 8];
    let mut next = 0;
    for step in 0..STEPS {
        let now = draw.now(BITS);
        let known = jobs[index(draw.below(8))];
        let mut learn = |job| {
            jobs[next % 8] = Some(job);
            next += 1;
        };
        match (draw.below(16), known) {
            (0..=5, _) => {
                let answer = gate.submit(now, job(draw, now));
                answer.iter().for_each(|queued| learn(queued.job));
                transcript.note(&answer);
            }
            (6, _) => {
                let answer = gate.try_start(now, job(draw, now));
                answer.iter().for_each(|&job| learn(job));
                transcript.note(&answer);
            }
            (7, Some(job)) => transcript.note(&gate.cancel(now, job)),
            (8, Some(job)) => transcript.note(&gate.confirm(now, job)),
            (9, Some(job)) => {
                transcript.note(&gate.retry(now, job, now.saturating_add(draw.span(BITS))));
            }
            (10 | 11, Some(job)) => transcript.note(&gate.complete(now, job, completion(draw))),
            (12, _) => rare(&mut gate, step, draw, transcript),
            _ => {
                let event = gate.poll(now);
                if let Some(GateEvent::Start { job, .. }) = event {
                    learn(job);
                }
                transcript.note(&event);
            }
        }
        transcript.note(&(gate.poll_timeout(), gate.snapshot(now)));
    }
}

/// What happens to a gate now and then.
fn rare(gate: &mut Small, step: u32, draw: &mut Draw, transcript: &mut Transcript) {
    let tenant = TenantKey(u64::from(draw.below(4)));
    match draw.below(8) {
        0..=2 => gate.capacity_mut().set_limit(u64::from(draw.below(8))),
        3 => transcript.note(&gate.set_weight(tenant, draw.below(5))),
        4 => transcript.note(&gate.remove_tenant(tenant)),
        5 => {
            let class = ClassId(draw.below(3));
            let known = CostClass { initial: u64::from(draw.up_to(30)), floor: 1, ceiling: draw.wild() };
            transcript.note(&(gate.configure_class(class, known), gate.estimated_cost(class)));
        }
        6 if step > STEPS * 3 / 4 => {
            gate.close(if draw.once_in(2) { CloseMode::Drain } else { CloseMode::Immediate });
        }
        _ => transcript.note(&gate.is_drained()),
    }
}

fn job(draw: &mut Draw, now: Timestamp) -> Job {
    let cost = match draw.below(4) {
        0 => Cost::Learnt(ClassId(draw.below(3))),
        _ => Cost::Units(u64::from(draw.below(30))),
    };
    Job {
        cost,
        weight: u64::from(draw.below(5)),
        bytes: u64::from(draw.below(200)),
        deadline: draw.once_in(4).then(|| now.saturating_add(draw.span(32))),
        ready_at: draw.once_in(8).then(|| now.saturating_add(draw.span(BITS))),
        attempt: draw.once_in(4),
        ..Job::new(u64::from(draw.below(5)))
    }
}

fn completion(draw: &mut Draw) -> Completion {
    let outcome = match draw.below(6) {
        0 => return Completion::NotStarted,
        1 => Outcome::Dropped,
        2 => Outcome::Ignored,
        _ => Outcome::Success,
    };
    Completion::Ran { outcome, cost: draw.once_in(2).then(|| u64::from(draw.below(60))) }
}

fn order(draw: &mut Draw) -> Order {
    match draw.below(8) {
        0 => Order::Deficit { quantum: draw.wild() },
        1..=4 => Order::Deficit { quantum: u64::from(draw.up_to(20)) },
        _ => Order::Smooth,
    }
}

/// Every bound small, every rule at times on.
fn settings(draw: &mut Draw) -> Settings {
    Settings {
        max_queued: draw.up_to(4),
        max_queued_bytes: u64::from(draw.up_to(600)),
        max_queued_per_tenant: draw.up_to(4),
        max_bytes_per_tenant: u64::from(draw.up_to(400)),
        max_tenants: draw.up_to(5),
        max_active: draw.up_to(4),
        max_attempts: draw.up_to(2),
        max_wait: draw.once_in(2).then(|| draw.span(33)),
        order: order(draw),
        default_weight: draw.up_to(3),
        head_of_line: match draw.below(3) {
            0 => HeadOfLine::Strict,
            _ => HeadOfLine::Backfill { max_passes: draw.below(4) },
        },
        reserve_after: draw.once_in(3).then(|| draw.span(30)),
        overweight: if draw.once_in(2) { Overweight::Refuse } else { Overweight::RunAlone },
        refuse_early: draw.once_in(2),
        expected_service: draw.once_in(2).then(|| draw.span(30)),
        newest_first_after: draw.once_in(3).then(|| draw.span(30)),
        codel: draw.once_in(3).then(|| CoDel { target: draw.span(28), interval: draw.span(31) }),
        forgive_after: draw.span(32),
        classes: 2,
        cost_smoothing_ppm: draw.up_to(1_000_000),
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(0)
}
