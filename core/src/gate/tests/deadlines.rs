use super::*;

#[test]
fn the_small_fixed_test_of_the_seed() {
    // 4 active of 100 ms each, 8 queued; a new job with 250 ms left expires without ever being started.
    let mut gate = gate(4, settings());
    let jobs: Vec<_> = (0..12).map(|_| submit(&mut gate, 0, Job { bytes: 10, ..Job::new(1) })).collect();
    let mut running = starts(&mut gate, 0);
    assert_eq!(running, jobs[..4]);
    let late = submit(&mut gate, 0, Job { deadline: Some(ms(250)), bytes: 10, ..Job::new(1) });
    assert_eq!((gate.snapshot(ms(0)).queued, gate.snapshot(ms(0)).queued_bytes), (9, 90));

    let mut started = 4;
    for at in [100, 200] {
        for job in core::mem::take(&mut running) {
            done(&mut gate, at, job);
        }
        running = starts(&mut gate, at);
        started += running.len();
    }
    assert_eq!(running, jobs[8..]);
    assert_eq!(gate.poll_timeout(), Some(ms(250)));
    assert_eq!(drain(&mut gate, 249), (Vec::new(), Vec::new()));
    assert_eq!(drain(&mut gate, 250), (Vec::new(), [(late, Reason::DeadlineExceeded)].to_vec()));
    for &job in &running {
        done(&mut gate, 300, job);
        assert_eq!(gate.complete(ms(300), job, Completion::DONE), Err(Stale), "a second completion");
    }
    assert!(gate.complete(ms(300), late, Completion::DONE).is_err());
    assert_eq!(started, 12, "the late one never ran");
    let end = gate.snapshot(ms(300));
    assert_eq!((end.queued, end.queued_bytes, end.active, gate.capacity().in_use()), (0, 0, 0, 0));
    assert_eq!((end.counts.completed, end.counts.stale), (12, 5));
}

#[test]
fn the_table_of_start_times_of_the_seed() {
    // At 0 four have just started and eight wait: the ninth starts at 300 ms.
    let mut gate = gate(4, Settings { expected_service: Some(millis(100)), ..settings() });
    for _ in 0..12 {
        submit(&mut gate, 0, Job::new(1));
    }
    let mut running = starts(&mut gate, 0);
    let queued = gate.submit(ms(0), Job::new(1)).unwrap();
    assert_eq!((queued.position, queued.estimated_wait), (8, Some(millis(300))));
    for at in [100, 200] {
        running.iter().for_each(|&job| done(&mut gate, at, job));
        running = starts(&mut gate, at);
        assert_eq!(running.len(), 4);
    }
    running.iter().for_each(|&job| done(&mut gate, 300, job));
    assert_eq!(starts(&mut gate, 300), [queued.job]);
}

#[test]
fn deadlines_that_come_in_order_are_kept_in_order_without_a_heap() {
    let mut gate = gate(1, Settings { max_wait: Some(millis(40)), ..settings() });
    for at in [0, 0, 5, 5, 9] {
        submit(&mut gate, at, Job::new(at));
    }
    let in_lane = |gate: &Small| {
        let waiting = gate
            .jobs
            .all()
            .filter(|job| matches!(job.state, jobs::State::Waiting { due: jobs::Due::Lane { .. }, .. }));
        waiting.count()
    };
    assert_eq!(in_lane(&gate), 5);
    submit(&mut gate, 9, Job { deadline: Some(ms(48)), ..Job::new(1) });
    assert_eq!(in_lane(&gate), 5, "it expires before one that came earlier");
}

#[test]
fn an_expired_job_leaves_although_nothing_ever_comes_free() {
    let mut gate = gate(1, settings());
    let stuck = submit(&mut gate, 0, Job::new(1));
    assert_eq!(starts(&mut gate, 0), [stuck]);
    let deadlines = [70, 30, 50, 51, 90, 10];
    let jobs: Vec<_> = deadlines
        .iter()
        .map(|&at| submit(&mut gate, 0, Job { deadline: Some(ms(at)), bytes: 5, ..Job::new(at) }))
        .collect();
    let mut left = Vec::new();
    while let Some(at) = gate.poll_timeout() {
        let (started, refused) = drain(&mut gate, at.as_nanos() / 1_000_000);
        assert_eq!(started, []);
        left.extend(refused.iter().map(|&(job, _)| job));
    }
    assert_eq!(left, [5, 1, 2, 3, 0, 4].map(|number: usize| jobs[number]));
    assert_eq!(gate.snapshot(ms(100)).queued_bytes, 0);
}

#[test]
fn a_job_whose_deadline_has_come_never_starts_even_if_there_is_room() {
    let mut gate = gate(4, settings());
    assert_eq!(
        reason(gate.submit(ms(5), Job { deadline: Some(ms(5)), ..Job::new(1) })),
        Reason::DeadlineExceeded
    );
    let job = submit(&mut gate, 5, Job { deadline: Some(ms(6)), ..Job::new(1) });
    assert_eq!(drain(&mut gate, 6).1, [(job, Reason::DeadlineExceeded)]);
    let job = submit(&mut gate, 6, Job { deadline: Some(ms(8)), ..Job::new(1) });
    assert_eq!(starts(&mut gate, 7), [job]);
}

#[test]
fn the_gates_own_bound_on_waiting_counts_from_submission() {
    let mut gate = gate(1, Settings { max_wait: Some(millis(40)), ..settings() });
    submit(&mut gate, 0, Job::new(1));
    starts(&mut gate, 0);
    submit(&mut gate, 10, Job::new(1));
    submit(&mut gate, 10, Job { deadline: Some(ms(30)), ..Job::new(1) });
    assert_eq!(gate.poll_timeout(), Some(ms(30)));
    assert_eq!(drain(&mut gate, 30).1.len(), 1);
    assert_eq!(gate.poll_timeout(), Some(ms(50)));
    assert_eq!(drain(&mut gate, 50).1.len(), 1);
    assert_eq!(gate.poll_timeout(), None);
}

#[test]
fn a_running_job_keeps_its_capacity_past_its_deadline() {
    let mut gate = gate(1, settings());
    let job = submit(&mut gate, 0, Job { deadline: Some(ms(10)), ..Job::new(1) });
    assert_eq!(starts(&mut gate, 0), [job]);
    assert_eq!((gate.poll_timeout(), drain(&mut gate, 500)), (None, (Vec::new(), Vec::new())));
    assert_eq!(gate.cancel(ms(500), job), Ok(Cancelled::Running));
    assert_eq!(gate.capacity().in_use(), 1);
    done(&mut gate, 900, job);
    assert_eq!(gate.capacity().in_use(), 0);
}

#[test]
fn time_that_goes_back_stands_still() {
    let mut gate = gate(1, settings());
    submit(&mut gate, 100, Job::new(1));
    starts(&mut gate, 100);
    let job = gate.submit(ms(20), Job { deadline: Some(ms(130)), ..Job::new(1) }).unwrap().job;
    assert_eq!(
        reason(gate.submit(ms(20), Job { deadline: Some(ms(90)), ..Job::new(1) })),
        Reason::DeadlineExceeded
    );
    assert_eq!(drain(&mut gate, 130).1, [(job, Reason::DeadlineExceeded)]);
    assert_eq!(drain(&mut gate, 0), (Vec::new(), Vec::new()));
}

#[test]
fn a_standing_queue_is_refused_by_its_waits_and_a_burst_is_not() {
    let codel = CoDel { target: millis(5), interval: millis(100) };
    let mut gate = gate(1, Settings { codel: Some(codel), ..settings() });
    // One job each 10 ms, twice as many come for the first 300 ms.
    let (mut running, mut refused, mut waits) = (None, 0, Vec::new());
    for at in (0..600).step_by(5) {
        if at < 300 || at % 10 == 0 {
            submit(&mut gate, at, Job::new(1));
        }
        if at % 10 == 0 {
            if let Some(job) = running.take() {
                done(&mut gate, at, job);
            }
            while let Some(event) = gate.poll(ms(at)) {
                match event {
                    GateEvent::Start { job, waited, .. } => {
                        running = Some(job);
                        waits.push(waited);
                    }
                    GateEvent::Refuse { reason, .. } => {
                        assert_eq!(reason, Reason::QueueDelay);
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 20, "{refused}");
    assert!(waits[40..].iter().all(|&wait| wait <= millis(10)), "{waits:?}");
}
