//! The families of whole limiters: a counting limiter, and one with partitions.

use core::time::Duration;
use std::collections::HashMap;

use tollgate::Timestamp;
use tollgate::adapt::{
    Aimd, Counting, Estimator, Gradient2, Guarantee, Limiter, LimiterSettings, Outcome, PartitionId,
    Partitions, Sample, Share, Ticket, Vegas,
};
use tollgate::slots::Heap;

use crate::families::{Constant, aimd_settings, gradient2_settings, vegas_settings};
use crate::table::{Fallible, Header, Report, Row, Table};

const COMPATIBLE: Guarantee = Guarantee::Overshoot { unknown_reserve: 0 };

/// An estimator, or a limit that is set from outside.
enum Limit {
    Settable(u32),
    Aimd(Box<Aimd>),
    Gradient2(Box<Gradient2>),
    Vegas(Box<Vegas<Constant>>),
}

impl Limit {
    fn from(header: &mut Header) -> Fallible<Self> {
        let text = |error: tollgate::ConfigError| error.to_string();
        Ok(match header.take("limit")?.as_str() {
            "settable" => Self::Settable(header.number("initial")?),
            "aimd" => Self::Aimd(Box::new(Aimd::new(aimd_settings(header)?).map_err(text)?)),
            "gradient2" => {
                Self::Gradient2(Box::new(Gradient2::new(gradient2_settings(header)?).map_err(text)?))
            }
            "vegas" => {
                let jitter = Constant(header.number("probe_jitter")?);
                let settings = vegas_settings(header)?;
                Self::Vegas(Box::new(Vegas::with_jitter(settings, jitter).map_err(text)?))
            }
            other => return Err(format!("unknown limit {other}")),
        })
    }

    fn set(&mut self, to: u32) -> Fallible<()> {
        match self {
            Self::Settable(limit) => *limit = to,
            _ => return Err("only a settable limit can be set".to_owned()),
        }
        Ok(())
    }
}

impl Estimator for Limit {
    fn on_sample(&mut self, sample: &Sample) -> u32 {
        match self {
            Self::Settable(limit) => *limit,
            Self::Aimd(aimd) => aimd.on_sample(sample),
            Self::Gradient2(gradient2) => gradient2.on_sample(sample),
            Self::Vegas(vegas) => vegas.on_sample(sample),
        }
    }

    fn limit(&self) -> u32 {
        match self {
            Self::Settable(limit) => *limit,
            Self::Aimd(aimd) => aimd.limit(),
            Self::Gradient2(gradient2) => gradient2.limit(),
            Self::Vegas(vegas) => vegas.limit(),
        }
    }
}

fn share_ppm(text: &str) -> Fallible<u32> {
    let share: f64 = text.parse().map_err(|_| format!("no share: {text}"))?;
    format!("{:.0}", share * 1e6).parse().map_err(|_| format!("no share: {text}"))
}

/// Names, in the order in which they are numbered.
fn shares(text: &str) -> Fallible<(Vec<String>, Vec<Share>)> {
    let mut names = Vec::new();
    let mut shares = Vec::new();
    for (number, part) in (0..).zip(text.split(';')) {
        let (name, share) = part.split_once(':').ok_or_else(|| format!("no share: {part}"))?;
        names.push(name.to_owned());
        shares.push(Share {
            partition: PartitionId(number),
            share_ppm: share_ppm(share)?,
            pause: Duration::ZERO,
        });
    }
    Ok((names, shares))
}

pub(crate) fn limiter(mut header: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    let partitioned = header.take("limiter")? == "partitioned";
    let (names, shares) =
        if partitioned { shares(&header.take("partitions")?)? } else { (Vec::new(), Vec::new()) };
    let limit = Limit::from(&mut header)?;
    header.finish()?;
    let settings = LimiterSettings {
        warmup: Duration::ZERO,
        guarantee: COMPATIBLE,
        counting: Counting::Reference,
        ..LimiterSettings::default()
    };
    let limiter = Limiter::<_, Heap>::new(Timestamp::ZERO, limit, settings, &shares, 8);
    let mut replay =
        Replay { limiter: limiter.map_err(|error| error.to_string())?, names, held: HashMap::new() };
    for row in table.rows() {
        replay.step(&row, report)?;
        // A new limit is of no partition.
        if partitioned && row.text("op")? != "setlimit" {
            let partition = replay.partition(row.text("partition")?);
            report.whole(&row, "part_busy", replay.limiter.partitions().busy_of(partition))?;
            report.whole(&row, "part_limit", replay.limiter.partitions().quota_of(partition))?;
        }
        report.rows += 1;
    }
    Ok(())
}

struct Replay {
    limiter: Limiter<Limit, Heap>,
    names: Vec<String>,
    held: HashMap<u32, Ticket>,
}

impl Replay {
    fn partition(&self, name: &str) -> Option<PartitionId> {
        let number = self.names.iter().position(|known| known == name)?;
        u32::try_from(number).ok().map(PartitionId)
    }

    fn step(&mut self, row: &Row<'_>, report: &mut Report) -> Fallible<()> {
        let (now, id) = (Timestamp::from_nanos(row.number("t_ns")?), row.number::<u32>("id")?);
        let outcome = match row.text("op")? {
            "acquire" => {
                let partition = row.text("partition").ok().and_then(|name| self.partition(name));
                let admitted = self.limiter.try_admit(now, partition, 1);
                report.whole(row, "granted", admitted.is_ok())?;
                if let Ok(ticket) = admitted {
                    self.held.insert(id, ticket);
                }
                None
            }
            "setlimit" => {
                self.limiter.change_estimator(|limit| limit.set(id))?;
                None
            }
            "success" => Some(Outcome::Success),
            "drop" => Some(Outcome::Dropped),
            "ignore" => Some(Outcome::Ignored),
            other => return Err(format!("unknown operation {other}")),
        };
        if let Some(outcome) = outcome {
            let ticket = self.held.remove(&id).ok_or_else(|| format!("nobody holds {id}"))?;
            self.limiter.complete(now, ticket, outcome).map_err(|error| error.to_string())?;
        }
        self.limiter.check_invariants();
        report.whole(row, "limit", self.limiter.limit())?;
        report.whole(row, "inflight", self.limiter.partitions().in_flight())
    }
}

pub(crate) fn share_table(_: Header, table: &Table, report: &mut Report) -> Fallible<()> {
    for row in table.rows() {
        let share = Share {
            partition: PartitionId(0),
            share_ppm: share_ppm(row.text("percent")?)?,
            pause: Duration::ZERO,
        };
        let partitions = Partitions::<Heap>::new(row.number("total")?, COMPATIBLE, &[share], 1, 0);
        let partitions = partitions.map_err(|error| error.to_string())?;
        report.whole(&row, "part_limit", partitions.quota_of(Some(PartitionId(0))))?;
        report.rows += 1;
    }
    Ok(())
}
