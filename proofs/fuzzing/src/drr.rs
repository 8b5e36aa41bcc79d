//! Deficit round robin beside the textbook loop, under the definition of fairness, and at the ends of its numbers.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate_model::drr::TextbookDrr;
use tollgate_model::fairness::{Service, Share, unfair_interval};

use crate::bytes::Bytes;
use crate::lawful;

#[path = "../../../core/tests/laws_drr/queues.rs"]
mod queues;
use queues::{Queues, id};

const MOST: usize = 120;

pub(crate) fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    lawful(match bytes.byte() % 3 {
        0 => textbook(&mut bytes),
        1 => fair(&mut bytes),
        _ => extreme(&mut bytes),
    });
}

/// All jobs are there at the beginning.
fn textbook(bytes: &mut Bytes<'_>) -> TestCaseResult {
    let quantum = bytes.within(1, 7);
    let weights: Vec<u32> = (0..bytes.within(1, 5)).map(|_| bytes.within_u32(1, 4)).collect();
    let quanta: Vec<u64> = weights.iter().map(|&weight| quantum * u64::from(weight)).collect();
    let (mut queues, mut textbook) = (Queues::new(quantum, &weights), TextbookDrr::new(&quanta));
    for _ in 0..MOST {
        if !bytes.any_left() {
            break;
        }
        let (tenant, cost) = (bytes.place() % weights.len(), bytes.within(0, 39));
        queues.arrive(tenant, cost);
        textbook.enqueue(tenant, cost);
    }
    loop {
        let (ours, theirs) = (queues.serve(), textbook.serve());
        prop_assert_eq!(ours, theirs);
        if ours.is_none() {
            return Ok(());
        }
    }
}

/// They come and go.
fn fair(bytes: &mut Bytes<'_>) -> TestCaseResult {
    let quantum = bytes.within(1, 11);
    let weights: Vec<u32> = (0..bytes.within(2, 4)).map(|_| bytes.within_u32(1, 5)).collect();
    let mut queues = Queues::new(quantum, &weights);
    let share = |&weight: &u32| Share { weight: weight.into(), largest: 0 };
    let mut shares: Vec<Share> = weights.iter().map(share).collect();
    let mut services = vec![];
    for _ in 0..MOST {
        if !bytes.any_left() {
            break;
        }
        let kind = bytes.byte();
        let tenant = usize::from(kind >> 4) % weights.len();
        match kind % 16 {
            0..=6 => {
                let cost = bytes.within(0, 30);
                shares[tenant].largest = shares[tenant].largest.max(cost);
                queues.arrive(tenant, cost);
            }
            7..=12 => {
                let before = queues.backlogged();
                let served = queues.serve();
                prop_assert_eq!(
                    served.is_some(),
                    before.contains(&true),
                    "somebody is picked iff there is work"
                );
                if let Some((tenant, cost)) = served {
                    let after = queues.backlogged();
                    let backlogged =
                        before.iter().zip(&after).map(|(before, after)| *before && *after).collect();
                    services.push(Service { tenant, cost, backlogged });
                }
            }
            13 => {
                queues.cancel_head(tenant);
                services.push(Service { tenant, cost: 0, backlogged: queues.backlogged() });
            }
            _ => {
                let first = queues.drr.pick();
                prop_assert_eq!(queues.drr.pick(), first);
            }
        }
    }
    prop_assert_eq!(unfair_interval(&shares, quantum, &services), None);
    Ok(())
}

/// No cost, weight, debt or quantum overflows or loops, and somebody is picked iff there is work.
fn extreme(bytes: &mut Bytes<'_>) -> TestCaseResult {
    let quantum = bytes.edge().max(1);
    let weights: Vec<u32> = (0..bytes.within(1, 5)).map(|_| bytes.mostly_u32(9).max(1)).collect();
    let mut queues = Queues::new(quantum, &weights);
    for _ in 0..MOST {
        if !bytes.any_left() {
            break;
        }
        let (kind, cost) = (bytes.byte(), bytes.edge());
        let tenant = usize::from(kind >> 4) % weights.len();
        match kind % 8 {
            0 => queues.drr.charge(id(tenant), cost).unwrap(),
            1 => queues.drr.refund(id(tenant), cost).unwrap(),
            2 => queues.drr.set_weight(id(tenant), bytes.mostly_u32(9).max(1)).unwrap(),
            3 => queues.cancel_head(tenant),
            4 | 5 => queues.arrive(tenant, cost),
            _ => {
                let work = queues.has_work();
                prop_assert_eq!(queues.serve().is_some(), work);
            }
        }
        queues.drr.check_invariants();
    }
    while queues.serve().is_some() {}
    prop_assert!(!queues.has_work());
    Ok(())
}
