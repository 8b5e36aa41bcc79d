//! The reports about stores that lose their state, holders that never come back and limiters that cannot answer, as far as
//! they can happen within one process: a table that is made anew, a holder that is lost, a table that is full.
//!
//! What only a limiter with a shared store can show is left to it: the loss of a script cache, a failover to a replica
//! that is behind, all keys in one slot of a cluster; the lease of a crashed process, its release after expiry, half of
//! a batch applied, every key with a time to live; a store that is down or slow, and each of its policies for that.
#![cfg(all(feature = "std", not(tollgate_loom)))]

use core::time::Duration;

use tollgate::permit::{self, Bypass, Cap, InFlight, SharedInFlight};
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
use tollgate::rate::{
    Blame, FixedWindow, Keyed, Limits, LimitsSettings, Quota, RateLimit, ShardedKeyed, SlidingWindow,
    TokenBucket, WhenFull,
};
use tollgate::slots::Heap;
use tollgate::{DefaultHasher, Reason, Timestamp};

const S: u64 = 1_000_000_000;
const GROUP: GroupId = GroupId(0);
const USER: permit::Dimension = permit::Dimension::new(0).unwrap();

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
