//! The gate, its tables in the machine itself: on a budget of its own, and on permits that are shared.

use core::time::Duration;

use tollgate::adapt::Outcome;
use tollgate::gate::{
    Budget, Cancelled, ClassId, CloseMode, Completion, Cost, CostClass, Gate, GateEvent, Job, JobId, Permits,
    Retried, Settings, TenantKey,
};
use tollgate::permit::AtomicPermits;
use tollgate::slots::Inline;
use tollgate::{Reason, Timestamp};

use crate::store;

type OnBudget = Gate<Inline<16>, Budget>;
type OnPermits = Gate<Inline<16>, Permits<&'static AtomicPermits>>;

/// A job of a cost that is named or learnt, from plain numbers.
fn job<W>(template: Job<W>, class: u32, learnt: bool) -> Job<W> {
    if learnt { Job { cost: Cost::Learnt(ClassId(class)), ..template } } else { template }
}

/// Who leaves the queue: whether anybody, and why if it does not start.
fn leaves(event: Option<GateEvent>, place: &mut JobId) -> u32 {
    match event {
        Some(GateEvent::Start { job, .. }) => {
            *place = job;
            1
        }
        Some(GateEvent::Refuse { job, reason, .. }) => {
            *place = job;
            refused(reason)
        }
        None => 0,
    }
}

/// Reasons as numbers from 2 on.
fn refused(reason: Reason) -> u32 {
    u32::try_from(reason.index()).unwrap_or(u32::MAX).saturating_add(2)
}

/// Every operation on one kind of gate.
macro_rules! entries {
    ($gate:ty, $capacity:ty, $weight:ty, [
        $new:ident $submit:ident $try_start:ident $poll:ident $poll_timeout:ident $complete:ident $not_started:ident
        $confirm:ident $retry:ident $cancel:ident $set_weight:ident $remove:ident $class:ident $close:ident $look:ident
    ]) => {
        #[unsafe(no_mangle)]
        extern "C" fn $new(place: &mut $gate, settings: Settings, capacity: $capacity) -> bool {
            store(place, Gate::new(settings, capacity))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $submit(
            gate: &mut $gate,
            now: Timestamp,
            template: Job<$weight>,
            class: u32,
            learnt: bool,
            place: &mut JobId,
        ) -> u64 {
            match gate.submit(now, job(template, class, learnt)) {
                Ok(queued) => {
                    *place = queued.displaced.unwrap_or(queued.job);
                    queued.position
                }
                Err(rejected) => rejected.position ^ u64::from(refused(rejected.reason)),
            }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $try_start(
            gate: &mut $gate,
            now: Timestamp,
            template: Job<$weight>,
            place: &mut JobId,
        ) -> bool {
            store(place, gate.try_start(now, template))
        }

        #[unsafe(no_mangle)]
        extern "C" fn $poll(gate: &mut $gate, now: Timestamp, place: &mut JobId) -> u32 {
            leaves(gate.poll(now), place)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $poll_timeout(gate: &$gate) -> u64 {
            gate.poll_timeout().map_or(u64::MAX, Timestamp::as_nanos)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $complete(
            gate: &mut $gate,
            now: Timestamp,
            job: JobId,
            outcome: Outcome,
            cost: u64,
            measured: bool,
        ) -> bool {
            gate.complete(now, job, Completion::Ran { outcome, cost: measured.then_some(cost) }).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $not_started(gate: &mut $gate, now: Timestamp, job: JobId) -> bool {
            gate.complete(now, job, Completion::NotStarted).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $confirm(gate: &mut $gate, now: Timestamp, job: JobId) -> bool {
            gate.confirm(now, job).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $retry(gate: &mut $gate, now: Timestamp, job: JobId, ready_at: Timestamp) -> bool {
            gate.retry(now, job, ready_at) == Ok(Retried::Queued)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $cancel(gate: &mut $gate, now: Timestamp, job: JobId) -> bool {
            gate.cancel(now, job) == Ok(Cancelled::Queued)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $set_weight(gate: &mut $gate, tenant: TenantKey, weight: u32) -> bool {
            gate.set_weight(tenant, weight).is_ok()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $remove(gate: &mut $gate, tenant: TenantKey) -> bool {
            gate.remove_tenant(tenant)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $class(gate: &mut $gate, class: ClassId, known: &CostClass) -> u64 {
            let configured = gate.configure_class(class, *known).is_ok();
            gate.estimated_cost(class).unwrap_or(0) ^ u64::from(configured)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $close(gate: &mut $gate, immediately: bool) -> bool {
            gate.close(if immediately { CloseMode::Immediate } else { CloseMode::Drain });
            gate.is_drained()
        }

        #[unsafe(no_mangle)]
        extern "C" fn $look(gate: &$gate, now: Timestamp) -> u64 {
            let seen = gate.snapshot(now);
            let debts = gate.tenants(now).filter(|tenant| tenant.debt > 0).count();
            let waited = seen.oldest_wait.unwrap_or(Duration::ZERO).max(seen.counts.mean_wait());
            seen.queued_bytes ^ seen.counts.total_refused() ^ waited.as_secs() ^ u64::from(debts > 0)
        }
    };
}

entries!(OnBudget, Budget, u64, [
    proof_gate_new proof_gate_submit proof_gate_try_start proof_gate_poll proof_gate_poll_timeout
    proof_gate_complete proof_gate_not_started proof_gate_confirm proof_gate_retry proof_gate_cancel
    proof_gate_set_weight proof_gate_remove_tenant proof_gate_configure_class proof_gate_close proof_gate_look
]);

entries!(OnPermits, Permits<&'static AtomicPermits>, u32, [
    proof_shared_gate_new proof_shared_gate_submit proof_shared_gate_try_start proof_shared_gate_poll
    proof_shared_gate_poll_timeout proof_shared_gate_complete proof_shared_gate_not_started
    proof_shared_gate_confirm proof_shared_gate_retry proof_shared_gate_cancel proof_shared_gate_set_weight
    proof_shared_gate_remove_tenant proof_shared_gate_configure_class proof_shared_gate_close
    proof_shared_gate_look
]);

/// The limit, changed while jobs run and wait.
#[unsafe(no_mangle)]
extern "C" fn proof_gate_set_limit(gate: &mut OnBudget, limit: u64) -> u64 {
    gate.capacity_mut().set_limit(limit);
    gate.capacity().in_use()
}

/// What its jobs hold comes back.
#[unsafe(no_mangle)]
extern "C" fn proof_shared_gate_drop(gate: OnPermits) {
    drop(gate);
}
