//! Bug reports of other projects, replayed on what limits rates here; each test is named for its first report.
//!
//! Those about shared stores (effect-smol#2328, redisson#4462, shenyu#6645) are in `store_reports`, those about places in
//! flight (litellm#27955) in `slot_reports`.
#![cfg(all(feature = "std", not(tollgate_loom)))]

use core::time::Duration;

use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Refund, Rule, RuleId, RuleOvershoot, RuleSet};
use tollgate::rate::rules::{Strategy, Target};
use tollgate::rate::{
    Blame, FixedWindow, Inherit, Limits, LimitsSettings, Overshoot, Oversize, Policy, Quota, RateLimit,
    SlidingWindow, TokenBucket,
};
use tollgate::slots::Heap;
use tollgate::{Reason, Timestamp};

const S: u64 = 1_000_000_000;
const GROUP: GroupId = GroupId(0);

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn bucket(quota: Quota) -> TokenBucket {
    TokenBucket::new(quota).unwrap()
}

/// Everything here that limits a rate, to `limit` in `seconds`.
fn machines(limit: u64, seconds: u64) -> [Box<dyn RateLimit>; 3] {
    [
        Box::new(bucket(Quota::new(limit, secs(seconds)))),
        Box::new(FixedWindow::new(limit, secs(seconds), at(0)).unwrap()),
        Box::new(SlidingWindow::<Heap>::new(limit, secs(seconds), 10).unwrap()),
    ]
}

type Owners = Limits<u64>;

/// One limit of each dimension for everybody: its limit in a minute, and how it is refunded.
fn limits(of: &[(u64, Refund)]) -> (Owners, Vec<Dimension>) {
    let mut table = Dimensions::new();
    let mut rules = Vec::new();
    for (number, &(limit, refund)) in (0..).zip(of) {
        let dimension = table.add_with(&format!("d{number}"), "units", refund).unwrap();
        rules.push(Rule::new(RuleId(number), Target::Default, GROUP, dimension, limit, secs(60)));
    }
    let rules = RuleSet::new(table, rules).unwrap();
    let dimensions = rules.dimensions().iter().collect();
    (Limits::new(LimitsSettings::for_rules(4, &rules), rules).unwrap(), dimensions)
}

fn used(limits: &mut Owners, now: Timestamp, owner: u64) -> Vec<u64> {
    let account = limits.account(&owner).unwrap();
    limits.report(now, account, GROUP, None).unwrap().map(|state| state.used).collect()
}

/// And #23145, #65508; tikv/pd#10744, #8435: a clock that goes to and fro mints nothing.
#[test]
fn golang_go_56287_a_clock_that_goes_to_and_fro_grants_burst_and_rate() {
    // Over the edge of a second, half a second on and a tenth to and fro: 10 and 4; a window on each side; any window.
    for (mut machine, most) in machines(10, 1).into_iter().zip([14, 20, 10]) {
        let mut granted = 0;
        for step in 0..1_500_u64 {
            let to_and_fro = [S / 10, 0, S / 10][(step % 3) as usize];
            let now = at(7 * S / 10 + S / 1_000 * (step / 3) + to_and_fro);
            granted += u64::from(machine.try_acquire(now, 1).is_ok());
        }
        assert_eq!(granted, most);
    }
}

/// And #56924; gocryptotrader#2371; cadence#6030: sessions that are rolled back in any order were never there.
#[test]
fn golang_go_69419_rolled_back_in_any_order_is_as_if_it_had_never_been() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (mut limits, all) = limits(&[(60, Refund::default()), (90, Refund::default())]);
        let mut first = limits.begin(at(7), &1, None, GROUP).unwrap();
        limits.evaluate(at(7), &mut first, all[0], 11).unwrap();
        limits.commit(at(7), first);
        let now = at(S / 3);
        let before: Vec<_> = report(&mut limits, now);
        let mut open = [3, 20, 7].map(|cost| {
            let mut session = limits.begin(now, &1, None, GROUP).unwrap();
            limits.evaluate(now, &mut session, all[0], cost).unwrap();
            limits.evaluate(now, &mut session, all[1], cost * 2).unwrap();
            Some(session)
        });
        for which in order {
            limits.roll_back(now, open[which].take().unwrap(), Blame::Nobody);
        }
        assert_eq!(report(&mut limits, now), before, "order {order:?}");
    }
}

fn report(limits: &mut Owners, now: Timestamp) -> Vec<tollgate::rate::WindowState> {
    let account = limits.account(&1).unwrap();
    limits.report(now, account, GROUP, None).unwrap().collect()
}

#[test]
fn golang_go_52584_what_was_refused_changed_nothing() {
    let (mut limits, all) = limits(&[(5, Refund::default())]);
    let mut session = limits.begin(at(S), &1, None, GROUP).unwrap();
    limits.evaluate(at(S), &mut session, all[0], 5).unwrap();
    let before = format!("{limits:?}{session:?}");
    limits.evaluate(at(S), &mut session, all[0], 1).unwrap_err();
    limits.evaluate(at(2 * S), &mut session, all[0], 6).unwrap_err();
    assert_eq!(format!("{limits:?}{session:?}"), before);
    limits.commit(at(2 * S), session);
}

/// And udoprog/leaky-bucket#30: after any idle time there is what there is at first, and no more.
#[test]
fn bucket4j_51_no_idle_time_is_too_long() {
    for idle in [12 * 3_600 * S, 3_155_760_000 * S, u64::MAX] {
        for mut machine in machines(10, 1) {
            machine.try_acquire(at(0), 10).unwrap();
            assert_eq!(machine.available(at(idle)), 10);
            assert!(machine.try_acquire(at(idle), 10).is_ok());
            assert!(machine.try_acquire(at(idle), 1).is_err());
        }
    }
}

/// And #243; envoy#16407: nothing is lost by being asked at odd moments.
#[test]
fn varnish_modules_237_below_the_rate_nobody_is_refused_and_above_it_the_rate_is_granted() {
    let mut jitter = 1_u64;
    let mut next = |most: u64| {
        jitter = jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (jitter >> 33) % most
    };
    for (every_ns, expected) in [(S / 800, 8_000_i64), (S / 1_200, 10_000)] {
        let mut bucket = bucket(Quota::per_second(1_000).burst(2));
        let granted: i64 = (0..10 * S / every_ns)
            .map(|number| {
                let now = number * every_ns + next(every_ns / 8);
                i64::from(bucket.try_acquire(at(now), 1).is_ok())
            })
            .sum();
        assert!((granted - expected).abs() <= 2, "{granted} of {expected}");
    }
}

/// And #220; governor#11; redis-cell#56; tower-governor#65: the wait is enough and not more, said as 1 at least, and what
/// can never pass is not told to wait.
#[test]
fn bucket4j_88_the_wait_is_exact_and_never_is_never() {
    for mut machine in machines(7, 1) {
        machine.try_acquire(at(11), 5).unwrap();
        for cost in 3..=7 {
            let refused = machine.peek(at(11), cost).unwrap_err();
            let told = refused.retry_at.unwrap();
            assert!(machine.peek(told, cost).is_ok());
            assert!(machine.peek(at(told.as_nanos() - 1), cost).is_err());
        }
        let never = machine.peek(at(11), 8).unwrap_err();
        assert_eq!((never.reason, never.retry_at), (Reason::ExceedsCapacity, None));
    }
    let (mut limits, all) = limits(&[(60, Refund::default())]);
    let mut session = limits.begin(at(0), &1, None, GROUP).unwrap();
    limits.evaluate(at(0), &mut session, all[0], 60).unwrap();
    let nearly = limits.evaluate(at(S - 1), &mut session, all[0], 1).unwrap_err();
    assert_eq!(nearly.clears_in, Some(Duration::from_nanos(1)));
    assert_eq!(limits.explain(&nearly).to_string(), "60 units / 1 minute, clears in 1 ms");
    let never = limits.evaluate(at(S), &mut session, all[0], 61).unwrap_err();
    assert!(!never.waiting_helps());
    assert_eq!(limits.explain(&never).to_string(), "60 units / 1 minute, 61 at once can never pass");
    limits.commit(at(S), session);
}

/// And redis-cell#13, #14: faster than the clock, slower than a year.
#[test]
fn governor_203_rates_beyond_the_clock_are_what_they_say() {
    let mut fast = bucket(Quota::per_second(S + 1).burst(S + 1));
    fast.try_acquire(at(0), S + 1).unwrap();
    assert_eq!(fast.available(at(S)), S + 1);
    let mut slow = bucket(Quota::new(1, secs(31_557_600)));
    slow.try_acquire(at(0), 1).unwrap();
    assert_eq!(slow.peek(at(0), 1).unwrap_err().retry_at, Some(at(31_557_600 * S)));
    let mut century = bucket(Quota::new(1, secs(31_557_600)).burst(1_000));
    century.try_acquire(at(0), 1_000).unwrap();
    assert_eq!(century.peek(at(0), 500).unwrap_err().retry_at, Some(at(500 * 31_557_600 * S)));
    let mut all = bucket(Quota::new(u64::MAX, Duration::from_nanos(1)));
    all.try_acquire(at(0), u64::MAX).unwrap();
    assert_eq!(all.available(at(1)), u64::MAX);
}

/// And jaeger-client-python#35; rabbitmq-stream-s3#208: what costs more than there can ever be passes a full bucket and is
/// owed, or is refused for good; it is not told to wait for ever.
#[test]
fn envoy_46702_what_exceeds_the_capacity_does_not_starve() {
    let policy = Policy { oversize: Oversize::WhenFull, ..Policy::default() };
    let mut bucket = TokenBucket::with_policy(Quota::per_second(10).burst(5), policy).unwrap();
    bucket.try_acquire(at(0), 1).unwrap();
    let told = bucket.peek(at(0), 25).unwrap_err().retry_at.unwrap();
    bucket.try_acquire(told, 25).unwrap();
    assert_eq!(bucket.state(told).debt, 20);

    let mut table = Dimensions::new();
    let share = table.add("share", "units").unwrap();
    let overshoot = RuleOvershoot::Lock { max_debt_ppm: 999_999 };
    let rule = Rule { overshoot, ..Rule::new(RuleId(1), Target::Default, GROUP, share, 1, secs(1)) };
    let rules = RuleSet::new(table, vec![rule]).unwrap();
    let mut limits: Owners = Limits::new(LimitsSettings::for_rules(1, &rules), rules).unwrap();
    let mut session = limits.begin(at(0), &1, None, GROUP).unwrap();
    assert!(limits.evaluate(at(0), &mut session, share, 1).is_ok(), "a debt of less than one unit is none");
    limits.commit(at(0), session);
}

/// And #21327, #34774, #24282: how often and how evenly anybody looks makes no difference.
#[test]
fn envoy_19474_looking_unevenly_changes_nothing() {
    for (mut looked_at, mut left_alone) in machines(7, 1).into_iter().zip(machines(7, 1)) {
        for number in 0..500_u64 {
            let now = at(number * 31_000_007);
            for early in [29_999_999, 7, 1] {
                let _looked = looked_at.try_acquire(at(now.as_nanos().saturating_sub(early)), 8);
            }
            assert_eq!(looked_at.try_acquire(now, 2), left_alone.try_acquire(now, 2));
        }
    }
}

/// And envoyproxy/ratelimit#427; litellm#39309, #36459: what a later limit refuses took nothing from those before it, and
/// giving back cannot fail.
#[test]
fn milvus_25597_the_refusal_of_the_kth_leaves_all_others_as_they_were() {
    for refusing in 0..3 {
        let mut of = [(10, Refund::default()); 3];
        of[refusing].0 = 1;
        let (mut limits, all) = limits(&of);
        let mut session = limits.begin(at(0), &1, None, GROUP).unwrap();
        limits.roll_back(at(0), session, Blame::Nobody);
        let before = format!("{limits:?}");
        session = limits.begin(at(0), &1, None, GROUP).unwrap();
        let refused = all.iter().position(|&one| limits.evaluate(at(0), &mut session, one, 5).is_err());
        assert_eq!(refused, Some(refusing));
        limits.roll_back(at(0), session, Blame::Nobody);
        assert_eq!(format!("{limits:?}"), before);
    }
}

/// And ar-io-node#489; trillian#2025: a refund lets time pass first, is exact, happens once, never fills beyond the
/// capacity, and a client that only fails does not run for free.
#[test]
fn posthog_83938_a_refund_is_exact_once_and_by_policy() {
    let generous = Refund { after_client_error: true, after_server_error: true };
    let (mut limits, all) = limits(&[(60, Refund::default()), (60, generous)]);
    let take = |limits: &mut Owners, now| {
        let mut session = limits.begin(now, &1, None, GROUP).unwrap();
        limits.evaluate(now, &mut session, all[0], 20).unwrap();
        limits.evaluate(now, &mut session, all[1], 20).unwrap();
        session
    };
    let session = take(&mut limits, at(0));
    let other = take(&mut limits, at(0));
    limits.commit(at(0), other);
    limits.roll_back(at(5 * S), session, Blame::Server);
    assert_eq!(used(&mut limits, at(5 * S), 1), [20, 20], "5 of the 20 had accrued, 15 came back");
    let session = take(&mut limits, at(5 * S));
    limits.roll_back(at(5 * S), session, Blame::Client);
    assert_eq!(used(&mut limits, at(5 * S), 1), [40, 20]);
    let failing = (0..10).filter(|_| {
        let mut session = limits.begin(at(5 * S), &1, None, GROUP).unwrap();
        let passes = limits.evaluate(at(5 * S), &mut session, all[0], 20).is_ok();
        limits.roll_back(at(5 * S), session, Blame::Client);
        passes
    });
    assert_eq!(failing.count(), 1);
}

/// And #824, #1244, #66: reservations over the edge of a cycle get no cycle twice; each window has its own origin, and an
/// instant before it is in its first window.
#[test]
fn resilience4j_822_cycles_are_counted_once_and_from_their_own_origin() {
    let mut bucket = bucket(Quota::per_second(10));
    let ready: Vec<u64> =
        (0..40).map(|_| bucket.reserve(at(S / 2), 1, secs(60)).unwrap().ready_at().as_nanos()).collect();
    for from in &ready {
        let within = ready.iter().filter(|&ready| (*from..*from + S).contains(ready)).count();
        assert!(within <= 20, "burst and a second's worth");
    }
    assert_eq!(ready[39], S / 2 + 3 * S);
    let mut late = FixedWindow::new(3, secs(1), at(10 * S)).unwrap();
    let mut early = FixedWindow::new(3, secs(1), at(S / 4)).unwrap();
    late.try_acquire(at(0), 3).unwrap();
    early.try_acquire(at(0), 3).unwrap();
    assert_eq!(late.peek(at(9 * S), 1).unwrap_err().retry_at, Some(at(11 * S)));
    assert_eq!(early.peek(at(S), 1).unwrap_err().retry_at, Some(at(S + S / 4)));
}

/// And dotnet#92557, #129036, #77991: below what is used, the wait is until enough has come back, and it shrinks with time.
#[test]
fn metron_629_a_limit_below_use_waits_for_enough_and_the_wait_shrinks() {
    let mut bucket = bucket(Quota::per_second(10));
    bucket.try_acquire(at(0), 10).unwrap();
    bucket.set_quota(at(0), Quota::per_second(10).burst(4), Inherit::AsIs).unwrap();
    let mut sliding = SlidingWindow::<Heap>::new(10, secs(10), 10).unwrap();
    for second in 0..10 {
        sliding.try_acquire(at(second * S), 1).unwrap();
    }
    sliding.set_limit(4, Overshoot::Deny).unwrap();
    for wait in 0..7 {
        let now = at(9 * S + wait * S / 10);
        assert_eq!(bucket.peek(at(wait * S / 10), 1).unwrap_err().retry_at, Some(at(7 * S / 10)));
        assert_eq!(sliding.peek(now, 1).unwrap_err().retry_at, Some(at(17 * S)), "seven of ten have to go");
    }
    assert!(sliding.peek(at(17 * S), 1).is_ok() && sliding.peek(at(17 * S - 1), 1).is_err());
}

/// And #118, #77; upstash#39, #61: what remains is at most the limit and what the next one gets, at a limit of one and at
/// every edge.
#[test]
fn gubernator_87_what_remains_is_what_the_next_one_gets() {
    for limit in [1, 2, 7] {
        for mut machine in machines(limit, 1) {
            for number in 0..300_u64 {
                let now = at(number / 3 * S / 10 + number % 3 * 5);
                let remaining = machine.available(now);
                assert!(remaining <= limit);
                assert!(machine.peek(now, remaining).is_ok() && machine.peek(now, remaining + 1).is_err());
                let _taken = machine.try_acquire(now, 1 + number % 2);
            }
        }
    }
    let mut table = Dimensions::new();
    let requests = table.add("requests", "requests").unwrap();
    let minute = Rule::new(RuleId(1), Target::Default, GROUP, requests, 5, secs(60));
    let day =
        Rule { id: RuleId(2), limit: 7, window: secs(86_400), strategy: Strategy::Fixed, ..minute.clone() };
    let rules = RuleSet::new(table, vec![minute, day]).unwrap();
    let mut limits: Owners = Limits::new(LimitsSettings::for_rules(1, &rules), rules).unwrap();
    for number in 0..20_u64 {
        let now = at(number * 13 * S);
        let mut session = limits.begin(now, &1, None, GROUP).unwrap();
        let all = report(&mut limits, now);
        let least = all.iter().map(|state| state.remaining).min().unwrap();
        assert!(all.iter().all(|state| state.remaining <= state.limit));
        limits.evaluate(now, &mut session, requests, least + 1).unwrap_err();
        limits.evaluate(now, &mut session, requests, least).unwrap();
        limits.settle(now, &mut session, requests, least.min(1));
        limits.commit(now, session);
    }
}

/// And #157, #249, #219, #107: what is told is told of now, and what any interval grants is burst and rate, which a sliding
/// window makes the limit itself.
#[test]
fn governor_102_states_are_of_now_and_intervals_grant_burst_and_rate() {
    let mut bucket = bucket(Quota::per_second(10).burst(5));
    bucket.try_acquire(at(0), 5).unwrap();
    assert_eq!(bucket.available(at(S / 10)), 1);
    assert_eq!(bucket.available(at(3 * S / 10 - 1)), 2);
    let mut sliding = SlidingWindow::<Heap>::new(5, secs(1), 10).unwrap();
    let (mut buckets, mut slidings) = (Vec::new(), Vec::new());
    for tick in 0..400 {
        let now = S + tick * S / 100;
        buckets.extend(bucket.try_acquire(at(now), 1).is_ok().then_some(now));
        slidings.extend(sliding.try_acquire(at(now), 1).is_ok().then_some(now));
    }
    let most = |grants: &[u64]| {
        let within = |from: u64| grants.iter().filter(|&&one| (from..from + S).contains(&one)).count();
        grants.iter().map(|&from| within(from)).max().unwrap()
    };
    assert_eq!(
        (most(&buckets), most(&slidings)),
        (14, 5),
        "5 + 10 less what a whole second would add, and 5"
    );
}
