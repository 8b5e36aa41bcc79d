//! How far libFuzzer came, from what it prints.

use core::fmt;

/// The latest it said.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Reached {
    /// Inputs that were run.
    pub(super) executions: u64,
    /// Edges between blocks of code that one of them took.
    pub(super) edges: u64,
    /// The same, each counted once for each order of magnitude in which it was taken, and values compared.
    pub(super) features: u64,
}

impl Reached {
    /// Whether this line told.
    pub(super) fn hear(&mut self, line: &str) -> bool {
        match Self::read(line) {
            Some(more) => *self = more,
            None => return false,
        }
        true
    }

    /// From one of its lines about that.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let executions = words.next()?.strip_prefix('#')?.parse().ok()?;
        let mut after = |name| words.by_ref().skip_while(|word| *word != name).nth(1)?.parse().ok();
        Some(Self { executions, edges: after("cov:")?, features: after("ft:")? })
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, edges, features } = self;
        write!(f, "{executions} executions, {edges} edges, {features} features")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_came_is_read_from_its_lines() {
        let mut reached = Reached::default();
        let line = "#4194304\tDONE   cov: 1503 ft: 9420 corp: 812/48Kb lim: 2048 exec/s: 9709 rss: 96Mb";
        assert!(reached.hear(line));
        let expected = Reached { executions: 4_194_304, edges: 1503, features: 9420 };
        assert_eq!(reached, expected);
        assert!(!reached.hear("INFO: seed corpus: files: 9 min: 1b max: 90b"));
        assert!(!reached.hear("#0 0x5581 in __sanitizer_print_stack_trace"));
        assert_eq!(reached, expected);
    }
}
