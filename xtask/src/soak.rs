//! The soak: threads and tasks that wait, leave, close and resize at random, for minutes, in an optimised build.
//!
//! Under `ThreadSanitizer` it looks for data races. Our own code is safe Rust, which cannot have one; what it stands on
//! (queues of wakers, runtimes) is not. The standard library is built anew for it, or its locks would not be seen.

use anyhow::Result;

use crate::tools::RUST_SOURCE;
use crate::workspace::{self, cargo, target};

/// A target of its own, so that flags do not reach what is built for the build.
const SANITIZED: &str = "x86_64-unknown-linux-gnu";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long to go on
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// Looks for data races on the way (x86-64 Linux): ten times slower
    #[arg(long)]
    thread_sanitizer: bool,
    /// Passed on to `tollgate-soak`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    more: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut soak = cargo(["run", "--release", "--quiet", "--package", "tollgate-soak"]);
    if args.thread_sanitizer {
        RUST_SOURCE.require().map_err(anyhow::Error::msg)?;
        soak.args(["-Zbuild-std", "--target", SANITIZED, "--target-dir"]).arg(target().join("sanitized"));
        soak.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=thread");
        soak.env("TSAN_OPTIONS", "halt_on_error=1");
    }
    soak.args(["--", "--minutes", &args.minutes.to_string()]).args(&args.more);
    workspace::run(&mut soak)
}
