//! What stands in the report beside the figures: what the groups are, what was asked of them, and why we lose.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::compare::Row;

/// `benches/report.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notes {
    /// Implementations that are no peers.
    floors: Vec<String>,
    /// In the order of the report.
    #[serde(default, rename = "group")]
    pub(super) groups: Vec<Group>,
    #[serde(default)]
    pub(super) asked: Vec<Asked>,
    #[serde(default)]
    pub(super) lost: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) about: String,
}

/// A figure that is not to be exceeded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) of: Which,
    pub(super) at_most: Bound,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    /// Ours divided by the peer.
    Ratio(f64),
    /// Ours alone, in nanoseconds.
    Ns(f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    pub(super) of: Which,
    pub(super) why: String,
}

/// Some comparisons: what is not named may be anything.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Which {
    pub(super) group: String,
    pub(super) cases: Vec<String>,
    pub(super) threads: Vec<u64>,
    pub(super) sizes: Vec<u64>,
    pub(super) peers: Vec<String>,
}

impl Notes {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let notes: Self = toml::from_str(text)?;
        let selections =
            notes.asked.iter().map(|asked| &asked.of).chain(notes.lost.iter().map(|lost| &lost.of));
        for of in selections {
            ensure!(!of.group.is_empty(), "{of} names no group");
        }
        for asked in &notes.asked {
            let ratio = matches!(asked.at_most, Bound::Ratio(_));
            ensure!(
                ratio != asked.of.peers.is_empty(),
                "{}: a ratio is to a peer, a time is ours alone",
                asked.of
            );
        }
        Ok(notes)
    }

    pub(super) fn is_floor(&self, implementation: &str) -> bool {
        self.floors.iter().any(|floor| floor == implementation)
    }

    /// Why a row is lost, as far as it is known.
    pub(super) fn why(&self, row: &Row) -> Option<&str> {
        self.lost.iter().find(|reason| reason.of.covers(row)).map(|reason| reason.why.as_str())
    }

    /// Where in the report a group stands, those without a note at the end.
    pub(super) fn place(&self, group: &str) -> usize {
        self.groups.iter().position(|noted| noted.name == group).unwrap_or(self.groups.len())
    }
}

impl Which {
    /// Whether a comparison is among these.
    pub(super) fn covers(&self, row: &Row) -> bool {
        self.covers_case(&row.group, &row.case, row.threads, row.size) && any(&self.peers, &row.peer)
    }

    /// Whether a case is, whomever it is compared with.
    pub(super) fn covers_case(&self, group: &str, case: &str, threads: u64, size: u64) -> bool {
        self.group == group
            && any(&self.cases, &case.to_owned())
            && any(&self.threads, &threads)
            && any(&self.sizes, &size)
    }
}

fn any<T: PartialEq>(named: &[T], one: &T) -> bool {
    named.is_empty() || named.contains(one)
}

impl core::fmt::Display for Which {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let cases = if self.cases.is_empty() { "*".to_owned() } else { self.cases.join(", ") };
        write!(f, "`{}/{cases}`", self.group)?;
        let numbers = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        if !self.threads.is_empty() {
            write!(f, ", threads {}", numbers(&self.threads))?;
        }
        if !self.sizes.is_empty() {
            write!(f, ", size {}", numbers(&self.sizes))?;
        }
        if !self.peers.is_empty() {
            write!(f, " ÷ {}", self.peers.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Against;
    use super::*;

    fn row(case: &str, threads: u64, peer: &str) -> Row {
        Row {
            group: "keyed".into(),
            case: case.into(),
            threads,
            size: 1_000,
            ours_ns: 2.0,
            against: Against::Peer,
            peer: peer.into(),
            peer_ns: 1.0,
            ratio: 2.0,
            quartiles: (2.0, 2.0),
            rounds: 1,
            slower: 1,
        }
    }

    #[test]
    fn what_a_selection_does_not_name_may_be_anything() {
        let which = |text: &str| toml::from_str::<Which>(text).unwrap();
        assert!(which("group = 'keyed'").covers(&row("grant", 2, "a")));
        assert!(!which("group = 'drr'").covers(&row("grant", 2, "a")));
        for (text, case, threads, peer) in [
            ("cases = ['grant', 'churn']", "refuse", 2, "a"),
            ("threads = [2]", "grant", 1, "a"),
            ("peers = ['a']", "grant", 2, "b"),
        ] {
            let some = which(&format!("group = 'keyed'\n{text}"));
            assert!(some.covers(&row("grant", 2, "a")), "{text}");
            assert!(!some.covers(&row(case, threads, peer)), "{text}");
        }
        assert!(!which("group = 'keyed'\nsizes = [10]").covers(&row("grant", 2, "a")));
    }

    #[test]
    fn the_first_reason_that_covers_a_row_is_given() {
        let notes = Notes::parse(
            "floors = []\n\
             [[lost]]\nof = { group = 'keyed', cases = ['churn'] }\nwhy = 'one'\n\
             [[lost]]\nof = { group = 'keyed' }\nwhy = 'two'\n",
        )
        .unwrap();
        assert_eq!(notes.why(&row("churn", 1, "a")), Some("one"));
        assert_eq!(notes.why(&row("grant", 1, "a")), Some("two"));
    }

    #[test]
    fn unknown_words_and_bounds_that_mean_nothing_are_refused() {
        let asked = |of: &str, most: &str| {
            Notes::parse(&format!("floors = []\n[[asked]]\nof = {{ {of} }}\nat_most = {{ {most} }}\n"))
        };
        assert!(asked("group = 'a', peers = ['b']", "ratio = 1.0").is_ok());
        assert!(asked("group = 'a'", "ns = 1.0").is_ok());
        assert!(asked("group = 'a'", "ratio = 1.0").is_err(), "to whom?");
        assert!(asked("group = 'a', peers = ['b']", "ns = 1.0").is_err(), "it is ours alone");
        assert!(asked("peers = ['b']", "ratio = 1.0").is_err(), "of what?");
        assert!(asked("group = 'a', peer = 'b'", "ratio = 1.0").is_err(), "it is called peers");
    }

    #[test]
    fn the_notes_of_this_project_can_be_read() {
        Notes::parse(&super::super::read(&crate::workspace::root().join(super::super::NOTES)).unwrap())
            .unwrap();
    }
}
