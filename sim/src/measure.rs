//! What one run showed: totals, latencies, and how they went over time.
//!
//! * **offered** = admitted + refused at the gate; **admitted** = on time + timed out + refused by the server. At
//!   the end of a run nobody is in flight, so the books must balance ([`Run::check`]).
//! * **Goodput** counts completions within the deadline; a client is gone after it, so no completion is late.
//! * **Latency** is that of admitted requests, from admission to completion or deadline, whichever came first.
//!   What the server refused is not in it: a fast failure is no measurement (`started` and gone in microseconds).
//!   Resolution 0.1 %, from a microsecond up.
//! * **In flight** is the gate's view: a client that gave up is no longer in flight, though the server may still
//!   work for it.
//!
//! Over time, the run is cut into [`FINE`] equal parts for recovery times, and each `POINT` of these are
//! one point of the charts.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::num;

/// Parts into which the arrivals of a run are cut.
pub const FINE: usize = 2400;
/// Parts that make one point of a chart.
const POINT: usize = 20;
/// Latencies are kept up to this, microseconds: 27 hours.
const MOST_US: u64 = 100_000_000_000;

/// Totals of one run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counts {
    /// Requests that came.
    pub offered: u64,
    /// Let in by the gate.
    pub admitted: u64,
    /// Turned away by the gate.
    pub refused: u64,
    /// Let in by the gate, turned away by the server's hard limit.
    pub refused_by_server: u64,
    /// Done within the deadline.
    pub on_time: u64,
    /// Given up by the client at the deadline.
    pub timed_out: u64,
}

/// Quantiles of the latency, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Median.
    pub p50_ms: f64,
    /// 95 %.
    pub p95_ms: f64,
    /// 99 %.
    pub p99_ms: f64,
}

/// One point of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// End of the part, seconds.
    pub at_s: f64,
    /// Limit in force then; `None` where there is none.
    pub limit: Option<u32>,
    /// Mean requests in flight.
    pub in_flight: f64,
    /// 95 % quantile of the latencies that ended in it, milliseconds; `None` if none did.
    pub p95_ms: Option<f64>,
    /// Completions on time, per second.
    pub goodput_per_s: f64,
    /// Arrivals, per second.
    pub offered_per_s: f64,
}

/// Everything one run showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Totals.
    pub counts: Counts,
    /// Latencies; `None` if nothing that was admitted was served or timed out.
    pub latency: Option<Latency>,
    /// Most in flight at once.
    pub peak_in_flight: u32,
    /// Most in the server at once, with those whose client had given up.
    pub peak_in_server: u32,
    /// Length of the arrivals, nanoseconds.
    pub span_ns: u64,
    /// Events handled.
    pub events: u64,
    /// Over time.
    pub points: Vec<Point>,
    /// Completions on time in each of [`FINE`] equal parts of the run.
    pub on_time: Vec<u32>,
    /// Arrivals in each of these.
    pub offered: Vec<u32>,
}

impl Run {
    /// Completions on time per second of arrivals.
    #[must_use]
    pub fn goodput_per_s(&self) -> f64 {
        num::real(self.counts.on_time) / num::seconds(self.span_ns)
    }

    /// Mean limit over the run; `None` where there is none.
    #[must_use]
    pub fn mean_limit(&self) -> Option<f64> {
        let limits: Option<Vec<f64>> = self.points.iter().map(|point| point.limit.map(f64::from)).collect();
        limits
            .filter(|limits| !limits.is_empty())
            .map(|l| l.iter().sum::<f64>() / num::real(num::count(l.len())))
    }

    /// Whether the books balance.
    #[must_use]
    pub const fn check(&self) -> bool {
        let counts = &self.counts;
        counts.offered == counts.admitted + counts.refused
            && counts.admitted == counts.on_time + counts.timed_out + counts.refused_by_server
    }
}

/// What the gate looks like at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    pub(crate) limit: Option<u32>,
    pub(crate) in_flight: u32,
}

/// Watches a run. Everything is reserved at the start.
#[derive(Debug)]
pub(crate) struct Recorder {
    counts: Counts,
    latency: Histogram<u64>,
    peak_in_flight: u32,
    peak_in_server: u32,
    span_ns: u64,
    events: u64,
    on_time: Vec<u32>,
    offered: Vec<u32>,
    points: Vec<Point>,
    /// The part now being filled, and its first instant after.
    part: usize,
    part_ends_ns: u64,
    /// Of the point now being filled: latencies (microseconds), ∫ in flight dt, and up to when.
    recent_us: Vec<u64>,
    area: u128,
    area_to_ns: u64,
}

impl Recorder {
    pub(crate) fn new(span_ns: u64) -> Self {
        Self {
            counts: Counts::default(),
            latency: histogram(),
            peak_in_flight: 0,
            peak_in_server: 0,
            span_ns,
            events: 0,
            on_time: vec![0; FINE],
            offered: vec![0; FINE],
            points: Vec::with_capacity(FINE / POINT),
            part: 0,
            part_ends_ns: starts_ns(span_ns, 1),
            recent_us: Vec::new(),
            area: 0,
            area_to_ns: 0,
        }
    }

    /// An event is about to happen at `now_ns`; until now the gate looked like `gauge`.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64, gauge: Gauge) {
        self.events += 1;
        while now_ns >= self.part_ends_ns && self.part < FINE {
            self.integrate(self.part_ends_ns, gauge);
            self.part += 1;
            if self.part.is_multiple_of(POINT) {
                self.close_point(gauge);
            }
            self.part_ends_ns = starts_ns(self.span_ns, self.part + 1);
        }
        self.integrate(now_ns, gauge);
    }

    #[inline]
    fn integrate(&mut self, to_ns: u64, gauge: Gauge) {
        self.area += u128::from(to_ns - self.area_to_ns) * u128::from(gauge.in_flight);
        self.area_to_ns = to_ns;
    }

    fn close_point(&mut self, gauge: Gauge) {
        let parts = self.part - POINT..self.part;
        let length_ns = (self.part_ends_ns - starts_ns(self.span_ns, parts.start)).max(1);
        let length_s = num::seconds(length_ns);
        let total =
            |counts: &[u32]| num::real(counts[parts.clone()].iter().map(|&count| u64::from(count)).sum());
        self.points.push(Point {
            at_s: num::seconds(self.part_ends_ns),
            limit: gauge.limit,
            in_flight: num::real_wide(self.area) / num::real(length_ns),
            p95_ms: p95_ms(&mut self.recent_us),
            goodput_per_s: total(&self.on_time) / length_s,
            offered_per_s: total(&self.offered) / length_s,
        });
        self.recent_us.clear();
        self.area = 0;
    }

    #[inline]
    pub(crate) fn offered(&mut self) {
        self.counts.offered += 1;
        if let Some(count) = self.offered.get_mut(self.part) {
            *count += 1;
        }
    }

    #[inline]
    pub(crate) const fn refused(&mut self) {
        self.counts.refused += 1;
    }

    #[inline]
    pub(crate) fn admitted(&mut self, in_flight: u32, in_server: u32) {
        self.counts.admitted += 1;
        self.peak_in_flight = self.peak_in_flight.max(in_flight);
        self.peak_in_server = self.peak_in_server.max(in_server);
    }

    #[inline]
    pub(crate) const fn refused_by_server(&mut self) {
        self.counts.refused_by_server += 1;
    }

    #[inline]
    pub(crate) fn on_time(&mut self, latency_ns: u64) {
        self.counts.on_time += 1;
        self.latency(latency_ns);
        if let Some(count) = self.on_time.get_mut(self.part) {
            *count += 1;
        }
    }

    #[inline]
    pub(crate) fn timed_out(&mut self, latency_ns: u64) {
        self.counts.timed_out += 1;
        self.latency(latency_ns);
    }

    #[inline]
    fn latency(&mut self, latency_ns: u64) {
        let us = latency_ns / 1_000;
        self.latency.saturating_record(us);
        self.recent_us.push(us);
    }

    /// The run is over.
    pub(crate) fn finish(mut self, gauge: Gauge) -> Run {
        // Parts without an event after them are closed as the gate stood.
        self.advance(self.span_ns.max(self.area_to_ns), gauge);
        self.events -= 1;
        let latency = &self.latency;
        let latency = (!latency.is_empty()).then(|| Latency {
            p50_ms: milliseconds(latency, 0.5),
            p95_ms: milliseconds(latency, 0.95),
            p99_ms: milliseconds(latency, 0.99),
        });
        Run {
            counts: self.counts,
            latency,
            peak_in_flight: self.peak_in_flight,
            peak_in_server: self.peak_in_server,
            span_ns: self.span_ns,
            events: self.events,
            points: self.points,
            on_time: self.on_time,
            offered: self.offered,
        }
    }
}

/// The first instant of part `part` of a run.
fn starts_ns(span_ns: u64, part: usize) -> u64 {
    let starts = u128::from(span_ns) * u128::from(num::count(part)) / u128::from(num::count(FINE));
    u64::try_from(starts).unwrap_or(u64::MAX)
}

fn milliseconds(latency: &Histogram<u64>, quantile: f64) -> f64 {
    num::real(latency.value_at_quantile(quantile)) / 1e3
}

/// The 95 % quantile of a few latencies, exactly; leaves them in another order. O(n).
fn p95_ms(latencies_us: &mut [u64]) -> Option<f64> {
    let rank = (latencies_us.len() * 95).div_ceil(100).checked_sub(1)?;
    let (_, &mut us, _) = latencies_us.select_nth_unstable(rank);
    Some(num::real(us) / 1e3)
}

/// Up to [`MOST_US`] microseconds with three significant digits.
fn histogram() -> Histogram<u64> {
    match Histogram::new_with_max(MOST_US, 3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("three digits and a maximum of at least 2 are always accepted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN_NS: u64 = 24_000_000_000;

    fn gauge(in_flight: u32) -> Gauge {
        Gauge { limit: Some(7), in_flight }
    }

    #[test]
    fn a_point_holds_the_mean_in_flight_and_the_rates_of_its_part() {
        let mut recorder = Recorder::new(SPAN_NS);
        // Points are 0.2 s long. In flight 0 for 50 ms, 4 for 150 ms.
        recorder.advance(50_000_000, gauge(0));
        recorder.offered();
        recorder.admitted(4, 4);
        recorder.advance(198_000_000, gauge(4));
        recorder.on_time(148_000_000);
        recorder.advance(300_000_000, gauge(4));
        let run = recorder.finish(gauge(0));
        assert_eq!(run.points.len(), FINE / POINT);
        let first = run.points[0];
        assert!((first.in_flight - 3.0).abs() < 1e-9, "{first:?}");
        assert!((first.at_s - 0.2).abs() < 1e-9);
        assert!((first.goodput_per_s - 5.0).abs() < 1e-9);
        assert!((first.offered_per_s - 5.0).abs() < 1e-9);
        assert!((first.p95_ms.unwrap() - 148.0).abs() < 1e-9);
        assert_eq!((first.limit, run.points[1].p95_ms), (Some(7), None));
        assert!((run.points[1].in_flight - 2.0).abs() < 1e-9, "{:?}", run.points[1]);
    }

    #[test]
    fn totals_quantiles_and_peaks_are_those_of_what_was_recorded() {
        let mut recorder = Recorder::new(SPAN_NS);
        for ms in 1..=100_u64 {
            recorder.offered();
            recorder.admitted(5, 9);
            recorder.on_time(ms * 1_000_000);
        }
        let run = recorder.finish(gauge(0));
        let latency = run.latency.unwrap();
        for (found, expected) in [(latency.p50_ms, 50.0), (latency.p95_ms, 95.0), (latency.p99_ms, 99.0)] {
            assert!((found / expected - 1.0).abs() < 2e-3, "{latency:?}");
        }
        assert!(run.check());
        assert_eq!((run.peak_in_flight, run.peak_in_server), (5, 9));
        assert!((run.goodput_per_s() - 100.0 / 24.0).abs() < 1e-9);
        assert_eq!(run.mean_limit(), Some(7.0));
    }

    #[test]
    fn what_ends_after_the_arrivals_counts_in_the_totals_only() {
        let mut recorder = Recorder::new(SPAN_NS);
        recorder.offered();
        recorder.admitted(1, 1);
        recorder.advance(SPAN_NS + 5, gauge(1));
        recorder.on_time(SPAN_NS + 5);
        let run = recorder.finish(gauge(0));
        assert_eq!(run.counts.on_time, 1);
        assert_eq!(run.on_time.iter().sum::<u32>(), 0);
        assert!(run.points.iter().all(|point| (point.in_flight - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_run_in_which_nothing_was_served_has_no_latency() {
        let run = Recorder::new(SPAN_NS).finish(gauge(0));
        assert_eq!((run.latency, run.counts), (None, Counts::default()));
    }

    #[test]
    fn the_quantile_of_a_point_is_exact() {
        let mut latencies_us: Vec<u64> = (1..=100).rev().map(|ms| ms * 1_000).collect();
        assert_eq!(p95_ms(&mut latencies_us), Some(95.0));
        assert_eq!(p95_ms(&mut []), None);
    }
}
