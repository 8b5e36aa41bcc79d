//! A recorded load: when requests came and what they cost, to any scale.
//!
//! Of a trace only proportions are kept: gaps as multiples of the mean gap, costs as multiples of the mean cost. So a plan
//! may offer it at any load, with any mean service time. It is played round and round; a seed says where it begins.
//!
//! When requests came is a second thing to show, and one that hides the first: recorded bursts are so long that for an
//! oracle it pays to queue hundreds. So a plan may have the costs alone, in their order, and let chance say when.

use core::fmt;
use core::hash::Hasher;

use fnv::FnvHasher;

use crate::num;
use crate::trace::Trace;

/// Gaps before requests, and service times, both as multiples of their means.
#[derive(Clone, PartialEq)]
pub(super) struct Recorded {
    requests: Vec<(f64, f64)>,
    /// Gaps are recorded, too.
    instants: bool,
}

impl Recorded {
    /// The gap from the last request to the first of the next round is the mean one.
    pub(super) fn of(trace: &Trace, instants: bool) -> Self {
        let count = num::real(num::count(trace.records.len()));
        let mean_gap = num::real(trace.span_ns().max(1)) / (count - 1.0).max(1.0);
        let mean_cost = num::real_wide(trace.total_cost().max(1)) / count;
        let mut before = None;
        let record = |record: &crate::trace::Record| {
            let gap = before.map_or(1.0, |before| num::real(record.at_ns - before) / mean_gap);
            before = Some(record.at_ns);
            (gap, num::real(record.cost) / mean_cost)
        };
        Self { requests: trace.records.iter().map(record).collect(), instants }
    }

    pub(super) const fn len(&self) -> usize {
        self.requests.len()
    }

    /// Round and round from this request on.
    pub(super) const fn from(&self, start: usize) -> Replay<'_> {
        Replay { recorded: self, place: start }
    }
}

/// For the identity of a plan: a hash.
impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hasher = FnvHasher::default();
        for (gap, times) in &self.requests {
            hasher.write(&gap.to_bits().to_le_bytes());
            hasher.write(&times.to_bits().to_le_bytes());
        }
        write!(f, "Recorded({} {} {:016x})", self.len(), self.instants, hasher.finish())
    }
}

/// A place in a recording.
#[derive(Debug)]
pub(super) struct Replay<'a> {
    recorded: &'a Recorded,
    place: usize,
}

impl Replay<'_> {
    /// The gap before the next request, if it is recorded, and the service time.
    pub(super) fn next(&mut self) -> (Option<f64>, f64) {
        let (gap, times) = self.recorded.requests.get(self.place).copied().unwrap_or((1.0, 1.0));
        self.place = (self.place + 1) % self.recorded.len().max(1);
        (self.recorded.instants.then_some(gap), times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Options;

    fn recorded(instants: bool) -> Recorded {
        let text = "arrival_s,tenant,cost\n5,a,10\n6,a,30\n9,a,80\n";
        Recorded::of(&Trace::read(text.as_bytes(), "three.csv", Options::default()).unwrap(), instants)
    }

    #[test]
    fn gaps_and_costs_are_multiples_of_their_means_and_the_last_is_followed_by_the_first() {
        let recorded = recorded(true);
        let mut replay = recorded.from(1);
        let played: Vec<(Option<f64>, f64)> = (0..4).map(|_| replay.next()).collect();
        assert_eq!(played, [(Some(0.5), 0.75), (Some(1.5), 2.0), (Some(1.0), 0.25), (Some(0.5), 0.75)]);
    }

    #[test]
    fn another_recording_has_another_identity() {
        let other = Recorded { requests: vec![(1.0, 1.0); 3], instants: true };
        let [one, other, costs] = [recorded(true), other, recorded(false)].map(|of| format!("{of:?}"));
        assert!(one != other && one != costs, "{one} {other} {costs}");
    }
}
