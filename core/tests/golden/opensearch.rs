//! The families of OpenSearch: its Vegas, and the burst window on top of an estimator.

use std::rc::Rc;

use tollgate::adapt::{
    Aimd, Burst, BurstSettings, Estimator, Jitter, Logarithm, OpenSearchVegas, OpenSearchVegasSettings,
    Sample,
};

use crate::families::{Constant, Script, aimd_settings, plain_sample};
use crate::table::{Fallible, Header, Report, Table};

fn vegas_settings(header: &mut Header) -> Fallible<OpenSearchVegasSettings> {
    if header.take("log10")? != "ceil" {
        return Err("header: only log10=ceil is known".to_owned());
    }
    Ok(OpenSearchVegasSettings {
        initial: header.number("initial")?,
        max: header.number("max")?,
        updrift_factor: header.number("updrift")?,
        increase_barrier: header.number("inc_barrier")?,
        decrease_barrier: header.number("dec_barrier")?,
        baseline_reset_load_threshold: header.number("baseline_reset_load_threshold")?,
        probe_multiplier: header.number("probe_multiplier")?,
        logarithm: Logarithm::Ceil,
        ..OpenSearchVegasSettings::opensearch()
    })
}

pub(crate) fn vegas(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let settings = vegas_settings(&mut header)?;
    if header.number::<f64>("smoothing")?.to_bits() != 1.0_f64.to_bits() {
        return Err("header: smoothing is always 1".to_owned());
    }
    header.take("jitter")?;
    header.finish()?;
    let script = Script::record(table, |row| row.number("probe_jitter"))?;
    let draws = Rc::clone(&script.draws);
    let mut vegas = OpenSearchVegas::with_jitter(settings, script).map_err(|error| error.to_string())?;
    for row in table.rows() {
        let drawn = draws.get();
        report.whole(&row, "limit", vegas.on_sample(&plain_sample(&row)?))?;
        report.exact(&row, "limit_f64", vegas.estimate())?;
        let no_load = vegas.no_load_rtt().map_or(0, |rtt| rtt.as_nanos());
        report.whole(&row, "rtt_noload_ns", i128::try_from(no_load).map_err(|error| error.to_string())?)?;
        report.whole(&row, "probe", draws.get() - drawn)?;
        report.whole(&row, "inc_streak", vegas.streaks().0)?;
        report.whole(&row, "dec_streak", vegas.streaks().1)?;
        report.rows += 1;
    }
    Ok(())
}

/// A base that a row may set.
trait Base: Estimator {
    fn set(&mut self, _limit: u32) -> Fallible<()> {
        Err("this base cannot be set".to_owned())
    }
}

impl Base for Aimd {}
impl<J: Jitter> Base for OpenSearchVegas<J> {}

/// A limit that is set from outside.
struct Settable(u32);

impl Estimator for Settable {
    fn on_sample(&mut self, _sample: &Sample) -> u32 {
        self.0
    }

    fn limit(&self) -> u32 {
        self.0
    }
}

impl Base for Settable {
    fn set(&mut self, limit: u32) -> Fallible<()> {
        self.0 = limit;
        Ok(())
    }
}

pub(crate) fn burst(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let settings = BurstSettings {
        capacity: header.number("capacity")?,
        close_after: header.number("close_after")?,
        open_after: header.number("open_after")?,
    };
    match header.take("base")?.as_str() {
        "aimd" => replay(Aimd::new(aimd_settings(&mut header)?), settings, header, table, report),
        "settable" => replay(Ok(Settable(header.number("initial")?)), settings, header, table, report),
        "opensearch_vegas" => {
            let jitter = Constant(header.number("probe_jitter")?);
            let vegas = OpenSearchVegas::with_jitter(vegas_settings(&mut header)?, jitter);
            replay(vegas, settings, header, table, report)
        }
        other => Err(format!("unknown base {other}")),
    }
}

fn replay<E: Base>(
    base: Result<E, tollgate::ConfigError>,
    settings: BurstSettings,
    header: Header,
    table: &Table,
    report: &mut Report,
) -> Fallible<()> {
    header.finish()?;
    let base = base.map_err(|error| error.to_string())?;
    let mut burst = Burst::new(base, settings).map_err(|error| error.to_string())?;
    for row in table.rows() {
        if let Ok(limit) = u32::try_from(row.number::<i64>("set_base")?) {
            burst.base_mut().set(limit)?;
        }
        report.whole(&row, "limit", burst.on_sample(&plain_sample(&row)?))?;
        report.whole(&row, "base_limit", burst.base().limit())?;
        report.whole(&row, "burst_open", burst.is_open())?;
        report.whole(&row, "over_streak", burst.streaks().0)?;
        report.whole(&row, "below_streak", burst.streaks().1)?;
        report.rows += 1;
    }
    Ok(())
}
