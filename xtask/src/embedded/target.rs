//! One target: how `proofs/embedded` is built for it, emulated, and weighed.
//!
//! Debian's compiler comes with the source of `core`, so that it can be built for any target; it is older than what the
//! core is written for, hence the features that it is allowed by name. The linker is that of the ordinary toolchain.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::symbols;
use crate::workspace::{self, command, output, root, shown};

/// Features of the language and of `core` that are stable by now, but not yet for this compiler.
const FEATURES: &str = r#"profile.release.package.tollgate.rustflags=["-Zcrate-attr=feature(let_chains,unsigned_is_multiple_of)"]"#;
/// Longer than any image runs.
const SECONDS: &str = "120";

pub(super) struct Target {
    pub(super) name: &'static str,
    /// Whether there are images to run on it.
    pub(super) images: bool,
}

/// How an image ended, and what it printed.
pub(super) struct Emulated {
    pub(super) passed: bool,
    pub(super) printed: String,
}

impl Target {
    /// Builds the images, if there are any, and the library of all machines.
    pub(super) fn build(&self, expected: &Path) -> Result<()> {
        let mut build = command("/usr/bin/cargo");
        build.current_dir(folder());
        build.args(["build", "--release", "--locked", "--lib"]);
        if self.images {
            build.arg("--bins");
        }
        build.args(["-Zbuild-std=core", "-Zprofile-rustflags", "--ignore-rust-version"]);
        build.args(["--target", self.name, "--config", FEATURES, "--config"]);
        build.arg(format!(
            r#"target.{}.rustflags=["-Clinker={}", "-Clinker-flavor=ld.lld"]"#,
            self.name,
            linker()?.display()
        ));
        build.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
        build.env("CARGO_TARGET_DIR", self.directory()).env("TOLLGATE_EXPECTED", expected);
        // What was meant for the workspace's own builds.
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "CARGO_BUILD_TARGET"] {
            build.env_remove(variable);
        }
        workspace::run(&mut build)
    }

    /// Runs an image until it ends.
    pub(super) fn emulate(&self, image: &str) -> Result<Emulated> {
        let mut qemu = command("timeout");
        qemu.args([SECONDS, "qemu-system-arm", "-machine", "microbit", "-nographic", "-semihosting-config"]);
        qemu.args(["enable=on,target=native", "-kernel"]).arg(self.artifact(image)).stdin(Stdio::null());
        println!("$ {}", shown(&qemu));
        let ended = qemu.output().with_context(|| format!("cannot start {}", shown(&qemu)))?;
        // The debugger's output is on standard error.
        let printed = [ended.stdout, ended.stderr].concat();
        Ok(Emulated {
            passed: ended.status.success(),
            printed: String::from_utf8_lossy(&printed).into_owned(),
        })
    }

    /// Bytes of code and constants of the machine with this name: its functions with all that they call, and no more.
    pub(super) fn code(&self, machine: &str) -> Result<u64> {
        let archive = self.artifact("libtollgate_machines.a");
        let prefix = format!("proof_{machine}_");
        let functions = symbols::functions(&archive)?;
        let entries: Vec<&str> = functions
            .iter()
            .filter(|symbol| symbol.exported && symbol.name.starts_with(&prefix))
            .map(|symbol| symbol.name.as_str())
            .collect();
        let first =
            entries.first().with_context(|| format!("{} has no `{prefix}` function", archive.display()))?;
        let linked = archive.with_file_name(machine).with_extension("linked");
        let mut link = command(linker()?);
        link.args(["-flavor", "gnu", "--gc-sections", "--no-undefined", "--entry", first]);
        link.args(entries.iter().map(|entry| format!("--undefined={entry}")));
        link.arg("-o").arg(&linked).arg(&archive);
        output(&mut link)?;
        let sections = output(command("size").arg("-A").arg(&linked))?;
        Ok(sections.lines().filter_map(weighed).sum())
    }

    fn artifact(&self, file: &str) -> PathBuf {
        self.directory().join(self.name).join("release").join(file)
    }

    /// Of its own, so that no build waits for another.
    fn directory(&self) -> PathBuf {
        directory().join(self.name)
    }
}

/// Where the package is, outside the workspace.
pub(super) fn folder() -> PathBuf {
    root().join("proofs/embedded")
}

/// Where it is built.
pub(super) fn directory() -> PathBuf {
    workspace::target().join("embedded")
}

/// The linker that comes with the ordinary toolchain, for every target.
fn linker() -> Result<PathBuf> {
    let sysroot = output(command("rustc").args(["--print", "sysroot"]))?;
    let version = output(command("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("`rustc -vV` names no host")?;
    let linker = Path::new(sysroot.trim_end()).join("lib/rustlib").join(host).join("bin/rust-lld");
    ensure!(linker.is_file(), "{} is missing: the toolchain has to come from rustup", linker.display());
    Ok(linker)
}

/// The bytes of a section that ends up in the image, from a line of `size -A`: name, bytes, address.
fn weighed(line: &str) -> Option<u64> {
    let mut fields = line.split_whitespace();
    let name = fields.next()?;
    [".text", ".rodata", ".data", ".sdata"].contains(&name).then(|| fields.next()?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_constants_are_weighed_and_notes_about_them_are_not() {
        let table = "x.linked  :\nsection   size   addr\n.ARM.exidx   16   65748\n.rodata   714   65764\n\
                     .text   17706   132016\n.comment   169   0\nTotal   18655\n";
        assert_eq!(table.lines().filter_map(weighed).sum::<u64>(), 18_420);
    }
}
