//! The link proof: the core runs without std, without an allocator and without a panic.
//!
//! `proofs` is built as a static library with its own panic handler and no allocator. If std were pulled in, the
//! panic handler would be defined twice; if an allocator were needed, it would be missing: either fails the build.
//! The library is then linked into a program that keeps what the exported functions reach and nothing else. If one
//! of them could panic, the machinery for that would have to be there.
//!
//! Then the same with what is made with an allocator. There is one, which must not be reached.
//!
//! Each time it is done with one more function first, which indexes a slice out of bounds (and with another that makes a
//! list): there the machinery must be found. So the search cannot pass because it looks in the wrong place.
//!
//! What this shows is "no panic in the code this compiler makes for this machine", no more.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::symbols::{self, Symbol};
use crate::workspace::{self, cargo, command, target};

const PROFILE: &str = "proof";
/// What every exported function of `proofs` begins with.
const ENTRY: &str = "proof_";
const CONTROL_ENTRY: &str = "proof_control_";

pub(crate) fn run() -> Result<()> {
    // Without `alloc` there is no allocator at all; with it there is one that is not to be reached.
    ["link", "link,alloc"].iter().try_for_each(|features| free_of_panics_and_allocations(features))
}

fn free_of_panics_and_allocations(features: &str) -> Result<()> {
    let control = linked(&format!("{features},control"))?;
    ensure!(
        control.iter().any(|symbol| symbol.name.starts_with(CONTROL_ENTRY)),
        "the control build lacks its `{CONTROL_ENTRY}` functions"
    );
    let panic = control.iter().find(|symbol| symbol.is_panic());
    let panic =
        panic.context("the control indexes out of bounds, but no panic was found: this check is blind")?;
    println!("{features}: the control shows {}", panic.name);
    if features.contains("alloc") {
        let allocation = control.iter().find(|symbol| symbol.is_allocation());
        let allocation = allocation
            .context("the control makes a list, but no allocation was found: this check is blind")?;
        println!("{features}: the control shows {}", allocation.name);
    }

    let code = linked(features)?;
    report(&code);
    let mut faults = Vec::new();
    for symbol in &code {
        if symbol.is_panic() {
            faults.push(format!("can panic: {}", symbol.name));
        }
        if symbol.is_allocation() {
            faults.push(format!("needs an allocator: {}", symbol.name));
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    println!("{features}: no panic and no allocation in any of it");
    Ok(())
}

/// Builds `proofs` with `features` and links it; the functions of the result.
fn linked(features: &str) -> Result<Vec<Symbol>> {
    let archive = build(features)?;
    let entries: Vec<String> = symbols::functions(&archive)?
        .into_iter()
        .filter(|symbol| symbol.exported && symbol.name.starts_with(ENTRY))
        .map(|symbol| symbol.name)
        .collect();
    let first =
        entries.first().with_context(|| format!("{} exports no `{ENTRY}` function", archive.display()))?;

    let program = archive.with_extension("linked");
    let mut link = command("cc");
    link.args(["-static", "-nostdlib", "-nostartfiles", "-Wl,--gc-sections", "-Wl,--no-undefined"]);
    link.arg(format!("-Wl,--entry={first}"));
    link.args(entries.iter().map(|entry| format!("-Wl,--undefined={entry}")));
    link.arg("-o").arg(&program).arg(&archive);
    workspace::output(&mut link)?;
    symbols::functions(&program)
}

fn build(features: &str) -> Result<PathBuf> {
    let mut rustc = cargo(["rustc", "--package", "tollgate-proofs", "--lib", "--no-default-features"]);
    rustc.args(["--features", features, "--profile", PROFILE, "--crate-type", "staticlib"]);
    workspace::run(&mut rustc)?;
    let archive = target().join(PROFILE).join("libtollgate_proofs.a");
    ensure!(Path::new(&archive).is_file(), "cargo left no {}", archive.display());
    Ok(archive)
}

fn report(code: &[Symbol]) {
    let width =
        code.iter().filter(|symbol| symbol.exported).map(|symbol| symbol.name.len()).max().unwrap_or(0);
    let mut total = 0;
    for symbol in code {
        total += symbol.size;
        if symbol.exported && symbol.name.starts_with(ENTRY) {
            println!("  {:<width$} {:>6} bytes", symbol.name, symbol.size);
        }
    }
    println!("  {:<width$} {total:>6} bytes, with all that they call", "together");
}
