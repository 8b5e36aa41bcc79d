//! Each rule has to be able to say no: the judge is told what did not happen.

use std::path::Path;

use tollgate::gate::Order;

use super::*;
use crate::play::{Facts, play};

const SETTINGS: fn() -> Settings = || Settings { max_queued: 2, max_active: 2, ..Settings::default() };

fn facts(weight: u64) -> Facts {
    Facts {
        tenant: 0,
        cost: 1,
        weight,
        bytes: 10,
        submitted_ns: 0,
        deadline_ns: None,
        latest_ns: 100,
        ready_ns: 5,
    }
}

/// A judge of one tenant with a limit of 4 who has seen jobs of these weights accepted, in slots 0, 1, ….
fn judge(weights: &[u64]) -> Judge {
    let mut judge = Judge::new(SETTINGS(), 4, &[1], None);
    for (slot, &weight) in (0..).zip(weights) {
        judge.submitted(0);
        judge.accepted(0, slot, &facts(weight));
    }
    judge
}

fn machine() -> Machine {
    Machine::new(SETTINGS(), 4, &[], false).unwrap()
}

#[track_caller]
fn assert_broken(judge: Judge, rule: &str, words: &str) {
    let (violations, count) = judge.verdict();
    assert!(count > 0, "nothing was found");
    let first = &violations[0];
    assert_eq!(first.rule, rule, "{violations:?}");
    assert!(first.detail.contains(words), "{first:?}");
}

#[test]
fn a_start_at_the_deadline_or_before_the_job_is_ready_is_late_or_early() {
    let mut late = judge(&[1]);
    late.started(100, 0);
    assert_broken(late, "time", "allowed is from 5 ns until before 100 ns");
    let mut early = judge(&[1]);
    early.started(4, 0);
    assert_broken(early, "time", "a start");
    let mut attempt = judge(&[1]);
    attempt.sent_back(0, 50);
    attempt.attempted(49, 0);
    assert_broken(attempt, "time", "an attempt, allowed is from 50 ns");
    let mut in_time = judge(&[1, 1]);
    in_time.started(5, 0);
    in_time.started(99, 1);
    assert_eq!(in_time.verdict().1, 0);
}

#[test]
fn a_job_that_starts_or_ends_twice_is_found() {
    let mut starts = judge(&[1]);
    starts.started(5, 0);
    starts.started(6, 0);
    assert_broken(starts, "once", "job 0 started while Running");
    let mut ends = judge(&[1]);
    ends.started(5, 0);
    ends.ended(6, 0);
    ends.ended(7, 0);
    assert_broken(ends, "once", "job 0 ended while over");
    let mut never_ran = judge(&[1]);
    never_ran.ended(7, 0);
    assert_broken(never_ran, "once", "ended while Waiting");
    let mut refused = judge(&[1]);
    refused.started(5, 0);
    refused.refused(6, 0);
    assert_broken(refused, "once", "refused while Running");
    let mut twin = judge(&[1]);
    twin.accepted(1, 0, &facts(1));
    assert_broken(twin, "once", "is two jobs");
}

#[test]
fn more_in_use_than_the_limit_is_found_and_what_a_lowered_limit_leaves_is_not() {
    let mut over = judge(&[3, 3]);
    over.started(5, 0);
    over.started(5, 1);
    over.settled(5, &machine());
    let (violations, _) = over.verdict();
    assert!(violations.iter().any(|v| v.detail == "in use: 6, allowed is up to 4"), "{violations:?}");
    let mut lowered = judge(&[3]);
    lowered.started(5, 0);
    lowered.limit(6, 1);
    lowered.settled(6, &machine());
    let (violations, _) = lowered.verdict();
    assert!(violations.iter().all(|v| !v.detail.contains("allowed is up to")), "{violations:?}");
}

#[test]
fn what_came_back_after_the_limit_was_lowered_may_not_be_taken_again() {
    let mut judge = judge(&[3, 1]);
    judge.started(5, 0);
    judge.started(5, 1);
    judge.limit(6, 1);
    judge.ended(7, 1);
    judge.settled(7, &machine());
    judge.submitted(0);
    judge.accepted(8, 2, &facts(1));
    judge.started(8, 2);
    judge.settled(8, &machine());
    let (violations, _) = judge.verdict();
    assert!(violations.iter().any(|v| v.detail == "in use: 4, allowed is up to 3"), "{violations:?}");
}

#[test]
fn a_job_above_the_limit_that_is_not_alone_is_found() {
    let mut judge = judge(&[1, 9]);
    judge.started(5, 0);
    judge.started(5, 1);
    assert_broken(judge, "limit", "a job of weight 9 is one of 2 that run, allowed is alone");
}

#[test]
fn one_job_too_many_waiting_or_running_is_found() {
    assert_broken(judge(&[1, 1, 1]), "bounds", "jobs waiting: 3 (tenant 0), allowed is up to 2");
    let mut running = judge(&[1, 1]);
    running.started(5, 0);
    running.started(5, 1);
    running.submitted(0);
    running.accepted(5, 2, &facts(1));
    running.started(5, 2);
    assert_broken(running, "bounds", "jobs running: 3, allowed is up to 2");
}

#[test]
fn books_that_do_not_balance_or_differ_from_the_gates_are_found() {
    let mut lost = judge(&[]);
    lost.submitted(0);
    lost.settled(0, &machine());
    assert_broken(lost, "books", "submitted 1, allowed is what became of them: 0");
    let mut unknown = judge(&[1]);
    unknown.settled(0, &machine());
    assert_broken(
        unknown,
        "books",
        "(queued, bytes, active) are (0, 0, 0) to the gate, allowed is (1, 10, 0)",
    );
}

#[test]
fn whatever_is_left_after_the_run_is_found() {
    let mut waiting = judge(&[1]);
    waiting.drained(50, &machine());
    assert_broken(waiting, "progress", "1 jobs wait and nothing will happen");
    let mut running = judge(&[1]);
    running.started(5, 0);
    running.drained(50, &machine());
    assert_broken(running, "drained", "running is 1, allowed is 0");
    let mut overdue = judge(&[]);
    overdue.overdue(50, 40);
    assert_broken(overdue, "progress", "the timeout 40 ns is due");
    let mut off = judge(&[]);
    off.off_the_books(1, 3, "complete");
    assert_broken(off, "once", "complete of job 3");
}

#[test]
fn turns_at_unequal_costs_are_unfair_by_cost() {
    let text = "about = \"a\"\nsource = \"b\"\nduration = \"10s\"\n\
        [gate]\nlimit = 1\norder = \"smooth\"\n[server]\nunit = \"10ms\"\n\
        [[tenant]]\nname = \"cheap\"\n[[tenant.closed]]\nthreads = 4\njob = { cost = 1 }\n\
        [[tenant]]\nname = \"dear\"\n[[tenant.closed]]\nthreads = 4\njob = { cost = 5 }\n";
    let run = |text: &str| {
        let plan = Plan::parse(Path::new("p.toml"), text).unwrap();
        let quantum = match plan.settings.order {
            Order::Deficit { quantum } => quantum,
            _ => 5,
        };
        let judge = Judge::new(plan.settings, plan.limit, &[1, 1], Some(quantum));
        play(&plan, judge, |_| {}).unwrap().watch
    };
    assert_broken(run(text), "fair", "tenants 1 and 0 (weights 1, 1) differ by");
    let by_cost = text.replace("\"smooth\"", "{ deficit = { quantum = 5 } }");
    let (violations, count) = run(&by_cost).verdict();
    assert_eq!(count, 0, "{violations:?}");
}

#[test]
fn only_the_first_violations_are_kept_and_all_are_counted() {
    let mut judge = judge(&[]);
    (0..100).for_each(|at_ns| judge.off_the_books(at_ns, 0, "complete"));
    let (violations, count) = judge.verdict();
    assert_eq!((violations.len(), count), (KEPT, 100));
}
