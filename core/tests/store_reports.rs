//! The reports about stores that lose their state, holders that never come back and limiters that cannot answer, as far as
//! they can happen within one process: a table that is made anew, a holder that is lost, a table that is full.
//!
//! What only a limiter with a shared store can show is left to it: the loss of a script cache, a failover to a replica
//! that is behind, all keys in one slot of a cluster; the lease of a crashed process, its release after expiry, half of
//! a batch applied, every key with a time to live; a store that is down or slow, and each of its policies for that.
#![cfg(all(feature = "std", not(tollgate_loom)))]

use core::mem::ManuallyDrop;
use core::time::Duration;

use tollgate::permit::{self, Bypass, Cap, InFlight, SharedInFlight};
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleSet, Strategy, Target};
use tollgate::rate::{
    Blame, FixedWindow, Keyed, Limits, LimitsSettings, Quota, RateLimit, ShardedKeyed, SlidingWindow,
    TokenBucket, WhenFull,
};
use tollgate::slots::Heap;
use tollgate::{DefaultHasher, Reason, Timestamp};

const S: u64 = 1_000_000_000;
const GROUP: GroupId = GroupId(0);
const USER: permit::Dimension = permit::Dimension::new(0).unwrap();
const TEAM: permit::Dimension = permit::Dimension::new(1).unwrap();

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// Chance that is the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Sixty in a minute of one dimension for everybody.
fn limits(accounts: u32, when_full: WhenFull) -> (Limits<u64>, Dimension) {
    let mut table = Dimensions::new();
    let requests = table.add("requests", "requests").unwrap();
    let minute = Duration::from_secs(60);
    let rules = vec![Rule::new(RuleId(1), Target::Default, GROUP, requests, 60, minute)];
    let rules = RuleSet::new(table, rules).unwrap();
    let shared = u32::from(when_full == WhenFull::Overflow);
    let settings =
        LimitsSettings { accounts, when_full, ..LimitsSettings::for_rules(accounts + shared, &rules) };
    (Limits::new(settings, rules).unwrap(), requests)
}

fn used(limits: &mut Limits<u64>, now: Timestamp, owner: u64) -> u64 {
    let account = limits.account(&owner).unwrap();
    limits.report(now, account, GROUP, None).unwrap().map(|state| state.used).sum()
}

/// And PyrateLimiter#182, new-api#4782, lua-resty#9: each loss of everything at any instant costs one burst more at most,
/// and what comes back from before the loss makes no room for work that really ran.
#[test]
fn effect_smol_2328_each_loss_of_state_grants_one_burst_more_at_most() {
    const BURST: u64 = 10;
    let fresh = || -> [Box<dyn RateLimit>; 3] {
        [
            Box::new(TokenBucket::new(Quota::per_second(BURST)).unwrap()),
            Box::new(FixedWindow::new(BURST, Duration::from_secs(1), at(0)).unwrap()),
            Box::new(SlidingWindow::<Heap>::new(BURST, Duration::from_secs(1), 10).unwrap()),
        ]
    };
    let mut beyond = [0; 3];
    for seed in 0..200 {
        let mut chance = Chance(seed);
        for (kind, mut machine) in fresh().into_iter().enumerate() {
            let (mut now, mut ran, mut lost) = (0, 0, 0);
            let mut open: Vec<(u64, u64)> = vec![];
            for _ in 0..600 {
                now += chance.below(S / 40);
                if chance.below(100) == 0 {
                    machine = fresh().into_iter().nth(kind).unwrap();
                    lost += 1;
                }
                let cost = 1 + chance.below(4);
                if machine.try_acquire(at(now), cost).is_ok() {
                    open.push((now, cost));
                    ran += cost;
                }
                if chance.below(60) == 0 && !open.is_empty() {
                    let (granted_at, cost) = open.swap_remove(chance.below(open.len() as u64) as usize);
                    machine.refund(at(now), cost, at(granted_at));
                    ran -= cost;
                }
                assert!(machine.available(at(now)) <= BURST);
            }
            let most = BURST * (1 + lost) + BURST * now.div_ceil(S);
            assert!(ran <= most, "seed {seed}, kind {kind}: {ran} of {most} with {lost} losses");
            beyond[kind] += u32::from(ran > most - BURST * lost);
        }
    }
    assert!(beyond.iter().all(|&beyond| beyond > 50), "{beyond:?} of 200 had more than without a loss");
}

#[test]
fn effect_smol_2328_each_key_of_a_table_made_anew_gets_one_burst_more_at_most() {
    const BURST: u64 = 5;
    let fresh = |when_full| {
        let quota = Quota::per_second(10).burst(BURST);
        let shared = ShardedKeyed::with_hasher(quota, 4, when_full, 2, DefaultHasher::new()).unwrap();
        (Keyed::<u64>::new(quota, 4, when_full).unwrap(), shared)
    };
    for (seed, when_full) in (0..50).flat_map(|seed| [(seed, WhenFull::Refuse), (seed, WhenFull::Overflow)]) {
        let (mut chance, mut now, mut lost) = (Chance(seed), 0, 0);
        let (mut owned, mut shared) = fresh(when_full);
        let mut granted = [[0; 8]; 2];
        for _ in 0..2_000 {
            now += chance.below(S / 50);
            if chance.below(250) == 0 {
                (owned, shared) = fresh(when_full);
                lost += 1;
            }
            let (key, cost) = (chance.below(8), 1 + chance.below(3));
            granted[0][key as usize] += cost * u64::from(owned.try_acquire(at(now), &key, cost).is_ok());
            granted[1][key as usize] += cost * u64::from(shared.try_acquire(at(now), &key, cost).is_ok());
        }
        let most = BURST * (1 + lost) + now / (S / 10);
        assert!(granted.iter().flatten().all(|&granted| granted <= most), "{granted:?}, {most}, {seed}");
        owned.check_invariants();
        shared.check_invariants();
    }
}

/// A session, a ticket or a slot from before the loss is worth nothing in what was made since: it is refused or ignored.
#[test]
fn effect_smol_2328_what_was_granted_before_the_loss_takes_nothing_from_who_came_after() {
    let (mut before, requests) = limits(2, WhenFull::Refuse);
    let mut old = [1, 1, 1, 1].map(|owner| before.begin(at(0), &owner, None, GROUP).unwrap());
    before.evaluate(at(0), &mut old[0], requests, 50).unwrap();
    before.evaluate(at(0), &mut old[1], requests, 10).unwrap();
    let [first, mut second, third, fourth] = old;

    let (mut after, _) = limits(1, WhenFull::Refuse);
    let mut session = after.begin(at(0), &2, None, GROUP).unwrap();
    after.evaluate(at(0), &mut session, requests, 60).unwrap();
    after.roll_back(at(0), first, Blame::Nobody);
    assert_eq!(used(&mut after, at(0), 2), 60, "a roll-back");
    after.settle(at(0), &mut second, requests, 0);
    assert_eq!(used(&mut after, at(0), 2), 60, "a settlement");
    let denied = after.evaluate(at(60 * S), &mut second, requests, 1).unwrap_err();
    assert_eq!(denied.reason, Reason::TenantRemoved);
    for stale in [second, third, fourth] {
        after.commit(at(60 * S), stale);
    }
    let newcomer = after.begin(at(120 * S), &3, None, GROUP).map(|_| ()).unwrap_err();
    assert_eq!(newcomer.reason, Reason::KeyTableFull, "whoever has a session open is not forgotten");
    after.roll_back(at(120 * S), session, Blame::Nobody);
    after.check_invariants();

    let fresh = || InFlight::<u64>::new(4, 1).unwrap();
    let (mut before, mut after) = (fresh(), fresh());
    after.set_cap(USER, Cap::At(1));
    let old = before.try_acquire(&[(USER, &1)], Bypass::None).unwrap();
    let held = after.try_acquire(&[(USER, &2)], Bypass::None).unwrap();
    assert!(after.release(old).is_err());
    assert_eq!(after.held(USER, &2), 1);
    assert!(after.try_acquire(&[(USER, &2)], Bypass::None).is_err());
    after.release(held).unwrap();

    let (before, after) =
        (SharedInFlight::<u64>::new(4, 1).unwrap(), SharedInFlight::<u64>::new(4, 1).unwrap());
    let old = before.try_acquire(&[(USER, &1)], Bypass::None).unwrap();
    let held = after.try_acquire(&[(USER, &1)], Bypass::None).unwrap();
    drop(old);
    assert_eq!((before.held(USER, &1), after.held(USER, &1)), (0, 1));
    drop(held);
}

/// And #4086, #4091: what a lost holder had stays held, so nobody has too much; gauges show it, everybody else goes on, and
/// an operator can make up for it.
#[test]
fn redisson_4462_what_a_lost_holder_had_stays_held_and_nobody_gets_more() {
    let mut owned = InFlight::<u64>::new(8, 1).unwrap();
    let shared = SharedInFlight::<u64>::new(8, 1).unwrap();
    owned.set_cap(USER, Cap::At(2));
    shared.set_cap(USER, Cap::At(2));
    drop(owned.try_acquire(&[(USER, &1)], Bypass::None).unwrap());
    let _lost = ManuallyDrop::new(shared.try_acquire(&[(USER, &1)], Bypass::None).unwrap());
    let mut running = vec![];
    let granted = (0..10).filter(|_| {
        let (one, other) =
            (owned.try_acquire(&[(USER, &1)], Bypass::None), shared.try_acquire(&[(USER, &1)], Bypass::None));
        assert_eq!(one.is_ok(), other.is_ok());
        let granted = one.is_ok();
        running.extend(one.ok().zip(other.ok()));
        granted
    });
    assert_eq!(granted.count(), 1, "two less the one that is lost");
    assert!(owned.try_acquire(&[(USER, &2)], Bypass::None).map(|ticket| owned.release(ticket)).is_ok());
    assert!(shared.try_acquire(&[(USER, &2)], Bypass::None).is_ok());
    owned.set_override(USER, &1, Some(Cap::At(3))).unwrap();
    shared.set_override(USER, &1, Some(Cap::At(3))).unwrap();
    let made_up = owned.try_acquire(&[(USER, &1)], Bypass::None).unwrap();
    let slot = shared.try_acquire(&[(USER, &1)], Bypass::None).unwrap();
    assert!(owned.try_acquire(&[(USER, &1)], Bypass::None).is_err());
    owned.release(made_up).unwrap();
    drop(slot);
    for (ticket, slot) in running {
        owned.release(ticket).unwrap();
        drop(slot);
    }
    assert_eq!(
        (owned.held(USER, &1), shared.held(USER, &1)),
        (1, 1),
        "it shows for as long as the table lasts"
    );
}

/// A session that is lost keeps what it took, which time gives back, and keeps its account; so it cannot be forgiven.
#[test]
fn redisson_4462_a_lost_session_keeps_what_it_took_until_time_gives_it_back() {
    let (mut limits, requests) = limits(1, WhenFull::Refuse);
    let mut lost = limits.begin(at(0), &1, None, GROUP).unwrap();
    limits.evaluate(at(0), &mut lost, requests, 60).unwrap();
    drop(lost);
    let mut next = limits.begin(at(0), &1, None, GROUP).unwrap();
    assert_eq!(limits.evaluate(at(0), &mut next, requests, 1).unwrap_err().reason, Reason::RateExceeded);
    limits.evaluate(at(S), &mut next, requests, 1).unwrap();
    limits.commit(at(S), next);
    assert_eq!(used(&mut limits, at(200 * S), 1), 0);
    let refused = limits.begin(at(u64::MAX), &2, None, GROUP).map(drop).unwrap_err();
    assert_eq!(refused.reason, Reason::KeyTableFull);
}

/// And openlinker#2019: given back when its entry has gone, and another is in its place, it is stale and takes nothing.
#[test]
fn redisson_6343_a_release_after_the_entry_has_gone_takes_nothing_from_who_is_there_now() {
    let (mut limits, requests) = limits(1, WhenFull::Refuse);
    let mut session = limits.begin(at(0), &1, None, GROUP).unwrap();
    limits.evaluate(at(0), &mut session, requests, 40).unwrap();
    // Another strategy: the meter that granted is gone, and the one in its place was charged with what it counted.
    let mut table = Dimensions::new();
    let same = table.add("requests", "requests").unwrap();
    let strategy = Strategy::Fixed;
    let rule =
        Rule { strategy, ..Rule::new(RuleId(2), Target::Default, GROUP, same, 60, Duration::from_secs(60)) };
    limits.replace_rules(at(0), RuleSet::new(table, vec![rule]).unwrap());
    let mut other = limits.begin(at(0), &1, None, GROUP).unwrap();
    limits.evaluate(at(0), &mut other, requests, 20).unwrap();
    limits.roll_back(at(0), session, Blame::Nobody);
    assert_eq!(used(&mut limits, at(0), 1), 60, "nothing came back");
    limits.commit(at(0), other);
    // Forgotten and known again: the id of its account is stale, and nobody else's.
    let account = limits.account(&1).unwrap();
    let session = limits.begin(at(60 * S), &2, None, GROUP).unwrap();
    let stale = limits.begin_known(at(60 * S), account, GROUP).map(drop).unwrap_err();
    assert_eq!(stale.reason, Reason::TenantRemoved);
    assert!(limits.report(at(60 * S), account, GROUP, None).is_err());
    assert!(limits.reset(at(60 * S), account, GROUP, requests).is_err());
    limits.commit(at(60 * S), session);
}

/// A batch that fails part-way, by a cap or by a full table, leaves nothing behind, whichever part it is.
#[test]
fn redisson_6302_a_batch_that_fails_part_way_leaves_nothing() {
    let keys: Vec<u64> = (0..8).collect();
    for failing in 0..8 {
        for full in [false, true] {
            let capacity = if full { 1 + failing } else { 9 };
            let mut owned = InFlight::<u64>::new(capacity, 1).unwrap();
            let shared = SharedInFlight::<u64>::with_hasher(capacity, 1, 1, DefaultHasher::new()).unwrap();
            owned.set_cap(TEAM, Cap::At(0));
            shared.set_cap(TEAM, Cap::At(0));
            let held = owned.try_acquire(&[(USER, &100)], Bypass::None).unwrap();
            let slot = shared.try_acquire(&[(USER, &100)], Bypass::None).unwrap();
            let dimension = |place| if place == failing && !full { TEAM } else { USER };
            let batch: Vec<_> = (0..).zip(&keys).map(|(place, key)| (dimension(place), key)).collect();
            let reason = if full { Reason::KeyTableFull } else { Reason::ExceedsLimit };
            assert_eq!(owned.try_acquire(&batch, Bypass::None).map(drop).unwrap_err().reason, reason);
            assert_eq!(shared.try_acquire(&batch, Bypass::None).map(drop).unwrap_err().reason, reason);
            assert_eq!((owned.len(), shared.len()), (1, 1), "{failing}");
            owned.release(held).unwrap();
            drop(slot);
            assert!(owned.is_empty() && shared.is_empty());
        }
    }
}

/// Every key has an end: the time its bucket takes to be full, and no entry outlasts it for long.
#[test]
fn redisson_4091_no_key_stays_after_it_has_recovered() {
    let quota = Quota::per_second(10).burst(10);
    let mut owned = Keyed::<u64>::new(quota, 100, WhenFull::Refuse).unwrap();
    let shared = ShardedKeyed::<u64>::new(quota, 100, WhenFull::Refuse).unwrap();
    for key in 0..90 {
        owned.try_acquire(at(key), &key, 1 + key % 10).unwrap();
        shared.try_acquire(at(key), &key, 1 + key % 10).unwrap();
    }
    assert_eq!((owned.forget_recovered(at(S / 20)), shared.forget_recovered(at(S / 20))), (0, 0));
    assert_eq!((owned.forget_recovered(at(2 * S)), shared.forget_recovered(at(2 * S))), (90, 90));
    assert!(owned.is_empty() && shared.snapshot().held == 0);
}

/// And hiero#5684, limitador#288: a table that has no room answers as it was told to, counts that it did, harms nobody who is
/// known, and when there is room again nobody pays for what was refused.
#[test]
fn shenyu_6645_a_full_table_refuses_newcomers_counts_them_and_charges_nothing() {
    let quota = Quota::per_second(10).burst(5);
    let mut owned = Keyed::<u64>::new(quota, 3, WhenFull::Refuse).unwrap();
    let shared =
        ShardedKeyed::<u64>::with_hasher(quota, 3, WhenFull::Refuse, 1, DefaultHasher::new()).unwrap();
    for key in 0..3 {
        owned.try_acquire(at(0), &key, 2).unwrap();
        shared.try_acquire(at(0), &key, 2).unwrap();
    }
    for newcomer in 10..20 {
        for answer in [owned.try_acquire(at(0), &newcomer, 1), shared.try_acquire(at(0), &newcomer, 1)] {
            assert_eq!(answer.unwrap_err().reason, Reason::KeyTableFull);
        }
        assert!(owned.charge(at(0), &newcomer, 9).is_err() && shared.charge(at(0), &newcomer, 9).is_err());
    }
    for snapshot in [owned.snapshot(), shared.snapshot()] {
        assert_eq!((snapshot.full, snapshot.held, snapshot.overflowed), (20, 3, 0));
    }
    for key in 0..3 {
        assert_eq!((owned.available(at(0), &key), shared.available(at(0), &key)), (3, 3));
        assert!(owned.try_acquire(at(0), &key, 3).is_ok() && shared.try_acquire(at(0), &key, 3).is_ok());
    }
    for newcomer in 10..13 {
        assert!(owned.try_acquire(at(S), &newcomer, 5).is_ok(), "all of its burst");
        assert!(shared.try_acquire(at(S), &newcomer, 5).is_ok());
    }
    assert_eq!((owned.snapshot().full, shared.snapshot().full), (20, 20));

    let (mut limits, requests) = limits(1, WhenFull::Refuse);
    let mut first = limits.begin(at(0), &1, None, GROUP).unwrap();
    limits.evaluate(at(0), &mut first, requests, 30).unwrap();
    for newcomer in 10..20 {
        let refused = limits.begin(at(0), &newcomer, None, GROUP).map(drop).unwrap_err();
        assert_eq!(refused.reason, Reason::KeyTableFull);
    }
    assert_eq!((limits.accounts(), used(&mut limits, at(0), 1)), (1, 30));
    limits.commit(at(0), first);
    let mut later = limits.begin(at(30 * S), &10, None, GROUP).unwrap();
    limits.evaluate(at(30 * S), &mut later, requests, 60).unwrap();
    limits.commit(at(30 * S), later);
    limits.check_invariants();
}

/// Whoever has no place shares one bucket, jointly held to one quota, and when there is room again each has its own, full.
#[test]
fn shenyu_6645_a_full_table_that_shares_grants_one_quota_more_and_forgets_it_in_time() {
    let quota = Quota::per_second(10).burst(5);
    let mut owned = Keyed::<u64>::new(quota, 3, WhenFull::Overflow).unwrap();
    let shared =
        ShardedKeyed::<u64>::with_hasher(quota, 3, WhenFull::Overflow, 1, DefaultHasher::new()).unwrap();
    for key in 0..3 {
        owned.try_acquire(at(0), &key, 5).unwrap();
        shared.try_acquire(at(0), &key, 5).unwrap();
    }
    let granted = (10..20).filter(|newcomer| {
        let one = owned.try_acquire(at(0), newcomer, 1);
        assert_eq!(one, shared.try_acquire(at(0), newcomer, 1));
        one.is_ok()
    });
    assert_eq!(granted.count(), 5, "of ten");
    for snapshot in [owned.snapshot(), shared.snapshot()] {
        assert_eq!((snapshot.overflowed, snapshot.refused, snapshot.full), (5, 5, 0));
    }
    for newcomer in 10..13 {
        assert_eq!((owned.available(at(S), &newcomer), shared.available(at(S), &newcomer)), (5, 5));
        assert!(owned.try_acquire(at(S), &newcomer, 5).is_ok() && owned.holds(&newcomer));
        assert!(shared.try_acquire(at(S), &newcomer, 5).is_ok());
    }
    assert_eq!((owned.snapshot().overflowed, shared.snapshot().overflowed), (5, 5));

    let (mut limits, requests) = limits(1, WhenFull::Overflow);
    let mut take = |now, owner: u64, cost| {
        let mut session = limits.begin(now, &owner, None, GROUP).unwrap();
        let passes = limits.evaluate(now, &mut session, requests, cost).is_ok();
        limits.commit(now, session);
        passes
    };
    assert!(take(at(0), 1, 60));
    let granted = (10..20).filter(|&newcomer| take(at(0), newcomer, 20)).count();
    assert_eq!(granted, 3, "sixty, for all of them");
    assert!(take(at(60 * S), 10, 60), "a place of its own now");
    assert!(take(at(60 * S), 11, 60), "and what they share is unused again");
    assert!(!take(at(60 * S), 12, 1));
}
