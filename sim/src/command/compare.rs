//! `tollgate-sim compare`: policies on one load.

use tollgate_sim::compare::compare;
use tollgate_sim::report::{Summary, chart, table, text};

use crate::cli::Compare;
use crate::{WORTH_A_BAR, print, progress_bar, save};

pub(crate) fn run(asked: &Compare) -> anyhow::Result<()> {
    let kinds = asked.kinds();
    let scenario = asked.setup()?.resolve()?;
    let bar = progress_bar("{bar:40} {pos} of about {len} runs, {elapsed}");
    let comparison = compare(&scenario, &kinds, |done, expected| {
        if bar.elapsed() >= WORTH_A_BAR {
            bar.set_length(expected);
            bar.set_position(done);
        }
    });
    bar.finish_and_clear();
    let (comparison, summary) = (comparison?, Summary::new(&scenario));
    print(&format!("{summary}\n\n{}\n", table::render(&comparison)))?;
    let output = &asked.output;
    if let Some(path) = &output.csv {
        let mut bytes = Vec::new();
        text::csv(&comparison, &mut bytes)?;
        save(path, &bytes)?;
    }
    if let Some(path) = &output.json {
        let mut bytes = Vec::new();
        text::json(&summary, &comparison, &mut bytes)?;
        bytes.push(b'\n');
        save(path, &bytes)?;
    }
    if let Some(path) = &output.svg {
        save(path, chart::svg(&summary, &comparison)?.as_bytes())?;
    }
    Ok(())
}
