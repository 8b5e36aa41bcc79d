use super::*;
use crate::permit::HeadOfLine;

fn backfill(max_passes: u32) -> Settings {
    Settings { head_of_line: HeadOfLine::Backfill { max_passes }, ..settings() }
}

/// A gate of limit 4 of which 3 are in use; the job that uses them.
fn three_of_four(settings: Settings) -> (Small, JobId) {
    let mut gate = gate(4, settings);
    let job = submit(&mut gate, 0, Job::with_weight(9, 3));
    assert_eq!(starts(&mut gate, 0), [job]);
    (gate, job)
}

#[test]
fn nobody_passes_a_head_that_does_not_fit_where_the_line_is_strict() {
    let (mut gate, running) = three_of_four(settings());
    let big = submit(&mut gate, 0, Job::with_weight(1, 2));
    let small = submit(&mut gate, 0, Job::new(2));
    assert_eq!(starts(&mut gate, 0), []);
    done(&mut gate, 1, running);
    assert_eq!(starts(&mut gate, 1), [big, small]);
}

#[test]
fn a_head_is_passed_as_often_as_allowed_and_then_everything_is_kept_for_it() {
    let (mut gate, running) = three_of_four(backfill(3));
    let big = submit(&mut gate, 0, Job::with_weight(1, 4));
    for round in 0..3 {
        let small = submit(&mut gate, round, Job::new(2 + round));
        assert_eq!(starts(&mut gate, round), [small]);
        done(&mut gate, round, small);
    }
    let late = submit(&mut gate, 3, Job::new(5));
    assert_eq!(starts(&mut gate, 3), [], "passed three times");
    done(&mut gate, 4, running);
    assert_eq!(starts(&mut gate, 4), [big]);
    done(&mut gate, 5, big);
    assert_eq!(starts(&mut gate, 5), [late]);
    assert_eq!(gate.snapshot(ms(5)).counts.passed, 3);
}

#[test]
fn a_head_that_has_waited_long_enough_is_passed_no_more() {
    let settings = Settings { reserve_after: Some(millis(20)), ..backfill(1_000) };
    let (mut gate, _running) = three_of_four(settings);
    submit(&mut gate, 0, Job::with_weight(1, 4));
    let small = submit(&mut gate, 19, Job::new(2));
    assert_eq!(starts(&mut gate, 19), [small]);
    done(&mut gate, 20, small);
    submit(&mut gate, 20, Job::new(3));
    assert_eq!(starts(&mut gate, 20), []);
}

#[test]
fn a_small_job_passes_the_big_one_of_its_own_tenant() {
    let (mut gate, running) = three_of_four(backfill(1));
    let big = submit(&mut gate, 0, Job::with_weight(1, 4));
    let small = [submit(&mut gate, 0, Job::new(1)), submit(&mut gate, 0, Job::new(1))];
    assert_eq!(starts(&mut gate, 0), [small[0]]);
    done(&mut gate, 1, small[0]);
    assert_eq!(starts(&mut gate, 1), []);
    done(&mut gate, 2, running);
    assert_eq!(starts(&mut gate, 2), [big]);
}

#[test]
fn whoever_passes_pays_for_it_with_its_own_next_turns() {
    let settings = Settings { order: Order::Deficit { quantum: 10 }, ..backfill(2) };
    let (mut gate, running) = three_of_four(settings);
    let ten = |tenant, weight| Job { cost: Cost::Units(10), ..Job::with_weight(tenant, weight) };
    let big = submit(&mut gate, 0, ten(1, 4));
    let small: Vec<_> = (0..8).map(|_| submit(&mut gate, 0, ten(2, 1))).collect();
    for (at, &passing) in (0..).zip(&small[..2]) {
        assert_eq!(starts(&mut gate, at), [passing]);
        done(&mut gate, at, passing);
    }
    assert_eq!(starts(&mut gate, 2), [], "it owes two turns");
    let more: Vec<_> = (0..4).map(|_| submit(&mut gate, 2, ten(1, 4))).collect();
    done(&mut gate, 3, running);
    let mut order = Vec::new();
    for at in 3..8 {
        for job in starts(&mut gate, at) {
            order.push(if job == big || more.contains(&job) { 1 } else { 2 });
            done(&mut gate, at, job);
        }
    }
    let first = order.iter().position(|&tenant| tenant == 2).unwrap();
    assert_eq!(&order[..first], [1, 1, 1], "two turns of 1's are 2's debt");
}

#[test]
fn turns_are_borrowed_up_to_the_bound_where_turns_are_counted_too() {
    let (mut gate, _running) = three_of_four(Settings { order: Order::Smooth, ..backfill(2) });
    for _ in 0..10 {
        submit(&mut gate, 0, Job::with_weight(1, 2));
    }
    for _ in 0..20 {
        submit(&mut gate, 0, Job::new(2));
    }
    let passes = [(); 10].map(|()| {
        let mut passes = 0;
        while let Some(GateEvent::Start { job, .. }) = gate.poll(ms(0)) {
            done(&mut gate, 0, job);
            passes += 1;
        }
        gate.capacity_mut().set_limit(5);
        let Some(GateEvent::Start { job, tenant, .. }) = gate.poll(ms(0)) else { panic!("it fits now") };
        assert_eq!(tenant, TenantKey(1), "whose turn it was");
        done(&mut gate, 0, job);
        gate.capacity_mut().set_limit(4);
        passes
    });
    // Each loop costs tenant 2 two turns of two, and repays one; from two whole turns on it borrows what it repaid.
    assert_eq!(passes, [2, 2, 2, 2, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn an_overweight_job_waits_until_nothing_runs_and_then_runs_alone() {
    let (mut gate, running) = three_of_four(Settings { overweight: Overweight::RunAlone, ..settings() });
    let huge = submit(&mut gate, 0, Job::with_weight(1, 7));
    let small = submit(&mut gate, 0, Job::with_weight(2, 0));
    assert_eq!(starts(&mut gate, 0), []);
    done(&mut gate, 1, running);
    assert_eq!(starts(&mut gate, 1), [huge]);
    assert_eq!(gate.capacity().in_use(), 4, "all there is, and no more");
    gate.capacity_mut().set_limit(100);
    assert_eq!(starts(&mut gate, 1), [], "it still runs alone");
    done(&mut gate, 2, huge);
    assert_eq!(starts(&mut gate, 2), [small]);
}

#[test]
fn a_limit_of_zero_starts_nothing_and_raising_it_starts_what_waited() {
    for overweight in [Overweight::Refuse, Overweight::RunAlone] {
        let mut gate = gate(1, Settings { overweight, ..settings() });
        let job = submit(&mut gate, 0, Job::new(1));
        gate.capacity_mut().set_limit(0);
        match overweight {
            Overweight::Refuse => assert_eq!(drain(&mut gate, 0).1, [(job, Reason::ExceedsLimit)]),
            Overweight::RunAlone => {
                assert_eq!(starts(&mut gate, 0), []);
                gate.capacity_mut().set_limit(1);
                assert_eq!(starts(&mut gate, 0), [job]);
            }
        }
    }
}

#[test]
fn newest_first_serves_the_newest_while_the_oldest_has_waited_too_long() {
    let (mut gate, running) = three_of_four(Settings { newest_first_after: Some(millis(50)), ..settings() });
    let jobs: Vec<_> = [0, 10, 20].map(|at| submit(&mut gate, at, Job::with_weight(1, 4))).to_vec();
    assert_eq!(starts(&mut gate, 49), []);
    done(&mut gate, 50, running);
    assert_eq!(starts(&mut gate, 50), [jobs[2]]);
    let newer = submit(&mut gate, 55, Job::with_weight(1, 4));
    done(&mut gate, 55, jobs[2]);
    assert_eq!(starts(&mut gate, 55), [newer]);
    assert_eq!(gate.cancel(ms(56), jobs[0]), Ok(Cancelled::Queued));
    done(&mut gate, 57, newer);
    let last = submit(&mut gate, 57, Job::with_weight(1, 4));
    assert_eq!(starts(&mut gate, 57), [jobs[1]], "10 has waited 47: first come, first served again");
    done(&mut gate, 58, jobs[1]);
    assert_eq!(starts(&mut gate, 58), [last]);
}

#[test]
fn a_queue_that_turns_round_while_its_oldest_is_not_ready_is_served_from_then_on() {
    let turning = Settings { newest_first_after: Some(millis(50)), ..settings() };
    let soon = |ready: u64| Job { ready_at: Some(ms(ready)), ..Job::new(1) };
    let mut gate = gate(1, turning);
    let (oldest, newest) = (submit(&mut gate, 0, soon(200)), submit(&mut gate, 10, Job::new(1)));
    assert_eq!((starts(&mut gate, 49), gate.poll_timeout()), (Vec::new(), Some(ms(50))));
    assert_eq!(starts(&mut gate, 50), [newest]);
    assert_eq!(gate.poll_timeout(), Some(ms(200)));
    let later = submit(&mut gate, 60, soon(70));
    assert_eq!(gate.poll_timeout(), Some(ms(70)), "it is the newest, and the oldest has waited too long");
    done(&mut gate, 70, newest);
    assert_eq!(starts(&mut gate, 70), [later]);
    done(&mut gate, 71, later);
    assert_eq!(starts(&mut gate, 200), [oldest]);
}

#[test]
fn under_newest_first_a_newcomer_displaces_the_oldest_of_its_own_tenant() {
    let bounded = Settings {
        newest_first_after: Some(millis(50)),
        max_queued: 3,
        max_queued_per_tenant: 2,
        ..settings()
    };
    let (mut gate, _running) = three_of_four(bounded);
    let old = submit(&mut gate, 0, Job::with_weight(1, 4));
    submit(&mut gate, 40, Job::with_weight(1, 4));
    assert_eq!(reason(gate.submit(ms(49), Job::with_weight(1, 4))), Reason::TenantQueueFull);
    let queued = gate.submit(ms(50), Job::with_weight(1, 4)).unwrap();
    gate.check_invariants();
    assert_eq!(queued.displaced, Some(old));
    assert!(gate.cancel(ms(50), old).is_err(), "it is over");
    assert_eq!(gate.snapshot(ms(50)).counts.refused(Reason::Displaced), 1);
    submit(&mut gate, 50, Job::with_weight(2, 4));
    assert_eq!(reason(gate.submit(ms(60), Job::with_weight(3, 4))), Reason::QueueFull, "never another's");
}
