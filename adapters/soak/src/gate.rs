//! Rounds of the gate.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use tokio::runtime::Runtime;
use tollgate::permit::HeadOfLine;
use tollgate_tokio::gate::{Budget, CloseMode, Completion, Cost, Job, Order, Settings, TenantKey};
use tollgate_tokio::{Gate, GatePermit};

use crate::crowd::{Counters, Crowd, add, counters, hold, some_of};
use crate::{Chance, Tally};

const MOST: u64 = 6;
const TENANTS: u64 = 12;

/// How permits ended.
#[derive(Debug, Default)]
struct Ends {
    ran: AtomicU64,
    retried: AtomicU64,
}

pub(crate) fn round(runtime: &Runtime, seed: u64, until: Instant) -> Result<Tally> {
    let entered = runtime.enter();
    let mut chance = Chance::new(seed);
    let gate = Gate::new(settings(&mut chance), Budget::new(4))?;
    gate.set_pick_up_within(Some(Duration::from_millis(1 + chance.below(4))));
    let (counters, ends) = (counters(), Arc::new(Ends::default()));
    let closes = match chance.below(4) {
        0 => Some(CloseMode::Drain),
        1 => Some(CloseMode::Immediate),
        _ => None,
    };
    let middle = until.checked_sub(Duration::from_millis(200)).unwrap_or(until);
    let (of_tasks, seen, ended) = (gate.clone(), Arc::clone(&counters), Arc::clone(&ends));
    let task = move |mut chance: Chance| {
        let (gate, counters, ends) = (of_tasks.clone(), Arc::clone(&seen), Arc::clone(&ended));
        async move {
            if let Some(mode) = closes.filter(|_| Instant::now() > middle) {
                gate.close(mode);
            }
            change(&gate, &mut chance);
            let job = job(&gate, &mut chance);
            add(&counters.asked, 1);
            match some_of(&mut chance, gate.enter(job)).await {
                Some(Ok(permit)) => run(permit, job, &mut chance, &counters, &ends).await,
                Some(Err(_)) => tokio::task::yield_now().await,
                None => add(&counters.left, 1),
            }
        }
    };
    let (of_threads, seen, ended) = (gate.clone(), Arc::clone(&counters), Arc::clone(&ends));
    let thread = move |chance: &mut Chance| {
        let deadline = Some(of_threads.now().saturating_add(chance.micros(3_000)));
        let job = Job { deadline, ..Job::new(chance.below(TENANTS)) };
        add(&seen.asked, 1);
        if let Ok(permit) = of_threads.enter_blocking(job) {
            seen.enter(1);
            seen.exit(1);
            add(&ended.ran, 1);
            permit.complete(Completion::DONE);
        }
    };
    Crowd { tasks: 64, threads: 2, task, thread, seed }.run(runtime, until)?;
    drop(entered);
    let snapshot = gate.snapshot();
    let left = (snapshot.queued, snapshot.active, snapshot.attempts, gate.with_capacity(Budget::in_use));
    ensure!(left == (0, 0, 0, 0), "left are {left:?}");
    let counts = snapshot.counts;
    let (ran, retried) = (ends.ran.load(Ordering::SeqCst), ends.retried.load(Ordering::SeqCst));
    ensure!(counts.stale == 0, "{} ended twice", counts.stale);
    ensure!(counts.completed == ran, "{} of {ran} that ran are known", counts.completed);
    let ends = ran + counts.not_started + retried;
    ensure!(counts.started == ends, "{} started and {ends} ended", counts.started);
    gate.close(CloseMode::Drain);
    ensure!(gate.is_drained(), "it is not empty");
    counters.check(MOST)
}

fn settings(chance: &mut Chance) -> Settings {
    Settings {
        max_queued: 48,
        max_queued_per_tenant: 12,
        max_tenants: 16,
        max_active: 5,
        max_attempts: 3,
        max_wait: if chance.once_in(2) { Some(Duration::from_millis(4)) } else { None },
        order: if chance.once_in(2) { Order::Smooth } else { Order::Deficit { quantum: 4 } },
        head_of_line: if chance.once_in(2) {
            HeadOfLine::Strict
        } else {
            HeadOfLine::Backfill { max_passes: 3 }
        },
        refuse_early: chance.once_in(2),
        newest_first_after: if chance.once_in(2) { Some(Duration::from_millis(2)) } else { None },
        ..Settings::default()
    }
}

fn job(gate: &Gate, chance: &mut Chance) -> Job {
    let now = gate.now();
    let deadline = if chance.once_in(2) { Some(now.saturating_add(chance.micros(5_000))) } else { None };
    let ready_at = if chance.once_in(6) { Some(now.saturating_add(chance.micros(2_000))) } else { None };
    Job {
        cost: Cost::Units(chance.below(9)),
        weight: 1 + chance.below(3),
        deadline,
        ready_at,
        attempt: chance.once_in(4),
        ..Job::new(chance.below(TENANTS))
    }
}

fn change(gate: &Gate, chance: &mut Chance) {
    match chance.below(200) {
        // Never below the heaviest job: what can never run is refused, and that is tested elsewhere.
        0..=3 => {
            let limit = 3 + chance.below(MOST - 2);
            gate.with_capacity_mut(|capacity| capacity.set_limit(limit));
        }
        4 => drop(gate.set_weight(TenantKey(chance.below(TENANTS)), 1 + chance.small(3))),
        5 => drop(gate.remove_tenant(TenantKey(chance.below(TENANTS)))),
        6 => gate.recheck(),
        7 => drop(gate.tenants()),
        _ => {}
    }
}

/// What is let in may go back, and ends in some way.
async fn run(mut permit: GatePermit, job: Job, chance: &mut Chance, counters: &Counters, ends: &Ends) {
    let mut attempt = job.attempt;
    loop {
        counters.enter(job.weight);
        hold(chance).await;
        counters.exit(job.weight);
        if !attempt || chance.once_in(3) {
            break;
        }
        if chance.once_in(2) {
            attempt = false;
            permit.confirm().expect("it is an attempt");
            continue;
        }
        let ready_at = permit_time(&permit, chance);
        add(&ends.retried, 1);
        match some_of(chance, permit.retry(ready_at)).await {
            Some(Ok(again)) => permit = again,
            Some(Err(_)) => return,
            None => return add(&counters.left, 1),
        }
    }
    match chance.below(6) {
        0 => permit.complete(Completion::NotStarted),
        1 => {
            add(&ends.ran, 1);
            drop(permit);
        }
        _ => {
            add(&ends.ran, 1);
            permit.complete(Completion::costing(chance.below(12)));
        }
    }
}

/// Now, or a while later.
fn permit_time(permit: &GatePermit, chance: &mut Chance) -> tollgate_async::Timestamp {
    permit.gate().now().saturating_add(chance.micros(1_000))
}
