use super::*;

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn bucket(quota: Quota) -> TokenBucket {
    TokenBucket::new(quota).unwrap()
}

fn locking(quota: Quota, max_debt: u64) -> TokenBucket {
    let policy = Policy { overshoot: Overshoot::Lock { max_debt }, ..Policy::default() };
    TokenBucket::with_policy(quota, policy).unwrap()
}

const MS: u64 = 1_000_000;

#[test]
fn a_refused_caller_is_granted_exactly_at_retry_at() {
    // Report 9 (ratelimit, redis-cell#56): obeying the hint was refused again. Thirds of a nanosecond included.
    let mut bucket = bucket(Quota::per_second(3).burst(3));
    bucket.try_acquire(at(7), 3).unwrap();
    let retry_at = bucket.peek(at(7), 1).unwrap_err().retry_at.unwrap();
    assert_eq!(retry_at, at(7 + 333_333_334));
    assert!(bucket.peek(at(retry_at.as_nanos() - 1), 1).is_err());
    assert!(bucket.try_acquire(retry_at, 1).is_ok());
}

#[test]
fn a_cost_above_the_burst_can_never_pass_and_says_so() {
    // Reports 1 (governor: a wrapped product let it through), governor#11, bucket4j#220.
    let mut bucket = bucket(Quota::per_hour(1).burst(10));
    for cost in [11, 5_124_097, u64::MAX] {
        let refused = bucket.try_acquire(at(0), cost).unwrap_err();
        assert_eq!((refused.reason, refused.retry_at), (Reason::ExceedsCapacity, None));
    }
    assert_eq!(bucket.available(at(0)), 10);
}

#[test]
fn slow_rates_polled_often_lose_nothing() {
    // Report 7 (ratelimit: 1 token an hour, polled every 7.19 ms, came after two hours; firecracker#3370).
    let mut bucket = bucket(Quota::per_hour(1).burst(1));
    bucket.try_acquire(at(0), 1).unwrap();
    let hour = 3_600_000 * MS;
    let mut now = 0;
    while now < hour {
        assert!(bucket.try_acquire(at(now), 1).is_err(), "too early at {now} ns");
        now += 7 * MS + 190_000;
    }
    assert!(bucket.try_acquire(at(hour), 1).is_ok());
}

#[test]
fn any_idle_time_fills_the_bucket_and_no_further() {
    // Reports 11 (leaky-bucket#30, BB-COR-05), bucket4j#51.
    for idle in [12 * 3_600_000 * MS, 100 * 365 * 86_400_000 * MS, u64::MAX] {
        let mut bucket = bucket(Quota::per_second(7).burst(50));
        bucket.try_acquire(at(0), 50).unwrap();
        assert_eq!(bucket.available(at(idle)), 50);
        assert!(bucket.peek(at(idle), 51).is_err());
    }
}

#[test]
fn a_clock_that_steps_back_neither_mints_nor_refuses() {
    // Reports 5 (filtermail#166, quanta#111), golang/go#56287, tikv/pd#10744.
    let mut bucket = bucket(Quota::per_second(1_000).burst(10));
    bucket.try_acquire(at(100 * MS), 5).unwrap();
    for now in [99, 101, 0, 101, 50] {
        let _ = bucket.peek(at(now * MS), 1);
    }
    assert_eq!(bucket.available(at(0)), 5, "what the latest instant would grant");
    assert!(bucket.try_acquire(at(0), 5).is_ok());
    assert!(bucket.try_acquire(at(99 * MS), 1).is_err());
    assert_eq!(bucket.available(at(101 * MS)), 1);
}

#[test]
fn remaining_is_what_the_next_call_grants() {
    // Report 3 (governor#157, #102).
    let mut bucket = bucket(Quota::per_second(10).burst(5));
    bucket.try_acquire(at(0), 5).unwrap();
    for now in (0..600).map(|ms| at(ms * MS)) {
        let left = bucket.available(now);
        assert!(bucket.peek(now, left).is_ok());
        assert!(bucket.peek(now, left + 1).is_err());
    }
}

#[test]
fn a_raised_rate_is_not_credited_for_the_past() {
    // Report 8 (ratelimit: 10 s at 1/s, then 100 000/s, gave a million tokens).
    let mut bucket = bucket(Quota::per_second(1).burst(1_000_000));
    bucket.try_acquire(at(0), 1_000_000).unwrap();
    let now = at(10_000 * MS);
    bucket.set_quota(now, Quota::per_second(100_000).burst(1_000_000), Inherit::AsIs).unwrap();
    assert_eq!(bucket.available(now), 10);
}

#[test]
fn a_new_quota_does_not_deny_for_the_age_of_the_bucket() {
    // Report 4 (the recipe of governor#273 denied for 3 599 s).
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    let now = at(3_600_000 * MS);
    bucket.try_acquire(now, 4).unwrap();
    bucket.set_quota(now, Quota::per_second(20).burst(10), Inherit::AsIs).unwrap();
    assert_eq!(bucket.available(now), 6);
}

#[test]
fn the_same_quota_again_is_the_identity() {
    let mut bucket = bucket(Quota::per_second(7).burst(50));
    bucket.try_acquire(at(0), 33).unwrap();
    bucket.charge(at(5), 0);
    let mut twice = bucket.clone();
    for inherit in [Inherit::AsIs, Inherit::Proportional] {
        twice.set_quota(at(5), Quota::per_second(7).burst(50), inherit).unwrap();
        assert_eq!(twice.level, bucket.level);
    }
}

#[test]
fn a_proportional_change_keeps_the_share_and_up_then_down_loses_less_than_a_token() {
    let mut bucket = bucket(Quota::per_second(7).burst(30));
    bucket.try_acquire(at(0), 10).unwrap();
    bucket.set_quota(at(0), Quota::per_second(7).burst(90), Inherit::Proportional).unwrap();
    assert_eq!(bucket.state(at(0)).consumed, 30);
    bucket.set_quota(at(0), Quota::per_second(7).burst(30), Inherit::Proportional).unwrap();
    assert_eq!(bucket.state(at(0)).consumed, 10);
}

#[test]
fn a_lowered_burst_refuses_until_enough_has_accrued_not_until_the_first_token() {
    // Metron#629.
    let mut bucket = bucket(Quota::per_second(10).burst(100));
    bucket.try_acquire(at(0), 100).unwrap();
    bucket.set_quota(at(0), Quota::per_second(10).burst(20), Inherit::AsIs).unwrap();
    let refused = bucket.peek(at(0), 1).unwrap_err();
    assert_eq!((refused.reason, refused.retry_at), (Reason::InDebt, Some(at(8_100 * MS))));
    assert_eq!(bucket.state(at(0)).debt, 80);
}

#[test]
fn a_bad_new_quota_changes_nothing() {
    let mut bucket = locking(Quota::per_second(10).burst(10), 5);
    let before = bucket.clone();
    assert!(bucket.set_quota(at(9), Quota::per_second(0), Inherit::Reset).is_err());
    assert!(bucket.set_quota(at(9), Quota::per_second(1).burst(u64::MAX), Inherit::Reset).is_err());
    assert_eq!(bucket, before);
}

#[test]
fn an_overshoot_is_allowed_once_then_locks_until_it_is_repaid() {
    let mut bucket = locking(Quota::per_second(10).burst(10), 100);
    bucket.try_acquire(at(0), 9).unwrap();
    bucket.try_acquire(at(0), 50).unwrap();
    assert_eq!(bucket.state(at(0)).debt, 49);
    let refused = bucket.try_acquire(at(0), 1).unwrap_err();
    assert_eq!((refused.reason, refused.retry_at), (Reason::InDebt, Some(at(4_900 * MS))));
    assert!(bucket.peek(at(4_900 * MS - 1), 1).is_err());
    assert!(bucket.try_acquire(at(4_900 * MS), 1).is_ok());
}

#[test]
fn an_overshoot_beyond_the_allowed_debt_waits_until_the_debt_would_fit() {
    let mut bucket = locking(Quota::per_second(10).burst(10), 5);
    bucket.try_acquire(at(0), 8).unwrap();
    let refused = bucket.try_acquire(at(0), 10).unwrap_err();
    assert_eq!((refused.reason, refused.retry_at), (Reason::RateExceeded, Some(at(300 * MS))));
    assert!(bucket.try_acquire(at(300 * MS), 10).is_ok());
    assert_eq!(bucket.try_acquire(at(0), 16).unwrap_err().reason, Reason::ExceedsCapacity);
}

#[test]
fn an_oversize_request_passes_when_the_bucket_is_full_and_becomes_debt() {
    // rabbitmq-stream-s3#208; jaeger-client-python#35: it must not starve.
    let policy = Policy { oversize: Oversize::WhenFull, ..Policy::default() };
    let mut bucket = TokenBucket::with_policy(Quota::per_second(10).burst(10), policy).unwrap();
    bucket.try_acquire(at(0), 1).unwrap();
    let refused = bucket.try_acquire(at(0), 25).unwrap_err();
    assert_eq!(refused.retry_at, Some(at(100 * MS)));
    assert!(bucket.try_acquire(at(100 * MS), 25).is_ok());
    assert_eq!(bucket.state(at(100 * MS)).debt, 15);
    assert_eq!(bucket.peek(at(100 * MS), 0).unwrap_err().reason, Reason::InDebt);
}

#[test]
fn a_refused_reservation_changes_nothing() {
    // golang/go#52584.
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    bucket.try_acquire(at(0), 10).unwrap();
    let before = bucket.clone();
    let refused = bucket.reserve(at(0), 5, Duration::from_millis(499)).unwrap_err();
    assert_eq!(refused.retry_at, Some(at(MS)), "in 1 ms the wait is 499 ms");
    assert_eq!(bucket, before);
    assert_eq!(bucket.reserve(at(MS), 5, Duration::from_millis(499)).unwrap().ready_at(), at(500 * MS));
}

#[test]
fn reservations_cancelled_in_any_order_leave_the_bucket_as_if_they_had_never_been() {
    // golang/go#69419, #56924; gocryptotrader#2371; cadence#6030.
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let mut bucket = bucket(Quota::per_minute(60).burst(7));
        bucket.try_acquire(at(11), 3).unwrap();
        bucket.charge(at(12), 0);
        let before = bucket.level;
        let long = Duration::from_secs(100);
        let mut all = [1, 6, 4].map(|cost| Some(bucket.reserve(at(12), cost, long).unwrap()));
        for index in order {
            let reservation = all[index].take().unwrap();
            bucket.cancel(at(12), reservation);
        }
        assert_eq!(bucket.level, before, "order {order:?}");
    }
}

#[test]
fn a_big_request_that_reserves_is_not_starved_by_small_ones_that_keep_coming() {
    // Report 13 (governor's until_n_ready: 1 200 small grants, 0 big).
    let mut bucket = bucket(Quota::per_second(200).burst(10));
    bucket.try_acquire(at(0), 10).unwrap();
    let big = bucket.reserve(at(0), 10, Duration::from_secs(1)).unwrap();
    assert_eq!(big.ready_at(), at(50 * MS), "its own accrual, whoever else asks");
    for now in (0..50).map(|ms| at(ms * MS)) {
        assert!(bucket.try_acquire(now, 1).is_err(), "small ones do not take what it is owed");
    }
}

#[test]
fn a_wait_that_is_cancelled_before_it_is_due_gives_all_of_it_back() {
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    bucket.try_acquire(at(0), 10).unwrap();
    let long = Duration::from_secs(100);
    let ahead = bucket.reserve(at(0), 10, long).unwrap();
    let mine = bucket.reserve(at(0), 10, long).unwrap();
    let now = at(mine.ready_at().as_nanos() - 1);
    bucket.cancel(now, mine);
    let mut never = TokenBucket::new(Quota::per_second(10).burst(10)).unwrap();
    never.try_acquire(at(0), 10).unwrap();
    let _ahead = never.reserve(at(0), 10, long).unwrap();
    never.charge(now, 0);
    assert_eq!(bucket.level, never.level);
    drop(ahead);
}

#[test]
fn a_cancel_after_time_gave_the_cost_back_gives_nothing_twice() {
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    let old = bucket.reserve(at(0), 10, Duration::ZERO).unwrap();
    let now = at(1_000 * MS);
    bucket.try_acquire(now, 10).unwrap();
    bucket.cancel(now, old);
    assert_eq!(bucket.available(now), 0, "the ten tokens of a second ago accrued again by themselves");
}

#[test]
fn a_settled_reservation_costs_what_it_really_cost() {
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    let estimate = bucket.reserve(at(0), 4, Duration::ZERO).unwrap();
    bucket.settle(at(0), estimate, 1);
    assert_eq!(bucket.available(at(0)), 9);
    let estimate = bucket.reserve(at(0), 2, Duration::ZERO).unwrap();
    bucket.settle(at(0), estimate, 12);
    assert_eq!(bucket.state(at(0)).debt, 3);
}

#[test]
fn a_refund_advances_first_and_gives_back_only_what_time_has_not() {
    // posthog#83938 review, ar-io-node#489 review.
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    bucket.try_acquire(at(0), 10).unwrap();
    bucket.refund(at(300 * MS), 10, at(0));
    assert_eq!(bucket.available(at(300 * MS)), 10);
    bucket.try_acquire(at(300 * MS), 10).unwrap();
    bucket.refund(at(300 * MS), 4, at(300 * MS));
    assert_eq!(bucket.available(at(300 * MS)), 4);
}

#[test]
fn a_refund_of_a_grant_before_the_quota_changed_gives_nothing_but_a_reservation_still_knows() {
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    let reservation = bucket.reserve(at(0), 6, Duration::ZERO).unwrap();
    bucket.set_quota(at(1), Quota::per_second(1).burst(10), Inherit::AsIs).unwrap();
    bucket.refund(at(1), 6, at(0));
    assert_eq!(bucket.available(at(1)), 4);
    bucket.cancel(at(1), reservation);
    assert_eq!(bucket.available(at(1)), 10);
}

#[test]
fn as_much_as_possible_takes_what_there_is() {
    let mut bucket = bucket(Quota::per_second(10).burst(10));
    assert_eq!(bucket.acquire_up_to(at(0), 4), 4);
    assert_eq!(bucket.acquire_up_to(at(0), 40), 6);
    assert_eq!(bucket.acquire_up_to(at(0), 40), 0);
}

#[test]
fn rates_beyond_the_clock_and_below_a_token_a_year_are_exact() {
    // governor#203, redis-cell#13, #14.
    let mut fast = bucket(Quota::per_second(1_000_000_001).burst(1));
    fast.try_acquire(at(0), 1).unwrap();
    assert_eq!(fast.peek(at(0), 1).unwrap_err().retry_at, Some(at(1)));
    let mut fastest = bucket(Quota::new(u64::MAX, Duration::from_nanos(1)));
    fastest.try_acquire(at(0), u64::MAX).unwrap();
    assert_eq!(fastest.available(at(1)), u64::MAX);
    let mut slow = bucket(Quota::new(1, Duration::from_nanos(u64::MAX)));
    slow.try_acquire(at(0), 1).unwrap();
    assert_eq!(slow.peek(at(0), 1).unwrap_err().retry_at, Some(Timestamp::MAX));
    slow.charge(at(0), 1);
    assert_eq!(slow.peek(at(0), 1).unwrap_err().retry_at, None, "past the end of time");
}

#[test]
fn debt_beyond_count_is_never_forgiven() {
    // The sum of two charges saturated: what was lost was granted a second time.
    let longest = Quota::new(7, Duration::from_nanos(u64::MAX)).burst(u64::MAX);
    let mut bucket = bucket(longest);
    bucket.charge(at(0), u64::MAX);
    bucket.charge(at(0), u64::MAX);
    bucket.refund(at(0), u64::MAX, at(0));
    let mut other = bucket.clone();
    other.set_quota(at(0), Quota::per_second(2).burst(1), Inherit::Proportional).unwrap();
    assert!(other.peek(Timestamp::MAX, 1).is_err());
    for now in [at(0), Timestamp::MAX] {
        let refused = bucket.try_acquire(now, 1).unwrap_err();
        assert_eq!((refused.reason, refused.retry_at), (Reason::InDebt, None));
    }
    for inherit in [Inherit::Proportional, Inherit::AsIs] {
        bucket.set_quota(at(0), Quota::per_second(2).burst(1), inherit).unwrap();
        assert!(bucket.try_acquire(at(0), 1).is_err());
    }
    bucket.set_quota(at(0), Quota::per_second(1), Inherit::Reset).unwrap();
    bucket.try_acquire(at(0), 1).unwrap();
}

#[test]
fn what_was_granted_before_the_level_was_scaled_or_reset_is_not_given_back() {
    // A cancel after a reset, at the same instant, took back what others had been granted since; after a scaling
    // down, what others had been granted before.
    let ten = Quota::per_second(10).burst(10);
    let mut reset = bucket(ten);
    let reservation = reset.reserve(at(0), 10, Duration::ZERO).unwrap();
    reset.set_quota(at(0), ten, Inherit::Reset).unwrap();
    reset.try_acquire(at(0), 10).unwrap();
    reset.refund(at(0), 10, at(0));
    reset.cancel(at(0), reservation);
    assert_eq!(reset.available(at(0)), 0);

    let mut scaled = bucket(Quota::per_second(10).burst(100));
    scaled.try_acquire(at(0), 50).unwrap();
    let reservation = scaled.reserve(at(0), 50, Duration::ZERO).unwrap();
    scaled.set_quota(at(0), ten, Inherit::Proportional).unwrap();
    scaled.cancel(at(0), reservation);
    assert!(scaled.available(at(0)) <= 5, "half of the burst was taken by somebody else");
}

#[test]
fn a_cancel_across_a_change_does_not_make_later_reservations_look_earlier() {
    let quota = Quota::per_second(10).burst(10);
    let mut bucket = bucket(quota);
    let before = bucket.reserve(at(5), 7, Duration::ZERO).unwrap();
    bucket.set_quota(at(5), quota, Inherit::AsIs).unwrap();
    bucket.cancel(at(5), before);
    let mut all = [1, 2, 3].map(|cost| Some(bucket.reserve(at(5), cost, Duration::ZERO).unwrap()));
    for index in [1, 0, 2] {
        bucket.cancel(at(5), all[index].take().unwrap());
    }
    assert_eq!(bucket.available(at(5)), 10);
}

#[test]
fn the_bucket_stays_small() {
    assert!(size_of::<TokenBucket>() <= 128);
}

#[test]
fn what_would_be_granted_is_granted_and_a_token_more_is_not() {
    let mut bucket = locking(Quota::per_second(10).burst(20), 5);
    bucket.try_acquire(at(0), 12).unwrap();
    assert_eq!((bucket.available(at(0)), bucket.grantable(at(0))), (8, 13));
    assert!(bucket.peek(at(0), 13).is_ok() && bucket.peek(at(0), 14).is_err());
    bucket.try_acquire(at(0), 13).unwrap();
    assert_eq!((bucket.available(at(0)), bucket.grantable(at(0))), (0, 0));
}
