use std::path::Path;

use super::*;
use crate::findings::Findings;
use crate::plan::Figure;

/// Runs a plan of these tables under the judge, who has to be content.
fn run(text: &str) -> Findings {
    let head = "about = \"a\"\nsource = \"b\"\nduration = \"10s\"\n";
    let plan = Plan::parse(Path::new("p.toml"), &format!("{head}{text}")).unwrap();
    let findings = Findings::of(&plan, |_| {}).unwrap();
    assert_eq!(findings.violations, [], "{text}");
    findings
}

/// The figures that the ranges of a plan name, in order.
fn found(text: &str, what: &[(Figure, &str)]) -> Vec<f64> {
    let ranges: String = what
        .iter()
        .map(|(figure, more)| format!("[[expect]]\nwhat = \"{}\"\nmin = 0\n{more}\n", figure.name()))
        .collect();
    run(&format!("{text}{ranges}")).checks.iter().map(|check| check.found).collect()
}

const T: &str = "tenant = \"t\"";

#[test]
fn a_job_that_starts_in_a_slow_span_takes_its_factor_times_as_long() {
    let text = "[gate]\nlimit = 1\n[server]\nslow = [{ from = \"1s\", to = \"2s\", factor = 3.0 }]\n\
        [[tenant]]\nname = \"t\"\n\
        [[tenant.burst]]\nat = \"0s\"\njobs = 1\njob = { exec = \"1s\" }\n\
        [[tenant.burst]]\nat = \"1s+999ms\"\njobs = 1\njob = { exec = \"1s\" }\n\
        [[tenant.burst]]\nat = \"5s\"\njobs = 1\njob = { exec = \"1s\" }\n";
    // 1 s, then 3 s, then 1 s, of ten.
    assert_eq!(found(text, &[(Figure::Seats, T), (Figure::LongestWaitMs, "")]), [0.5, 0.0]);
}

#[test]
fn pad_time_keeps_the_seat_and_the_thread_goes_on() {
    let text = "[gate]\nlimit = 1\n[[tenant]]\nname = \"t\"\n\
        [[tenant.closed]]\nthreads = 1\ncalls = 2\njob = { exec = \"1s\", pad = \"3s\" }\n";
    let figures = found(text, &[(Figure::Seats, T), (Figure::Executing, T), (Figure::LongestWaitMs, "")]);
    assert_eq!(figures, [0.8, 0.2, 3000.0], "the second call comes at 1 s and waits until 4 s");
}

#[test]
fn a_think_time_below_zero_has_the_next_call_in_the_queue_before_the_reply() {
    let text = "[gate]\nlimit = 1\n[[tenant]]\nname = \"t\"\n\
        [[tenant.closed]]\nthreads = 1\ncalls = 3\nthink = \"-10ms\"\njob = { exec = \"1s\" }\n";
    assert_eq!(found(text, &[(Figure::LongestWaitMs, ""), (Figure::Started, "")]), [10.0, 3.0]);
}

#[test]
fn a_limit_that_falls_lets_what_runs_end_and_one_that_rises_lets_more_start() {
    let text = "[gate]\nlimit = 4\n[server]\n\
        limit = [{ at = \"500ms\", to = 1 }, { at = \"4s+500ms\", to = 3 }]\n\
        [[tenant]]\nname = \"t\"\n[[tenant.burst]]\nat = \"0s\"\njobs = 10\njob = { exec = \"1s\" }\n";
    // Four from 0 s, one each from 1, 2, 3 and 4 s, the last two at 4.5 s.
    let window = "[[window]]\nname = \"w\"\nfrom = \"1s\"\nto = \"4s\"\n";
    let what = [(Figure::PeakInUse, ""), (Figure::Seats, "window = \"w\""), (Figure::LongestWaitMs, "")];
    assert_eq!(found(&format!("{text}{window}"), &what), [4.0, 1.0, 4500.0]);
}

#[test]
fn a_thread_that_is_refused_thinks_and_calls_again_or_stops() {
    let text = |more: &str| {
        format!(
            "[gate]\nlimit = 1\nentry = \"start_or_refuse\"\n[[tenant]]\nname = \"t\"\n\
             [[tenant.burst]]\nat = \"0s\"\njobs = 1\njob = {{ exec = \"10s\" }}\n\
             [[tenant.closed]]\nthreads = 1\ncalls = 5\nthink = \"1s\"\nstart = \"1s\"\n{more}\
             job = {{ exec = \"1s\" }}\n"
        )
    };
    assert_eq!(found(&text(""), &[(Figure::Refused, "by = \"no_permits\"")]), [5.0]);
    assert_eq!(found(&text("when_refused = \"stop\"\n"), &[(Figure::Refused, "")]), [1.0]);
}

#[test]
fn a_client_that_goes_away_leaves_the_queue_but_what_runs_keeps_its_seat_to_its_end() {
    let text = "[gate]\nlimit = 1\n[[tenant]]\nname = \"t\"\n\
        [[tenant.burst]]\nat = \"0s\"\njobs = 3\njob = { exec = \"5s\", patience = \"1s\" }\n";
    let what =
        [(Figure::Started, ""), (Figure::Cancelled, ""), (Figure::Seats, T), (Figure::GoodputPerS, "")];
    assert_eq!(found(text, &what), [1.0, 2.0, 0.5, 0.0]);
}

#[test]
fn an_older_job_that_has_to_go_for_a_newer_one_is_counted_once() {
    let text = "[gate]\nlimit = 1\nmax_queued_per_tenant = 2\nnewest_first_after = \"1s\"\n\
        [[tenant]]\nname = \"t\"\n\
        [[tenant.burst]]\nat = \"0s\"\njobs = 3\njob = { exec = \"3s\" }\n\
        [[tenant.burst]]\nat = \"2s\"\njobs = 1\njob = { exec = \"3s\" }\n";
    let what = [(Figure::Refused, "by = \"displaced\""), (Figure::Started, ""), (Figure::Submitted, "")];
    assert_eq!(found(text, &what), [1.0, 3.0, 4.0]);
}

#[test]
fn what_one_source_sends_at_one_instant_comes_before_what_others_send() {
    let burst = |name: &str| {
        format!(
            "[[tenant]]\nname = \"{name}\"\n[[tenant.burst]]\nat = \"0s\"\njobs = 2\njob = {{ exec = \"1s\" }}\n"
        )
    };
    let text = format!("[gate]\nlimit = 2\n{}{}", burst("t"), burst("u"));
    let what = [(Figure::LongestWaitMs, T), (Figure::P50WaitMs, "tenant = \"u\"")];
    assert_eq!(found(&text, &what), [0.0, 1000.0]);
}

#[test]
fn a_job_that_is_not_ready_waits_until_it_is_and_lets_others_go_first() {
    let text = "[gate]\nlimit = 1\n\
        [[tenant]]\nname = \"t\"\n\
        [[tenant.burst]]\nat = \"0s\"\njobs = 1\njob = { exec = \"1s\", ready_after = \"2s\" }\n\
        [[tenant]]\nname = \"u\"\n[[tenant.burst]]\nat = \"0s\"\njobs = 2\njob = { exec = \"500ms\" }\n";
    let what = [(Figure::LongestWaitMs, T), (Figure::LongestWaitMs, "tenant = \"u\"")];
    assert_eq!(found(text, &what), [2000.0, 500.0]);
}

#[test]
fn attempts_that_the_bucket_refuses_go_back_and_each_token_is_used() {
    let text = "[gate]\nlimit = \"unlimited\"\n[limiter]\ntokens = 1\nper = \"1s\"\nburst = 2\n\
        [[tenant]]\nname = \"t\"\n[[tenant.burst]]\nat = \"0s\"\njobs = 6\njob = { exec = \"10ms\" }\n";
    assert_eq!(found(text, &[(Figure::Started, ""), (Figure::LongestWaitMs, "")]), [6.0, 4000.0]);
}

#[test]
fn rules_refuse_at_the_door_each_tenant_for_itself_by_what_they_count() {
    let jobs = |tenant: &str, jobs: u32, cost: u32| {
        format!(
            "[[tenant]]\nname = \"{tenant}\"\n[[tenant.burst]]\nat = \"0s\"\njobs = {jobs}\n\
             job = {{ exec = \"1s\", cost = {cost} }}\n"
        )
    };
    let rule = |dimension: &str, limit: u32| {
        format!("[[rule]]\ndimension = \"{dimension}\"\nlimit = {limit}\nwindow = \"1h\"\n")
    };
    let tenants = jobs("t", 9, 1) + &jobs("u", 3, 100) + &jobs("v", 1, 601);
    let tenant = |name: &str| format!("tenant = \"{name}\"");
    let [t, u, v] = ["t", "u", "v"].map(tenant);
    let started = [(Figure::Started, &*t), (Figure::Started, &u), (Figure::Started, &v)];
    let gate = "[gate]\nlimit = 20\n";
    let by_count = format!("{gate}{}{tenants}", rule("request_count", 6));
    assert_eq!(found(&by_count, &started), [6.0, 3.0, 1.0]);
    let by_cost = format!("{gate}{}{tenants}", rule("cost", 200));
    assert_eq!(found(&by_cost, &started), [9.0, 2.0, 0.0]);
    let reasons = [
        (Figure::Refused, "by = \"request_count\""),
        (Figure::Refused, "by = \"cost\""),
        (Figure::Refused, "by = \"exceeds_capacity\""),
    ];
    let both = format!("{gate}{}{}{tenants}", rule("request_count", 6), rule("cost", 200));
    assert_eq!(found(&both, &reasons), [3.0, 1.0, 1.0]);
}

#[test]
fn what_the_cost_or_the_gate_refuses_has_used_no_request() {
    let head = "[[rule]]\ndimension = \"request_count\"\nlimit = 2\nwindow = \"1h\"\n\
        [[rule]]\ndimension = \"cost\"\nlimit = 10\nwindow = \"1h\"\n[[tenant]]\nname = \"t\"\n";
    let burst = |at: u32, jobs: u32, cost: u32| {
        format!(
            "[[tenant.burst]]\nat = \"{at}s\"\njobs = {jobs}\njob = {{ exec = \"500ms\", cost = {cost} }}\n"
        )
    };
    let gate = "[gate]\nlimit = 1\nentry = \"start_or_refuse\"\n";
    // Refused for its cost, thrice; then two go.
    let by_cost = format!("{gate}{head}{}{}{}", burst(0, 3, 11), burst(1, 1, 1), burst(2, 1, 1));
    assert_eq!(found(&by_cost, &[(Figure::Started, T), (Figure::Refused, T)]), [2.0, 3.0]);
    // One goes, four are refused by the gate, which is full; then another goes.
    let by_gate = format!("{gate}{head}{}{}", burst(0, 5, 1), burst(1, 1, 1));
    assert_eq!(found(&by_gate, &[(Figure::Started, T), (Figure::Refused, T)]), [2.0, 4.0]);
}

#[test]
fn the_same_plan_gives_the_same_findings_and_another_seed_others() {
    let text = |seed: u32| {
        format!(
            "seed = {seed}\n[gate]\nlimit = 2\n[[tenant]]\nname = \"t\"\n[[tenant.open]]\nper_s = 20.0\n\
             arrivals = \"poisson\"\njob = {{ exec = [\"10ms\", \"200ms\"], bytes = [1, 100] }}\n"
        )
    };
    assert_eq!(run(&text(1)), run(&text(1)));
    assert_ne!(run(&text(1)).summary, run(&text(2)).summary);
}

#[test]
fn a_watched_run_and_an_unwatched_one_are_the_same_run() {
    let text = "about = \"a\"\nsource = \"b\"\nduration = \"10s\"\n[gate]\nlimit = 2\n[[tenant]]\nname = \"t\"\n\
        [[tenant.open]]\nper_s = 20.0\narrivals = \"poisson\"\njob = { exec = [\"10ms\", \"200ms\"] }\n";
    let plan = Plan::parse(Path::new("p.toml"), text).unwrap();
    let unwatched = play(&plan, Unwatched, |_| {}).unwrap();
    let watched = play(&plan, crate::judge::Judge::of(&plan), |_| {}).unwrap();
    assert_eq!(unwatched.ledger.peaks, watched.ledger.peaks);
    assert_eq!(unwatched.ledger.accounts[0].waits_ns, watched.ledger.accounts[0].waits_ns);
    assert_eq!((unwatched.events, unwatched.end_ns), (watched.events, watched.end_ns));
}
