//! What a limiter promises to whoever asks it, without an oracle.

use core::time::Duration;

use proptest::prelude::*;
use tollgate::Reason;
use tollgate::adapt::{
    Aimd, AimdSettings, Guarantee, Limiter, LimiterSettings, Mode, Outcome, PartitionId, Sample, Ticket,
};
use tollgate::slots::{Heap, Inline, Storage};
use tollgate_model::limiter::Rules;
use tollgate_model::ops::limiter::{self as ops, LimiterOp, MOST, Scale};
use tollgate_model::partitions::Share;

use crate::common::{at, cases};
use crate::learns::{Call, Script, Subject};
use crate::translate::{outcome, settings, shares};

type Scripted = Limiter<Script, Heap>;

fn limiter(rules: &Rules, parts: &[Share], seed: u32) -> Scripted {
    Limiter::new(at(0), Script::new(seed), settings(rules), &shares(parts), u32::try_from(MOST).unwrap())
        .unwrap()
}

/// What the others could still take of what they have for sure.
fn kept_for_others(limiter: &Scripted, id: Option<PartitionId>) -> u64 {
    let partitions = limiter.partitions();
    let others = partitions.shares().map(|share| Some(share.partition)).filter(|&other| other != id);
    others.map(|other| u64::from(partitions.quota_of(other)).saturating_sub(partitions.busy_of(other))).sum()
}

/// A limit of one that is met: of three hundred refused clients, how many are told to wait.
fn held_back<S: Storage>() -> usize {
    let part = Share { partition: 0, ppm: 1_000_000, pause: 1_000 };
    let settings = LimiterSettings { warmup: Duration::ZERO, ..LimiterSettings::default() };
    let one = Aimd::new(AimdSettings { initial: 1, min: 1, max: 1, ..AimdSettings::default() }).unwrap();
    let mut limiter: Limiter<_, S> = Limiter::new(at(0), one, settings, &shares(&[part]), 1).unwrap();
    let ask = |limiter: &mut Limiter<_, S>| limiter.try_admit(at(5), Some(PartitionId(0)), 1);
    let _only = ask(&mut limiter).unwrap();
    (0..300).filter(|_| ask(&mut limiter).unwrap_err().pause.is_some()).count()
}

#[test]
fn a_hundred_clients_are_held_back_at_once_or_as_many_as_there_is_room_for() {
    assert_eq!((held_back::<Heap>(), held_back::<Inline<4>>()), (100, 4));
}

proptest! {
    #![proptest_config(cases(400))]

    /// I2, whatever changes in between.
    #[test]
    fn a_refusal_happens_only_where_the_limit_is_enforced_warm_and_reached(
        rules in ops::rules(Scale::Small, true),
        parts in ops::shares(),
        seed in 0..=24_u32,
        run in ops::limiter(Scale::Small, 80),
    ) {
        let mut limiter = limiter(&rules, &parts, seed);
        let (mut now, mut held, mut refused) = (0, vec![], 0);
        for (step, op) in run {
            now = step.apply(now, None);
            match op {
                LimiterOp::Admit(name, weight) => {
                    let id = name.map(PartitionId);
                    let (mode, limit) = (limiter.settings().mode, u64::from(limiter.limit()));
                    let warm = limiter.stats(at(now)).warmup_left.is_zero();
                    let after = limiter.partitions().in_flight() + u64::from(weight);
                    let kept = match limiter.settings().guarantee {
                        Guarantee::Reserved => kept_for_others(&limiter, id),
                        Guarantee::Overshoot { .. } => 0,
                    };
                    match limiter.try_admit(at(now), id, weight) {
                        Ok(ticket) => held.push(ticket),
                        Err(refusal) => {
                            refused += 1;
                            prop_assert!(mode == Mode::Enforced && warm, "{:?}", mode);
                            prop_assert!(after + kept > limit, "{} and {} kept of {}", after, kept, limit);
                            let too_heavy = u64::from(weight) > limit;
                            prop_assert_eq!(refusal.reason == Reason::ExceedsLimit, too_heavy);
                        }
                    }
                }
                LimiterOp::Complete(which, ended) if !held.is_empty() => {
                    let ticket: Ticket = held.swap_remove(which % held.len());
                    limiter.complete(at(now), ticket, outcome(ended)).unwrap();
                }
                LimiterOp::Reconfigure(rules, parts) => {
                    let _answer = limiter.reconfigure(at(now), settings(&rules), &shares(&parts));
                }
                LimiterOp::Replace(seed) => limiter.replace_estimator(Script::new(seed)),
                LimiterOp::SetLearnt(limit) => limiter.change_estimator(|script| script.set(limit)),
                _ => {}
            }
            limiter.check_invariants();
        }
        let stats = limiter.stats(at(now));
        prop_assert_eq!(stats.rejected + stats.rejected_overweight, refused);
    }

    /// Whatever happens to modes, shares and estimators while they are out, and in whatever order they end.
    #[test]
    fn tickets_give_back_exactly_what_they_took(
        rules in ops::rules(Scale::Extreme, true),
        parts in ops::shares(),
        run in ops::limiter(Scale::Extreme, 80),
        order in prop::collection::vec(0..64_usize, 80),
    ) {
        let mut limiter = limiter(&rules, &parts, 20);
        // With what each took of the limit and in all.
        let mut held: Vec<(Ticket, u64, u64)> = vec![];
        for (_, op) in run {
            match op {
                LimiterOp::Admit(name, weight) => {
                    let before = limiter.stats(at(0));
                    if let Ok(ticket) = limiter.try_admit(at(0), name.map(PartitionId), weight) {
                        let after = limiter.stats(at(0));
                        let took = after.in_flight - before.in_flight;
                        let took_in_all = after.in_flight_all - before.in_flight_all;
                        prop_assert_eq!(took, if ticket.is_tracked() { u64::from(weight) } else { 0 });
                        let counts = limiter.settings().mode != Mode::Disabled;
                        prop_assert_eq!(took_in_all, if counts { u64::from(weight) } else { 0 });
                        held.push((ticket, took, took_in_all));
                    }
                }
                LimiterOp::Reconfigure(rules, parts) => {
                    let _answer = limiter.reconfigure(at(0), settings(&rules), &shares(&parts));
                }
                LimiterOp::Replace(seed) => limiter.replace_estimator(Script::new(seed)),
                _ => {}
            }
        }
        for which in order {
            if held.is_empty() {
                break;
            }
            let (ticket, took, took_in_all) = held.swap_remove(which % held.len());
            let before = limiter.stats(at(0));
            limiter.complete(at(0), ticket, Outcome::Success).unwrap();
            let after = limiter.stats(at(0));
            prop_assert_eq!(after.in_flight + took, before.in_flight);
            prop_assert_eq!(after.in_flight_all + took_in_all, before.in_flight_all);
            limiter.check_invariants();
        }
        let stats = limiter.stats(at(0));
        prop_assert_eq!((stats.in_flight, stats.in_flight_all), (0, 0));
    }

    /// So the limit that is learnt while watching is the one that enforcement would start from, whatever the limit is
    /// meanwhile. (With a window what is learnt from is capped by the limit, as the reference has it.)
    #[test]
    fn what_is_seen_while_watching_honestly_does_not_depend_on_the_limit_or_the_shares(
        limits in (0..=24_u32, 0..=24_u32),
        parts in (ops::shares(), ops::shares()),
        rules in ops::rules(Scale::Small, true),
        run in ops::limiter(Scale::Small, 80),
    ) {
        let burst = tollgate_model::burst::Rules { capacity: 0, ..rules.burst };
        let rules = Rules { mode: tollgate_model::limiter::Mode::MonitorOnly, honest: true, burst, ..rules };
        let seen = |limit: u32, parts: &[Share]| -> Vec<Sample> {
            let mut limiter = limiter(&rules, parts, limit);
            let (mut now, mut held) = (0, vec![]);
            for (step, op) in &run {
                now = step.apply(now, None);
                match *op {
                    LimiterOp::Admit(name, weight) => {
                        held.push(limiter.try_admit(at(now), name.map(PartitionId), weight).unwrap());
                    }
                    LimiterOp::Complete(which, ended) if !held.is_empty() => {
                        let ticket = held.swap_remove(which % held.len());
                        limiter.complete(at(now), ticket, outcome(ended)).unwrap();
                    }
                    _ => {}
                }
            }
            let told = limiter.estimator().told().iter();
            told.filter_map(|call| if let Call::Sample(sample, _) = call { Some(*sample) } else { None }).collect()
        };
        prop_assert_eq!(seen(limits.0, &parts.0), seen(limits.1, &parts.1));
    }

    #[test]
    fn the_warm_up_lasts_as_long_as_was_last_said_and_once_over_stays_over(
        warmup in 1..=60_u64,
        rules in ops::rules(Scale::Small, true),
        changes in prop::collection::vec((0..=9_u64, ops::rules(Scale::Small, true)), 0..6),
    ) {
        let enforced = |rules: Rules| Rules { mode: tollgate_model::limiter::Mode::Enforced, ..rules };
        let mut limiter = limiter(&Rules { warmup, ..enforced(rules) }, &[], 0);
        let (mut now, mut warmup) = (0, warmup);
        for (after, rules) in changes {
            now += after;
            limiter.reconfigure(at(now), settings(&enforced(rules)), &[]).unwrap();
            if now < warmup {
                warmup = rules.warmup;
            }
            let left = warmup.saturating_sub(now);
            prop_assert_eq!(limiter.stats(at(now)).warmup_left, Duration::from_nanos(left));
        }
        // Heavier than any limit.
        for now in [warmup.saturating_sub(1).max(now), warmup.max(now)] {
            let refused = limiter.try_admit(at(now), None, u32::MAX).is_err();
            prop_assert_eq!(refused, now >= warmup, "at {} of {}", now, warmup);
        }
    }
}
