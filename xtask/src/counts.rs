//! Instructions of each hot path, counted under callgrind and compared with what they were.
//!
//! Times on a machine with other things to do vary by tens of percent, and a path that grew by one is not seen. The
//! number of instructions is the same in every run, or nearly where a hasher draws its keys. So each case of the benches
//! that is small and reads no clock is run twice, for few and for many operations, and what the runs differ by is the
//! cost of an operation.
//!
//! `benches/counts.json` has what they cost, by this compiler: under another one, growth is told but is no failure.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::workspace::{benches, command, output, root, target};

const BASELINE: &str = "benches/counts.json";
const COUNT: &str = "TOLLGATE_COUNT";
const FEW: u32 = 2_000;
const MANY: u32 = 8_000;
/// What is larger is mostly its set-up.
const LARGEST: u64 = 1_000;
/// Who reads a clock counts its reading.
const CLOCKS: [&str; 2] = ["instant", "quanta"];
/// The group that only puts ours beside peers: its paths are counted in others.
const ELSEWHERE: &str = "tower/";
const TOLERANCE: f64 = 0.03;
/// Groups whose tables hash with a secret of their own.
const KEYED: [&str; 3] = ["session/", "keyed/", "inflight/"];
/// How often a case is counted whose count is by chance: of those groups, or one that seems to have grown.
const DRAWS: u32 = 4;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Only cases whose name contains this
    filter: Option<String>,
    /// Takes what is counted as the baseline
    #[arg(long, conflicts_with = "filter")]
    accept: bool,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Baseline {
    rustc: String,
    instructions: BTreeMap<String, f64>,
}

impl Baseline {
    fn read() -> Result<Self> {
        let text =
            fs::read_to_string(root().join(BASELINE)).with_context(|| format!("cannot read {BASELINE}"))?;
        serde_json::from_str(&text).with_context(|| format!("{BASELINE} cannot be read"))
    }
}

/// Every case, as a check.
pub(crate) fn check() -> Result<()> {
    run(&Args::default())
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let program = benches()?;
    let rustc = output(command("rustc").arg("--version"))?.trim().to_owned();
    // Who takes what is counted needs none to compare with.
    let baseline = if args.accept { Baseline::default() } else { Baseline::read()? };
    let mut counted = BTreeMap::new();
    for name in cases(&program, args.filter.as_deref())? {
        let mut each = f64::INFINITY;
        // A key may stand badly by the secret that its table drew, and a set-up may take a little more than another:
        // the least of some draws is what the path takes.
        for _ in 0..DRAWS {
            let (few, many) = thread::scope(|scope| {
                let few = scope.spawn(|| instructions(&program, &name, FEW));
                let many = instructions(&program, &name, MANY);
                (few.join(), many)
            });
            let few = few.map_err(|_| anyhow!("{name} was not counted"))??;
            each = each.min((many? - few) / f64::from(MANY - FEW));
            let grew = baseline.instructions.get(&name).is_some_and(|&before| grew(before, each));
            if !grew && !KEYED.iter().any(|group| name.starts_with(group)) {
                break;
            }
        }
        println!("{name:<48} {each:>8.1}");
        counted.insert(name, (each * 10.0).round() / 10.0);
    }
    ensure!(!counted.is_empty(), "no case to count matches {:?}", args.filter.as_deref().unwrap_or(""));
    if args.accept {
        let baseline = Baseline { rustc, instructions: counted };
        fs::write(root().join(BASELINE), serde_json::to_string_pretty(&baseline)? + "\n")?;
        println!("{BASELINE} has these now");
        return Ok(());
    }
    let faults = faults(&baseline, &counted, args.filter.is_none());
    println!("\n{}", table(&baseline, &counted));
    if faults.is_empty() {
        println!("no path grew by more than {:.0} in 100", TOLERANCE * 100.0);
        return Ok(());
    }
    let faults = faults.join("; ");
    if baseline.rustc != rustc {
        println!("by {rustc}, and the baseline is by {}: {faults}", baseline.rustc);
        return Ok(());
    }
    bail!("{faults}; `cargo xtask counts --accept` takes them, with a reason in the commit");
}

fn grew(before: f64, now: f64) -> bool {
    now > before * (1.0 + TOLERANCE) + 0.5
}

/// What grew, what is new, and, if all were counted, what is gone.
fn faults(baseline: &Baseline, counted: &BTreeMap<String, f64>, all: bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, &now) in counted {
        match baseline.instructions.get(name) {
            Some(&before) if grew(before, now) => {
                faults.push(format!("{name} takes {now} instructions, {before} before"));
            }
            Some(_) => {}
            None => faults.push(format!("{name} is not in {BASELINE}")),
        }
    }
    let gone = |name: &&String| all && !counted.contains_key(*name);
    faults.extend(baseline.instructions.keys().filter(gone).map(|name| format!("{name} is gone")));
    faults
}

fn table(baseline: &Baseline, counted: &BTreeMap<String, f64>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["case", "instructions", "before", "ratio"]);
    for (name, &now) in counted {
        let before = baseline.instructions.get(name).copied();
        let (before, ratio) = before.map_or((String::new(), String::new()), |before| {
            (before.to_string(), format!("{:.3}", now / before))
        });
        table.add_row([name.clone(), now.to_string(), before, ratio]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// The names of the cases to count.
fn cases(program: &Path, filter: Option<&str>) -> Result<Vec<String>> {
    let listed = output(command(program).env(COUNT, "list"))?;
    let size = |name: &str| name.rsplit_once("/n").and_then(|(_, size)| size.parse::<u64>().ok());
    let counts = |name: &&str| {
        size(name).is_some_and(|size| size <= LARGEST)
            && !CLOCKS.iter().any(|clock| name.contains(clock))
            && !name.starts_with(ELSEWHERE)
            && filter.is_none_or(|filter| name.contains(filter))
    };
    Ok(listed.lines().filter(counts).map(str::to_owned).collect())
}

/// All instructions of one run.
fn instructions(program: &Path, name: &str, operations: u32) -> Result<f64> {
    let record = target().join(format!("callgrind.{operations}.out"));
    let mut valgrind = command("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", record.display()));
    valgrind.arg(program).env(COUNT, format!("{name} {operations}"));
    output(&mut valgrind)?;
    let text =
        fs::read_to_string(&record).with_context(|| format!("callgrind left no {}", record.display()))?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("summary: ").or_else(|| line.strip_prefix("totals: ")));
    total
        .and_then(|total| total.trim().parse().ok())
        .with_context(|| format!("no total in {}", record.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_news_and_losses_are_told_and_noise_is_not() {
        let names =
            |pairs: &[(&str, f64)]| pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let baseline =
            Baseline { rustc: String::new(), instructions: names(&[("a", 100.0), ("b", 100.0), ("c", 9.0)]) };
        let counted = names(&[("a", 103.4), ("b", 104.0), ("d", 1.0)]);
        let told = faults(&baseline, &counted, true);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told[0].contains("b takes 104")
                && told[1].contains("d is not in")
                && told[2].contains("c is gone")
        );
        assert_eq!(faults(&baseline, &counted, false).len(), 2);
        assert!(faults(&baseline, &names(&[("a", 50.0)]), false).is_empty());
    }
}
