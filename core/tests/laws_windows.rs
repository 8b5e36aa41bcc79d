//! The laws of [`FixedWindow`] and [`SlidingWindow`], against a log that is counted by scanning.
#![cfg(feature = "alloc")]

mod common;

use core::time::Duration;

use common::{at, cases};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::Reason;
use tollgate::rate::{FixedWindow, RateLimit, SlidingWindow};
use tollgate::slots::Heap;
use tollgate_model::ops::{self, RateOp, Regime, Step};
use tollgate_model::window::{Line, Log};

type Run = Vec<(Step, RateOp)>;

/// What a window does; quotas and reservations are not for it.
fn runs(regime: Regime, most: usize) -> BoxedStrategy<Run> {
    let op = prop_oneof![
        8 => ops::cost(regime).prop_map(RateOp::Acquire),
        2 => ops::cost(regime).prop_map(RateOp::Peek),
        1 => ops::cost(regime).prop_map(RateOp::Charge),
        2 => (0..64_usize, ops::cost(regime)).prop_map(|(which, cost)| RateOp::Refund(which, cost)),
    ];
    prop::collection::vec((ops::step(regime), op), 1..most).boxed()
}

/// Limit, length, slices or origin, and a run.
fn inputs() -> impl Strategy<Value = (u64, u64, u32, u64, Run)> {
    let small = (1..=9_u64, 1..=40_u64, 1..=6_u32, 0..=50_u64, runs(Regime::Small, 50));
    let real =
        (1..=500_u64, 1_000_000_000..=5_000_000_000_u64, 1..=60_u32, 0..=1_u64, runs(Regime::Real, 50));
    let edge = || ops::edge().prop_map(|value| value.max(1));
    let extreme = (edge(), edge(), 1..=5_u32, ops::edge(), runs(Regime::Extreme, 50));
    prop_oneof![3 => small, 2 => real, 2 => extreme]
}

/// Plays a run on a window and its log: `check` judges each answer, `comes_back` says whether a refund at an
/// instant of what was granted at another still counts.
fn play<W: RateLimit>(
    window: &mut W,
    limit: u64,
    run: Run,
    comes_back: impl Fn(u64, u64) -> bool,
    mut check: impl FnMut(&W, &Log, u64, u64, bool) -> TestCaseResult,
) -> Result<Log, TestCaseError> {
    let mut log = Log::default();
    let (mut now, mut retry_at) = (0, None);
    let mut lines: Vec<Line> = vec![];
    for (step, op) in run {
        now = step.apply(now, retry_at);
        match op {
            RateOp::Acquire(cost) | RateOp::Peek(cost) => {
                let looked = window.peek(at(now), cost);
                check(window, &log, now, cost, looked.is_ok())?;
                prop_assert!(looked.is_err() || cost <= limit);
                if let Err(refused) = looked {
                    prop_assert_eq!(refused.reason == Reason::ExceedsCapacity, cost > limit);
                    retry_at = refused.retry_at.map(|at| at.as_nanos());
                    if let Some(told) = refused.retry_at {
                        prop_assert!(window.peek(told, cost).is_ok(), "at {told}");
                        prop_assert!(
                            window.peek(at(told.as_nanos() - 1), cost).is_err(),
                            "1 ns before {told}"
                        );
                    } else {
                        prop_assert!(window.peek(at(u64::MAX), cost).is_err());
                    }
                }
                if matches!(op, RateOp::Acquire(_)) {
                    prop_assert_eq!(window.try_acquire(at(now), cost), looked);
                    log.observe(now);
                    if looked.is_ok() {
                        lines.push(log.grant(now, cost));
                    }
                }
            }
            RateOp::Charge(cost) => {
                window.charge(at(now), cost);
                log.charge(now, cost);
            }
            RateOp::Refund(which, cost) if !lines.is_empty() => {
                let line = lines[which % lines.len()];
                let (granted_at, left) = log.line(line);
                let cost = cost.min(left);
                window.refund(at(now), cost, at(granted_at));
                if comes_back(granted_at, log.observe(now)) {
                    log.give_back(line, cost);
                }
            }
            _ => {}
        }
        let left = window.available(at(now));
        prop_assert!(left == 0 || window.peek(at(now), left).is_ok());
        prop_assert!(left == u64::MAX || window.peek(at(now), left + 1).is_err());
    }
    Ok(log)
}

proptest! {
    #![proptest_config(cases(700))]

    /// Reports 39 (tower#842), gubernator#87, upstash#61, resilience4j#1244: the count of a window is what the log
    /// says, its own origin included, and what was charged beyond it is owed by those that follow.
    #[test]
    fn a_fixed_window_grants_what_its_log_leaves((limit, length, _, origin, run) in inputs()) {
        let mut window = FixedWindow::new(limit, Duration::from_nanos(length), at(origin)).unwrap();
        let number = |at: u64| at.saturating_sub(origin) / length;
        let mut granted = vec![];
        let log = play(
            &mut window,
            limit,
            run,
            |granted, now| number(granted) == number(now),
            |window, log, now, cost, passes| {
                let used = log.used(now, origin, length, limit);
                let left = u128::from(limit).saturating_sub(used);
                prop_assert_eq!(passes, used + u128::from(cost) <= u128::from(limit));
                prop_assert_eq!(u128::from(window.available(at(now))), left);
                if passes {
                    granted.push(log.clone().observe(now));
                }
                Ok(())
            },
        )?;
        for now in granted {
            let from = if number(now) == 0 { 0 } else { origin + number(now) * length };
            let until = origin.saturating_add((number(now)).saturating_mul(length)).saturating_add(length - 1);
            prop_assert!(log.granted(from, until) <= u128::from(limit));
        }
    }

    /// Reports governor#219, guava#5372 ("N in any T"), Metron#629, upstash#39: no window of the length, wherever
    /// it begins, sees more than the limit; and nothing that is older than a window and a slice is held against
    /// anybody.
    #[test]
    fn a_sliding_window_never_exceeds_its_limit_and_forgets_within_a_slice(
        (limit, length, slices, _, run) in inputs()
    ) {
        let made = SlidingWindow::<Heap>::new(limit, Duration::from_nanos(length), slices);
        let Ok(mut window) = made else { return Ok(()) };
        let slice = length.div_ceil(u64::from(slices));
        let memory = u128::from(slice) * (u128::from(slices) + 1);
        let memory = u64::try_from(memory).ok();
        let log = play(
            &mut window,
            limit,
            run,
            |_, _| true,
            |window, log, now, cost, passes| {
                window.check_invariants();
                let latest = log.clone().observe(now);
                let from = memory.map_or(0, |memory| latest.saturating_sub(memory - 1));
                let remembered = log.counted(from, latest);
                // A count at the end of its range is not given back.
                if !passes && log.written < u128::from(u64::MAX) {
                    prop_assert!(remembered + u128::from(cost) > u128::from(limit));
                }
                if passes {
                    let window = log.counted(latest.saturating_sub(length - 1), latest);
                    prop_assert!(window.min(u128::from(u64::MAX)) + u128::from(cost) <= u128::from(limit));
                }
                Ok(())
            },
        )?;
        prop_assert!(log.most_granted(length) <= u128::from(limit));
    }

    /// Reports 5, resilience4j#66: an instant before the latest is the latest.
    #[test]
    fn a_clock_that_steps_back_is_the_latest_clock((limit, length, slices, origin, run) in inputs()) {
        let length = Duration::from_nanos(length);
        let mut fixed = FixedWindow::new(limit, length, at(origin)).unwrap();
        let mut fixed_held = fixed.clone();
        let new = || SlidingWindow::<Heap>::new(limit, length, slices);
        let (Ok(mut sliding), Ok(mut sliding_held)) = (new(), new()) else { return Ok(()) };
        let (mut now, mut latest) = (0, 0);
        for (step, op) in run {
            now = step.apply(now, None);
            latest = now.max(latest);
            if let RateOp::Acquire(cost) = op {
                prop_assert_eq!(fixed.try_acquire(at(now), cost), fixed_held.try_acquire(at(latest), cost));
                prop_assert_eq!(sliding.try_acquire(at(now), cost), sliding_held.try_acquire(at(latest), cost));
            } else {
                let cost = now % 7;
                fixed.charge(at(now), cost);
                fixed_held.charge(at(latest), cost);
                sliding.charge(at(now), cost);
                sliding_held.charge(at(latest), cost);
            }
            prop_assert_eq!(&fixed, &fixed_held);
        }
    }
}
