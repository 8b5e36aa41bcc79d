//! One replay per family: build the estimator from the header, feed the inputs, compare every column.

use core::cell::Cell;
use core::time::Duration;
use std::collections::VecDeque;
use std::rc::Rc;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Decrease, Estimator, Gradient, Gradient2, Gradient2Reference, Gradient2Settings,
    GradientReference, GradientSettings, Jitter, Learning, Logarithm, Outcome, Sample, Scale, Steps, Vegas,
    VegasReference, VegasSettings,
};

use crate::table::{Fallible, Header, Report, Row, Table};

/// Hands out recorded factors and counts the draws.
#[derive(Debug, Default)]
pub(crate) struct Script {
    factors: VecDeque<f64>,
    pub(crate) draws: Rc<Cell<u32>>,
}

impl Jitter for Script {
    fn next(&mut self) -> f64 {
        self.draws.set(self.draws.get() + 1);
        self.factors.pop_front().unwrap_or(0.75)
    }
}

impl Script {
    /// The factor in force on the first row, and those in force on each row after a probe.
    pub(crate) fn record(table: &Table, factor: impl Fn(&Row<'_>) -> Fallible<f64>) -> Fallible<Self> {
        let mut script = Self::default();
        let mut drawn = true;
        for row in table.rows() {
            if drawn {
                script.factors.push_back(factor(&row)?);
            }
            drawn = row.flag("probe")?;
        }
        Ok(script)
    }
}

fn scale(text: &str) -> Fallible<Scale> {
    if let Some(times) = text.strip_suffix("log10root") {
        let times = times.strip_suffix('*').unwrap_or("1");
        let times = times.parse().map_err(|_| format!("header: no function {text}"))?;
        return Ok(Scale::Log10 { times });
    }
    if let Some(least) = text.strip_prefix("max(").and_then(|rest| rest.strip_suffix(",sqrt)")) {
        let at_least = least.parse().map_err(|_| format!("header: no function {text}"))?;
        return Ok(Scale::Sqrt { times: 1, at_least });
    }
    text.parse().map(Scale::Fixed).map_err(|_| format!("header: no function {text}"))
}

fn take_scale(header: &mut Header, key: &str) -> Fallible<Scale> {
    scale(&header.take(key)?)
}

fn decrease(text: &str) -> Fallible<Decrease> {
    if text == "half" {
        return Ok(Decrease::Times(0.5));
    }
    let step = text.strip_prefix('-').ok_or_else(|| format!("header: no decrease {text}"))?;
    scale(step).map(Decrease::By)
}

fn sample(row: &Row<'_>) -> Fallible<Sample> {
    // What the reference refuses (a round-trip time below 0) cannot be said here; 0 stands for it.
    let rtt_ns = u64::try_from(row.number::<i64>("rtt_ns")?).unwrap_or(0);
    let outcome = if row.flag("did_drop")? { Outcome::Dropped } else { Outcome::Success };
    let in_flight = row.number::<i32>("inflight")?.cast_unsigned();
    Ok(Sample { started: Timestamp::ZERO, rtt: Duration::from_nanos(rtt_ns), in_flight, outcome })
}

pub(crate) fn vegas_settings(header: &mut Header) -> Fallible<VegasSettings> {
    let mut settings = VegasSettings {
        initial: header.number("initial")?,
        max: header.number("max")?,
        smoothing: header.number("smoothing")?,
        learning: Learning::EachSample(VegasReference {
            probe_multiplier: header.number("probe_multiplier")?,
            ..VegasReference::netflix()
        }),
        ..VegasSettings::netflix()
    };
    // The files of limiters name no thresholds, those of windows no steps: they are the reference's own.
    if header.get("alpha").is_some() {
        settings.alpha = take_scale(header, "alpha")?;
        settings.beta = take_scale(header, "beta")?;
        settings.theta = take_scale(header, "threshold")?;
    }
    if header.get("increase").is_some() {
        let step = header.take("increase")?;
        settings.increase = scale(step.strip_prefix('+').unwrap_or(&step))?;
        settings.decrease = decrease(&header.take("decrease")?)?;
    }
    Ok(settings)
}

pub(crate) fn gradient2_settings(header: &mut Header) -> Fallible<Gradient2Settings> {
    Ok(Gradient2Settings {
        initial: header.number("initial")?,
        min: header.number("min")?,
        max: header.number("max")?,
        smoothing: header.number("smoothing")?,
        rtt_tolerance: header.number("rtt_tolerance")?,
        queue: take_scale(header, "queue_size")?,
        learning: Learning::EachSample(Gradient2Reference {
            long_window: header.number("long_window")?,
            warmup: header.optional("warmup_window")?.unwrap_or(10),
            ..Gradient2Reference::netflix()
        }),
    })
}

pub(crate) fn aimd_settings(header: &mut Header) -> Fallible<AimdSettings> {
    Ok(AimdSettings {
        initial: header.number("initial")?,
        min: header.number("min")?,
        max: header.number("max")?,
        backoff_ratio: header.number("backoff_ratio")?,
        timeout: Duration::from_nanos(header.number("timeout_ns")?),
        ..AimdSettings::netflix()
    })
}

pub(crate) fn vegas(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let settings = vegas_settings(&mut header)?;
    header.take("jitter")?;
    header.finish()?;
    let script = Script::record(table, |row| row.number("probe_jitter"))?;
    let draws = Rc::clone(&script.draws);
    let mut vegas = Vegas::with_jitter(settings, script).map_err(|error| error.to_string())?;
    for row in table.rows() {
        let drawn = draws.get();
        report.whole(&row, "limit", vegas.on_sample(&sample(&row)?))?;
        report.exact(&row, "limit_f64", vegas.estimate())?;
        let no_load = vegas.no_load_rtt().map_or(0, |rtt| rtt.as_nanos());
        report.whole(&row, "rtt_noload_ns", i128::try_from(no_load).map_err(|error| error.to_string())?)?;
        report.whole(&row, "probe", draws.get() - drawn)?;
        report.whole(&row, "err", row.number::<i64>("rtt_ns")? <= 0)?;
        report.rows += 1;
    }
    Ok(())
}

pub(crate) fn gradient2(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let settings = gradient2_settings(&mut header)?;
    header.finish()?;
    let mut gradient = Gradient2::new(settings).map_err(|error| error.to_string())?;
    for row in table.rows() {
        report.whole(&row, "limit", gradient.on_sample(&sample(&row)?))?;
        report.exact(&row, "limit_f64", gradient.estimate())?;
        report.exact(&row, "long_rtt_f64", gradient.long_rtt_ns())?;
        report.rows += 1;
    }
    Ok(())
}

pub(crate) fn gradient(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let interval = u32::try_from(header.number::<i64>("probe_interval")?).ok();
    let settings = GradientSettings {
        initial: header.number("initial")?,
        min: header.number("min")?,
        max: header.number("max")?,
        smoothing: header.number("smoothing")?,
        rtt_tolerance: header.number("rtt_tolerance")?,
        queue: take_scale(&mut header, "queue_size")?,
        learning: Learning::EachSample(GradientReference {
            probe_interval: interval,
            backoff_ratio: header.number("backoff_ratio")?,
            ..GradientReference::netflix()
        }),
    };
    header.finish()?;
    let script = Script::record(table, |row| {
        // The factor that gives this countdown; in the middle of those that do.
        let interval = f64::from(interval.unwrap_or(1));
        Ok(0.5 + (row.number::<f64>("countdown_before")? - interval + 0.5) / interval / 2.0)
    })?;
    let draws = Rc::clone(&script.draws);
    let mut gradient = Gradient::with_jitter(settings, script).map_err(|error| error.to_string())?;
    for row in table.rows() {
        let drawn = draws.get();
        report.whole(&row, "countdown_before", gradient.samples_to_probe().map_or(-1, i128::from))?;
        report.whole(&row, "limit", gradient.on_sample(&sample(&row)?))?;
        report.exact(&row, "limit_f64", gradient.estimate())?;
        let no_load = gradient.no_load_rtt().map_or(0, |rtt| rtt.as_nanos());
        report.exact(&row, "rtt_noload_f64", no_load as f64)?;
        report.whole(&row, "probe", draws.get() - drawn)?;
        report.rows += 1;
    }
    Ok(())
}

pub(crate) fn aimd(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let settings = aimd_settings(&mut header)?;
    header.finish()?;
    let mut aimd = Aimd::new(settings).map_err(|error| error.to_string())?;
    for row in table.rows() {
        report.whole(&row, "limit", aimd.on_sample(&sample(&row)?))?;
        report.rows += 1;
    }
    Ok(())
}

pub(crate) fn backoff(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    header.take("table")?;
    let settings = AimdSettings {
        min: header.number("min")?,
        max: header.number("max")?,
        backoff_ratio: header.number("backoff_ratio")?,
        ..AimdSettings::netflix()
    };
    header.finish()?;
    for row in table.rows() {
        let settings = AimdSettings { initial: row.number("limit_before")?, ..settings };
        let mut aimd = Aimd::new(settings).map_err(|error| error.to_string())?;
        let (started, rtt) = (Timestamp::ZERO, Duration::from_millis(1));
        let limit = aimd.on_sample(&Sample { started, rtt, in_flight: 1, outcome: Outcome::Dropped });
        report.whole(&row, "limit_after", limit)?;
        report.rows += 1;
    }
    Ok(())
}

/// OpenSearch's logarithm of 0 is the least `i32`, which no limit reaches.
pub(crate) fn functions(_: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    for row in table.rows() {
        let x = row.number("x")?;
        report.whole(&row, "netflix_log10root", Scale::Log10 { times: 1 }.at(x))?;
        if x > 0 {
            report.whole(&row, "opensearch_log10", Logarithm::Ceil.of(x))?;
        }
        report.whole(&row, "sqrt4", Scale::Sqrt { times: 1, at_least: 4 }.at(x))?;
        report.whole(&row, "sqrt0", Scale::Sqrt { times: 1, at_least: 0 }.at(x))?;
        report.rows += 1;
    }
    Ok(())
}

/// An estimator whose estimate can be read, behind a window.
pub(crate) trait Delegate: Estimator {
    fn estimate(&self) -> f64;
}

impl Delegate for Aimd {
    fn estimate(&self) -> f64 {
        Self::estimate(self)
    }
}

impl<J: Jitter> Delegate for Vegas<J> {
    fn estimate(&self) -> f64 {
        Self::estimate(self)
    }
}

impl Delegate for Gradient2<Steps> {
    fn estimate(&self) -> f64 {
        Self::estimate(self)
    }
}

/// Always the same factor.
#[derive(Debug)]
pub(crate) struct Constant(pub(crate) f64);

impl Jitter for Constant {
    fn next(&mut self) -> f64 {
        self.0
    }
}

pub(crate) fn delegate(header: &mut Header) -> Fallible<Box<dyn Delegate>> {
    let kind = header.take("delegate")?;
    Ok(match kind.as_str() {
        "aimd" => Box::new(Aimd::new(aimd_settings(header)?).map_err(|error| error.to_string())?),
        "gradient2" => {
            Box::new(Gradient2::new(gradient2_settings(header)?).map_err(|error| error.to_string())?)
        }
        "vegas" => {
            let settings = vegas_settings(header)?;
            let jitter = Constant(header.number("probe_jitter")?);
            Box::new(Vegas::with_jitter(settings, jitter).map_err(|error| error.to_string())?)
        }
        other => return Err(format!("unknown delegate {other}")),
    })
}

pub(crate) fn plain_sample(row: &Row<'_>) -> Fallible<Sample> {
    sample(row)
}
