//! Picking the next tenant and serving its job, every tenant having more work, for few tenants and for many.
//!
//! The floor is a queue of tenants that are served in rotation, all jobs alike. The touching floor also counts what each
//! was served, on a cache line for each tenant: a million of them are more than the caches hold, and whoever visits
//! them in an order of its own waits for memory.

use core::hint::black_box;
use std::collections::VecDeque;

use criterion::Criterion;
use tollgate::fair::{Drr, TenantId};
use tollgate::slots::Heap;
use tollgate_benches::{Case, run as contest};

const SIZES: [u32; 4] = [10, 1_000, 100_000, 1_000_000];
/// The largest cost is this, and so is the quantum where a turn is to serve at least one job.
const LARGEST: u32 = 16;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &SIZES.map(|tenants| case("in-order", tenants, LARGEST, in_order)));
    contest(criterion, &SIZES.map(|tenants| case("shuffled", tenants, LARGEST, shuffled)));
    // Most jobs take several rounds to save up for, so tenants wait on a heap.
    contest(criterion, &SIZES.map(|tenants| case("large-jobs", tenants, 2, shuffled)));
}

fn case(name: &'static str, tenants: u32, quantum: u32, order: fn(u32) -> Vec<u32>) -> Case<'static> {
    Case::new("drr", name)
        .size(tenants)
        .alone("tollgate", move || {
            let mut drr = Drr::<Heap>::new(tenants, quantum.into()).expect("a lawful scheduler");
            for (position, tenant) in (0..).zip(order(tenants)) {
                drr.set_head(TenantId::new(tenant), Some(cost(position))).expect("a tenant it knows");
            }
            move |ordinal| {
                black_box(drr.pick().expect("all have work"));
                drr.serve(Some(cost(ordinal))).expect("one was picked");
            }
        })
        .alone("floor", move || {
            let mut queue = VecDeque::from(order(tenants));
            move |_| {
                let tenant = black_box(queue.pop_front().expect("all have work"));
                queue.push_back(tenant);
            }
        })
        .alone("floor-touching", move || {
            let mut queue = VecDeque::from(order(tenants));
            let mut lines: Vec<Line> = (0..tenants).map(|_| Line(0)).collect();
            move |ordinal| {
                let tenant = queue.pop_front().expect("all have work");
                lines[TenantId::new(tenant).index()].0 += cost(ordinal);
                queue.push_back(tenant);
            }
        })
}

/// What is known of a tenant, on a cache line of its own.
#[repr(align(64))]
struct Line(u64);

/// 1 to [`LARGEST`], in no simple order.
fn cost(ordinal: u32) -> u64 {
    u64::from(ordinal.wrapping_mul(2_654_435_769) >> 28) % u64::from(LARGEST) + 1
}

fn in_order(tenants: u32) -> Vec<u32> {
    (0..tenants).collect()
}

/// Neighbours in the order of visits are no neighbours in memory.
fn shuffled(tenants: u32) -> Vec<u32> {
    let mut order = in_order(tenants);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for last in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state >> 32).unwrap_or(0) % (last + 1);
        order.swap(last, other);
    }
    order
}
