//! The soak: threads and tasks that wait, leave, close and resize at random, for minutes, in an optimised build.

use anyhow::Result;

use crate::workspace::{self, cargo};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long to go on
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// Passed on to `tollgate-soak`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    more: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut soak = cargo(["run", "--release", "--quiet", "--package", "tollgate-soak", "--"]);
    soak.arg("--minutes").arg(args.minutes.to_string()).args(&args.more);
    workspace::run(&mut soak)
}
