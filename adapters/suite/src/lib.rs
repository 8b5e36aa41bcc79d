//! What tollgate's futures do on every runtime, as tests: written once, instantiated for each.
//!
//! A runtime's crate implements [`Harness`] in its tests and says `tollgate_suite::suite!(ItsHarness);`. The tests here run in
//! real time, so they claim lower bounds of waits, orders and counts; exact instants are claimed where time is set by hand, in the
//! tests of `tollgate-async`.
#![forbid(unsafe_code)]
#![allow(clippy::missing_panics_doc, missing_docs)]

pub mod gate;
mod harness;
pub mod keyed_rate_limiter;
pub mod limiter;
pub mod rate_limiter;
pub mod timer;

pub use harness::{Harness, Task, start, yield_now};

/// All tests, for one runtime.
#[macro_export]
macro_rules! suite {
    ($harness:ty) => {
        $crate::suite!($harness, timer:
            a_sleep_that_is_over_has_come_to_its_instant
            the_past_is_over_at_once_and_the_end_of_time_is_not
        );
        $crate::suite!($harness, rate_limiter:
            waits_are_as_long_as_the_quota_says
            what_cannot_be_by_its_deadline_is_refused_at_once_and_passes_at_retry_at
            report_12_who_is_parked_without_being_polled_holds_up_nobody
            report_13_a_big_request_is_not_starved_by_small_ones_that_keep_coming
            nobody_is_served_before_its_turn
            report_24_who_is_behind_a_big_one_that_left_is_due_earlier
            report_26_what_was_due_and_not_fetched_is_not_lost
            report_29_who_waits_is_polled_a_few_times_and_no_more
            report_31_a_waker_that_panics_hurts_nobody_else
            a_new_quota_reaches_who_waits
            threads_wait_in_the_same_line
            many_tasks_get_what_the_quota_allows_and_no_more
        );
        $crate::suite!($harness, keyed_rate_limiter:
            each_key_waits_for_itself_alone
            report_12_who_is_parked_without_being_polled_holds_up_nobody
            report_24_who_is_behind_one_that_left_is_due_earlier
            a_new_quota_reaches_who_waits
            threads_wait_in_the_same_line
            many_tasks_get_what_each_key_allows_and_no_more
        );
        $crate::suite!($harness, gate:
            report_12_who_is_parked_without_being_polled_expires_and_holds_up_nobody
            report_32_a_start_that_is_not_fetched_is_taken_back
            a_job_starts_when_it_is_ready
            threads_wait_in_the_same_queue
            many_tasks_of_many_tenants_are_all_served_and_leave_nothing
        );
        $crate::suite!($harness, limiter:
            report_22_a_lowered_limit_holds_while_somebody_waits
            report_24_who_is_behind_a_big_one_that_left_is_granted
            report_25_who_leaves_frees_its_place_at_once
            report_26_a_future_dropped_after_its_grant_gives_the_permit_back
            report_27_two_releases_wake_two
            report_28_nobody_takes_what_a_woken_waiter_is_owed
            report_29_who_waits_is_polled_a_few_times_and_no_more
            report_30_what_weighs_more_than_the_limit_is_refused_at_once
            report_31_a_waker_that_panics_hurts_nobody_else
            report_32_a_grant_that_is_not_fetched_goes_back_at_its_deadline
            report_33_a_class_over_its_share_holds_up_nobody_else
            who_waits_with_a_deadline_is_refused_then
            threads_wait_in_the_same_line
            never_more_at_once_than_the_limit_whoever_is_cancelled
        );
    };
    ($harness:ty, $module:ident: $($name:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $name() {
                    $crate::$module::$name::<$harness>();
                }
            )*
        }
    };
}
