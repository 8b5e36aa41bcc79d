//! Recorded runs of the references, replayed without an allocator.
//!
//! A file is a line of `key=value` pairs, a line of column names, and rows. What cannot be read counts as a value that
//! did not come out: a run that is not understood must not pass.

use core::cell::Cell;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, AimdSettings, Decrease, Estimator, Gradient, Gradient2, Gradient2Reference, Gradient2Settings,
    GradientReference, GradientSettings, Jitter, Learning, Outcome, Sample, Scale, Vegas, VegasReference,
    VegasSettings,
};

/// A run of AIMD with a wrong limit in its last row.
pub(crate) const CONTROL: &str = "\
# algorithm=aimd initial=20 min=20 max=200 backoff_ratio=0.9 timeout_ns=5000000000 name=control
rtt_ns,inflight,did_drop,limit
1000000,20,0,21
1000000,21,0,21
";

/// What passed and what did not.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Came out as expected.
    pub passed: u32,
    /// Did not.
    pub failed: u32,
}

impl Tally {
    pub(crate) fn note(&mut self, passed: bool) {
        if passed { self.passed += 1 } else { self.failed += 1 }
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    fn whole(&mut self, row: Row<'_>, column: &str, got: impl Into<i128>) {
        self.note(row.number(column) == Some(got.into()));
    }

    /// Bit for bit; `NaN` equals `NaN`.
    fn exact(&mut self, row: Row<'_>, column: &str, got: f64) {
        let expected = row.number::<f64>(column);
        self.note(
            expected
                .is_some_and(|value| value.to_bits() == got.to_bits() || (value.is_nan() && got.is_nan())),
        );
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.passed, self.passed + self.failed)
    }
}

/// Replays one run and counts its values.
pub(crate) fn replay(text: &str, tally: &mut Tally) {
    let before = *tally;
    let replayed = Run::parse(text).and_then(|run| match (run.get("algorithm")?, run.get("table")) {
        ("aimd", None) => aimd(run, tally),
        ("aimd", Some("backoff")) => backoff(run, tally),
        ("vegas", None) => vegas(run, tally),
        ("gradient", None) => gradient(run, tally),
        ("gradient2", None) => gradient2(run, tally),
        _ => None,
    });
    if replayed.is_none() || *tally == before {
        tally.note(false);
    }
}

fn aimd(run: Run<'_>, tally: &mut Tally) -> Option<()> {
    let mut aimd = Aimd::new(AimdSettings {
        initial: run.number("initial")?,
        min: run.number("min")?,
        max: run.number("max")?,
        backoff_ratio: run.number("backoff_ratio")?,
        timeout: Duration::from_nanos(run.number("timeout_ns")?),
        ..AimdSettings::netflix()
    })
    .ok()?;
    for row in run.rows() {
        tally.whole(row, "limit", aimd.on_sample(&row.sample()?));
    }
    Some(())
}

fn backoff(run: Run<'_>, tally: &mut Tally) -> Option<()> {
    let settings = AimdSettings {
        min: run.number("min")?,
        max: run.number("max")?,
        backoff_ratio: run.number("backoff_ratio")?,
        ..AimdSettings::netflix()
    };
    let (started, rtt) = (Timestamp::ZERO, Duration::from_millis(1));
    let dropped = Sample { started, rtt, in_flight: 1, outcome: Outcome::Dropped };
    for row in run.rows() {
        let mut aimd = Aimd::new(AimdSettings { initial: row.number("limit_before")?, ..settings }).ok()?;
        tally.whole(row, "limit_after", aimd.on_sample(&dropped));
    }
    Some(())
}

fn vegas(run: Run<'_>, tally: &mut Tally) -> Option<()> {
    let script = Script::default();
    let decrease = match run.get("decrease")? {
        "half" => Decrease::Times(0.5),
        step => Decrease::By(scale(step.strip_prefix('-')?)?),
    };
    let settings = VegasSettings {
        initial: run.number("initial")?,
        max: run.number("max")?,
        smoothing: run.number("smoothing")?,
        alpha: scale(run.get("alpha")?)?,
        beta: scale(run.get("beta")?)?,
        theta: scale(run.get("threshold")?)?,
        increase: scale(run.get("increase")?.strip_prefix('+')?)?,
        decrease,
        learning: Learning::EachSample(VegasReference {
            probe_multiplier: run.number("probe_multiplier")?,
            ..VegasReference::netflix()
        }),
        ..VegasSettings::netflix()
    };
    let factor = |row: Row<'_>| row.number("probe_jitter");
    script.prepare(factor(run.rows().next()?)?);
    let mut vegas = Vegas::with_jitter(settings, &script).ok()?;
    for (row, following) in run.rows().zip(run.rows().skip(1).map(Some).chain([None])) {
        script.prepare(following.and_then(factor).unwrap_or(0.75));
        tally.whole(row, "limit", vegas.on_sample(&row.sample()?));
        tally.exact(row, "limit_f64", vegas.estimate());
        tally.whole(row, "rtt_noload_ns", nanos(vegas.no_load_rtt()));
        tally.whole(row, "probe", script.draws());
    }
    Some(())
}

fn gradient(run: Run<'_>, tally: &mut Tally) -> Option<()> {
    let script = Script::default();
    let interval = u32::try_from(run.number::<i64>("probe_interval")?).ok();
    let settings = GradientSettings {
        initial: run.number("initial")?,
        min: run.number("min")?,
        max: run.number("max")?,
        smoothing: run.number("smoothing")?,
        rtt_tolerance: run.number("rtt_tolerance")?,
        queue: scale(run.get("queue_size")?)?,
        learning: Learning::EachSample(GradientReference {
            probe_interval: interval,
            backoff_ratio: run.number("backoff_ratio")?,
            ..GradientReference::netflix()
        }),
    };
    let factor = |row: Row<'_>| {
        // The factor that gives this countdown; in the middle of those that do.
        let interval = f64::from(interval.unwrap_or(1));
        Some(0.5 + (row.number::<f64>("countdown_before")? - interval + 0.5) / interval / 2.0)
    };
    script.prepare(factor(run.rows().next()?)?);
    let mut gradient = Gradient::with_jitter(settings, &script).ok()?;
    for (row, following) in run.rows().zip(run.rows().skip(1).map(Some).chain([None])) {
        script.prepare(following.and_then(factor).unwrap_or(0.75));
        tally.whole(row, "countdown_before", gradient.samples_to_probe().map_or(-1, i128::from));
        tally.whole(row, "limit", gradient.on_sample(&row.sample()?));
        tally.exact(row, "limit_f64", gradient.estimate());
        tally.exact(row, "rtt_noload_f64", nanos(gradient.no_load_rtt()) as f64);
        tally.whole(row, "probe", script.draws());
    }
    Some(())
}

fn gradient2(run: Run<'_>, tally: &mut Tally) -> Option<()> {
    let mut gradient = Gradient2::new(Gradient2Settings {
        initial: run.number("initial")?,
        min: run.number("min")?,
        max: run.number("max")?,
        smoothing: run.number("smoothing")?,
        rtt_tolerance: run.number("rtt_tolerance")?,
        queue: scale(run.get("queue_size")?)?,
        learning: Learning::EachSample(Gradient2Reference {
            long_window: run.number("long_window")?,
            warmup: if run.get("warmup_window").is_some() { run.number("warmup_window")? } else { 10 },
            ..Gradient2Reference::netflix()
        }),
    })
    .ok()?;
    for row in run.rows() {
        tally.whole(row, "limit", gradient.on_sample(&row.sample()?));
        tally.exact(row, "limit_f64", gradient.estimate());
        tally.exact(row, "long_rtt_f64", gradient.long_rtt_ns());
    }
    Some(())
}

/// Hands out the factor it was told last, and counts the draws.
#[derive(Debug, Default)]
struct Script {
    factor: Cell<f64>,
    draws: Cell<u32>,
}

impl Script {
    /// The factor of the next draw, if one comes; the count begins anew.
    fn prepare(&self, factor: f64) {
        self.factor.set(factor);
        self.draws.set(0);
    }

    fn draws(&self) -> u32 {
        self.draws.get()
    }
}

impl Jitter for &Script {
    fn next(&mut self) -> f64 {
        self.draws.set(self.draws.get() + 1);
        self.factor.get()
    }
}

fn scale(text: &str) -> Option<Scale> {
    if let Some(times) = text.strip_suffix("log10root") {
        return Some(Scale::Log10 { times: times.strip_suffix('*').unwrap_or("1").parse().ok()? });
    }
    if let Some(least) = text.strip_prefix("max(").and_then(|rest| rest.strip_suffix(",sqrt)")) {
        return Some(Scale::Sqrt { times: 1, at_least: least.parse().ok()? });
    }
    text.parse().ok().map(Scale::Fixed)
}

fn nanos(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// A file, taken apart only as far as it is asked.
#[derive(Clone, Copy)]
struct Run<'a> {
    header: &'a str,
    columns: &'a str,
    rows: &'a str,
}

impl<'a> Run<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (header, rest) = text.strip_prefix("# ")?.split_once('\n')?;
        let (columns, rows) = rest.split_once('\n')?;
        Some(Self { header, columns, rows })
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        let mut pairs = self.header.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.find(|&(name, _)| name == key).map(|(_, value)| value)
    }

    fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }

    fn rows(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let columns = self.columns;
        self.rows.lines().map(move |fields| Row { columns, fields })
    }
}

#[derive(Clone, Copy)]
struct Row<'a> {
    columns: &'a str,
    fields: &'a str,
}

impl Row<'_> {
    fn number<T: FromStr>(&self, column: &str) -> Option<T> {
        let at = self.columns.split(',').position(|name| name == column)?;
        self.fields.split(',').nth(at)?.parse().ok()
    }

    fn sample(&self) -> Option<Sample> {
        // What the reference refuses (a round-trip time below 0) cannot be said here; 0 stands for it.
        let rtt = Duration::from_nanos(u64::try_from(self.number::<i64>("rtt_ns")?).unwrap_or(0));
        let dropped = self.number::<u8>("did_drop")? != 0;
        let outcome = if dropped { Outcome::Dropped } else { Outcome::Success };
        // The references count in signed numbers, ours are their bits.
        let in_flight = u32::from_ne_bytes(self.number::<i32>("inflight")?.to_ne_bytes());
        Some(Sample { started: Timestamp::ZERO, rtt, in_flight, outcome })
    }
}
