//! Every check of the project as a named step.

use anyhow::Result;

use crate::steps::Steps;
use crate::tools::{CC, CLIPPY, DENY, HACK, NM, RUSTFMT, Tool, VALGRIND};
use crate::workspace::{self, cargo};
use crate::{counts, embedded, loom, no_std, published};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these steps
    #[arg(value_parser = STEPS.iter().map(|step| step.name).collect::<Vec<_>>())]
    steps: Vec<String>,
}

struct Step {
    name: &'static str,
    needs: &'static [Tool],
    run: fn() -> Result<()>,
}

/// The feature that no crate of ours has by default. Asked for by name, so that checking it does not hang on which other
/// crates ask for it too.
const WITH_SERDE: &str = "--features=tollgate/serde";

const STEPS: &[Step] = &[
    Step { name: "fmt", needs: &[RUSTFMT], run: || workspace::run(&mut cargo(["fmt", "--all", "--check"])) },
    Step { name: "clippy", needs: &[CLIPPY], run: clippy },
    Step { name: "features", needs: &[CLIPPY, HACK], run: features },
    Step { name: "deny", needs: &[DENY], run: deny },
    Step {
        name: "test",
        needs: &[],
        run: || workspace::run(&mut cargo(["test", "--workspace", WITH_SERDE])),
    },
    Step { name: "test-no-std", needs: &[], run: test_no_std },
    Step { name: "doc", needs: &[], run: doc },
    Step { name: "loom", needs: &[], run: loom::run },
    Step { name: "no-std", needs: &[NM, CC], run: no_std::run },
    Step { name: "counts", needs: &[VALGRIND], run: counts::check },
    Step { name: "embedded", needs: embedded::NEEDS, run: || embedded::run(&embedded::Args::default()) },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let chosen = |step: &&Step| args.steps.is_empty() || args.steps.iter().any(|name| name == step.name);
    let mut steps = Steps::default();
    for step in STEPS.iter().filter(chosen) {
        steps.step(step.name, step.needs, step.run);
    }
    steps.summarise()
}

fn clippy() -> Result<()> {
    let mut clippy = cargo(["clippy", "--workspace", "--all-targets", WITH_SERDE]);
    workspace::run(clippy.args(["--", "-D", "warnings"]))
}

/// Every set of features of every crate that users get, and each such crate by itself: within the workspace a crate
/// has the features that any other asks for.
fn features() -> Result<()> {
    for name in published::NAMES {
        let mut hack = cargo([
            "hack",
            "clippy",
            "--feature-powerset",
            "--exclude-features",
            "default",
            "--package",
            name,
        ]);
        workspace::run(hack.args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

/// Without the advisories: those are on a server that not everybody reaches, and change by themselves.
fn deny() -> Result<()> {
    let what = ["licenses", "bans", "sources"];
    workspace::run(cargo(["deny", "--locked", "check"]).args(what))?;
    // Outside of the workspace, with a lock file of its own, where some of what is ruled out cannot be met.
    let mut embedded = cargo(["deny", "--locked", "--manifest-path", "proofs/embedded/Cargo.toml"]);
    embedded.args(["--config", "deny.toml", "check", "--allow", "unused-wrapper"]).args(what);
    workspace::run(&mut embedded)
}

fn test_no_std() -> Result<()> {
    workspace::run(&mut cargo(["test", "--package", "tollgate", "--lib", "--no-default-features"]))
}

fn doc() -> Result<()> {
    let mut doc = cargo(["doc", "--workspace", WITH_SERDE, "--no-deps", "--document-private-items"]);
    workspace::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}
