//! Programs the checks need besides cargo: found, installed if that is possible, or named.

use std::process::Stdio;

use crate::workspace::{self, command};

/// A program, and how it usually comes onto a machine.
#[derive(Debug)]
pub(crate) struct Tool {
    /// What to run to see whether it is there.
    probe: &'static [&'static str],
    /// Commands to try, in order, to get it.
    install: &'static [&'static [&'static str]],
}

pub(crate) const RUSTFMT: Tool =
    Tool { probe: &["cargo", "fmt", "--version"], install: &[&["rustup", "component", "add", "rustfmt"]] };

pub(crate) const CLIPPY: Tool =
    Tool { probe: &["cargo", "clippy", "--version"], install: &[&["rustup", "component", "add", "clippy"]] };

pub(crate) const CARGO_FUZZ: Tool = Tool {
    probe: &["cargo", "fuzz", "--version"],
    install: &[&["cargo", "install", "--locked", "cargo-fuzz"]],
};

pub(crate) const CARGO_MUTANTS: Tool = Tool {
    probe: &["cargo", "mutants", "--version"],
    install: &[&["cargo", "install", "--locked", "cargo-mutants"]],
};

pub(crate) const NM: Tool = Tool {
    probe: &["nm", "--version"],
    install: &[&["apt-get", "update", "-qq"], &["apt-get", "install", "-y", "-qq", "binutils"]],
};

/// A C compiler, which drives the linker; cargo needs one too.
pub(crate) const CC: Tool = Tool {
    probe: &["cc", "--version"],
    install: &[&["apt-get", "update", "-qq"], &["apt-get", "install", "-y", "-qq", "gcc", "libc6-dev"]],
};

pub(crate) const VALGRIND: Tool = Tool {
    probe: &["valgrind", "--version"],
    install: &[&["apt-get", "update", "-qq"], &["apt-get", "install", "-y", "-qq", "valgrind"]],
};

/// The source of the standard library, of the compiler in use.
pub(crate) const RUST_SOURCE: Tool = Tool {
    probe: &[
        "sh",
        "-c",
        "test -e \"$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock\"",
        "rust-src",
    ],
    install: &[&["rustup", "component", "add", "rust-src"]],
};

/// Debian's compiler, for targets whose `core` has to be built. Where it lies in the search path does not matter.
pub(crate) const DEBIAN_CARGO: Tool = Tool {
    probe: &["/usr/bin/cargo", "--version"],
    install: &[&["apt-get", "update", "-qq"], &["apt-get", "install", "-y", "-qq", "rustc-web", "cargo-web"]],
};

/// The source of `core` that belongs to it.
pub(crate) const DEBIAN_RUST_SOURCE: Tool = Tool {
    probe: &["ls", "/usr/lib/rustlib/src/rust/library/core/Cargo.toml", "--"],
    install: &[&["apt-get", "update", "-qq"], &["apt-get", "install", "-y", "-qq", "rust-web-src"]],
};

pub(crate) const QEMU_ARM: Tool = Tool {
    probe: &["qemu-system-arm", "--version"],
    install: &[&["apt-get", "update", "-qq"], &["apt-get", "install", "-y", "-qq", "qemu-system-arm"]],
};

/// Looks at licences, origins and advisories of what we depend on. Built without optimisation, and as its authors
/// locked it: it runs for seconds, and its own settings would be minutes of building.
pub(crate) const DENY: Tool = Tool {
    probe: &["cargo", "deny", "--version"],
    install: &[&[
        "cargo",
        "install",
        "cargo-deny@0.20.2",
        "--locked",
        "--config=profile.release.opt-level=0",
        "--config=profile.release.lto=false",
        "--config=profile.release.codegen-units=16",
    ]],
};

/// Tries sets of features. Built as lightly.
pub(crate) const HACK: Tool = Tool {
    probe: &["cargo", "hack", "--version"],
    install: &[&[
        "cargo",
        "install",
        "cargo-hack@0.6.46",
        "--locked",
        "--config=profile.release.opt-level=0",
        "--config=profile.release.lto=false",
    ]],
};

pub(crate) const SEMVER_CHECKS: Tool = Tool {
    probe: &["cargo", "semver-checks", "--version"],
    install: &[&["cargo", "install", "cargo-semver-checks@0.51.0", "--locked"]],
};

impl Tool {
    /// Makes sure the tool is there.
    ///
    /// # Errors
    /// What is missing and what to do about it.
    pub(crate) fn require(&self) -> Result<(), String> {
        if self.is_present() {
            return Ok(());
        }
        let name = self.probe.split_last().map_or(String::new(), |(_, words)| words.join(" "));
        println!("`{name}` is missing; trying to install it");
        for line in self.install {
            let Some((program, args)) = line.split_first() else { continue };
            let mut install = command(program);
            install.args(args);
            if let Err(error) = workspace::run(&mut install) {
                println!("{error:#}");
                break;
            }
        }
        if self.is_present() {
            return Ok(());
        }
        let advice = self
            .install
            .iter()
            .map(|line| format!("`{}`", line.join(" ")))
            .collect::<Vec<_>>()
            .join(", then ");
        Err(format!("`{name}` is missing and could not be installed; try {advice}"))
    }

    fn is_present(&self) -> bool {
        let Some((program, args)) = self.probe.split_first() else { return false };
        let mut probe = command(program);
        probe.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_cannot_be_had_is_named_with_what_to_do() {
        let tool =
            Tool { probe: &["no-such-program", "--version"], install: &[&["no-such-installer", "it"]] };
        let advice = tool.require().unwrap_err();
        assert!(advice.contains("`no-such-program` is missing"), "{advice}");
        assert!(advice.contains("`no-such-installer it`"), "{advice}");
    }
}
