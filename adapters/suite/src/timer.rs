//! What is asked of a clock and a timer.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tollgate_async::{Runtime, Timestamp};

use crate::Harness;

pub fn a_sleep_that_is_over_has_come_to_its_instant<H: Harness>() {
    H::block_on(async {
        let runtime = H::Runtime::default();
        let mut at = runtime.now();
        for step in [0, 1, 999, 1_000_001, 12_345_678] {
            at = at.saturating_add(Duration::from_nanos(step));
            runtime.clone().sleep_until(at).await;
            assert!(runtime.now() >= at);
        }
    });
}

pub fn the_past_is_over_at_once_and_the_end_of_time_is_not<H: Harness>() {
    H::block_on(async {
        let runtime = H::Runtime::default();
        H::sleep(Duration::from_millis(2)).await;
        runtime.sleep_until(Timestamp::ZERO).await;
        let mut never = pin!(runtime.sleep_until(Timestamp::MAX));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(never.as_mut().poll(&mut context), Poll::Pending);
    });
}
