//! Two records of one case side by side: the ratio of the round in the middle.

use serde::Serialize;

use super::notes::Notes;
use super::record::{OURS, Record};

/// A case that was measured at this size has a row for its growth to each larger one.
const GROWTH_FROM: u64 = 1_000;

/// What ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Against {
    Peer,
    /// What the task costs at the very least: slower than this is no loss.
    Floor,
    /// Ours, with less in it.
    Smaller,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) group: String,
    pub(super) case: String,
    pub(super) threads: u64,
    /// How many tenants, keys or waiters; 1 where a size has no meaning.
    pub(super) size: u64,
    pub(super) ours_ns: f64,
    pub(super) against: Against,
    pub(super) peer: String,
    pub(super) peer_ns: f64,
    pub(super) ratio: f64,
    /// A quarter of the rounds has a ratio of at most the first, a quarter of at least the second.
    pub(super) quartiles: (f64, f64),
    pub(super) rounds: usize,
    /// In how many of them ours was slower.
    pub(super) slower: usize,
}

impl Row {
    pub(super) fn is_lost(&self) -> bool {
        self.against == Against::Peer && self.ratio > 1.0
    }
}

/// Every peer beside ours of the same case, then ours at a large size beside ours at a small one.
pub(super) fn compare(records: &[Record], notes: &Notes) -> Vec<Row> {
    let ours: Vec<&Record> = records.iter().filter(|record| record.is_ours()).collect();
    let mut rows = Vec::new();
    for mine in &ours {
        for peer in records.iter().filter(|other| !other.is_ours() && mine.same_case(other)) {
            let floor = notes.is_floor(&peer.implementation);
            let against = if floor { Against::Floor } else { Against::Peer };
            rows.extend(row(mine, peer, against, peer.implementation.clone()));
        }
    }
    for large in ours.iter().filter(|record| record.size > GROWTH_FROM) {
        let small = ours.iter().find(|small| {
            small.size == GROWTH_FROM
                && (&small.group, &small.case, small.threads) == (&large.group, &large.case, large.threads)
        });
        let Some(small) = small else { continue };
        rows.extend(row(large, small, Against::Smaller, format!("{OURS} at {GROWTH_FROM}")));
    }
    rows
}

/// The round in which the ratio is the median.
fn row(mine: &Record, peer: &Record, against: Against, name: String) -> Option<Row> {
    let mut rounds: Vec<(f64, f64, f64)> = mine
        .rounds
        .iter()
        .filter_map(|(round, ours)| peer.rounds.get(round).map(|theirs| (ours / theirs, *ours, *theirs)))
        .collect();
    rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let &(ratio, ours_ns, peer_ns) = rounds.get(rounds.len() / 2)?;
    let last = rounds.len() - 1;
    let quartiles = (rounds[last / 4].0, rounds[last - last / 4].0);
    let Record { group, case, threads, size, .. } = mine;
    Some(Row {
        group: group.clone(),
        case: case.clone(),
        threads: *threads,
        size: *size,
        ours_ns,
        against,
        peer: name,
        peer_ns,
        ratio,
        quartiles,
        rounds: rounds.len(),
        slower: rounds.iter().filter(|round| round.0 > 1.0).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64, implementation: &str, rounds: &[f64]) -> Record {
        Record {
            group: "drr".into(),
            case: "in order".into(),
            threads: 1,
            size,
            implementation: implementation.into(),
            rounds: rounds.iter().copied().enumerate().map(|(round, ns)| (round.to_string(), ns)).collect(),
        }
    }

    fn notes() -> Notes {
        Notes::parse("floors = [\"floor\"]").unwrap()
    }

    #[test]
    fn a_row_is_the_round_whose_ratio_is_the_median() {
        // The second round was slow for both, the third for ours alone.
        let records = [record(10, OURS, &[10.0, 30.0, 90.0]), record(10, "peer", &[20.0, 50.0, 20.0])];
        let rows = compare(&records, &notes());
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].ours_ns, rows[0].peer_ns, rows[0].ratio), (30.0, 50.0, 0.6));
        assert_eq!((rows[0].slower, rows[0].rounds), (1, 3));
        assert!(!rows[0].is_lost());
    }

    #[test]
    fn quartiles_leave_a_quarter_of_the_rounds_on_either_side() {
        let ours: Vec<f64> = (1..=15).map(f64::from).collect();
        let rows = compare(&[record(10, OURS, &ours), record(10, "peer", &[10.0; 15])], &notes());
        assert_eq!((rows[0].quartiles, rows[0].ratio), ((0.4, 1.2), 0.8));
    }

    #[test]
    fn slower_than_a_peer_is_lost_and_slower_than_the_floor_is_not() {
        let records = [record(10, OURS, &[9.0]), record(10, "floor", &[1.0]), record(10, "peer", &[8.0])];
        let rows = compare(&records, &notes());
        let lost: Vec<_> = rows.iter().map(|row| (row.peer.as_str(), row.is_lost())).collect();
        assert_eq!(lost, [("floor", false), ("peer", true)]);
    }

    #[test]
    fn growth_is_ours_at_the_large_size_to_ours_at_the_small_one() {
        let rows = compare(&[record(1_000, OURS, &[10.0]), record(1_000_000, OURS, &[25.0])], &notes());
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].size, rows[0].ratio), (1_000_000, 2.5));
        assert_eq!(rows[0].peer, "tollgate at 1000");
        assert!(!rows[0].is_lost());
    }
}
