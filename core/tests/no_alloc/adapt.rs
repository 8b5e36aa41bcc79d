//! Estimators, what collects samples for them, and the limiter around one.

use core::time::Duration;
use std::collections::VecDeque;

use tollgate::adapt::{
    Aimd, AimdSettings, AtomicWindow, Burst, BurstSettings, Estimator, Gradient, Gradient2,
    Gradient2Settings, GradientSettings, Guarantee, Knee, KneeSettings, Limiter, LimiterSettings, Mode,
    OpenSearchVegas, OpenSearchVegasSettings, Outcome, PartitionId, Partitions, Sample, Share, Ticket,
    Tracked, Vegas, VegasSettings, Window, WindowSettings,
};
use tollgate::slots::Heap;

use crate::{OPERATIONS, allocations, at};

/// A drop now and then, and something that says nothing.
const fn outcome(number: u64) -> Outcome {
    match number % 40 {
        0 => Outcome::Dropped,
        1 => Outcome::Ignored,
        _ => Outcome::Success,
    }
}

/// 5 ms and a little, and much more for a while, so that limits go down as well as up.
const fn rtt(number: u64) -> Duration {
    let load = if number % 4_000 < 3_000 { 1 } else { 9 };
    Duration::from_micros((5_000 + number % 977) * load)
}

/// Teaches an estimator: limits it had, least and greatest, and what it allocated.
fn taught(estimator: &mut dyn Estimator) -> (u32, u32, u64) {
    let (mut least, mut most) = (u32::MAX, 0);
    let counted = allocations(|number| {
        let started = at(number * 13);
        let in_flight = estimator.limit();
        let limit =
            estimator.on_sample(&Sample { started, rtt: rtt(number), in_flight, outcome: outcome(number) });
        (least, most) = (least.min(limit), most.max(limit));
        if number % 9 == 0 {
            estimator.on_reject(started);
            let _baseline = estimator.no_load_rtt();
        }
        if estimator.poll_timeout().is_some_and(|due| due <= started) {
            estimator.on_tick(started);
        }
    });
    (least, most, counted)
}

fn gradients() -> [Box<dyn Estimator>; 4] {
    let (gradient, gradient2) = (GradientSettings::default(), Gradient2Settings::default());
    [
        Box::new(Gradient::new(gradient).unwrap()),
        Box::new(Gradient::new(GradientSettings::netflix()).unwrap()),
        Box::new(Gradient2::new(gradient2).unwrap()),
        Box::new(Gradient2::new(Gradient2Settings::netflix()).unwrap()),
    ]
}

fn others() -> [Box<dyn Estimator>; 6] {
    [
        Box::new(Aimd::new(AimdSettings::default()).unwrap()),
        Box::new(Aimd::new(AimdSettings::netflix()).unwrap()),
        Box::new(Vegas::new(VegasSettings::default()).unwrap()),
        Box::new(Vegas::new(VegasSettings::netflix()).unwrap()),
        Box::new(OpenSearchVegas::new(OpenSearchVegasSettings::default()).unwrap()),
        Box::new(Knee::new(KneeSettings::default()).unwrap()),
    ]
}

#[test]
fn estimators_do_not_allocate() {
    for (place, mut estimator) in gradients().into_iter().chain(others()).enumerate() {
        let (least, most, counted) = taught(&mut *estimator);
        assert_eq!(counted, 0, "estimator {place}");
        assert!(least < most, "estimator {place} learnt nothing");
    }
}

#[test]
fn what_stands_before_an_estimator_does_not_allocate() {
    let aimd = || Aimd::new(AimdSettings::default()).unwrap();
    let burst = BurstSettings { capacity: 7, close_after: 3, open_after: 1 };
    let min_window = Duration::from_micros(900);
    let average = WindowSettings { min_window, ..WindowSettings::default() };
    // Few are kept, so that they are thinned out again and again.
    let tracked = Tracked::Percentile { rank: 0.9, capacity: 4 };
    let percentile = WindowSettings { tracked, ..average };
    let all: [Box<dyn Estimator>; 3] = [
        Box::new(Burst::new(aimd(), burst).unwrap()),
        Box::new(Window::<_, Heap>::new(average, aimd()).unwrap()),
        Box::new(Window::<_, Heap>::new(percentile, aimd()).unwrap()),
    ];
    for (place, mut before) in all.into_iter().enumerate() {
        let (least, most, counted) = taught(&mut *before);
        assert_eq!(counted, 0, "number {place}");
        assert!(least < most, "number {place} learnt nothing");
    }
}

#[test]
fn an_atomic_window_does_not_allocate() {
    let window = AtomicWindow::new(Duration::from_micros(100), 5, 10).unwrap();
    let mut aimd = Aimd::new(AimdSettings::default()).unwrap();
    let mut handed_over = 0;
    let counted = allocations(|number| {
        let collected = window.record(at(number), rtt(number), 20, outcome(number));
        let collected = if number % 500 == 0 { window.take(at(number)) } else { collected };
        if let Some(collected) = collected {
            handed_over += 1;
            collected.teach(&mut aimd);
        }
    });
    assert_eq!(counted, 0);
    assert!(handed_over > 500, "{handed_over}");
}

/// Shares of up to four partitions; which, and how much, changes with the number.
fn shares(number: u64) -> [Share; 4] {
    let first = u32::try_from(number % 5).unwrap();
    [0, 1, 2, 3].map(|place| Share {
        partition: PartitionId(first + place),
        share_ppm: 250_000 - 50_000 * place,
        pause: Duration::from_micros(u64::from(place) * 3),
    })
}

fn given(shares: &[Share], number: u64) -> &[Share] {
    &shares[..usize::try_from(number % 5).unwrap()]
}

/// One of the partitions that come and go, or none.
fn partition(number: u64) -> Option<PartitionId> {
    (!number.is_multiple_of(11)).then(|| PartitionId(u32::try_from(number % 8).unwrap()))
}

#[test]
fn partitions_do_not_allocate() {
    for guarantee in [Guarantee::Reserved, Guarantee::Overshoot { unknown_reserve: 1 }] {
        let mut partitions = Partitions::<Heap>::new(20, guarantee, &[], 4, 3).unwrap();
        let mut held = Vec::with_capacity(OPERATIONS as usize);
        let (mut refused, mut paused, mut unlawful) = (0, 0, 0);
        let counted = allocations(|number| {
            let weight = 1 + u32::try_from(number % 3).unwrap();
            match partitions.try_acquire(partition(number), weight) {
                Ok(one) => held.push(one),
                Err(_) => {
                    refused += 1;
                    paused += u64::from(partitions.pause(at(number), partition(number)).is_some());
                }
            }
            if number % 3 > 0
                && let Some(one) = held.pop()
            {
                partitions.release(one).unwrap();
            }
            if number % 20 == 0 {
                let shares = shares(number);
                partitions.set_shares(guarantee, given(&shares, number / 20)).unwrap();
                let twice = [shares[0]; 2];
                unlawful += u64::from(partitions.set_shares(guarantee, &twice).is_err());
            }
            partitions.set_limit(10 + u32::try_from(number / 30 % 20).unwrap());
            let quotas: u32 =
                partitions.shares().map(|share| partitions.quota_of(Some(share.partition))).sum();
            assert!(quotas <= 40 && partitions.busy_of(None) <= partitions.in_flight());
        });
        assert_eq!(counted, 0);
        assert!([refused, paused, unlawful].iter().all(|&times| times > 50), "{refused} {paused} {unlawful}");
    }
}

#[test]
fn a_limiter_does_not_allocate() {
    limiter_on(Knee::new(KneeSettings::default()).unwrap(), || Knee::new(KneeSettings::default()).unwrap());
    limiter_on(Aimd::new(AimdSettings::default()).unwrap(), || Aimd::new(AimdSettings::default()).unwrap());
}

fn limiter_on<E: Estimator>(estimator: E, another: fn() -> E) {
    let settings = LimiterSettings { warmup: Duration::from_millis(1), ..LimiterSettings::default() };
    let mut limiter = Limiter::<_, Heap>::new(at(0), estimator, settings, &[], 4).unwrap();
    let mut held: VecDeque<Ticket> = VecDeque::with_capacity(OPERATIONS as usize);
    let (mut refused, mut told, mut unlawful) = (0, 0, 0);
    let counted = allocations(|number| {
        let now = at(number);
        match limiter.try_admit(now, partition(number), 1 + u32::try_from(number % 2).unwrap()) {
            Ok(ticket) => held.push_back(ticket),
            Err(refusal) => {
                refused += 1;
                told += u64::from(refusal.retry_after.is_some());
            }
        }
        // Now more come than go, now more go than come.
        for _ in 0..if number % 900 < 600 { number % 2 } else { 3 } {
            if let Some(ticket) = held.pop_front() {
                limiter.complete(now, ticket, outcome(number)).unwrap();
            }
        }
        if number % 50 == 0 {
            let shares = shares(number);
            let mode = [Mode::Enforced, Mode::MonitorOnly, Mode::Enforced, Mode::Disabled];
            let changed = LimiterSettings {
                mode: mode[usize::try_from(number / 1_000 % 4).unwrap()],
                burst: BurstSettings { capacity: u32::try_from(number % 9).unwrap(), ..settings.burst },
                ..settings
            };
            limiter.reconfigure(now, changed, given(&shares, number / 50)).unwrap();
            unlawful += u64::from(limiter.reconfigure(now, changed, &[shares[1]; 2]).is_err());
        }
        if number % 2_500 == 2_499 {
            limiter.replace_estimator(another());
        }
        if limiter.poll_timeout().is_some_and(|due| due <= now) || number % 100 == 0 {
            limiter.tick(now);
        }
        let in_flight = limiter.change_estimator(|estimator| estimator.limit()) + limiter.limit();
        assert!(in_flight > 0 && limiter.stats(now).in_flight_all <= OPERATIONS * 2);
    });
    let stats = limiter.stats(at(OPERATIONS));
    assert_eq!(counted, 0, "{stats:?}");
    let seen =
        [refused, told, unlawful, stats.admitted, stats.would_reject, stats.passed_in_warmup, stats.paused];
    assert!(seen.iter().all(|&times| times > 20), "{seen:?} {stats:?}");
}
