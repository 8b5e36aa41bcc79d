//! From the words of a plan to one in which everything fits together.

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use tollgate::gate::Settings;
use tollgate::rate::{Quota, TokenBucket};
use toml::Spanned;

use super::file::{
    ArrivalsFile, EntryFile, GateFile, JobFile, LimiterFile, OpenFile, PlanFile, RuleFile, ServerFile,
    TenantFile, TraceFile,
};
use super::ranges::{self, Known};
use super::value::{Draw, Span};
use super::{Closed, Coming, CostLaw, DoorRule, Entry, JobLaw, LoadPlan, Plan, Slow, Tenant, Window, gate};
use crate::arrivals::Law;
use crate::num;
use crate::plan_file::{PlanFileError, Text};
use crate::play::door::Door;
use crate::play::machine::Machine;
use crate::trace::{Options, Trace};

/// Threads of a load, jobs of a burst: far above what a run can show anything with.
const MOST_JOBS_AT_ONCE: u32 = 1_000_000;
const MOST_TENANTS: u32 = 10_000;

pub(super) fn plan(path: &Path, content: &str) -> Result<Plan, PlanFileError> {
    let file_name = path.display().to_string();
    let text = Text { file: &file_name, content };
    let file: PlanFile =
        toml::from_str(content).map_err(|error| text.at(error.span(), error.message().to_owned()))?;
    let duration_ns = file.duration.get_ref().0;
    if duration_ns == 0 {
        return Err(text.at(Some(file.duration.span()), "duration is 0, allowed is 1ns or more"));
    }
    let mut parts =
        Parts { text, server: &file.server, duration_ns, tenants: vec![], groups: vec![], loads: vec![] };
    for tenant in &file.tenant {
        parts.tenant(tenant)?;
    }
    if let Some(trace) = &file.trace {
        parts.trace(path, trace)?;
    }
    if parts.loads.is_empty() {
        return Err(text.at(None, "found no loads, allowed is [[tenant]] with loads, or [trace]"));
    }
    let Parts { tenants, groups, loads, .. } = parts;
    let windows = windows(text, &file)?;
    let known = Known { tenants: &tenants, groups: &groups, windows: &windows };
    let ranges = file.expect.iter().map(|expect| ranges::range(text, expect, &known));
    let ranges = ranges.collect::<Result<_, _>>()?;
    let settings = gate_settings(text, &file.gate, &tenants)?;
    Ok(Plan {
        name: path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        path: path.to_owned(),
        seed: file.seed,
        duration_ns,
        limit: file.gate.get_ref().limit.0,
        settings,
        entry: match file.gate.get_ref().entry {
            EntryFile::Queue => Entry::Queue,
            EntryFile::StartOrRefuse => Entry::StartOrRefuse,
        },
        slow: slow(text, &file.server)?,
        limits: file.server.limit.iter().map(|change| (change.at.0, change.to.0)).collect(),
        limiter: limiter(text, file.limiter.as_ref())?,
        rules: rules(text, &file.rule)?,
        about: file.about,
        source: file.source,
        reason: file.reason,
        accepted: file.accepted.filter(|why| !why.trim().is_empty()),
        tenants,
        windows,
        ranges,
        loads,
    })
}

/// What the tables of a plan add up to.
struct Parts<'a> {
    text: Text<'a>,
    server: &'a ServerFile,
    duration_ns: u64,
    tenants: Vec<Tenant>,
    groups: Vec<(String, u32, u32)>,
    loads: Vec<LoadPlan>,
}

impl Parts<'_> {
    fn tenant(&mut self, file: &Spanned<TenantFile>) -> Result<(), PlanFileError> {
        let (text, place, tenant) = (self.text, Some(file.span()), file.get_ref());
        let count = tenant.count.unwrap_or(1);
        let weight = tenant.weight.unwrap_or(1);
        let first = num::index_u32(self.tenants.len());
        if !(1..=MOST_TENANTS).contains(&count) || first.saturating_add(count) > MOST_TENANTS {
            return Err(text.at(place, format!("{count} tenants, allowed is 1 to {MOST_TENANTS} in all")));
        }
        if weight == 0 {
            return Err(text.at(place, "weight is 0, allowed is 1 or more"));
        }
        if self.tenants.iter().any(|known| known.name == tenant.name)
            || self.groups.iter().any(|(known, ..)| *known == tenant.name)
        {
            return Err(text.at(place, format!("a second tenant \"{}\", allowed is one", tenant.name)));
        }
        if count > 1 {
            self.groups.push((tenant.name.clone(), first, count));
        }
        for number in 0..count {
            let name =
                if count == 1 { tenant.name.clone() } else { format!("{}-{}", tenant.name, number + 1) };
            self.tenants.push(Tenant { name, weight });
            self.loads_of(first + number, tenant)?;
        }
        Ok(())
    }

    fn loads_of(&mut self, owner: u32, tenant: &TenantFile) -> Result<(), PlanFileError> {
        for load in &tenant.closed {
            let coming = Coming::Closed(Closed {
                threads: load.threads.min(MOST_JOBS_AT_ONCE),
                calls: load.calls.unwrap_or(u64::MAX),
                think_ns: load.think.0,
                start_ns: load.start.0,
                stagger_ns: load.stagger.0,
                when_refused: load.when_refused,
            });
            let job = self.job(&load.job)?;
            let shortest_ns = job.exec.map_or(job.unit_ns, Draw::least);
            if i128::from(shortest_ns) + i128::from(load.think.0) <= 0 {
                let reason = "a call takes no time, allowed is exec and think that add up to 1ns or more";
                return Err(self.text.at(Some(load.job.span()), reason));
            }
            self.loads.push(LoadPlan { tenant: owner, job, coming });
        }
        for load in &tenant.open {
            let (coming, job) = (self.open(load)?, self.job(&load.get_ref().job)?);
            self.loads.push(LoadPlan { tenant: owner, job, coming });
        }
        for load in &tenant.burst {
            let coming = Coming::Burst { at_ns: load.at.0, jobs: load.jobs.min(MOST_JOBS_AT_ONCE) };
            let job = self.job(&load.job)?;
            self.loads.push(LoadPlan { tenant: owner, job, coming });
        }
        Ok(())
    }

    fn open(&self, file: &Spanned<OpenFile>) -> Result<Coming, PlanFileError> {
        let load = file.get_ref();
        let refused = |reason: String| Err(self.text.at(Some(file.span()), reason));
        let to_ns = load.to.map_or(self.duration_ns, |to| to.0.min(self.duration_ns));
        let from_ns = load.from.0;
        if from_ns >= to_ns {
            return refused("the load ends before it begins, allowed is from before to".to_owned());
        }
        let (law, per_s) = match (load.ramp_to_per_s, load.on, load.off) {
            (None, None, None) => (Law::Poisson, load.per_s.0),
            (Some(to), None, None) => (Law::Ramp { from: load.per_s.0, to: to.0 }, 1.0),
            (None, Some(on), Some(off)) => {
                let (on_s, off_s) = (num::seconds(on.0), num::seconds(off.0));
                (Law::OnOff { high: 1.0, low: 0.0, on_s, off_s }, load.per_s.0)
            }
            _ => {
                let allowed = "allowed is ramp_to_per_s alone, or on with off";
                return refused(format!("found ramp_to_per_s, on and off mixed, {allowed}"));
            }
        };
        if let Err(error) = law.check() {
            return refused(error.to_string());
        }
        if per_s <= 0.0 {
            return refused("per_s is 0, allowed is more than 0".to_owned());
        }
        let poisson = load.arrivals == ArrivalsFile::Poisson;
        Ok(Coming::Open { law, per_s, poisson, from_ns, to_ns })
    }

    fn job(&self, file: &Spanned<JobFile>) -> Result<JobLaw, PlanFileError> {
        let job = file.get_ref();
        let refused = |reason: &str| Err(self.text.at(Some(file.span()), reason));
        let cost = match (job.cost, job.input, job.output) {
            (Some(cost), None, None) => CostLaw::Units(cost.0),
            (None, Some(input), Some(output)) => CostLaw::Tokens { input: input.0, output: output.0 },
            (None, None, None) => CostLaw::Units(Draw::always(1)),
            _ => return refused("found cost, input and output mixed, allowed is cost, or input with output"),
        };
        if job.exec.is_none() && self.server.unit.is_none() {
            return refused("found neither exec nor [server] unit, allowed is one of them");
        }
        Ok(JobLaw {
            cost,
            weight: job.weight.map_or(Draw::always(1), |weight| weight.0),
            bytes: job.bytes.map_or(Draw::always(0), |bytes| bytes.0),
            exec: job.exec.map(|exec| exec.0),
            unit_ns: self.server.unit.map_or(0, |unit| unit.0),
            deadline: job.deadline.map(|deadline| deadline.0),
            ready_after: job.ready_after.map(|after| after.0),
            patience_ns: job.patience.map(|patience| patience.0),
            abandoned: job.abandoned,
            pad_ns: job.pad.0,
            ends: job.ends,
        })
    }

    fn trace(&mut self, plan: &Path, file: &Spanned<TraceFile>) -> Result<(), PlanFileError> {
        let (load, place) = (file.get_ref(), Some(file.span()));
        if !self.tenants.is_empty() {
            return Err(self.text.at(place, "found [trace] beside [[tenant]], allowed is one of them"));
        }
        let own = Options::default();
        let options = Options { output_weight: load.output_weight.unwrap_or(own.output_weight) };
        let trace = Trace::open(&plan.with_file_name(&load.file), options)?;
        let speed = load.speed.map_or(1.0, |speed| speed.0);
        if speed <= 0.0 {
            return Err(self.text.at(place, "speed is 0, allowed is more than 0"));
        }
        if trace.tenants > MOST_TENANTS {
            let reason = format!("the trace has {} tenants, allowed is up to {MOST_TENANTS}", trace.tenants);
            return Err(self.text.at(place, reason));
        }
        let name = |name: &String| match name.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("t{name}"),
            false => name.clone(),
        };
        self.tenants
            .extend(trace.tenant_names.iter().map(|recorded| Tenant { name: name(recorded), weight: 1 }));
        if self.tenants.is_empty() {
            self.tenants.push(Tenant { name: "all".to_owned(), weight: 1 });
        }
        let job = self.job(&load.job)?;
        let coming = Coming::Trace { trace: Arc::new(trace), speed, loops: 1 };
        self.loads.push(LoadPlan { tenant: 0, job, coming });
        Ok(())
    }
}

/// The gate's settings, once it has taken them.
fn gate_settings(
    text: Text<'_>,
    file: &Spanned<GateFile>,
    tenants: &[Tenant],
) -> Result<Settings, PlanFileError> {
    let settings = gate::settings(file.get_ref());
    match Machine::new(settings, file.get_ref().limit.0, tenants, false) {
        Ok(_) => Ok(settings),
        Err(error) => Err(text.at(Some(file.span()), error.to_string())),
    }
}

/// The whole run, and those named.
fn windows(text: Text<'_>, file: &PlanFile) -> Result<Vec<Window>, PlanFileError> {
    let duration = *file.duration.get_ref();
    let mut windows = vec![Window { name: "run".to_owned(), from_ns: 0, to_ns: duration.0 }];
    for window in &file.window {
        let super::file::WindowFile { name, from: Span(from_ns), to: Span(to_ns) } = window.get_ref();
        if windows.iter().any(|known| known.name == *name) {
            return Err(text.at(Some(window.span()), format!("a second window \"{name}\", allowed is one")));
        }
        if from_ns >= to_ns || *to_ns > duration.0 {
            let reason =
                "the window is empty or ends late, allowed is from before to, to within the duration";
            return Err(text.at(Some(window.span()), reason));
        }
        windows.push(Window { name: name.clone(), from_ns: *from_ns, to_ns: *to_ns });
    }
    Ok(windows)
}

fn slow(text: Text<'_>, server: &ServerFile) -> Result<Vec<Slow>, PlanFileError> {
    let check = |span: &Spanned<super::file::SlowFile>| {
        let slow = span.get_ref();
        if slow.from.0 >= slow.to.0 || slow.factor.0 <= 0.0 {
            let reason = "the span is empty or its factor 0, allowed is from before to and a factor above 0";
            return Err(text.at(Some(span.span()), reason));
        }
        Ok(Slow { from_ns: slow.from.0, to_ns: slow.to.0, factor: slow.factor.0 })
    };
    server.slow.iter().map(check).collect()
}

fn limiter(text: Text<'_>, file: Option<&Spanned<LimiterFile>>) -> Result<Option<Quota>, PlanFileError> {
    let Some(file) = file else { return Ok(None) };
    let limiter = file.get_ref();
    let quota = Quota::new(limiter.tokens, Duration::from_nanos(limiter.per.0)).burst(limiter.burst);
    match TokenBucket::new(quota) {
        Ok(_) => Ok(Some(quota)),
        Err(error) => Err(text.at(Some(file.span()), error.to_string())),
    }
}

/// The rules of the door, once the core has taken them.
fn rules(text: Text<'_>, files: &[Spanned<RuleFile>]) -> Result<Vec<DoorRule>, PlanFileError> {
    let rule = |file: &Spanned<RuleFile>| {
        let RuleFile { dimension: counted, limit, window, burst } = *file.get_ref();
        DoorRule { counted, limit, window: Duration::from_nanos(window.0), burst }
    };
    let rules: Vec<DoorRule> = files.iter().map(rule).collect();
    match Door::new(&rules, 1) {
        Ok(_) => Ok(rules),
        Err(error) => Err(text.at(files.first().map(Spanned::span), error.to_string())),
    }
}
