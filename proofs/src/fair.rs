//! Deficit round robin and smooth weighted round robin, their tenants in the machine itself.

use tollgate::fair::{Drr, Swrr, TenantId};
use tollgate::slots::Inline;

use crate::store;

type Deficit = Drr<Inline<16>>;
type Smooth = Swrr<Inline<16>>;

/// What is picked, or the largest number for nobody.
fn index(picked: Option<TenantId>) -> usize {
    picked.map_or(usize::MAX, TenantId::index)
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_new(place: &mut Deficit, tenants: u32, quantum: u64) -> bool {
    store(place, Drr::new(tenants, quantum))
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_set_head(drr: &mut Deficit, tenant: TenantId, cost: u64, has_work: bool) -> bool {
    drr.set_head(tenant, has_work.then_some(cost)).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_pick(drr: &mut Deficit) -> usize {
    index(drr.pick())
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_serve(drr: &mut Deficit, next: u64, has_more: bool) -> bool {
    drr.serve(has_more.then_some(next)).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_charge(drr: &mut Deficit, tenant: TenantId, cost: u64) -> bool {
    drr.charge(tenant, cost).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_refund(drr: &mut Deficit, tenant: TenantId, cost: u64) -> bool {
    drr.refund(tenant, cost).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_set_weight(drr: &mut Deficit, tenant: TenantId, weight: u32) -> bool {
    drr.set_weight(tenant, weight).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_credit(drr: &Deficit, tenant: TenantId) -> bool {
    drr.credit(tenant).is_some_and(i128::is_negative) ^ drr.is_active(tenant)
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_new(place: &mut Smooth, tenants: u32) -> bool {
    store(place, Swrr::new(tenants))
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_join(swrr: &mut Smooth, tenant: TenantId) -> bool {
    swrr.join(tenant).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_leave(swrr: &mut Smooth, tenant: TenantId) -> bool {
    swrr.leave(tenant).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_pick(swrr: &mut Smooth, ready: extern "C" fn(TenantId) -> bool) -> usize {
    index(swrr.pick_ready(|tenant| ready(tenant)))
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_set_weight(swrr: &mut Smooth, tenant: TenantId, weight: u32) -> bool {
    swrr.set_weight(tenant, weight).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_pause(drr: &mut Deficit, tenant: TenantId) -> bool {
    drr.serve_then_pause().is_ok() | drr.pause(tenant).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_forget(drr: &mut Deficit, tenant: TenantId) -> bool {
    drr.is_settled(tenant) & drr.forget(tenant).is_ok() & drr.is_empty()
}

#[unsafe(no_mangle)]
extern "C" fn proof_drr_upcoming(drr: &Deficit, limit: usize) -> usize {
    drr.upcoming(limit).map(TenantId::index).fold(0, usize::wrapping_add)
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_pause(swrr: &mut Smooth, tenant: TenantId) -> bool {
    swrr.give_turn_back(tenant).is_ok() | swrr.pause(tenant).is_ok()
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_take_turn(swrr: &mut Smooth, tenant: TenantId) -> u32 {
    let taken = swrr.take_turn(tenant).is_ok();
    swrr.turns_ahead(tenant).unwrap_or(0) ^ u32::from(taken)
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_forget(swrr: &mut Smooth, tenant: TenantId) -> bool {
    swrr.is_settled(tenant) & swrr.forget(tenant).is_ok() & swrr.is_member(tenant)
}

#[unsafe(no_mangle)]
extern "C" fn proof_swrr_members(swrr: &Smooth) -> usize {
    swrr.members().map(TenantId::index).fold(0, usize::wrapping_add)
}
