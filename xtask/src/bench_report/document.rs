//! The report as text: `BENCHMARKS.md`.
//!
//! What was asked, and where we lose, come first; then the cost against size, then every comparison, by group.

mod text;

use std::collections::BTreeMap;

use super::compare::{Against, Row, compare};
use super::machine::Machine;
use super::measure::Kept;
use super::notes::{Asked, Bound, Notes};
use super::record::{OURS, Record};
use text::{count, nanoseconds, ratio, size, table};

/// All that is to be told.
pub(super) struct Report<'a> {
    kept: Vec<Kept>,
    machine: Machine,
    notes: &'a Notes,
    rows: Vec<Row>,
}

/// One case at all its sizes: the time of each implementation by size, ours first, floors last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub(super) group: String,
    pub(super) case: String,
    pub(super) threads: u64,
    pub(super) lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) implementation: String,
    pub(super) against: Option<Against>,
    pub(super) ns: BTreeMap<u64, f64>,
}

impl<'a> Report<'a> {
    /// The groups in the order of the notes.
    pub(super) fn new(mut kept: Vec<Kept>, machine: Machine, notes: &'a Notes) -> Self {
        kept.sort_by_key(|kept| notes.place(&kept.group));
        let rows = kept.iter().flat_map(|kept| compare(&kept.records, notes)).collect();
        Self { kept, machine, notes, rows }
    }

    pub(super) fn markdown(&self, chart: &str) -> String {
        let parts = [
            self.head(),
            format!("## What was asked\n\n{}", self.asked()),
            format!("## Where we lose\n\n{}", self.lost()),
            format!("## Cost against size\n\n{}", self.sizes(chart)),
            format!("## All comparisons\n\n{}", self.groups()),
        ];
        parts.join("\n")
    }

    /// One line for who waits at the terminal.
    pub(super) fn summary(&self) -> String {
        let asked = self.answers();
        let missed = asked.iter().filter(|answer| answer.met == Some(false)).count();
        let lost = self.lost_rows().count();
        let unexplained = self.lost_rows().filter(|row| self.notes.why(row).is_none()).count();
        format!(
            "{} rows, {missed} of {} asked figures missed, {lost} lost, of which {unexplained} are not explained",
            self.rows.len(),
            asked.len()
        )
    }

    /// Reasons for which there is no lost row.
    pub(super) fn idle_reasons(&self) -> impl Iterator<Item = String> {
        let idle = self.notes.lost.iter().filter(|reason| !self.lost_rows().any(|row| reason.of.covers(row)));
        idle.map(|reason| reason.of.to_string())
    }

    /// Every case that was measured at several sizes.
    pub(super) fn series(&self) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for record in self.records().filter(|record| record.size > 1) {
            let Some(ns) = record.median_ns() else { continue };
            let same = |series: &Series| {
                (&series.group, &series.case, series.threads) == (&record.group, &record.case, record.threads)
            };
            let place = all.iter().position(same).unwrap_or(all.len());
            if place == all.len() {
                let Record { group, case, threads, .. } = record.clone();
                all.push(Series { group, case, threads, lines: Vec::new() });
            }
            all[place].add(record, self.against(record), ns);
        }
        all.retain(|series| series.lines.iter().any(|line| line.against.is_none() && line.ns.len() > 1));
        for series in &mut all {
            series.lines.sort_by_key(|line| line.against.map(|against| against == Against::Floor));
        }
        all
    }

    fn head(&self) -> String {
        let Machine { processor, cores, memory_gib, system, rustc, commit, peers } = &self.machine;
        let peers: Vec<String> = peers.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let busiest = self.kept.iter().map(|kept| kept.load).fold(0.0, f64::max);
        let minutes = self.kept.iter().map(|kept| kept.seconds).sum::<f64>() / 60.0;
        let rounds = self.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
        let facts = [
            vec!["when".into(), self.days()],
            vec!["command".into(), "`cargo xtask bench-report`".into()],
            vec!["took".into(), format!("{minutes:.0} minutes, with the set-up")],
            vec!["processor".into(), format!("{processor}, {cores} cores")],
            vec!["memory".into(), format!("{memory_gib} GiB")],
            vec!["system".into(), system.clone()],
            vec![
                "busy".into(),
                format!("load average at most {busiest:.1} when a group began, ours included"),
            ],
            vec!["compiler".into(), format!("{rustc}, `bench` profile: fat LTO, one codegen unit")],
            vec!["tollgate".into(), format!("commit {commit}")],
            vec!["beside".into(), peers.join(", ")],
        ];
        format!(
            "# Benchmarks\n\n\
             Written by `cargo xtask bench-report`; changes by hand are lost. What is said beside the figures is in \
             `benches/report.toml`.\n\n\
             A lone time says more about a machine than about code, so everything here is a ratio: ours divided by a \
             peer's, below 1 where ours is faster. Criterion measures ours and all peers of a case one after the other, \
             in {rounds} rounds, every other round in reverse. A ratio is of two times of one round, and the round shown \
             is the one whose ratio is the median; beside it stand the quartiles of the ratios. The floor is what \
             the task costs at the very least, and is no peer. With two threads, a time is that of all operations divided \
             by their number, so half as much is the best there can be.\n\n{}",
            table(&["", ""], &facts)
        )
    }

    fn days(&self) -> String {
        let day = |kept: &Kept| kept.ended.strftime("%Y-%m-%d").to_string();
        let days: Vec<String> = self.kept.iter().map(day).collect();
        match (days.iter().min(), days.iter().max()) {
            (Some(first), Some(last)) if first == last => format!("{first} (UTC)"),
            (Some(first), Some(last)) => format!("{first} to {last} (UTC)"),
            _ => "never".into(),
        }
    }

    fn asked(&self) -> String {
        let answers = self.answers();
        let missed = answers.iter().filter(|answer| answer.met == Some(false)).count();
        let rows: Vec<Vec<String>> = answers
            .iter()
            .map(|answer| {
                let verdict = match answer.met {
                    Some(true) => "met",
                    Some(false) => "**missed**",
                    None => "not measured",
                };
                vec![answer.what.clone(), answer.bound.clone(), answer.measured.clone(), verdict.into()]
            })
            .collect();
        format!(
            "Figures that were set before the code was written. Missed: {missed} of {}.\n\n{}",
            answers.len(),
            table(&["what", "asked", ">measured", ""], &rows)
        )
    }

    /// Each figure that was asked, of each case that it is about.
    fn answers(&self) -> Vec<Answer> {
        let mut answers = Vec::new();
        for asked in &self.notes.asked {
            let before = answers.len();
            match asked.at_most {
                Bound::Ratio(most) => {
                    let rows = self.rows.iter().filter(|row| asked.of.covers(row));
                    answers.extend(rows.map(|row| Answer::of_row(row, most)));
                }
                Bound::Ns(most) => {
                    let ours = self.records().filter(|record| record.is_ours() && asked.covers(record));
                    answers.extend(ours.filter_map(|record| Answer::of_time(record, most)));
                }
            }
            if answers.len() == before {
                answers.push(Answer::missing(asked));
            }
        }
        answers
    }

    fn lost(&self) -> String {
        let row = |row: &Row| {
            vec![
                format!("`{}/{}`", row.group, row.case),
                count(row.threads),
                size(row.size),
                nanoseconds(row.ours_ns),
                row.peer.clone(),
                nanoseconds(row.peer_ns),
                ratio(row.ratio),
                format!("{} of {}", row.slower, row.rounds),
                self.notes.why(row).unwrap_or("*not explained yet*").to_owned(),
            ]
        };
        let rows: Vec<Vec<String>> = self.lost_rows().map(row).collect();
        let peers = self.rows.iter().filter(|row| row.against == Against::Peer).count();
        let head = [
            "case",
            ">threads",
            ">size",
            ">ours ns",
            "peer",
            ">its ns",
            ">ratio",
            ">slower in rounds",
            "why",
        ];
        format!(
            "Ours is slower than a peer in {} of {peers} comparisons.\n\n{}",
            rows.len(),
            table(&head, &rows)
        )
    }

    fn sizes(&self, chart: &str) -> String {
        let mut text = format!(
            "With ten, a thousand or a million tenants, keys or waiters in it: nanoseconds an operation, the median of \
             the rounds, and the largest divided by the smallest.\n\n\
             ![Cost of an operation against what is in the machine, one panel a case]({chart})\n"
        );
        for series in self.series() {
            let sizes: Vec<u64> = series.sizes();
            let mut head = vec![">".to_owned() + "growth"];
            head.splice(0..0, sizes.iter().map(|&n| format!(">{}", size(n))));
            head.insert(0, format!("`{}/{}`{}", series.group, series.case, threads(series.threads)));
            let line = |line: &Line| {
                let at = |n: &u64| line.ns.get(n).map_or(String::new(), |&ns| nanoseconds(ns));
                let ends = line.ns.first_key_value().zip(line.ns.last_key_value());
                let growth = ends.map_or(String::new(), |((_, small), (_, large))| ratio(large / small));
                let mut cells = vec![line.implementation.clone()];
                cells.extend(sizes.iter().map(at));
                cells.push(growth);
                cells
            };
            let rows: Vec<Vec<String>> = series.lines.iter().map(line).collect();
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            text += &format!("\n{}", table(&head, &rows));
        }
        text
    }

    fn groups(&self) -> String {
        let group = |kept: &Kept| {
            let note = self.notes.groups.iter().find(|note| note.name == kept.group);
            let title = note.map_or(String::new(), |note| format!(": {}", note.title));
            let about = note.map_or(String::new(), |note| format!("{}\n\n", note.about.trim()));
            let row = |row: &Row| {
                vec![
                    row.case.clone(),
                    count(row.threads),
                    size(row.size),
                    nanoseconds(row.ours_ns),
                    row.peer.clone(),
                    nanoseconds(row.peer_ns),
                    if row.is_lost() { format!("**{}**", ratio(row.ratio)) } else { ratio(row.ratio) },
                    format!("{} to {}", ratio(row.quartiles.0), ratio(row.quartiles.1)),
                ]
            };
            let rows =
                self.rows.iter().filter(|row| row.group == kept.group && row.against != Against::Smaller);
            let rows: Vec<Vec<String>> = rows.map(row).collect();
            let head = ["case", ">threads", ">size", ">ours ns", "peer", ">its ns", ">ratio", ">quartiles"];
            let figures = if rows.is_empty() {
                "No peer: see the cost against size.\n".to_owned()
            } else {
                table(&head, &rows)
            };
            format!("### `{}`{title}\n\n{about}{figures}", kept.group)
        };
        self.kept.iter().map(group).collect::<Vec<_>>().join("\n")
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.kept.iter().flat_map(|kept| &kept.records)
    }

    fn lost_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_lost())
    }

    fn against(&self, record: &Record) -> Option<Against> {
        let floor = self.notes.is_floor(&record.implementation);
        (record.implementation != OURS).then_some(if floor { Against::Floor } else { Against::Peer })
    }
}

impl Series {
    fn add(&mut self, record: &Record, against: Option<Against>, ns: f64) {
        let known = self.lines.iter().position(|line| line.implementation == record.implementation);
        let place = known.unwrap_or(self.lines.len());
        if known.is_none() {
            let implementation = record.implementation.clone();
            self.lines.push(Line { implementation, against, ns: BTreeMap::new() });
        }
        self.lines[place].ns.insert(record.size, ns);
    }

    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.lines.iter().flat_map(|line| line.ns.keys().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

impl Asked {
    fn covers(&self, record: &Record) -> bool {
        self.of.covers_case(&record.group, &record.case, record.threads, record.size)
    }
}

/// A figure that was asked, and what it is.
struct Answer {
    what: String,
    bound: String,
    measured: String,
    /// None if it was not measured.
    met: Option<bool>,
}

impl Answer {
    fn of_row(row: &Row, most: f64) -> Self {
        Self {
            what: format!("{} ÷ {}", case(&row.group, &row.case, row.threads, row.size), row.peer),
            bound: format!("≤ {most}"),
            measured: ratio(row.ratio),
            met: Some(row.ratio <= most),
        }
    }

    fn of_time(record: &Record, most_ns: f64) -> Option<Self> {
        let ns = record.median_ns()?;
        Some(Self {
            what: case(&record.group, &record.case, record.threads, record.size),
            bound: format!("≤ {most_ns} ns"),
            measured: format!("{} ns", nanoseconds(ns)),
            met: Some(ns <= most_ns),
        })
    }

    fn missing(asked: &Asked) -> Self {
        let bound = match asked.at_most {
            Bound::Ratio(most) => format!("≤ {most}"),
            Bound::Ns(most) => format!("≤ {most} ns"),
        };
        Self { what: asked.of.to_string(), bound, measured: String::new(), met: None }
    }
}

fn case(group: &str, case: &str, of_threads: u64, of_size: u64) -> String {
    let at = if of_size == 1 { String::new() } else { format!(" at {}", size(of_size)) };
    format!("`{group}/{case}`{at}{}", threads(of_threads))
}

fn threads(threads: u64) -> String {
    if threads == 1 { String::new() } else { format!(", {threads} threads") }
}

#[cfg(test)]
mod tests;
