//! The gate under tokio's paused clock: hours pass in no time, and what is due is due when it was said to be.

use core::time::Duration;

use tollgate_tokio::gate::{Budget, Completion, Job, Settings};
use tollgate_tokio::{Gate, Reason, Timestamp};

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn a_job_expires_after_exactly_an_hour_and_one_that_is_ready_starts_then() {
    let settings = Settings { max_wait: Some(3 * HOUR), ..Settings::default() };
    let gate = Gate::new(settings, Budget::new(1)).unwrap();
    let begin = gate.now();
    let after = |hours: u32| Some(begin.saturating_add(hours * HOUR));
    let running = gate.try_enter(Job::new(1)).unwrap();
    let late = gate.enter(Job { deadline: after(1), ..Job::new(1) }).await.unwrap_err();
    assert_eq!((late.reason, late.waited), (Reason::DeadlineExceeded, HOUR));
    running.complete(Completion::DONE);
    let permit = gate.enter(Job { ready_at: after(2), ..Job::new(1) }).await.unwrap();
    assert_eq!((permit.waited(), Some(gate.now())), (HOUR, after(2)));
    assert!(gate.now() > Timestamp::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_is_never_polled_again_is_taken_back_on_the_dot() {
    let gate = Gate::new(Settings::default(), Budget::new(1)).unwrap();
    gate.set_pick_up_within(Some(Duration::from_secs(2)));
    let running = gate.try_enter(Job::new(1)).unwrap();
    let mut forgotten = core::pin::pin!(gate.enter(Job::new(1)));
    let first =
        core::future::poll_fn(|context| core::task::Poll::Ready(forgotten.as_mut().poll(context))).await;
    assert!(first.is_pending());
    tokio::time::sleep(Duration::from_secs(3)).await;
    running.complete(Completion::DONE);
    let begin = gate.now();
    let next = gate.enter(Job::new(1)).await.unwrap();
    assert_eq!(next.waited(), Duration::from_secs(2));
    assert_eq!(gate.now().saturating_since(begin), Duration::from_secs(2));
    assert_eq!(forgotten.await.unwrap_err().reason, Reason::DeadlineExceeded);
}
