//! Deficit round robin and smooth weighted round robin, their tenants in the machine itself.

use tollgate::fair::{Drr, Swrr, TenantId};
use tollgate::slots::Inline;

use crate::{Draw, Machine, Transcript};

type Deficit = Drr<Inline<8>>;
type Smooth = Swrr<Inline<8>>;

pub(crate) const DRR: Machine =
    Machine { name: "drr", ram: size_of::<Deficit>(), sequence: drr, recorded: &[] };
pub(crate) const SWRR: Machine =
    Machine { name: "swrr", ram: size_of::<Smooth>(), sequence: swrr, recorded: &[] };

const STEPS: u32 = 300;
/// One more than there is room for, so that unknown tenants are named too.
const TENANTS: u32 = 9;

fn drr(draw: &mut Draw, transcript: &mut Transcript) {
    let quantum = if draw.once_in(8) { draw.wild() } else { u64::from(draw.up_to(20)) };
    let Some(mut drr) = transcript.made(Deficit::new(TENANTS - 1, quantum)) else { return };
    for _ in 0..STEPS {
        let tenant = TenantId::new(draw.below(TENANTS));
        let cost = if draw.once_in(32) { draw.wild() } else { u64::from(draw.below(40)) };
        let head = (!draw.once_in(4)).then_some(cost);
        match draw.below(16) {
            0..=3 => transcript.note(&drr.set_head(tenant, head)),
            4 => transcript.note(&drr.pause(tenant)),
            5 => transcript.note(&drr.charge(tenant, cost)),
            6 => transcript.note(&drr.refund(tenant, cost)),
            7 => transcript.note(&drr.set_weight(tenant, draw.below(6))),
            8 if draw.once_in(4) => transcript.note(&drr.forget(tenant)),
            9 => transcript.note(&drr.serve_then_pause()),
            _ => transcript.note(&(drr.pick(), drr.serve(head))),
        }
        transcript.note(&(drr.weight(tenant), drr.credit(tenant), drr.debt(tenant), drr.is_active(tenant)));
    }
}

fn swrr(draw: &mut Draw, transcript: &mut Transcript) {
    let Some(mut swrr) = transcript.made(Smooth::new(TENANTS - 1)) else { return };
    for _ in 0..STEPS {
        let tenant = TenantId::new(draw.below(TENANTS));
        match draw.below(16) {
            0..=3 => transcript.note(&swrr.join(tenant)),
            4 => transcript.note(&swrr.leave(tenant)),
            5 => transcript.note(&swrr.pause(tenant)),
            6 => transcript.note(&swrr.give_turn_back(tenant)),
            7 => transcript.note(&swrr.set_weight(tenant, draw.below(6))),
            8 => transcript.note(&swrr.take_turn(tenant)),
            9 if draw.once_in(4) => transcript.note(&swrr.forget(tenant)),
            10 => transcript.note(&swrr.pick_ready(|other| other != tenant)),
            _ => transcript.note(&swrr.pick()),
        }
        transcript.note(&(swrr.weight(tenant), swrr.number(tenant), swrr.turns_ahead(tenant)));
    }
}
