//! From the words of a plan to one in which everything fits together.

use core::ops::Range;
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use tollgate::adapt::Knee;
use toml::Spanned;

use super::super::file::{ExpectFile, LawFile, PauseFile, PhaseFile, PlanFile, RangeFile, ServerFile};
use super::super::law::Law;
use super::super::recorded::Recorded;
use super::super::roster::{self, Told};
use super::super::value::Span;
use super::super::wave::Wave;
use super::{Closed, Expected, Figure, GOOD, Phase, Plan, QUICK, Retries, SEEDS, ServerPlan};
use crate::num;
use crate::plan_file::{PlanFileError, Text};
use crate::trace::{Options, Trace};

/// An hour of virtual time.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// What does not think asks again without end in the same instant.
const LEAST_THINK_NS: u64 = 100_000;

/// Where to point, for what is missing altogether.
const WHOLE: Range<usize> = 0..0;

#[derive(Clone, Copy)]
struct Check<'a>(Text<'a>);

impl Check<'_> {
    /// Refuses `given` at `place` unless `holds`.
    fn unless(
        self,
        holds: bool,
        place: Range<usize>,
        (name, given): (&str, impl ToString),
        allowed: &str,
    ) -> Result<(), PlanFileError> {
        if holds {
            return Ok(());
        }
        Err(self.0.at(Some(place), format!("{name} is {}, allowed is {allowed}", given.to_string())))
    }

    fn share(self, name: &str, share: f64, place: Range<usize>) -> Result<f64, PlanFileError> {
        self.unless((0.0..=1.0).contains(&share), place, (name, share), "0 to 1")?;
        Ok(share)
    }

    fn wave(self, wave: Wave, least: f64, place: Range<usize>, name: &str) -> Result<Wave, PlanFileError> {
        // Not the ends: the lesser of a number and none is the number.
        let (one, other) = wave.corners();
        let fine = (least..=1e5).contains(&one) && (least..=1e5).contains(&other);
        self.unless(fine, place, (name, format!("{one} to {other}")), &format!("{least} to 100000"))?;
        Ok(wave)
    }

    fn server(self, words: &Spanned<ServerFile>) -> Result<ServerPlan, PlanFileError> {
        let (place, server) = (|| words.span(), words.get_ref());
        let slots = server.slots;
        self.unless((1..=100_000).contains(&slots), place(), ("slots", slots), "1 to 100000")?;
        self.unless(server.base.0 > 0, place(), ("base", 0), "more than 0")?;
        self.unless(server.hard_limit != Some(0), place(), ("hard_limit", 0), "1 or more")?;
        self.unless(server.client_timeout != Some(Span(0)), place(), ("client_timeout", 0), "more than 0")?;
        let (a, b) = server.usl.map_or((0.0, 0.0), |usl| (usl.a, usl.b));
        let fine = (0.0..=10.0).contains(&a) && (0.0..=10.0).contains(&b);
        self.unless(fine, place(), ("usl", format!("a {a}, b {b}")), "0 to 10 each")?;
        let mut slow_share = 0.0;
        let law = match server.law {
            LawFile::Constant => Law::Constant,
            LawFile::Exponential => Law::Exponential,
            LawFile::Low => Law::LogNormal { sigma: 0.2 },
            LawFile::Lognormal(sigma) => {
                self.unless((0.0..=3.0).contains(&sigma), place(), ("lognormal", sigma), "0 to 3")?;
                Law::LogNormal { sigma }
            }
            LawFile::Pareto => Law::Pareto,
            LawFile::Recorded => Law::Recorded,
            LawFile::Bimodal(modes) => {
                let (fast, slow) = (modes.fast, modes.slow);
                let fine = fast > 0.0 && fast <= slow && slow <= 1e4;
                let given = format!("fast {fast}, slow {slow}");
                self.unless(fine, place(), ("bimodal", given), "0 < fast <= slow <= 10000")?;
                slow_share = self.share("share", modes.share, place())?;
                Law::Bimodal { fast, slow }
            }
        };
        let lucky = match server.lucky {
            None => None,
            Some(lucky) => {
                let share = self.share("lucky share", lucky.share, place())?;
                Some((share, self.share("lucky factor", lucky.factor, place())?))
            }
        };
        Ok(ServerPlan {
            slots,
            base_ns: server.base.0,
            law,
            slow_share,
            usl: (a, b),
            hard_limit: server.hard_limit,
            client_timeout_ns: server.client_timeout.map(|span| span.0),
            lucky,
        })
    }

    fn phase(
        self,
        words: &Spanned<PhaseFile>,
        from_ns: u64,
        server: &ServerPlan,
        closed: bool,
    ) -> Result<Phase, PlanFileError> {
        let (place, phase) = (|| words.span(), words.get_ref());
        self.unless(phase.length.0 > 0, place(), ("length", 0), "more than 0")?;
        let given = if phase.load.is_some() { "given" } else { "not given" };
        let allowed = if closed { "none beside [closed]" } else { "one in each phase, or [closed]" };
        self.unless(phase.load.is_some() != closed, place(), ("load", given), allowed)?;
        let capacity = server.capacity_per_s(server.slots, server.slow_share);
        let load = self.wave(phase.load.unwrap_or(Wave::Constant(0.0)), 0.0, place(), "load")?;
        let low = self.wave(phase.low.unwrap_or(Wave::Constant(0.0)), 0.0, place(), "low")?;
        let slots = phase.slots.unwrap_or_else(|| Wave::Constant(f64::from(server.slots)));
        let slots = self.wave(slots, 1.0, place(), "slots")?;
        let jumps = matches!(slots, Wave::Constant(_) | Wave::Square { .. });
        self.unless(jumps, place(), ("slots", "a ramp or a sine"), "a number or a square")?;
        let slow = self.wave(phase.slow.unwrap_or(Wave::Constant(1.0)), 0.001, place(), "slow")?;
        let slow_share = phase.slow_share.unwrap_or(server.slow_share);
        Ok(Phase {
            from_ns,
            length_ns: phase.length.0,
            load: load.times(capacity),
            low: low.times(capacity),
            slots,
            slow,
            failures: self.share("failures", phase.failures, place())?,
            slow_share: self.share("slow_share", slow_share, place())?,
            measured: phase.measured,
        })
    }

    fn phases(self, file: &PlanFile, server: &ServerPlan) -> Result<Vec<Phase>, PlanFileError> {
        let mut phases: Vec<Phase> = Vec::new();
        for words in &file.phase {
            let from_ns = phases.last().map_or(0, |phase| phase.to_ns());
            let phase = self.phase(words, from_ns, server, file.closed.is_some())?;
            let fine = phase.to_ns() <= LONGEST_NS;
            self.unless(fine, words.span(), ("length", "too much"), "an hour in all")?;
            phases.push(phase);
        }
        self.unless(!phases.is_empty(), WHOLE, ("number of phases", 0), "one [[phase]] or more")?;
        Ok(phases)
    }

    fn closed(self, file: &PlanFile) -> Result<Option<Closed>, PlanFileError> {
        let Some(words) = &file.closed else { return Ok(None) };
        let (clients, think_ns) = (words.get_ref().clients, words.get_ref().think.0);
        let fine = (1..=1_000_000).contains(&clients);
        self.unless(fine, words.span(), ("clients", clients), "1 to 1000000")?;
        let think = ("think", format!("{think_ns} ns"));
        self.unless(think_ns >= LEAST_THINK_NS, words.span(), think, "0.1ms or more")?;
        self.unless(file.retries.is_none(), words.span(), ("retries", "beside [closed]"), "one of the two")?;
        Ok(Some(Closed { clients, think_ns }))
    }

    fn retries(self, file: &PlanFile) -> Result<Option<Retries>, PlanFileError> {
        let Some(words) = &file.retries else { return Ok(None) };
        let most = words.get_ref().most;
        self.unless((1..=3).contains(&most), words.span(), ("most", most), "1 to 3")?;
        Ok(Some(Retries { most, backoff: matches!(words.get_ref().pause, PauseFile::Backoff) }))
    }

    /// Arrivals and costs from a trace beside the plan.
    fn recorded(self, path: &Path, file: &PlanFile) -> Result<Option<Arc<Recorded>>, PlanFileError> {
        let law = matches!(file.server.get_ref().law, LawFile::Recorded);
        let Some(words) = &file.trace else {
            self.unless(!law, file.server.span(), ("law", "recorded"), "only with a [trace]")?;
            return Ok(None);
        };
        self.unless(law, words.span(), ("law", "another"), "recorded with a [trace]")?;
        let open = file.retries.is_none() && file.closed.is_none();
        self.unless(open, words.span(), ("load", "of clients that come back"), "an open one with a [trace]")?;
        let steady = |words: &Spanned<PhaseFile>| matches!(words.get_ref().load, Some(Wave::Constant(_)));
        let waves = file.phase.iter().find(|words| !steady(words));
        let place = waves.map_or(WHOLE, Spanned::span);
        self.unless(waves.is_none(), place, ("load", "no number"), "a number with a [trace]")?;
        let beside = path.parent().unwrap_or_else(|| Path::new(""));
        let trace = Trace::open(&beside.join(&words.get_ref().file), Options::default())?;
        Ok(Some(Arc::new(Recorded::of(&trace, words.get_ref().instants))))
    }

    /// What is reserved for what has no low priority, millionths.
    fn reserved(self, file: &PlanFile, phases: &[Phase]) -> Result<Option<u32>, PlanFileError> {
        let mixed = phases.iter().any(|phase| phase.low.ends().1 > 0.0);
        let open = file.retries.is_none() && file.closed.is_none();
        self.unless(open || !mixed, WHOLE, ("low", "given"), "none with clients that come back")?;
        let Some(words) = &file.reserved else { return Ok(None) };
        let share = self.share("reserved", *words.get_ref(), words.span())?;
        self.unless(mixed, words.span(), ("reserved", share), "only with a phase that has a low load")?;
        Ok(Some(num::clamp_u32(num::rounded(share * 1e6))))
    }

    /// What estimators are told; `target_ns` is for those with a deadline.
    fn told(self, file: &PlanFile, target_ns: u64) -> Result<Told, PlanFileError> {
        let mut told = Told { target: Duration::from_nanos(target_ns), ..Told::default() };
        if let Some(words) = &file.knee {
            let duration = |span: Span| Duration::from_nanos(span.0);
            told.knee.target_delay = words.get_ref().target_delay.map(duration);
            told.knee.max_healthy_rtt = words.get_ref().max_healthy_rtt.map(duration);
            told.knee.sharers = words.get_ref().sharers.unwrap_or(told.knee.sharers);
            Knee::new(told.knee).map_err(|error| self.0.at(Some(words.span()), format!("knee: {error}")))?;
        }
        Ok(told)
    }

    fn bars(self, file: &PlanFile) -> Result<Vec<(Figure, f64)>, PlanFileError> {
        let bars = file.bars;
        let given = [
            (Figure::GoodputRatio, Some(bars.goodput_ratio.unwrap_or(GOOD))),
            (Figure::P99Ratio, Some(bars.p99_ratio.unwrap_or(QUICK))),
            (Figure::WrongfulRefusals, bars.wrongful_refusals),
            (Figure::Jain, bars.jain),
            (Figure::Kept, bars.kept),
        ];
        let bar = |(figure, bar): (Figure, f64)| {
            self.unless(bar.is_finite(), WHOLE, (figure.name(), bar), "a number as its bar")?;
            Ok((figure, bar))
        };
        given.into_iter().filter_map(|(figure, bar)| Some((figure, bar?))).map(bar).collect()
    }

    fn expected(self, name: &Spanned<String>, words: &ExpectFile) -> Result<Vec<Expected>, PlanFileError> {
        let estimator = name.get_ref();
        roster::check(estimator).map_err(|error| self.0.at(Some(name.span()), error.to_string()))?;
        let figures: [(Figure, Option<RangeFile>); 6] = [
            (Figure::GoodputRatio, words.goodput_ratio),
            (Figure::P99Ratio, words.p99_ratio),
            (Figure::WrongfulRefusals, words.wrongful_refusals),
            (Figure::Jain, words.jain),
            (Figure::RecoveryMs, words.recovery_ms),
            (Figure::Kept, words.kept),
        ];
        let given = figures.into_iter().filter_map(|(figure, range)| Some((figure, range?)));
        let expected = |(figure, range): (Figure, RangeFile)| {
            let (min, max) = (range.min.unwrap_or(f64::NEG_INFINITY), range.max.unwrap_or(f64::INFINITY));
            let range = (figure.name(), format!("{min} to {max}"));
            self.unless(min <= max, name.span(), range, "min up to max")?;
            Ok(Expected { estimator: estimator.clone(), figure, min, max })
        };
        given.map(expected).collect()
    }
}

pub(super) fn plan(path: &Path, content: &str) -> Result<Plan, PlanFileError> {
    let file_name = path.display().to_string();
    let text = Text { file: &file_name, content };
    let file: PlanFile =
        toml::from_str(content).map_err(|error| text.at(error.span(), error.message().to_owned()))?;
    let check = Check(text);
    let server = check.server(&file.server)?;
    let phases = check.phases(&file, &server)?;
    let span_ns = phases.last().map_or(0, |phase| phase.to_ns());
    check.unless(file.warm_up.0 < span_ns, WHOLE, ("warm_up", "all of the run"), "less than the run")?;
    let deadline_ns = file.deadline.get_ref().0;
    check.unless(deadline_ns > 0, file.deadline.span(), ("deadline", 0), "more than 0")?;
    let limiters = file.limiters.as_ref().map_or(1, |limiters| *limiters.get_ref());
    let place = file.limiters.as_ref().map_or(WHOLE, Spanned::span);
    check.unless((1..=64).contains(&limiters), place, ("limiters", limiters), "1 to 64")?;
    let seeds = file.seeds.as_ref().map_or(&SEEDS[..], |seeds| seeds.get_ref());
    let place = file.seeds.as_ref().map_or(WHOLE, Spanned::span);
    check.unless(!seeds.is_empty(), place, ("seeds", "[]"), "one or more")?;
    let tick_ns = file.clock.as_ref().map_or(1, |clock| clock.get_ref().0);
    let place = file.clock.as_ref().map_or(WHOLE, Spanned::span);
    check.unless(tick_ns > 0, place, ("clock", 0), "more than 0")?;
    let mut expected = Vec::new();
    for (name, words) in &file.expect {
        expected.extend(check.expected(name, words)?);
    }
    Ok(Plan {
        name: path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        path: path.to_path_buf(),
        seeds: seeds.to_vec(),
        expected,
        bars: check.bars(&file)?,
        warm_up_ns: file.warm_up.0,
        deadline_ns,
        recorded: check.recorded(path, &file)?,
        reserved_ppm: check.reserved(&file, &phases)?,
        told: check.told(&file, file.target_delay.map_or(deadline_ns / 2, |span| span.0))?,
        limiters,
        stagger_ns: file.stagger.0,
        tick_ns,
        server,
        retries: check.retries(&file)?,
        closed: check.closed(&file)?,
        phases,
        about: file.about,
        source: file.source,
        reason: file.reason,
        tuned: file.tuned,
    })
}
