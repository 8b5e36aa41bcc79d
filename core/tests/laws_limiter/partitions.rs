//! Shares of one limit: against lists, and what each guarantee promises.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::adapt::{Guarantee, Held, PartitionId, Partitions};
use tollgate::slots::{Heap, Inline, Storage};
use tollgate_model::ops::Step;
use tollgate_model::ops::limiter::{self as ops, MOST, NAMES, PartitionsOp, Scale};
use tollgate_model::partitions::{self as model, Partitions as Oracle, Share};

use crate::common::{at, cases};
use crate::translate::{denied, guarantee, nanos, shares};

const PAUSING: u32 = 3;

fn partitions<S: Storage>(limit: u32, what: model::Guarantee, parts: &[Share]) -> Partitions<S> {
    let most = u32::try_from(MOST).unwrap();
    Partitions::new(limit, guarantee(what), &shares(parts), most, PAUSING).unwrap()
}

fn names() -> impl Iterator<Item = Option<u32>> {
    (0..NAMES).map(Some).chain([None])
}

/// All that can be seen of them is what the oracle counts.
fn agrees<S: Storage>(got: &Partitions<S>, expected: &Oracle) -> TestCaseResult {
    got.check_invariants();
    prop_assert_eq!((got.limit(), got.in_flight()), (expected.limit, expected.in_flight()));
    prop_assert_eq!(got.shares().collect::<Vec<_>>(), shares(&expected.shares()));
    for name in names() {
        let id = name.map(PartitionId);
        prop_assert_eq!((got.busy_of(id), got.quota_of(id)), (expected.busy(name), expected.quota(name)));
    }
    Ok(())
}

fn agree<S: Storage>(
    limit: u32,
    what: model::Guarantee,
    parts: &[Share],
    run: Vec<(Step, PartitionsOp)>,
) -> TestCaseResult {
    let mut machine = partitions::<S>(limit, what, parts);
    let mut oracle = Oracle::new(limit, what, parts, MOST, PAUSING as usize).unwrap();
    let mut held: Vec<(u64, Held)> = vec![];
    // Ends of pauses, of which the next is worth a look.
    let (mut now, mut ends) = (0_u64, vec![]);
    for (step, op) in run {
        now = step.apply(now, ends.iter().copied().filter(|&end| end > now).min());
        match op {
            PartitionsOp::Acquire(name, weight) => {
                let got = machine.try_acquire(name.map(PartitionId), weight);
                let expected = oracle.acquire(name, weight);
                prop_assert_eq!(got.as_ref().err().map(|&reason| denied(reason)), expected.err());
                if let (Ok(got), Ok(number)) = (got, expected) {
                    let known = oracle.shares().iter().any(|share| Some(share.partition) == name);
                    prop_assert_eq!(got.partition(), name.filter(|_| known).map(PartitionId));
                    prop_assert_eq!(got.weight(), weight);
                    held.push((number, got));
                }
            }
            PartitionsOp::Release(which) if !held.is_empty() => {
                let (number, theirs) = held.swap_remove(which % held.len());
                prop_assert_eq!(machine.release(theirs), Ok(()));
                oracle.release(number);
            }
            PartitionsOp::Release(_) => {}
            PartitionsOp::ReleaseOthers(name, weight) => {
                let part = Share { partition: name.unwrap_or(0), ppm: 1_000_000, pause: 0 };
                let mut others = partitions::<S>(u32::MAX, model::Guarantee::Overshoot(0), &[part]);
                let theirs = others.try_acquire(name.map(PartitionId), weight).unwrap();
                let here = if name.is_none() { oracle.busy(None) } else { oracle.in_flight() };
                if here < u64::from(weight) {
                    prop_assert!(machine.release(theirs).is_err(), "stale");
                }
            }
            PartitionsOp::SetLimit(limit) => {
                machine.set_limit(limit);
                oracle.limit = limit;
            }
            PartitionsOp::SetShares(what, ref parts) => {
                let set = machine.set_shares(guarantee(what), &shares(parts)).is_ok();
                prop_assert_eq!(set, oracle.set_shares(what, parts));
            }
            PartitionsOp::Pause(name) => {
                let pause = machine.pause(at(now), name.map(PartitionId)).map(nanos);
                prop_assert_eq!(pause, oracle.pause(now, name));
                ends.extend(pause.map(|pause| now.saturating_add(pause)));
            }
        }
        agrees(&machine, &oracle)?;
    }
    for (number, theirs) in held {
        prop_assert_eq!(machine.release(theirs), Ok(()));
        oracle.release(number);
        agrees(&machine, &oracle)?;
    }
    prop_assert_eq!(machine.in_flight(), 0);
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Request {
    Comes(Option<u32>, u32),
    /// The k-th of those in flight.
    Ends(usize),
}

fn traffic() -> impl Strategy<Value = Vec<Request>> {
    let comes = (ops::name(), 0..=4_u32).prop_map(|(name, weight)| Request::Comes(name, weight));
    prop::collection::vec(prop_oneof![2 => comes, 1 => (0..64_usize).prop_map(Request::Ends)], 1..120)
}

/// A request that came, and what there was before it.
struct Asked {
    weight: u64,
    /// In flight with it.
    after: u64,
    limit: u64,
    /// What its own has for sure.
    quota: u64,
    /// Whether its own would stay within that.
    within: bool,
    refused: bool,
}

/// Runs traffic; `judge` sees each answer.
fn run(
    machine: &mut Partitions<Heap>,
    traffic: Vec<Request>,
    mut judge: impl FnMut(&Partitions<Heap>, &Asked) -> TestCaseResult,
) -> TestCaseResult {
    let mut held = vec![];
    for request in traffic {
        match request {
            Request::Comes(name, weight) => {
                let id = name.map(PartitionId);
                let (quota, permits) = (u64::from(machine.quota_of(id)), u64::from(weight));
                let within = machine.busy_of(id) + permits <= quota;
                let after = machine.in_flight() + permits;
                let limit = u64::from(machine.limit());
                let answer = machine.try_acquire(id, weight);
                let refused = answer.is_err();
                judge(machine, &Asked { weight: permits, after, limit, quota, within, refused })?;
                held.extend(answer.ok());
            }
            Request::Ends(which) if !held.is_empty() => {
                let theirs: Held = held.swap_remove(which % held.len());
                let (total, weight) = (machine.in_flight(), theirs.weight());
                machine.release(theirs).unwrap();
                prop_assert_eq!(machine.in_flight() + u64::from(weight), total, "exactly what it took");
            }
            Request::Ends(_) => {}
        }
        machine.check_invariants();
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(500))]

    /// I1 to I3.
    #[test]
    fn every_decision_on_shares_is_that_of_a_list_of_what_is_held(
        limit in 0..=24_u32,
        what in ops::guarantee(),
        parts in ops::shares(),
        run in ops::partitions(Scale::Small, 90),
    ) {
        agree::<Heap>(limit, what, &parts, run)?;
    }

    #[test]
    fn limits_and_weights_at_the_ends_of_their_type_are_shared_like_any_other(
        limit in ops::permits(Scale::Extreme, 24),
        what in ops::guarantee(),
        parts in ops::shares(),
        run in ops::partitions(Scale::Extreme, 60),
    ) {
        agree::<Inline<4>>(limit, what, &parts, run)?;
    }

    /// As many at once as there may be, to the nanosecond, whatever the clock does.
    #[test]
    fn pauses_are_given_out_as_a_list_of_their_ends_has_room(
        parts in ops::shares(),
        run in ops::pauses(90),
    ) {
        // With room for one more than there may be.
        agree::<Inline<4>>(0, model::Guarantee::Reserved, &parts, run)?;
    }

    /// Also from above a limit that was lowered, and after the shares have changed.
    #[test]
    fn reserved_shares_never_let_the_total_pass_the_limit_and_never_refuse_within_a_quota_below_it(
        before in (0..=24_u32, ops::guarantee(), ops::shares(), traffic()),
        limit in 0..=24_u32,
        parts in ops::shares(),
        requests in traffic(),
    ) {
        let (first, what, earlier, warm) = before;
        let mut machine = partitions(first, what, &earlier);
        // What is held from before is never given back.
        run(&mut machine, warm, |_, _| Ok(()))?;
        machine.set_limit(limit);
        machine.set_shares(Guarantee::Reserved, &shares(&parts)).unwrap();
        run(&mut machine, requests, |_, asked| {
            let Asked { after, limit, quota, within, refused, .. } = *asked;
            prop_assert!(refused || after <= limit, "I3: {} of {}", after, limit);
            prop_assert!(!refused || !within || after > limit, "refused within {}", quota);
            Ok(())
        })?;
    }

    #[test]
    fn reserved_shares_that_never_change_refuse_nobody_within_its_quota(
        limit in 0..=24_u32,
        parts in ops::shares(),
        requests in traffic(),
    ) {
        let mut machine = partitions(limit, model::Guarantee::Reserved, &parts);
        run(&mut machine, requests, |_, asked| {
            prop_assert!(!asked.refused || !asked.within, "refused within {}", asked.quota);
            Ok(())
        })?;
    }

    #[test]
    fn overshooting_shares_borrow_freely_below_the_limit_and_pass_it_by_their_quotas_at_most(
        limit in 0..=24_u32,
        unknown in 0..=2_u32,
        parts in ops::shares(),
        requests in traffic(),
    ) {
        let mut machine = partitions(limit, model::Guarantee::Overshoot(unknown), &parts);
        let ids: Vec<_> = parts.iter().map(|part| Some(PartitionId(part.partition))).chain([None]).collect();
        let quotas: u64 = ids.iter().map(|&id| u64::from(machine.quota_of(id))).sum();
        run(&mut machine, requests, |machine, asked| {
            let Asked { weight, after, limit, within, refused, .. } = *asked;
            prop_assert!(!refused || after > limit, "there was room");
            prop_assert!(!refused || !within || weight > limit, "refused within its quota");
            prop_assert!(machine.in_flight() <= limit + quotas, "{} in flight", machine.in_flight());
            Ok(())
        })?;
    }

    /// The bound above is met: the unknown fill the limit, and then everybody its quota.
    #[test]
    fn overshooting_shares_pass_the_limit_by_all_their_quotas_if_others_have_filled_it(
        limit in 1..=60_u32,
        parts in ops::shares(),
    ) {
        let mut machine: Partitions<Heap> = partitions(limit, model::Guarantee::Overshoot(0), &parts);
        let _all = machine.try_acquire(None, limit).unwrap();
        let mut quotas = 0;
        for part in &parts {
            let id = Some(PartitionId(part.partition));
            quotas += u64::from(machine.quota_of(id));
            while let Ok(held) = machine.try_acquire(id, 1) {
                prop_assert_eq!(held.weight(), 1);
            }
        }
        prop_assert_eq!(machine.in_flight(), u64::from(limit) + quotas);
    }
}
