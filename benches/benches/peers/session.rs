//! One request against limits in three dimensions: a request, tokens in, tokens out.
//!
//! Ours begins a session of one owner among many, evaluates three times and commits; the peer has one owner and no
//! session, and asks for all three at once. Ours is also measured with the owner named by a key that is hashed each
//! time, which the peer has nothing like. Time stands still on the peer's manual clock; with a clock, each reads
//! `Instant`, ours once. The floor is three counters that are compared and then added to.

use core::hint::black_box;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use criterion::Criterion;
use throttle_net::{ManualClock, MultiLimiter, Throttle};
use tollgate::Timestamp;
use tollgate::rate::rules::{Dimension, Dimensions, GroupId, Rule, RuleId, RuleSet, Target};
use tollgate::rate::{AccountId, Blame, Limits, LimitsSettings};
use tollgate_benches::{Case, run as contest};

const GROUP: &str = "session";
const OWNERS: u64 = 1_000;
const OWNERS_OF_MANY: [u32; 4] = [10, 1_000, 100_000, 1_000_000];
const GROUP_OF_REQUESTS: GroupId = GroupId(0);
const SECOND: Duration = Duration::from_secs(1);
/// As much as the peer can say; time brings it back as fast as it is used up, or nearly, on any clock that moves.
const RATE: u32 = u32::MAX;
/// Requests and tokens, small enough that none is refused on a clock that stands still.
const COSTS: [u32; 3] = [1, 15, 2];
const NOW_NS: u64 = 3_600_000_000_000;

pub(crate) fn run(criterion: &mut Criterion) {
    contest(criterion, &[given_time()]);
    contest(criterion, &[by_key()]);
    contest(criterion, &[instant()]);
    contest(criterion, &[refuse()]);
    contest(criterion, &OWNERS_OF_MANY.map(owners));
}

type Ours = Limits<u64>;

fn ours() -> (Ours, [Dimension; 3]) {
    ours_of(OWNERS, [RATE; 3])
}

fn ours_of(owners: u64, rates: [u32; 3]) -> (Ours, [Dimension; 3]) {
    let mut table = Dimensions::new();
    let names = ["requests", "input_tokens", "output_tokens"];
    let dimensions = names.map(|name| table.add(name, name).expect("a new name"));
    let rule = |(number, (dimension, rate)): (u64, (Dimension, u32))| {
        Rule::new(RuleId(number), Target::Default, GROUP_OF_REQUESTS, dimension, rate.into(), SECOND)
    };
    let rules = (0..).zip(dimensions.into_iter().zip(rates)).map(rule).collect();
    let rules = RuleSet::new(table, rules).expect("lawful rules");
    let settings = LimitsSettings::for_rules(u32::try_from(owners).expect("not too many"), &rules);
    let mut limits = Limits::new(settings, rules).expect("lawful sizes");
    for owner in 0..owners {
        let session = limits.begin(Timestamp::ZERO, &owner, None, GROUP_OF_REQUESTS).expect("room");
        limits.commit(Timestamp::ZERO, session);
    }
    (limits, dimensions)
}

/// One request of an owner whose account is known.
#[inline]
fn known(limits: &mut Ours, now: Timestamp, account: AccountId, dimensions: [Dimension; 3]) {
    let mut session = limits.begin_known(now, account, GROUP_OF_REQUESTS).expect("known");
    for (dimension, cost) in dimensions.into_iter().zip(black_box(COSTS)) {
        limits.evaluate(now, &mut session, dimension, cost.into()).expect("granted");
    }
    limits.commit(now, session);
}

fn peer<C: throttle_net::Clock + 'static>(clock: impl Fn() -> C) -> MultiLimiter {
    peer_of([RATE; 3], clock)
}

fn peer_of<C: throttle_net::Clock + 'static>(rates: [u32; 3], clock: impl Fn() -> C) -> MultiLimiter {
    let throttle = |rate| Throttle::per_second(rate).with_clock(clock());
    MultiLimiter::builder()
        .dimension("requests", throttle(rates[0]))
        .dimension("input_tokens", throttle(rates[1]))
        .dimension("output_tokens", throttle(rates[2]))
        .build()
}

fn ask(limiter: &MultiLimiter) {
    let [requests, input, output] = black_box(COSTS);
    let costs = [("requests", requests), ("input_tokens", input), ("output_tokens", output)];
    assert!(limiter.try_acquire_costs(&costs));
}

/// Time goes on by a microsecond a call.
fn given_time() -> Case<'static> {
    Case::new(GROUP, "given-time")
        .alone("tollgate", || {
            let (mut limits, dimensions) = ours();
            let account = limits.account(&7).expect("it has one");
            let mut now_ns = NOW_NS;
            move |_| {
                now_ns += 1_000;
                known(&mut limits, Timestamp::from_nanos(now_ns), account, dimensions);
            }
        })
        .alone("floor", || {
            let mut consumed = [0_u64; 3];
            move |_| {
                let costs = black_box(COSTS);
                assert!(consumed.iter().all(|consumed| *consumed < u64::MAX / 2));
                consumed.iter_mut().zip(costs).for_each(|(consumed, cost)| *consumed += u64::from(cost));
                black_box(&consumed);
            }
        })
        .alone("throttle-net", on_a_manual_clock)
}

/// The same, the owner named by its key.
fn by_key() -> Case<'static> {
    Case::new(GROUP, "given-time-by-key")
        .alone("tollgate", || {
            let (mut limits, dimensions) = ours();
            let mut now_ns = NOW_NS;
            move |_| {
                now_ns += 1_000;
                let now = Timestamp::from_nanos(now_ns);
                let mut session = limits.begin(now, &black_box(7), None, GROUP_OF_REQUESTS).expect("known");
                for (dimension, cost) in dimensions.into_iter().zip(black_box(COSTS)) {
                    limits.evaluate(now, &mut session, dimension, cost.into()).expect("granted");
                }
                limits.commit(now, session);
            }
        })
        .alone("throttle-net", on_a_manual_clock)
}

fn on_a_manual_clock() -> impl FnMut(u32) {
    let clock = Arc::new(ManualClock::new());
    let limiter = peer(|| Arc::clone(&clock));
    move |_| {
        clock.advance(Duration::from_micros(1));
        ask(&limiter);
    }
}

/// Everybody reads the clock of the operating system.
fn instant() -> Case<'static> {
    Case::new(GROUP, "instant")
        .alone("tollgate", || {
            let (mut limits, dimensions) = ours();
            let account = limits.account(&7).expect("it has one");
            let epoch = Instant::now();
            move |_| {
                let now = Timestamp::from_instant(Instant::now(), epoch);
                known(&mut limits, now, account, dimensions);
            }
        })
        .alone("throttle-net", || {
            let limiter = peer(throttle_net::SystemClock::new);
            move |_| ask(&limiter)
        })
}

/// The third dimension is used up, so what was taken of the first two goes back. Time stands still, or nearly.
fn refuse() -> Case<'static> {
    const RATES: [u32; 3] = [RATE, RATE, COSTS[2]];
    Case::new(GROUP, "refuse")
        .alone("tollgate", || {
            let (mut limits, dimensions) = ours_of(OWNERS, RATES);
            let account = limits.account(&7).expect("it has one");
            known(&mut limits, Timestamp::from_nanos(NOW_NS), account, dimensions);
            move |ordinal| {
                let now = Timestamp::from_nanos(NOW_NS + u64::from(ordinal));
                let mut session = limits.begin_known(now, account, GROUP_OF_REQUESTS).expect("known");
                let mut costs = dimensions.into_iter().zip(black_box(COSTS));
                let refused = costs.find_map(|(dimension, cost)| {
                    limits.evaluate(now, &mut session, dimension, cost.into()).err()
                });
                assert!(black_box(refused).is_some(), "the third refuses");
                limits.roll_back(now, session, Blame::Nobody);
            }
        })
        .alone("throttle-net", || {
            let limiter = peer_of(RATES, ManualClock::new);
            ask(&limiter);
            move |_| {
                let [requests, input, output] = black_box(COSTS);
                let costs = [("requests", requests), ("input_tokens", input), ("output_tokens", output)];
                assert!(!limiter.try_acquire_costs(&costs));
            }
        })
}

/// Owners by their keys, neighbours in time being no neighbours in memory. Nothing of the peers' has owners with limits
/// in several dimensions.
fn owners(size: u32) -> Case<'static> {
    Case::new(GROUP, "owners").size(size).alone("tollgate", move || {
        let (mut limits, dimensions) = ours_of(size.into(), [RATE; 3]);
        let mut now_ns = NOW_NS;
        let mut requests = 0_u32;
        move |_| {
            now_ns += 1_000;
            requests = requests.wrapping_add(1);
            let now = Timestamp::from_nanos(now_ns);
            let owner = u64::from(requests.wrapping_mul(2_654_435_769) % size);
            let mut session = limits.begin(now, &owner, None, GROUP_OF_REQUESTS).expect("known");
            for (dimension, cost) in dimensions.into_iter().zip(black_box(COSTS)) {
                limits.evaluate(now, &mut session, dimension, cost.into()).expect("granted");
            }
            limits.commit(now, session);
        }
    })
}
