//! The demo: what happens to a saturated service without limits, with a fixed limit and with each adaptive limit.
//!
//! The recorded trace of the shared folder is used where it is present; without it the simulator draws a workload
//! from that trace's published statistics.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::{self, cargo, root, target};

/// Relative to the workspace.
const TRACE: &str = "../shared/traces/AzureLLMInferenceTrace_conv.csv";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A recorded trace to replay
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Where to write the chart [default: target/demo.svg]
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Passed on to `tollgate-sim compare`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    more: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let svg = args.svg.clone().unwrap_or_else(|| target().join("demo.svg"));
    let (csv, json) = (target().join("demo.csv"), target().join("demo.json"));
    let trace = args.trace.clone().or_else(recorded);

    let mut compare = cargo(["run", "--release", "--quiet", "--package", "tollgate-sim", "--", "compare"]);
    // A file named on the command line is relative to where the command was given.
    compare.current_dir(std::env::current_dir()?);
    compare.arg("--svg").arg(&svg).arg("--csv").arg(&csv).arg("--json").arg(&json);
    match &trace {
        Some(trace) => compare.arg("--trace").arg(trace),
        None => {
            println!("no recorded trace at {TRACE}: a workload drawn from its published statistics instead");
            &mut compare
        }
    };
    compare.args(&args.more);
    workspace::run(&mut compare)?;

    println!();
    for (what, path) in [("chart", &svg), ("table", &csv), ("all of it", &json)] {
        println!("{what:>9}: {}", path.display());
    }
    Ok(())
}

fn recorded() -> Option<PathBuf> {
    let trace = root().join(TRACE);
    trace.is_file().then_some(trace)
}
