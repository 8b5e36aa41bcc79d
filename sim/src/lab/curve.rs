//! What happened over time, for charts.

use super::plan::Plan;
use crate::num;

/// Cells in a curve.
const CELLS: u64 = 300;

/// One cell of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Its middle, seconds.
    pub at_s: f64,
    /// Sum of the limits at its end.
    pub limit: u64,
    /// In flight at its end.
    pub in_flight: u64,
    /// Mean latency of what ended in it, milliseconds.
    pub latency_ms: Option<f64>,
    /// Completed within the deadline, a second.
    pub goodput_per_s: f64,
}

/// Limit, in flight, latency and goodput over the time of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The cells that have ended.
    pub cells: Vec<Cell>,
    span_ns: u64,
    ended: u64,
    latency_ns: u64,
    on_time: u64,
}

impl Curve {
    /// An empty one for a run of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { cells: Vec::new(), span_ns: plan.span_ns(), ended: 0, latency_ns: 0, on_time: 0 }
    }

    const fn end(&self, cell: u64) -> u64 {
        (self.span_ns / CELLS).saturating_mul(cell + 1)
    }

    /// The instants at which its cells end.
    pub(super) fn ends(&self) -> impl Iterator<Item = u64> {
        (0..CELLS).map(|cell| self.end(cell))
    }

    pub(super) const fn succeeded(&mut self, latency_ns: u64, on_time: bool) {
        self.timed_out(latency_ns);
        if on_time {
            self.on_time += 1;
        }
    }

    pub(super) const fn timed_out(&mut self, latency_ns: u64) {
        self.ended += 1;
        self.latency_ns = self.latency_ns.saturating_add(latency_ns);
    }

    pub(super) fn close_cell(&mut self, limit: u64, in_flight: u64) {
        let length_s = num::seconds(self.span_ns / CELLS);
        let index = num::count(self.cells.len());
        let mean_ms = num::real(self.latency_ns) / num::real(self.ended) / 1e6;
        self.cells.push(Cell {
            at_s: length_s * (num::real(index) + 0.5),
            limit,
            in_flight,
            latency_ms: mean_ms.is_finite().then_some(mean_ms),
            goodput_per_s: num::real(self.on_time) / length_s,
        });
        (self.ended, self.latency_ns, self.on_time) = (0, 0, 0);
    }
}
