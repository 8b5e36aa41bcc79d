use super::*;

/// A gate whose jobs take 100 ms, of which so many run, started each so many ms after the one before.
fn running(limit: u64, apart: u64, settings: Settings) -> (Small, Vec<(u64, JobId)>) {
    let mut gate = gate(limit, Settings { expected_service: Some(millis(100)), max_wait: None, ..settings });
    let runs = (0..limit).map(|number| {
        let job = submit(&mut gate, number * apart, Job::new(1));
        assert_eq!(starts(&mut gate, number * apart), [job]);
        (number * apart + 100, job)
    });
    let runs = runs.collect();
    (gate, runs)
}

#[test]
fn the_estimate_is_exact_while_service_times_are_constant() {
    for (limit, apart) in [(1, 0), (4, 0), (4, 25), (3, 7)] {
        let (mut gate, mut runs) = running(limit, apart, settings());
        let mut at = (limit - 1) * apart;
        let told: Vec<_> = (0..20)
            .map(|_| {
                at += 1;
                let queued = gate.submit(ms(at), Job::new(1)).unwrap();
                (queued.job, at + u64::try_from(queued.estimated_wait.unwrap().as_millis()).unwrap())
            })
            .collect();
        let mut started = Vec::new();
        while !runs.is_empty() {
            runs.sort_unstable_by_key(|&(ends, _)| ends);
            let (ends, job) = runs.remove(0);
            done(&mut gate, ends, job);
            for job in starts(&mut gate, ends) {
                started.push((job, ends));
                runs.push((ends + 100, job));
            }
        }
        assert_eq!(started, told, "{limit} slots, {apart} ms apart");
    }
}

#[test]
fn tenants_with_equal_queues_are_told_when_they_start_exactly() {
    let (mut gate, mut runs) = running(1, 0, settings());
    let told: Vec<_> = (0..12)
        .map(|number| {
            // One round of four tenants after the other, so that nobody joins before somebody who came earlier.
            let queued = gate.submit(ms(0), Job::new(10 + number % 4)).unwrap();
            (queued.position, queued.estimated_wait.unwrap())
        })
        .collect();
    for (number, &(position, wait)) in (0..).zip(&told) {
        assert_eq!((position, wait), (number, millis(100 * (number + 1))));
    }
    let mut order = Vec::new();
    while let Some((ends, job)) = runs.pop() {
        done(&mut gate, ends, job);
        for job in starts(&mut gate, ends) {
            order.push(job);
            runs.push((ends + 100, job));
        }
    }
    assert_eq!(order.len(), 12);
}

#[test]
fn a_deep_queue_of_another_does_not_stand_before_a_newcomer() {
    let (mut gate, _runs) = running(1, 0, settings());
    for _ in 0..50 {
        submit(&mut gate, 0, Job::new(1));
    }
    let queued = gate.submit(ms(0), Job::new(2)).unwrap();
    assert_eq!(queued.position, 1, "one turn of the other");
    let queued = gate.submit(ms(0), Job::new(2)).unwrap();
    assert_eq!(queued.position, 3);
}

#[test]
fn positions_and_waits_do_not_fall_as_a_tenant_queues_more() {
    let (mut gate, _runs) = running(3, 11, Settings { max_queued: 200, ..settings() });
    for number in 0..90_u64 {
        submit(&mut gate, 40, Job { cost: Cost::Units(1 + number % 7), ..Job::new(number % 5) });
    }
    let told: Vec<_> = (0..60)
        .map(|_| gate.submit(ms(41), Job { cost: Cost::Units(3), ..Job::new(9) }).unwrap())
        .map(|queued| (queued.position, queued.estimated_wait.unwrap()))
        .collect();
    assert!(told.is_sorted(), "{told:?}");
}

#[test]
fn a_job_that_cannot_make_it_is_refused_at_once_unless_switched_off() {
    let within = |ms_left| Job { deadline: Some(ms(ms_left)), ..Job::new(1) };
    let (mut gate, _runs) = running(1, 0, settings());
    submit(&mut gate, 0, Job::new(1));
    let rejected = gate.submit(ms(0), within(200)).unwrap_err();
    assert_eq!(rejected.reason, Reason::WaitExceedsBudget);
    assert_eq!((rejected.position, rejected.estimated_wait), (1, Some(millis(200))));
    assert!(gate.submit(ms(0), within(201)).is_ok());
    let (mut gate, _runs) = running(1, 0, Settings { refuse_early: false, ..settings() });
    submit(&mut gate, 0, Job::new(1));
    assert!(gate.submit(ms(0), within(200)).is_ok());
}

#[test]
fn the_callers_own_retry_at_counts_where_it_is_later() {
    let (mut gate, _runs) = running(1, 0, settings());
    let job = |ready, deadline| Job { ready_at: Some(ms(ready)), deadline, ..Job::new(2) };
    assert_eq!(gate.submit(ms(0), job(20, None)).unwrap().estimated_wait, Some(millis(100)));
    assert_eq!(gate.submit(ms(0), job(900, None)).unwrap().estimated_wait, Some(millis(900)));
    let mut unknown = gate_without_estimates();
    assert_eq!(reason(unknown.submit(ms(0), job(50, Some(ms(50))))), Reason::WaitExceedsBudget);
    assert!(unknown.submit(ms(0), job(49, Some(ms(50)))).is_ok());
}

fn gate_without_estimates() -> Small {
    gate(1, Settings { refuse_early: false, ..settings() })
}

#[test]
fn nothing_is_estimated_before_the_first_job_has_ended_and_a_constant_is_learnt_to_the_nanosecond() {
    let mut gate = gate(1, settings());
    let first = submit(&mut gate, 0, Job::new(1));
    starts(&mut gate, 0);
    assert_eq!(gate.submit(ms(0), Job::new(1)).unwrap().estimated_wait, None);
    done(&mut gate, 70, first);
    assert_eq!(gate.snapshot(ms(70)).mean_service, Some(millis(70)));
    let second = starts(&mut gate, 70)[0];
    assert_eq!(gate.submit(ms(80), Job::new(1)).unwrap().estimated_wait, Some(millis(60)));
    done(&mut gate, 140, second);
    assert_eq!(gate.snapshot(ms(140)).mean_service, Some(millis(70)));
}

#[test]
fn a_lowered_limit_is_reckoned_with() {
    let (mut gate, _runs) = running(4, 10, settings());
    gate.capacity_mut().set_limit(2);
    // Ends at 100, 110, 120, 130: the first two make no room.
    assert_eq!(gate.submit(ms(40), Job::new(1)).unwrap().estimated_wait, Some(millis(80)));
    assert_eq!(gate.submit(ms(40), Job::new(1)).unwrap().estimated_wait, Some(millis(90)));
    gate.capacity_mut().set_limit(1);
    assert_eq!(gate.submit(ms(40), Job::new(1)).unwrap().estimated_wait, Some(millis(290)));
}
