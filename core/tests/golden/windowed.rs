//! The windowed family: what the window hands on, and what the estimator behind it makes of it.

use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{Estimator, Outcome, Sample, Tracked, Window, WindowSettings};
use tollgate::slots::Heap;

use crate::families::{Delegate, delegate, plain_sample};
use crate::table::{Fallible, Header, Report, Table};

/// The files start their clocks at, or before, 0; ours cannot go there, so all of it happens this much later.
const LATER_NS: i64 = 1 << 62;

/// Remembers what it was handed.
struct Recorder {
    inner: Box<dyn Delegate>,
    handed: Vec<Sample>,
}

impl Estimator for Recorder {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        self.handed.push(*sample);
        self.inner.on_sample(sample)
    }

    fn limit(&self) -> u32 {
        self.inner.limit()
    }
}

fn later(nanos: i64) -> Fallible<Timestamp> {
    let nanos = u64::try_from(LATER_NS.wrapping_add(nanos)).map_err(|error| error.to_string())?;
    Ok(Timestamp::from_nanos(nanos))
}

fn settings(header: &mut Header) -> Fallible<WindowSettings> {
    let tracked = match header.take("window")?.as_str() {
        "average" => Tracked::Average,
        "percentile" => Tracked::Percentile {
            rank: header.number("percentile")?,
            capacity: header.number("percentile_capacity")?,
        },
        other => return Err(format!("unknown window {other}")),
    };
    Ok(WindowSettings {
        min_window: Duration::from_nanos(header.number("min_window_ns")?),
        max_window: Duration::from_nanos(header.number("max_window_ns")?),
        size: header.number("window_size")?,
        rtt_threshold: Duration::from_nanos(header.number("min_rtt_threshold_ns")?),
        tracked,
        ..WindowSettings::netflix()
    })
}

pub(crate) fn windowed(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let settings = settings(&mut header)?;
    let recorder = Recorder { inner: delegate(&mut header)?, handed: Vec::new() };
    header.finish()?;
    let mut window: Window<_, Heap> =
        Window::starting_at(settings, recorder, later(0)?).map_err(|error| error.to_string())?;
    let mut handed = 0;
    for row in table.rows() {
        let started = later(row.number("start_ns")?)?;
        report.whole(&row, "limit", window.on_sample(&Sample { started, ..plain_sample(&row)? }))?;
        report.exact(&row, "limit_f64", window.inner().inner.estimate())?;
        let closes_at = i128::from(window.closes_at().as_nanos()) - i128::from(LATER_NS);
        report.whole(&row, "next_update_ns", closes_at)?;
        let new = window.inner().handed.get(handed..).unwrap_or_default();
        handed = window.inner().handed.len();
        report.whole(&row, "fwd", i128::try_from(new.len()).map_err(|error| error.to_string())?)?;
        if let (true, [sample]) = (row.flag("fwd")?, new) {
            let rtt_ns = i128::try_from(sample.rtt.as_nanos()).map_err(|error| error.to_string())?;
            report.whole(&row, "fwd_rtt_ns", rtt_ns)?;
            report.whole(&row, "fwd_inflight", sample.in_flight)?;
            report.whole(&row, "fwd_drop", sample.outcome == Outcome::Dropped)?;
        }
        report.rows += 1;
    }
    Ok(())
}
