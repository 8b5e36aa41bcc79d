//! The embedded run: the core's conformance vectors on an emulated Cortex-M0, and what its machines weigh there.
//!
//! The host says what every machine answers (`proofs/conformance`); the same vectors are built into images for the target
//! (`proofs/embedded`), which check them there, print a line a machine, and end well or not. One image holds vectors that
//! have to fail: if the target does not report them, the run shows nothing.
//!
//! The machines are weighed one by one: all functions of one, linked with what they reach and nothing else. For a RISC-V
//! without atomics this is all that is done: it links, and weighs so much.

mod budget;
mod target;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::tools::{DEBIAN_CARGO, DEBIAN_RUST_SOURCE, NM, QEMU_ARM, RUSTFMT, Tool};
use crate::workspace::{self, cargo, output, root};
use budget::{Budget, Weight};
use target::Target;

pub(crate) const NEEDS: &[Tool] = &[RUSTFMT, NM, DEBIAN_CARGO, DEBIAN_RUST_SOURCE, QEMU_ARM];

/// What has to pass on the target, and what has to fail there, and how it says so.
const IMAGES: &[&str] = &["limits", "estimators"];
const CONTROL: &str = "control";
const CONTROL_REPORT: &str = "control: 31 of 32 sequences, 1 of 2 recorded values";

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Takes what the machines weigh now as their budget; the reason goes into proofs/embedded/sizes.toml
    #[arg(long)]
    accept: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    for tool in NEEDS {
        tool.require().map_err(anyhow::Error::msg)?;
    }
    let mut format = cargo(["fmt", "--check", "--manifest-path"]);
    workspace::run(format.arg(target::folder().join("Cargo.toml")))?;

    let expected = target::directory().join("expected.txt");
    let mut answers = cargo(["run", "--package", "tollgate-conformance", "--example", "expected"]);
    write(&expected, &output(&mut answers)?)?;

    let cortex_m0 = Target { name: "thumbv6m-none-eabi", images: true };
    let risc_v = Target { name: "riscv32i-unknown-none-elf", images: false };
    // Side by side: most of the time goes by in building `core`, one crate for each.
    thread::scope(|scope| {
        let other = scope.spawn(|| risc_v.build(&expected));
        cortex_m0.build(&expected)?;
        other.join().unwrap_or_else(|_| bail!("the build for {} panicked", risc_v.name))
    })?;

    require_the_control(&cortex_m0)?;
    let ram = check(&cortex_m0)?;
    let mut measured = BTreeMap::new();
    for (name, ram) in ram {
        let (cortex_m0, risc_v) = (cortex_m0.code(&name)?, risc_v.code(&name)?);
        measured.insert(name, Weight { ram, cortex_m0, risc_v });
    }
    weigh(measured, args.accept)
}

/// The target has to notice one wrong hash and one wrong recorded value.
fn require_the_control(target: &Target) -> Result<()> {
    let run = target.emulate(CONTROL)?;
    ensure!(
        !run.passed && run.printed.contains(CONTROL_REPORT),
        "the target did not report its control, so its reports mean nothing:\n{}",
        run.printed
    );
    println!("{}: reported, as it has to be", CONTROL_REPORT);
    Ok(())
}

/// Runs what has to pass; the bytes of RAM that each machine takes up, as the target says.
fn check(target: &Target) -> Result<Vec<(String, u64)>> {
    let mut machines = Vec::new();
    for image in IMAGES {
        let run = target.emulate(image)?;
        print!("{}", run.printed);
        ensure!(run.passed, "{image} did not pass on the target");
        let reports = run.printed.lines().filter_map(report).collect::<Vec<_>>();
        ensure!(!reports.is_empty(), "{image} reported no machine:\n{}", run.printed);
        machines.extend(reports);
    }
    Ok(machines)
}

/// Name and bytes from one machine's line: `name: … sequences, … recorded values, N bytes`.
fn report(line: &str) -> Option<(String, u64)> {
    let (name, rest) = line.split_once(": ")?;
    let bytes = rest.strip_suffix(" bytes")?.rsplit(' ').next()?;
    Some((name.to_owned(), bytes.parse().ok()?))
}

/// Compares with the budget, or makes it.
fn weigh(measured: BTreeMap<String, Weight>, accept: bool) -> Result<()> {
    let file = root().join("proofs/embedded/sizes.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let measured = Budget { machines: measured };
    println!("{measured}");
    if accept {
        return write(&file, &measured.written_after(&text));
    }
    let faults = Budget::parse(&text)?.faults(&measured);
    if !faults.is_empty() {
        bail!("{}; `cargo xtask embedded --accept` takes this as the budget", faults.join("; "));
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // What did not change is left alone, so that nothing is built again for it.
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_target_names_a_machine_and_its_bytes() {
        let line = "drr: 32 of 32 sequences, 0 of 0 recorded values, 832 bytes";
        assert_eq!(report(line), Some(("drr".into(), 832)));
        assert_eq!(report("together: 288 of 288"), None);
        assert_eq!(report("the processor reports a fault"), None);
    }
}
