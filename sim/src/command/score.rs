//! `tollgate-sim score`: from the command line to tables, files and the exit code.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tollgate_sim::lab::cache::Cache;
use tollgate_sim::lab::plan::Plan;
use tollgate_sim::lab::roster;
use tollgate_sim::report::limit_chart;
use tollgate_sim::score::{self, Asked, Fault, Seeds, bars, table, text};

use crate::cli::Score;
use crate::{WORTH_A_BAR, print, progress_bar, save};

pub(crate) fn run(asked: &Score) -> anyhow::Result<()> {
    let plans = plans(asked)?;
    let what = what(asked)?;
    let bar = progress_bar("{bar:40} {pos} of {len} runs, {elapsed}");
    let scored = score::score(&plans, &what, &|done, of| {
        if bar.elapsed() >= WORTH_A_BAR {
            bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
            bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
        }
    });
    bar.finish_and_clear();
    let mut scored = scored?;
    let before = scored.failures.len();
    if asked.accept {
        scored.failures.retain(|failure| !failure.can_be_accepted());
    }
    let accepted = before - scored.failures.len();
    print(&if asked.totals { table::brief(&scored) } else { table::render(&scored) })?;
    if let Some(path) = &asked.json {
        let mut bytes = Vec::new();
        text::json(&scored, &mut bytes)?;
        bytes.push(b'\n');
        save(path, &bytes)?;
    }
    if let Some(directory) = &asked.svg {
        charts(&plans, &what, directory)?;
    }
    if asked.accept {
        let broken =
            scored.failures.iter().filter(|failure| matches!(failure.what, Fault::Rule { .. })).count();
        if broken > 0 {
            bail!("{broken} rules are broken, so nothing is accepted");
        }
        bars::accept(&plans, &scored).context("the plans")?;
        eprintln!("{accepted} ranges and snapshots were out of place and are what was measured now");
    }
    match scored.failures.len() {
        0 => Ok(()),
        failed => bail!("{failed} out of place"),
    }
}

fn plans(asked: &Score) -> anyhow::Result<Vec<Plan>> {
    let plans = if asked.plan.is_empty() {
        Plan::open_all(&asked.plans)?
    } else {
        asked.plan.iter().map(|path| Plan::open(path)).collect::<Result<_, _>>()?
    };
    Ok(if asked.quick { plans.into_iter().map(Plan::quick).collect() } else { plans })
}

fn what(asked: &Score) -> anyhow::Result<Asked> {
    let estimators = if asked.estimators.is_empty() {
        roster::USUAL.iter().map(|&name| name.to_owned()).collect()
    } else {
        asked.estimators.clone()
    };
    let seeds = match &asked.seeds {
        Some(given) => Seeds::parse(given)?,
        None if asked.quick => Seeds::First(2),
        None => Seeds::Own,
    };
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let cache = Cache::new((!asked.no_cache).then(|| target.join("score-oracles")));
    Ok(Asked { estimators, seeds, ranges: !asked.quick, cache })
}

fn charts(plans: &[Plan], what: &Asked, directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for plan in plans {
        let svg = limit_chart::svg(plan, &score::curves(plan, what)?)?;
        save(&directory.join(format!("{}.svg", plan.name)), svg.as_bytes())?;
    }
    Ok(())
}
