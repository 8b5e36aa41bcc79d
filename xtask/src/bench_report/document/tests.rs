use super::*;

const NOTES: &str = r#"
floors = ["floor"]
[[group]]
name = "keyed"
title = "a bucket for each key"
about = "What it is."
[[group]]
name = "drr"
title = "rounds"
about = "Whose turn it is."
[[asked]]
of = { group = "keyed", cases = ["grant"], peers = ["governor"] }
at_most = { ratio = 0.9 }
[[asked]]
of = { group = "keyed", cases = ["grant"], sizes = [1000000], peers = ["tollgate at 1000"] }
at_most = { ratio = 4.0 }
[[asked]]
of = { group = "drr" }
at_most = { ns = 30.0 }
[[asked]]
of = { group = "nowhere", peers = ["governor"] }
at_most = { ratio = 1.0 }
[[lost]]
of = { group = "keyed", sizes = [1000], peers = ["governor"] }
why = "It is all in cache."
[[lost]]
of = { group = "drr" }
why = "Never so."
"#;

fn record(group: &str, case: &str, size: u64, implementation: &str, ns: f64) -> Record {
    Record {
        group: group.into(),
        case: case.into(),
        threads: 1,
        size,
        implementation: implementation.into(),
        rounds: (0..15).map(|round| (round.to_string(), ns)).collect(),
    }
}

fn kept(group: &str, day: &str, records: Vec<Record>) -> Kept {
    let ended = format!("{day}T12:00:00Z").parse().unwrap();
    Kept { group: group.into(), ended, seconds: 90.0, load: 0.3, records }
}

fn machine() -> Machine {
    Machine {
        processor: "a processor".into(),
        cores: 2,
        memory_gib: 8,
        system: "a system".into(),
        rustc: "rustc 1.95.0".into(),
        commit: "abc1234".into(),
        peers: vec![("governor".into(), "0.10.4".into()), ("tokio".into(), "1.54.1".into())],
    }
}

/// Faster than governor among a million keys, slower among a thousand; slower than another at both; as drr no peer.
fn report(notes: &Notes) -> Report<'_> {
    let keyed = vec![
        record("keyed", "grant", 1_000, OURS, 60.0),
        record("keyed", "grant", 1_000, "governor", 50.0),
        record("keyed", "grant", 1_000, "floor", 1.0),
        record("keyed", "grant", 1_000_000, OURS, 300.0),
        record("keyed", "grant", 1_000_000, "governor", 600.0),
        record("keyed", "grant", 1_000_000, "other", 200.0),
    ];
    let drr = vec![record("drr", "pick", 1, OURS, 20.0)];
    // Measured in another order than that of the notes.
    Report::new(vec![kept("drr", "2026-12-01", drr), kept("keyed", "2026-11-30", keyed)], machine(), notes)
}

fn markdown() -> String {
    report(&Notes::parse(NOTES).unwrap()).markdown("docs/chart.svg")
}

/// What stands under a heading.
fn section(heading: &str) -> String {
    let text = markdown();
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn the_head_says_when_where_and_with_what() {
    let text = markdown();
    for fact in [
        "| when | 2026-11-30 to 2026-12-01 (UTC) |",
        "| command | `cargo xtask bench-report` |",
        "| took | 3 minutes, with the set-up |",
        "| processor | a processor, 2 cores |",
        "| beside | governor 0.10.4, tokio 1.54.1 |",
        "| tollgate | commit abc1234 |",
        "in 15 rounds",
    ] {
        assert!(text.contains(fact), "{fact} is not in\n{text}");
    }
}

#[test]
fn what_was_asked_is_met_missed_or_not_measured() {
    let text = section("What was asked");
    for line in [
        "Missed: 2 of 5.",
        "| `keyed/grant` at 1\u{a0}000 ÷ governor | ≤ 0.9 | 1.20 | **missed** |",
        "| `keyed/grant` at 1\u{a0}000\u{a0}000 ÷ governor | ≤ 0.9 | 0.50 | met |",
        "| `keyed/grant` at 1\u{a0}000\u{a0}000 ÷ tollgate at 1000 | ≤ 4 | 5.00 | **missed** |",
        "| `drr/pick` | ≤ 30 ns | 20.0 ns | met |",
        "| `nowhere/*` ÷ governor | ≤ 1 |  | not measured |",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_bound_that_is_just_kept_is_met() {
    let notes = Notes::parse(
        "floors = []\n[[asked]]\nof = { group = 'drr', peers = ['peer'] }\nat_most = { ratio = 0.5 }\n",
    )
    .unwrap();
    for (ours, met) in [(10.0, true), (10.1, false)] {
        let records = vec![record("drr", "pick", 1, OURS, ours), record("drr", "pick", 1, "peer", 20.0)];
        let report = Report::new(vec![kept("drr", "2026-11-30", records)], machine(), &notes);
        assert_eq!(report.answers()[0].met, Some(met), "{ours} ns");
    }
}

#[test]
fn every_lost_row_is_told_with_its_reason_or_that_there_is_none() {
    let text = section("Where we lose");
    for line in [
        "slower than a peer in 2 of 3 comparisons",
        "| `keyed/grant` | 1 | 1\u{a0}000 | 60.0 | governor | 50.0 | 1.20 | 15 of 15 | It is all in cache. |",
        "| other | 200 | 1.50 | 15 of 15 | *not explained yet* |",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("floor"), "slower than the floor is no loss:\n{text}");
    assert!(!text.contains("600"), "where we win is elsewhere:\n{text}");
}

#[test]
fn only_losses_without_a_reason_are_counted_as_not_explained() {
    let keyed = |peers: &[&str]| {
        let peer = |name: &&str| record("keyed", "grant", 1_000, name, 50.0);
        let mut records: Vec<_> = peers.iter().map(peer).collect();
        records.push(record("keyed", "grant", 1_000, OURS, 60.0));
        vec![kept("keyed", "2026-11-30", records)]
    };
    let notes = Notes::parse(NOTES).unwrap();
    for (peers, words) in [
        (&["governor"][..], "1 lost, of which 0 are not"),
        (&["governor", "a", "b"], "3 lost, of which 2 are not"),
    ] {
        let summary = Report::new(keyed(peers), machine(), &notes).summary();
        assert!(summary.contains(words), "{summary}");
    }
}

#[test]
fn a_case_at_one_size_or_without_a_size_is_not_in_the_cost_against_size() {
    let records = vec![
        record("drr", "no-size", 1, OURS, 20.0),
        record("drr", "one-size", 10, OURS, 20.0),
        record("drr", "two-sizes", 10, OURS, 20.0),
        record("drr", "two-sizes", 1_000, OURS, 20.0),
        record("drr", "one-beside-none", 1, OURS, 20.0),
        record("drr", "one-beside-none", 1_000, OURS, 20.0),
    ];
    let notes = Notes::parse(NOTES).unwrap();
    let report = Report::new(vec![kept("drr", "2026-11-30", records)], machine(), &notes);
    let cases: Vec<String> = report.series().into_iter().map(|series| series.case).collect();
    assert_eq!(cases, ["two-sizes"]);
}

#[test]
fn the_terminal_hears_of_losses_without_a_reason_and_of_reasons_without_a_loss() {
    let notes = Notes::parse(NOTES).unwrap();
    let report = report(&notes);
    assert_eq!(report.summary(), "5 rows, 2 of 5 asked figures missed, 2 lost, of which 1 are not explained");
    assert_eq!(report.idle_reasons().collect::<Vec<_>>(), ["`drr/*`"]);
}

#[test]
fn cost_against_size_has_a_column_for_each_size_and_ours_first() {
    let text = section("Cost against size");
    let table = "\
| `keyed/grant` | 1\u{a0}000 | 1\u{a0}000\u{a0}000 | growth |\n\
| --- | ---: | ---: | ---: |\n\
| tollgate | 60.0 | 300 | 5.00 |\n\
| governor | 50.0 | 600 | 12.0 |\n\
| other |  | 200 | 1.00 |\n\
| floor | 1.00 |  | 1.00 |\n";
    assert!(text.contains(table), "{text}");
    assert!(text.contains("](docs/chart.svg)"), "{text}");
    assert!(!text.contains("drr/pick"), "it has one size:\n{text}");
}

#[test]
fn groups_stand_in_the_order_of_the_notes_with_all_their_rows_and_losses_in_bold() {
    let text = section("All comparisons");
    let (keyed, drr) = text.split_once("### `drr`: rounds").unwrap();
    assert!(keyed.contains("### `keyed`: a bucket for each key\n\nWhat it is.\n\n| case |"), "{text}");
    assert!(keyed.contains("| governor | 50.0 | **1.20** | 1.20 to 1.20 |"), "{keyed}");
    assert!(keyed.contains("| governor | 600 | 0.50 |"), "{keyed}");
    assert!(keyed.contains("| floor | 1.00 | 60.0 |"), "{keyed}");
    assert!(!keyed.contains("tollgate at"), "growth is told elsewhere:\n{keyed}");
    assert!(drr.contains("No peer"), "{drr}");
}

#[test]
fn a_group_without_a_note_comes_last_and_is_told_all_the_same() {
    let notes = Notes::parse(NOTES).unwrap();
    let new = vec![record("new", "case", 1, OURS, 1.0), record("new", "case", 1, "peer", 2.0)];
    let drr = vec![record("drr", "pick", 1, OURS, 20.0)];
    let all = vec![kept("new", "2026-11-30", new), kept("drr", "2026-11-30", drr)];
    let text = Report::new(all, machine(), &notes).markdown("chart.svg");
    assert!(text.contains("\n### `new`\n\n| case |"), "{text}");
    assert!(text.find("### `drr`") < text.find("### `new`"));
    assert!(text.contains("| when | 2026-11-30 (UTC) |"), "{text}");
}
