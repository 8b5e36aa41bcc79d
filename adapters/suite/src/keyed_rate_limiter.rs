//! What a rate limiter for each key does on every runtime.

use core::time::Duration;

use tollgate_async::rate::{Inherit, Quota, WhenFull};
use tollgate_async::{KeyedRateLimiter, Timestamp};

use crate::harness::once;
use crate::{Harness, start, yield_now};

const MS: Duration = Duration::from_millis(1);

fn limiter<H: Harness>(tokens: u64, burst: u64) -> KeyedRateLimiter<u64, H::Runtime> {
    KeyedRateLimiter::new(Quota::per_second(tokens).burst(burst), 1_000, WhenFull::Refuse).unwrap()
}

pub fn each_key_waits_for_itself_alone<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(50, 1);
        let began = limiter.now();
        let tasks: Vec<_> = (0..12_u64)
            .map(|number| {
                let limiter = limiter.clone();
                start::<H, _>(async move { limiter.until_ready(&(number % 4)).await.map(|()| limiter.now()) })
            })
            .collect();
        let mut times = vec![];
        for task in tasks {
            times.push(task.await.unwrap());
        }
        times.sort_unstable();
        // The first of each key at once, then one of each every 20 ms: never more of them than their keys allow.
        for (number, time) in times.into_iter().enumerate() {
            let turn = u32::try_from(number / 4).unwrap();
            assert!(time >= began.saturating_add(20 * turn * MS), "{number} at {time}");
        }
    });
}

pub fn report_12_who_is_parked_without_being_polled_holds_up_nobody<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(200, 1);
        limiter.acquire(&7, 1).await.unwrap();
        let mut parked = Box::pin(limiter.acquire(&7, 1));
        if once(&mut parked).await.is_some() {
            return; // the machine is slow today, and it was due
        }
        for _ in 0..3 {
            limiter.acquire(&7, 1).await.unwrap();
        }
        assert!(once(&mut parked).await.is_some(), "it has been due for long");
    });
}

pub fn report_24_who_is_behind_one_that_left_is_due_earlier<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(10, 100);
        limiter.acquire(&7, 100).await.unwrap();
        let began = limiter.now();
        let mut big = Box::pin(limiter.acquire(&7, 100));
        assert!(once(&mut big).await.is_none());
        let behind = limiter.clone();
        let behind = start::<H, _>(async move { behind.acquire(&7, 1).await });
        while limiter.num_waiters() < 2 {
            yield_now().await;
        }
        drop(big);
        behind.await.unwrap();
        assert!(limiter.now() < began.saturating_add(Duration::from_secs(5)), "not the ten of the big one");
    });
}

pub fn a_new_quota_reaches_who_waits<H: Harness>() {
    H::block_on(async {
        let quota = Quota::per_hour(1).burst(5);
        let limiter = KeyedRateLimiter::<u64, H::Runtime>::new(quota, 1_000, WhenFull::Refuse).unwrap();
        limiter.acquire(&7, 5).await.unwrap();
        let began = limiter.now();
        let patient = limiter.clone();
        let patient = start::<H, _>(async move { patient.acquire(&7, 5).await });
        while limiter.num_waiters() < 1 {
            yield_now().await;
        }
        limiter.set_quota(Quota::per_second(500).burst(5), Inherit::AsIs).unwrap();
        patient.await.unwrap();
        assert!(limiter.now() < began.saturating_add(Duration::from_secs(2)));
    });
}

pub fn threads_wait_in_the_same_line<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(100, 1);
        limiter.acquire(&7, 1).await.unwrap();
        let began = limiter.now();
        let thread = limiter.clone();
        let thread = std::thread::spawn(move || thread.acquire_blocking(&7, 1, Timestamp::MAX));
        while limiter.num_waiters() == 0 && !thread.is_finished() {
            yield_now().await;
        }
        limiter.acquire(&7, 1).await.unwrap();
        assert!(limiter.now() >= began.saturating_add(15 * MS), "behind the thread");
        thread.join().unwrap().unwrap();
    });
}

pub fn many_tasks_get_what_each_key_allows_and_no_more<H: Harness>() {
    H::block_on(async {
        let limiter = limiter::<H>(2_000, 10);
        let began = limiter.now();
        let tasks: Vec<_> = (0..40_u64)
            .map(|number| {
                let limiter = limiter.clone();
                start::<H, _>(async move {
                    let (key, mut granted) = (number % 5, 0);
                    for turn in 0..20 {
                        let cost = 1 + (number + turn) % 3;
                        let mut ask = Box::pin(limiter.acquire(&key, cost));
                        match once(&mut ask).await {
                            Some(answer) => granted += answer.map(|()| cost).unwrap(),
                            None if turn % 5 == 4 => drop(ask),
                            None => granted += ask.await.map(|()| cost).unwrap(),
                        }
                    }
                    (key, granted)
                })
            })
            .collect();
        let mut granted = [0; 5];
        for task in tasks {
            let (key, more) = task.await;
            granted[usize::try_from(key).unwrap()] += more;
        }
        let took = limiter.now().saturating_since(began);
        let most = 10 + u64::try_from(took.as_nanos()).unwrap() / 500_000 + 1;
        assert!(granted.iter().all(|&granted| granted <= most), "{granted:?} of {most} in {took:?}");
        assert_eq!(limiter.num_waiters(), 0);
    });
}
