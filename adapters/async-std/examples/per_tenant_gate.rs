//! One backend that does four things at once, and three customers who share it by cost.
//!
//! `flood` sends 200 jobs at once, `steady` a job of twice the cost every now and then, and `paying` has three times the weight.
//! However long the flood's queue is, the others are served as if it were short; what cannot start in time is refused.

use core::error::Error;
use core::time::Duration;

use tollgate_async_std::Gate;
use tollgate_async_std::gate::Job;
use tollgate_async_std::gate::{Budget, CloseMode, Completion, Cost, Order, Settings, TenantKey};

const CUSTOMERS: [(&str, u64, usize, u64); 3] =
    [("flood", 1, 200, 1), ("steady", 2, 20, 2), ("paying", 3, 60, 1)];

/// One customer's job: how long it waited, or why it was refused.
async fn job(gate: Gate, tenant: u64, cost: u64) -> Result<Duration, String> {
    let deadline = Some(gate.now().saturating_add(Duration::from_millis(300)));
    let job = Job { cost: Cost::Units(cost), deadline, ..Job::new(tenant) };
    let permit = gate.enter(job).await.map_err(|refused| refused.reason.to_string())?;
    // The job itself: 5 ms for each unit of its cost.
    async_std::task::sleep(Duration::from_millis(5 * cost)).await;
    let waited = permit.waited();
    permit.complete(Completion::DONE);
    Ok(waited)
}

fn main() -> Result<(), Box<dyn Error>> {
    async_std::task::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let settings =
        Settings { order: Order::Deficit { quantum: 2 }, max_queued_per_tenant: 300, ..Settings::default() };
    let gate = Gate::new(settings, Budget::new(4))?;
    gate.set_weight(TenantKey(3), 3)?;
    let mut tasks = vec![];
    for (name, tenant, jobs, cost) in CUSTOMERS {
        for _ in 0..jobs {
            tasks.push((name, async_std::task::spawn(job(gate.clone(), tenant, cost))));
        }
    }
    let mut told = vec![];
    for (name, task) in tasks {
        told.push((name, task.await));
    }
    for (name, tenant, jobs, _) in CUSTOMERS {
        let own: Vec<_> = told.iter().filter(|(whose, _)| *whose == name).map(|(_, told)| told).collect();
        let served: Vec<_> = own.iter().filter_map(|told| told.as_ref().ok()).collect();
        let longest = served.iter().max().map_or(Duration::ZERO, |&&wait| wait);
        let why = own.iter().find_map(|told| told.as_ref().err()).map_or("nobody refused", String::as_str);
        println!(
            "{name:>7} (tenant {tenant}): {:>3} of {jobs} served, longest wait {longest:>6.0?}; {why}",
            served.len()
        );
    }
    gate.close(CloseMode::Drain);
    gate.drained().await;
    let counts = gate.snapshot().counts;
    println!("{} started, {} refused, nothing left", counts.started, counts.total_refused());
    Ok(())
}
